"""Features of a table: texts and other columns, alone or together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import scipy.sparse as sp

from siis._types import Features, Floats
from siis.encode import EncoderChoice, load_encoder
from siis.plain_data import check, check_distinct, frozen
from siis.tables.choosing import Chosen, ColumnUse, choose_features, notes_of, summary_of
from siis.tables.columns import Choice, Part, encode_parts
from siis.tables.examples import Encoded, Roles
from siis.tables.network_features import NetworkTexts
from siis.tables.sheet import Sheet
from siis.tables.tfidf import Words
from siis.texts import quoted


@dataclass(frozen=True, eq=False)
class TableEncoding:
    """Encodes texts (unit rows) and other columns; both together standardized, each with mean squared length 1."""

    kind: ClassVar[str] = "table"
    words: tuple[Words | NetworkTexts, ...]  # one for each column of texts
    parts: tuple[Part, ...]  # what each other column becomes
    # (d,), where there are both: a feature x of ``parts`` becomes scale * x - shift; else empty
    scales: Floats
    shifts: Floats

    def __post_init__(self) -> None:
        check_distinct(self.names, "columns")
        d = sum(len(part.feature_names) for part in self.parts) if self.words else 0
        check(self.scales.size == self.shifts.size == d, "a scale for each feature")

    @classmethod
    def learn(cls, words: Sequence[Words | NetworkTexts], parts: Sequence[Part], C: Floats) -> Self:
        """Learn the weights of the other columns from their features C, shape (n, d)."""
        if not words or not parts:
            return cls(tuple(words), tuple(parts), frozen(np.zeros(0)), frozen(np.zeros(0)))
        is_number = [not isinstance(part, Choice) for part in parts for _ in part.feature_names]
        C = C.astype(np.float64, copy=False)  # as the words are
        largest = np.abs(C).max(axis=0)
        relative = C / np.where(largest > 0, largest, 1.0)  # numbers however large
        with np.errstate(divide="ignore", over="ignore"):
            scales = 1 / (np.std(relative, axis=0) * largest)
        scales = np.where(is_number, np.where(np.isfinite(scales), scales, 0.0), 1.0)
        shifts = np.where(is_number, np.mean(relative, axis=0) * (largest * scales), 0.0)
        length = np.sqrt(np.mean(np.sum((C * scales - shifts) ** 2, axis=1))) or 1.0
        return cls(tuple(words), tuple(parts), frozen(scales / length), frozen(shifts / length))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, texts first."""
        return (*(one.column for one in self.words), *(part.name for part in self.parts))

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(name for part in (*self.words, *self.parts) for name in part.feature_names)

    @property
    def n_features(self) -> int:
        """Number of features, d."""
        return len(self.feature_names)

    def join(self, W: Sequence[Features], C: Floats) -> Features:
        """Stack the features of each text column, shape (n, d_i), and of the other columns, shape (n, d)."""
        others = [C * self.scales - self.shifts if self.words else C] if self.parts else []
        if len(W) + len(others) == 1:
            return [*W, *others][0]
        if not any(map(sp.issparse, W)):
            return np.hstack([*W, *others])
        return sp.csr_array(sp.hstack([*W, *map(sp.csr_array, others)], format="csr"))

    def encode(
        self, sheet: Sheet, located: EncoderChoice | None = None
    ) -> tuple[Features, tuple[str, ...] | None, list[str]]:
        """Encode another table in the same way; returns X of shape (n, d), texts or None, and notes."""
        sheet.check(self.names, "a feature")
        references = [one.encoder for one in self.words if isinstance(one, NetworkTexts)]
        network = references[0].load("texts", located) if references else None
        cells = [cells_of(sheet, one.column, "the text column") for one in self.words]
        encoded = [one.encode(texts, network) for one, texts in zip(self.words, cells, strict=True)]
        C, more = encode_parts(self.parts, sheet)
        notes = [note for _, about in encoded for note in about] + more
        return self.join([X for X, _ in encoded], C), joined_texts(cells), notes


def encode_table(sheet: Sheet, roles: Roles, reserved: set[str]) -> Encoded:
    """Choose features, learn their encoding, and encode the table; reserved columns have another role."""
    texts, network = roles.texts, roles.encoder
    words: list[Words | NetworkTexts] = []
    W: list[Features] = []
    about: dict[str, None] = {}
    encoder = None if network is None or not texts else load_encoder(network, "texts")
    for name in texts:
        cells = cells_of(sheet, name, f"the text column ({sheet.option('text')})")
        one: Words | NetworkTexts
        if network is None or encoder is None:
            one = Words.learn(name, cells, f"{sheet.path}, column {quoted(name)}")
            X, notes = one.encode(cells)
        else:
            one, X, notes = NetworkTexts.learn(name, network, encoder, cells)
        words.append(one)
        W.append(X)
        about |= dict.fromkeys(notes)
    chosen = Chosen() if roles.text_only else choose_features(sheet, roles.features, reserved | set(texts))
    if not words and not chosen.parts:
        reasons = f" ({'; '.join(notes_of(chosen.uses))})" if chosen.uses else ""
        raise ValueError(
            f"{sheet.path}: at least one column must be a feature; found none{reasons}. "
            f"Add columns of numbers, or name a column of text with {sheet.option('text')}."
        )
    C, notes = encode_parts(chosen.parts, sheet, chosen.parsed)
    encoding = TableEncoding.learn(words, chosen.parts, C)
    uses = (*(ColumnUse(one.column, "text", len(one.feature_names), one.remark()) for one in words), *chosen.uses)
    summary = filter(None, (*dict.fromkeys(one.summary() for one in words), summary_of(chosen.uses)))
    lines = notes_of(uses if chosen.parts else chosen.uses)
    if words and chosen.parts:
        option = sheet.option("text_only")
        lines = [f"other columns are used as well as the texts; {option} leaves them out", *lines]
    return Encoded(encoding, encoding.join(W, C), ", ".join(summary), (*lines, *about, *notes), uses)


def cells_of(sheet: Sheet, name: str, role: str) -> tuple[str, ...]:
    """Read a column of texts, length n."""
    return tuple(text or "" for text in sheet.texts(name, role).to_pylist())


def joined_texts(cells: Sequence[tuple[str, ...]]) -> tuple[str, ...] | None:
    """Join the texts of each example, length n; None without a column of texts."""
    return tuple("\n".join(filter(None, row)) for row in zip(*cells, strict=True)) if cells else None
