"""The paper's two toy problems, and contamination of labels."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from siis._types import Floats, Ints, Sparse
from siis.labels import encode_labels

SHIFT = 0.1  # of the lower moon, upwards


def make_noisy_double_moon(
    n_samples: int = 640,
    noise: float = 0.15,
    labels_per_class: int = 3,
    wrong_per_class: int = 1,
    random_state: int = 0,
) -> tuple[Floats, Ints, Ints]:
    """Draw the paper's NoisyDoubleMoon.

    Two half circles of radius 1, the lower one shifted by (1, 0.1), with Gaussian noise; a few labels of each class,
    some of them flipped. The paper does not state the shift; at this one neighbourhoods of ten mostly join the moons.

    Parameters
    ----------
    n_samples : int
    noise : float
        Standard deviation.
    labels_per_class, wrong_per_class : int
    random_state : int

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        Given labels, 0 or 1; -1 unlabelled.
    truth : ndarray of shape (n_samples,)
    """
    if not (np.isfinite(noise) and noise >= 0):
        raise ValueError(f"noise must be a non-negative number; found {noise}")
    if not 0 <= wrong_per_class <= labels_per_class <= n_samples // 2 or n_samples < 2:
        raise ValueError(
            f"wrong_per_class <= labels_per_class <= n_samples / 2 must hold; found {wrong_per_class}, "
            f"{labels_per_class}, {n_samples}"
        )
    rng = np.random.default_rng(random_state)
    truth = (np.arange(n_samples) >= n_samples // 2).astype(np.int64)
    angle = rng.uniform(0, np.pi, n_samples)
    upper = np.column_stack([np.cos(angle), np.sin(angle)])
    lower = np.column_stack([1 - np.cos(angle), SHIFT - np.sin(angle)])
    X = np.where(truth[:, None] == 0, upper, lower) + noise * rng.standard_normal((n_samples, 2))
    y = np.full(n_samples, -1, dtype=np.int64)
    for k in (0, 1):
        rows = rng.choice(np.flatnonzero(truth == k), labels_per_class, replace=False)
        y[rows] = k
        y[rows[:wrong_per_class]] = 1 - k
    return X, y, truth


def make_noisy_chain(n_vertices: int = 10, wrong: int = 7) -> tuple[Sparse, Ints, Ints]:
    """Build the paper's Fig. 1: an unweighted chain, the first half positive, one negative vertex labelled +1.

    Parameters
    ----------
    n_vertices : int
    wrong : int
        A vertex of the second half.

    Returns
    -------
    weights : csr_array of shape (n_vertices, n_vertices)
    y : ndarray of shape (n_vertices,)
        Given labels, -1 or +1.
    truth : ndarray of shape (n_vertices,)
    """
    if wrong != int(wrong) or not n_vertices // 2 <= wrong < n_vertices:
        raise ValueError(f"wrong must be a negative vertex, {n_vertices // 2} to {n_vertices - 1}; found {wrong}")
    ones = np.ones(n_vertices - 1)
    weights = sp.csr_array(sp.diags_array([ones, ones], offsets=[-1, 1], shape=(n_vertices, n_vertices)))
    truth = np.where(np.arange(n_vertices) < n_vertices // 2, 1, -1)
    y = truth.copy()
    y[wrong] = 1
    return weights, y, truth


def contaminate(y: Any, rate: float, random_state: int = 0) -> Any:
    """Replace a share of the given labels by random wrong ones.

    Exactly ``round(rate * l)`` of the l given labels change, each to one of the other classes with equal chance;
    unlabelled examples stay so.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels as for ``fit``.
    rate : float
        Between 0 and 1.
    random_state : int

    Returns
    -------
    ndarray of shape (n,)
    """
    if not 0 <= rate <= 1:
        raise ValueError(f"rate must lie between 0 and 1; found {rate}")
    coding = encode_labels(y)
    n_classes = coding.classes.size
    labelled = np.flatnonzero(coding.labelled)
    n_wrong = round(rate * labelled.size)
    if n_wrong and n_classes < 2:
        raise ValueError("wrong labels need at least two classes; found one")
    rng = np.random.default_rng(random_state)
    rows = rng.choice(labelled, n_wrong, replace=False)
    shift = rng.integers(1, max(n_classes, 2), n_wrong)
    noisy = np.array(y, copy=True).reshape(coding.codes.shape)
    noisy[rows] = coding.classes[(coding.codes[rows] + shift) % n_classes]
    return noisy


def draw_labelled(truth: Ints, per_class: int | None = None, total: int | None = None, random_state: int = 0) -> Ints:
    """Draw the examples that get a label: so many of each class, or so many in all.

    Parameters
    ----------
    truth : ndarray of shape (n,)
    per_class, total : int
        One of the two.
    random_state : int

    Returns
    -------
    ndarray of shape (l,), sorted
    """
    if (per_class is None) == (total is None):
        raise ValueError(f"give either per_class or total; found {per_class} and {total}")
    truth = np.asarray(truth)
    available = truth.size if per_class is None else int(np.unique(truth, return_counts=True)[1].min())
    n_drawn = (total if per_class is None else per_class) or 0
    if not 1 <= n_drawn <= available:
        raise ValueError(f"the number of labels must lie between 1 and {available}; found {n_drawn}")
    if truth.min() < 0:
        raise ValueError("truth must hold the class of every example, 0, 1, ...; found negative numbers")
    rng = np.random.default_rng(random_state)
    if per_class is None:
        return np.sort(rng.choice(truth.size, total, replace=False))
    return np.sort(
        np.concatenate([rng.choice(np.flatnonzero(truth == k), per_class, replace=False) for k in np.unique(truth)])
    )
