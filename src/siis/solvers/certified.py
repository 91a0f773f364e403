"""ADMM with a penalty for every row, stopped by the duality gap; several programs on one graph in one batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from siis._types import Floats, Sparse
from siis.linear import LinearSolver, positive_solver
from siis.program import DualPoint, Program
from siis.progress import Report, unheard
from siis.rows import group_norms, shrink_factors
from siis.solvers.edges import EdgeRows
from siis.solvers.solution import Recorder, Solution, relative_change
from siis.threads import one_blas_thread

RELAXATION = 1.7  # over-relaxation, in (1, 2)
SOLVE_TOL = 1e-7  # of iterative linear solves; the gap is measured, so they need not be exact
SHORT, SHORTEST = 1e-2, 1e-4  # of a label's length: bounds on what counts as a short row
ROUNDINGS = 3e4  # of the precision: a row is no shorter, since multipliers carry the rounding of F over its length
FIRST_ADAPTATION = 5  # then again whenever the number of iterations has grown by half
CHECK_EVERY = 5


def solve_certified(
    program: Program,
    tol: float = 1e-4,
    max_iter: int = 1000,
    check_every: int = CHECK_EVERY,
    start: Solution | None = None,
    callback: Callable[[int, Floats], None] | None = None,
    report: Report = unheard,
) -> Solution:
    """Minimise (M1) until the relative duality gap (M7) is at most ``tol``.

    The splitting is the paper's (M2 to M5) in three changes. Each row of Q = P U A and B = J U A - Y has a penalty
    of its own, p_e = gamma / ||(P U A)_e|| and p_i = alpha_i / ||(J U A - Y)_i|| within bounds, set anew at
    iterations that lie ever farther apart: near the optimum the quadratic model then has the curvature of the
    norms themselves. The iteration is over-relaxed. And since a shrunk row is a multiple of the row before,
    Q = f N, one array N with a factor f for each row holds Q and its multiplier p (1 - f) N: one pass over the edges
    updates them, and gathers what the next linear system needs.

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
    report: Report = unheard,
) -> list[Solution]:
    """Solve programs that differ in Y, alpha and beta together, as ``solve_certified`` solves one.

    They share the graph, the basis, the labelled vertices and gamma, hence the passes over the edges and, with one
    penalty for each row of all of them, the matrix of the linear systems up to beta Sigma. The batch ends when the
    last gap meets the tolerance.

    Parameters
    ----------
    programs : sequence of k Program
    tol, max_iter, check_every
        As in ``solve_certified``.
    start : sequence of k Solution, optional
    callback : callable, optional
        Called with (iteration, A), A of shape (m, k c).
    report : callable
        As in ``solve_certified``.

    Returns
    -------
    list of k Solution
    """
    with one_blas_thread():
        return _solve(_State(programs, start), tol, max_iter, check_every, callback, report)


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
            worst = 0.0
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
        if adapts:
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


