"""Every given label judged by the class scores at its vertex while it was held out; the answers calibrated."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from siis._types import Floats, Ints
from siis.evidence.reading import SHARPNESS
from siis.labels import GivenLabels, Supervision
from siis.quality.agreement import LabelAgreement, label_agreement
from siis.quality.issues import BELOW_CERTAIN, CERTAIN
from siis.quality.noise import NoiseModel, fit_noise

MOSTLY_WRONG = 0.75  # share of wrong labels in a class, at which to say so
ENOUGH = 10  # labels of a class, to say so


@dataclass(frozen=True, eq=False)
class Assessment:
    """What is known of the given labels.

    Attributes
    ----------
    noise : NoiseModel
    agreement : LabelAgreement
    probabilities : ndarray of shape (n_vertices, c)
        Calibrated answers.
    quality : ndarray of shape (n,)
        Probability that a given label is right; NaN where unlabelled.
    codes, suggested : ndarray of shape (n,)
        Given and likeliest class of labelled examples; -1 elsewhere.
    held_out : ndarray of shape (n, c)
        Calibrated probabilities of labelled examples without their own labels; NaN elsewhere.
    """

    noise: NoiseModel
    agreement: LabelAgreement
    probabilities: Floats
    quality: Floats
    codes: Ints
    suggested: Ints
    held_out: Floats


def assess_labels(
    rows: Ints, scores: Floats, pairs: Supervision, vertex: Ints, labels: GivenLabels, final: Floats
) -> Assessment:
    """Estimate the noise (C5), judge every given label (C6), and calibrate the answers.

    Parameters
    ----------
    rows : ndarray of shape (h,)
        Vertices whose labels were held out.
    scores : ndarray of shape (h, c)
        Class scores there.
    pairs : Supervision
        The distinct (vertex, label) pairs that were given.
    vertex : ndarray of shape (n,)
        Of each example.
    labels : GivenLabels
    final : ndarray of shape (n_vertices, c)
        Class scores of the answers.

    Returns
    -------
    Assessment
    """
    n_vertices = len(final)
    held = np.full(n_vertices, -1)
    held[rows] = np.arange(rows.size)
    # contradicting labels of equal examples all count
    judged_pairs = pairs.picked(np.flatnonzero(held[pairs.rows] >= 0))
    codes, weights, at_pairs = judged_pairs.codes, judged_pairs.weights, scores[held[judged_pairs.rows]]
    agreement = label_agreement(at_pairs, codes, weights)
    sure = np.zeros(held.size, dtype=bool)
    sure[vertex[labels.certain]] = True
    doubtful = np.flatnonzero(~sure[judged_pairs.rows])  # certain labels say nothing of how often others are wrong
    codes = codes[doubtful]
    noise = fit_noise(at_pairs[doubtful], codes, weights[doubtful])
    if not codes.size:  # nothing was held out: nothing is known of the noise
        unknown = np.full_like(noise.matrix, np.nan)
        noise = replace(noise, rate=float("nan"), interval=(0.0, 1.0), sharpness=SHARPNESS, matrix=unknown)
    n, c = labels.used.size, pairs.n_classes
    quality, all_codes, suggested = np.full(n, np.nan), labels.codes, labels.codes.copy()
    used = np.flatnonzero(labels.used)
    held_out = np.full((n, c), np.nan)
    quality[used] = 1 - noise.rate  # the only label of its class: nothing but the overall rate speaks about it
    judged = used[held[vertex[used]] >= 0]
    if judged.size:
        own = scores[held[vertex[judged]]]
        posterior = noise.posterior(own, all_codes[judged])
        quality[judged] = noise.quality(own, all_codes[judged])
        doubted = np.flatnonzero(quality[judged] < 0.5)
        posterior[doubted, all_codes[judged[doubted]]] = -1.0  # what is likely wrong is no suggestion
        suggested[judged] = np.argmax(posterior, axis=1)
        held_out[judged] = noise.probabilities(own)
    quality = np.minimum(quality, BELOW_CERTAIN)  # however clear the scores are, nobody has checked the label
    quality[labels.certain], suggested[labels.certain] = CERTAIN, all_codes[labels.certain]
    return Assessment(noise, agreement, noise.probabilities(final), quality, all_codes, suggested, held_out)


def warn_about_labels(assessment: Assessment, codes: Ints, classes: Any) -> None:
    """Warn where labels do not follow the graph, or are mostly wrong in a class.

    Parameters
    ----------
    assessment : Assessment
    codes : ndarray of shape (l,)
        The given class at each labelled vertex.
    classes : ndarray of shape (c,)
    """
    agreement = assessment.agreement
    if agreement.is_weak:
        warnings.warn(
            "the labels do not follow the neighbourhoods: held-out labels are met hardly more often than by chance "
            f"(graph_score_ = {agreement.score:.2f} +- {agreement.error:.2f}). Do not rely on the "
            "answers. Use features in which examples of a class are close to each other (for instance embeddings "
            "of a pretrained model), or label more examples.",
            UserWarning,
            stacklevel=5,
        )
    counts = np.bincount(codes, minlength=len(classes))
    bad = np.flatnonzero((assessment.noise.class_rates > MOSTLY_WRONG) & (counts >= ENOUGH))
    if bad.size and not agreement.is_weak:
        names = ", ".join(f"{classes[k]} ({assessment.noise.class_rates[k]:.0%})" for k in bad[:10])
        warnings.warn(
            f"most labels of these classes seem to be wrong (class_noise_rates_): {names}. Check them first: "
            "label_issues() lists them.",
            UserWarning,
            stacklevel=5,
        )
