"""ADMM with a penalty for every row, stopped by the duality gap."""

from collections.abc import Callable

import numpy as np

from siis._types import Floats, Sparse
from siis.linear import LinearSolver, positive_solver
from siis.program import NO_BOUND, Program
from siis.rows import row_norms, shrink_factors
from siis.solvers.solution import Recorder, Solution, relative_change

RELAXATION = 1.7  # over-relaxation, in (1, 2)
SOLVE_TOL = 1e-7  # of iterative linear solves; the gap is measured, so they need not be exact
SHORT, SHORTEST = 1e-2, 1e-4  # of a label's length: bounds on what counts as a short row
FIRST_ADAPTATION = 5  # then again whenever the number of iterations has grown by half


def solve_certified(
    program: Program,
    tol: float = 1e-4,
    max_iter: int = 1000,
    check_every: int = 10,
    start: Solution | None = None,
    callback: Callable[[int, Floats], None] | None = None,
) -> Solution:
    """Minimise (M1) until the relative duality gap (M7) is at most ``tol``.

    The splitting is the paper's (M2 to M5) in three changes. Each row of Q = P U A and B = J U A - Y has a penalty
    of its own, p_e = gamma / ||(P U A)_e|| and p_i = alpha_i / ||(J U A - Y)_i|| within bounds, set anew at
    iterations that lie ever farther apart: near the optimum the quadratic model then has the curvature of the
    norms themselves. The iteration is over-relaxed. And since a shrunk row is a multiple of the row before,
    Q = f N, one array N with a factor f for each row holds Q and its multiplier p (1 - f) N.

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

    Returns
    -------
    Solution
    """
    P, J, Y, basis = program.P, program.J, program.Y, program.basis
    energy = 2 * program.beta * basis.energy_matrix()
    A, N1, N2, p1, p2 = _cold_start(program) if start is None else _warm_start(program, start)
    f1, f2 = _shrink(program, N1, N2, p1, p2)
    solve = _normal_equations(program, energy, p1, p2)
    next_adaptation = FIRST_ADAPTATION

    recorder, status = Recorder(), "max_iter"
    best, upper, lower, gap = A, np.inf, NO_BOUND, np.inf
    for iteration in range(1, max_iter + 1):
        before = A
        # (M4): P' p (Q + multiplier / p) with Q + multiplier / p = (2 f - 1) N
        pull = _scaled(program.PT, p1 * (2 * f1 - 1)) @ N1
        pull += program.JT @ (p2[:, None] * ((2 * f2 - 1)[:, None] * N2 + Y))
        A = solve(basis.analyze(pull), A)
        F = basis.synthesize(A)
        r1, r2 = P @ F, J @ F - Y
        # (M2), (M3), (M5), relaxed: N = r PF + (1 - r) Q - multiplier / p, in place
        N1 *= (1 - RELAXATION * f1)[:, None]
        N1 += RELAXATION * r1
        N2 *= (1 - RELAXATION * f2)[:, None]
        N2 += RELAXATION * r2
        f1, f2 = _shrink(program, N1, N2, p1, p2)
        if callback is not None:
            callback(iteration, A)

        if iteration % check_every == 0 or iteration == max_iter:
            objective = program.value_of(row_norms(r1), row_norms(r2), A)
            if objective < upper:
                best, upper = A, objective
            dual = program.dual_point((p1 * (1 - f1))[:, None] * N1, (p2 * (1 - f2))[:, None] * N2)
            lower = max(lower, dual, key=lambda point: point.value)
            gap = program.relative_gap(upper, lower.value)
            recorder.add(iteration, upper, lower.value, gap, relative_change(A, before))
            if gap <= tol:
                status = "certified"
                break
        if iteration >= next_adaptation:
            next_adaptation = iteration + max(FIRST_ADAPTATION, iteration // 2)
            q1, q2 = _penalties(program, row_norms(r1), row_norms(r2))
            # Q = f N stays, the multiplier p (1 - f) N stays: N = Q + multiplier / p
            N1 *= (f1 + (1 - f1) * p1 / q1)[:, None]
            N2 *= (f2 + (1 - f2) * p2 / q2)[:, None]
            p1, p2 = q1, q2
            f1, f2 = _shrink(program, N1, N2, p1, p2)
            solve = _normal_equations(program, energy, p1, p2)
    return Solution(best, lower, upper, gap, iteration, status, recorder.history())


def _cold_start(program: Program) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    n_edges, c = program.P.shape[0], program.Y.shape[1]
    heaviest = float(program.graph.weights.data.max(initial=0.0)) or 1.0
    p1, p2 = np.full(n_edges, 10 * float(program.alpha.mean()) / heaviest**2), 10 * program.alpha
    return np.zeros((program.basis.shape[1], c)), np.zeros((n_edges, c)), -program.Y, p1, p2


def _warm_start(program: Program, start: Solution) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    A, V1, V2 = start.coefficients, start.dual.edges, start.dual.labels
    wanted = (program.basis.shape[1], program.Y.shape[1]), (program.P.shape[0], program.Y.shape[1]), program.Y.shape
    found = A.shape, V1.shape, V2.shape
    if wanted != found:
        raise ValueError(
            f"start must solve a program of the same shapes {wanted} (coefficients, edges, labels); found {found}"
        )
    F = program.basis.synthesize(A)
    r1, r2 = program.P @ F, program.J @ F - program.Y
    p1, p2 = _penalties(program, row_norms(r1), row_norms(r2))
    return A, r1 + V1 / p1[:, None], r2 + V2 / p2[:, None], p1, p2


def _shrink(program: Program, N1: Floats, N2: Floats, p1: Floats, p2: Floats) -> tuple[Floats, Floats]:
    return (
        shrink_factors(row_norms(N1), program.gamma / p1),
        shrink_factors(row_norms(N2), program.alpha / p2),
    )


def _penalties(program: Program, edge_norms: Floats, label_norms: Floats) -> tuple[Floats, Floats]:
    """Curvature of the norms, weight / ||row||, with short rows counted as the median one, within bounds."""
    length = float(row_norms(program.Y).max()) or 1.0
    heaviest = float(program.graph.weights.data.max(initial=0.0))

    def curvature(weight: Floats | float, norms: Floats, unit: float) -> Floats:
        typical = float(np.median(norms)) if norms.size else unit
        return np.asarray(weight / np.maximum(norms, np.clip(typical, SHORTEST * unit, SHORT * unit)))

    return (
        curvature(program.gamma, edge_norms, heaviest * length),
        curvature(program.alpha, label_norms, length),
    )


def _normal_equations(program: Program, energy: Floats | Sparse, p1: Floats, p2: Floats) -> LinearSolver:
    """Factorise 2 beta Sigma + U'P' diag(p1) P U + U'J' diag(p2) J U."""
    weighted = _scaled(program.PT, p1) @ program.P + _scaled(program.JT, p2) @ program.J
    return positive_solver(energy + program.basis.compress(weighted), SOLVE_TOL)


def _scaled(M: Sparse, columns: Floats) -> Sparse:
    """M diag(columns), sharing M's pattern."""
    scaled = M.copy()
    scaled.data *= columns[M.indices]
    return scaled
