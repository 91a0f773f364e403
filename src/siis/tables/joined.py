"""Texts and other columns as joint features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from siis._types import Features, Floats
from siis.tables.columns import Columns
from siis.tables.encoded import Sentences
from siis.tables.encoders import Plain, finite_numbers, frozen, only_keys, refused
from siis.tables.parts import Choice
from siis.tables.words import Words

MOST_TEXTS = 100


@dataclass(frozen=True, eq=False)
class Joined:
    """Encodes texts together with other columns, so that neither outweighs the other.

    Each text is a row of unit length. Among the other columns numbers have mean 0 and variance 1, and the mean
    squared length of all of them together is 1 as well.
    """

    kind: ClassVar[str] = "joined"
    words: tuple[Words | Sentences, ...]  # one for each column of texts
    columns: Columns | None  # the other columns; None where there are texts alone
    scales: Floats  # (d,): a feature x of ``columns`` becomes scale * x - shift
    shifts: Floats

    @classmethod
    def learn(cls, words: Sequence[Words | Sentences], columns: Columns, C: Floats) -> Self:
        """Learn the weights of the other columns from their features C, shape (n, d)."""
        is_number = [not isinstance(part, Choice) for part in columns.parts for _ in part.feature_names]
        C = C.astype(np.float64, copy=False)  # as the words are
        largest = np.abs(C).max(axis=0)
        relative = C / np.where(largest > 0, largest, 1.0)  # numbers however large
        with np.errstate(divide="ignore", over="ignore"):
            scales = 1 / (np.std(relative, axis=0) * largest)
        scales = np.where(is_number, np.where(np.isfinite(scales), scales, 0.0), 1.0)
        shifts = np.where(is_number, np.mean(relative, axis=0) * (largest * scales), 0.0)
        length = np.sqrt(np.mean(np.sum((C * scales - shifts) ** 2, axis=1))) or 1.0
        return cls(tuple(words), columns, frozen(scales / length), frozen(shifts / length))

    @classmethod
    def of_words(cls, words: Sequence[Words | Sentences]) -> Self:
        """Join texts without other columns."""
        return cls(tuple(words), None, frozen(np.zeros(0)), frozen(np.zeros(0)))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, texts first."""
        return (*(words.column for words in self.words), *(() if self.columns is None else self.columns.names))

    @property
    def n_features(self) -> int:
        """Number of features, d."""
        return len(self.feature_names)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features."""
        others = () if self.columns is None else self.columns.feature_names
        return (*(name for words in self.words for name in words.feature_names), *others)

    def join(self, texts: Sequence[Features], C: Floats | None) -> Features:
        """Stack the features of each text column, shape (n, d_i), and of the other columns, shape (n, d)."""
        others = [] if C is None else [C * self.scales - self.shifts]
        if not any(sp.issparse(X) for X in texts):
            return np.hstack([*texts, *others])
        others = [sp.csr_array(X) for X in others]
        return sp.csr_array(sp.hstack([*texts, *others], format="csr"))

    def to_plain(self) -> Plain:
        """Give the encoder as plain data."""
        stored = [words.to_plain() for words in self.words]
        settings = {
            "words": [words for words, _ in stored],
            "columns": None if self.columns is None else self.columns.to_plain()[0],
        }
        arrays = {f"idf{i}": found["idf"] for i, (_, found) in enumerate(stored) if found}
        return settings, {**arrays, "scales": self.scales, "shifts": self.shifts}

    @classmethod
    def from_plain(cls, settings: Any, arrays: Any) -> Self:
        """Rebuild an encoder, refusing anything that is not one."""
        settings = only_keys(settings, ("words", "columns"), "settings")
        found = settings["words"]
        if type(found) is not list or not 0 < len(found) <= MOST_TEXTS:
            raise refused(f"1 to {MOST_TEXTS} columns of texts")
        are_words = [not (type(one) is dict and "encoder" in one) for one in found]
        names = [f"idf{i}" for i, is_words in enumerate(are_words) if is_words]
        arrays = only_keys(arrays, (*names, "scales", "shifts"), "arrays")
        words = tuple(
            Words.from_plain(one, {"idf": arrays[f"idf{i}"]}) if are_words[i] else Sentences.from_plain(one, {})
            for i, one in enumerate(found)
        )
        columns = None if settings["columns"] is None else Columns.from_plain(settings["columns"], {})
        taken = [one.column for one in words] + ([] if columns is None else list(columns.names))
        if len(set(taken)) < len(taken):
            raise refused("different names of columns")
        d = 0 if columns is None else len(columns.feature_names)
        scales, shifts = (finite_numbers(arrays[name], d, name) for name in ("scales", "shifts"))
        return cls(words, columns, scales, shifts)
