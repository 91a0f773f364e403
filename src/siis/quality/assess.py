"""The quality of every given label by the class scores of its vertex while it was held out; calibrated answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from siis._types import Bools, Floats, Ints
from siis.errors import Message, warn
from siis.labels import GivenLabels
from siis.model.link import ExpectedAccuracy
from siis.quality.listings import BELOW_VERIFIED, VERIFIED
from siis.quality.noise import LEAST_RATE, NoiseModel, fit_noise
from siis.quality.sets import coverage_levels

MOSTLY_WRONG, ENOUGH = 0.75, 10  # share of wrong labels in a class, and its labels, at which to warn
WEAK = 0.05  # below, neighbourhoods hardly predict labels
CLEAR = 0.15  # above, labels are followed, however few they are
VAGUE = 0.25  # below, blunt scores and wrong labels cannot be distinguished
DOUBT = 2.5  # standard errors: the best of many candidates is ahead of chance by luck alone


@dataclass(frozen=True)
class LabelAgreement:
    """Cohen's kappa between held-out labels and predicted classes."""

    score: float  # (agreement - chance) / (1 - chance), lower with wrong labels; NaN where nothing was held out
    error: float  # standard error

    @property
    def is_weak(self) -> bool:
        """Whether the labels do not follow the neighbourhoods, by the held-out ones."""
        return self.score < max(WEAK, min(DOUBT * self.error, CLEAR))


def label_agreement(scores: Floats, codes: Ints, weights: Floats) -> LabelAgreement:
    """Agreement of a graph with its held-out labels; scores: (l, c), codes and weights: (l,)."""
    if codes.size == 0:
        return LabelAgreement(float("nan"), float("nan"))
    c = scores.shape[1]
    share = weights / weights.sum()
    predicted = np.argmax(scores, axis=1)
    correct = float(share @ (predicted == codes))
    chance = float(np.bincount(codes, share, c) @ np.bincount(predicted, share, c))
    chance = min(chance, 1 - 1e-9)
    error = float(np.sqrt(max(correct * (1 - correct), 0.0) * np.sum(share**2)))
    return LabelAgreement((correct - chance) / (1 - chance), error / (1 - chance))


@dataclass(frozen=True, eq=False)
class Assessment:
    """Noise, quality and calibrated probabilities of the given labels."""

    noise: NoiseModel
    agreement: LabelAgreement
    probabilities: Floats  # (n_vertices, c), calibrated
    quality: Floats  # (n,), probability that a given label is right; NaN where unlabelled
    codes: Ints  # (n,), given classes; -1 where unlabelled
    suggested: Ints  # (n,), likeliest classes of labelled examples; -1 elsewhere
    held_out: Floats  # (n, c), calibrated, of labelled examples without their own labels; NaN elsewhere
    own: Floats  # (l, c), the same with their own labels, as far as these can be trusted; NaN where not judged
    levels: Floats  # (m, 2), probabilities of held-out labels, and how often the true class has at least these


