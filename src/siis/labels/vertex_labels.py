"""Labels of examples as labelled vertices of the graph."""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from siis._types import Floats, Ints
from siis.engine import Engine
from siis.engine.lazy import cached_property
from siis.labels.coding import coded


@dataclass(frozen=True, eq=False)
class VertexLabels:
    """The distinct (vertex, label) pairs that were given, each with its weight.

    A verified label has three times its weight in an answer, but counts once where models are compared and classes
    are counted: labels that were checked are the doubtful ones, and would dominate.
    """

    rows: Ints  # (l,), vertices
    Y: Floats  # (l, c), distributions over the classes, one-hot where verified
    weights: Floats  # (l,), sums over the examples with this label
    counts: Floats = None  # type: ignore[assignment]  # set below
    global_stats: tuple[float, Floats] | None = (
        None  # on a shard: mean count and class frequencies (c,) of all labels
    )

    def __post_init__(self) -> None:
        if self.counts is None:
            object.__setattr__(self, "counts", self.weights)

    @property
    def normalized_weights(self) -> Floats:
        """The weights over the mean count, shape (l,): verified labels do not make the others weaker."""
        return np.asarray(self.weights / (self.counts.mean() if self.global_stats is None else self.global_stats[0]))

    @property
    def normalized_counts(self) -> Floats:
        """The counts over their mean, shape (l,), for models of the features, which would forget the other labels.

        A verified label is right, but represents no more examples than any other.
        """
        return np.asarray(self.counts / self.counts.mean())

    @property
    def n_classes(self) -> int:
        """Number of classes, c."""
        return int(self.Y.shape[1])

    @property
    def codes(self) -> Ints:
        """The likeliest class of each label, shape (l,)."""
        return np.asarray(np.argmax(self.Y, axis=1))

    @property
    def coded(self) -> Floats:
        """The labels in the paper's coding, shape (l, 1) for two classes, else (l, c)."""
        return coded(self.Y)

    @cached_property
    def prior(self) -> Floats:
        """Frequencies of the given classes, shape (c,)."""
        if self.global_stats is not None:
            return self.global_stats[1]
        share: Floats = self.counts @ self.Y / self.counts.sum()
        return share

    def in_shards(self, engine: Engine) -> "VertexLabels":
        """The same labels as a part of those of all shards."""
        total = engine.total_sum(self.counts @ self.Y)
        mean = float(engine.total_sum(self.counts.sum())) / engine.total_count(self.rows.size)
        return replace(self, global_stats=(mean, total / total.sum()))

    def relabel(self, place: Ints) -> "VertexLabels":
        """Rename the vertices: row r becomes place[r]. place: (n_vertices,)."""
        return VertexLabels(place[self.rows], self.Y, self.weights, self.counts)

    def subset(self, which: Ints) -> "VertexLabels":
        """Keep some of the labels."""
        return VertexLabels(self.rows[which], self.Y[which], self.weights[which], self.counts[which])

    def aggregate(self) -> "VertexLabels":
        """Make one label of all those at a vertex: their weighted mean, with the sum of their weights."""
        rows, place = np.unique(self.rows, return_inverse=True)
        weights = np.bincount(place, self.weights).astype(np.float64)
        shares = sp.csr_array((self.weights / weights[place], (place, np.arange(place.size))))
        Y = np.asarray(shares @ self.Y, self.Y.dtype)
        return VertexLabels(rows, Y, weights, np.bincount(place, self.counts).astype(np.float64))


def gather(
    vertex: Ints, Y: Floats, weights: Floats, kinds: Ints | None = None, counts: Floats | None = None
) -> VertexLabels:
    """Add up equal labels of one vertex; Y: (l, c); counts: the weights as if no label were verified."""
    kinds = label_kinds(Y) if kinds is None else kinds
    n_kinds = kinds.max() + 1
    pairs, first, index = np.unique(vertex * n_kinds + kinds, return_index=True, return_inverse=True)
    totals, counted = (
        np.bincount(index, numbers).astype(np.float64) for numbers in (weights, weights if counts is None else counts)
    )
    return VertexLabels(pairs // n_kinds, Y[first], totals, counted)


def label_kinds(Y: Floats) -> Ints:
    """Number the distinct rows of Y, shape (l, c); verified labels in the order of their classes; returns (l,)."""
    distinct, kinds = np.unique(Y, axis=0, return_inverse=True)
    return np.asarray(len(distinct) - 1 - kinds.ravel())  # the first column's label comes first
