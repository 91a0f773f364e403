"""Folds of the labels, and few columns for many classes."""

import numpy as np

from siis.labels.folds import deal_folds
from siis.model import programs


def test_folds_never_hold_out_a_whole_class():
    codes = np.array([0, 0, 1, 1, 1, 1, 1, 1, 1, 2, 3, 3])
    folds = deal_folds(codes, 5, np.random.default_rng(0).permutation, least=2)
    assert folds[9] == -1, "the only label of its class stays"
    assert set(folds[codes == 1]) == {0, 1, 2, 3, 4}
    for fold in range(5):
        assert set(codes[folds != fold]) == {0, 1, 2, 3}
    again = deal_folds(codes, 5, np.random.default_rng(0).permutation, least=2)
    np.testing.assert_array_equal(folds, again)


def test_few_columns_keep_the_norms_of_rows_and_of_differences():
    Y = np.random.default_rng(0).dirichlet(np.full(2000, 0.01), size=300)
    Z = programs.few_columns(Y)
    assert Z.shape == (300, programs.FEW_COLUMNS)
    for many, few in ((Y, Z), (Y[1:] - Y[:-1], Z[1:] - Z[:-1])):
        ratio = np.linalg.norm(few, axis=1) / np.linalg.norm(many, axis=1)
        assert abs(ratio.mean() - 1) < 0.02
        assert ratio.std() < 1.5 / np.sqrt(2 * programs.FEW_COLUMNS)
    assert programs.few_columns(Y[:, :200]).shape == (300, 200)
