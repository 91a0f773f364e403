"""Some of the digits, few of them labelled, some labels wrong."""

import numpy as np
from sklearn.datasets import load_digits


def labelled_digits(n, n_labels, n_wrong, seed=0):
    """Labels of any n_labels of the first n digits: X, y, truth, and the labelled rows, the wrong ones first."""
    X, truth = load_digits(return_X_y=True)
    X, truth = X[:n], truth[:n]
    rng = np.random.default_rng(seed)
    rows = rng.choice(n, n_labels, replace=False)
    y = np.full(n, -1)
    y[rows] = truth[rows]
    y[rows[:n_wrong]] = (y[rows[:n_wrong]] + rng.integers(1, 10, n_wrong)) % 10
    return X, y, truth, rows


def noisy_digits(n=700, per_class=12, rate=0.4, seed=0):
    """So many labels of each of the first n digits: X, y and truth."""
    X, truth = load_digits(return_X_y=True)
    X, truth = X[:n], truth[:n]
    rng = np.random.default_rng(seed)
    rows = np.concatenate([rng.choice(np.flatnonzero(truth == k), per_class, replace=False) for k in range(10)])
    y = np.full(n, -1)
    y[rows] = truth[rows]
    wrong = rng.choice(rows, int(rate * rows.size), replace=False)
    y[wrong] = (y[wrong] + rng.integers(1, 10, wrong.size)) % 10
    return X, y, truth
