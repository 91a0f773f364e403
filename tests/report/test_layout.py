"""Places on the map."""

import numpy as np
import pytest

from siis.app.report.map import FILLED, SIDE, lay_out


def groups(n, c, m=12, seed=0):
    """Rows near one of c orthogonal directions."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, c, n)
    return np.eye(m)[classes] + 0.08 * rng.standard_normal((n, m)), np.full(m, 1e-3), classes


@pytest.mark.parametrize("n", [300, 3000])
def test_groups_stay_apart(n):
    vectors, values, classes = groups(n, 10)
    at = lay_out(vectors, values, classes).astype(float)
    centres = np.array([np.median(at[classes == k], axis=0) for k in range(10)])
    nearest = np.argmin(np.linalg.norm(at[:, None] - centres, axis=2), axis=1)
    assert np.mean(nearest == classes) > 0.97


def test_places_are_integers_in_the_square_and_repeat():
    vectors, values, classes = groups(1200, 4)
    at = lay_out(vectors, values, classes)
    assert at.dtype == np.int64
    assert at.min() == 0
    assert at.max() == SIDE
    np.testing.assert_array_equal(at, lay_out(vectors.copy(), values, classes))


def test_the_signs_of_the_basis_do_not_mirror_the_map():
    """Eigenvectors come with either sign, and those of one eigenvalue in any rotation."""
    vectors, values, classes = groups(200, 3)
    at = lay_out(vectors, values, classes)
    for seed in range(6):
        turned = vectors @ np.linalg.qr(np.random.default_rng(seed).standard_normal((12, 12)))[0]
        other = lay_out(turned, values, classes)
        mirrored = [np.linalg.norm(at - np.where(flip, SIDE - other, other)) for flip in ([1, 0], [0, 1], [1, 1])]
        assert np.linalg.norm(at - other) < 0.3 * min(mirrored)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_few_points(n):
    at = lay_out(np.random.default_rng(0).standard_normal((n, 2)), np.array([0.0, 1.0]), np.zeros(n, dtype=int))
    assert at.shape == (n, 2)
    assert np.isfinite(at).all()


def test_points_that_the_basis_cannot_tell_apart_lie_side_by_side():
    at = lay_out(np.repeat(np.eye(2), 500, axis=0), np.zeros(2), np.zeros(1000, dtype=int)).astype(float)
    far = np.linalg.norm(at[:, None] - at, axis=2)
    np.fill_diagonal(far, np.inf)
    assert np.quantile(far.min(axis=1), 0.05) > 0.3 * SIDE * np.sqrt(FILLED / 1000)
    assert far[:500, 500:].min() > 5 * np.median(far.min(axis=1))
