"""Tables with many near-equal rows: categories, counts and a few rounded amounts, in wildly different units."""

import numpy as np


def mixed_table(seed, n):
    """Rows of one-hot categories, counts and amounts, shape (n, d); many are equal or nearly so."""
    rng = np.random.default_rng(seed)
    columns = []
    for _ in range(rng.integers(2, 6)):
        k = rng.integers(2, 20)
        columns.append(np.eye(k)[rng.choice(k, n, p=rng.dirichlet(np.full(k, 0.5)))])
    for _ in range(rng.integers(1, 6)):
        rate, unit = rng.choice([0.2, 1, 5, 50]), rng.choice([1, 1, 10, 100])
        columns.append(rng.poisson(rate, (n, 1)) * float(unit))
    for _ in range(rng.integers(0, 3)):
        amounts = np.round(rng.lognormal(0, 1, (n, 1)), rng.integers(0, 3))
        columns.append(amounts * rng.choice([0.01, 1, 1000]))
    return np.hstack(columns)
