"""Features of a table: texts and other columns, alone or joined; the encoder for more rows, and notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self, TypeAlias

import numpy as np
import scipy.sparse as sp

from siis._types import Features, Floats
from siis.encode import EncoderChoice, load_encoder
from siis.plain_data import check, check_distinct, frozen
from siis.tables.choosing import Chosen, ColumnUse, choose_features, notes_of, summary_of
from siis.tables.columns import Choice, Columns
from siis.tables.examples import Encoded
from siis.tables.network_features import NetworkTexts
from siis.tables.sheet import Sheet
from siis.tables.tfidf import Words
from siis.texts import quoted


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

    @property
    def _parts(self) -> tuple[Words | NetworkTexts | Columns, ...]:
        return (*self.words, *(() if self.columns is None else (self.columns,)))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, texts first."""
        return tuple(name for part in self._parts for name in part.names)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(name for part in self._parts for name in part.feature_names)

    @property
    def n_features(self) -> int:
        """Number of features, d."""
        return len(self.feature_names)

    def join(self, texts: Sequence[Features], C: Floats | None = None) -> Features:
        """Stack the features of each text column, shape (n, d_i), and of the other columns, shape (n, d)."""
        others = [] if C is None or not C.shape[1] else [C * self.scales - self.shifts]
        if not any(sp.issparse(X) for X in texts):
            return np.hstack([*texts, *others])
        return sp.csr_array(sp.hstack([*texts, *map(sp.csr_array, others)], format="csr"))


TableEncoding: TypeAlias = Columns | Words | NetworkTexts | Joined


def encode_table(
    sheet: Sheet,
    features: tuple[str, ...] | None,
    texts: tuple[str, ...],
    text_only: bool,
    reserved: set[str],
    network: EncoderChoice | None = None,
) -> Encoded:
    """Choose features, learn their encoding, and encode the table; without ``features`` all usable columns count.

    ``texts`` are compared by words, or by the network if there is one; ``text_only`` uses no other columns.
    """
    if not texts:
        chosen = choose_features(sheet, features, reserved)
        columns, C, notes = chosen.encoded(sheet)
        return Encoded(columns, C, summary_of(chosen.uses), (*notes_of(chosen.uses), *notes), tuple(chosen.uses))
    words: list[Words | NetworkTexts] = []
    W: list[Features] = []
    about: dict[str, None] = {}
    encoder = None if network is None else load_encoder(network, "texts")
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
    summary = ", ".join(dict.fromkeys(one.summary() for one in words))
    uses = [ColumnUse(one.column, "text", one.n_features, one.remark()) for one in words]
    chosen = Chosen() if text_only else choose_features(sheet, features, reserved | set(texts))
    uses += chosen.uses
    if not chosen.parts:
        alone = Joined(tuple(words), None, frozen(np.zeros(0)), frozen(np.zeros(0)))
        found, X = (words[0], W[0]) if len(words) == 1 else (alone, alone.join(W))
        return Encoded(found, X, summary, (*notes_of(chosen.uses), *about), tuple(uses))
    columns, C, notes = chosen.encoded(sheet)
    joined = Joined.learn(words, columns, C)
    together = f"other columns are used as well as the texts; {sheet.option('text_only')} leaves them out"
    lines = (together, *notes_of(uses), *about, *notes)
    return Encoded(joined, joined.join(W, C), f"{summary}, {summary_of(chosen.uses)}", lines, tuple(uses))


def encode_again(
    encoder: TableEncoding, sheet: Sheet, located: EncoderChoice | None = None
) -> tuple[Features, tuple[str, ...] | None, list[str]]:
    """Encode another table in the same way; returns X of shape (n, d), texts or None, and notes."""
    sheet.check(encoder.names, "a feature")
    if isinstance(encoder, Columns):
        C, notes = encoder.encode(sheet)
        return C, None, notes
    words = encoder.words if isinstance(encoder, Joined) else (encoder,)
    cells = [cells_of(sheet, one.column, "the text column") for one in words]
    network = next((one.encoder.load("texts", located) for one in words if isinstance(one, NetworkTexts)), None)
    encoded = [one.encode(column, network) for one, column in zip(words, cells, strict=True)]
    W, notes = [X for X, _ in encoded], [note for _, more in encoded for note in more]
    if not isinstance(encoder, Joined):
        return W[0], cells[0], notes
    C, more = (np.zeros((sheet.n, 0)), []) if encoder.columns is None else encoder.columns.encode(sheet)
    return encoder.join(W, C), joined_texts(cells), notes + more


def cells_of(sheet: Sheet, name: str, role: str) -> tuple[str, ...]:
    """Read a column of texts, length n."""
    return tuple(text or "" for text in sheet.texts(name, role).to_pylist())


def joined_texts(cells: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Join the texts of each example, length n."""
    return tuple("\n".join(filter(None, row)) for row in zip(*cells, strict=True))
