"""Self-paced manifold regularisation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import euclidean_distances

from siis._types import Features, Floats, Ints, Sparse
from siis.engine.linear_systems import positive_solver
from siis.engine.rows import row_norms
from siis.estimators.base import Task, TransductiveClassifier
from siis.estimators.result import SolverResult
from siis.graph import Graph
from siis.labels import VertexLabels
from siis.parameters import COUNT, NON_NEGATIVE, POSITIVE, SEED

RIDGE = 1e-3  # times the trace of the local Gram matrix, as usual for reconstruction weights
KERNEL_RIDGE = 1e-6  # times the mean of the diagonal: Gaussian kernel matrices are singular to rounding
PACES = (0.5, 0.6, 0.7, 0.8)  # share of each class that is trusted, from step to step


def reconstruction_weights(graph: Graph, points: Features | None) -> Sparse:
    """R (n, n), rows sum to 1: min ||x_i - sum_j r_ij x_j||^2, or r_ij = w_ij / d_i without coordinates."""
    R = graph.weights.copy()
    for i in range(graph.n_vertices):
        a, b = R.indptr[i], R.indptr[i + 1]
        if a == b:
            continue
        if points is None:
            R.data[a:b] /= R.data[a:b].sum()
            continue
        offsets = points[R.indices[a:b]] - points[np.full(b - a, i)]
        gram = offsets @ offsets.T
        gram = gram.toarray() if sp.issparse(gram) else np.asarray(gram, dtype=np.float64)
        gram[np.diag_indices(b - a)] += RIDGE * max(float(np.trace(gram)), 1e-300)
        weights = np.linalg.solve(gram, np.ones(b - a))
        R.data[a:b] = weights / weights.sum()
    return R


@dataclass(frozen=True, eq=False)
class ManifoldMachine:
    """A kernel expansion on p centres, smooth with respect to local reconstructions.

    f = K c,   minimise over c   sum_i v_i ||f(x_i) - y_i||^2 + gamma_k c'K_zz c + gamma_i ||(I - R) K c||^2
    """

    kernel: Floats  # (n, p), K: Gaussian kernel between vertices and centres
    centers: Ints  # (p,)
    reconstruction: Sparse  # (n, n), R
    gamma_k: float
    gamma_i: float

    @cached_property
    def penalty(self) -> Floats:
        """gamma_k K_zz + gamma_i K'(I - R)'(I - R) K, shape (p, p)."""
        S = self.kernel - self.reconstruction @ self.kernel
        K = self.kernel[self.centers]
        ridge = KERNEL_RIDGE * np.trace(K) / len(K) * np.eye(len(K))
        penalty: Floats = self.gamma_k * K + self.gamma_i * (S.T @ S) + ridge
        return penalty

    def fit(self, rows: Ints, Y: Floats, weights: Floats) -> Floats:
        """Solve for the soft labels of all vertices, shape (n, c)."""
        K = self.kernel[rows]
        c = positive_solver(K.T @ (weights[:, None] * K) + self.penalty)(K.T @ (weights[:, None] * Y))
        return self.kernel @ c

    def self_paced(self, given: VertexLabels) -> Floats:
        """Trust the easier labels of each class first: fit, keep the share with the smallest loss, fit again."""
        Y = given.coded
        F = self.fit(given.rows, Y, given.weights)
        for pace in PACES:
            loss = row_norms(F[given.rows] - Y)
            trusted = np.zeros(loss.size, dtype=bool)
            for k in range(given.n_classes):
                members = np.flatnonzero(given.codes == k)
                order = members[np.argsort(loss[members], kind="stable")]
                before = np.cumsum(given.weights[order]) - given.weights[order]  # in weight: copies count
                trusted[order[before < pace * given.weights[order].sum()]] = True
            F = self.fit(given.rows, Y, given.weights * trusted)
        return F


def manifold_machine(
    graph: Graph, points: Features | None, rows: Ints, gamma_k: float, gamma_i: float, n_centers: int, seed: int
) -> ManifoldMachine:
    """Prepare everything that does not depend on the labels; labelled vertices (``rows``) are all centres.

    Further vertices are drawn at random up to ``n_centers``. Without coordinates the kernel is the graph's own:
    I + D^-1/2 W D^-1/2.
    """
    labelled = np.unique(rows)
    others = np.setdiff1d(np.arange(graph.n_vertices), labelled)
    n_others = min(others.size, max(0, n_centers - labelled.size))
    drawn = np.random.default_rng(seed).choice(others, n_others, replace=False)
    centers = np.concatenate([labelled, np.sort(drawn)])
    if points is None:
        scale = sp.diags_array(1 / np.sqrt(np.where(graph.degrees > 0, graph.degrees, 1.0)))
        kernel = (sp.eye_array(graph.n_vertices) + scale @ graph.weights @ scale).tocsc()[:, centers].toarray()
    else:
        if not sp.issparse(points):  # distances are expanded: stay near the origin
            points = points - points.mean(axis=0, dtype=np.float64).astype(points.dtype)
        squared = euclidean_distances(points, points[centers], squared=True).astype(np.float64)
        typical = np.median(squared[squared > 0]) if (squared > 0).any() else 1.0
        kernel = np.exp(-squared / (2 * typical))
    return ManifoldMachine(kernel, centers, reconstruction_weights(graph, points), gamma_k, gamma_i)


@dataclass(kw_only=True, eq=False, repr=False)
class SPMRClassifier(TransductiveClassifier):
    """Self-paced manifold regularisation: the paper's SPMR.

    By Gu, Fan and Meng [1]_, as compared with in [2]_:

        minimise over f, v   sum_i v_i ||f(x_i) - y_i||^2 + gamma_k ||f||_K^2
                             + gamma_i sum_i ||f(x_i) - sum_j r_ij f(x_j)||^2 + self-paced term in v

    with f in the space of a Gaussian kernel and r the weights that rebuild each example from its neighbours.

    A reconstruction: the cited text was not at hand. Chosen here: the kernel's bandwidth is the median distance to
    the centres; f is expanded on the labelled examples and random others, ``n_centers`` in all, so that no n x n
    matrix arises (with fewer examples than that it is exact); v is 0 or 1, and the trusted share of each class grows
    from 50 to 80 % in four steps (with one pace for all classes, whole classes vanish).

    Parameters
    ----------
    gamma_k : float, default=1.0
        Weight of the norm of f (1 in the paper).
    gamma_i : float, default=0.01
        Weight of the reconstruction (0.01 in the paper).
    n_centers : int, default=1500
        Examples on which f is expanded; the labelled ones are always among them.
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
    random_state : int or None, default=None
        Seed; None is 0.
    verbose : int, default=0
        1: a line on standard error for each stage.

    Attributes
    ----------
    classes_, transduction_, label_distributions_, is_reached_, graph_
        As in :class:`siis.SIISClassifier`.

    See Also
    --------
    siis.SIISClassifier : The method of the paper.
    siis.baselines.GFHFClassifier : Quadratic smoothing that keeps the given labels.

    References
    ----------
    .. [1] N. Gu, M. Fan, D. Meng, "Robust Semi-Supervised Classification for Noisy Labels Based on Self-Paced
       Learning", IEEE Signal Processing Letters 23, 2016.
    .. [2] C. Gong, H. Zhang, J. Yang, D. Tao, "Learning with Inadequate and Incorrect Supervision", IEEE
       International Conference on Data Mining, 2017.
    """

    _rules: ClassVar = {
        **TransductiveClassifier._rules,
        "gamma_k": POSITIVE,
        "gamma_i": NON_NEGATIVE,
        "n_centers": COUNT,
        "random_state": SEED,
    }

    gamma_k: float = 1.0
    gamma_i: float = 0.01
    n_centers: int = 1500
    n_neighbors: int = 10
    bandwidth: float | str = "median"
    metric: str = "euclidean"
    affinity: str = "nearest_neighbors"
    connectivity: str = "union"
    random_state: int | None = None
    verbose: int = 0

    def _soft_labels(self, task: Task) -> tuple[Floats, SolverResult]:
        sizes = self.gamma_k, self.gamma_i, self.n_centers, task.seed
        with task.progress.stage("kernel and reconstruction"):
            machine = manifold_machine(task.graph, task.points, task.given.rows, *sizes)
        with task.progress.stage("self-paced fits"):
            return machine.self_paced(task.given), SolverResult()
