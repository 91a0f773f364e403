"""Fits in several threads of one process give what each gives alone."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_moons

from siis import SIISClassifier

pytestmark = pytest.mark.slow

ROUNDS = 3


def digits():
    X, truth = load_digits(return_X_y=True)
    y = np.where(np.arange(200) < 80, truth[:200], -1)
    y[:16] = (y[:16] + 1) % 10
    return X[:200], y


def moons():
    X, truth = make_moons(200, noise=0.15, random_state=0)
    return X, np.where(np.arange(200) % 3 == 0, truth, -1)


def filters_of_the_process():
    """Actions and categories: scikit-learn writes the same filters anew."""
    return [(action, category) for action, _, category, *_ in warnings.filters]


@pytest.mark.parametrize("options", [{}, {"method": "paper"}], ids=["default", "plain"])
def test_two_fits_at_once_equal_each_alone(options):
    tables = [digits(), moons()]
    alone = [SIISClassifier(**options).fit(X, y) for X, y in tables]
    filters = filters_of_the_process()
    together = Barrier(len(tables), timeout=60)

    def fit(table):
        together.wait()
        return SIISClassifier(**options).fit(*table)

    with ThreadPoolExecutor(len(tables)) as threads:
        for _ in range(ROUNDS):
            for (X, _), own, model in zip(tables, alone, threads.map(fit, tables), strict=True):
                np.testing.assert_array_equal(model.transduction_, own.transduction_)
                np.testing.assert_allclose(model.label_distributions_, own.label_distributions_, atol=1e-5)
                np.testing.assert_array_equal(model.predict(X[:50] + 0.01), own.predict(X[:50] + 0.01))
    assert filters_of_the_process() == filters
