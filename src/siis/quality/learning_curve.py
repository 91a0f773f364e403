"""Whether there are labels enough: a learning curve by held-out labels, and what further labels would gain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from siis._types import Bools, Floats, Ints, Sparse
from siis.labels import VertexLabels
from siis.labels.folds import deal_folds
from siis.model.scores import standardize
from siis.model.smoothing import smooth_labels
from siis.quality.bootstrap import WIDTH, interval, n_draws

N_FOLDS = 5
SHARES = (1.0, 0.6, 0.36)  # of the labels that stay while a fold is held out
DRAWS, LEAST_DRAWS = 3, 2  # of folds and of labels; fewer where there is much to smooth
MOST_WORK = 2**27  # soft labels of all draws, folds and shares
MOST_AT_ONCE, TOLERANCE = 2**20, 3e-2  # of those that are smoothed together
LEAST_LABELS = 30  # held out, below which a curve is chance
LEAST_SPREAD = 1.3  # of the largest over the smallest number of labels on the curve
LEAST_SIGNAL = 0.2  # by how much likelier a label must be predicted where it is the true class than another
REPLICATES = 500
TINY, NAN = 1e-9, float("nan")
TOO_FEW = "fewer than {least} labels can be held out ({found} can; a class needs two of them)"
TOO_THIN = "classes have too few labels each to leave some out"
TOO_NOISY = "too many labels are wrong to estimate accuracy from held-out labels"


@dataclass(frozen=True)
class LabelGain:
    """Gain in accuracy that further labels would bring; shares of right predictions of unlabelled examples."""

    n_labels: int  # further labels
    accuracy: float = NAN  # now, with its 95 % interval
    accuracy_low: float = NAN
    accuracy_high: float = NAN
    after: float = NAN  # with the further labels
    gain: float = NAN  # with its 95 % interval; negative where accuracy may fall
    low: float = NAN
    high: float = NAN
    reason: str = ""  # why nothing is known, and all numbers are NaN; empty otherwise


def learning_curve(
    W: Sparse, given: VertexLabels, fidelity: float, may_hold_out: Bools, seed: int
) -> tuple[Ints, Floats, Floats]:
    """Hold labels out in turn, and predict them by fewer and fewer others, on a graph of weights W.

    may_hold_out: (l,). Returns the h labels that were held out; by how many labels they were predicted, in the mean,
    falling, (s,); and whether each was predicted, by each share of the labels and in each draw, (h, s, draws).
    """
    each = W.shape[0] * given.n_classes
    draws = n_draws(each * len(SHARES) * N_FOLDS, MOST_WORK, LEAST_DRAWS, DRAWS)
    correct = np.full((given.rows.size, len(SHARES), draws), np.nan)
    counts: list[list[int]] = [[] for _ in SHARES]
    works: list[tuple[int, int, Ints, VertexLabels]] = []
    for draw in range(draws):
        rng = np.random.default_rng([seed, draw])
        folds = deal_folds(given.codes, N_FOLDS, np.random.default_rng(seed + draw).permutation, least=2)
        for fold in np.unique(folds[folds >= 0]):
            held, order = np.flatnonzero(folds == fold), rng.permutation(np.flatnonzero(folds != fold))
            for k, share in enumerate(SHARES):
                kept = _stratified(order, given.codes, share)
                counts[k].append(kept.size)
                works.append((draw, k, held, given.subset(kept).aggregate()))
    together = max(1, MOST_AT_ONCE // each)
    for a in range(0, len(works), together):
        some = works[a : a + together]
        trains = [train for *_, train in some]
        smooth = smooth_labels(W, trains, fidelity, TOLERANCE)
        for F, (draw, k, held, _) in zip(smooth, some, strict=True):
            winners = standardize(F, given.rows[held]).argmax(axis=1)
            correct[held, k, draw] = given.Y[held, winners]
    which = np.flatnonzero(np.isfinite(correct).all(axis=(1, 2)) & may_hold_out)
    return which, np.array([np.mean(found) for found in counts]), correct[which]


def _stratified(order: Ints, codes: Ints, share: float) -> Ints:
    """The first labels of each class, so many that they are the share; at least one of each."""
    kept = []
    for code in np.unique(codes[order]):
        members = order[codes[order] == code]
        kept.append(members[: max(1, round(share * members.size))])
    return np.sort(np.concatenate(kept))


def label_gain(
    correct: Floats,
    sizes: Floats,
    now: Floats,
    is_verified: Bools,
    noise: tuple[float, float, float],
    n_classes: int,
    n_given: int,
    n_labels: int,
    seed: int,
) -> LabelGain:
    """Estimate what further labels would gain, (C19).

    correct, (h, s, r): whether each held-out label was predicted from each number of the others, in each draw;
    sizes, (s,): these numbers, falling; now, (h,): whether the fit without the label predicts it; is_verified: (h,);
    noise: the share of wrong labels among those that are not verified, and its 95 % interval.
    """
    h, _, r = correct.shape
    if sizes[0] < LEAST_SPREAD * sizes[-1]:
        return LabelGain(n_labels, reason=TOO_THIN)
    rate, rate_low, rate_high = (0.0, 0.0, 0.0) if is_verified.all() else noise
    if not 1 - rate * n_classes / (n_classes - 1) >= LEAST_SIGNAL:
        return LabelGain(n_labels, reason=TOO_NOISY)
    rng = np.random.default_rng(seed)
    # One label more, which is not predicted, since all may be predicted by chance. The first row: as it is.
    again = rng.multinomial(h + 1, np.full(h + 1, 1 / (h + 1)), REPLICATES)
    again = np.vstack([np.append(np.ones(h), 0), again])
    labels = again / again.sum(axis=1, keepdims=True)
    correct, now = np.concatenate([correct, np.zeros_like(correct[:1])]), np.append(now, 0.0)
    is_verified = np.append(is_verified, True)
    draws = np.vstack([np.ones(r), rng.multinomial(r, np.full(r, 1 / r), REPLICATES)]) / r
    away = rng.standard_normal(REPLICATES) / WIDTH
    rates = np.append(rate, rate + away * np.where(away > 0, rate_high - rate, rate - rate_low))
    rates = np.clip(rates, 0, (1 - LEAST_SIGNAL) * (n_classes - 1) / n_classes)

    def right(hit: Floats) -> Floats:
        """Shares of right answers in each replicate, allowing for wrong labels."""
        chance = rates / (n_classes - 1)
        doubtful = (labels * ~is_verified).sum(axis=1)
        shape = (-1,) + (1,) * (hit.ndim - 1)
        plain = np.tensordot(labels * is_verified, hit, 1)
        noisy = np.tensordot(labels * ~is_verified, hit, 1) - (chance * doubtful).reshape(shape)
        return np.asarray(plain + noisy / (1 - rates - chance).reshape(shape))

    by_draw = right(correct)
    curve = np.einsum("ksr,kr->ks", by_draw, draws)
    at, weights = np.log(sizes), np.sqrt(sizes)
    lever = weights * (at - np.average(at, weights=weights))
    slope = curve @ lever / (lever @ at)
    behind = 1 - right(now)  # errors by the labels that stay while others are held out
    error = behind - _step(slope, behind, n_given / sizes[0])[0]
    accuracy = np.clip(1 - error, 0, 1)
    accuracy_low, accuracy_high = interval(accuracy, accuracy[0])
    by_error, by_log = _step(slope, error, 1 + n_labels / n_given)
    between = rng.random(REPLICATES + 1)  # the law by which accuracy goes on is unknown
    by_chance = by_draw[0].var(axis=1, ddof=1).mean() if r > 1 else 0.0  # others are labelled, in both fits
    luck = np.sqrt(2 * by_chance + 1 / h**2)  # nor is less than one label seen
    possible = between * by_error + (1 - between) * by_log + luck * rng.standard_normal(REPLICATES + 1)
    possible = np.clip(possible, -accuracy, 1 - accuracy_low)
    gain, found = float(min(by_error[0], 1 - accuracy[0])), float(accuracy[0])
    low, high = (float(end) for end in interval(possible[1:], gain))
    return LabelGain(n_labels, found, float(accuracy_low), float(accuracy_high), found + gain, gain, low, high)


def _step(slope: Floats, error: Floats, ratio: float) -> tuple[Floats, Floats]:
    """Gain of so many times as many labels: a power law of errors, and a log law of accuracy, with the same slope."""
    by_log = slope * np.log(ratio)
    power = np.maximum(slope, 0) / np.maximum(error, TINY)
    by_error = np.maximum(error, 0) * -np.expm1(-power * np.log(ratio))
    return np.where(slope > 0, by_error, by_log), by_log
