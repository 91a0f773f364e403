"""A class with a single label, where other classes have many: it keeps its label and takes no part in the fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from siis._types import Bools, Floats
from siis.errors import warn
from siis.estimators.result import FitResult
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
    """Warn of the classes that are predicted for no other example."""
    names = ", ".join(repr(str(name)) for name in labels.classes[~supported])
    warn(
        f"these classes have one label each and are predicted for no other example: {names}. Label more examples of "
        "them, or correct the label."
    )


def with_lone_classes(
    result: FitResult, own: Floats, labels: GivenLabels, supported: Bools
) -> tuple[FitResult, Floats]:
    """The result of a fit to the supported classes with the other classes as further columns; own: (l, s)."""
    assert result.quality is not None
    assert result.average is not None
    found, noise, vertex = result.quality, result.quality.noise, result.placed.vertex
    c, columns, used = supported.size, np.flatnonzero(supported), np.flatnonzero(labels.used)
    is_lone = ~supported[labels.codes[used]]
    lone, doubt = used[is_lone], 0.0 if np.isnan(noise.rate) else noise.rate

    def wide(P: Floats, otherwise: float = 0.0) -> Floats:
        """Columns of all classes; rows that are unknown stay so."""
        full = np.full((len(P), c), otherwise, P.dtype)
        full[:, columns] = P
        full[np.isnan(P[:, 0])] = np.nan
        return full

    answers, reached, at = wide(result.vertex_distributions), result.vertex_reached.copy(), vertex[lone]
    alone = (1 - doubt) * labels.Y[is_lone] + doubt * answers[at]
    is_free = ~np.isin(at, vertex[used[~is_lone]])  # no equal example has a label of another class
    answers[at[is_free]], reached[at[is_free]] = alone[is_free], True
    all_own = np.full((used.size, c), np.nan, answers.dtype)
    all_own[is_lone], all_own[~is_lone] = alone, wide(own)
    quality, suggested, before = found.quality.copy(), labels.codes.copy(), found.before
    known = coded_rows(found.suggested)
    suggested[known] = columns[found.suggested[known]]
    quality[lone] = np.where(labels.verified[lone], VERIFIED, min(1 - noise.rate, BELOW_VERIFIED))
    matrix = np.full((c, c), doubt / (c - 1))
    np.fill_diagonal(matrix, 1 - doubt)
    matrix[:, columns] = 0.0
    matrix[np.ix_(columns, columns)] = noise.matrix
    rates = np.full(c, np.nan)
    rates[columns] = noise.class_rates
    all_quality = replace(
        found,
        quality=quality,
        suggested=suggested,
        before=np.where(before >= 0, columns[before], np.where(labels.verified, -1, labels.codes)),
        held_out=wide(found.held_out),
        noise=replace(noise, matrix=matrix, class_rates=rates),
        class_shares=_shares(found.class_shares, labels, columns, lone.size, doubt),
    )
    all_classes = replace(
        result,
        classes=labels.classes,
        codes=labels.codes,
        vertex_distributions=answers,
        vertex_reached=reached,
        prior=wide(result.prior[None])[0],
        quality=all_quality,
        average=replace(result.average, supported=columns),
    )
    return all_classes, all_own


def _shares(found: Table, labels: GivenLabels, columns: np.ndarray, n_lone: int, doubt: float) -> Table:
    """Shares of all classes: a class of one label has that example, and few others at most."""
    n, n_labels, c = labels.used.size, np.count_nonzero(labels.used), labels.classes.size
    share, low, high = np.full(c, (1 - doubt) / n), np.zeros(c), np.full(c, min(MOST_OF_ONE / n_labels, 1.0))
    left = 1 - n_lone * (1 - doubt) / n
    for values, name in ((share, "share"), (low, "low"), (high, "high")):
        values[columns] = left * found[name]
    return Table({"class": labels.classes, "share": share, "low": low, "high": high})
