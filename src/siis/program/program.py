"""The convex program (M1): value, dual value and gap. The only definition of "solved".

minimise over A    gamma ||P U A||_{2,1} + sum_i alpha_i ||(J U A - Y)_i|| + beta tr(A' Sigma A)        (M1)

This is the paper's equation (5); with one column, its (4). The first term is the graph trend filtering term: the
paper's (1), P of shape (E, n), takes weighted differences along edges. The second is the fidelity term: J, (l, n),
picks the labelled vertices, Y, (l, c), holds their labels. The third belongs to smooth eigenbase pursuit: soft labels
are F = U A, where U, (n, m), holds the smoothest eigenvectors of the Laplacian and Sigma, (m, m), their eigenvalues.

Coefficients A live on the host, in double precision. What has a row for each vertex, edge or label (F = U A, P F,
J F, multipliers) lives on the engine of the basis.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from siis._types import Floats, Ints
from siis.engine import Engine, Operator
from siis.engine.base import indicator
from siis.engine.edges import EdgeMatrix
from siis.engine.lazy import cached_property
from siis.engine.linear_systems import LinearSolver, positive_solver
from siis.engine.rows import dots, row_norms
from siis.engine.types import Array, Precision
from siis.errors import Message, NumericalError
from siis.graph import Graph
from siis.graph.graph import LARGEST, SMALLEST
from siis.program.accuracy import Accuracy
from siis.program.basis import Basis
from siis.program.penalties import Penalty, RowNorm

SMALLEST_SCALE = 1e-6  # times the value at A = 0: an optimum below this counts as zero


@dataclass(frozen=True, eq=False)
class DualPoint:
    """A feasible point of the dual program (M6).

    Attributes
    ----------
    edges : Array of shape (E, c)
        V1, rows of norm at most gamma.
    labels : Array of shape (l, c)
        V2, rows of norm at most alpha_i.
    value : float
        A lower bound on the optimum of (M1).
    scale : float
        Factor that brought the multipliers on the edges back into their balls.
    """

    edges: Array
    labels: Array
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
        U and Sigma, and the engine.
    vertices : ndarray of shape (l,)
        The vertex of each label. A vertex may hold several.
    Y : ndarray of shape (l, c)
        The labels: one-hot, one column of -1/+1, or distributions over the classes.
    alpha : ndarray of shape (l,)
        The weight of each label, positive.
    beta : float
        Weight of the energy tr(A' Sigma A), non-negative.
    gamma : float
        Weight of the graph trend filtering term, non-negative (1 in the paper).
    floor : float
        Share of the value at A = 0; an optimum below it counts as that in the relative gap.
    edge_penalty : type of Penalty
        The penalty of the graph trend filtering term.
    """

    graph: Graph
    basis: Basis
    vertices: Ints
    Y: Floats
    alpha: Floats
    beta: float
    gamma: float = 1.0
    floor: float = SMALLEST_SCALE
    edge_penalty: Callable[[float, Any], Penalty] = RowNorm

    def __post_init__(self) -> None:
        n, _ = self.basis.shape
        vertices = np.asarray(self.vertices, dtype=np.int64)
        Y = np.asarray(self.Y, dtype=self._rows)
        if n != self.graph.n_vertices:
            raise ValueError(
                f"basis and graph must agree; the basis has {n} rows for {self.graph.n_vertices} vertices"
            )
        outside = vertices.min(initial=0) < 0 or vertices.max(initial=0) >= max(n, 1)
        if vertices.ndim != 1 or outside or not self.engine.total_count(vertices.size):
            raise ValueError(f"vertices must name at least one vertex between 0 and {n - 1}; found {vertices!r}")
        if Y.ndim != 2 or Y.shape[0] != vertices.size or not np.isfinite(Y).all():
            raise ValueError(
                f"Y must be finite with one row for each of {vertices.size} labels; found shape {Y.shape}"
            )
        alpha = np.broadcast_to(np.asarray(self.alpha, dtype=np.float64), vertices.shape)
        if alpha.size and not (alpha.min() >= SMALLEST and alpha.max() <= LARGEST):
            raise ValueError(
                Message(
                    "{alpha} (times {sample_weight}) must be positive and lie between {least:g} and {most:g}; found "
                    "{low:.3g} to {high:.3g}",
                    least=SMALLEST,
                    most=LARGEST,
                    low=alpha.min(),
                    high=alpha.max(),
                )
            )
        for name, weight in (("beta", self.beta), ("gamma", self.gamma)):
            if not (np.isfinite(weight) and weight >= 0):
                raise ValueError(f"{name} must be non-negative and finite; found {weight}")
        if self.gamma == 0 and self.beta == 0:
            raise ValueError(
                "gamma and beta must not both be 0: nothing would join unlabelled examples to labelled ones"
            )
        n_components = self.graph.n_components
        labels_of = self.engine.total_sum(np.bincount(self.graph.component[vertices], minlength=n_components))
        unlabelled = np.count_nonzero(labels_of == 0)
        if unlabelled:
            raise ValueError(
                f"every connected component must hold a label; {unlabelled} hold none. "
                "Restrict the graph to graph.reached_from(vertices)."
            )
        if self.basis.n_null != self.graph.n_components:
            raise ValueError(
                f"the basis must hold the constants of all {self.graph.n_components} connected components; it holds "
                f"{self.basis.n_null}. Use at least {self.graph.n_components} components of the basis."
            )
        for name, value in (("vertices", vertices), ("Y", Y), ("alpha", alpha)):
            object.__setattr__(self, name, value)

    @property
    def engine(self) -> Engine:
        """Where rows of vertices, edges and labels live."""
        return self.basis.engine

    @property
    def _rows(self) -> Precision:
        """Precision of what is measured on rows: double, but where memory is short."""
        return self.engine.row_type(self.basis.dtype)

    @cached_property
    def trend_filtering(self) -> Penalty:
        """The graph trend filtering term, as a function of P F."""
        return self.edge_penalty(self.gamma, self.engine.xp)

    @cached_property
    def fidelity(self) -> Penalty:
        """The fidelity term, as a function of J F - Y."""
        return RowNorm(self._alpha, self.engine.xp)

    @cached_property
    def P(self) -> Operator:
        """Incidence matrix, shape (E, n); without rows where gamma = 0, since then edges do not count."""
        incidence = self.graph.incidence if self.gamma > 0 else sp.csr_array((0, self.graph.weights.shape[1]))
        return self.engine.operator(incidence, np.float64)

    @cached_property
    def J(self) -> Operator:
        """Picks the labelled vertices, shape (l, n), in the precision of the basis."""
        return self.engine.row_selection(self.vertices, self.graph.n_vertices, self.basis.dtype)

    @cached_property
    def labels_every_vertex(self) -> bool:
        """Whether J is the identity."""
        return np.array_equal(self.vertices, np.arange(self.graph.n_vertices))

    def at_labels(self, F: Array) -> Array:
        """J F, shape (l, c), in the precision of F."""
        return F if self.labels_every_vertex else self.engine.take(F, self.vertices, 0)

    @cached_property
    def value_at_zero(self) -> float:
        """The value of (M1) at A = 0: the scale of the problem."""
        return float(self.engine.total_sum(self.alpha @ row_norms(self.Y)))

    def value(self, A: Floats) -> float:
        """The objective of (M1) at A, (m, c)."""
        F = self.engine.asarray(self.basis.synthesize(A), np.float64)
        misfits = self.at_labels(F) - self._Y
        return self.value_of(self.trend_filtering.norms(self.P @ F), self.fidelity.norms(misfits), A)

    def value_of(self, edge_norms: Array, label_norms: Array, A: Floats) -> float:
        """The objective of (M1) from the row norms of P U A, (E,), and J U A - Y, (l,), in double precision."""
        penalties = self.trend_filtering.value(edge_norms) + self.fidelity.value(label_norms)
        return penalties + self.beta * self.basis.energy(A)

    def gram(self, p: Array, q: Array) -> Any:
        """U'(P' diag(p) P + J' diag(q) J)U, the matrix of (M4) without its energy, on the host.

        P' diag(p) P is the Laplacian of the weights p_e w_e^2, so that P U (E x m) is never formed.

        p: (E,), not used where gamma = 0; q: (l,); returns (m, m).
        """
        pattern, engine = self._pattern, self._pattern.engine
        p, q = (self.engine.asarray(a, self._rows) for a in (p, q))
        if engine is not self.engine:
            p, q = self.engine.numpy(p), self.engine.numpy(q)
        squares = p * pattern.squares if self.gamma > 0 else engine.zeros((self.graph.n_edges,), self._rows)
        weights, sums = pattern(squares)
        del p, squares  # each as large as the edges are many
        if not self.labels_every_vertex:
            q = engine.asarray(np.bincount(self.vertices, engine.numpy(q), self.graph.n_vertices), np.float64)
        return self.basis.project_laplacian(weights, q + sums)

    @cached_property
    def _pattern(self) -> EdgeMatrix:
        """Other weights in the places of the graph's."""
        return self.basis.edge_matrix(self.graph)

    def dual_point(self, V1: Array, V2: Array) -> DualPoint:
        """Make any multipliers a feasible point of the dual (M6), and value it.

        Rows go to their balls; then the equalities R_k = 0 where beta lambda_k = 0, R = U'(P' V1 + J' V2), are
        restored, and the point is scaled back into the balls by the factor that gives the best bound.

        V1: (E, c); V2: (l, c).
        """
        V1 = self.trend_filtering.project(self.engine.asarray(V1, np.float64))
        if self.beta > 0:
            found = self.bound(self.P.T @ V1, V2)
            return DualPoint(found.scale * V1, found.labels, found.value, found.scale)
        V2 = self.fidelity.project(self.engine.asarray(V2, np.float64))
        R = self.basis.analyze(self.P.T @ V1 + self.J.T @ V2)  # R = 0 in full
        correction = self.engine.asarray(self.basis.synthesize(self._solve_gram(R)), np.float64)
        V1, V2 = V1 - self.P @ correction, V2 - self.at_labels(correction)
        s, value = self._scaled(
            V2, 0.0, min(self._feasible(self.trend_filtering, V1), self._feasible(self.fidelity, V2))
        )
        return DualPoint(s * V1, s * V2, value, s)

    def bound(self, divergence: Array, V2: Array) -> DualPoint:
        """Value multipliers whose part on the edges, of rows within their balls, is known by its divergence alone.

        divergence: P' V1, (n, c); V2: (l, c); beta must be positive. The point has no V1; V1 times ``scale`` is
        feasible with it.
        """
        engine, near_null = self.engine, self.basis.near_null_vectors
        divergence = engine.asarray(divergence, self._rows)
        V2 = self.fidelity.project(engine.asarray(V2, self._rows))
        best = self._valued(divergence, V2)
        if near_null.shape[1]:  # R_k / lambda_k is large there however small R_k is: make that 0 as well
            N = self.at_labels(near_null)
            excess = engine.inner(near_null, divergence) + engine.inner(N, V2)
            balanced = V2 - self._alpha[:, None] * engine.times(N, self._solve_near_null(excess))
            best = max(best, self._valued(divergence, balanced), key=lambda point: point.value)
        return best

    def _valued(self, divergence: Array, V2: Array) -> DualPoint:
        """The best bound from P' V1 and V2, after the equalities of (M6) are restored."""
        # only the constants of the components must balance; P annihilates them, so V2 alone does
        C, weight = self._components
        balanced = self.engine.asarray(C.T @ ((C @ V2) / weight), self._rows)
        balanced *= -self._alpha[:, None]
        balanced += V2
        V2 = balanced
        labels = V2 if self.labels_every_vertex else self.J.T @ V2
        if self.engine.low_memory:  # nothing as large as the labels is made that can be done without
            R: Floats = self.basis.analyze(divergence) + self.basis.analyze(labels)
        else:
            R = self.basis.analyze(divergence + labels)
        quadratic = self.basis.energy_conjugate(R) / self.beta
        s, value = self._scaled(V2, quadratic, self._feasible(self.fidelity, V2))
        V2 *= s
        return DualPoint(self.engine.zeros((0, V2.shape[1]), self._rows), V2, value, s)

    def _scaled(self, V2: Array, quadratic: float, largest: float) -> tuple[float, float]:
        """The factor that gives the best bound, and the bound (M6)."""
        linear = -float(self.engine.xp.sum(dots(V2, self._Y, -1, self.engine.xp)))
        best = max(linear, 0.0) / (2 * quadratic) if quadratic > 0 else np.inf
        s = min(1.0, largest, best) if linear > 0 else 0.0  # never up: rounding in the equalities would grow along
        return s, s * linear - s * s * quadratic

    def _feasible(self, penalty: Penalty, V: Array) -> float:
        """The largest factor that keeps V in the dual ball of a penalty."""
        return penalty.largest_feasible_scale(V) if self.engine.total_count(V.shape[0]) else np.inf

    def relative_gap(self, primal: float, dual: float) -> float:
        """Compute (primal - dual) / primal (M7), the optimum counting as at least ``floor`` of the value at A = 0.

        In single precision, what rounding may have taken from the difference is added to it.

        Non-negative; it bounds how far, relatively, the value is from the optimum.
        """
        accuracy = Accuracy.of(self.basis.dtype)
        scale = max(primal, self.floor * self.value_at_zero, 1e-300)
        if not dual <= primal + accuracy.rounding * max(scale, self.value_at_zero):
            raise NumericalError(
                f"the lower bound {dual:.6g} exceeds the value {primal:.6g}: the graph's weights or the weights of "
                "the labels are too far apart for double precision. Rescale them."
            )
        return (max(primal - dual, 0.0) + accuracy.floor * self.value_at_zero) / scale

    @cached_property
    def _Y(self) -> Array:
        return self.engine.asarray(self.Y, self._rows)

    @cached_property
    def _alpha(self) -> Array:
        return self.engine.asarray(self.alpha, self._rows)

    @cached_property
    def _components(self) -> tuple[Operator, Array]:
        """Sums the rows of the labels of each component, shape (k, l); and their weights, shape (k, 1)."""
        component, k = self.graph.component[self.vertices], self.graph.n_components
        members = indicator(component, k)
        weight = self.engine.total_sum(np.bincount(component, self.alpha, k))
        return self.engine.narrow_operator(members, np.float64).T, self.engine.asarray(weight[:, None], np.float64)

    @cached_property
    def _solve_near_null(self) -> LinearSolver:
        """Solve with N' diag(alpha) N, N the labelled rows of the vectors that are nearly null vectors, or are."""
        N = self.at_labels(self.basis.near_null_vectors)
        return positive_solver(self.engine.inner(N, self._alpha[:, None] * N))

    @cached_property
    def _solve_gram(self) -> LinearSolver:
        """Solve with U'(P'P + J'J)U."""
        gram = self.gram(np.ones(self.P.shape[0]), np.ones(self.vertices.size))
        return positive_solver(gram, engine=self.engine)
