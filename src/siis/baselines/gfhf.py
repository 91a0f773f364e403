"""Gaussian fields and harmonic functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from siis._types import Floats
from siis.engine.factor import positive_solver
from siis.estimators.base import Task, TransductiveClassifier
from siis.graph import Graph
from siis.labels import VertexLabels


def harmonic(graph: Graph, given: VertexLabels) -> Floats:
    """Minimise tr(F' L F) subject to F = weighted mean labels: L_uu F_u = W_ul Y; every component needs a label."""
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


@dataclass(kw_only=True, eq=False, repr=False)
class GFHFClassifier(TransductiveClassifier):
    """Gaussian fields and harmonic functions: the paper's GFHF, ablation (b).

    By Zhu, Ghahramani and Lafferty [1]_, as compared with in [2]_:

        minimise over F   tr(F' L F)   subject to   F = Y on the labelled examples

    Given labels are kept as they are, wrong ones too.

    Parameters
    ----------
    n_neighbors : int, default=10
        K of the neighbourhood graph.
    bandwidth : float or "median", default="median"
        Of the Gaussian weights; "median" is the median distance between neighbours.
    metric : {"euclidean", "cosine"}, default="euclidean"
        "cosine" is the Euclidean distance between rows of unit length.
    affinity : {"nearest_neighbors", "precomputed"}, default="nearest_neighbors"
        "precomputed": X is the graph, a symmetric matrix of weights. ``metric``, ``n_neighbors``, ``bandwidth`` and
        ``connectivity`` are then not used.
    connectivity : {"union", "mutual"}, default="union"
        Which edges: one end names the other, or both do.
    verbose : int, default=0
        1: a line on standard error for each stage.

    Attributes
    ----------
    classes_, transduction_, label_distributions_, is_reached_, graph_, vertex_
        As in :class:`siis.SIISClassifier`.

    See Also
    --------
    siis.SIISClassifier : The method of the paper.
    siis.baselines.RobustLaplacianClassifier : The same energy, with labels that may be wrong.

    References
    ----------
    .. [1] X. Zhu, Z. Ghahramani, J. Lafferty, "Semi-Supervised Learning Using Gaussian Fields and Harmonic
       Functions", International Conference on Machine Learning, 2003.
    .. [2] C. Gong, H. Zhang, J. Yang, D. Tao, "Learning with Inadequate and Incorrect Supervision", IEEE
       International Conference on Data Mining, 2017.
    """

    n_neighbors: int = 10
    bandwidth: float | str = "median"
    metric: str = "euclidean"
    affinity: str = "nearest_neighbors"
    connectivity: str = "union"
    verbose: int = 0

    def _soft_labels(self, task: Task) -> tuple[Floats, dict[str, Any]]:
        with task.progress.stage("solve"):
            return harmonic(task.graph, task.given), {}
