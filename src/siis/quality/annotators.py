"""Annotators ranked by how many of their labels are right, judged by the graph and the other annotators."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import softmax

from siis._types import Floats, Ints
from siis.result_table import Table

COLUMNS = ("annotator", "labels", "agreement", "right", "low", "high", "said", "instead_of", "times")
SKILLS = np.linspace(0.0025, 0.9975, 200)  # shares of right labels that are weighed, all equally likely before
FIRST_SKILL = 0.8
ROUNDS, CHANGE = 50, 1e-6
DOUBT = 1e-3  # of what is known of an example: no score is certain
LEVELS = (0.025, 0.975)
ONCE = 0.5  # expected times of a confusion, below which none is named


def annotator_table(example: Ints, annotator: Any, codes: Ints, P: Floats, classes: Any) -> Table:
    """Estimate the share of right labels of each annotator, worst first, (C17).

    With p_i what is known of example i without its labels, a_r the share of right labels of annotator r, and g_ir
    the label of r,

        q_irk ~ p_ik prod_{s != r} (g_is = k ? a_s : (1 - a_s) / (c - 1))
        P(g_ir) = a_r q_ir,g + (1 - a_r) (1 - q_ir,g) / (c - 1)                                              (C17)

    so that no label is evidence for itself. The mean of a_r under these likelihoods, and their quantiles of 2.5 and
    97.5 %, are computed in turn with q.

    example, annotator, codes: (m,); P, (n, c): probabilities without the labels of the example.
    """
    c = classes.size
    names, who = np.unique(np.asarray(annotator).astype(str), return_inverse=True)
    known = np.log((1 - DOUBT) * P + DOUBT / c)
    skill = np.full(names.size, FIRST_SKILL)
    _, pair = np.unique(example * names.size + who, return_inverse=True)  # who may have answered twice
    for _ in range(ROUNDS):
        logs = _log_chances(skill[who], codes, c)
        total = _sums(logs, example, len(P))
        others = softmax(known[example] + total[example] - _sums(logs, pair, pair.max() + 1)[pair], axis=1)
        posterior = _skills(others[np.arange(codes.size), codes], who, names.size, c)
        before, skill = skill, posterior @ SKILLS
        if np.abs(skill - before).max() <= CHANGE:
            break
    below = np.cumsum(posterior, axis=1) - posterior / 2
    ends = [[float(np.interp(level, row, SKILLS)) for row in below] for level in LEVELS]
    counts = np.bincount(who, minlength=names.size)
    agrees = np.bincount(who, np.argmax(others, axis=1) == codes, names.size) / counts
    truth = softmax(known + _sums(_log_chances(skill[who], codes, c), example, len(P)), axis=1)
    label, true_class, times = _confusions(who, codes, truth[example], names.size, classes)
    order = np.lexsort((np.arange(names.size), skill))
    low, high = np.minimum(ends[0], skill), np.maximum(ends[1], skill)
    columns = (names, counts, agrees, skill, low, high, label, true_class, times)
    return Table(zip(COLUMNS, (column[order] for column in columns), strict=True))


def _log_chances(skill: Floats, codes: Ints, c: int) -> Floats:
    """Log-probability P(label | class k), shape (m, c)."""
    chances = np.repeat(np.log((1 - skill) / (c - 1))[:, None], c, axis=1)
    chances[np.arange(codes.size), codes] = np.log(skill)
    return chances


def _sums(rows: Floats, place: Ints, n: int) -> Floats:
    total = np.zeros((n, rows.shape[1]))
    np.add.at(total, place, rows)
    return total


def _skills(right: Floats, who: Ints, n: int, c: int) -> Floats:
    """Probabilities of the shares of right labels, shape (n, s)."""
    logs = _sums(np.log(SKILLS * right[:, None] + (1 - SKILLS) * (1 - right[:, None]) / (c - 1)), who, n)
    return np.asarray(softmax(logs, axis=1))


def _confusions(who: Ints, codes: Ints, truth: Floats, n: int, classes: Any) -> tuple[Any, Any, Floats]:
    """The label that each annotator gives most often in the place of another class; None where that is rare."""
    c = classes.size
    label, instead, times = np.full(n, None, dtype=object), np.full(n, None, dtype=object), np.zeros(n)
    for r in range(n):
        mine = who == r
        counts = np.zeros((c, c))
        np.add.at(counts, codes[mine], truth[mine])
        np.fill_diagonal(counts, 0.0)
        j, k = divmod(int(np.argmax(counts)), c)
        if counts[j, k] >= ONCE:
            label[r], instead[r], times[r] = classes[j], classes[k], counts[j, k]
    return label, instead, times
