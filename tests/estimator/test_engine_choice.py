"""On what a fit runs: the choice, the same answers on PyTorch, and what is said where there is no GPU."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone

from digits_case import noisy_digits
from plain import PlainSIIS
from siis import SIISClassifier, load, save
from siis.engine import NUMPY
from siis.engine import choice as choice_module
from siis.engine.choice import choose_engine
from siis.estimators import inputs as inputs_module
from siis.graph import join, neighbors_between, neighbors_within
from siis.graph import neighbors as neighbors_module

pytestmark = pytest.mark.slow


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not installed: its engine is not tried")


@pytest.fixture
def no_gpu(torch, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


def test_few_examples_do_not_load_pytorch(monkeypatch):
    monkeypatch.setattr(choice_module, "find_spec", lambda name: pytest.fail("it was looked for"))
    assert choose_engine("auto", "auto", choice_module.WORTH_A_GPU - 1) == (NUMPY, "")
    assert choose_engine("numpy", "auto", 10**9) == (NUMPY, "")


def test_without_pytorch_auto_is_numpy_and_torch_is_refused(monkeypatch):
    monkeypatch.setattr(choice_module, "find_spec", lambda name: None)
    assert choose_engine("auto", "auto", 10**6) == (NUMPY, "")
    X, y, _ = noisy_digits(300)
    with pytest.raises(ValueError, match=r"needs PyTorch, which is not installed. Install it with `pip install"):
        SIISClassifier(engine="torch").fit(X, y)


def test_without_a_driver_pytorch_is_not_loaded(torch, monkeypatch, capfd):
    monkeypatch.setattr(choice_module, "WORTH_A_GPU", 100)
    monkeypatch.setattr(choice_module, "DRIVERS", ("no such library",))
    monkeypatch.setitem(sys.modules, "siis.engine.torch", None)
    X, y, _ = noisy_digits(300)
    PlainSIIS(verbose=1).fit(X, y)
    assert "[siis] on the CPU: there is no driver of a GPU here\n" in capfd.readouterr().err


def test_without_a_gpu_auto_says_that_it_runs_on_the_cpu(no_gpu, monkeypatch, capfd):
    monkeypatch.setattr(choice_module, "WORTH_A_GPU", 100)
    monkeypatch.setattr(choice_module, "has_driver", lambda: True)
    X, y, _ = noisy_digits(300)
    PlainSIIS(verbose=1).fit(X, y)
    lines = [line for line in capfd.readouterr().err.splitlines() if "CPU" in line]
    assert lines == ["[siis] on the CPU: PyTorch sees no GPU here"]
    with pytest.raises(ValueError, match=r"device='cuda' needs a GPU; PyTorch sees no GPU here. Use engine='numpy'"):
        SIISClassifier(engine="torch", device="cuda").fit(X, y)


def test_a_driver_that_does_not_answer_is_no_gpu(torch, monkeypatch):
    def broken():
        raise RuntimeError("no answer")

    monkeypatch.setattr(choice_module, "has_driver", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_available", broken)
    engine, why = choose_engine("auto", "auto", 10**6)
    assert engine is NUMPY
    assert why == "on the CPU: the GPU's driver does not answer (RuntimeError)"


def test_a_device_that_is_none_is_refused(torch):
    X, y, _ = noisy_digits(300)
    with pytest.raises(ValueError, match=r"device='abacus' cannot be used here \(.*\). Use device='cpu' or"):
        SIISClassifier(engine="torch", device="abacus").fit(X, y)
    with pytest.raises(ValueError, match="device='meta' cannot be used here"):
        SIISClassifier(engine="torch", device="meta").fit(X, y)
    with pytest.raises(ValueError, match=r"engine='numpy' has no devices; found device='cuda'. Use engine='torch'"):
        SIISClassifier(engine="numpy", device="cuda").fit(X, y)
    with pytest.raises(ValueError, match="engine of SIISClassifier must be one of"):
        SIISClassifier(engine="cupy").fit(X, y)


@pytest.mark.parametrize("method", ["paper", "auto"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_same_answers_as_on_numpy(torch, method, dtype, tmp_path):
    X, y, _ = noisy_digits(700)
    X = X.astype(dtype)
    expected = SIISClassifier(method=method, solver="certified").fit(X, y)
    found = SIISClassifier(method=method, solver="certified", engine="torch", device="cpu").fit(X, y)
    assert np.mean(found.transduction_ == expected.transduction_) >= 0.999
    assert found.neighbor_search_ == "torch"
    assert found.neighbor_recall_ == 1.0
    assert found.objective_ == pytest.approx(expected.objective_, rel=2 * 1e-4)
    assert 0 <= found.dual_gap_ <= 1e-4
    single = dtype == np.float32
    np.testing.assert_allclose(found.basis_.values, expected.basis_.values, atol=1e-5 if single else 1e-9)
    assert isinstance(found.basis_.vectors, np.ndarray)
    assert isinstance(found.solution_.dual.edges, np.ndarray)
    assert found.basis_.engine is NUMPY
    again = clone(found).fit(X, y)
    np.testing.assert_array_equal(again.label_distributions_, found.label_distributions_)
    save(found, tmp_path / "model.siis")
    assert (load(tmp_path / "model.siis").predict(X) == found.transduction_).all()


def test_a_warm_refit_runs_on_the_engine(torch):
    X, y, truth = noisy_digits(700)
    model = SIISClassifier(engine="torch", device="cpu").fit(X, y)
    worst = model.label_ranking()["index"][:5]
    checked, verified = y.copy(), np.zeros(y.size, dtype=bool)
    checked[worst], verified[worst] = truth[worst], True
    model.set_params(warm_start=True).fit(X, checked, verified=verified)
    assert "previous fit were kept" in model.average_summary_
    assert (model.transduction_[worst] == truth[worst]).all()


@pytest.mark.parametrize("cells", [False, True])
def test_neighbours_of_pytorch_are_the_nearest(torch, monkeypatch, cells):
    from siis.engine import torch_neighbors  # noqa: PLC0415
    from siis.engine.torch import TorchEngine  # noqa: PLC0415

    rng = np.random.default_rng(0)
    X = 1e4 + 3 * rng.standard_normal((40, 6))[rng.integers(0, 40, 3000)] + 0.3 * rng.standard_normal((3000, 6))
    if cells:
        monkeypatch.setattr(torch_neighbors, "MOST_EXACT_POINTS", 100)
        monkeypatch.setattr(torch_neighbors, "POINTS_PER_CELL", 300)
    monkeypatch.setattr(torch_neighbors, "BIN_SIZE", 8)
    expected = neighbors_within(X, 10)
    found = neighbors_within(X, 10, "auto", engine=TorchEngine("cpu"))
    assert found.method == "torch"
    same = np.mean([np.isin(a, b).mean() for a, b in zip(found.indices, expected.indices, strict=True)])
    assert same == 1.0 if not cells else same > 0.98
    assert found.recall == pytest.approx(same, abs=0.01)
    hit = (found.indices == expected.indices).all(axis=1)
    np.testing.assert_allclose(found.distances[hit], expected.distances[hit], rtol=1e-12)
    assert (np.diff(found.distances, axis=1) >= -1e-8).all()
    again = neighbors_within(X, 10, "auto", engine=TorchEngine("cpu"))
    np.testing.assert_array_equal(again.indices, found.indices)


def test_neighbours_of_other_points_are_exact(torch, monkeypatch):
    from siis.engine import torch_neighbors  # noqa: PLC0415
    from siis.engine.torch import TorchEngine  # noqa: PLC0415

    monkeypatch.setattr(torch_neighbors, "SCORES_AT_ONCE", 10_000)
    rng = np.random.default_rng(0)
    points = rng.standard_normal((700, 5)).astype(np.float32)
    queries = np.vstack([points[:40], rng.standard_normal((60, 5))])
    expected = neighbors_between(queries, points, 6)
    with monkeypatch.context() as patched:
        patched.setattr(neighbors_module, "_ranked", lambda *args: pytest.fail("it went to the host"))
        found = neighbors_between(queries, points, 6, TorchEngine("cpu"))
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_allclose(found.distances, expected.distances, rtol=1e-12)
    assert (found.distances[:40, 0] == 0).all()
    far = np.vstack([1e-3 * rng.standard_normal((300, 3)), 1e4 + 1e-3 * rng.standard_normal((300, 3))])
    near = far[::7] + 1e-4
    expected, found = (neighbors_between(near, far, 3, engine) for engine in (NUMPY, TorchEngine("cpu")))
    np.testing.assert_array_equal(found.indices, expected.indices)  # what single precision loses is sought again


@pytest.mark.parametrize("method", ["paper", "auto"])
def test_new_examples_are_predicted_on_the_engine(torch, monkeypatch, method, capfd):
    from siis.engine.torch_neighbors import TorchSearch  # noqa: PLC0415

    X, y, _ = noisy_digits(700)
    new = X[:100] + 0.1 * np.random.default_rng(0).standard_normal((100, X.shape[1]))
    model = SIISClassifier(method=method, solver="certified", engine="torch", device="cpu").fit(X[100:], y[100:])
    asked, real = [], TorchSearch.nearest_between
    monkeypatch.setattr(TorchSearch, "nearest_between", lambda self, *args: asked.append(args) or real(self, *args))
    found = model.predict_proba(new)
    assert len(asked) == (1 if method == "paper" else 2)
    model.set_params(engine="numpy", device="auto")
    np.testing.assert_allclose(found, model.predict_proba(new), atol=1e-9)
    model.set_params(engine="torch", device="no such device", verbose=1)
    np.testing.assert_allclose(found, model.predict_proba(new), atol=1e-9)
    assert "[siis] on the CPU: device='no such device' cannot be used here" in capfd.readouterr().err


@pytest.mark.parametrize("kind", ["union", "mutual"])
def test_pytorch_joins_neighbours_as_scipy_does(torch, kind):
    from siis.engine.torch import TorchEngine  # noqa: PLC0415

    near = neighbors_within(np.random.default_rng(0).standard_normal((500, 3)), 7)
    weights = np.exp(-near.distances)
    weights[:, 0] *= 1 + np.arange(500) / 500  # the ends of an edge disagree
    expected, found = join(near, weights, kind), join(near, weights, kind, TorchEngine("cpu"))
    expected.sort_indices()
    np.testing.assert_array_equal(found.indptr, expected.indptr)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_allclose(found.data, expected.data, rtol=1e-15)


def test_full_memory_means_smaller_blocks_then_a_sentence(torch, monkeypatch):
    from siis.engine import torch_neighbors  # noqa: PLC0415

    tried = []

    def work(first, last):
        tried.append(last - first)
        if last - first > 100:
            raise torch.OutOfMemoryError("full")
        return last - first

    blocks = list(torch_neighbors._by_blocks(work, 500, 400))
    assert [b for _, b, _ in blocks][-1] == 500
    assert tried[:3] == [400, 200, 100]
    X, y, _ = noisy_digits(300)
    monkeypatch.setattr(
        torch_neighbors, "_exact", lambda *args: (_ for _ in ()).throw(torch.OutOfMemoryError("full"))
    )
    model = SIISClassifier(engine="torch", device="cpu")
    with pytest.raises(ValueError, match=r"memory does not hold a fit to 300 examples and 10 classes.*\(150\)"):
        model.fit(X, y)
    assert not hasattr(model, "classes_"), "no half-fitted model"


def test_arrays_of_other_libraries_are_taken(torch):
    X, y, _ = noisy_digits(300)
    expected = PlainSIIS().fit(X, y)
    found = PlainSIIS().fit(torch.tensor(X, requires_grad=True), torch.tensor(y))
    np.testing.assert_array_equal(found.label_distributions_, expected.label_distributions_)
    np.testing.assert_array_equal(found.predict(torch.tensor(X)), expected.predict(X))
    short = PlainSIIS().fit(torch.tensor(X, dtype=torch.bfloat16), y)
    assert np.mean(short.transduction_ == expected.transduction_) > 0.99
    with pytest.raises(ValueError, match=r"tensors must be dense; found a sparse one. Use a sparse matrix of SciPy"):
        PlainSIIS().fit(torch.tensor(X).to_sparse(), y)


class DLPackAlone:
    """What a library of arrays must have to be understood, and nothing else."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, **kwargs):
        return self.tensor.__dlpack__(**kwargs)


