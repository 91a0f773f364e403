"""Programs (M1) solved to a certified gap: ADMM in single precision while it suffices, then in double."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from siis.engine.threads import one_blas_thread
from siis.engine.types import Array
from siis.program import Program
from siis.program.accuracy import Accuracy
from siis.program.solvers.admm import Callback, Course, State, admm, in_double, longest_label
from siis.program.solvers.solution import Solution
from siis.progress import Report, no_progress

CHECK_EVERY = 5
STALLED_ITERATIONS = 30  # in single precision without a gap a tenth smaller: rounding holds the gap up
FINE_GAP = 1e-3  # for a smaller tol, single precision must resolve the misfits at labels


def solve_certified(
    program: Program,
    tol: float = 1e-4,
    max_iter: int = 1000,
    check_every: int = CHECK_EVERY,
    start: Solution | None = None,
    callback: Callback | None = None,
    report: Report = no_progress,
) -> Solution:
    """Minimise (M1) until the relative duality gap (M7) is at most ``tol``.

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
    callback: Callback | None = None,
    report: Report = no_progress,
) -> list[Solution]:
    """Solve programs that differ in Y, alpha and beta together, as ``solve_certified`` solves one.

    They share the graph, the basis, the labelled vertices and gamma, hence the passes over the edges and, with one
    penalty parameter for each row of all of them, the matrix of the linear systems up to beta Sigma. The batch ends
    when the last gap is below the tolerance. ``callback`` takes (iteration, A), A of shape (m, k c).
    """
    one, course = programs[0], Course(programs)
    is_single = one.basis.dtype == np.float32
    has_double = not one.engine.low_memory  # else the gap says how far single precision has come
    with one_blas_thread():
        limit = _SinglePrecision(programs, has_double and tol < FINE_GAP) if is_single else None
        if start is None:
            state = State.cold(programs)
        else:
            _check_shapes(one, start)
            if limit is not None and limit.is_fine and limit.is_below_resolution(_label_norms(programs, start)):
                programs, limit = in_double(programs), None
            state = State.warm(programs, start)
        admm(state, course, tol, max_iter, check_every, callback, report, limit)
        if limit is not None and has_double and tol < course.gap and course.n_iter < max_iter:
            state = state.in_double()
            course.forget_best(len(programs))
            admm(state, course, tol, max_iter, check_every, callback, report)
        return course.solutions(state, tol)


class _SinglePrecision:
    """Says when single precision is exhausted: the gap stalls, or misfits at labels are below its resolution."""

    def __init__(self, programs: Sequence[Program], is_fine: bool) -> None:
        self.engine, self.is_fine = programs[0].engine, is_fine
        self.shortest = Accuracy.of(np.float32).shortest_row * longest_label(programs)
        self.smallest, self.progressed = np.inf, 0  # the gap that counts as progress, and when it was last reached

    def __call__(self, iteration: int, gap: float, label_norms: Array | None) -> bool:
        """Whether to end at this iteration."""
        if gap < 0.9 * self.smallest:
            self.smallest, self.progressed = gap, iteration
        has_stalled = np.isfinite(gap) and iteration - self.progressed >= STALLED_ITERATIONS
        return bool(has_stalled) or (label_norms is not None and self.is_below_resolution(label_norms))

    def is_below_resolution(self, label_norms: Array) -> bool:
        """Whether most misfits at labels, (l, k), are lost in rounding."""
        return self.is_fine and bool(np.all(self.engine.medians(label_norms) < self.shortest))


def _label_norms(programs: Sequence[Program], start: Sequence[Solution]) -> Array:
    """Norms of the rows of J F - Y at a start, shape (l, k), in double precision."""
    engine, norms = programs[0].engine, []
    for program, solution in zip(programs, start, strict=True):
        F = program.at_labels(program.basis.synthesize(solution.coefficients))
        norms.append(program.fidelity.norms(engine.asarray(F, np.float64) - engine.asarray(program.Y, np.float64)))
    return engine.xp.stack(norms, axis=1)


def _check_shapes(program: Program, start: Sequence[Solution]) -> None:
    c = program.Y.shape[1]
    wanted = (program.basis.shape[1], c), (program.P.shape[0], c), program.Y.shape
    for solution in start:
        found = solution.coefficients.shape, tuple(solution.dual.edges.shape), tuple(solution.dual.labels.shape)
        if wanted != found:
            raise ValueError(
                f"start must solve a program of the same shapes {wanted} (coefficients, edges, labels); found {found}"
            )
