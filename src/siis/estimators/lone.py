"""A class with a single label, where other classes have many: it keeps its label and takes no part in the fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from siis._types import Bools, Floats
from siis.errors import warn
from siis.estimators.base import Answer
from siis.labels import GivenLabels, VertexLabels
from siis.labels.unlabelled import coded_rows
from siis.quality.listings import BELOW_VERIFIED, VERIFIED
from siis.result_table import Table

USUAL_COUNT = 8  # labels of the median class, from which a single label of another class is an exception
MOST_OF_ONE = 5.57  # labels that are expected at most, where one is seen: 97.5 % limit of a Poisson distribution


def supported_classes(parts: VertexLabels) -> Bools:
    """Classes of the fit, (c,): not those of a single label, which cannot be held out, where the others have many."""
    counts = np.bincount(parts.codes, minlength=parts.n_classes)
    others = counts[counts > 1]
    has_one = (counts == 1) & (np.count_nonzero(parts.Y, axis=0) == 1)
    is_exception = others.size > 1 and np.median(others) >= USUAL_COUNT
    return np.asarray(~has_one | ~is_exception)


def warn_of_lone_classes(labels: GivenLabels, supported: Bools) -> None:
    """Say which classes are predicted for no other example."""
    names = ", ".join(repr(str(name)) for name in labels.classes[~supported])
    warn(
        f"these classes have one label each and are predicted for no other example: {names}. Label more examples of "
        "them, or correct the label."
    )


def with_lone_classes(answer: Answer, labels: GivenLabels, supported: Bools) -> Answer:
    """The answer of a fit to the supported classes, with the other classes as further columns."""
    shown, vertex = dict(answer.attributes), answer.placed.vertex
    columns = np.flatnonzero(supported)
    used = np.flatnonzero(labels.used)
    is_lone = ~supported[labels.codes[used]]
    lone = used[is_lone]
    rate = float(shown["noise_rate_"])
    doubt = 0.0 if np.isnan(rate) else rate

    def wide(P: Floats, otherwise: float = 0.0) -> Floats:
        found = np.full((len(P), supported.size), otherwise, P.dtype)
        found[:, columns] = P
        return found

    answers, reached = wide(answer.distributions), answer.reached.copy()
    at = vertex[lone]
    alone = (1 - doubt) * labels.Y[is_lone] + doubt * answers[at]
    is_free = ~np.isin(at, vertex[used[~is_lone]])  # no equal example has a label of another class
    answers[at[is_free]], reached[at[is_free]] = alone[is_free], True
    own = np.full((used.size, supported.size), np.nan, answers.dtype)
    own[is_lone] = alone
    if answer.own is not None:
        own[~is_lone] = wide(answer.own)
    quality, suggested = shown["label_quality_"].copy(), labels.codes.copy()
    known = coded_rows(shown["_suggested"])
    suggested[known] = columns[shown["_suggested"][known]]
    quality[lone] = np.where(labels.verified[lone], VERIFIED, min(1 - rate, BELOW_VERIFIED))
    before = shown["_before_codes"]
    matrix, usual = shown["noise_matrix_"], doubt / (supported.size - 1)
    noise = np.full((supported.size, supported.size), usual)
    np.fill_diagonal(noise, 1 - doubt)
    noise[:, columns] = 0.0
    noise[np.ix_(columns, columns)] = matrix
    rates = np.full(supported.size, np.nan)
    rates[columns] = shown["class_noise_rates_"]
    held_out = wide(shown["held_out_distributions_"])
    held_out[np.isnan(shown["held_out_distributions_"][:, 0])] = np.nan
    shown.update(
        label_quality_=quality,
        held_out_distributions_=held_out,
        noise_matrix_=noise,
        class_noise_rates_=rates,
        class_shares_=_shares(shown["class_shares_"], labels, columns, lone.size, doubt),
        _given_codes=labels.codes,
        _suggested=suggested,
        _before_codes=np.where(before >= 0, columns[before], np.where(labels.verified, -1, labels.codes)),
        _supported=columns,
    )
    prior = wide(answer.prior[None])[0]
    return replace(answer, distributions=answers, reached=reached, prior=prior, attributes=shown, own=own)


def _shares(found: Table, labels: GivenLabels, columns: np.ndarray, n_lone: int, doubt: float) -> Table:
    """Shares of all classes: a class of one label has that example, and few others at most."""
    n, n_labels, c = labels.used.size, np.count_nonzero(labels.used), labels.classes.size
    share, low, high = np.full(c, (1 - doubt) / n), np.zeros(c), np.full(c, min(MOST_OF_ONE / n_labels, 1.0))
    left = 1 - n_lone * (1 - doubt) / n
    for values, name in ((share, "share"), (low, "low"), (high, "high")):
        values[columns] = left * found[name]
    return Table({"class": labels.classes, "share": share, "low": low, "high": high})
