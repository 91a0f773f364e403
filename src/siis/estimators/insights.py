"""What a fitted classifier knows of its labels and examples: issues, queries, near-duplicates, overlap and more."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from siis._types import Bools, Floats, Ints
from siis.errors import Message
from siis.estimators.result import AverageFit, FitResult, LabelQuality
from siis.graph import Neighbors, knn_from_graph
from siis.labels import VertexLabels
from siis.labels.given_labels import VERIFIED_WEIGHT
from siis.labels.unlabelled import coded_rows
from siis.parameters import COUNT
from siis.quality.annotators import annotator_table
from siis.quality.learning_curve import LEAST_LABELS, TOO_FEW, LabelGain, label_gain, learning_curve
from siis.quality.listings import (
    VERIFIED,
    dissenting_neighbors,
    entropy,
    issue_table,
    listed_labels,
    other_classes,
    query_table,
    ranked_vertices,
    ranking_table,
    representatives,
)
from siis.quality.overlap import overlap_table
from siis.quality.sets import check_coverage, class_sets
from siis.quality.unusual_examples import isolation, near_duplicate_table, outlier_table
from siis.result_table import Table

N_NEIGHBORS = 10  # of each example that are compared, where the graph has as many
LEAST_NEIGHBORS = 2  # the farthest one is the scale for the others


class Insights:
    """Methods of a fitted classifier that assess its labels and examples."""

    result_: FitResult

    def label_issues(self, threshold: float | None = None, *, n: int | None = None) -> Table:
        """List the given labels that are probably wrong, worst first.

        By default the list holds the labels that are more likely wrong than right, and the next worst up to as many
        as are estimated to be wrong (``noise_rate_`` of those that are not verified). After a warm start, labels that
        were listed before stay in the list until they are verified or changed.

        Parameters
        ----------
        threshold : float, optional
            List the labels of a quality below this instead.
        n : int, optional
            List the n labels of the lowest quality instead.

        Returns
        -------
        Table
            Columns: index of the example; given class; suggested class, the likeliest other one without this label;
            quality, as in ``label_quality_``; neighbors, up to five close examples with another predicted class.
            ``pandas.DataFrame(table)`` makes a data frame.
        """
        result, found, _ = self._assessed("label_issues")
        rows, given, suggested, quality = _assessed_labels(result, found)
        which = listed_labels(quality, found.listed[rows], threshold, n)
        index, codes, classes = rows[which], given[which], result.classes
        suggested[which] = other_classes(found.held_out[index], codes, suggested[which])
        winners, example = np.argmax(result.vertex_distributions, axis=1), example_of_vertex(result)
        against = [
            dissenting_neighbors(result.placed.graph, v, winners, g, example)
            for v, g in zip(result.placed.vertex[index], codes, strict=True)
        ]
        return issue_table(index, classes[codes], classes[suggested[which]], quality[which], against)

    def label_ranking(self) -> Table:
        """Rank all given labels by how far they can be trusted, worst first.

        ``label_issues`` lists those that are likely wrong; this goes on to the best ones, for a review that stops
        where errors become rare.

        Returns
        -------
        Table
            Columns: index of the example; given class; suggested class, the likeliest one without this label
            (often the given one; for labels in ``label_issues()`` another one); quality, as in ``label_quality_``.
            All labelled examples, verified labels last, equal quality in the order of the examples.
        """
        result, found, _ = self._assessed("label_ranking")
        rows, given, suggested, quality = _assessed_labels(result, found)
        return ranking_table(rows, result.classes[given], result.classes[suggested], quality)

    def predict_sets(self, X: Any, coverage: float = 0.9, *, allow_empty: bool = False) -> Bools:
        """Give sets of classes that hold the true one at a given rate.

        A class is in the set of an example if its probability, ``predict_proba``, is at least a level. At this level
        the sets of the unlabelled examples of the fit, predicted as if they were new, hold the true class with the
        wanted frequency, by their calibrated ``label_distributions_``. Where there are no more unlabelled examples
        than labels, held-out labels set the level, and their noise is allowed for (docs/math.md, (C13)). The coverage
        is that of examples like those of the fit, on average over them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, d)
        coverage : float, default=0.9
            Between 0 and 1.
        allow_empty : bool, default=False
            Whether a set may be empty. Otherwise it holds the likeliest class at least; the coverage can then be
            larger than wanted.

        Returns
        -------
        ndarray of bool, shape (n_new, c)
            Columns as in ``classes_``.
        """
        _, found, _ = self._assessed("predict_sets")
        check_coverage(coverage)
        return class_sets(self.predict_proba(X), found.levels, float(coverage), allow_empty)  # type: ignore[attr-defined]

    def suggest_queries(self, n: int = 10) -> Table:
        """Rank the examples whose label, or whose check, would help most.

        The doubt about an unlabelled example is the entropy of its distribution; about a labelled one, that of its
        label's quality. Doubt counts more where neighbours are in doubt too, and less next to a query that is
        already in the list. Examples without a label come with the action "label", others with "check"; where there
        is no doubt at all, as with verified labels, nothing is suggested.

        Parameters
        ----------
        n : int
            At most so many.

        Returns
        -------
        Table
            Columns: index, action, gain (of relative meaning).
        """
        result, found, _ = self._assessed("suggest_queries")
        if not COUNT.holds(n):
            raise ValueError(f"n must be {COUNT.text}; found {n!r}")
        graph, vertex, quality = result.placed.graph, result.placed.vertex, found.quality
        doubt = entropy(result.vertex_distributions)
        assessed = np.flatnonzero(~np.isnan(quality) & (vertex >= 0))
        at = vertex[assessed]
        doubt[at] = 0.0
        np.maximum.at(doubt, at, entropy(np.column_stack([quality[assessed], 1 - quality[assessed]])))
        picked, gains = ranked_vertices(graph, doubt, n)
        example = example_of_vertex(result)[picked]
        return query_table(example, coded_rows(result.codes)[example], np.asarray(gains))

    def near_duplicates(self) -> Table:
        """List groups of equal and nearly equal examples; those whose labels differ come first.

        Examples are near-duplicates where they are so much closer to each other than to the other examples around
        them that chance would hardly make one such pair in all the data (docs/math.md, (C14)). Distances are those
        of the features, in the space that the search has chosen; labels do not count.

        Returns
        -------
        Table
            Columns: group, numbered from 0; index of the example; given class, or None; distance to the closest
            other example of the group, over the distance of the farthest of its ten neighbours (0: equal);
            labels_differ, whether the labels of the group are of several classes.
        """
        result, near = self._near_features("near_duplicates")
        return near_duplicate_table(near, result.placed.vertex, result.codes, result.classes)

    def outliers(self) -> Table:
        """List the examples that are far from all others, the farthest first.

        The score is how many times as far an example is from its neighbours as these are from theirs; listed are
        those whose score the others' would hardly reach by chance (docs/math.md, (C15)).

        Returns
        -------
        Table
            Columns: index of the example, given class or None, score.
        """
        result, near = self._near_features("outliers")
        return outlier_table(isolation(near), example_of_vertex(result), result.codes, result.classes)

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
        result, found, _ = self._held_out("class_overlap")
        P = found.held_out
        which = np.flatnonzero(np.isfinite(P).all(axis=1) & coded_rows(result.codes))
        answers, truth = np.argmax(P[which], axis=1), result.distributions[which]
        return overlap_table(answers, truth, np.ones(which.size), found.noise.matrix, result.classes, result.seed)

    def rank_annotators(self, example: Any, annotator: Any, label: Any) -> Table:
        """Rank those who have given labels by how many of these are right, worst first.

        A label is compared with the prediction for its example without any label of it, and with the labels of the
        other annotators of the same example (docs/math.md, (C17)). These need not be the labels of the fit.

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
            times: the class that was given most often in the place of another one, and how often (None and 0 where
            that is not even once).
        """
        result, found, _ = self._held_out("rank_annotators")
        index = np.asarray(example, dtype=np.int64).ravel()
        who, given = (np.asarray(values, dtype=object).ravel() for values in (annotator, label))
        n = result.codes.size
        if not index.size == who.size == given.size > 0:
            raise ValueError(
                "example, annotator and label must have one entry for each label, and at least one; found "
                f"{index.size}, {who.size} and {given.size}"
            )
        if index.min() < 0 or index.max() >= n:
            raise ValueError(
                f"example must hold indices of examples, 0 to {n - 1}; found {index.min()} to {index.max()}"
            )
        number = {str(name): k for k, name in enumerate(result.classes)}
        unknown = [name for name in given if str(name) not in number]
        if unknown:
            raise ValueError(f"label must hold classes of the model, {', '.join(number)}; found {unknown[0]!r}")
        codes = np.array([number[str(name)] for name in given])
        return annotator_table(index, who, codes, _without_labels(result, found), result.classes)

    def label_gain(self, n_labels: int = 100) -> LabelGain:
        """Estimate what further labels of examples that are drawn at random would gain: are there labels enough?

        Labels are held out and predicted by all, some and fewer of the others, on the graph of the fit; the share of
        correct ones, corrected for wrong labels, is continued to more labels (docs/math.md, (C19)). The labels of
        ``suggest_queries`` should gain more than labels at random do.

        Parameters
        ----------
        n_labels : int
            How many further labels.

        Returns
        -------
        LabelGain
            Accuracy of the answers now with its 95 % interval (``accuracy``, ``accuracy_low``, ``accuracy_high``) and
            ``after`` the labels; ``gain`` with its interval, ``low`` and ``high``. Where too few labels can be held
            out, all are NaN, and ``reason`` states why.
        """
        result, found, average = self._assessed("label_gain")
        if not COUNT.holds(n_labels):
            raise ValueError(f"n_labels must be {COUNT.text}; found {n_labels!r}")
        codes, P, vertex, c = result.codes, found.held_out, result.placed.vertex, result.classes.size
        used = np.flatnonzero(coded_rows(codes) & (vertex >= 0))
        is_verified = found.quality[used] == VERIFIED
        weights = np.where(is_verified, VERIFIED_WEIGHT, 1.0)
        given = VertexLabels(vertex[used], np.eye(c)[codes[used]], weights, np.ones(used.size))
        may_hold_out = np.asarray(np.isfinite(P[used]).all(axis=1))
        if (n_found := np.count_nonzero(may_hold_out)) < LEAST_LABELS:
            return LabelGain(int(n_labels), reason=TOO_FEW.format(least=LEAST_LABELS, found=n_found))
        W, fidelity = result.placed.graph.weights, average.choices.leading.fidelity
        which, sizes, correct = learning_curve(W, given, fidelity, may_hold_out, result.seed)
        now = np.argmax(P[used[which]], axis=1) == codes[used[which]]
        noise = (found.noise.rate, *found.noise.interval)
        return label_gain(correct, sizes, now, is_verified[which], noise, c, used.size, int(n_labels), result.seed)

    def _assessed(self, name: str) -> tuple[FitResult, LabelQuality, AverageFit]:
        """The result with its assessed labels; refuse where no label was held out."""
        check_is_fitted(self)
        result = self.result_
        if result.quality is None or result.average is None:
            raise ValueError(
                Message("{name} needs held-out scores; fit with {method:auto} on two classes or more", name=name)
            )
        return result, result.quality, result.average

    def _held_out(self, name: str) -> tuple[FitResult, LabelQuality, AverageFit]:
        found = self._assessed(name)
        if not has_held_out(found[0]):
            raise ValueError(
                f"{name} needs labels that were held out; none was. Label two examples or more of each class."
            )
        return found

    def _near_features(self, name: str) -> tuple[FitResult, Neighbors]:
        """Nearest neighbours, those of the graph."""
        check_is_fitted(self)
        result = self.result_
        k = min(result.n_neighbors, result.placed.graph.n_vertices - 1)
        if not compares_features(result):
            raise ValueError(
                f"{name} needs a graph of features with {LEAST_NEIGHBORS} neighbours or more of each example; this "
                f"one is ready-made or has {k}. Fit to features, with n_neighbors='auto'."
            )
        return result, knn_from_graph(result.placed.graph, result.placed.points, min(k, N_NEIGHBORS))


def compares_features(result: FitResult) -> bool:
    """Whether the graph was made of features, and has neighbours enough to find what is close."""
    k = min(result.n_neighbors, result.placed.graph.n_vertices - 1)
    return result.placed.points is not None and k >= LEAST_NEIGHBORS


def has_held_out(result: FitResult) -> bool:
    """Whether labels were held out and their noise is known."""
    found = result.quality
    return found is not None and bool(np.isfinite(found.held_out).any() and np.isfinite(found.noise.matrix).all())


def example_of_vertex(result: FitResult) -> Ints:
    """An example at each vertex, (n_vertices,), one with a label where there is one."""
    return representatives(result.placed.vertex, coded_rows(result.codes), result.placed.graph.n_vertices)


def _assessed_labels(result: FitResult, found: LabelQuality) -> tuple[Ints, Ints, Ints, Floats]:
    """Labelled examples, their given and their suggested classes by number, and the quality of their labels."""
    rows = np.flatnonzero(coded_rows(result.codes))
    codes, suggested = result.codes[rows], found.suggested[rows]
    others = other_classes(found.held_out[rows], codes, suggested)
    return rows, codes, np.where(found.listed[rows], others, suggested), found.quality[rows]


def _without_labels(result: FitResult, found: LabelQuality) -> Floats:
    """Class probabilities without examples' own labels, (n, c); verified labels are true, unknown rows 1 / c."""
    is_free = ~coded_rows(result.codes) | (found.quality == VERIFIED)
    P = np.where(np.isfinite(found.held_out), found.held_out, 1 / result.classes.size)
    return np.where(is_free[:, None], result.distributions, P)
