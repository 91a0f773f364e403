"""Some of the digits, so many labels of each class, and a share of them wrong."""

import numpy as np
from sklearn.datasets import load_digits


def noisy_digits(n=700, per_class=12, rate=0.4, seed=0):
    X, truth = load_digits(return_X_y=True)
    X, truth = X[:n], truth[:n]
    rng = np.random.default_rng(seed)
    rows = np.concatenate([rng.choice(np.flatnonzero(truth == k), per_class, replace=False) for k in range(10)])
    y = np.full(n, -1)
    y[rows] = truth[rows]
    wrong = rng.choice(rows, int(rate * rows.size), replace=False)
    y[wrong] = (y[wrong] + rng.integers(1, 10, wrong.size)) % 10
    return X, y, truth
