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
from siis.datasets.dataset import local_file
from siis.files import cache_folder


def test_contaminate_changes_exactly_the_share_and_only_given_labels():
    y = np.array([0, 1, 2, 3] * 25 + [-1] * 50)
    for rate in (0, 0.2, 0.35, 1):
        noisy = contaminate(y, rate, 3)
        assert np.count_nonzero(noisy != y) == round(rate * 100)
        assert (noisy[100:] == -1).all()
        assert set(noisy[:100]) <= {0, 1, 2, 3}
    np.testing.assert_array_equal(contaminate(y, 0.4, 1), contaminate(y, 0.4, 1))
    assert (contaminate(y, 0.4, 1) != contaminate(y, 0.4, 2)).any()


def test_wrong_labels_are_spread_evenly():
    y = np.zeros(9000, dtype=int)
    y[0], y[1], y[2] = 1, 2, 3
    counts = np.bincount(contaminate(y, 0.9, 0), minlength=4)
    assert counts[1:].min() > 2500


def test_contaminate_strings_and_bad_arguments():
    noisy = contaminate(np.array(["a", "b", None], dtype=object), 1.0)
    assert noisy.tolist() == ["b", "a", None]
    with pytest.raises(ValueError, match="between 0 and 1"):
        contaminate([0, 1], 1.5)
    with pytest.raises(ValueError, match="two classes"):
        contaminate([3, 3], 0.5)
    with pytest.warns(DataConversionWarning):
        assert contaminate(np.array([[0], [1]]), 1.0).tolist() == [1, 0]


def test_moons_and_chain():
    problem = make_noisy_double_moon(random_state=1)
    given = problem.y >= 0
    assert problem.X.shape == (640, 2)
    for k in (0, 1):
        assert np.count_nonzero(given & (problem.truth == k)) == 3
        assert np.count_nonzero(given & (problem.truth == k) & (problem.y != k)) == 1
    chain = make_noisy_chain()
    assert np.flatnonzero(chain.y != chain.truth).tolist() == [chain.wrong]
    with pytest.raises(ValueError, match="must hold"):
        make_noisy_double_moon(labels_per_class=1, wrong_per_class=2)
    with pytest.raises(ValueError, match="non-negative number"):
        make_noisy_double_moon(noise=-1)
    with pytest.raises(ValueError, match="negative vertex"):
        make_noisy_chain(wrong=2)


def test_draw_labelled():
    truth = np.repeat([0, 1, 2], 20)
    assert np.bincount(truth[draw_labelled(truth, per_class=4)]).tolist() == [4, 4, 4]
    assert draw_labelled(truth, total=7).size == 7
    assert draw_labelled(truth.tolist(), total=3).size == 3
    for arguments, message in (({}, "either"), ({"per_class": 21}, "between 1 and 20"), ({"total": 0}, "between 1")):
        with pytest.raises(ValueError, match=message):
            draw_labelled(truth, **arguments)
    with pytest.raises(ValueError, match="negative numbers"):
        draw_labelled(np.array([0, -1]), total=1)


def test_real_loaders(monkeypatch, coil):
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
    assert real.coil_content(sums) == real.COIL_CONTENT
    assert real.coil_content(sums[::-1]) == real.COIL_CONTENT
    sums[5, 5] += 1
    assert real.coil_content(sums) != real.COIL_CONTENT


def test_a_named_folder_without_the_file_is_an_error(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"holds no isolet.npz. Put it there"):
        datasets.load_isolet(tmp_path)
    monkeypatch.setenv("SIIS_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="SIIS_DATA names"):
        datasets.load_coil20()


def test_cache_then_download_then_message(tmp_path, monkeypatch):
    monkeypatch.delenv("SIIS_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "siis"
    assert local_file("isolet.npz") is None

    def offline(*_, **__):
        raise OSError("no route")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", offline)
    monkeypatch.setattr("sklearn.datasets.fetch_rcv1", offline)
    monkeypatch.setattr("pooch.retrieve", offline)
    for load in (datasets.load_isolet, datasets.load_rcv1_4class, datasets.load_coil20):
        with pytest.raises(RuntimeError, match=r"could not be downloaded .*no route.*SIIS_DATA"):
            load()
    assert not list(tmp_path.rglob("*.np*"))

    def fetched(**_):
        bunch = type("Bunch", (), {})()
        bunch.data = np.zeros((7797, 617))
        bunch.target = np.array([str(1 + i % 26) for i in range(7797)])
        return bunch

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetched)
    assert datasets.load_isolet().y.max() == 25
    monkeypatch.setattr("sklearn.datasets.fetch_openml", offline)
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


@pytest.fixture
def articles(rng):
    """Words, topics and names of topics as scikit-learn gives them, of fewer words."""
    n = 30000
    topics = np.zeros((n, 6), dtype=int)
    topics[np.arange(n), rng.integers(0, 6, n)] = 1
    topics[:3000, 1:3] = 1  # two topics: never drawn
    X = sp.random_array((n, 40), density=0.1, rng=rng, format="csr")
    return X, sp.csr_array(topics), ["X", "C15", "ECAT", "GCAT", "MCAT", "Y"]


def test_the_rcv1_draw(articles):
    drawn, y = real.draw_rcv1(*articles)
    assert np.bincount(y).tolist() == list(real.RCV1_SIZES)
    assert drawn.shape == (9625, 40)


def test_both_files_of_rcv1_are_stored_or_none(articles, tmp_path, monkeypatch):
    monkeypatch.delenv("SIIS_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    bunch = SimpleNamespace(**dict(zip(("data", "target", "target_names"), articles, strict=True)))
    monkeypatch.setattr("sklearn.datasets.fetch_rcv1", lambda: bunch)
    with monkeypatch.context() as broken:
        broken.setattr("scipy.sparse.save_npz", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            datasets.load_rcv1_4class()
    assert not list(tmp_path.rglob("*.np*"))
    first = datasets.load_rcv1_4class()
    monkeypatch.delattr("sklearn.datasets.fetch_rcv1")
    stored = datasets.load_rcv1_4class()
    np.testing.assert_array_equal(first.y, stored.y)
    assert (first.X != stored.X).nnz == 0
    assert sorted(path.name for path in cache_folder().iterdir()) == ["rcv1_4class.npz", "rcv1_4class_y.npy"]
