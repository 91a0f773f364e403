import io
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from PIL import Image
from sklearn.exceptions import DataConversionWarning

from siis import datasets
from siis.datasets import contaminate, draw_labelled, make_noisy_chain, make_noisy_double_moon, real
from siis.files import cache_folder

TRUTH = np.repeat([0, 1, 2], 20)


def test_contaminate_changes_exactly_the_share_and_only_given_labels():
    y = np.array([0, 1, 2, 3] * 25 + [-1] * 50)
    for rate in (0, 0.2, 0.35, 1):
        noisy = contaminate(y, rate, 3)
        assert np.count_nonzero(noisy != y) == round(rate * 100)
        assert (noisy[100:] == -1).all()
        assert set(noisy[:100]) <= {0, 1, 2, 3}
    np.testing.assert_array_equal(contaminate(y, 0.4, 1), contaminate(y, 0.4, 1))
    assert (contaminate(y, 0.4, 1) != contaminate(y, 0.4, 2)).any()
    assert contaminate(np.array(["a", "b", None], dtype=object), 1.0).tolist() == ["b", "a", None]
    with pytest.warns(DataConversionWarning):
        assert contaminate(np.array([[0], [1]]), 1.0).tolist() == [1, 0]


def test_wrong_labels_are_spread_evenly():
    y = np.zeros(9000, dtype=int)
    y[:3] = 1, 2, 3
    counts = np.bincount(contaminate(y, 0.9, 0), minlength=4)
    assert counts[1:].min() > 2500


def test_moons_and_chain():
    X, y, truth = make_noisy_double_moon(random_state=1)
    assert X.shape == (640, 2)
    for k in (0, 1):
        given = (y >= 0) & (truth == k)
        assert np.count_nonzero(given) == 3
        assert np.count_nonzero(given & (y != k)) == 1
    weights, y, truth = make_noisy_chain(wrong=6)
    assert weights.shape == (10, 10)
    assert np.flatnonzero(y != truth).tolist() == [6]


def test_draw_labelled():
    assert np.bincount(TRUTH[draw_labelled(TRUTH, per_class=4)]).tolist() == [4, 4, 4]
    assert draw_labelled(TRUTH, total=7).size == 7
    assert draw_labelled(TRUTH.tolist(), total=3).size == 3


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (contaminate, {"y": [0, 1], "rate": 1.5}, "between 0 and 1"),
        (contaminate, {"y": [3, 3], "rate": 0.5}, "two classes"),
        (make_noisy_double_moon, {"labels_per_class": 1, "wrong_per_class": 2}, "must hold"),
        (make_noisy_double_moon, {"noise": -1}, "non-negative number"),
        (make_noisy_chain, {"wrong": 2}, "negative vertex"),
        (draw_labelled, {"truth": TRUTH}, "either"),
        (draw_labelled, {"truth": TRUTH, "per_class": 21}, "between 1 and 20"),
        (draw_labelled, {"truth": TRUTH, "total": 0}, "between 1"),
        (draw_labelled, {"truth": np.array([0, -1]), "total": 1}, "negative numbers"),
    ],
)
def test_bad_arguments(function, arguments, message):
    with pytest.raises(ValueError, match=message):
        function(**arguments)


def test_real_loaders(coil):
    for load, shape, n_classes in (
        (datasets.load_coil20, (1440, 1024), 20),
        (datasets.load_isolet, (7797, 617), 26),
        (datasets.load_rcv1_4class, (9625, 22385), 4),
    ):
        data = load()
        assert data.X.shape == shape
        assert np.unique(data.y).size == n_classes == len(data.class_names)
        assert all((data.description, data.origin, data.licence, data.citation))
    sums = np.round(datasets.load_coil20().X * 4080).astype(int)
    assert real.coil_content(sums[::-1]) == real.COIL_CONTENT
    sums[5, 5] += 1
    assert real.coil_content(sums) != real.COIL_CONTENT


