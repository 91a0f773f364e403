"""The paper's Algorithm 1, step for step: growing penalty, and a stop when A no longer moves."""

from collections.abc import Callable

import numpy as np

from siis._types import Floats
from siis.linear import positive_solver
from siis.program import NO_BOUND, Program
from siis.rows import row_norms, shrink_rows
from siis.solvers.solution import Recorder, Solution, relative_change
from siis.threads import pause_point

MU, RHO, MU_MAX, MAX_ITER, EPSILON = 1.0, 1.2, 1e10, 100, 1e-4


def solve_paper(
    program: Program,
    tol: float = EPSILON,
    max_iter: int = MAX_ITER,
    check_every: int = 10,
    callback: Callable[[int, Floats], None] | None = None,
) -> Solution:
    """Minimise (M1) by the paper's Algorithm 1.

    Multipliers start at ones, A at 0, mu at 1 and grows by 1.2 to at most 1e10; it stops when
    max |A_new - A| / max |A| <= tol, never at the first iteration, where the ratio is undefined. The answer's gap
    is measured, not asked for: a small step is no proof.

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
    P, J, Y, basis = program.P, program.J, program.Y, program.basis
    gram = basis.compress(program.PT @ P + program.JT @ J)  # U'P'PU + U'J'JU
    energy = 2 * program.beta * basis.energy_matrix()
    m, c = basis.shape[1], Y.shape[1]
    A: Floats = np.zeros((m, c))
    L1, L2, mu = np.ones((P.shape[0], c)), np.ones(Y.shape), MU
    PF, JF = np.zeros(L1.shape), np.zeros(Y.shape)
    recorder, best = Recorder(), NO_BOUND
    for iteration in range(1, max_iter + 1):
        pause_point()
        before = A
        Q = shrink_rows(PF - L1 / mu, program.gamma / mu)  # (M2)
        B = shrink_rows(JF - Y - L2 / mu, program.alpha / mu)  # (M3)
        Z1, Z2 = L1 + mu * Q, L2 + mu * (B + Y)
        A = positive_solver(energy + mu * gram)(basis.analyze(program.PT @ Z1 + program.JT @ Z2), A)  # (M4)
        F = basis.synthesize(A)
        PF, JF = P @ F, J @ F
        L1, L2 = Z1 - mu * PF, Z2 - mu * JF  # (M5)
        mu = min(RHO * mu, MU_MAX)

        change = relative_change(A, before)
        if callback is not None:
            callback(iteration, A)
        status = "stopped" if change <= tol else "max_iter"
        if status == "stopped" or iteration % check_every == 0 or iteration == max_iter:
            objective = program.value_of(row_norms(PF), row_norms(JF - Y), A)
            best = max(best, program.dual_point(-L1, -L2), key=lambda point: point.value)
            gap = program.relative_gap(objective, best.value)
            recorder.add(iteration, objective, best.value, gap, change)
        if status == "stopped":
            break
    return Solution(A, best, objective, gap, iteration, status, recorder.history())