@pytest.mark.parametrize("kind", ["tensor", "DLPack alone"])
def test_examples_on_the_device_are_searched_where_they_are(torch, monkeypatch, kind):
    from siis.engine.torch_neighbors import TorchSearch  # noqa: PLC0415

    X, y, _ = noisy_digits(300)
    X = np.vstack([X, X[:20]])
    y = np.append(y, y[:20])
    expected = PlainSIIS(engine="torch", device="cpu").fit(X, y)
    X, y = (torch.tensor(a) if kind == "tensor" else DLPackAlone(torch.tensor(a)) for a in (X, y))
    before = np.from_dlpack(X).copy()
    held, real = [], TorchSearch.to_device

    def to_device(self, points):
        held.append(self._copy is not None and points is self._copy[0])
        return real(self, points)

    monkeypatch.setattr(TorchSearch, "to_device", to_device)
    found = PlainSIIS(engine="torch", device="cpu").fit(X, y)
    assert held[0], "it was sent again"
    np.testing.assert_array_equal(found.label_distributions_, expected.label_distributions_)
    np.testing.assert_array_equal(np.from_dlpack(X), before)
    assert isinstance(found.label_distributions_, np.ndarray)
    assert isinstance(found.predict_proba(X), np.ndarray)
    on_numpy = PlainSIIS(engine="numpy").fit(X, y)
    assert np.mean(on_numpy.transduction_ == expected.transduction_) > 0.99


def test_an_array_on_a_device_that_pytorch_alone_could_read(monkeypatch):
    class OnDevice:
        def __dlpack_device__(self):
            return (2, 0)

        def __dlpack__(self, **kwargs):
            pytest.fail("it lies on a device")

    monkeypatch.setattr(inputs_module, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"array of OnDevice lies on a device, and only PyTorch could bring it here"):
        SIISClassifier().fit(OnDevice(), [0, 1])


def test_arrays_on_a_device_are_brought_to_the_host():
    class OnDevice:
        def __init__(self, a):
            self.a = a

        def __dlpack_device__(self):
            return (2, 0)  # CUDA

        def __dlpack__(self, **kwargs):
            pytest.fail("it lies on a device")

        def get(self):
            return self.a

    X, y, _ = noisy_digits(300)
    found = PlainSIIS().fit(OnDevice(X), OnDevice(y))
    np.testing.assert_array_equal(found.transduction_, PlainSIIS().fit(X, y).transduction_)


def test_import_does_not_load_pytorch():
    code = "import sys, siis; siis.SIISClassifier(); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "False"
