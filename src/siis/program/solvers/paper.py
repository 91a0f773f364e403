"""The paper's Algorithm 1 for (M1), step for step: growing penalty, and a stop when A no longer moves."""

from collections.abc import Callable

import numpy as np

from siis._types import Floats
from siis.engine.linear_systems import positive_solver
from siis.engine.threads import pause_point
from siis.program import NO_BOUND, Program
from siis.program.solvers.solution import Recorder, Solution, relative_change

MU, RHO, MU_MAX, MAX_ITER, EPSILON = 1.0, 1.2, 1e10, 100, 1e-4


def solve_paper(
    program: Program,
    tol: float = EPSILON,
    max_iter: int = MAX_ITER,
    check_every: int = 10,
    callback: Callable[[int, Floats], None] | None = None,
) -> Solution:
    """Minimise (M1) by the paper's Algorithm 1.

    ADMM splits Q = P F (E x c) and B = J F - Y (l x c), F = U A, with multipliers L1 and L2 and the penalty parameter
    mu, by (M2) to (M5) of docs/math.md. Multipliers start at ones, A at 0, mu at 1, which grows by 1.2 to at most
    1e10. It stops when max |A_new - A| / max |A| <= tol, never at the first iteration, where the ratio is undefined.
    The gap is measured but does not stop the iteration: a small step is no proof.

    Parameters
    ----------
    program : Program
    tol : float
        The paper's epsilon.
    max_iter : int
        The paper's MaxIter.
    check_every : int
        Iterations between two measurements of the gap; the last iteration is always measured.
    callback : callable, optional
        Called with (iteration, A) after each iteration.

    Returns
    -------
    Solution
    """
    engine, xp, basis, c = program.engine, program.engine.xp, program.basis, program.Y.shape[1]
    P, J, n_labels = program.P, program.J, program.vertices.size
    trend_filtering, fidelity = program.trend_filtering, program.fidelity
    Y, alpha = (engine.asarray(a, np.float64) for a in (program.Y, program.alpha))
    gram = program.gram(np.ones(P.shape[0]), np.ones(n_labels))  # U'P'PU + U'J'JU
    energy = 2 * program.beta * basis.energy_matrix()
    A: Floats = np.zeros((basis.shape[1], c))
    L1, L2 = (engine.asarray(np.ones((rows, c)), np.float64) for rows in (P.shape[0], n_labels))
    PF, JF, mu = xp.zeros_like(L1), xp.zeros_like(L2), MU
    recorder, best = Recorder(), NO_BOUND
    for iteration in range(1, max_iter + 1):
        pause_point()
        before = A
        Q = trend_filtering.prox(PF - L1 / mu, program.gamma / mu)  # (M2), the paper's (9)
        B = fidelity.prox(JF - Y - L2 / mu, alpha / mu)  # (M3), (12)
        Z1, Z2 = L1 + mu * Q, L2 + mu * (B + Y)
        solve = positive_solver(energy + mu * gram, engine=engine)
        A = solve(basis.analyze(P.T @ Z1 + J.T @ Z2), A)  # (M4), (14)
        F = engine.keep(basis.synthesize(A))
        PF, JF = P @ F, J @ F
        L1, L2 = engine.keep(Z1 - mu * PF), engine.keep(Z2 - mu * JF)  # (M5)
        mu = min(RHO * mu, MU_MAX)

        change = relative_change(A, before)
        if callback is not None:
            callback(iteration, A)
        status = "stopped" if change <= tol else "max_iter"
        if status == "stopped" or iteration % check_every == 0 or iteration == max_iter:
            objective = program.value_of(trend_filtering.norms(PF), fidelity.norms(JF - Y), A)
            best = max(best, program.dual_point(-L1, -L2), key=lambda point: point.value)
            gap = program.relative_gap(objective, best.value)
            recorder.add(iteration, objective, best.value, gap, change)
        if status == "stopped":
            break
    return Solution(A, best, objective, gap, iteration, status, recorder.history())
