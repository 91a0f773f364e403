"""Given labels as classes and codes, classes as label rows, and soft labels as distributions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from siis._types import Bools, Floats, Ints, answer_type
from siis.errors import Message, warn
from siis.labels.unlabelled import (
    NO_ANSWER,
    UNLABELLED,
    are_signs,
    coded_rows,
    folded,
    is_blank,
    is_minus_one,
    is_missing,
    named,
    spellings,
)
from siis.texts import itemised, listed, plural

MERGE = "y = [label and folded(label) for label in y], with folded from siis.labels,"
FIRST_ROUNDED = 2.0**53  # from here on floats do not represent all whole numbers
LARGEST = int(np.iinfo(np.int64).max)  # class that is a number


class LabelWarning(UserWarning):
    """Something among the given labels may not be what it seems."""


@dataclass(frozen=True, eq=False)
class LabelCoding:
    """Labels as numbers."""

    classes: np.ndarray[Any, Any]  # (c,), the distinct labels, sorted
    codes: Ints  # (n,), index into ``classes``; -1 for unlabelled examples

    def __len__(self) -> int:
        """Number of examples, n."""
        return self.codes.size

    @property
    def labelled(self) -> Bools:
        """Which examples have a label, shape (n,)."""
        return coded_rows(self.codes)

    def with_classes(self, kept: Bools) -> "LabelCoding":
        """Keep some of the classes, shape (c,); examples of the others become unlabelled."""
        number = np.append(np.where(kept, np.cumsum(kept) - 1, UNLABELLED), UNLABELLED)  # the last one is that of -1
        return LabelCoding(self.classes[kept], number[self.codes])

    def with_labels(self, used: Bools) -> "LabelCoding":
        """Keep the labels of some examples, shape (n,), and the classes among them."""
        among = np.bincount(self.codes[used], minlength=self.classes.size) > 0
        return LabelCoding(self.classes, np.where(used, self.codes, UNLABELLED)).with_classes(among)


def encode_labels(y: Any) -> LabelCoding:
    """Classes and codes of given labels, y: (n,).

    Unlabelled is -1 among integers (NaN too among floats), and None, NaN, pandas.NA or an empty text among strings
    and objects. Integers that are all -1 or +1 are two classes, the paper's coding: otherwise only one class would be
    left. Any other string is a class, also "none", "NA" or "unknown", with a warning where it may mean no label or
    differs from another only in how it is written. The strings "nan" and "-1" are refused, because NumPy makes them
    of NaN and -1 when it writes an array as strings.
    """
    values = column_or_1d(np.asarray(y), warn=True)
    present = (
        ~np.ma.getmaskarray(y).ravel() if isinstance(y, np.ma.MaskedArray) else np.ones(values.shape, dtype=bool)
    )
    if values.dtype.kind == "O":
        present &= np.array([not is_missing(v) for v in values], dtype=bool)
        values = _plain(values, present)
    if values.dtype.kind == "f":
        present &= ~np.isnan(values)
        given = values[present]
        if np.isinf(given).any():
            raise ValueError(
                Message("{y} must not contain infinity; a label must be a class, and NaN marks an unlabelled example")
            )
        if (np.abs(given) >= FIRST_ROUNDED).any():
            raise ValueError(
                f"a class that is a number must be below {FIRST_ROUNDED:.0f} in columns of floats; found "
                f"{np.abs(given).max():.6g}, which may be rounded. Write the classes as strings."
            )
        if (given != np.round(given)).any():
            raise ValueError(
                Message("Unknown label type: continuous. {y} must hold classes; found fractions. Round or bin them.")
            )
    if values.dtype.kind not in "iufUSbO":
        raise ValueError(
            Message("Unknown label type: {dtype}. {y} must hold integers, strings or None.", dtype=values.dtype)
        )
    classes, index, counts = np.unique(values[present], return_inverse=True, return_counts=True)
    codes = np.full(values.shape, UNLABELLED, dtype=np.int64)
    codes[present] = index
    if values.dtype.kind in "iuf":
        kept = _numbers(classes)
    elif values.dtype.kind in "US" or (classes.size and isinstance(classes[0], str)):
        kept = _names(classes.astype(str), counts)
    else:
        kept = np.ones(classes.size, dtype=bool)
    if not kept.any():
        raise ValueError(
            Message(
                "{y} must hold at least one label; all {n} examples are unlabelled (-1, None, NaN or NA)",
                n=values.size,
            )
        )
    return LabelCoding(classes, codes).with_classes(kept)


def code_names(names: Any) -> LabelCoding:
    """Code names, all of which are classes whatever they are called; None is unlabelled. names: (n,)."""
    labelled = named(names)
    classes, index = np.unique(names[labelled], return_inverse=True)
    codes = np.full(names.shape, UNLABELLED, dtype=np.int64)
    codes[labelled] = index
    return LabelCoding(classes, codes)


def _numbers(classes: np.ndarray[Any, Any]) -> Bools:
    """Which numbers are classes; warns where -1 is one."""
    is_class = np.asarray(classes != UNLABELLED, dtype=bool)
    if is_class.all() or not are_signs(classes):
        return is_class
    warn(
        "y holds only -1 and +1: read as two classes, with every example labelled. If -1 means unlabelled, "
        "there is only one class; name the classes 0, 1, ... or use strings."
    )
    return np.ones_like(is_class)


def _names(names: np.ndarray[Any, Any], counts: Ints) -> Bools:
    """Names that are classes, shape (c,); warns of blanks, of words for no label and of several spellings."""
    blank = np.array([is_blank(name) for name in names], dtype=bool)
    if blank.any():
        warn(
            f"y holds {counts[blank].sum():,} empty strings: taken for unlabelled. Use None to say so.", LabelWarning
        )
    count = {str(name): int(many) for name, many in zip(names[~blank], counts[~blank], strict=True)}
    for name, many in count.items():
        if (name == "nan" or is_minus_one(name)) and not are_signs(count):
            raise ValueError(
                f"y holds the string {name!r} {many} times; is it a class or unlabelled? Mark unlabelled "
                "examples with None (in an array of dtype object), or rename the class."
            )
    for note in label_notes(
        count, "y", lambda words: f"y = [None if label in {words!r} else label for label in y]", MERGE
    ):
        warn(note, LabelWarning)
    return ~blank


def label_notes(counts: Mapping[str, int], where: str, unlabel: Callable[[list[str]], str], merge: str) -> list[str]:
    """Notes on labels -1 and 1, words for no label, and several spellings of one class, with the user's remedies."""
    notes = []
    if are_signs(counts):
        notes.append(f"-1 and 1 in {where}: taken for two classes; if -1 means no label: {unlabel(['-1'])}")
    elif doubtful := sorted(label for label in counts if folded(label) in NO_ANSWER or is_minus_one(label)):
        cells = plural(sum(counts[label] for label in doubtful), "label")
        notes.append(
            f"{cells} of {where} ({listed(doubtful)}) taken for classes; if they mean no label: {unlabel(doubtful)}"
        )
    if same := spellings(counts):
        groups = [sorted(label for label in same if same[label] == name) for name in sorted(set(same.values()))]
        brackets = itemised([f"({listed(group)})" for group in groups])
        notes.append(
            f"labels of {where} that differ only in how they are written taken for different classes: {brackets}; "
            f"{merge} makes one class of those in a bracket"
        )
    return notes


