"""Model files: the same answers, the same bytes, and nothing that runs."""

import io
import json
import pickle
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import siis
from plain import PlainSIIS
from siis import SIISClassifier
from siis.saved import load_all, saved_bytes
from siis.saved.archive import DIGEST, digest


@pytest.fixture(scope="module")
def digits():
    X, truth = load_digits(return_X_y=True)
    X, truth = X[:400], truth[:400]
    y = np.where(np.arange(truth.size) % 4 == 0, truth, -1)
    return X, y, np.array([f"class {k}" for k in range(10)], dtype=object)


def cases(digits):
    X, y, names = digits
    words = np.array([names[k] if k >= 0 else None for k in y], dtype=object)
    text = sp.csr_array(np.where(X > 8, X, 0.0))
    near = PlainSIIS().fit(X, y)
    W = sp.csr_array(near.graph_.weights[near.vertex_][:, near.vertex_])
    alone = SIISClassifier().fit(X, np.where(y >= 0, 7, -1))
    return {
        "default": (SIISClassifier().fit(X, words), X),
        "plain": (near, X),
        "sparse": (SIISClassifier(n_neighbors=10).fit(text, y), text),
        "graph": (SIISClassifier(affinity="precomputed").fit(W, y), W),
        "one class": (alone, X),
        "soft": (PlainSIIS().fit(X, np.where(y[:, None] >= 0, np.eye(10)[y], 0.0)), X),
    }


@pytest.fixture(scope="module")
def models(digits):
    return cases(digits)


@pytest.mark.parametrize("name", ["default", "plain", "sparse", "graph", "one class", "soft"])
def test_a_loaded_model_gives_the_same_answers(models, tmp_path, name):
    model, X = models[name]
    siis.save(model, tmp_path / "model.siis")
    loaded = siis.load(tmp_path / "model.siis")
    assert loaded.get_params() == model.get_params()
    np.testing.assert_array_equal(loaded.classes_, model.classes_)
    np.testing.assert_array_equal(loaded.transduction_, model.transduction_)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    if name != "graph":
        new = X[:50] * 1.01
        np.testing.assert_array_equal(loaded.predict_proba(new), model.predict_proba(new))
    if hasattr(model, "label_quality_"):
        assert str(loaded.label_issues()) == str(model.label_issues())
        assert str(loaded.suggest_queries()) == str(model.suggest_queries())
        assert str(loaded.members_) == str(model.members_)
        assert loaded.leading_graph_ == model.leading_graph_
    assert loaded.dual_gap_ == model.dual_gap_
    assert not hasattr(loaded, "basis_")


def test_the_same_model_is_the_same_bytes_and_extra_comes_back(digits, models):
    X, y, names = digits
    words = np.array([names[k] if k >= 0 else None for k in y], dtype=object)
    extra = {"ids": ["a", "b"], "values": np.arange(3.0), "none": None, "nan": float("nan"), "pair": (1, "x")}
    again = SIISClassifier().fit(X, words)
    assert saved_bytes(models["default"][0], extra) == saved_bytes(again, extra)


def test_extra(models, tmp_path):
    extra = {"ids": ["a", "b"], "values": np.arange(3.0), "none": None, "nan": float("nan"), "pair": (1, "x")}
    siis.save(models["plain"][0], tmp_path / "m", extra)
    found = load_all(tmp_path / "m").extra
    assert found["ids"] == ["a", "b"]
    assert found["pair"] == (1, "x")
    assert np.isnan(found["nan"])
    np.testing.assert_array_equal(found["values"], [0.0, 1.0, 2.0])


