"""Labels of examples as labelled vertices of the graph."""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from siis._types import Floats, Ints
from siis.engine import Engine
from siis.engine.lazy import cached_property
from siis.labels.coding import coded


@dataclass(frozen=True, eq=False)
class Supervision:
    """The distinct (vertex, label) pairs that were given, each with its weight.

    Attributes
    ----------
    rows : ndarray of shape (l,)
        Vertex.
    Y : ndarray of shape (l, c)
        Label: a distribution over the classes, one-hot where it is certain.
    weights : ndarray of shape (l,)
        Sum of the weights of the examples behind it.
    counts : ndarray of shape (l,), optional
        By how much it counts where candidates are compared and classes are counted; the weights if left out. A
        certain label weighs three in an answer, but counts as one here: those that were checked are the doubtful
        ones, and would decide.
    among : (float, ndarray of shape (c,)), optional
        Where these are some of the labels: the mean count of all, and their frequencies.
    """

    rows: Ints
    Y: Floats
    weights: Floats
    counts: Floats | None = None
    among: tuple[float, Floats] | None = None

    @property
    def votes(self) -> Floats:
        """By how much each label counts where candidates are compared, shape (l,)."""
        return self.weights if self.counts is None else self.counts

    @property
    def strengths(self) -> Floats:
        """The weights over the mean count, shape (l,): what is certain does not make the others weaker."""
        return np.asarray(self.weights / (self.votes.mean() if self.among is None else self.among[0]))

    @property
    def relative_votes(self) -> Floats:
        """The counts over their mean, shape (l,): for models of the features, which would forget the other labels.

        A certain label is right, but stands for no more examples than any other.
        """
        return np.asarray(self.votes / self.votes.mean())

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
        if self.among is not None:
            return self.among[1]
        share: Floats = self.votes @ self.Y / self.votes.sum()
        return share

    def within(self, engine: Engine) -> "Supervision":
        """The same labels, as a part of those of all shards."""
        total = engine.total(self.votes @ self.Y)
        mean = float(engine.total(self.votes.sum())) / engine.count(self.rows.size)
        return replace(self, among=(mean, total / total.sum()))

    def moved(self, place: Ints) -> "Supervision":
        """Rename the vertices: row r becomes place[r]. place: (n_vertices,)."""
        return Supervision(place[self.rows], self.Y, self.weights, self.counts)

    def picked(self, which: Ints) -> "Supervision":
        """Keep some of the labels."""
        counts = None if self.counts is None else self.counts[which]
        return Supervision(self.rows[which], self.Y[which], self.weights[which], counts)

    def merged(self) -> "Supervision":
        """Make one label of all those at a vertex: their weighted mean, with the sum of their weights."""
        rows, place = np.unique(self.rows, return_inverse=True)
        weights = np.bincount(place, self.weights).astype(np.float64)
        shares = sp.csr_array((self.weights / weights[place], (place, np.arange(place.size))))
        Y = np.asarray(shares @ self.Y, self.Y.dtype)
        counts = None if self.counts is None else np.bincount(place, self.counts).astype(np.float64)
        return Supervision(rows, Y, weights, counts)


def gather(
    vertex: Ints, Y: Floats, weights: Floats, kinds: Ints | None = None, counts: Floats | None = None
) -> Supervision:
    """Merge equal labels of examples that share a vertex: their terms in (M1) add up.

    Parameters
    ----------
    vertex : ndarray of shape (l,)
    Y : ndarray of shape (l, c)
    weights : ndarray of shape (l,)
    kinds : ndarray of shape (l,), optional
        ``label_kinds(Y)``, where they are known.
    counts : ndarray of shape (l,), optional
        The weights without what certainty adds to them.

    Returns
    -------
    Supervision
    """
    kinds = label_kinds(Y) if kinds is None else kinds
    n_kinds = kinds.max() + 1
    pairs, first, index = np.unique(vertex * n_kinds + kinds, return_index=True, return_inverse=True)
    counted = None if counts is None else np.bincount(index, counts).astype(np.float64)
    return Supervision(pairs // n_kinds, Y[first], np.bincount(index, weights).astype(np.float64), counted)


def label_kinds(Y: Floats) -> Ints:
    """Number the distinct rows of Y, shape (l, c); certain labels in the order of their classes; returns (l,)."""
    distinct, kinds = np.unique(Y, axis=0, return_inverse=True)
    return np.asarray(len(distinct) - 1 - kinds.ravel())  # the first column's label comes first