class _State:
    """Coefficients and rows of all programs of a batch, side by side in columns.

    N1 (E x k c) with factors f1 (E x k) and N2 (l x k c) with f2 (l x k) hold Q, B and the multipliers; p1, p2 are
    the penalties of the rows, and ``pull`` is what they ask of F: P' p1 (2 f1 - 1) N1 + J' p2 ((2 f2 - 1) N2 + Y).
    """

    def __init__(self, programs: Sequence[Program], start: Sequence[Solution] | None = None) -> None:
        one = programs[0]
        self.programs, self.basis, self.gamma = programs, one.basis, one.gamma
        c, k = one.Y.shape[1], len(programs)
        self.rows: Any = slice(None) if one.labels_every_vertex else one.rows
        self.groups = [slice(g * c, (g + 1) * c) for g in range(k)]
        self.dtype = self.basis.dtype
        self.JT = None if one.labels_every_vertex else one.JT.astype(self.dtype)
        self.Y = np.hstack([program.Y for program in programs]).astype(self.dtype)
        self.alpha = np.column_stack([program.alpha for program in programs])
        self.edges = EdgeRows(one.graph, k, c, self.dtype) if one.gamma > 0 and one.graph.n_edges else None
        self.energy = [2 * program.beta * self.basis.energy_matrix() for program in programs]
        if start is None:
            heaviest = float(one.graph.weights.data.max(initial=0.0)) or 1.0
            self.p2 = 10 * self.alpha.mean(axis=1)
            self.p1 = np.full(one.graph.n_edges, 10 * float(self.alpha.mean()) / heaviest**2)
            self.A, self.N2 = np.zeros((self.basis.shape[1], k * c)), -self.Y
        else:
            self._warm(start)
        self._shrink()
        self._factorize()

    def _warm(self, start: Sequence[Solution]) -> None:
        program, c = self.programs[0], self.programs[0].Y.shape[1]
        wanted = (self.basis.shape[1], c), (program.P.shape[0], c), program.Y.shape
        for solution in start:
            found = solution.coefficients.shape, solution.dual.edges.shape, solution.dual.labels.shape
            if wanted != found:
                raise ValueError(
                    f"start must solve a program of the same shapes {wanted} (coefficients, edges, labels); found "
                    f"{found}"
                )
        self.A = np.hstack([solution.coefficients for solution in start])
        self.F = self.basis.synthesize(self.A)
        self.p1, self.p2 = self._penalties(*self.norms())
        V2 = np.hstack([solution.dual.labels for solution in start])
        self.N2 = (self.F[self.rows] - self.Y + V2 / self.p2[:, None]).astype(self.dtype)
        if self.edges is not None:
            V1 = np.hstack([solution.dual.edges for solution in start])
            self.edges.N = (program.P @ self.F + V1 / self.p1[:, None]).astype(self.dtype)

    def _shrink(self) -> None:
        """Compute f from N and p, and the pull of the rows."""
        self._shrink_labels()
        self.pull = self._label_pull()
        if self.edges is not None:
            self.edges.set_penalties(self.p1, self.gamma)
            self.pull += self.edges.pull(2.0, -1.0)

    def _shrink_labels(self) -> None:
        self.f2 = shrink_factors(group_norms(self.N2, len(self.groups)), self.alpha / self.p2[:, None])

    def _label_pull(self) -> Floats:
        pull = self._times(2 * self.f2 - 1, self.N2)
        pull += self.Y
        pull *= self.p2[:, None].astype(self.dtype)
        return pull if self.JT is None else self.JT @ pull

    def _times(self, factors: Floats, rows: Floats) -> Floats:
        """Multiply the rows of each group, shape (l, k c), with their factors, shape (l, k)."""
        grouped = rows.reshape(*factors.shape, -1) * factors.astype(self.dtype)[:, :, None]
        return np.asarray(grouped.reshape(rows.shape))

    def _factorize(self) -> None:
        """Factorise 2 beta Sigma + U'P' diag(p1) P U + U'J' diag(p2) J U, for each beta."""
        graph, n = self.programs[0].graph, self.programs[0].graph.n_vertices
        at_vertices = np.bincount(self.programs[0].rows, self.p2, n).astype(np.float64)
        if self.edges is None:
            weights: Sparse = sp.csr_array((n, n))
        else:
            squares = self.p1 * graph.edges.weights**2
            weights = sp.csr_array(
                (squares[graph.edges.entries], graph.weights.indices, graph.weights.indptr), shape=(n, n)
            )
        rows = self.basis.compress_laplacian(weights, at_vertices)
        self.solvers: list[LinearSolver] = [positive_solver(energy + rows, SOLVE_TOL) for energy in self.energy]

    def step(self) -> None:
        """One iteration: (M4), then (M2), (M3) and (M5), relaxed."""
        right = self.basis.analyze(self.pull)
        pairs = zip(self.solvers, self.groups, strict=True)
        self.A = np.hstack([solve(right[:, group], self.A[:, group]) for solve, group in pairs])
        self.F = self.basis.synthesize(self.A)
        self.N2 = self._times(1 - RELAXATION * self.f2, self.N2)
        self.N2 += self.dtype(RELAXATION) * (self.F[self.rows] - self.Y)
        self._shrink_labels()
        self.pull = self._label_pull()
        if self.edges is not None:
            self.pull += self.edges.step(self.F, self.gamma, RELAXATION)

    def norms(self) -> tuple[Floats, Floats]:
        """Row norms of P F, shape (E, k), and of J F - Y, shape (l, k)."""
        labels = group_norms(self.F[self.rows] - self.Y, len(self.groups)).astype(np.float64)
        edges = np.zeros((0, len(self.groups))) if self.edges is None else self.edges.norms(self.F)
        return edges, labels

    def bounds(self) -> list[DualPoint]:
        """A dual point of each program, without its part on the edges (only where beta = 0 is that needed)."""
        V2 = self._label_multipliers()
        asked = np.zeros_like(self.pull) if self.edges is None else self.edges.pull(-1.0, 1.0)
        return [
            program.bound(asked[:, group].astype(np.float64), V2[:, group])
            if program.beta > 0
            else program.dual_point(self._edge_multipliers(g), V2[:, group])
            for g, (program, group) in enumerate(zip(self.programs, self.groups, strict=True))
        ]

    def duals(self, bounds: list[DualPoint]) -> list[DualPoint]:
        """The same points with their parts on the edges; ends the state, whose rows become these."""
        found = []
        for g, (program, bound) in enumerate(zip(self.programs, bounds, strict=True)):
            if program.beta > 0:
                edges = self._edge_multipliers(g) if self.edges is None else self.edges.taken(g, bound.scale)
                bound = replace(bound, edges=edges)  # noqa: PLW2901
            found.append(bound)
        return found

    def _label_multipliers(self) -> Floats:
        return self._times(self.p2[:, None] * (1 - self.f2), self.N2).astype(np.float64)

    def _edge_multipliers(self, g: int) -> Floats:
        if self.edges is None:
            return np.zeros((0, self.groups[g].stop - self.groups[g].start))
        return self.edges.multipliers(g)

    def adapt(self, edge_norms: Floats, label_norms: Floats) -> None:
        """Set penalties anew; Q = f N and the multipliers p (1 - f) N stay."""
        q1, q2 = self._penalties(edge_norms, label_norms)
        self.N2 = self._times(self.f2 + (1 - self.f2) * (self.p2 / q2)[:, None], self.N2)
        if self.edges is not None:
            self.edges.rescale(self.p1 / q1)
        self.p1, self.p2 = q1, q2
        self._shrink()
        self._factorize()

    def _penalties(self, edge_norms: Floats, label_norms: Floats) -> tuple[Floats, Floats]:
        """Curvature of the norms, weight / ||row||, with short rows counted as the median one, within bounds."""
        length = float(group_norms(self.Y, len(self.groups)).max()) or 1.0
        heaviest = float(self.programs[0].graph.weights.data.max(initial=0.0))

        def curvature(weight: Floats | float, norms: Floats, unit: float) -> Floats:
            typical = np.median(norms, axis=0) if norms.size else np.full(norms.shape[1], unit)
            shortest = max(SHORTEST, ROUNDINGS * float(np.finfo(self.dtype).eps))
            short = np.clip(typical, shortest * unit, max(SHORT, shortest) * unit)
            return np.asarray(np.mean(weight / np.maximum(norms, short), axis=1))

        return curvature(self.gamma, edge_norms, heaviest * length), curvature(self.alpha, label_norms, length)
