"""Why an example got its label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from siis._types import Floats, Ints
from siis.labels.unlabelled import named
from siis.quality.listings import representatives
from siis.saved import Saved
from siis.texts import did_you_mean, quoted
from siis.workflow.neighbor_columns import ComparedColumn, compare_columns

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
    quality = getattr(model, "label_quality_", None)
    held_out = getattr(model, "held_out_distributions_", None)
    winners = np.argmax(P, axis=1)
    near, shares = _nearest(saved, i)
    found = Explanation(
        id=name,
        label=classes[winners[i]],
        probability=float(P[i].max()),
        given=extra["given"][i],
        checked=bool(extra["verified"][i]),
        quality=None if quality is None or np.isnan(quality[i]) else float(quality[i]),
        likeliest=_likeliest(P[i], classes),
        without_own_label=None
        if held_out is None or np.isnan(held_out[i]).any()
        else _likeliest(held_out[i], classes),
        neighbors=[
            _neighbor(extra, j, classes[winners[j]], share)
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


def _neighbor(extra: dict[str, Any], j: int, label: str, share: float) -> NearExample:
    snippet = None if extra["snippets"] is None else extra["snippets"][j]
    return NearExample(extra["ids"][j], label, extra["given"][j], bool(extra["verified"][j]), share, snippet)


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
