"""DaskSIISClassifier on real workers: the answers of the fit of files, as Dask arrays in the order of X."""

import gc
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from pyarrow import parquet
from sklearn.base import clone

import siis
from siis import SIISClassifier
from siis.distributed import DaskSIISClassifier, dask_classifier, dask_rows, fit, row_blocks, workers
from siis.distributed import job as job_module
from siis.distributed.dask_rows import write_rows
from siis.labels import LabelWarning
from siis.tables import Roles, read
from siis.workflow import FitOptions

pytest.importorskip("distributed", reason="Dask is not installed: nothing is run on a cluster")
da = pytest.importorskip("dask.array", reason="Dask is not installed: there are no arrays of it")
pytestmark = pytest.mark.slow
ROOT = Path(__file__).parent.parent.parent
N, C, D = 900, 3, 5
CHUNKS = (240, 240, 240, 180)
SETTLED = {
    **{"n_neighbors": 10, "metric": "euclidean", "connectivity": "union", "laplacian": "normalized"},
    **{"n_components": 40, "alpha": 5.0, "beta": 20.0, "random_state": 3},
}


@pytest.fixture(scope="module", autouse=True)
def small():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job_module, "MOST_SAMPLED", 400)
        for module in (dask_rows, row_blocks):
            patch.setattr(module, "MOST_ROWS", 200)
        yield


