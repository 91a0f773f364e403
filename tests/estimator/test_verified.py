"""Labels that somebody has checked."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from plain import PlainSIIS
from siis import SIISClassifier
from siis.baselines import SPMRClassifier

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def digits():
    X, truth = load_digits(return_X_y=True)
    X, truth = X[:600], truth[:600]
    rng = np.random.default_rng(0)
    y = np.full(truth.size, -1)
    rows = rng.choice(truth.size, 120, replace=False)
    y[rows] = truth[rows]
    wrong = rng.choice(rows, 40, replace=False)
    y[wrong] = (y[wrong] + rng.integers(1, 10, wrong.size)) % 10
    return X, y, truth, rows, wrong


@pytest.mark.parametrize("make", [SIISClassifier, PlainSIIS, SPMRClassifier])
def test_a_verified_label_is_the_answer_even_where_all_scores_are_against_it(digits, make):
    X, y, _, _, wrong = digits
    verified = np.zeros(y.size, dtype=bool)
    verified[wrong[:10]] = True
    model = make().fit(X, y, verified=verified)
    np.testing.assert_array_equal(model.transduction_[verified], y[verified])
    np.testing.assert_array_equal(model.predict(X[verified]), y[verified])
    assert np.mean(make().fit(X, y).transduction_[verified] == y[verified]) < 1


def test_verified_labels_are_never_suspects_and_do_not_count_as_noise(digits):
    X, y, truth, rows, _ = digits
    before = SIISClassifier().fit(X, y)
    suspects = before.label_issues()["index"]
    checked = np.zeros(y.size, dtype=bool)
    checked[suspects] = True
    corrected = np.where(checked, truth, y)
    after = SIISClassifier().fit(X, corrected, verified=checked)
    assert not set(after.label_issues()["index"]) & set(suspects)
    np.testing.assert_array_equal(after.label_quality_[checked], 1.0)
    assert after.noise_rate_ < before.noise_rate_ - 0.1
    unlabelled = y < 0
    assert np.mean(after.transduction_[unlabelled] == truth[unlabelled]) >= np.mean(
        before.transduction_[unlabelled] == truth[unlabelled]
    )
    everything = np.zeros(y.size, dtype=bool)
    everything[rows] = True
    sure = SIISClassifier().fit(X, np.where(everything, truth, -1), verified=everything)
    assert np.isnan(sure.noise_rate_)
    assert sure.label_issues().n_rows == 0


def test_verified_labels_move_their_neighbours(digits):
    X, y, _, rows, _ = digits
    few = np.full(y.size, -1)
    few[rows[:60]] = y[rows[:60]]
    verified = np.zeros(y.size, dtype=bool)
    verified[rows[:20]] = True
    plain = PlainSIIS().fit(X, few)
    sure = PlainSIIS().fit(X, few, verified=verified)
    assert np.abs(plain.label_distributions_ - sure.label_distributions_)[few < 0].max() > 0.01


def test_bad_verified_is_refused(digits):
    X, y, _, _, _ = digits
    with pytest.raises(ValueError, match="verified must hold True or False for each of 600"):
        SIISClassifier().fit(X, y, verified=[0, 1])
    with pytest.raises(ValueError, match="verified must be False where there is no label"):
        SIISClassifier().fit(X, y, verified=np.ones(y.size, dtype=bool))
