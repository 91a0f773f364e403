"""Given labels, verified or soft, with their weights -> what a classifier works with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from siis._types import Bools, Floats, Ints
from siis.errors import Message
from siis.labels.coding import LabelCoding, encode_labels, one_hot
from siis.labels.dawid_skene import AnnotatedLabels
from siis.labels.unlabelled import UNLABELLED, soft_rows
from siis.labels.vertex_labels import label_kinds

SUM_ERROR, SHARE_ERROR = 1e-6, 1e-3  # of the sum of a soft label, and of known shares: rounding
FAINTEST = 1e-100  # weight of a label over the largest, below which it is no less: its square is a number
VERIFIED_WEIGHT = 3.0  # ordinary labels that a verified one counts as


@dataclass(frozen=True, eq=False)
class GivenLabels:
    """The labels that are used, with their weights."""

    classes: np.ndarray[Any, Any]  # (c,)
    codes: Ints  # (n,): the given class, the likeliest of a soft label; -1 where no label is used
    used: Bools  # (n,): labelled, with a positive weight
    absent: Bools  # (n,): labelled, with weight 0: treated as if the example did not exist
    Y: Floats  # (l, c): distributions of the used examples
    kinds: Ints  # (l,): number of each distinct row of Y
    weights: Floats  # (l,): three times the given weight for verified labels
    verified: Bools  # (n,): known to be right

    @property
    def counts(self) -> Floats:
        """The weights without the factor of verified labels, shape (l,)."""
        return np.where(self.verified[self.used], self.weights / VERIFIED_WEIGHT, self.weights)

    def only(self, kept: Bools) -> GivenLabels:
        """The labels of some classes, kept: (c,); examples with another label become unlabelled."""
        number, is_kept = np.cumsum(kept) - 1, self.used & kept[self.codes]
        among = is_kept[self.used]
        Y = self.Y[among][:, kept]
        return GivenLabels(
            self.classes[kept],
            np.where(is_kept, number[self.codes], UNLABELLED),
            is_kept,
            self.absent,
            Y,
            label_kinds(Y),
            self.weights[among],
            self.verified & is_kept,
        )


def read_labels(y: Any, sample_weight: Any = None, verified: Any = None) -> GivenLabels:
    """Classes, distributions or AnnotatedLabels as labels with weights; ``verified``, (n,), marks the right ones.

    y: (n,), see ``encode_labels``, or (n, c): one distribution a row, all 0 where unlabelled, with the column names
    of a data frame as classes. Classes without any weight are dropped.
    """
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None")
    if isinstance(y, AnnotatedLabels) and sample_weight is None:
        sample_weight = y.weights
    shape = np.asarray(y).shape
    if len(shape) == 2 and shape[1] > 1:
        classes, Y = _soft(y)
        labelled = soft_rows(Y)
        weights = _weights(sample_weight, labelled)
        used = labelled & (weights > 0)
        kept = Y[used].any(axis=0)
        classes, Y = classes[kept], Y[used][:, kept]
        codes = np.full(used.size, UNLABELLED)
        codes[used], kinds = np.argmax(Y, axis=1), label_kinds(Y)
    else:
        coding = y if isinstance(y, LabelCoding) else encode_labels(y)
        labelled = coding.labelled
        weights = _weights(sample_weight, labelled)
        used = labelled & (weights > 0)
        coding = coding.with_labels(used)
        classes, codes, kinds = coding.classes, coding.codes, coding.codes[used]
        Y = one_hot(kinds, classes.size)
    is_verified = _verified(verified, used)
    weights = np.where(is_verified, VERIFIED_WEIGHT * weights, weights)
    return GivenLabels(classes, codes, used, labelled & ~used, Y, kinds, weights[used], is_verified)


def _soft(y: Any) -> tuple[np.ndarray[Any, Any], Floats]:
    Y = check_array(y, dtype=np.float64, input_name="y")
    wrong = (Y < 0).any(axis=1) | ((abs(Y.sum(axis=1) - 1) > SUM_ERROR) & soft_rows(Y))
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            "a y of two dimensions must hold a distribution over the classes in each row: non-negative, with sum 1, "
            f"or all 0 where unlabelled; {np.count_nonzero(wrong)} rows do not, the first at index {i}, with sum "
            f"{Y[i].sum():.6g}. Divide each row by its sum, or give classes in one dimension."
        )
    if not Y.any():
        raise ValueError(Message("{y} must hold at least one label; all {n} rows are 0 (unlabelled)", n=len(Y)))
    columns = getattr(y, "columns", None)
    classes = np.arange(Y.shape[1]) if columns is None else np.asarray(list(columns))
    return classes, Y


def _weights(sample_weight: Any, labelled: Bools) -> Floats:
    n = labelled.size
    if sample_weight is None:
        return np.ones(n)
    weights: Floats = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if weights.shape != (n,):
        raise ValueError(f"sample_weight must have shape ({n},); found {weights.shape}")
    if (weights < 0).any():
        raise ValueError(f"sample_weight must be non-negative; the smallest is {weights.min():.3g}")
    if not (labelled & (weights > 0)).any():
        raise ValueError(
            "sample_weight must be positive for at least one labelled example; all weights are zero there"
        )
    least = FAINTEST * weights[labelled].max()
    return np.where(weights > 0, np.maximum(weights, least), 0.0)


def _verified(verified: Any, used: Bools) -> Bools:
    if verified is None:
        return np.zeros(used.size, dtype=bool)
    is_verified = np.asarray(verified)
    if is_verified.shape != used.shape or is_verified.dtype != bool:
        raise ValueError(
            f"verified must hold True or False for each of {used.size} examples; found shape {is_verified.shape} of "
            f"{is_verified.dtype}"
        )
    if (is_verified & ~used).any():
        i = int(np.flatnonzero(is_verified & ~used)[0])
        raise ValueError(
            f"verified must be False where there is no label, or one of weight 0; it is True at index {i}. Give the "
            "example its label."
        )
    return is_verified


def known_class_shares(given: Any, classes: Any) -> Floats | None:
    """Known shares of the classes among all examples in the order of the classes, (c,); None if unknown."""
    if given is None:
        return None
    names = [str(name) for name in classes]
    if isinstance(given, dict):
        known = {str(name): share for name, share in given.items()}
        if set(known) != set(names):
            odd = sorted(set(known) ^ set(names))
            raise ValueError(
                f"class_prior must have the {len(names)} classes of y as keys; {odd[0]!r} is not in both. "
                f"Give a share for each of {', '.join(names[:10])}."
            )
        given = [known[name] for name in names]
    try:
        shares = np.asarray(given, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        shares = np.zeros(0)
    if shares.size != len(names):
        raise ValueError(f"class_prior must have a number for each of the {len(names)} classes; found {given!r}")
    if not np.isfinite(shares).all() or (shares < 0).any() or abs(shares.sum() - 1) > SHARE_ERROR:
        raise ValueError(
            f"class_prior must hold shares, not negative and with sum 1; found {shares.tolist()}. Divide counts by "
            "their sum."
        )
    return np.asarray(shares / shares.sum())