def _plain(values: np.ndarray[Any, Any], present: Any) -> np.ndarray[Any, Any]:
    """Objects that are all numbers as numbers; strings stay objects; a mixture is refused."""
    given = values[present]
    if all(isinstance(v, str) for v in given):
        return values
    if all(isinstance(v, bool | np.bool_) for v in given):
        return np.array([bool(v) if p else False for v, p in zip(values, present, strict=True)])
    if all(isinstance(v, int | float | np.integer | np.floating) for v in given):
        if all(isinstance(v, int | np.integer) or (np.isfinite(v) and v == int(v)) for v in given):
            return _whole(values, present, [int(v) for v in given])
        plain = np.full(values.shape, np.nan)
        plain[present] = [float(v) for v in given]
        return plain
    kinds = sorted({type(v).__name__ for v in given})
    raise ValueError(f"Unknown label type: a mixture of {', '.join(kinds)}. Use one type for all classes.")


def _whole(values: np.ndarray[Any, Any], present: Any, given: list[int]) -> np.ndarray[Any, Any]:
    """Classes that are whole numbers, without rounding any of them."""
    far = next((v for v in given if not -LARGEST - 1 <= v <= LARGEST), None)
    if far is not None:
        raise ValueError(
            f"a class that is a number must lie between {-LARGEST - 1} and {LARGEST}; found {far:.6g}. Write the "
            "classes as strings."
        )
    plain = np.full(values.shape, UNLABELLED, dtype=np.int64)
    plain[present] = given
    return plain


def one_hot(codes: Ints, n_classes: int) -> Floats:
    """Codes, shape (l,), as distributions, shape (l, n_classes)."""
    Y = np.zeros((codes.size, n_classes), answer_type(codes.size, n_classes))
    Y[np.arange(codes.size), codes] = 1.0
    return Y


def coded(Y: Floats) -> Floats:
    """Label rows: one column, p_1 - p_0, for two classes (the paper's eq. 4), else Y (eq. 5). Y: (l, c)."""
    return Y[:, 1:] - Y[:, :1] if Y.shape[1] == 2 else Y


def distributions(F: Floats, n_classes: int) -> Floats:
    """Turn soft labels, (n, 1) or (n, c), into the nearest distributions, (n, c), keeping their order.

    Two classes: ((1 - f) / 2, (1 + f) / 2) with f cut to [-1, 1]. More: the Euclidean projection of each row to the
    probability simplex.
    """
    if n_classes == 2:
        p = (1 + np.clip(F[:, 0], -1.0, 1.0)) / 2
        return np.column_stack([1 - p, p])
    ordered = -np.sort(-F, axis=1)
    excess = (np.cumsum(ordered, axis=1) - 1) / np.arange(1, n_classes + 1)
    support = np.count_nonzero(ordered > excess, axis=1)
    projected = np.maximum(F - excess[np.arange(F.shape[0]), support - 1][:, None], 0.0)
    normalised: Floats = projected / projected.sum(axis=1, keepdims=True)
    return normalised
