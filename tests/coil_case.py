"""The COIL program of the paper: K = 10, bandwidth 100, m = 30, alpha = 100, beta = 10, 40 % noise."""

import numpy as np

from siis.datasets import contaminate, draw_labelled
from siis.graph import build_neighbor_graph
from siis.program import Program
from siis.program.basis import smooth_basis


def coil_program(X, y, noise=0.4, seed=0):
    rows = draw_labelled(y, per_class=10, random_state=seed)
    Y = np.eye(20)[contaminate(y[rows], noise, seed)]
    placed = build_neighbor_graph(X, 10, 100.0)
    return Program(placed.graph, smooth_basis(placed.graph, 30), placed.vertex[rows], Y, np.full(200, 100.0), 10.0)
