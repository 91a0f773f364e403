"""Nothing large is formed; the model of peak memory that docs/scale.md states, stage by stage, at small sizes."""

import numpy as np
import pytest

from memory import peak
from siis.engine import NUMPY
from siis.graph import Graph, build_neighbor_graph, gaussian_weights, join, median_bandwidth, neighbors_within
from siis.program import Program
from siis.program.basis import smooth_basis
from siis.program.basis.subspace import block_width
from siis.program.solvers import solve_certified, solve_paper

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "m", "c"), [(3000, 30, 10), (6000, 80, 4), (6000, 30, 30)])
def test_the_model_bounds_the_peak(kind, n, m, c):
    rng = np.random.default_rng(0)
    place = build_neighbor_graph(rng.standard_normal((n, 12)).astype(kind), 10)
    graph, s = place.graph, np.dtype(kind).itemsize
    E = graph.n_edges
    basis, used = peak(lambda: smooth_basis(graph, m, dtype=kind, method="chebyshev"))
    model = 5 * s * n * (m + NUMPY.spare_blocks * block_width(m)) + 100 * E
    assert model / 4 < used < model
    rows = np.arange(0, n, 20)
    program = Program(graph, basis, rows, np.eye(c)[rows % c], 100.0, 10.0)
    _, used = peak(lambda: solve_certified(program, 1e-3, 30))
    model = s * (1.5 * E * c + 4 * n * m + 10 * n * c) + 200 * E
    assert model / 4 < used < model


def random_cloud():
    rng = np.random.default_rng(0)
    near = neighbors_within(rng.standard_normal((3000, 12)), 10)
    return Graph(join(near, gaussian_weights(near, median_bandwidth(near))))


def check_solver(solve, graph):
    """Edges x components is more than any array of a solver may hold."""
    m, c = 120, 3
    rows = np.arange(0, graph.n_vertices, 20)
    program = Program(graph, smooth_basis(graph, m), rows, np.eye(c)[rows % c], 100.0, 1.0)
    _, used = peak(lambda: solve(program))
    assert used < 8 * graph.n_edges * m / 1.5


def test_a_basis_forms_nothing_of_size_n_by_n():
    graph = random_cloud()
    _, used = peak(lambda: smooth_basis(graph, 120))
    assert used < 8 * graph.n_vertices**2 / 1.5


@pytest.mark.parametrize("solve", [solve_certified, solve_paper])
def test_a_solver_forms_nothing_of_size_edges_by_m(solve):
    check_solver(solve, random_cloud())
