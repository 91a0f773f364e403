"""NPZ files, embeddings and ready-made graphs."""

import numpy as np
import pytest
import scipy.sparse as sp

from siis.tables import Roles, read

RNG = np.random.default_rng(0)
X = RNG.standard_normal((12, 5))


@pytest.fixture
def save(tmp_path):
    def save(**arrays):
        np.savez(tmp_path / "t.npz", **arrays)
        return tmp_path / "t.npz"

    return save


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        (np.array([0, 1, -1, 2] * 3), ["0", "1", None, "2"] * 3),
        (np.array([0.0, 1.5, -1, np.nan] * 3), ["0", "1.5", None, None] * 3),
        (np.array(["a", "", " b ", "NaN"] * 3), ["a", None, "b", None] * 3),
        (np.array([b"a", b"", b"b", b"c"] * 3), ["a", None, "b", "c"] * 3),
        (np.array([-1, 1] * 6), ["-1", "1"] * 6),
        (np.array([True, False] * 6), ["true", "false"] * 6),
    ],
)
def test_labels_of_arrays(save, y, expected):
    data = read(save(X=X, y=y), Roles())
    assert list(data.labels) == expected
    assert np.array_equal(data.X, X)
    assert data.ids == tuple(map(str, range(1, 13)))


def test_named_arrays_and_blocks(save):
    path = save(X=X.reshape(12, 5, 1), truth=np.arange(12) % 2, name=np.array([f"n{i}" for i in range(12)]))
    data = read(path, Roles(label="truth", id="name"))
    assert data.ids[0] == "n0"
    assert data.X.shape == (12, 5)
    assert data.notes[0] == "12 rows, 5 columns of numbers, 12 labelled, 2 classes"
    assert read(save(X=X, y=np.arange(12), ids=np.arange(12) * 2), Roles()).ids[1] == "2"


def test_missing_values_of_arrays(save):
    holed = X.copy()
    holed[0, 1], holed[1, 1], holed[:, 3] = np.nan, np.inf, np.nan
    data = read(save(X=holed, y=np.arange(12)), Roles())
    assert data.X[0, 1] == data.X[1, 1] == np.median(X[2:, 1])
    assert (data.X[:, 3] == 0).all()
    assert "14 missing or infinite values in 2 features: filled with the medians" in data.notes


@pytest.mark.parametrize(
    ("arrays", "roles", "part"),
    [
        ({"X": X}, {}, "found none named y"),
        ({"y": np.arange(3)}, {}, "must hold an array X; found y"),
        ({}, {}, "must hold arrays X and y"),
        (
            {"X": X, "y": np.arange(5)},
            {},
            "array y must have one entry for each of the 12 examples; found shape (5,)",
        ),
        ({"X": X, "y": np.arange(24).reshape(12, 2)}, {}, "found shape (12, 2)"),
        ({"X": X.ravel(), "y": np.arange(60)}, {}, "found shape (60,)"),
        ({"X": X.astype(str), "y": np.arange(12)}, {}, "must hold numbers"),
        ({"X": X.astype(complex), "y": np.arange(12)}, {}, "must hold numbers"),
        ({"X": X, "y": np.arange(12) * 1j}, {}, "text or numbers in y"),
        ({"X": X[:, :0], "y": np.arange(12)}, {}, "found shape (12, 0)"),
        ({"X": X.astype(object), "y": np.arange(12)}, {}, "without Python objects"),
        ({"X": X, "y": np.array(["a", None] * 6, dtype=object)}, {}, "without Python objects"),
        ({"X": X, "y": np.full(12, -1)}, {}, "at least one example must be labelled"),
        ({"X": X, "y": np.arange(12), "ids": np.zeros(12, int)}, {}, "0 stands in rows 1 and 2"),
        ({"X": X, "y": np.arange(12)}, {"id": "names"}, "found none named names"),
        ({"X": X, "y": np.arange(12)}, {"features": ("a",)}, "--features does not go with an NPZ file"),
        ({"X": X, "y": np.arange(12)}, {"text": "a"}, "--text does not go"),
        ({"X": X, "y": np.arange(12)}, {"annotators": ("a",)}, "--annotators does not go"),
        ({"X": X, "y": np.arange(12)}, {"encoding": "latin-1"}, "--encoding does not go"),
    ],
)
def test_bad_arrays(save, refusal, arrays, roles, part):
    assert part in refusal(save(**arrays), **{"label": None, **roles})


