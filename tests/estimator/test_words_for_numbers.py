"""Words where numbers or classes are meant."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

from plain import PlainSIIS
from siis import SIISClassifier
from siis.labels import LabelWarning, encode_labels
from siis.labels.unlabelled import folded

N = 24
X = np.random.default_rng(0).normal(size=(N, 2))
FRAME = pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        (FRAME.assign(town="Ulm", b="x"), "text in columns 'b', 'town'"),
        (FRAME.assign(town=pd.Categorical(["u", "v"] * (N // 2))), "text in column 'town'"),
        (FRAME.assign(day=pd.Timestamp("2024-01-01")), "dates or times in column 'day'"),
        (FRAME[["a"]].assign(a=pd.date_range("2024-01-01", periods=N)), "dates or times in column 'a'"),
        (FRAME.assign(day=pd.Timedelta(days=1)), "dates or times in column 'day'"),
        (pl.from_pandas(FRAME).with_columns(town=pl.lit("Ulm")), "text in column 'town'"),
        (
            pl.from_pandas(FRAME).with_columns(day=pl.lit(datetime.date(2024, 1, 1))),
            "dates or times in column 'day'",
        ),
        (np.array([[1.0, "Ulm"]] * N, dtype=object), "text in column '1'"),
        (np.array([["1", "Ulm"]] * N), "text in column '1'"),
        (np.full((N, 2), "2024-01-01", dtype="datetime64[D]"), "dates or times in columns '0', '1'"),
    ],
)
@pytest.mark.filterwarnings("ignore:X has feature names:UserWarning")
def test_columns_of_words_are_named_with_the_remedy(table, columns):
    y = np.arange(N) % 2
    with pytest.raises(ValueError, match="X must hold numbers; found") as caught:
        SIISClassifier().fit(table, y)
    assert columns in str(caught.value)
    assert "siis.tables.TableEncoder()" in str(caught.value)
    model = PlainSIIS(n_neighbors=5, n_components=5, alpha=10.0, beta=0.1).fit(X, y)
    with pytest.raises(ValueError, match="X must hold numbers; found"):
        model.predict(table)


@pytest.mark.parametrize("kind", [object, str])
def test_empty_texts_are_unlabelled(kind):
    y = np.array(["a", "", "b", "  "], dtype=kind)
    with pytest.warns(LabelWarning, match="y holds 2 empty strings: taken for unlabelled"):
        coding = encode_labels(y)
    assert coding.classes.tolist() == ["a", "b"]
    assert coding.codes.tolist() == [0, -1, 1, -1]
    with pytest.raises(ValueError, match="at least one label"), pytest.warns(LabelWarning, match="empty"):
        encode_labels(np.array(["", ""], dtype=kind))


@pytest.mark.parametrize("word", ["unknown", "?", "N/A", "-", "unlabeled", "none", "missing", "TODO"])
def test_words_for_no_label_are_classes_with_a_warning(word):
    with pytest.warns(
        LabelWarning, match=r"2 labels of y .* taken for classes; if they mean no label: y = \[None if"
    ) as said:
        coding = encode_labels(["a", word, "b", word])
    assert coding.classes.size == 3
    remedy = str(said[0].message).split("no label: y = ")[1]
    assert eval(remedy, {"y": ["a", word, "b", word]}) == ["a", None, "b", None]  # the remedy works


def test_spellings_of_one_class_are_classes_with_a_warning():
    y = ["Cat", "cat ", "CAT", "dog", None]
    with pytest.warns(LabelWarning, match=r"differ only in how they are written .*: \(CAT, Cat, 'cat '\)") as said:
        assert encode_labels(np.array(y, dtype=object)).classes.size == 4
    remedy = str(said[0].message).split("; y = ")[1].split(", with folded from")[0]
    assert eval(remedy, {"y": y, "folded": folded}) == ["cat", "cat", "cat", "dog", None]


def test_the_warning_points_to_the_caller():
    model = PlainSIIS(n_neighbors=5, n_components=5, alpha=10.0, beta=0.1)
    with pytest.warns(LabelWarning) as said:
        model.fit(X, ["a", "b", "?"] * (N // 3))
    assert said[0].filename == __file__


@pytest.mark.parametrize("kind", [object, str])
def test_signs_as_strings_are_two_classes(kind):
    with pytest.warns(LabelWarning, match="taken for two classes"):
        assert encode_labels(np.array(["-1", "1", "-1"], dtype=kind)).codes.tolist() == [0, 1, 0]
    with pytest.raises(ValueError, match="y holds the string '-1' 2 times"):
        encode_labels(np.array(["-1", "1", "-1", "2"], dtype=kind))
