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
    """Examples, labels by number and by name."""
    X, truth = load_digits(return_X_y=True)
    X, truth = X[:400], truth[:400]
    y = np.where(np.arange(truth.size) % 4 == 0, truth, -1)
    return X, y, np.array([f"class {k}" if k >= 0 else None for k in y], dtype=object)


@pytest.fixture(scope="module")
def models(digits):
    X, y, words = digits
    text = sp.csr_array(np.where(X > 8, X, 0.0))
    near = PlainSIIS().fit(X, y)
    W = sp.csr_array(near.graph_.weights[near.vertex_][:, near.vertex_])
    lone = np.where((y == 7) & (np.cumsum(y == 7) > 1), -1, y)
    with pytest.warns(UserWarning, match="have one label each"):
        with_lone = SIISClassifier().fit(X, lone)
    return {
        "default": (SIISClassifier().fit(X, words), X),
        "plain": (near, X),
        "sparse": (SIISClassifier(n_neighbors=10).fit(text, y), text),
        "graph": (SIISClassifier(affinity="precomputed").fit(W, y), W),
        "one class": (SIISClassifier().fit(X, np.where(y >= 0, 7, -1)), X),
        "soft": (PlainSIIS().fit(X, np.where(y[:, None] >= 0, np.eye(10)[y], 0.0)), X),
        "one label": (with_lone, X),
    }


@pytest.mark.parametrize("name", ["default", "plain", "sparse", "graph", "one class", "soft", "one label"])
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


def test_the_same_model_is_the_same_bytes_and_extra_comes_back(digits, models, tmp_path):
    X, _, words = digits
    extra = {"ids": ["a", "b"], "values": np.arange(3.0), "none": None, "nan": float("nan"), "pair": (1, "x")}
    again = SIISClassifier().fit(X, words)
    content = saved_bytes(models["default"][0], extra)
    assert content == saved_bytes(again, extra)
    (tmp_path / "m").write_bytes(content)
    found = load_all(tmp_path / "m").extra
    assert (found["ids"], found["pair"], found["none"]) == (["a", "b"], (1, "x"), None)
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


def with_fields(content, *path, **changes):
    """The file with other fields of its result; ``path`` leads to a part of it."""
    structure = structure_of(content)
    part = structure["result"]
    for name in path:
        part = part["fields"][name]
    part["fields"] |= changes
    return rewritten(content, {"model.json": json.dumps(structure)})


def with_array(content, values, *path):
    """The file with other values in an array of its result."""
    part = structure_of(content)["result"]
    for name in path:
        part = part["fields"][name]
    changed = io.BytesIO()
    np.lib.format.write_array(changed, values, allow_pickle=values.dtype == object)
    return rewritten(content, {f"{part['array']}.npy": changed.getvalue()})


PLACED = ("fitted", "placed")
HOSTILE = {
    "pickled array": lambda c: with_array(c, np.array([Trap()], dtype=object), "codes"),
    "a pickle": lambda c: pickle.dumps(Trap()),
    "nothing": lambda c: b"",
    "truncated": lambda c: c[: len(c) // 2],
    "compressed": lambda c: rewritten(c, {}, zipfile.ZIP_DEFLATED),
    "no format": lambda c: rewritten(c, {"model.json": json.dumps({**structure_of(c), "format": True})}),
    "no structure": lambda c: rewritten(c, {"model.json": b"[]"}),
    "unknown part": lambda c: with_fields(c, *PLACED, graph={"part": "Popen", "fields": {}}),
    "unknown kind": lambda c: with_fields(c, *PLACED, graph={"eval": "1"}),
    "missing fields": lambda c: with_fields(c, *PLACED, graph={"part": "Graph", "fields": {}}),
    "not a graph": lambda c: with_fields(c, *PLACED, graph=3),
    "another type": lambda c: with_fields(c, seed="1"),
    "another type of array": lambda c: with_array(c, np.zeros(400), "codes"),
    "no neighbours": lambda c: with_fields(c, n_neighbors=-8),
    "a method": lambda c: with_fields(c, predict_proba=5),
    "no bandwidth": lambda c: with_fields(c, *PLACED, bandwidth=0.0),
    "an empty value": lambda c: with_fields(c, *PLACED, graph={}),
    "a huge shape": lambda c: with_fields(c, prior={"objects": [], "shape": [10**30]}),
    "answers that are none": lambda c: with_array(c, np.full((400, 10), np.nan), "vertex_distributions"),
    "vertices that are not there": lambda c: with_array(c, np.full(400, 10**6), *PLACED, "vertex"),
    "another parameter": lambda c: rewritten(
        c, {"model.json": json.dumps({**structure_of(c), "model": {"dict": {"fit": 1}}})}
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_in_one_sentence(models, tmp_path, name):
    path = tmp_path / "bad.siis"
    path.write_bytes(HOSTILE[name](saved_bytes(models["plain"][0])))
    with pytest.raises(ValueError, match=r"bad\.siis is not a model that siis has saved, or it is damaged") as caught:
        siis.load(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("number", [1, 2, 4])
def test_a_file_of_another_version_is_refused(models, tmp_path, number):
    content = saved_bytes(models["plain"][0])
    changed = json.dumps({**structure_of(content), "format": number})
    (tmp_path / "new.siis").write_bytes(rewritten(content, {"model.json": changed}))
    with pytest.raises(
        ValueError, match=rf"new\.siis was written by another version of siis \(its format is {number}"
    ):
        siis.load(tmp_path / "new.siis")


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
    with pytest.raises(ValueError, match="its content does not match its digest"):
        siis.load(tmp_path / "bad.siis")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ValueError, match="there is no such file"):
        siis.load(tmp_path / "none.siis")


def test_a_folder_that_cannot_be_written_is_named(models, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError, match=r"the model cannot be written .*file/m\.siis"):
        siis.save(models["plain"][0], tmp_path / "file" / "m.siis")
