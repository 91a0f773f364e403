"""The encoder of tables in Python."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import estimator_checks_generator

from plain import PlainSIIS
from siis import SIISClassifier
from siis.tables import Roles, TableEncoder, read

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("encoder", "check"),
    list(estimator_checks_generator(TableEncoder())),
    ids=lambda value: getattr(getattr(value, "func", value), "__name__", None),
)
@pytest.mark.filterwarnings("ignore:Can't check dok sparse matrix:UserWarning")
def test_conventions(encoder, check):
    check(encoder)


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    truth = np.arange(120) % 3
    return pd.DataFrame(
        {
            "price": [f"${1000 * (c + 1) + 50 * rng.normal():,.2f}" for c in truth],
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(30 * truth + rng.integers(3, size=120), unit="D"),
            "colour": pd.Categorical([("red", "green", "blue")[c] for c in truth]),
            "size": np.where(np.arange(120) % 7 == 0, np.nan, truth + rng.normal(size=120)),
            "note": [("cat dog", "stock bond", "tree leaf")[c] for c in truth],
            "constant": 1,
        },
        index=np.arange(120) * 2,
    )


def labels(n=120):
    y = np.array(["abc"[i % 3] for i in range(n)], dtype=object)
    y[30:] = None
    return y


def test_a_pipeline_takes_any_frame(frame):
    answers = []
    forms = (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame, preserve_index=False), frame.to_dict("list"))
    for X in forms:
        model = make_pipeline(TableEncoder(), SIISClassifier(random_state=0)).fit(X, labels())
        answers.append(model[-1].label_distributions_)
        assert np.mean(model[-1].transduction_ == [*("abc" * 40)]) > 0.95
        assert len(model.predict(X)) == 120
    assert all(np.array_equal(answers[0], other) for other in answers[1:])


def test_the_same_as_the_file(frame, tmp_path):
    path = tmp_path / "t.csv"
    frame.assign(kind=labels()).to_csv(path, index=False)
    for text in (None, "note"):
        data = read(path, Roles(label="kind", text=text))
        X = TableEncoder(text=text).fit_transform(frame)
        assert abs(X - data.X).max() < 1e-12


def test_attributes(frame):
    encoder = TableEncoder(text="note").fit(frame)
    X = encoder.transform(frame)
    names = encoder.get_feature_names_out()
    assert X.shape == (120, names.size)
    assert {"price", "when", "when week sin", "size", "size missing", "colour=red", "note: dog"} <= set(names)
    uses = {use.name: use for use in encoder.columns_}
    assert uses["constant"].kind == "left out"
    assert uses["when"].kind == "time"
    assert sum(use.n_features for use in encoder.columns_) == names.size
    assert "other columns are used as well as the texts; text_only= leaves them out" in encoder.notes_
    assert encoder.feature_names_in_.tolist() == list(frame.columns)
    dense = TableEncoder().set_output(transform="pandas").fit_transform(frame)
    assert dense.index.equals(frame.index)
    assert "colour=red" in dense.columns


def test_clone_and_pickle(frame):
    encoder = TableEncoder(features=["price", "colour"]).fit(frame)
    assert clone(encoder).get_params() == {
        "encoder": None,
        "features": ["price", "colour"],
        "text": None,
        "text_only": False,
    }
    again = pickle.loads(pickle.dumps(encoder))
    assert np.array_equal(again.transform(frame), encoder.transform(frame))


def test_objects_of_several_types():
    X = pd.DataFrame({"a": [1, "2", None, "?", 5.5, "7"], "b": [True, False] * 3})
    assert TableEncoder().fit_transform(X)[:, 0].tolist() == [1, 2, 3.75, 3.75, 5.5, 7]


def test_lazy_frames_are_collected(frame):
    lazy = pl.from_pandas(frame[["price", "size"]]).lazy()
    encoder = TableEncoder()
    X = encoder.fit_transform(lazy)
    assert np.array_equal(X, TableEncoder().fit_transform(frame[["price", "size"]]))
    assert np.array_equal(encoder.transform(lazy), X)
    assert encoder.feature_names_in_.tolist() == ["price", "size"]
    numbers, y = pl.LazyFrame({"a": X[:, 0], "b": X[:, 1]}), np.arange(120) % 3
    model = PlainSIIS(n_neighbors=5, n_components=5).fit(numbers, y)
    again = PlainSIIS(n_neighbors=5, n_components=5).fit(numbers.collect(), y)
    assert np.array_equal(model.predict(numbers), again.predict(numbers.collect()))


def test_refusals(frame):
    with pytest.raises(ValueError, match=r"found none named weight.*There are: price"):
        TableEncoder(features=["weight"]).fit(frame)
    with pytest.raises(ValueError, match="text_only=True goes with columns of texts"):
        TableEncoder(text_only=True).fit(frame)
    with pytest.raises(ValueError, match="a feature must be a column of the table; found none named price"):
        TableEncoder().fit(frame).transform(frame.drop(columns="price"))
    with pytest.raises(ValueError, match=r"found none named colour, price\. There are"):
        TableEncoder().fit(frame[["colour", "price", "size"]]).transform(frame[["size"]])
    with pytest.raises(ValueError, match="must have different names; found 'price' twice"):
        TableEncoder().fit(pd.concat([frame, frame[["price"]]], axis=1))
    with pytest.raises(ValueError, match=r"equally long; found lengths \[1, 2\]"):
        TableEncoder().fit({"a": [1, 2], "b": [1]})
