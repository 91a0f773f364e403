"""Why an example got its label: its neighbours on the graph, and the columns in which it differs from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from siis._types import Floats, Ints
from siis.labels.unlabelled import named
from siis.quality.listings import representatives
from siis.saved import Saved
from siis.tables.contrast import contrast
from siis.tables.features import TableEncoding
from siis.tables.recipe import Recipe
from siis.texts import did_you_mean, quoted

N_NEIGHBORS, N_CLASSES = 10, 3
DOUBTFUL = 0.5  # quality below which a label is called likely wrong


@dataclass(frozen=True)
class NearExample:
    """A neighbour on the graph."""

    id: str
    label: str
    given: str | None
    checked: bool
    weight: float  # share of the edge in all edges of the example
    snippet: str | None


@dataclass(frozen=True)
class ComparedColumn:
    """A column of the table: the value of an example and those of its neighbours."""

    name: str
    value: str
    neighbors: list[str]
    differs: list[bool]  # clearly, by ``siis.tables.contrast.MARKED``; one for each neighbour
    is_number: bool  # numbers, amounts or dates
    is_feature: bool  # False if examples were compared by other columns


@dataclass(frozen=True)
class Explanation:
    """The evidence for a prediction."""

    id: str
    label: str
    probability: float
    given: str | None
    checked: bool
    quality: float | None  # probability that the given label is right
    likeliest: list[tuple[str, float]]  # classes with probabilities, likeliest first
    without_own_label: list[tuple[str, float]] | None  # the same with its own label held out
    neighbors: list[NearExample]  # largest edge weight first
    # its cells and those of its neighbours; empty if there is no table, or if it was too large to save
    values: list[ComparedColumn]
    values_note: str | None  # why no table is shown
    sentences: list[str]  # the same in words


def explain(saved: Saved, name: str) -> Explanation:
    """Explain the prediction for the example of this id."""
    extra, model = saved.extra, saved.model
    if "ids" not in extra:
        raise ValueError("the model must come from siis fit; this one was saved in Python, without the ids.")
    ids = extra["ids"]
    if name not in ids:
        raise ValueError(
            f"the id must be one of the {len(ids):,} examples; there is no {name!r}. "
            + (did_you_mean(name, ids) or f"The first is {quoted(ids[0])}.")
        )
    i = ids.index(name)
    P, classes = model.label_distributions_, [str(c) for c in model.classes_]
    winners = np.argmax(P, axis=1)
    quality = getattr(model, "label_quality_", np.full(len(P), np.nan))[i]
    held_out = getattr(model, "held_out_distributions_", np.full(P.shape, np.nan))[i]
    near, shares = _nearest(saved, i)
    snippets = extra["snippets"] or [None] * len(ids)
    found = Explanation(
        id=name,
        label=classes[winners[i]],
        probability=float(P[i].max()),
        given=extra["given"][i],
        checked=bool(extra["verified"][i]),
        quality=None if np.isnan(quality) else float(quality),
        likeliest=_likeliest(P[i], classes),
        without_own_label=None if np.isnan(held_out).any() else _likeliest(held_out, classes),
        neighbors=[
            NearExample(
                ids[j], classes[winners[j]], extra["given"][j], bool(extra["verified"][j]), share, snippets[j]
            )
            for j, share in zip(near.tolist(), shares.tolist(), strict=True)
        ],
        values=compare_columns(extra, i, near.tolist(), (winners[near] == winners[i]).tolist()),
        values_note=extra.get("row_note"),
        sentences=[],
    )
    found.sentences.extend(_sentences(found, bool(model.is_reached_[i])))
    return found


def _likeliest(row: Any, classes: list[str]) -> list[tuple[str, float]]:
    return [(classes[k], float(row[k])) for k in np.argsort(-row, kind="stable")[:N_CLASSES]]


def _nearest(saved: Saved, i: int) -> tuple[Ints, Floats]:
    """An example at each of the closest vertices of the graph, and the shares of their edges."""
    model = saved.model
    v = int(model.vertex_[i])
    if v < 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    W = model.graph_.weights
    part = slice(W.indptr[v], W.indptr[v + 1])
    order = np.argsort(-W.data[part], kind="stable")[:N_NEIGHBORS]
    has_label = named(saved.extra["given"])
    example = representatives(model.vertex_, has_label, model.graph_.n_vertices)
    return example[W.indices[part][order]], W.data[part][order] / W.data[part].sum()


def _sentences(found: Explanation, is_reached: bool) -> list[str]:
    sentences = [f"It is classified as {found.label}, with a probability of {found.probability:.2f}."]
    if found.checked:
        sentences.append(f"A reviewer has checked its label, {found.given}; this determines the prediction.")
    elif found.given is None:
        sentences.append("It has no given label.")
    elif found.quality is None:
        sentences.append(f"Its given label is {found.given}.")
    else:
        verdict = "likely wrong" if found.quality < DOUBTFUL else "likely right"
        sentences.append(f"Its given label is {found.given}, which is {verdict} (quality {found.quality:.2f}).")
    if found.without_own_label is not None and not found.checked:
        name, p = found.without_own_label[0]
        sentences.append(f"Without its own label, it would be classified as {name}, with a probability of {p:.2f}.")
    if found.neighbors:
        same = sum(near.label == found.label for near in found.neighbors)
        share = sum(near.weight for near in found.neighbors if near.label == found.label)
        sentences.append(
            f"Of its {len(found.neighbors)} closest neighbours on the graph, {same} are classified as {found.label} "
            f"({share:.0%} of all its connections)."
        )
    if not is_reached:
        sentences.append("No label is connected to it on the graph: do not rely on this answer.")
    return sentences


def compare_columns(
    extra: Mapping[str, Any], i: int, near: Sequence[int], alike: Sequence[bool]
) -> list[ComparedColumn]:
    """Compare an example with its neighbours (``near``); columns that separate it from those of its class come first.

    Numbers differ by deviations of the column, texts by 1, or less where it has many values; columns that are no
    features come last. ``alike``: neighbours of its class; all count if there is none. Empty without a table.
    """
    names, lines = extra.get("row_names"), extra.get("row_cells")
    if names is None or lines is None or not near:
        return []
    counted = [j for j, is_alike in zip(near, alike, strict=True) if is_alike] or list(near)
    features = _compared_by(extra) or set(names)
    decimal = extra["row_decimal"]
    found = []
    for name, text in zip(names, lines, strict=True):
        cells = text.split("\n")
        read = contrast(pa.array(cells), decimal, (i, *near))
        marks = [read.differs(i, j) for j in near]
        is_number = read.spread is not None and not read.is_truth
        column = ComparedColumn(name, cells[i], [cells[j] for j in near], marks, is_number, name in features)
        apart = read.weight * float(np.mean([read.apart(i, j) for j in counted]))
        found.append(((not column.is_feature, -apart), column))
    return [column for _, column in sorted(found, key=lambda pair: pair[0])]  # equal ones in the file's order


def _compared_by(extra: Mapping[str, Any]) -> set[str]:
    """The columns by which examples were compared; none where it was not by columns."""
    if extra["recipe"] is None:
        return set()
    encoder = Recipe.from_plain(extra["recipe"], extra["recipe_arrays"]).encoder
    return set(encoder.names) if isinstance(encoder, TableEncoding) else set()
