"""Features of a table, the encoder for more rows, and notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from siis._types import Features
from siis.encode import EncoderChoice, load_encoder
from siis.tables.choosing import Chosen, choose_features
from siis.tables.column_uses import ColumnUse, notes_of, summary_of
from siis.tables.columns import Columns
from siis.tables.ids_and_labels import texts_of
from siis.tables.joined import Joined
from siis.tables.network_features import NetworkTexts
from siis.tables.sheet import Sheet
from siis.tables.tfidf import Words
from siis.texts import quoted

TableEncoding: TypeAlias = Columns | Words | NetworkTexts | Joined


@dataclass(frozen=True, eq=False)
class Encoded:
    """The features of a table and their encoder."""

    encoder: TableEncoding
    X: Features  # (n, d)
    uses: tuple[ColumnUse, ...]  # of the columns that could be features
    summary: str
    notes: tuple[str, ...]


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
        lines = (*notes_of(chosen.uses), *notes)
        return Encoded(columns, C, tuple(chosen.uses), summary_of(chosen.uses), lines)
    words, W, about = _learn_words(sheet, texts, network)
    summary = ", ".join(dict.fromkeys(one.summary() for one in words))
    uses = [ColumnUse(one.column, "text", one.n_features, one.remark()) for one in words]
    chosen = Chosen() if text_only else choose_features(sheet, features, reserved | set(texts))
    uses += chosen.uses
    if not chosen.parts:
        alone = Joined.of_words(words)
        encoder, X = (words[0], W[0]) if len(words) == 1 else (alone, alone.join(W, None))
        return Encoded(encoder, X, tuple(uses), summary, (*notes_of(chosen.uses), *about))
    columns, C, notes = chosen.encoded(sheet)
    joined = Joined.learn(words, columns, C)
    together = f"other columns are used as well as the texts; {sheet.option('text_only')} leaves them out"
    lines = (together, *notes_of(uses), *about, *notes)
    return Encoded(joined, joined.join(W, C), tuple(uses), f"{summary}, {summary_of(chosen.uses)}", lines)


def encode_again(
    encoder: TableEncoding, sheet: Sheet, located: EncoderChoice | None = None
) -> tuple[Features, tuple[str, ...] | None, list[str]]:
    """Encode another table in the same way; returns X of shape (n, d), texts or None, and notes."""
    sheet.check(encoder.names if isinstance(encoder, Columns | Joined) else (encoder.column,), "a feature")
    if isinstance(encoder, Columns):
        C, notes = encoder.encode(sheet)
        return C, None, notes
    words = encoder.words if isinstance(encoder, Joined) else (encoder,)
    cells = [cells_of(sheet, one.column, "the text column") for one in words]
    network = next((one.encoder.load("texts", located) for one in words if isinstance(one, NetworkTexts)), None)
    encoded = [one.encode(column, network) for one, column in zip(words, cells, strict=True)]
    notes = [note for _, more in encoded for note in more]
    if not isinstance(encoder, Joined):
        return encoded[0][0], cells[0], notes
    W = [X for X, _ in encoded]
    if encoder.columns is None:
        return encoder.join(W, None), shown_texts(cells), notes
    C, more = encoder.columns.encode(sheet)
    return encoder.join(W, C), shown_texts(cells), notes + more


def cells_of(sheet: Sheet, name: str, role: str) -> tuple[str, ...]:
    """Read a column of texts, length n."""
    return tuple(text or "" for text in texts_of(sheet, name, role).to_pylist())


def shown_texts(cells: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Join the texts of each example, length n."""
    return cells[0] if len(cells) == 1 else tuple("\n".join(filter(None, row)) for row in zip(*cells, strict=True))


def _learn_words(
    sheet: Sheet, texts: tuple[str, ...], network: EncoderChoice | None
) -> tuple[list[Words | NetworkTexts], list[Features], list[str]]:
    words: list[Words | NetworkTexts] = []
    W: list[Features] = []
    about: list[str] = []
    encoder = None if network is None else load_encoder(network, "texts")
    for name in texts:
        cells = cells_of(sheet, name, f"the text column ({sheet.option('text')})")
        one: Words | NetworkTexts
        X: Features
        notes: Sequence[str]
        if network is None or encoder is None:
            one = Words.learn(name, cells, f"{sheet.path}, column {quoted(name)}")
            X, notes = one.encode(cells)
        else:
            one, X, notes = NetworkTexts.learn(name, network, encoder, cells)
        words.append(one)
        W.append(X)
        about += notes
    return words, W, list(dict.fromkeys(about))
