"""Single precision in the estimators: what stays single, what is double, and the same answers."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from memory import peak
from plain import PlainSIIS
from siis import SIISClassifier
from siis.labels import read_labels
from siis.model.spaces import Space
from siis.program import Program
from siis.program.solvers import solve_certified

pytestmark = pytest.mark.slow

X, TRUTH = make_blobs(120, 6, centers=3, cluster_std=3.0, random_state=0)
X = X.astype(np.float32)
Y = np.where(np.arange(120) % 4 == 0, TRUTH, -1)


@pytest.mark.parametrize("method", ["auto", "paper"])
@pytest.mark.parametrize("unit", [1e30, 1e-30])
def test_units_that_single_precision_cannot_square(method, unit):
    """The features are single, but not their squares."""
    scaled = (X * unit).astype(np.float32)
    single = SIISClassifier(method=method, solver="certified").fit(scaled, Y)
    double = SIISClassifier(method=method, solver="certified").fit(scaled.astype(np.float64), Y)
    np.testing.assert_array_equal(single.transduction_, double.transduction_)
    np.testing.assert_array_equal(single.predict(scaled), single.transduction_)
    assert np.mean(single.transduction_ == TRUTH) > 0.8


@pytest.mark.parametrize("method", ["auto", "paper"])
def test_what_is_single_and_what_is_double(method):
    model = SIISClassifier(method=method, solver="certified").fit(X, Y)
    assert model.basis_.vectors.dtype == np.float32
    assert model.solution_.coefficients.dtype == np.float64
    assert model.label_distributions_.dtype == np.float64
    assert model.predict_proba(X).dtype == np.float64
    if method == "paper":
        assert model.result_.placed.points.dtype == np.float32


def test_a_space_makes_no_double_copy_of_single_features():
    rng = np.random.default_rng(0)
    wide = rng.standard_normal((500, 2000)).astype(np.float32)
    center, scale = wide.mean(axis=0, dtype=np.float64), wide.std(axis=0, dtype=np.float64)
    space = Space("reduced", False, center, scale, rng.standard_normal((2000, 5)))
    points, used = peak(lambda: space(wide))
    assert points.dtype == np.float64
    assert used < 2.5 * wide.nbytes  # one array of double numbers alone is twice that, and a copy stands beside it
    expected = space(wide.astype(np.float64))
    np.testing.assert_allclose(points, expected, atol=1e-5 * np.abs(expected).max())


def random_fit(seed):
    """A fit of the plain method to random blobs in single precision, and the program that it solves, in double."""
    rng = np.random.default_rng(seed)
    n, c = int(rng.integers(60, 250)), int(rng.integers(2, 6))
    X, truth = make_blobs(n, int(rng.integers(2, 8)), centers=c, cluster_std=rng.uniform(0.2, 4), random_state=seed)
    y = np.full(n, -1)
    rows = rng.choice(n, int(rng.integers(2 * c, n)), replace=False)
    y[rows] = truth[rows]
    y[rows[: rows.size // int(rng.integers(3, 9))]] = rng.integers(0, c)
    alpha, beta = 10.0 ** rng.uniform(-1, 4), 10.0 ** rng.uniform(-4, 2)
    tol = float(10.0 ** rng.uniform(-6, -2))
    model = PlainSIIS(alpha=alpha, beta=beta, tol=tol, max_iter=3000, n_components=int(rng.integers(c + 5, 40)))
    model.fit(X.astype(np.float32), y)
    labels = read_labels(y)
    reached = np.flatnonzero(model.graph_.reached_from(model.vertex_[labels.used]))
    number = np.full(model.graph_.n_vertices, -1)
    number[reached] = np.arange(reached.size)
    Y = labels.Y[:, 1:] - labels.Y[:, :1] if labels.classes.size == 2 else labels.Y
    graph = model.graph_.subgraph(np.isin(np.arange(model.graph_.n_vertices), reached))
    rows = number[model.vertex_[labels.used]]
    return model, Program(graph, model.basis_.in_double(), rows, Y, np.full(rows.size, alpha), beta)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("first", range(0, 60, 20))
def test_the_stated_gap_bounds_the_true_error(first):
    above = []
    for seed in range(first, first + 20):
        model, program = random_fit(seed)
        best = solve_certified(program, 1e-8, 20000)
        value = program.value(model.solution_.coefficients)
        error = (value - best.objective) / max(value, 1e-6 * program.value_at_zero)
        if error > model.dual_gap_ + best.relative_gap + 1e-8:
            above.append((seed, error, model.dual_gap_))
    assert not above
