"""ADMM for (M1) with a penalty for every row, stopped by the duality gap; programs on one graph run in one batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from siis._types import Floats
from siis.engine.factor import LinearSolver, positive_solver
from siis.engine.rows import dots, row_norms, shrink_factors
from siis.engine.threads import one_blas_thread
from siis.engine.types import Array
from siis.program import DualPoint, Program
from siis.progress import Report, no_progress
from siis.solvers.solution import Recorder, Solution, relative_change

RELAXATION = 1.7  # over-relaxation, in (1, 2)
SOLVE_TOL = 1e-7  # of iterative linear solves; the gap is measured, so they need not be exact
LONGEST_SHORT_ROW, SHORTEST_ROW = 1e-2, 1e-4  # of a label's length: bounds on what counts as a short row
ROW_ROUNDINGS = 3e4  # of the precision: rows count as no shorter, since multipliers carry rounding over length
FIRST_ADAPTATION = 5  # then again whenever the number of iterations has grown by half
CHECK_EVERY = 5
ROWS_AT_ONCE = 2**20  # rows that are looked at together on the host
STALLED_ITERATIONS = 30  # in single precision without a gap a tenth smaller; then double precision takes over
FINE_GAP = 1e-3  # for a smaller tol, it takes over as soon as misfits at labels are too small


def solve_certified(
    program: Program,
    tol: float = 1e-4,
    max_iter: int = 1000,
    check_every: int = CHECK_EVERY,
    start: Solution | None = None,
    callback: Callable[[int, Floats], None] | None = None,
    report: Report = no_progress,
) -> Solution:
    """Minimise (M1) until the relative duality gap (M7) is at most ``tol``.

    The splitting is the paper's (M2 to M5) in three changes. Each row of Q = P U A and B = J U A - Y has a penalty
    of its own, p_e = gamma / ||(P U A)_e|| and p_i = alpha_i / ||(J U A - Y)_i|| within bounds, set anew at
    iterations that lie ever farther apart: near the optimum the quadratic model then has the curvature of the
    norms themselves. The iteration is over-relaxed. And since a shrunk row is a multiple of the row before,
    Q = f N, one array N with a factor f for each row holds Q and its multiplier p (1 - f) N: one pass over the edges
    updates them, and gathers the right-hand side of the next linear system.

    Where the basis is in single precision, so is the work on edges and vertices, until rounding holds the gap up, or
    most misfits at labels are smaller than it resolves; it then goes on in double precision from where it is.

    Parameters
    ----------
    program : Program
    tol : float
        Relative gap at which to stop.
    max_iter : int
    check_every : int
        Iterations between two measurements of the gap.
    start : Solution, optional
        Warm start: a solution of a program with the same shapes.
    callback : callable, optional
        Called with (iteration, A) after each iteration.
    report : callable
        Takes the share of the work that is done, by the logarithm of the gap.

    Returns
    -------
    Solution
    """
    return solve_batch([program], tol, max_iter, check_every, None if start is None else [start], callback, report)[0]


def solve_batch(
    programs: Sequence[Program],
    tol: float = 1e-4,
    max_iter: int = 1000,
    check_every: int = CHECK_EVERY,
    start: Sequence[Solution] | None = None,
    callback: Callable[[int, Floats], None] | None = None,
    report: Report = no_progress,
) -> list[Solution]:
    """Solve programs that differ in Y, alpha and beta together, as ``solve_certified`` solves one.

    They share the graph, the basis, the labelled vertices and gamma, hence the passes over the edges and, with one
    penalty for each row of all of them, the matrix of the linear systems up to beta Sigma. The batch ends when the
    last gap meets the tolerance. ``callback`` takes (iteration, A), A of shape (m, k c).
    """
    with one_blas_thread():
        state = _State(programs, start, tol < FINE_GAP)
        return _solve(state, tol, max_iter, check_every, callback, report)


def _solve(
    state: _State,
    tol: float,
    max_iter: int,
    check_every: int,
    callback: Callable[[int, Floats], None] | None,
    report: Report,
) -> list[Solution]:
    programs = state.programs
    recorders = [Recorder() for _ in programs]
    best: list[tuple[Floats, float]] = [(state.A[:, group], np.inf) for group in state.groups]
    next_adaptation = FIRST_ADAPTATION
    smallest, progressed = np.inf, 0  # the gap that counts as progress, and when it was last reached
    for iteration in range(1, max_iter + 1):
        before = state.A
        state.step()
        if callback is not None:
            callback(iteration, state.A)
        checks = iteration % check_every == 0 or iteration == max_iter
        adapts = iteration >= next_adaptation and iteration < max_iter
        if checks or adapts:
            edge_norms, label_norms = state.norms()
        if checks:
            worst, bounds = 0.0, []  # those of before are as large as all labels
            bounds = state.bounds()
            for g, (program, recorder) in enumerate(zip(programs, recorders, strict=True)):
                A = state.A[:, state.groups[g]]
                objective = program.value_of(edge_norms[:, g], label_norms[:, g], A)
                if objective < best[g][1]:
                    best[g] = A, objective
                gap = program.relative_gap(best[g][1], bounds[g].value)
                change = relative_change(A, before[:, state.groups[g]])
                recorder.add(iteration, best[g][1], bounds[g].value, gap, change)
                worst = max(worst, gap)
            if worst <= tol:
                break
            report(float(np.log(min(worst, 1.0)) / np.log(min(tol, 0.5))))
            if worst < 0.9 * smallest:
                smallest, progressed = worst, iteration
        has_stalled = (
            state.dtype == np.float32 and iteration - progressed >= STALLED_ITERATIONS and iteration < max_iter
        )
        if has_stalled and state.engine.low_memory:
            break  # there is no memory for more digits: the gap says how far it has come
        if has_stalled or (adapts and state.is_below_resolution(label_norms)):
            state.to_double()  # rounding holds the gap up, or will
            programs = state.programs
            best = [(A, np.inf) for A, _ in best]  # their values carry rounding, too
            next_adaptation = iteration + FIRST_ADAPTATION
        elif adapts:
            next_adaptation = iteration + max(FIRST_ADAPTATION, iteration // 2)
            state.adapt(edge_norms, label_norms)
    duals = state.duals(bounds)
    return [
        Solution(
            A,
            dual,
            objective,
            gap := program.relative_gap(objective, dual.value),
            iteration,
            "certified" if gap <= tol else "max_iter",
            recorder.history(),
        )
        for program, (A, objective), dual, recorder in zip(programs, best, duals, recorders, strict=True)
    ]


def _side_by_side(rows: list[Floats]) -> Floats:
    """Rows of k programs as one array, shape (l, k, c)."""
    return rows[0][:, None, :] if len(rows) == 1 else np.stack(rows, axis=1)


class _State:
    """Coefficients and rows of all programs of a batch.

    On the host: A (m x k c). On the engine: the penalties p1 (E), p2 (l) in double precision; N1 (E x k x c) with
    factors f1 (E x k) in ``edges``, N2 (l x k x c) with f2 (l x k), which hold Q, B and the multipliers; and the
    right-hand side P' p1 (2 f1 - 1) N1 + J' p2 ((2 f2 - 1) N2 + Y), shape (n, k c).
    """

    def __init__(
        self, programs: Sequence[Program], start: Sequence[Solution] | None = None, is_fine: bool = True
    ) -> None:
        one = programs[0]
        self.gamma, self.engine, self.is_fine = one.gamma, one.engine, is_fine
        self.shape = one.Y.shape[0], len(programs), one.Y.shape[1]
        _, k, c = self.shape
        self.groups = [slice(g * c, (g + 1) * c) for g in range(k)]
        alpha = np.column_stack([program.alpha for program in programs])
        self.alpha = self.engine.asarray(alpha, np.float64)
        self.longest = max(self.engine.total_max(row_norms(program.Y)) for program in programs) or 1.0
        self._take(programs)
        self.heaviest = self.engine.total_max(one.graph.edges.weights)
        self.energy = [2 * program.beta * self.basis.energy_matrix() for program in programs]
        if start is None:
            self.p2 = self.engine.asarray(10 * alpha.mean(axis=1), np.float64)
            typical = float(self.engine.mean(alpha).mean())
            first = 10 * typical / (self.heaviest or 1.0) ** 2
            self.p1 = self.engine.zeros((one.graph.n_edges,), self.engine.row_type(self.dtype))
            self.p1 += first
            self.A, self.N2 = np.zeros((self.basis.shape[1], k * c)), -self.Y
        else:
            self._warm(start)
        self._set_penalties()

    def _take(self, programs: Sequence[Program]) -> None:
        """Work on these programs, in the precision of their basis."""
        one, (_, k, c) = programs[0], self.shape
        self.programs, self.basis, self.dtype = programs, one.basis, one.basis.dtype
        self.JT = None if one.labels_every_vertex else one.J.T
        self.Y = self.engine.asarray(_side_by_side([program.Y for program in programs]), self.dtype)
        has_edges = one.gamma > 0 and self.engine.total_count(one.graph.n_edges) > 0
        self.edges = self.engine.edge_rows(one.graph, k, c, self.dtype) if has_edges else None

    def _take_in_double(self) -> None:
        basis = self.basis.in_double()
        self._take([replace(program, basis=basis) for program in self.programs])
        self.F = self.basis.synthesize(self.A)

    def _warm(self, start: Sequence[Solution]) -> None:
        engine, program, c = self.engine, self.programs[0], self.shape[2]
        wanted = (self.basis.shape[1], c), (program.P.shape[0], c), program.Y.shape
        for solution in start:
            found = solution.coefficients.shape, tuple(solution.dual.edges.shape), tuple(solution.dual.labels.shape)
            if wanted != found:
                raise ValueError(
                    f"start must solve a program of the same shapes {wanted} (coefficients, edges, labels); found "
                    f"{found}"
                )
        self.A = np.hstack([solution.coefficients for solution in start])
        self.F = self.basis.synthesize(self.A)
        edge_norms, label_norms = self.norms()
        if self.is_below_resolution(label_norms):
            self._take_in_double()
        self.p1, self.p2 = self._penalties(edge_norms, label_norms)
        V2 = engine.xp.stack([engine.asarray(solution.dual.labels, np.float64) for solution in start], axis=1)
        self.N2 = engine.asarray(self._misfits() + V2 / self.p2[:, None, None], self.dtype)
        if self.edges is not None:
            V1 = engine.xp.concat([engine.asarray(solution.dual.edges, np.float64) for solution in start], axis=1)
            self.edges.set_rows(program.P @ self.F + V1 / self.p1[:, None])

    def is_below_resolution(self, label_norms: Array) -> bool:
        """Whether most misfits at labels are too small for single precision to tell them from rounding."""
        if self.dtype != np.float32 or self.engine.low_memory or not self.is_fine:
            return False
        return bool(np.all(self.engine.medians(label_norms) < self._shortest * self.longest))

    @property
    def _shortest(self) -> float:
        """Lower bound of the length of a row, over a label's length."""
        return max(SHORTEST_ROW, ROW_ROUNDINGS * float(np.finfo(self.dtype).eps))

    def to_double(self) -> None:
        """Go on in double precision from where single precision has come to."""
        labels, rows = self.N2, None if self.edges is None else self.edges.N
        self._take_in_double()
        self.N2 = self.engine.asarray(labels, self.dtype)
        if self.edges is not None:
            self.edges.set_rows(rows)
        self._set_penalties()

    def _misfits(self) -> Array:
        """J F - Y, shape (l, k, c)."""
        return self.engine.xp.reshape(self.programs[0].at_labels(self.F), self.shape) - self.Y

    def _set_penalties(self) -> None:
        """Take p1 and p2: shrink anew, and factorise 2 beta Sigma + U'(P' diag(p1) P + J' diag(p2) J)U."""
        self._q2 = self.p2[:, None]
        self._reach = self.alpha / self._q2
        self._shrink_labels()
        self.right_side = self._label_side()
        if self.edges is not None:
            self.edges.set_penalties(self.p1, self.gamma)
            self.right_side += self.edges.divergence(2.0, -1.0)
        gram = self.programs[0].gram(self.p1, self.p2)
        self.solvers: list[LinearSolver] = [
            positive_solver(energy + gram, SOLVE_TOL, self.engine) for energy in self.energy
        ]

    def _shrink_labels(self) -> None:
        xp = self.engine.xp
        self.f2 = shrink_factors(xp.sqrt(dots(self.N2, self.N2, -1, xp)), self._reach, xp)  # (M3)

    def _label_side(self) -> Array:
        """J' p2 ((2 f2 - 1) N2 + Y), shape (n, k c)."""
        rows = self._scaled(2 * self.f2 - 1) + self.Y
        rows *= self.engine.asarray(self._q2, self.dtype)[:, :, None]
        rows = self._flat(rows)
        return rows if self.JT is None else self.JT @ rows

    def _scaled(self, factors: Array) -> Array:
        """N2 with each of its rows times a factor, shape (l, k)."""
        return self.engine.asarray(factors, self.dtype)[:, :, None] * self.N2

    def _flat(self, rows: Array) -> Array:
        return self.engine.xp.reshape(rows, (self.shape[0], self.shape[1] * self.shape[2]))

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
            self.right_side += self.edges.step(self.F, self.gamma, RELAXATION)  # (M2)

    def norms(self) -> tuple[Array, Array]:
        """Row norms of P F, shape (E, k), and of J F - Y, shape (l, k), in double precision."""
        engine, rows = self.engine, self._misfits()
        labels = engine.asarray(engine.xp.sqrt(dots(rows, rows, -1, engine.xp)), engine.row_type(self.dtype))
        edges = engine.zeros((0, self.shape[1]), np.float64) if self.edges is None else self.edges.norms(self.F)
        return edges, labels

    def bounds(self) -> list[DualPoint]:
        """A dual point of each program, without its part on the edges, which only beta = 0 needs."""
        V2 = self._scaled(self._q2 * (1 - self.f2))
        flow = self.engine.xp.zeros_like(self.right_side) if self.edges is None else self.edges.divergence(-1.0, 1.0)
        return [
            program.bound(flow[:, group], V2[:, g, :])
            if program.beta > 0
            else program.dual_point(self._edge_multipliers(g), V2[:, g, :])
            for g, (program, group) in enumerate(zip(self.programs, self.groups, strict=True))
        ]

    def duals(self, bounds: list[DualPoint]) -> list[DualPoint]:
        """The same points with their parts on the edges; ends the state, whose rows become these."""
        found = []
        for g, (program, bound) in enumerate(zip(self.programs, bounds, strict=True)):
            if program.beta > 0:
                edges = (
                    self._edge_multipliers(g) if self.edges is None else self.edges.final_multipliers(g, bound.scale)
                )
                bound = replace(bound, edges=edges)  # noqa: PLW2901
            found.append(bound)
        return found

    def _edge_multipliers(self, g: int) -> Array:
        if self.edges is None:
            return self.engine.zeros((0, self.shape[2]), np.float64)
        return self.edges.multipliers(g)

    def adapt(self, edge_norms: Array, label_norms: Array) -> None:
        """Set penalties anew; Q = f N and the multipliers p (1 - f) N stay."""
        q1, q2 = self._penalties(edge_norms, label_norms)
        self.N2 = self._scaled(self.f2 + (1 - self.f2) * (self.p2 / q2)[:, None])
        if self.edges is not None:
            self.edges.rescale(self.p1 / q1)
        self.p1, self.p2 = q1, q2
        self._set_penalties()

    def _penalties(self, edge_norms: Array, label_norms: Array) -> tuple[Array, Array]:
        """Curvature of the norms, weight / ||row||, with short rows clipped at the median length, within bounds."""
        engine, xp = self.engine, self.engine.xp

        def curvature(weight: Array | float, norms: Array, unit: float) -> Array:
            n = norms.shape[0]
            typical = engine.medians(norms) if engine.total_count(n) > 0 else np.full(norms.shape[1], unit)
            shortest = self._shortest
            short = engine.asarray(
                np.clip(typical, shortest * unit, max(LONGEST_SHORT_ROW, shortest) * unit),
                engine.row_type(self.dtype),
            )
            if not engine.low_memory:
                return xp.mean(weight / xp.maximum(norms, short), axis=1)
            found = engine.zeros((n,), engine.row_type(self.dtype))
            for a in range(0, n, ROWS_AT_ONCE):
                some = slice(a, a + ROWS_AT_ONCE)
                of_rows = weight if isinstance(weight, float | int) else weight[some]
                found[some] = xp.mean(of_rows / xp.maximum(norms[some], short), axis=1)
            return found

        return (
            curvature(self.gamma, edge_norms, self.heaviest * self.longest),
            curvature(self.alpha, label_norms, self.longest),
        )
