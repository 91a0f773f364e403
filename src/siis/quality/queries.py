"""What to label, or to check, next."""

from __future__ import annotations

import numpy as np
from scipy.special import entr

from siis._types import Bools, Floats, Ints
from siis.graph import Graph
from siis.result_table import Table

COLUMNS = ("index", "action", "gain")
NEVER = -1.0  # below every gain


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
    return Table(zip(COLUMNS, (index, np.where(has_label, "check", "label"), gains), strict=True))
