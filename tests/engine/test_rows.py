import numpy as np

from siis.engine.rows import project_rows, row_norms, shrink_rows


def test_shrinkage_satisfies_its_optimality_condition(rng):
    """Q = argmin t ||Q||_{2,1} + ||Q - N||^2 / 2  <=>  N - Q = t Q/||Q|| on rows Q != 0, ||N|| <= t on others."""
    N, t = rng.standard_normal((50, 3)), rng.uniform(0, 3, 50)
    N[0] = 0
    Q = shrink_rows(N, t)
    zero = row_norms(Q) == 0
    assert zero[0]
    assert 5 < zero.sum() < 45
    assert (row_norms(N[zero]) <= t[zero] + 1e-15).all()
    direction = Q[~zero] / row_norms(Q[~zero])[:, None]
    np.testing.assert_allclose(N[~zero] - Q[~zero], t[~zero, None] * direction, atol=1e-12)


def test_projection_is_the_nearest_point_of_the_ball(rng):
    V = rng.standard_normal((50, 4))
    p = project_rows(V, 1.5)
    outside = row_norms(V) > 1.5
    assert outside.any()
    assert not outside.all()
    np.testing.assert_array_equal(p[~outside], V[~outside])
    np.testing.assert_allclose(p[outside], 1.5 * V[outside] / row_norms(V[outside])[:, None])
