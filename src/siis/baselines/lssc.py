"""Large-scale sparse coding on the spectrum of the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from siis._types import Floats
from siis.estimators.base import Task, TransductiveClassifier
from siis.estimators.result import SolverResult
from siis.estimators.solving import enough_components
from siis.graph import Graph
from siis.labels import VertexLabels
from siis.parameters import COUNT, NON_NEGATIVE, SEED
from siis.program.basis import SmoothBasis, smooth_basis


def sparse_coding(graph: Graph, basis: SmoothBasis, given: VertexLabels, lam: float) -> Floats:
    """V A with A = soft(V'Y0, lam sqrt(s)), (n, 1) or (n, c), Y0 the weighted labels, zero elsewhere.

    V = (D / d)^1/2 U has orthonormal columns, s are its eigenvalues. V A is scaled so that the mean length of
    labelled rows is 1: the shrunk projection is far shorter than a label, and only ratios within a row matter.
    """
    if basis.laplacian != "normalized":
        raise ValueError(f"sparse coding needs a basis of the normalized Laplacian; found {basis.laplacian!r}")
    degrees = np.where(graph.degrees > 0, graph.degrees, 1.0)
    V = basis.vectors * np.sqrt(degrees / degrees.mean())[:, None]
    Y = given.coded
    Y0 = np.zeros((graph.n_vertices, Y.shape[1]))
    np.add.at(Y0, given.rows, given.weights[:, None] * Y)
    C = V.T @ Y0
    A = np.sign(C) * np.maximum(np.abs(C) - lam * np.sqrt(basis.values)[:, None], 0.0)
    F = V @ A
    length = np.linalg.norm(F[given.rows], axis=1).mean()
    scaled: Floats = F / length if length > 0 else F
    return scaled


@dataclass(kw_only=True, eq=False, repr=False)
class LSSCClassifier(TransductiveClassifier):
    """Noise-robust learning by large-scale sparse coding: the paper's LSSC.

    By Lu, Gao, Wang, Wen and Huang [1]_, as compared with in [2]_:

        minimise over A   ||V A - Y0||_F^2 / 2 + lam sum_k sqrt(s_k) ||A_k||_1

    with V the smoothest eigenvectors of the normalised Laplacian, s their eigenvalues, and Y0 the labels, zero on
    unlabelled examples. V is orthonormal, so A = soft(V'Y0, lam sqrt(s)) exactly.

    A reconstruction: the cited text was not at hand. From its abstract come the sparse code in the eigenvectors and
    the l1 penalty weighted by the root of the eigenvalue; chosen here: the squared fidelity over all examples with
    zeros where no label is known, and the default of ``lam``. The threshold does not scale with the data: with few
    examples a larger ``lam`` or fewer eigenvectors may be needed.

    Parameters
    ----------
    lam : float, default=0.1
        Weight of the penalty.
    n_components : int, default=30
        Number of eigenvectors (30 in the paper).
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
    classes_, transduction_, label_distributions_, is_reached_, graph_, basis_
        As in :class:`siis.SIISClassifier`.

    See Also
    --------
    siis.SIISClassifier : The method of the paper.
    siis.program.basis.smooth_basis : The eigenvectors.

    References
    ----------
    .. [1] Z. Lu, X. Gao, L. Wang, J.-R. Wen, S. Huang, "Noise-Robust Semi-Supervised Learning by Large-Scale Sparse
       Coding", AAAI Conference on Artificial Intelligence, 2015.
    .. [2] C. Gong, H. Zhang, J. Yang, D. Tao, "Learning with Inadequate and Incorrect Supervision", IEEE
       International Conference on Data Mining, 2017.
    """

    _rules: ClassVar = {
        **TransductiveClassifier._rules,
        "lam": NON_NEGATIVE,
        "n_components": COUNT,
        "random_state": SEED,
    }

    lam: float = 0.1
    n_components: int = 30
    n_neighbors: int = 10
    bandwidth: float | str = "median"
    metric: str = "euclidean"
    affinity: str = "nearest_neighbors"
    connectivity: str = "union"
    random_state: int | None = None
    verbose: int = 0

    def _soft_labels(self, task: Task) -> tuple[Floats, SolverResult]:
        with task.progress.stage("basis"):
            n_components = enough_components(task.graph, self.n_components)
            basis = smooth_basis(task.graph, n_components, "normalized", task.seed)
        F = sparse_coding(task.graph, basis, task.given, self.lam)
        return F, SolverResult(basis=basis)