def assess_labels(
    which: Ints,
    scores: Floats,
    labels: GivenLabels,
    vertex: Ints,
    final: Floats,
    before: Ints | None = None,
    estimated: tuple[Floats, ExpectedAccuracy] | None = None,
) -> Assessment:
    """Estimate the noise (D2), judge every given label (D4), and calibrate the answers.

    which, (h,): places among the labelled examples of those whose labels were held out; scores: (h, c);
    vertex: (n,); final: (n_vertices, c); before, (n,): verified labels before they were checked, -1 where unknown;
    estimated: scores of some unlabelled examples, (m, c), and their expected accuracy.
    """
    n, c = labels.used.size, final.shape[1]
    used = np.flatnonzero(labels.used)
    judged = used[which]
    codes = labels.codes[judged]
    known = np.full(judged.size, -1) if before is None else before[judged]
    group, first = _equal_labels(vertex[judged], labels.kinds[which], labels.verified[judged], known)
    weights = np.bincount(group, labels.counts[which]).astype(np.float64)
    each, Y = scores[first], labels.Y[which][first]
    agreement = label_agreement(each, codes[first], weights)
    doubtful = np.flatnonzero(~labels.verified[judged])
    verified = labels.verified[judged][first]
    rows, accuracy = (None, None) if estimated is None else estimated
    noise = fit_noise(each, codes[first], weights, agreement.is_weak, verified, known[first], rows, accuracy)
    quality, suggested = np.full(n, np.nan), labels.codes.copy()
    held_out, own = (np.full((rows, c), np.nan, final.dtype) for rows in (n, used.size))
    answers = noise.probabilities(final)
    quality[used] = 1 - noise.doubt  # of the only label of its class, the overall rate is all that is known
    if doubtful.size:
        posterior = noise.posterior(each, Y)  # (D4), the answer as well
        trust = np.minimum(1.0, weights / weights.mean())[:, None]  # a light label has little influence
        if trust.min() < 1:
            posterior = trust * posterior + (1 - trust) * noise.probabilities(each)
        posterior = posterior[group]
        apart = np.setdiff1d(np.arange(used.size), which)
        alone = (1 - noise.doubt) * labels.Y[apart] + noise.doubt * answers[vertex[used[apart]]]
        every, posteriors = np.concatenate([which, apart]), np.vstack([posterior, alone])
        has_company = _answer_labelled(answers, vertex[used[every]], posteriors, labels.counts[every])
        own[every] = np.where(has_company[:, None], posteriors, answers[vertex[used[every]]])
        quality[judged] = posterior[np.arange(judged.size), codes]
        doubted = np.flatnonzero(quality[judged] < 0.5)
        posterior[doubted, codes[doubted]] = -1.0  # what is likely wrong is no suggestion
        suggested[judged] = np.argmax(posterior, axis=1)
    alone_P = noise.probabilities(each)
    held_out[judged] = alone_P[group]
    truth = np.where(verified[:, None], Y, noise.posterior(each, Y))
    levels = coverage_levels(alone_P, truth, weights)
    quality = np.minimum(quality, BELOW_VERIFIED)  # however clear the scores are, nobody has checked the label
    _follow_checked(quality, suggested, labels, vertex)
    quality[labels.verified], suggested[labels.verified] = VERIFIED, labels.codes[labels.verified]
    return Assessment(noise, agreement, answers, quality, labels.codes, suggested, held_out, own, levels)


def _equal_labels(vertex: Ints, kinds: Ints, verified: Bools, before: Ints) -> tuple[Ints, Ints]:
    """The group of each label, (h,), and one label of each group: copies of an example are one label with weight."""
    keys = np.column_stack([vertex, kinds, verified, before])
    if not len(keys):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    _, first, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return group.ravel(), first


def _follow_checked(quality: Floats, suggested: Ints, labels: GivenLabels, vertex: Ints) -> None:
    """Doubt the labels of examples that equal one whose label somebody has checked and found to be another."""
    checked = labels.verified & (vertex >= 0)
    if not checked.any():
        return
    found = dict(zip(vertex[checked].tolist(), labels.codes[checked].tolist(), strict=True))
    for i in np.flatnonzero(labels.used & ~labels.verified & (vertex >= 0)):
        if (code := found.get(int(vertex[i]), labels.codes[i])) != labels.codes[i]:
            quality[i], suggested[i] = min(quality[i], LEAST_RATE), code


def _answer_labelled(answers: Floats, vertex: Ints, posterior: Floats, weights: Floats) -> Bools:
    """Write posteriors of labels into the answers (equal examples: their mean), and return which share a vertex."""
    at, place, counts = np.unique(vertex, return_inverse=True, return_counts=True)
    of_vertex = sp.csr_array((weights, (place, np.arange(place.size))), shape=(at.size, place.size))
    total = of_vertex @ posterior
    answers[at] = total / total.sum(axis=1, keepdims=True)
    return np.asarray(counts[place] > 1)


def warn_about_labels(assessment: Assessment, codes: Ints, classes: Any) -> None:
    """Warn where labels do not follow the graph, or most of a class are wrong; codes, (l,): of labelled vertices."""
    agreement = assessment.agreement
    if agreement.is_weak:
        warn(
            Message(
                "the labels do not follow the neighbourhoods: held-out labels are predicted hardly better than by "
                "chance ({graph_score_}: {score:.2f} +- {error:.2f}). Do not rely on the answers. Use features in "
                "which examples of a class are close to each other (for instance embeddings of a pretrained model), "
                "or label more examples.",
                score=agreement.score,
                error=agreement.error,
            )
        )
    counts = np.bincount(codes, minlength=len(classes))
    bad = np.flatnonzero((assessment.noise.class_rates > MOSTLY_WRONG) & (counts >= ENOUGH))
    if bad.size and not agreement.is_weak:
        names = ", ".join(f"{classes[k]} ({assessment.noise.class_rates[k]:.0%})" for k in bad[:10])
        warn(
            Message(
                "most labels of these classes seem to be wrong ({class_noise_rates_}): {classes}. Check them first: "
                "{label_issues} lists them.",
                classes=names,
            )
        )
