"""Answers of several annotators as soft labels with weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from siis._types import Bools, Floats, Ints
from siis.labels.annotator_answers import AnnotatorAnswers, read_answers
from siis.labels.unlabelled import soft_rows

ROUNDS = 200
CHANGE = 1e-6  # of a posterior, at which the rounds end
USUAL_COUNT, USUAL_SKILL = 10.0, 0.8  # pseudo-answers of each annotator, and the share of them that is correct
PSEUDO_COUNT = 3.0  # answers of each class, as those of all, that count for each annotator
LEAST = 0.01  # of the way from chance to certainty: no skill is less, so that a lone answer is followed
FOLDS = 3


@dataclass(frozen=True, eq=False)
class AnnotatedLabels:
    """The combined answers of several annotators. Pass it to ``fit`` as ``y``: classes and weights come with it.

    Attributes
    ----------
    classes : ndarray of shape (c,)
    Y : ndarray of shape (n, c)
        Posterior of the true class; rows of 0 where nobody answered.
    weights : ndarray of shape (n,)
        1 - entropy / log c of the posterior: 0 for a tie, 1 for certainty. ``fit`` takes them where no
        ``sample_weight`` is given.
    confusion : ndarray of shape (a, c, c)
        confusion[r, k, j] is the probability that annotator r answers j where k is true.
    prior : ndarray of shape (c,)
    tasks : ndarray of shape (n,)
        The example of each row of Y: its number, or its name in a table with one row for each answer.
    annotators : ndarray of shape (a,)
    """

    classes: np.ndarray[Any, Any]
    Y: Floats
    weights: Floats
    confusion: Floats
    prior: Floats
    tasks: np.ndarray[Any, Any]
    annotators: np.ndarray[Any, Any]

    @property
    def columns(self) -> list[Any]:
        """The classes, as names of the columns of ``Y``."""
        return list(self.classes)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        return np.array(self.Y, dtype=dtype)


def from_annotators(answers: Any, long: bool | str = "auto") -> AnnotatedLabels:
    """Combine the answers of annotators, weighted by the skill that their agreement shows.

    Each annotator answers an example of class k with class j with probability theta_r[k, j], all answers independent:

        P(k | answers of i)  ~  pi_k  prod_r theta_r[k, answer_ir]

    Two models of theta are fitted by expectation-maximisation. With one coin, annotator r is right with probability
    a_r, and all mistakes are equally likely; a_r is estimated from examples that others have answered too, without
    the annotator's own answer. With confusion matrices [1]_, theta_r is shrunk towards that of all annotators. The
    model under which held-out answers are likelier is used.

    An annotator who answers with one class, or avoids the classes of more than a quarter of all answers (a labelling
    function, a specialist), has no confusion matrix: that they answered at all depends on the example. They have one
    coin, estimated from the answers of the others, for whose skills they do not count, and a uniform prior on
    examples that nobody else has answered. Where all annotators are like that, all have the same skill, and the
    likeliest class is that of the majority vote.

    Parameters
    ----------
    answers : array-like of shape (n, a) or (m, 3)
        One column for each annotator; no answer is -1 among integers, and None, NaN or NA otherwise. Or one row
        (task, worker, label) for each answer.
    long : bool or "auto", default="auto"
        Whether there is one row for each answer. "auto": where three columns are filled, and the values of the first
        two name each row, with fewer values in the third.

    Returns
    -------
    AnnotatedLabels

    References
    ----------
    .. [1] A. P. Dawid, A. M. Skene, "Maximum Likelihood Estimation of Observer Error-Rates Using the EM Algorithm",
       Applied Statistics 28, 1979.

    Examples
    --------
    >>> from siis.labels import from_annotators
    >>> found = from_annotators([["cat", "cat", "dog"], ["dog", "dog", None], ["cat", None, "cat"]])
    >>> found.classes[found.Y.argmax(axis=1)].tolist()
    ['cat', 'dog', 'cat']
    """
    given = read_answers(answers, long)
    theta, prior = _skills(given)
    Y, _ = _posterior(given, theta, prior)
    entropy = -np.sum(Y * np.log(np.where(Y > 0, Y, 1.0)), axis=1)
    weights = np.where(soft_rows(Y), 1 - entropy / np.log(given.classes.size), 0.0)
    return AnnotatedLabels(given.classes, Y, np.clip(weights, 0.0, 1.0), theta, prior, given.tasks, given.workers)


def _skills(given: AnnotatorAnswers) -> tuple[Floats, Floats]:
    """Answer probabilities, (a, c, c), and prior, (c,), without specialists, who chose their examples by class."""
    if not given.is_general.any():
        return _one_coin(given)
    general = given.by(given.is_general)
    theta, prior = (_confusions if _prefers_confusions(general) else _one_coin)(general)
    return np.where(given.is_general[:, None, None], theta, _specialist_skills(given, general, theta, prior)), prior


def _specialist_skills(given: AnnotatorAnswers, general: AnnotatorAnswers, theta: Floats, prior: Floats) -> Floats:
    """One coin for each annotator, shape (a, c, c), from what general annotators answered on the same examples."""
    P, _ = _posterior(general, theta, prior)
    own = ~given.is_general[given.annotator] & P[given.example].any(axis=1)
    by, q = given.annotator[own], P[given.example[own], given.answer[own]]
    a, c = given.workers.size, given.classes.size
    n_judged, skills = np.bincount(by, minlength=a), np.full(a, USUAL_SKILL)
    for _ in range(ROUNDS):
        before, skills = skills, _shrunk(_expected_correct(by, skills[by], q, a, c), n_judged, 1 / c)
        if np.abs(skills - before).max() <= CHANGE:
            break
    return _coin(np.maximum(skills, _least_skill(c)), c)


def _one_coin(given: AnnotatorAnswers) -> tuple[Floats, Floats]:
    """One skill for each annotator, and the prior; one skill for all if each annotator uses one class only."""
    c, a, m = given.classes.size, given.workers.size, given.answer.size
    has_others = np.bincount(given.example, minlength=given.tasks.size)[given.example] > 1
    by = given.annotator[has_others]
    n_judged = np.bincount(by, minlength=a)
    theta, Y = _coin(np.full(a, USUAL_SKILL), c), _vote_shares(given)
    for _ in range(ROUNDS):
        prior = _prior(given, Y)
        before, (Y, _) = Y, _posterior(given, theta, prior)
        logs = _log_likelihoods(given, theta)
        others = softmax((_start(given, prior) + given.by_example(logs))[given.example] - logs, axis=1)
        q = others[np.arange(m), given.answer][has_others]
        correct = _expected_correct(by, theta[:, 0, 0][by], q, a, c)
        least = (1 / c + USUAL_SKILL) / 2  # specialists overlap mostly where one of them is wrong
        skills = _shrunk(correct, n_judged, least)
        if not given.is_general.any():
            skills = np.full(a, max(_mean_skill(correct, n_judged), least))
        theta = _coin(np.maximum(skills, _least_skill(c)), c)
        if np.abs(Y - before).max() <= CHANGE:
            break
    return theta, prior


def _expected_correct(by: Ints, skill: Floats, q: Floats, a: int, c: int) -> Floats:
    """Expected right answers of each annotator, where the others give each answer the probability q."""
    right, wrong = skill * q, (1 - skill) * (1 - q) / (c - 1)
    return np.asarray(np.bincount(by, right / (right + wrong), a), dtype=np.float64)


def _mean_skill(correct: Floats, n_judged: Ints) -> float:
    return float((correct.sum() + USUAL_COUNT * USUAL_SKILL) / (n_judged.sum() + USUAL_COUNT))


def _shrunk(correct: Floats, n_judged: Ints, least: float) -> Floats:
    """Skills, shrunk towards the mean of all annotators; that mean is at least `least`."""
    return (correct + USUAL_COUNT * max(_mean_skill(correct, n_judged), least)) / (n_judged + USUAL_COUNT)


def _least_skill(c: int) -> float:
    return 1 / c + LEAST * (1 - 1 / c)


def _confusions(given: AnnotatorAnswers) -> tuple[Floats, Floats]:
    """Skills with a confusion matrix for each annotator, and the prior."""
    c, a = given.classes.size, given.workers.size
    cell, Y = given.annotator * c + given.answer, _vote_shares(given)
    usual = USUAL_COUNT * _coin(np.full(1, USUAL_SKILL), c)[0]
    for _ in range(ROUNDS):
        prior = _prior(given, Y)
        counts = np.stack([np.bincount(cell, Y[given.example, k], a * c) for k in range(c)], axis=1)
        counts = counts.reshape(a, c, c).transpose(0, 2, 1)  # annotator, true, answered
        pooled = counts.sum(axis=0) + usual
        theta = counts + PSEUDO_COUNT * pooled / pooled.sum(axis=1, keepdims=True)
        theta /= theta.sum(axis=2, keepdims=True)
        before, (Y, _) = Y, _posterior(given, theta, prior)
        if np.abs(Y - before).max() <= CHANGE:
            break
    return theta, prior


def _prefers_confusions(given: AnnotatorAnswers) -> bool:
    """Whether held-out answers are likelier under confusion matrices than under one coin for each annotator."""
    fold = np.random.default_rng(0).permutation(given.tasks.size) % FOLDS

    def likelihood(fit: Callable[[AnnotatorAnswers], tuple[Floats, Floats]]) -> float:
        total = 0.0
        for k in range(FOLDS):
            held, others = given.of(fold == k), given.of(fold != k)
            if held.answer.size and others.answer.size:
                _, logs = _posterior(held, *fit(others))
                total += float(logs[_answered(held)].sum())
        return total

    return likelihood(_confusions) > likelihood(_one_coin)


def _coin(skills: Floats, c: int) -> Floats:
    right = skills[:, None, None]
    return np.asarray(np.where(np.eye(c, dtype=bool), right, (1 - right) / (c - 1)))


def _posterior(given: AnnotatorAnswers, theta: Floats, prior: Floats) -> tuple[Floats, Floats]:
    """Probabilities of the classes, shape (n, c), 0 without an answer; log-likelihood of the answers, shape (n,)."""
    logs = _start(given, prior) + given.by_example(_log_likelihoods(given, theta))
    most = logs.max(axis=1)
    chances = np.exp(logs - most[:, None])
    total = chances.sum(axis=1)
    return chances / total[:, None] * _answered(given)[:, None], most + np.log(total)


def _start(given: AnnotatorAnswers, prior: Floats) -> Floats:
    """Log-probabilities before the answers, (n, c); uniform where only specialists answered: they chose by class."""
    return np.where(_is_sampled(given)[:, None], np.log(prior), -np.log(prior.size))


def _prior(given: AnnotatorAnswers, Y: Floats) -> Floats:
    sampled = _is_sampled(given)
    return np.asarray((Y[sampled].sum(axis=0) + 1) / (np.count_nonzero(sampled) + Y.shape[1]))


def _is_sampled(given: AnnotatorAnswers) -> Bools:
    return np.asarray(np.bincount(given.example, given.is_general[given.annotator], given.tasks.size) > 0)


def _answered(given: AnnotatorAnswers) -> Bools:
    return np.asarray(np.bincount(given.example, minlength=given.tasks.size) > 0)


def _vote_shares(given: AnnotatorAnswers) -> Floats:
    votes = given.by_example(np.eye(given.classes.size)[given.answer])
    return np.asarray(votes / np.maximum(votes.sum(axis=1, keepdims=True), 1.0))


def _log_likelihoods(given: AnnotatorAnswers, theta: Floats) -> Floats:
    """Log-probability of each answer under each class, shape (m, c)."""
    return np.asarray(np.log(theta)[given.annotator, :, given.answer])
