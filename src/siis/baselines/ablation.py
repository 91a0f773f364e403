"""The paper's ablation: (b) harmonic functions, and (c) and (d), the program (M1) with the identity as basis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from siis._types import Floats
from siis.engine.linear_systems import positive_solver
from siis.estimators.base import Task, TransductiveClassifier
from siis.estimators.result import SolverResult
from siis.estimators.solving import Solver
from siis.graph import Graph
from siis.labels import VertexLabels
from siis.parameters import COUNT, POSITIVE
from siis.program import Program
from siis.program.basis import identity_basis


def harmonic(graph: Graph, given: VertexLabels) -> Floats:
    """Minimise tr(F' L F) subject to F = weighted mean labels: L_uu F_u = W_ul Y; every component needs a label."""
    one = given.aggregate()  # one label per vertex
    F = np.zeros((graph.n_vertices, one.coded.shape[1]))
    F[one.rows] = one.coded
    free = np.ones(graph.n_vertices, dtype=bool)
    free[one.rows] = False
    if free.any():
        right_side = graph.weights[free][:, one.rows] @ one.coded
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

    def _soft_labels(self, task: Task) -> tuple[Floats, SolverResult]:
        with task.progress.stage("solve"):
            return harmonic(task.graph, task.given), SolverResult()


def free_program(graph: Graph, given: VertexLabels, alpha: float, beta: float, gamma: float) -> Program:
    """Build (M1) with U = I and Sigma = L."""
    Y = given.coded
    return Program(graph, identity_basis(graph), given.rows, Y, alpha * given.weights, beta, gamma)


@dataclass(kw_only=True, eq=False, repr=False)
class _FreeClassifier(TransductiveClassifier):
    """(M1) with the identity as basis; subclasses fix beta and gamma."""

    _rules: ClassVar = {**TransductiveClassifier._rules, "alpha": POSITIVE, "tol": POSITIVE, "max_iter": COUNT}
    _beta: ClassVar[float]
    _gamma: ClassVar[float]
    alpha: float = 100.0
    n_neighbors: int = 10
    bandwidth: float | str = "median"
    metric: str = "euclidean"
    affinity: str = "nearest_neighbors"
    connectivity: str = "union"
    tol: float = 1e-3
    max_iter: int = 2000
    verbose: int = 0

    def _soft_labels(self, task: Task) -> tuple[Floats, SolverResult]:
        program = free_program(task.graph, task.given, self.alpha, self._beta, self._gamma)
        with task.progress.stage("solve"):
            solution = Solver("certified", self.tol, self.max_iter)(program, task.progress)
        return solution.coefficients, SolverResult.of(solution)


class RobustLaplacianClassifier(_FreeClassifier):
    """Quadratic smoothing with a robust fidelity: the paper's ablation (c).

    As compared with in [1]_:

        minimise over F   tr(F' L F) + alpha ||J F - Y||_{2,1}

    Parameters
    ----------
    alpha : float, default=100.0
        Trust in the given labels.
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
    tol : float, default=0.001
        Relative duality gap at which the solver stops.
    max_iter : int, default=2000
        Most iterations.
    verbose : int, default=0
        1: a line on standard error for each stage.

    Attributes
    ----------
    classes_, transduction_, label_distributions_, is_reached_, objective_, dual_gap_, n_iter_, history_, graph_
        As in :class:`siis.SIISClassifier`.

    See Also
    --------
    siis.SIISClassifier : The method of the paper.
    siis.baselines.GTFClassifier : Graph trend filtering instead of the quadratic energy.
    siis.baselines.GFHFClassifier : Quadratic smoothing that keeps the given labels.

    References
    ----------
    .. [1] C. Gong, H. Zhang, J. Yang, D. Tao, "Learning with Inadequate and Incorrect Supervision", IEEE
       International Conference on Data Mining, 2017.
    """

    _beta, _gamma = 1.0, 0.0


class GTFClassifier(_FreeClassifier):
    """Graph trend filtering with a robust fidelity: the paper's GTF, ablation (d).

    The trend filter of Wang, Sharpnack, Smola and Tibshirani [1]_, as compared with in [2]_:

        minimise over F   ||P F||_{2,1} + alpha ||J F - Y||_{2,1}

    Far from all labels the optimum is a plateau; which point of it is returned depends on the solver's start.

    Parameters
    ----------
    alpha : float, default=100.0
        Trust in the given labels (100 in the paper).
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
    tol : float, default=0.001
        Relative duality gap at which the solver stops.
    max_iter : int, default=2000
        Most iterations.
    verbose : int, default=0
        1: a line on standard error for each stage.

    Attributes
    ----------
    classes_, transduction_, label_distributions_, is_reached_, objective_, dual_gap_, n_iter_, history_, graph_
        As in :class:`siis.SIISClassifier`.

    See Also
    --------
    siis.SIISClassifier : The method of the paper.
    siis.baselines.RobustLaplacianClassifier : The quadratic energy instead of graph trend filtering.

    References
    ----------
    .. [1] Y.-X. Wang, J. Sharpnack, A. J. Smola, R. J. Tibshirani, "Trend Filtering on Graphs", Journal of Machine
       Learning Research 17, 2016.
    .. [2] C. Gong, H. Zhang, J. Yang, D. Tao, "Learning with Inadequate and Incorrect Supervision", IEEE
       International Conference on Data Mining, 2017.
    """

    _beta, _gamma = 0.0, 1.0
