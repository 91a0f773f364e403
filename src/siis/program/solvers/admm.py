"""ADMM for (M1) in one precision, with a penalty parameter for every row; programs on one graph run in one batch.

The splitting Q = P U A, B = J U A - Y is the paper's (M2 to M5) in three changes. Each row has a penalty parameter of
its own, p_e = gamma / ||(P U A)_e|| and p_i = alpha_i / ||(J U A - Y)_i|| within bounds, set anew at iterations that
lie ever farther apart: near the optimum the quadratic model then has the curvature of the norms themselves. The
iteration is over-relaxed. And since the proximal map multiplies rows, Q = f N, one array N with factors f holds Q and
its multiplier p (1 - f) N: one pass over the edges updates them, and gathers the right-hand side of the next system.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from siis._types import Floats
from siis.engine import Engine
from siis.engine.linear_systems import LinearSolver, positive_solver
from siis.engine.rows import row_norms
from siis.engine.types import Array
from siis.program import DualPoint, Program
from siis.program.accuracy import Accuracy
from siis.program.solvers.solution import Recorder, Solution, relative_change
from siis.progress import Report

RELAXATION = 1.7  # over-relaxation, in (1, 2)
SOLVE_TOL = 1e-7  # of iterative linear solves; the gap is measured, so they need not be exact
LONGEST_SHORT_ROW = 1e-2  # of a label's length: upper bound on what counts as a short row
FIRST_ADAPTATION = 5  # then again whenever the number of iterations has grown by half
ROWS_AT_ONCE = 2**20  # whose penalty parameters are computed together

Callback = Callable[[int, Floats], None]


class Course:
    """The iterations so far: the best coefficients of each program, and what was measured."""

    def __init__(self, programs: Sequence[Program]) -> None:
        self.n_iter, self.gap = 0, np.inf  # the largest of all programs
        self.recorders = [Recorder() for _ in programs]
        self.bounds: list[DualPoint] = []
        self.forget_best(len(programs))

    def forget_best(self, n: int) -> None:
        """Begin anew to look for the best coefficients, as values in another precision carry other rounding."""
        self.best: list[tuple[Floats, float]] = [(np.zeros((0, 0)), np.inf)] * n

    def measure(self, state: State, norms: tuple[Array, Array], before: Floats) -> None:
        """Measure the gap (M7) of each program; ``before`` are the coefficients of the iteration before."""
        self.gap, self.bounds = 0.0, []  # those of before are as large as all labels
        self.bounds = state.bounds()
        for g, (program, group) in enumerate(zip(state.programs, state.groups, strict=True)):
            A, bound = state.A[:, group], self.bounds[g].value
            objective = program.value_of(norms[0][:, g], norms[1][:, g], A)
            if objective < self.best[g][1]:
                self.best[g] = A, objective
            objective = self.best[g][1]
            gap = program.relative_gap(objective, bound)
            self.recorders[g].add(self.n_iter, objective, bound, gap, relative_change(A, before[:, group]))
            self.gap = max(self.gap, gap)

    def solutions(self, state: State, tol: float) -> list[Solution]:
        """The best coefficients with their proofs; ends the state."""
        parts = zip(state.programs, self.best, state.duals(self.bounds), self.recorders, strict=True)
        found = []
        for program, (A, objective), dual, recorder in parts:
            gap = program.relative_gap(objective, dual.value)
            status = "certified" if gap <= tol else "max_iter"
            found.append(Solution(A, dual, objective, gap, self.n_iter, status, recorder.history()))
        return found


def admm(
    state: State,
    course: Course,
    tol: float,
    max_iter: int,
    check_every: int,
    callback: Callback | None,
    report: Report,
    is_exhausted: Callable[[int, float, Array | None], bool] | None = None,
) -> None:
    """Iterate until every gap is at most ``tol``, ``max_iter`` is reached or the precision is exhausted.

    ``is_exhausted`` takes the iteration, the gap and, where penalty parameters are due, the norms of J F - Y.
    """
    next_adaptation = course.n_iter + FIRST_ADAPTATION
    for iteration in range(course.n_iter + 1, max_iter + 1):
        before, course.n_iter = state.A, iteration
        state.step()
        if callback is not None:
            callback(iteration, state.A)
        checks = iteration % check_every == 0 or iteration == max_iter
        adapts = iteration >= next_adaptation and iteration < max_iter
        if checks or adapts:
            norms = state.norms()
        if checks:
            course.measure(state, norms, before)
            if course.gap <= tol:
                return
            report(float(np.log(min(course.gap, 1.0)) / np.log(min(tol, 0.5))))
        if is_exhausted is not None and is_exhausted(iteration, course.gap, norms[1] if adapts else None):
            return
        if adapts:
            next_adaptation = iteration + max(FIRST_ADAPTATION, iteration // 2)
            state.adapt(*norms)


def curvatures(engine: Engine, weight: Array | float, norms: Array, unit: float, shortest: float) -> Array:
    """Curvature of a penalty near rows of these norms, (n, k), averaged over the k programs: shape (n,).

    It is weight / ||row||; short rows count as of the median length, within bounds in units of ``unit``.
    """
    n, k = norms.shape
    typical = engine.medians(norms) if engine.total_count(n) > 0 else np.full(k, unit)
    bounds = shortest * unit, max(LONGEST_SHORT_ROW, shortest) * unit
    found = engine.xp.zeros_like(norms[:, 0])
    short = engine.xp.astype(engine.asarray(np.clip(typical, *bounds), np.float64), norms.dtype)
    for a in range(0, n, ROWS_AT_ONCE):
        some = slice(a, min(a + ROWS_AT_ONCE, n))
        of_rows = weight if isinstance(weight, float | int) else weight[some, :]
        found[some] = engine.xp.mean(of_rows / engine.xp.maximum(norms[some, :], short), axis=1)
    return found


class State:
    """Coefficients and rows of all programs of a batch.

    On the host: A (m x k c). On the engine: penalty parameters p1 (E), p2 (l) in double precision; N1 (E x k x c)
    with factors f1 in ``edges``, N2 (l x k x c) with f2 (l x k x 1), which hold Q, B and the multipliers; and the
    right-hand side of (M4) before U', P' p1 (2 f1 - 1) N1 + J' p2 ((2 f2 - 1) N2 + Y), shape (n, k c).
    """

    def __init__(self, programs: Sequence[Program]) -> None:
        one, (n_labels, c), k = programs[0], programs[0].Y.shape, len(programs)
        self.programs, self.basis, self.engine, self.dtype = programs, one.basis, one.engine, one.basis.dtype
        self.shape, self.groups = (n_labels, k, c), [slice(g * c, (g + 1) * c) for g in range(k)]
        self.shortest = Accuracy.of(self.dtype).shortest_row
        self.alpha = self.engine.asarray(np.column_stack([program.alpha for program in programs]), np.float64)
        self.longest = longest_label(programs)
        self.heaviest = self.engine.total_max(one.graph.edges.weights)
        self.JT = None if one.labels_every_vertex else one.J.T
        Y = one.Y[:, None, :] if k == 1 else np.stack([program.Y for program in programs], axis=1)
        self.Y = self.engine.asarray(Y, self.dtype)
        has_edges = one.gamma > 0 and self.engine.total_count(one.graph.n_edges) > 0
        self.edges = one.trend_filtering.edge_rows(self.engine, one.graph, k, c, self.dtype) if has_edges else None
        self.A: Floats = np.zeros((self.basis.shape[1], k * c))
        self.F: Array = None
        self.N2: Array = None
        self.f2: Array = None

    @classmethod
    def cold(cls, programs: Sequence[Program]) -> State:
        """Start at A = 0."""
        self, engine = cls(programs), programs[0].engine
        alpha = np.column_stack([program.alpha for program in programs])
        p1 = engine.zeros((programs[0].graph.n_edges,), engine.row_type(self.dtype))
        p1 += 10 * float(engine.mean(alpha).mean()) / (self.heaviest or 1.0) ** 2
        self.N2 = -self.Y
        self.set_penalties(p1, engine.asarray(10 * alpha.mean(axis=1), np.float64))
        return self

    @classmethod
    def warm(cls, programs: Sequence[Program], start: Sequence[Solution]) -> State:
        """Start at solutions of programs of the same shapes."""
        self, program, engine = cls(programs), programs[0], programs[0].engine
        self.A = np.hstack([solution.coefficients for solution in start])
        self.F = self.basis.synthesize(self.A)
        p1, p2 = self._curvatures(*self.norms())
        V2 = engine.xp.stack([engine.asarray(solution.dual.labels, np.float64) for solution in start], axis=1)
        self.N2 = engine.asarray(self._misfits() + V2 / p2[:, None, None], self.dtype)
        if self.edges is not None:
            V1 = engine.xp.concat([engine.asarray(solution.dual.edges, np.float64) for solution in start], axis=1)
            self.edges.set_rows(program.P @ self.F + V1 / p1[:, None])
        self.set_penalties(p1, p2)
        return self

    def in_double(self) -> State:
        """Go on in double precision from here."""
        other = State(in_double(self.programs))
        other.A, other.F = self.A, other.basis.synthesize(self.A)
        other.N2 = self.engine.asarray(self.N2, np.float64)
        if other.edges is not None and self.edges is not None:
            other.edges.set_rows(self.edges.N)
        other.set_penalties(self.p1, self.p2)
        return other

    def set_penalties(self, p1: Array, p2: Array) -> None:
        """Take penalty parameters: shrink anew, and factorise 2 beta Sigma + U'(P' diag(p1) P + J' diag(p2) J)U."""
        self.p1, self.p2 = p1, p2
        self._threshold = self.alpha / p2[:, None]
        self._shrink_labels()
        self.right_side = self._label_side()
        if self.edges is not None:
            self.edges.set_penalties(p1, self.programs[0].trend_filtering)
            self.right_side += self.edges.divergence(2.0, -1.0)
        gram = self.programs[0].gram(p1, p2)
        self.solvers: list[LinearSolver] = [
            positive_solver(2 * program.beta * self.basis.energy_matrix() + gram, SOLVE_TOL, self.engine)
            for program in self.programs
        ]

    def step(self) -> None:
        """One iteration: (M4), then (M2), (M3) and (M5), relaxed."""
        keep, right = self.engine.keep, self.basis.analyze(self.right_side)
        pairs = zip(self.solvers, self.groups, strict=True)
        self.A = np.hstack([solve(right[:, group], self.A[:, group]) for solve, group in pairs])  # (M4)
        self.F = keep(self.basis.synthesize(self.A))
        self.N2 = keep(self._scaled(1 - RELAXATION * self.f2) + RELAXATION * self._misfits())
        self._shrink_labels()
        self.right_side = self._label_side()
        if self.edges is not None:
            self.right_side += self.edges.step(self.F, self.programs[0].trend_filtering, RELAXATION)  # (M2)

    def _misfits(self) -> Array:
        """J F - Y, shape (l, k, c)."""
        return self.engine.xp.reshape(self.programs[0].at_labels(self.F), self.shape) - self.Y

    def _shrink_labels(self) -> None:
        self.f2 = self.programs[0].fidelity.prox_factors(self.N2, self._threshold)  # (M3)

    def _scaled(self, factors: Array) -> Array:
        """N2 with its rows times factors, (l, k, 1)."""
        return self.engine.asarray(factors, self.dtype) * self.N2

    def _label_side(self) -> Array:
        """J' p2 ((2 f2 - 1) N2 + Y), shape (n, k c)."""
        rows, (n, k, c) = self._scaled(2 * self.f2 - 1) + self.Y, self.shape
        rows *= self.engine.asarray(self.p2, self.dtype)[:, None, None]
        rows = self.engine.xp.reshape(rows, (n, k * c))
        return rows if self.JT is None else self.JT @ rows

    def norms(self) -> tuple[Array, Array]:
        """Norms of the rows of P F, shape (E, k), and of J F - Y, shape (l, k), in double precision."""
        engine, one, kind = self.engine, self.programs[0], self.engine.row_type(self.dtype)
        labels = engine.asarray(one.fidelity.norms(self._misfits()), kind)
        if self.edges is None:
            return engine.zeros((0, self.shape[1]), np.float64), labels
        return engine.asarray(one.trend_filtering.edge_norms(self.edges, self.F), kind), labels

    def bounds(self) -> list[DualPoint]:
        """A dual point of each program, without its part on the edges, which only beta = 0 needs."""
        V2 = self._scaled(self.p2[:, None, None] * (1 - self.f2))
        flow = self.engine.xp.zeros_like(self.right_side) if self.edges is None else self.edges.divergence(-1.0, 1.0)
        return [
            program.bound(flow[:, group], V2[:, g, :])
            if program.beta > 0
            else program.dual_point(self._edge_multipliers(g), V2[:, g, :])
            for g, (program, group) in enumerate(zip(self.programs, self.groups, strict=True))
        ]

    def duals(self, bounds: list[DualPoint]) -> list[DualPoint]:
        """The same points with their parts on the edges; ends the state, whose rows become these."""
        return [
            replace(bound, edges=self._edge_multipliers(g, bound.scale)) if program.beta > 0 else bound
            for g, (program, bound) in enumerate(zip(self.programs, bounds, strict=True))
        ]

    def _edge_multipliers(self, g: int, final_scale: float | None = None) -> Array:
        if self.edges is None:
            return self.engine.zeros((0, self.shape[2]), np.float64)
        return self.edges.multipliers(g) if final_scale is None else self.edges.final_multipliers(g, final_scale)

    def adapt(self, edge_norms: Array, label_norms: Array) -> None:
        """Set penalty parameters anew; Q = f N and the multipliers p (1 - f) N stay."""
        p1, p2 = self._curvatures(edge_norms, label_norms)
        self.N2 = self._scaled(self.f2 + (1 - self.f2) * (self.p2 / p2)[:, None, None])
        if self.edges is not None:
            self.edges.rescale(self.p1 / p1)
        self.set_penalties(p1, p2)

    def _curvatures(self, edge_norms: Array, label_norms: Array) -> tuple[Array, Array]:
        """Penalty parameters (E,) and (l,) for rows of these norms."""
        engine, shortest, unit = self.engine, self.shortest, self.longest
        p1 = curvatures(engine, self.programs[0].gamma, edge_norms, self.heaviest * unit, shortest)
        return p1, curvatures(engine, self.alpha, label_norms, unit, shortest)


def in_double(programs: Sequence[Program]) -> list[Program]:
    """The same programs with their basis in double precision."""
    basis = programs[0].basis.in_double()
    return [replace(program, basis=basis) for program in programs]


def longest_label(programs: Sequence[Program]) -> float:
    """The length of the longest row of Y, 1 where all are 0."""
    return max(programs[0].engine.total_max(row_norms(program.Y)) for program in programs) or 1.0