def test_damaged_arrays(save, refusal):
    path = save(X=X, y=np.arange(12))
    whole = path.read_bytes()
    for size in (0, 1, 30, len(whole) // 2, len(whole) - 5):
        path.write_bytes(whole[:size])
        assert "must be an NPZ file" in refusal(path, label=None)
    np.save(path.with_suffix(".npy"), X)
    path.write_bytes(path.with_suffix(".npy").read_bytes())
    assert "it is an NPY file" in refusal(path, label=None)


def test_embeddings(tmp_path, animals, refusal):
    path = tmp_path / "e.npy"
    E = RNG.standard_normal((40, 3)).astype(np.float32)
    np.save(path, E)
    data = read(animals, Roles(label="kind", embeddings=path, text="colour"))
    assert np.array_equal(data.X, E.astype(np.float64))
    assert data.texts[0] == "red"
    assert data.notes[0].startswith("40 rows, embeddings of 3 numbers")
    np.savez(tmp_path / "e.npz", whatever=E)
    assert np.array_equal(read(animals, Roles(label="kind", embeddings=tmp_path / "e.npz")).X, data.X)
    np.save(path, E[1:])
    assert "for each of the 40 examples" in refusal(animals, embeddings=path)
    path.write_bytes(path.read_bytes()[:-7])
    assert "must be an NPY file" in refusal(animals, embeddings=path)
    np.save(path, E.astype(object), allow_pickle=True)
    assert "without Python objects" in refusal(animals, embeddings=path)
    assert "no such file" in refusal(animals, embeddings=tmp_path / "none.npy")
    assert "must be an NPZ or NPY file" in refusal(animals, embeddings=animals)


@pytest.fixture
def ring():
    ends = (np.arange(40), (np.arange(40) + 1) % 40)
    W = sp.coo_array((np.ones(40), ends), shape=(40, 40))
    return sp.csr_array(W + W.T)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "dia", "bsr", "dense"])
def test_graphs(tmp_path, animals, ring, form):
    path = tmp_path / "g.npz"
    if form == "dense":
        np.savez(path, ring.toarray())
    else:
        sp.save_npz(path, ring.asformat(form))
    data = read(animals, Roles(label="kind", graph=path))
    assert data.affinity == "precomputed"
    assert data.recipe is None
    assert isinstance(data.X, sp.csr_array)
    assert abs(data.X - ring).max() == 0
    assert data.notes[0] == "40 rows, a ready-made graph with 40 edges, 20 labelled, 2 classes"


def test_bad_graphs(tmp_path, animals, ring, refusal):
    path = tmp_path / "g.npz"

    def message(W):
        sp.save_npz(path, sp.csr_array(W))
        found = refusal(animals, graph=path)
        assert str(path) in found
        return found

    assert "one row and one column for each of the 40" in message(ring[:39, :39])
    assert "found shape (39, 40)" in message(ring[:39])
    assert "symmetric" in message(sp.triu(ring))
    assert "non-negative" in message(-ring)
    assert "diagonal" in message(ring + sp.eye_array(40))
    assert "finite" in message(ring * np.nan)
    np.savez(path, format="csr", shape=(40, 40), data=np.ones(2), indices=[10**6, 5], indptr=np.arange(41) % 3)
    assert "must be a sparse matrix" in refusal(animals, graph=path)
    np.savez(path, a=np.ones(3), b=np.ones(3))
    assert "scipy.sparse.save_npz" in refusal(animals, graph=path)
    path.write_bytes(path.read_bytes()[:50])
    assert "must be an NPZ file" in refusal(animals, graph=path)
