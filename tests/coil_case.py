"""The COIL program of the paper: K = 10, bandwidth 100, m = 30, alpha = 100, beta = 10, 40 % noise."""

import numpy as np

from siis.graph import Graph, gaussian_weights, neighbors_within
from siis.program import Program
from siis.spectral import smooth_basis


def coil_program(X, y, noise=0.4, seed=0):
    rng = np.random.default_rng(seed)
    rows = np.concatenate([rng.choice(np.flatnonzero(y == k), 10, replace=False) for k in range(20)])
    given = y[rows].copy()
    wrong = rng.choice(rows.size, round(noise * rows.size), replace=False)
    given[wrong] = (given[wrong] + rng.integers(1, 20, wrong.size)) % 20
    near = neighbors_within(X, 10)
    graph = Graph.from_neighbors(near, gaussian_weights(near, 100.0))
    return Program(graph, smooth_basis(graph, 30), rows, np.eye(20)[given], 100.0, 10.0)
