"""Texts and other columns as joint features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import scipy.sparse as sp

from siis._types import Features, Floats
from siis.plain_data import check, check_distinct, frozen
from siis.tables.columns import Columns
from siis.tables.network_features import NetworkTexts
from siis.tables.parts import Choice
from siis.tables.tfidf import Words


@dataclass(frozen=True, eq=False)
class Joined:
    """Encodes texts (unit rows) together with other columns (standardized), each with mean squared length 1."""

    kind: ClassVar[str] = "joined"
    words: tuple[Words | NetworkTexts, ...]  # one for each column of texts
    columns: Columns | None  # the other columns; None where there are texts alone
    scales: Floats  # (d,): a feature x of ``columns`` becomes scale * x - shift
    shifts: Floats

    def __post_init__(self) -> None:
        check_distinct(self.names, "columns")
        d = 0 if self.columns is None else self.columns.n_features
        check(
            len(self.words) > 0 and self.scales.size == self.shifts.size == d, "texts, and a scale for each feature"
        )

    @classmethod
    def learn(cls, words: Sequence[Words | NetworkTexts], columns: Columns, C: Floats) -> Self:
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
    def of_words(cls, words: Sequence[Words | NetworkTexts]) -> Self:
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