def test_a_named_folder_without_the_file_is_an_error(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"holds no isolet.npz. Put it there"):
        datasets.load_isolet(tmp_path)
    monkeypatch.setenv("SIIS_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="SIIS_DATA names"):
        datasets.load_coil20()


@pytest.fixture
def no_files(tmp_path, monkeypatch):
    """An empty cache folder, and no folder of data."""
    monkeypatch.delenv("SIIS_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_download_then_cache_then_message(no_files, monkeypatch):
    def offline(*_, **__):
        raise OSError("no route")

    downloads = ("sklearn.datasets.fetch_openml", "sklearn.datasets.fetch_rcv1", "pooch.retrieve")
    for name in downloads:
        monkeypatch.setattr(name, offline)
    for load in (datasets.load_isolet, datasets.load_rcv1_4class, datasets.load_coil20):
        with pytest.raises(RuntimeError, match=r"could not be downloaded .*no route.*SIIS_DATA"):
            load()
    assert not list(no_files.rglob("*.np*"))
    bunch = SimpleNamespace(data=np.zeros((7797, 617)), target=np.array([str(1 + i % 26) for i in range(7797)]))
    monkeypatch.setattr(downloads[0], lambda **_: bunch)
    assert datasets.load_isolet().y.max() == 25
    monkeypatch.setattr(downloads[0], offline)
    assert datasets.load_isolet().X.shape == (7797, 617)  # now from the cache


def test_the_archive_is_read_and_checked(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    images = {(obj, pose): rng.integers(0, 256, (128, 128), dtype=np.uint8) for obj in (1, 2) for pose in (0, 10, 2)}
    path = tmp_path / "coil.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for (obj, pose), image in images.items():
            buffer = io.BytesIO()
            Image.fromarray(image).save(buffer, "PNG")
            archive.writestr(f"coil-20-proc/obj{obj}__{pose}.png", buffer.getvalue())
    with pytest.raises(ValueError, match="its images differ"):
        real.read_coil_archive(path)
    sums = np.array([real.block_sums(images[key]) for key in sorted(images)])
    monkeypatch.setattr(real, "COIL_CONTENT", real.coil_content(sums))
    X, y = real.read_coil_archive(path)
    assert y.tolist() == [0, 0, 0, 1, 1, 1]
    expected = images[1, 2].reshape(32, 4, 32, 4).mean(axis=(1, 3)).ravel() / 255
    np.testing.assert_allclose(X[1], expected)


def test_rcv1_is_drawn_and_both_its_files_are_stored_or_none(no_files, rng, monkeypatch):
    topics = np.zeros((30000, 6), dtype=int)
    topics[np.arange(30000), rng.integers(0, 6, 30000)] = 1
    topics[:3000, 1:3] = 1  # two topics: never drawn
    X = sp.random_array((30000, 40), density=0.1, rng=rng, format="csr")
    names = ["X", "C15", "ECAT", "GCAT", "MCAT", "Y"]
    bunch = SimpleNamespace(data=X, target=sp.csr_array(topics), target_names=names)
    monkeypatch.setattr("sklearn.datasets.fetch_rcv1", lambda: bunch)
    with monkeypatch.context() as broken:
        broken.setattr("scipy.sparse.save_npz", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            datasets.load_rcv1_4class()
    assert not list(no_files.rglob("*.np*"))
    first = datasets.load_rcv1_4class()
    assert np.bincount(first.y).tolist() == list(real.RCV1_SIZES)
    assert first.X.shape == (9625, 40)
    monkeypatch.delattr("sklearn.datasets.fetch_rcv1")
    stored = datasets.load_rcv1_4class()
    np.testing.assert_array_equal(first.y, stored.y)
    assert (first.X != stored.X).nnz == 0
    assert sorted(path.name for path in cache_folder().iterdir()) == ["rcv1_4class.npz", "rcv1_4class_y.npy"]