@pytest.fixture(scope="module")
def case():
    """Features, given labels (a tenth of them wrong) and the truth; the classes are 10, 20 and 30."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, C, N)
    X = (3.0 * np.eye(C, D)[truth] + rng.standard_normal((N, D))).astype(np.float32)
    y = np.full(N, -1, dtype=np.int16)
    given = rng.choice(N, 200, replace=False)
    y[given] = 10 + 10 * np.where(rng.random(200) < 0.1, (truth[given] + 1) % C, truth[given])
    return X, y, 10 + 10 * truth


@pytest.fixture(scope="module")
def from_files(case, client, tmp_path_factory):
    """A Parquet file with the same rows, the answers of a fit of it, and its figures."""
    X, y, _ = case
    folder, out = tmp_path_factory.mktemp("data"), tmp_path_factory.mktemp("out")
    labels = pa.array([None if k < 0 else str(k) for k in y], pa.string())
    table = pa.table({**{f"x{j}": X[:, j] for j in range(D)}, "kind": labels})
    parquet.write_table(table, folder / "all.parquet", row_group_size=300)
    summary = fit(FitOptions(str(folder / "*.parquet"), {"label": "kind"}, parameters=SETTLED), out, client)
    found = parquet.read_table(out / "predictions").to_pandas().sort_values("row")
    return folder / "all.parquet", found, summary["cluster"]


@pytest.fixture(scope="module")
def model(case, client):
    X, y, _ = case
    return DaskSIISClassifier(client=client, **SETTLED).fit(da.from_array(X, chunks=(240, 3)), y)


@pytest.fixture(scope="module")
def dd():
    return pytest.importorskip("dask.dataframe", reason="pandas is not installed: there are no data frames of Dask")


def test_an_array_gives_the_answers_of_the_files(model, from_files, case):
    _, expected, figures = from_files
    answers = model.transduction_.compute()
    np.testing.assert_array_equal(answers, expected["label"].astype(int))
    np.testing.assert_allclose(model.label_distributions_.compute().max(axis=1), expected["confidence"], atol=1e-5)
    np.testing.assert_allclose(model.label_quality_.compute(), expected["quality"], atol=1e-5)
    assert model.noise_rate_ == pytest.approx(figures["noise_rate"], abs=1e-5)
    assert model.objective_ == pytest.approx(figures["objective"], rel=1e-5)
    assert np.mean(answers == case[2]) > 0.9


def test_a_data_frame_gives_them_too_in_a_folder_that_lasts_as_long_as_they(client, from_files, dd, tmp_path):
    import dask  # noqa: PLC0415

    path, expected, _ = from_files
    frame = dd.read_parquet(path, blocksize=None, split_row_groups=True).drop(columns="kind")
    assert frame.npartitions == 3
    given = dd.from_pandas(expected[["given"]].reset_index(drop=True), npartitions=2)["given"]
    with dask.config.set({"siis.work-folder": str(tmp_path)}), client.as_current():  # no client is named
        model = DaskSIISClassifier(**SETTLED).fit(frame, given)
    (folder,) = tmp_path.iterdir()
    assert [one.name for one in folder.iterdir() if one.is_dir()] == ["predictions"]
    assert model.classes_.tolist() == ["10", "20", "30"]
    answers = model.transduction_
    np.testing.assert_array_equal(answers.compute(), expected["label"])
    assert model.feature_names_in_.tolist() == [f"x{j}" for j in range(D)]
    found = model.predict(frame.compute())
    np.testing.assert_array_equal(model.predict(frame).compute(), found)
    assert np.mean(found == expected["label"]) > 0.95
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["x0", "x1"]])
    del model
    gc.collect()
    np.testing.assert_array_equal(answers.compute(), expected["label"])  # whoever holds the answers keeps them
    stray = pickle.loads(pickle.dumps(answers))
    del answers
    gc.collect()
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="the folder has gone"):
        stray.compute(scheduler="sync")


def read_again(rows):
    """Features of all rows as the workers read them, block by block."""
    _, reader, _ = rows.sample(np.arange(rows.n))
    return np.concatenate([reader(block)[0] for block in rows.blocks])


def test_chunks_of_unknown_size_and_empty_ones(case, client, tmp_path):
    X = case[0]
    which = (X[:, 0] > 1) & ((np.arange(N) < 300) | (np.arange(N) >= 600))
    chunked = da.from_array(X, chunks=(300, 2))[da.from_array(which, chunks=300)]
    rows = write_rows(client, chunked, tmp_path / "blocks", "x")
    assert rows.sizes == [which[:300].sum(), 0, which[600:].sum()]
    np.testing.assert_array_equal(read_again(rows), X[which])
    some = np.array([0, 5, rows.n - 1])
    np.testing.assert_array_equal(rows.sample(some)[0], X[which][some])


def test_features_beyond_single_precision_are_double_in_every_chunk(client, tmp_path):
    X = np.ones((600, 2), np.float32)
    assert write_rows(client, da.from_array(X, chunks=200), tmp_path / "a", "x").dtype == "float32"
    X[450] = 1e20
    rows = write_rows(client, da.from_array(X, chunks=200), tmp_path / "b", "x")
    assert rows.sample(np.array([3, 450]))[0].dtype == read_again(rows).dtype == np.float64


def test_columns_of_data_frames_are_read_as_those_of_files(client, dd, tmp_path):
    pd, rng = pytest.importorskip("pandas"), np.random.default_rng(0)
    colours = np.where(np.arange(900) < 320, None, rng.choice(["red", "blue"], 900))  # none in the first part
    table = pd.DataFrame(
        {
            "size": np.where(rng.random(900) < 0.1, np.nan, rng.standard_normal(900)),
            "price": [f"${k:,}" for k in rng.integers(900, 2000, 900)],
            "colour": colours,
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, 900), "D"),
            "label": rng.choice(["a", "b"], 900),
        }
    )
    table.to_parquet(tmp_path / "all.parquet")
    expected = read(tmp_path / "all.parquet", Roles(label="label")).X
    rows = write_rows(client, dd.from_pandas(table.drop(columns="label"), npartitions=3), tmp_path / "b", "x")
    assert rows.sizes == [300, 300, 300]
    X, _, encoder = rows.sample(np.arange(900))
    np.testing.assert_array_equal(X, expected)
    np.testing.assert_array_equal(read_again(rows), expected)
    assert encoder.columns_[1].kind == "number"


def test_what_has_an_entry_for_each_row_is_a_dask_array(model, case):
    labelled = case[1] >= 0
    for name in ("transduction_", "is_reached_", "label_quality_"):
        assert getattr(model, name).chunks == (CHUNKS,), name
    for name in ("label_distributions_", "held_out_distributions_"):
        assert getattr(model, name).chunks == (CHUNKS, (C,)), name
    assert model.classes_.dtype == model.transduction_.dtype == model.transduction_.compute().dtype == np.int16
    np.testing.assert_allclose(model.label_distributions_.sum(axis=1).compute(), 1.0)
    assert model.is_reached_.all().compute()
    np.testing.assert_array_equal(np.isfinite(model.label_quality_.compute()), labelled)
    np.testing.assert_array_equal(np.isfinite(model.held_out_distributions_.compute()[:, 0]), labelled)
    assert 0 <= model.dual_gap_ <= model.tol
    assert isinstance(model.noise_rate_, float)
    assert (model.n_features_in_, model.table_encoder_) == (D, None)
    assert len(model.sample_rows_) == model.sample_model_.transduction_.size == 400


def test_labels_are_ranked_by_the_rows_of_x(model, case):
    _, y, truth = case
    ranking = model.label_ranking()
    index, quality = ranking["index"], ranking["quality"]
    assert sorted(index) == np.flatnonzero(y >= 0).tolist()
    np.testing.assert_array_equal(ranking["given"], y[index])
    np.testing.assert_array_equal(quality, model.label_quality_.compute()[index])
    assert (np.diff(quality) >= 0).all()
    is_wrong = (y != truth)[index]
    assert is_wrong[:10].mean() > 0.6 > 4 * is_wrong[10:].mean()
    for issues in (model.label_issues(quality[10]), model.label_issues(n=10)):
        np.testing.assert_array_equal(issues["index"], index[:10])
        assert issues["neighbors"].tolist() == [[]] * 10
    doubtful = (quality < 0.5) | (ranking["suggested"] != ranking["given"])
    assert set(model.label_issues()["index"]) == set(index[doubtful])


def test_new_examples_are_predicted_on_the_workers(model, case):
    X, _, truth = case
    chunked = da.from_array(X, chunks=(150, 2))
    P = model.predict_proba(chunked)
    assert P.chunks == ((150,) * 6, (C,))
    np.testing.assert_allclose(P.compute(), model.predict_proba(X))
    np.testing.assert_allclose(model.predict_proba(X), model.sample_model_.predict_proba(X))
    found = model.predict(chunked[chunked[:, 0] > 3])  # chunks of unknown size, some may be empty
    np.testing.assert_array_equal(found.compute(), model.predict(X[X[:, 0] > 3]))
    assert found.dtype == model.predict(X).dtype == np.int16
    sets = model.predict_sets(chunked, 0.8).compute()
    np.testing.assert_array_equal(sets, model.predict_sets(X, 0.8))
    assert sets.dtype == bool
    score = model.score(chunked, da.from_array(truth, chunks=500))
    assert score == pytest.approx(np.mean(model.predict(X) == truth))
    with pytest.raises(ValueError, match="X has 2 features, but DaskSIISClassifier is expecting 5 features"):
        model.predict(chunked[:, :2])
    with pytest.raises(ValueError, match="coverage must be a number between 0 and 1; found 2"):
        model.predict_sets(chunked, 2)


def test_what_needs_the_graph_is_that_of_the_sample(model, tmp_path):
    for name in ("graph_", "basis_", "outliers", "suggest_queries", "near_duplicates", "class_overlap"):
        assert not hasattr(model, name)
        assert hasattr(model.sample_model_, name)
    with pytest.raises(ValueError, match="Save that"):
        siis.save(model, tmp_path / "model.siis")
    siis.save(model.sample_model_, tmp_path / "model.siis")
    assert siis.load(tmp_path / "model.siis").classes_.tolist() == [10, 20, 30]


def test_clones_share_the_client_and_pickles_leave_it_out(client, model):
    again = clone(model)
    assert again.get_params() == model.get_params()
    assert again.client is client
    assert not hasattr(again, "classes_")
    kept = pickle.loads(pickle.dumps(model))
    assert kept.client is None
    np.testing.assert_array_equal(kept.transduction_.compute(), model.transduction_.compute())


class Closed:
    submit = gather = run = None
    asynchronous, status = False, "closed"


class Asynchronous(Closed):
    asynchronous = True


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": -1}, r"alpha of DaskSIISClassifier must be a positive number or .*; found -1"),
        ({"client": 3}, r"client of DaskSIISClassifier must be None or a client of Dask; found 3"),
        ({"client": Closed()}, "this one is closed"),
        ({"client": Asynchronous()}, "found an asynchronous one"),
        ({}, r"there is none\. Connect to one first"),
    ],
)
def test_parameters_and_clients(parameters, message, case, monkeypatch):
    def none():
        raise ValueError("no global client")

    monkeypatch.setattr("distributed.get_client", none)
    with pytest.raises(ValueError, match=message):
        DaskSIISClassifier(**parameters).fit(da.from_array(case[0], chunks=400), case[1])


def test_without_dask(monkeypatch):
    monkeypatch.setattr(workers, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"needs dask and distributed, which are not installed. Install them with"):
        DaskSIISClassifier().fit(np.eye(3), [0, 1, 1])


@pytest.mark.parametrize(
    "change",
    [
        lambda X, y: (np.where(np.arange(N)[:, None] == 600, np.nan, X), y),
        lambda X, y: (X, y[:-1]),
        lambda X, y: (X, np.full(N, -1)),
        lambda X, y: (X, y + 0.5),
        lambda X, y: (np.full((N, 2), "red", dtype=object), y),
        lambda X, y: (np.zeros((N, 2), "M8[s]"), y),
        lambda X, y: (X * 1j, y),
        lambda X, y: (X, np.where(y < 0, "-1", "red")),
    ],
)
def test_the_errors_of_a_fit_in_memory(change, case, client):
    X, y = change(*case[:2])
    expected = refusal(SIISClassifier(), X, y)
    found = refusal(DaskSIISClassifier(client=client), da.from_array(X, chunks=400), y)
    assert found.split("\n")[0] == expected.split("\n")[0].replace("by SIIS", "by DaskSIIS")


def refusal(model, X, y):
    with pytest.raises(ValueError) as caught:  # noqa: PT011  (compared by the caller)
        model.fit(X, y)
    return str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (X.compute(), y), "X must be a Dask array or a Dask data frame; found ndarray"),
        (lambda X, y: (X[:, 0], y), "Expected 2D array, got 1D array instead"),
        (lambda X, y: (X.map_blocks(sp.csr_array), y), "chunks of X must be NumPy arrays; found csr_array"),
        (lambda X, y: (X, np.where(y == 10, 10, -1)), "must hold labels of two classes or more; found only 10"),
        (lambda X, y: (X, np.eye(C)[y % C]), r"y must hold one class for each row; found shape \(900, 3\)"),
    ],
)
def test_x_and_y_that_a_cluster_cannot_take(change, message, case, client):
    model = DaskSIISClassifier(client=client)
    with pytest.raises(ValueError, match=message):
        model.fit(*change(da.from_array(case[0], chunks=400), case[1]))
    assert not hasattr(model, "classes_"), "no half-fitted model"


def test_labels_that_seem_to_be_none_are_named_before_anything_is_written(case, client, monkeypatch):
    def lost(*args):
        raise workers.NoWorkers("all have gone")

    X, y, _ = case
    monkeypatch.setattr(dask_classifier, "write_rows", lost)
    with (
        pytest.warns(LabelWarning, match="unknown") as caught,
        pytest.raises(ValueError, match=r"the cluster was lost on the way: all have gone. Fit again."),
    ):
        DaskSIISClassifier(client=client).fit(
            da.from_array(X, chunks=400), np.where(y < 0, "unknown", y.astype(str)).astype(object)
        )
    assert caught[0].filename == __file__


def test_folders_that_cannot_be_used(case, client, tmp_path, monkeypatch):
    import dask  # noqa: PLC0415

    class Far:
        def run(self, function, *args):
            return {"tcp://far:1": False, "tcp://near:1": True}

    monkeypatch.setattr(workers, "LOOKS_FOR_FILE", 1)
    with pytest.raises(ValueError, match=r"all workers must see the folder .*; tcp://far:1 does not. Share it"):
        workers.check_shared_folder(Far(), tmp_path / "work", "Share it.")
    with (
        dask.config.set({"siis.work-folder": str(tmp_path / "none")}),
        pytest.raises(ValueError, match="work-folder of Dask's configuration must be a folder"),
    ):
        DaskSIISClassifier(client=client).fit(da.from_array(case[0], chunks=400), case[1])


def test_the_example_of_the_page(tmp_path):
    page = (ROOT / "docs" / "scale.md").read_text()
    (code,) = (part for part in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "DaskSIIS" in part)
    (tmp_path / "example.py").write_text(code)
    command = [sys.executable, "-W", "error::UserWarning", "example.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert float(re.search(r"right: ([\d.]+)", done.stdout)[1]) > 0.9
