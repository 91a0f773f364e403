"""A small table with doubtful labels, and the program run in this process."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from cli_case import SIIS, write_csv


@pytest.fixture(name="siis")
def program():
    return SIIS


@pytest.fixture(scope="session")
def table(tmp_path_factory):
    """200 digits, 80 labelled, 16 of these wrong: path, ids, labels, truth."""
    X, truth = load_digits(n_class=4, return_X_y=True)
    X, truth = X[:200], truth[:200].astype(str)
    rng = np.random.default_rng(0)
    labels = np.full(200, "", dtype=object)
    rows = rng.choice(200, 80, replace=False)
    labels[rows] = truth[rows]
    for i in rows[:16]:
        labels[i] = str((int(truth[i]) + 1) % 4)
    ids = [f"digit {i}" for i in range(200)]
    path = tmp_path_factory.mktemp("data") / "digits.csv"
    write_csv(path, ["name", "label", *(f"p{k}" for k in range(64))], zip(ids, labels, *X.T, strict=True))
    return path, ids, labels, truth
