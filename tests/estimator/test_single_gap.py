"""The duality gap that a fit to features in single precision states bounds its true error."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from plain import PlainSIIS
from siis.labels import read_labels
from siis.program import Program
from siis.program.solvers import solve_certified

pytestmark = pytest.mark.slow


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
