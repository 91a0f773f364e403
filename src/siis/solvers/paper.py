"""The paper's Algorithm 1, step for step: growing penalty, and a stop when A no longer moves."""

from collections.abc import Callable

import numpy as np

from siis._types import Floats
from siis.program import NO_BOUND, Program, solver
from siis.rows import row_norms, shrink_rows
from siis.solvers.solution import Recorder, Solution, relative_change

MU, RHO, MU_MAX, MAX_ITER, EPSILON = 1.0, 1.2, 1e10, 100, 1e-4


def solve_paper(
    program: Program,
    tol: float = EPSILON,
    max_iter: int = MAX_ITER,
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
    A, L1, L2, mu = np.zeros((m, c)), np.ones((P.shape[0], c)), np.ones(Y.shape), MU
    PF, JF = np.zeros(L1.shape), np.zeros(Y.shape)
    recorder, best, status = Recorder(), NO_BOUND, "max_iter"
    for iteration in range(1, max_iter + 1):
        before = A
        Q = shrink_rows(PF - L1 / mu, program.gamma / mu)  # (M2)
        B = shrink_rows(JF - Y - L2 / mu, program.alpha / mu)  # (M3)
        Z1, Z2 = L1 + mu * Q, L2 + mu * (B + Y)
        A = solver(energy + mu * gram)(basis.analyze(program.PT @ Z1 + program.JT @ Z2))  # (M4)
        F = basis.synthesize(A)
        PF, JF = P @ F, J @ F
        L1, L2 = Z1 - mu * PF, Z2 - mu * JF  # (M5)
        mu = min(RHO * mu, MU_MAX)

        objective = program.value_of(row_norms(PF), row_norms(JF - Y), A)
        dual = program.dual_point(-L1, -L2)
        best = max(best, dual, key=lambda point: point.value)
        gap, change = program.relative_gap(objective, best.value), relative_change(A, before)
        recorder.add(iteration, objective, best.value, gap, change)
        if callback is not None:
            callback(iteration, A)
        if change <= tol:
            status = "stopped"
            break
    return Solution(A, best, objective, gap, iteration, status, recorder.history())
