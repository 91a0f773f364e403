"""Answers of several annotators -> soft labels and weights, by the model of Dawid and Skene (1979)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from siis._types import Floats
from siis.labels.coding import encode_labels
from siis.labels.unlabelled import coded_rows

ROUNDS = 200
CHANGE = 1e-6  # of a posterior, at which the rounds end
PSEUDO_COUNT = 1.0  # answers that each annotator is thought to have given as the others together did
USUAL_COUNT, USUAL_SKILL = 10.0, 0.8  # answers of each class that all are thought to have given, this share right


@dataclass(frozen=True, eq=False)
class AnnotatedLabels:
    """What several annotators say together.

    Attributes
    ----------
    classes : ndarray of shape (c,)
    Y : ndarray of shape (n, c)
        Posterior of the true class; rows of 0 where nobody answered. Pass it as ``y``.
    weights : ndarray of shape (n,)
        1 - entropy / log c of the posterior: 0 for a tie, 1 for certainty. Pass it as ``sample_weight``.
    confusion : ndarray of shape (a, c, c)
        confusion[r, k, j] is the probability that annotator r answers j where k is true.
    prior : ndarray of shape (c,)
    """

    classes: np.ndarray[Any, Any]
    Y: Floats
    weights: Floats
    confusion: Floats
    prior: Floats


def from_annotators(answers: Any) -> AnnotatedLabels:
    """Weigh the answers of annotators by how far each can be trusted, which the answers themselves tell.

    Expectation-maximisation of the model in which annotator r, shown an example of class k, answers j with
    probability theta_r[k, j], all answers independent:

        P(k | answers of i)  ~  pi_k  prod_r theta_r[k, answer_ir]

    Parameters
    ----------
    answers : array-like of shape (n, a)
        One column for each annotator. No answer: -1 among integers; None, NaN or NA otherwise.

    Returns
    -------
    AnnotatedLabels
    """
    table = np.asarray(answers)
    if table.ndim != 2:
        raise ValueError(
            f"answers must have one row for each example and one column for each annotator; found shape {table.shape}"
        )
    n, n_annotators = table.shape
    masked = np.ma.getmaskarray(answers) if isinstance(answers, np.ma.MaskedArray) else np.zeros(table.shape, bool)
    if table.size == 0:
        raise ValueError("answers must hold at least one answer; found none")
    coding = encode_labels(np.ma.array(table, mask=masked).ravel() if masked.any() else table.ravel())
    if coding.classes.size < 2:
        raise ValueError(
            f"answers must name two classes or more; found only {coding.classes[0]!r}. With one class there is "
            "nothing to learn."
        )
    codes, c = coding.codes.reshape(n, n_annotators), coding.classes.size
    example, annotator = np.nonzero(coded_rows(codes))
    answer = codes[example, annotator]
    heard = np.bincount(example, minlength=n) > 0
    Y: Floats = np.stack(
        [np.bincount(example, (answer == k).astype(np.float64), n) for k in range(c)], axis=1
    )  # the vote
    Y[heard] /= Y[heard].sum(axis=1, keepdims=True)
    cell = annotator * c + answer
    usual = USUAL_COUNT * ((1 - USUAL_SKILL) / (c - 1) * (1 - np.eye(c)) + USUAL_SKILL * np.eye(c))
    for _ in range(ROUNDS):
        before = Y
        prior = (Y.sum(axis=0) + 1) / (heard.sum() + c)
        counts = np.stack([np.bincount(cell, Y[example, k], n_annotators * c) for k in range(c)], axis=1)
        counts = counts.reshape(n_annotators, c, c).transpose(0, 2, 1)  # annotator, true, answered
        pooled = counts.sum(axis=0) + usual
        pooled /= pooled.sum(axis=1, keepdims=True)
        confusion = counts + PSEUDO_COUNT * pooled
        confusion /= confusion.sum(axis=2, keepdims=True)
        evidence = np.log(confusion)[annotator, :, answer]
        logs = np.log(prior) + np.stack([np.bincount(example, column, n) for column in evidence.T], axis=1)
        Y = np.exp(logs - logs.max(axis=1, keepdims=True))
        Y /= Y.sum(axis=1, keepdims=True)
        Y[~heard] = 0
        if np.abs(Y - before).max() <= CHANGE:
            break
    entropy = -np.sum(Y * np.log(np.where(Y > 0, Y, 1.0)), axis=1)
    weights = np.where(heard, 1 - entropy / np.log(max(c, 2)), 0.0)
    return AnnotatedLabels(coding.classes, Y, np.clip(weights, 0.0, 1.0), confusion, prior)