def test_what_is_no_data_is_refused(digits, tmp_path):
    X, y, _ = digits
    with pytest.raises(ValueError, match="must be fitted"):
        siis.save(SIISClassifier(), tmp_path / "m")
    own = PlainSIIS(neighbor_search=NearestNeighbors()).fit(X, y)
    with pytest.raises(ValueError, match=r"model\.neighbor_search is a NearestNeighbors"):
        siis.save(own, tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_only_classifiers_are_saved(digits, tmp_path):
    X, y, _ = digits
    pipeline = make_pipeline(StandardScaler(), PlainSIIS()).fit(X, y)
    with pytest.raises(ValueError, match=r"must be a SIISClassifier; found a Pipeline. Save its last step: .*\[-1\]"):
        siis.save(pipeline, tmp_path / "m")
    with pytest.raises(ValueError, match=r"must be a SIISClassifier; found a str. Give one"):
        siis.save("model", tmp_path / "m")
    siis.save(pipeline[-1], tmp_path / "m")
    assert siis.load(tmp_path / "m").classes_.tolist() == pipeline[-1].classes_.tolist()


class Trap:
    def __reduce__(self):
        return (_spring, ())


def _spring():
    raise AssertionError("code from a model file was run")


def rewritten(content, changes, compress=zipfile.ZIP_STORED):
    """The archive with some members exchanged, and a digest to match: an enemy knows how to compute it."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old:
        members = {name: old.read(name) for name in old.namelist()}
    for name, text in changes.items():
        members[name] = text.encode() if isinstance(text, str) else text
    members[DIGEST] = digest(members.items()).encode()
    with zipfile.ZipFile(out, "w", compress) as new:
        for name, member in members.items():
            new.writestr(name, member)
    return out.getvalue()


def structure_of(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return json.loads(archive.read("model.json"))


def hostile(content):
    pickled = io.BytesIO()
    np.lib.format.write_array(pickled, np.array([Trap()], dtype=object), allow_pickle=True)
    structure = structure_of(content)
    state = structure["state"]["dict"]

    def with_state(**changes):
        return json.dumps({**structure, "state": {"dict": {**state, **changes}}})

    nothing = io.BytesIO()
    np.lib.format.write_array(nothing, np.full((400, 10), np.nan))
    vertex = io.BytesIO()
    np.lib.format.write_array(vertex, np.full(400, 10**6))
    return {
        "pickled array": rewritten(content, {"0.npy": pickled.getvalue()}),
        "a pickle": pickle.dumps(Trap()),
        "nothing": b"",
        "truncated": content[: len(content) // 2],
        "compressed": rewritten(content, {}, zipfile.ZIP_DEFLATED),
        "no format": rewritten(content, {"model.json": json.dumps({**structure, "format": True})}),
        "no structure": rewritten(content, {"model.json": b"[]"}),
        "unknown part": rewritten(content, {"model.json": with_state(graph_={"part": "Popen", "fields": {}})}),
        "unknown kind": rewritten(content, {"model.json": with_state(graph_={"eval": "1"})}),
        "missing fields": rewritten(content, {"model.json": with_state(graph_={"part": "Graph", "fields": {}})}),
        "not a graph": rewritten(content, {"model.json": with_state(graph_=3)}),
        "no neighbours": rewritten(content, {"model.json": with_state(_n_neighbors=-8)}),
        "a method": rewritten(content, {"model.json": with_state(predict_proba=5)}),
        "no bandwidth": rewritten(content, {"model.json": with_state(bandwidth_=0.0)}),
        "an empty value": rewritten(content, {"model.json": with_state(graph_={})}),
        "a huge shape": rewritten(content, {"model.json": with_state(graph_={"objects": [], "shape": [10**30]})}),
        "answers that are none": rewritten(content, {f"{state['_answers']['array']}.npy": nothing.getvalue()}),
        "vertices that are not there": rewritten(content, {f"{state['vertex_']['array']}.npy": vertex.getvalue()}),
    }


@pytest.mark.parametrize(
    "name",
    [
        "pickled array",
        "a pickle",
        "nothing",
        "truncated",
        "compressed",
        "no format",
        "no structure",
        "unknown part",
        "unknown kind",
        "missing fields",
        "not a graph",
        "vertices that are not there",
        "no neighbours",
        "a method",
        "no bandwidth",
        "an empty value",
        "a huge shape",
        "answers that are none",
    ],
)
def test_hostile_files_are_refused_in_one_sentence(models, tmp_path, name):
    path = tmp_path / "bad.siis"
    path.write_bytes(hostile(saved_bytes(models["plain"][0]))[name])
    with pytest.raises(ValueError, match=r"bad\.siis is not a model that siis has saved, or it is damaged") as caught:
        siis.load(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (3, r"new\.siis was written by a newer siis \(its format is 3.*Update siis\."),
        (1, r"new\.siis was written by siis 0\.1, whose files this version does not read\. Fit and save"),
    ],
)
def test_a_file_of_another_version_says_so(models, tmp_path, number, said):
    content = saved_bytes(models["plain"][0])
    changed = json.dumps({**structure_of(content), "format": number})
    (tmp_path / "new.siis").write_bytes(rewritten(content, {"model.json": changed}))
    with pytest.raises(ValueError, match=said):
        siis.load(tmp_path / "new.siis")


def test_what_an_older_file_lacks_takes_its_default(models, tmp_path):
    content = saved_bytes(models["plain"][0])
    structure = structure_of(content)
    assert structure["state"]["dict"].pop("verbose") == 0
    assert structure["state"]["dict"].pop("tol") == 1e-4
    (tmp_path / "older.siis").write_bytes(rewritten(content, {"model.json": json.dumps(structure)}))
    assert siis.load(tmp_path / "older.siis").get_params() == models["plain"][0].get_params()


def test_one_flipped_bit_is_seen(models, tmp_path):
    """Where it would be felt by nobody: in the last digit of one of many numbers, with a new checksum of the zip."""
    content = saved_bytes(models["default"][0])
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    member = bytearray(members["0.npy"])
    member[-8] ^= 1
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as new:
        for name, data in members.items():
            new.writestr(name, bytes(member) if name == "0.npy" else data)
    (tmp_path / "bad.siis").write_bytes(out.getvalue())
    with pytest.raises(ValueError, match="its content is not what its digest says"):
        siis.load(tmp_path / "bad.siis")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ValueError, match="there is no such file"):
        siis.load(tmp_path / "none.siis")


def test_a_folder_that_cannot_be_written_is_named(models, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError, match=r"the model cannot be written .*file/m\.siis"):
        siis.save(models["plain"][0], tmp_path / "file" / "m.siis")
