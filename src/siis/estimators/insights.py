"""What a graph gives in addition to answers: near-duplicates, outliers, overlap, annotators, labels enough."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from siis._types import Floats, Ints
from siis.graph import Graph, Neighbors, knn_from_graph
from siis.labels import VertexLabels
from siis.labels.given_labels import VERIFIED_WEIGHT
from siis.labels.unlabelled import coded_rows
from siis.model.choose import Choices
from siis.parameters import COUNT
from siis.quality.annotators import annotator_table
from siis.quality.learning_curve import LEAST_LABELS, TOO_FEW, LabelGain, label_gain, learning_curve
from siis.quality.listings import VERIFIED, representatives
from siis.quality.overlap import overlap_table
from siis.quality.unusual_examples import isolation, near_duplicate_table, outlier_table
from siis.result_table import Table

N_NEIGHBORS = 10  # of each example that are looked at, where the graph has as many
LEAST_NEIGHBORS = 2  # the farthest one is the scale for the others


class Insights:
    """Methods of a fitted classifier that read its graph and what was said of held-out labels."""

    graph_: Graph
    vertex_: Ints
    classes_: Any
    affinity: str
    neighbor_search: Any
    bandwidth: float | str
    label_distributions_: Floats
    held_out_distributions_: Floats
    label_quality_: Floats
    noise_matrix_: Floats
    noise_rate_: float
    noise_interval_: tuple[float, float]
    _points: Any
    _n_neighbors: int
    _choices: Choices
    _given_codes: Ints
    _codes: Ints
    _seed: int

    @abstractmethod
    def _need_judged(self, name: str) -> None:
        """Refuse where no labels were judged."""

    def near_duplicates(self) -> Table:
        """List groups of equal and nearly equal examples; those whose labels differ come first.

        Examples are near-duplicates where they are so much closer to each other than to the other examples around
        them that chance would hardly make one such pair in all the data (docs/math.md, (C14)). Distances are those
        of the features, in the space that the search has chosen; what the labels say does not count.

        Returns
        -------
        Table
            Columns: group, numbered from 0; index of the example; given class, or None; distance to the closest
            other example of the group, over the distance of the farthest of its ten neighbours (0: equal);
            labels_differ, whether the labels of the group are of several classes.
        """
        near = self._near_features("near_duplicates")
        return near_duplicate_table(near, self.vertex_, self._codes, self.classes_)

    def outliers(self) -> Table:
        """List the examples that are far from all others, the farthest first.

        The score is how many times as far an example is from its neighbours as these are from theirs; listed are
        those whose score the others' would hardly reach by chance (docs/math.md, (C15)).

        Returns
        -------
        Table
            Columns: index of the example, given class or None, score.
        """
        near = self._near_features("outliers")
        example = representatives(self.vertex_, coded_rows(self._codes), self.graph_.n_vertices)
        return outlier_table(isolation(near), example, self._codes, self.classes_)

    def class_overlap(self) -> Table:
        """Rank the pairs of classes by how often one is taken for the other.

        An example of one class counts as taken for the other where that is the answer without its own label
        (docs/math.md, (C16)).

        Returns
        -------
        Table
            Columns: first and second class; overlap, the share of the examples of both that are taken for the other,
            with its 95 % interval, low and high; mislabelled, the estimated share of the labels of both that have the
            other's name. The largest overlap first; pairs of less than one such example are left out.
        """
        self._need_held_out("class_overlap")
        P, codes = self.held_out_distributions_, self._given_codes
        which = np.flatnonzero(np.isfinite(P).all(axis=1) & coded_rows(codes))
        answers, truth = np.argmax(P[which], axis=1), self.label_distributions_[which]
        seed = self._seed
        return overlap_table(answers, truth, np.ones(which.size), self.noise_matrix_, self.classes_, seed)

    def rank_annotators(self, example: Any, annotator: Any, label: Any) -> Table:
        """Rank those who have given labels by how many of these are right, worst first.

        A label is judged by what the graph and the models say of its example without any label of it, and by what the
        other annotators have said of the same example (docs/math.md, (C17)). These need not be the labels of the fit.

        Parameters
        ----------
        example : array-like of int, shape (m,)
            Index of the labelled example.
        annotator : array-like of shape (m,)
            Who has labelled it; names are compared as texts.
        label : array-like of shape (m,)
            The class that was given, one of ``classes_``.

        Returns
        -------
        Table
            Columns: annotator; labels, their number; agreement, the share of them that are the likeliest class by all
            else; right, the estimated share of right ones, with its 95 % interval, low and high; said, instead_of and
            times: the class that was said most often in the place of another one, and how often (None and 0 where
            that is not even once).
        """
        self._need_held_out("rank_annotators")
        index = np.asarray(example, dtype=np.int64).ravel()
        who, said = (np.asarray(given, dtype=object).ravel() for given in (annotator, label))
        n = self.vertex_.size
        if not index.size == who.size == said.size > 0:
            raise ValueError(
                "example, annotator and label must have one entry for each label, and at least one; found "
                f"{index.size}, {who.size} and {said.size}"
            )
        if index.min() < 0 or index.max() >= n:
            raise ValueError(
                f"example must hold indices of examples, 0 to {n - 1}; found {index.min()} to {index.max()}"
            )
        number = {str(name): k for k, name in enumerate(self.classes_)}
        unknown = [name for name in said if str(name) not in number]
        if unknown:
            raise ValueError(f"label must hold classes of the model, {', '.join(number)}; found {unknown[0]!r}")
        codes = np.array([number[str(name)] for name in said])
        return annotator_table(index, who, codes, self._known_without_labels(), self.classes_)

    def label_gain(self, n_labels: int = 100) -> LabelGain:
        """Estimate what further labels of examples that are drawn at random would gain: are there labels enough?

        Labels are held out and met by all, some and fewer of the others, on the graph of the fit; the share of right
        answers, wrong labels allowed for, is continued to more labels (docs/math.md, (C19)). What
        ``suggest_queries`` asks for should gain more than labels at random do.

        Parameters
        ----------
        n_labels : int
            How many further labels.

        Returns
        -------
        LabelGain
            Accuracy of the answers now with its 95 % interval (``accuracy``, ``accuracy_low``, ``accuracy_high``) and
            ``after`` the labels; ``gain`` with its interval, ``low`` and ``high``. Where too few labels can be held
            out, all are NaN, and ``reason`` says so.
        """
        self._need_judged("label_gain")
        if not COUNT.holds(n_labels):
            raise ValueError(f"n_labels must be {COUNT.text}; found {n_labels!r}")
        codes, P, seed = self._given_codes, self.held_out_distributions_, self._seed
        used = np.flatnonzero(coded_rows(codes) & (self.vertex_ >= 0))
        is_verified = self.label_quality_[used] == VERIFIED
        weights, c = np.where(is_verified, VERIFIED_WEIGHT, 1.0), self.classes_.size
        given = VertexLabels(self.vertex_[used], np.eye(c)[codes[used]], weights, np.ones(used.size))
        may_hold_out = np.asarray(np.isfinite(P[used]).all(axis=1))
        if (found := np.count_nonzero(may_hold_out)) < LEAST_LABELS:
            return LabelGain(int(n_labels), reason=TOO_FEW.format(least=LEAST_LABELS, found=found))
        which, sizes, correct = learning_curve(
            self.graph_.weights, given, self._choices.leading.fidelity, may_hold_out, seed
        )
        now = np.argmax(P[used[which]], axis=1) == codes[used[which]]
        noise = (self.noise_rate_, *self.noise_interval_)
        return label_gain(correct, sizes, now, is_verified[which], noise, c, used.size, int(n_labels), seed)

    def _known_without_labels(self) -> Floats:
        """Class probabilities without examples' own labels, (n, c); verified labels are true, unknown rows 1 / c."""
        c = self.classes_.size
        is_free = ~coded_rows(self._given_codes) | (self.label_quality_ == VERIFIED)
        P = np.where(np.isfinite(self.held_out_distributions_), self.held_out_distributions_, 1 / c)
        return np.where(is_free[:, None], self.label_distributions_, P)

    def _need_held_out(self, name: str) -> None:
        self._need_judged(name)
        if not np.isfinite(self.held_out_distributions_).any() or not np.isfinite(self.noise_matrix_).all():
            raise ValueError(
                f"{name} needs labels that were held out; none was. Label two examples or more of each class."
            )

    @property
    def _compares_features(self) -> bool:
        """Whether the graph was made of features, and has neighbours enough to tell what is close."""
        k = min(self._n_neighbors, self.graph_.n_vertices - 1)
        return self.affinity != "precomputed" and k >= LEAST_NEIGHBORS

    def _near_features(self, name: str) -> Neighbors:
        """Nearest neighbours, those of the graph."""
        check_is_fitted(self)
        if not hasattr(self, "_codes"):
            raise ValueError(f"{name} needs a model that was fitted by siis 0.2 or later: fit it again")
        if not self._compares_features:
            raise ValueError(
                f"{name} needs a graph of features with {LEAST_NEIGHBORS} neighbours or more of each example; this "
                f"one is ready-made or has {min(self._n_neighbors, self.graph_.n_vertices - 1)}. Fit to features, "
                "with n_neighbors='auto'."
            )
        k = min(self._n_neighbors, self.graph_.n_vertices - 1, N_NEIGHBORS)
        return knn_from_graph(self.graph_, self._points, k)
