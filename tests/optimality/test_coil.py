from coil_case import coil_program
from siis.program.solvers import solve_certified


def test_a_gap_of_one_in_a_million(coil):
    program = coil_program(*coil)
    solution = solve_certified(program, tol=1e-6)
    assert solution.status == "certified"
    assert solution.relative_gap <= 1e-6
    assert solution.n_iter <= 400
    assert solution.dual.value <= solution.objective == program.value(solution.coefficients)
