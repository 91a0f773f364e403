"""What a reviewer is shown: given labels in order of quality, label issues, and what to label or check next."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import entr

from siis._types import Bools, Floats, Ints
from siis.graph import Graph
from siis.parameters import COUNT, NON_NEGATIVE
from siis.result_table import Table

N_WITNESSES = 5
RANKED = ("index", "given", "suggested", "quality")
QUERY_COLUMNS = ("index", "action", "gain")
NEVER = -1.0  # below every gain
VERIFIED = 1.0  # the quality of a label that somebody has checked, and of no other
BELOW_VERIFIED = float(np.nextafter(VERIFIED, 0.0))


def suspect_labels(quality: Floats, is_other: Bools, rate: float) -> Bools:
    """Labels to list, (k,): those more likely wrong than right, and the next worst up to the expected number."""
    is_open = quality < VERIFIED
    found = is_open & ((quality < 0.5) | is_other)
    return found if np.isnan(rate) else found | worst_labels(quality, round(rate * np.count_nonzero(is_open)))


def worst_labels(quality: Floats, n: int) -> Bools:
    """The n unverified labels of the lowest quality, (k,); equal ones by their order."""
    worst = np.argsort(np.where(quality < VERIFIED, quality, np.inf), kind="stable")[:n]
    found = np.zeros(quality.size, dtype=bool)
    found[worst[quality[worst] < VERIFIED]] = True
    return found


def listed_labels(quality: Floats, suspects: Bools, threshold: float | None, n: int | None) -> Bools:
    """The labels to list, (k,): the suspects, or those below a threshold of the quality, or the n worst."""
    if not (threshold is None or NON_NEGATIVE.holds(threshold)):
        raise ValueError(f"threshold must be None or {NON_NEGATIVE.text}; found {threshold!r}")
    if not (n is None or COUNT.holds(n)):
        raise ValueError(f"n must be None or {COUNT.text}; found {n!r}")
    if threshold is not None and n is not None:
        raise ValueError("threshold and n exclude each other; found both. Leave one out.")
    if n is not None:
        return worst_labels(quality, n)
    return suspects if threshold is None else np.nan_to_num(quality, nan=np.inf) < threshold


def other_classes(P: Floats, codes: Ints, suggested: Ints) -> Ints:
    """The suggested classes, (k,); where that is the given one, the likeliest other by P, (k, c), if it is known."""
    others = P.copy()
    others[np.arange(codes.size), codes] = -1.0
    is_known = np.isfinite(P).all(axis=1)
    return np.where((suggested == codes) & is_known, np.argmax(np.nan_to_num(others), axis=1), suggested)


def ranking_table(index: Ints, given: Any, suggested: Any, quality: Floats) -> Table:
    """Table of labels, worst first, verified ones last, equal ones by index; all (k,), quality NaN where unknown."""
    order = _worst_first(index, quality)
    return Table(zip(RANKED, (index[order], given[order], suggested[order], quality[order]), strict=True))


def issue_table(
    index: Ints,
    given: Any,
    suggested: Any,
    quality: Floats,
    neighbors: list[list[int]],
) -> Table:
    """Table of suspects, worst first, with the neighbours that disagree with each label; all of length k."""
    against = np.empty(index.size, dtype=object)
    against[:] = [neighbors[i] for i in _worst_first(index, quality)]
    return Table({**ranking_table(index, given, suggested, quality), "neighbors": against})


def _worst_first(index: Ints, quality: Floats) -> Ints:
    return np.lexsort((index, np.nan_to_num(quality, nan=BELOW_VERIFIED)))


def dissenting_neighbors(graph: Graph, vertex: int, winners: Ints, code: int, example: Ints) -> list[int]:
    """Examples at the heaviest neighbours whose class, of ``winners``, (n_vertices,), differs from the given one."""
    W = graph.weights
    part = slice(W.indptr[vertex], W.indptr[vertex + 1])
    near, weights = W.indices[part], W.data[part]
    against = winners[near] != code
    near, weights = near[against], weights[against]
    return [int(i) for i in example[near[np.argsort(-weights, kind="stable")[:N_WITNESSES]]]]


def representatives(vertex: Ints, has_label: Bools, n_vertices: int) -> Ints:
    """An example at each vertex, (n_vertices,): the first with a label, else the first; vertex, has_label: (n,)."""
    example = np.zeros(n_vertices, dtype=np.int64)
    for rows in (np.flatnonzero(vertex >= 0), np.flatnonzero((vertex >= 0) & has_label)):
        example[vertex[rows[::-1]]] = rows[::-1]
    return example


def entropy(P: Floats) -> Floats:
    """Entropy of each row, over log c: 0 to 1, shape (n,)."""
    return np.asarray(entr(P).sum(axis=1) / np.log(max(P.shape[1], 2)))


def ranked_vertices(graph: Graph, doubt: Floats, n: int) -> tuple[list[int], list[float]]:
    """Pick at most n vertices, with gains: doubt, (n_vertices,), times reach, less what former picks show.

    The reach is the doubt of the neighbourhood, sum_j w_ij doubt_j / d_i, averaged with the vertex's own. A pick
    takes the share w_ij / max w of their gain from its neighbours, and all of its own.
    """
    W, degrees = graph.weights, graph.degrees
    around = np.divide(W @ doubt, degrees, out=doubt.copy(), where=degrees > 0)
    gain = np.where(doubt > 0, doubt * (doubt + around) / 2, NEVER)
    heaviest = float(W.data.max(initial=0.0)) or 1.0
    picked: list[int] = []
    gains: list[float] = []
    for _ in range(min(n, int(np.count_nonzero(doubt > 0)))):
        v = int(np.argmax(gain))
        picked.append(v)
        gains.append(float(gain[v]))
        part = slice(W.indptr[v], W.indptr[v + 1])
        near = W.indices[part]
        gain[near] *= np.where(gain[near] > 0, 1 - W.data[part] / heaviest, 1.0)
        gain[v] = NEVER
    return picked, gains


def query_table(index: Ints, has_label: Bools, gains: Floats) -> Table:
    """Table of queries: example, "label" or "check" (where it has a label), and gain; all (k,)."""
    return Table(zip(QUERY_COLUMNS, (index, np.where(has_label, "check", "label"), gains), strict=True))
