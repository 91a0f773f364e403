"""A single label of a new class, where the others have many, changes nothing for the others."""

import numpy as np
import pytest

import siis
from digits_case import noisy_digits
from siis import SIISClassifier
from siis.estimators.lone import supported_classes
from siis.labels import VertexLabels

pytestmark = pytest.mark.slow
STRAY, NEW = 5, 11


@pytest.fixture(scope="module")
def fits():
    X, y, _ = noisy_digits(400)
    stray = np.flatnonzero(y < 0)[STRAY]
    more = y.copy()
    more[stray] = NEW
    before = SIISClassifier().fit(X, y)
    with pytest.warns(UserWarning, match="one label each and are predicted for no other example: '11'"):
        after = SIISClassifier().fit(X, more)
    return X, more, stray, before, after


def test_the_others_have_the_same_answers_and_suspects(fits):
    X, _, stray, before, after = fits
    others = np.arange(len(X)) != stray
    assert before.label_issues().rows() == after.label_issues().rows()
    np.testing.assert_array_equal(before.transduction_[others], after.transduction_[others])
    np.testing.assert_array_equal(before.label_quality_[others], after.label_quality_[others])
    np.testing.assert_array_equal(before.predict_proba(X + 0.01), after.predict_proba(X + 0.01)[:, :10])
    assert (after.noise_rate_, after.noise_interval_) == (before.noise_rate_, before.noise_interval_)
    np.testing.assert_array_equal(after.noise_matrix_[:10, :10], before.noise_matrix_)


def test_the_stray_label_is_kept_with_the_overall_rate(fits):
    X, _, stray, _, after = fits
    assert after.label_quality_[stray] == pytest.approx(1 - after.noise_rate_)
    assert after.label_distributions_[stray, 10] == pytest.approx(1 - after.noise_rate_)
    assert after.label_distributions_[stray].sum() == pytest.approx(1)
    assert after.predict(X[[stray]]) == after.transduction_[stray]
    assert after.class_shares_["share"].sum() == pytest.approx(1)
    np.testing.assert_allclose(after.noise_matrix_.sum(axis=0), 1)


def test_a_warm_start_keeps_the_choices_where_the_stray_label_is_corrected(fits, tmp_path):
    X, more, stray, before, after = fits
    siis.save(after, tmp_path / "model.siis")
    again = siis.load(tmp_path / "model.siis")
    np.testing.assert_array_equal(again.predict_proba(X), after.predict_proba(X))
    again.set_params(warm_start=True).fit(X, np.where(np.arange(len(X)) == stray, -1, more))
    assert "previous fit were kept" in again.average_summary_
    assert np.mean(again.transduction_ == before.transduction_) > 0.99


def test_with_few_labels_every_class_takes_part():
    def supported(*counts):
        codes = np.repeat(np.arange(len(counts)), counts)
        return supported_classes(VertexLabels(np.arange(codes.size), np.eye(len(counts))[codes], np.ones(codes.size)))

    assert supported(1, 1, 1).all()
    assert supported(1, 7, 7).all()
    assert supported(1, 8).all()
    assert supported(1, 8, 9, 1).tolist() == [False, True, True, False]
