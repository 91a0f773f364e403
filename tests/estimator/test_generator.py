"""A random generator as random_state gives one number for each fit."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from siis import SIISClassifier, SIISMultilabelClassifier


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_a_generator_is_drawn_from_once_in_a_fit_and_what_follows(make):
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], np.where(np.arange(300) < 100, y[:300], -1)
    generator, same = make(5), make(5)
    seed = int(same.integers(2**31) if hasattr(same, "integers") else same.randint(2**31))
    model, other = (SIISClassifier(random_state=state).fit(X, y) for state in (generator, seed))
    np.testing.assert_array_equal(model.label_distributions_, other.label_distributions_)
    assert str(model.class_overlap()) == str(other.class_overlap())
    assert str(model.class_overlap()) == str(model.class_overlap())
    assert generator.random() == same.random()


def test_a_generator_is_drawn_from_once_for_all_tags():
    X, y = load_digits(return_X_y=True)
    generator, same = np.random.default_rng(5), np.random.default_rng(5)
    SIISMultilabelClassifier(random_state=generator).fit(X[:200], np.eye(10)[y[:200]])
    same.integers(2**31)
    assert generator.random() == same.random()
