"""Gaussian fields and harmonic functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from siis._types import Floats
from siis.engine.factor import positive_solver
from siis.estimators.base import Task, TransductiveClassifier
from siis.graph import Graph
from siis.labels import Supervision


def harmonic(graph: Graph, given: Supervision) -> Floats:
    """Minimise tr(F' L F) subject to F = Y on the labelled vertices.

    L_uu F_u = W_ul Y, one linear solve. A vertex with several labels gets their weighted mean.

    Parameters
    ----------
    graph : Graph
        Every component holds a label.
    given : Supervision

    Returns
    -------
    ndarray of shape (n, 1) or (n, n_classes)
    """
    Y = given.coded
    labelled, place = np.unique(given.rows, return_inverse=True)
    total = np.bincount(place, given.weights)
    means = np.stack([np.bincount(place, given.weights * column) for column in Y.T], axis=1) / total[:, None]
    F = np.zeros((graph.n_vertices, Y.shape[1]))
    F[labelled] = means
    free = np.ones(graph.n_vertices, dtype=bool)
    free[labelled] = False
    if free.any():
        right_side = graph.weights[free][:, labelled] @ means
        F[free] = positive_solver(graph.laplacian[free][:, free])(right_side)
    return F


class GFHFClassifier(TransductiveClassifier):
    """Gaussian fields and harmonic functions (Zhu, Ghahramani and Lafferty, 2003): the paper's GFHF, ablation (b).

        minimise over F   tr(F' L F)   subject to   F = Y on the labelled examples

    Given labels are kept as they are, wrong ones too.

    Parameters
    ----------
    n_neighbors : int
    bandwidth : float or "median"
    metric : {"euclidean", "cosine", "precomputed"}
    graph : {"union", "mutual"}
    verbose : int
        All as in :class:`siis.SIISClassifier`.

    Attributes
    ----------
    classes_, transduction_, label_distributions_, is_reached_, graph_, vertex_
        As in :class:`siis.SIISClassifier`.
    """

    def __init__(
        self,
        *,
        n_neighbors: int = 10,
        bandwidth: float | str = "median",
        metric: str = "euclidean",
        graph: str = "union",
        verbose: int = 0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.bandwidth = bandwidth
        self.metric = metric
        self.graph = graph
        self.verbose = verbose

    def _soft_labels(self, task: Task) -> tuple[Floats, dict[str, Any]]:
        with task.progress.stage("solve"):
            return harmonic(task.graph, task.given), {}
