"""The convex program (M1): value, dual value and gap. The only place that says what "solved" means.

minimise over A    gamma ||P U A||_{2,1} + sum_i alpha_i ||(J U A - Y)_i|| + beta tr(A' Sigma A)        (M1)
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from siis._types import Floats, Ints, Sparse
from siis.errors import NumericalError
from siis.graph import Graph
from siis.graph.graph import LARGEST, SMALLEST
from siis.linear import LinearSolver, positive_solver
from siis.rows import project_rows, row_norms
from siis.spectral import Basis

ROUNDING, SINGLE_ROUNDING = 1e-9, 1e-5  # of the value at A = 0: how far rounding may lift the bound over the value
SINGLE_FLOOR = 1e-2  # the same in single precision
SMALLEST_SCALE = 1e-6  # times the value at A = 0: an optimum below this counts as zero


@dataclass(frozen=True, eq=False)
class DualPoint:
    """A feasible point of the dual program (M6).

    Attributes
    ----------
    edges : ndarray of shape (E, c)
        V1, rows of norm at most gamma.
    labels : ndarray of shape (l, c)
        V2, rows of norm at most alpha_i.
    value : float
        A lower bound on the optimum of (M1).
    scale : float
        Factor that brought the multipliers on the edges back into their balls.
    """

    edges: Floats
    labels: Floats
    value: float
    scale: float = 1.0


NO_BOUND = DualPoint(np.zeros((0, 0)), np.zeros((0, 0)), -np.inf)


@dataclass(frozen=True, eq=False)
class Program:
    """The program (M1) on a graph whose components all hold a label.

    Attributes
    ----------
    graph : Graph
    basis : SmoothBasis or IdentityBasis
        U and Sigma.
    rows : ndarray of shape (l,)
        The vertex of each label. A vertex may hold several.
    Y : ndarray of shape (l, c)
        The labels: one-hot, one column of -1/+1, or soft rows.
    alpha : ndarray of shape (l,)
        The weight of each label, positive.
    beta : float
        Weight of the energy, non-negative.
    gamma : float
        Weight of the graph trend filter, non-negative (1 in the paper).
    floor : float
        Share of the value at A = 0; an optimum below it counts as that in the relative gap.
    """

    graph: Graph
    basis: Basis
    rows: Ints
    Y: Floats
    alpha: Floats
    beta: float
    gamma: float = 1.0
    floor: float = SMALLEST_SCALE

    def __post_init__(self) -> None:
        n, _ = self.basis.shape
        rows = np.asarray(self.rows, dtype=np.int64)
        Y = np.asarray(self.Y, dtype=np.float64)
        if n != self.graph.n_vertices:
            raise ValueError(
                f"basis and graph must agree; the basis has {n} rows for {self.graph.n_vertices} vertices"
            )
        if rows.ndim != 1 or rows.size == 0 or rows.min() < 0 or rows.max() >= n:
            raise ValueError(f"rows must name at least one vertex between 0 and {n - 1}; found {rows!r}")
        if Y.ndim != 2 or Y.shape[0] != rows.size or not np.isfinite(Y).all():
            raise ValueError(f"Y must be finite with one row for each of {rows.size} labels; found shape {Y.shape}")
        alpha = np.broadcast_to(np.asarray(self.alpha, dtype=np.float64), rows.shape)
        if not (alpha.min() >= SMALLEST and alpha.max() <= LARGEST):
            raise ValueError(
                f"alpha (times sample_weight) must be positive and lie between {SMALLEST:g} and {LARGEST:g}; "
                f"found {alpha.min():.3g} to {alpha.max():.3g}"
            )
        for name, weight in (("beta", self.beta), ("gamma", self.gamma)):
            if not (np.isfinite(weight) and weight >= 0):
                raise ValueError(f"{name} must be non-negative and finite; found {weight}")
        if self.gamma == 0 and self.beta == 0:
            raise ValueError(
                "gamma and beta must not both be 0: nothing would join unlabelled examples to labelled ones"
            )
        unlabelled = np.count_nonzero(np.bincount(self.graph.component[rows], minlength=self.graph.n_components) == 0)
        if unlabelled:
            raise ValueError(
                f"every connected component must hold a label; {unlabelled} hold none. "
                "Restrict the graph to graph.reached_from(rows)."
            )
        if self.basis.n_null != self.graph.n_components:
            raise ValueError(
                f"the basis must hold the constants of all {self.graph.n_components} connected components; it holds "
                f"{self.basis.n_null}. Use at least {self.graph.n_components} components of the basis."
            )
        for name, value in (("rows", rows), ("Y", Y), ("alpha", alpha)):
            object.__setattr__(self, name, value)

    @cached_property
    def P(self) -> Sparse:
        """Incidence matrix, shape (E, n); without rows where gamma = 0, since then no edge has a say."""
        return self.graph.incidence if self.gamma > 0 else sp.csr_array((0, self.graph.n_vertices))

    @cached_property
    def PT(self) -> Sparse:
        """P', shape (n, E)."""
        return sp.csr_array(self.P.T)

    @cached_property
    def J(self) -> Sparse:
        """Picks the labelled vertices, shape (l, n)."""
        n_labels = self.rows.size
        return sp.csr_array((np.ones(n_labels), (np.arange(n_labels), self.rows)), (n_labels, self.graph.n_vertices))

    @cached_property
    def JT(self) -> Sparse:
        """J', shape (n, l)."""
        return sp.csr_array(self.J.T)

    @cached_property
    def labels_every_vertex(self) -> bool:
        """Whether J is the identity."""
        return np.array_equal(self.rows, np.arange(self.graph.n_vertices))

    @cached_property
    def value_at_zero(self) -> float:
        """The value of (M1) at A = 0: the scale of the problem."""
        return float(self.alpha @ row_norms(self.Y))

    def value(self, A: Floats) -> float:
        """Compute the objective of (M1).

        Parameters
        ----------
        A : ndarray of shape (m, c)

        Returns
        -------
        float
        """
        F = self.basis.synthesize(A)
        return self.value_of(row_norms(self.P @ F), row_norms(self.J @ F - self.Y), A)

    def value_of(self, edge_norms: Floats, label_norms: Floats, A: Floats) -> float:
        """Compute the objective of (M1) from the row norms of P U A and J U A - Y.

        Parameters
        ----------
        edge_norms : ndarray of shape (E,)
        label_norms : ndarray of shape (l,)
        A : ndarray of shape (m, c)

        Returns
        -------
        float
        """
        return float(self.gamma * edge_norms.sum() + self.alpha @ label_norms + self.beta * self.basis.energy(A))

    def dual_point(self, V1: Floats, V2: Floats) -> DualPoint:
        """Make any multipliers a feasible point of the dual (M6), and value it.

        Rows go to their balls; then the equalities R_k = 0 where beta lambda_k = 0, R = U'(P' V1 + J' V2), are
        restored, and the point is scaled back into the balls by the factor that gives the best bound.

        Parameters
        ----------
        V1 : ndarray of shape (E, c)
        V2 : ndarray of shape (l, c)

        Returns
        -------
        DualPoint
        """
        V1 = project_rows(V1, self.gamma)
        if self.beta > 0:
            found = self.bound(self.PT @ V1, V2)
            return DualPoint(found.scale * V1, found.labels, found.value, found.scale)
        V2 = project_rows(V2, self.alpha)
        R = self.basis.analyze(self.PT @ V1 + self.JT @ V2)  # R = 0 in full
        correction = self.basis.synthesize(self._solve_gram(R))
        V1, V2 = V1 - self.P @ correction, V2 - self.J @ correction
        s, value = self._scaled(V2, 0.0, min(_room(V1, self.gamma), _room(V2, self.alpha)))
        return DualPoint(s * V1, s * V2, value, s)

    def bound(self, pull: Floats, V2: Floats) -> DualPoint:
        """Value multipliers whose part on the edges, of rows within their balls, is known by its pull alone.

        Parameters
        ----------
        pull : ndarray of shape (n, c)
            P' V1; beta must be positive.
        V2 : ndarray of shape (l, c)

        Returns
        -------
        DualPoint
            Without V1; times ``scale`` it is feasible with the others.
        """
        V2 = project_rows(V2, self.alpha)
        soft = self.basis.soft_vectors
        best = self._valued(pull, V2)
        if soft.shape[1]:  # R_k / lambda_k is large there however small R_k is: make that 0 as well
            N = soft[self.rows]
            excess = soft.T @ pull + N.T @ V2
            balanced = self._valued(pull, V2 - self.alpha[:, None] * (N @ self._solve_soft(excess)))
            best = max(best, balanced, key=lambda point: point.value)
        return best

    def _valued(self, pull: Floats, V2: Floats) -> DualPoint:
        """The best bound from P' V1 and V2, after the equalities of (M6) are restored."""
        # only the constants of the components must balance; P annihilates them, so V2 alone does
        component = self.graph.component[self.rows]
        n_groups = self.graph.n_components
        excess = np.stack([np.bincount(component, v, n_groups) for v in V2.T], axis=1)
        weight = np.bincount(component, self.alpha, n_groups)
        V2 = V2 - self.alpha[:, None] * (excess / weight[:, None])[component]
        R = self.basis.analyze(pull + (V2 if self.labels_every_vertex else self.JT @ V2))
        s, value = self._scaled(V2, self.basis.energy_conjugate(R) / self.beta, _room(V2, self.alpha))
        return DualPoint(np.zeros((0, V2.shape[1])), s * V2, value, s)

    def _scaled(self, V2: Floats, quadratic: float, room: float) -> tuple[float, float]:
        """The factor that gives the best bound, and the bound (M6)."""
        linear = -float(np.sum(V2 * self.Y))
        best = max(linear, 0.0) / (2 * quadratic) if quadratic > 0 else np.inf
        s = min(1.0, room, best) if linear > 0 else 0.0  # never up: rounding in the equalities would grow along
        return s, s * linear - s * s * quadratic

    def relative_gap(self, primal: float, dual: float) -> float:
        """Compute (primal - dual) / primal (M7), the optimum counting as at least ``floor`` of the value at A = 0.

        In single precision it counts as at least a hundredth of that: below, the value itself is rounding.

        Parameters
        ----------
        primal, dual : float

        Returns
        -------
        float
            Non-negative; it bounds how far, relatively, the value is from the optimum.
        """
        floor = self.floor if self.basis.dtype == np.float64 else max(self.floor, SINGLE_FLOOR)
        scale = max(primal, floor * self.value_at_zero, 1e-300)
        if not dual <= primal + self._rounding * max(scale, self.value_at_zero):
            raise NumericalError(
                f"the lower bound {dual:.6g} exceeds the value {primal:.6g}: the graph's weights or the weights of "
                "the labels are too far apart for double precision. Rescale them."
            )
        return max(primal - dual, 0.0) / scale

    @property
    def _rounding(self) -> float:
        """How far rounding may lift the bound over the value, as a share of the value at A = 0."""
        return ROUNDING if self.basis.dtype == np.float64 else SINGLE_ROUNDING

    @cached_property
    def _solve_soft(self) -> LinearSolver:
        """Solve with N' diag(alpha) N, N the labelled rows of the vectors that are nearly null vectors, or are."""
        N = self.basis.soft_vectors[self.rows]
        return positive_solver(N.T @ (self.alpha[:, None] * N))

    @cached_property
    def _solve_gram(self) -> LinearSolver:
        """Solve with U'(P'P + J'J)U."""
        return positive_solver(self.basis.compress(self.PT @ self.P + self.JT @ self.J))


def _room(V: Floats, radius: Floats | float) -> float:
    """The largest factor that keeps every row of V in its ball."""
    norms = row_norms(V)
    held = norms > 0
    return float(np.min(np.broadcast_to(radius, norms.shape)[held] / norms[held], initial=np.inf))
