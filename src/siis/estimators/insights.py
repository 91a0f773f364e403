"""What one graph can tell besides the answers: near-duplicates and outliers."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from siis._types import Floats, Ints
from siis.estimators.evidence import Evidence
from siis.graph import Graph, Neighbors, neighbors_on, neighbors_within
from siis.labels.unlabelled import coded_rows
from siis.parameters import seed_of
from siis.quality.copies import copy_table
from siis.quality.issues import representatives
from siis.quality.outliers import isolation, outlier_table
from siis.result_table import Table

N_NEIGHBORS = 10  # of each example that are looked at, where the graph has as many
LEAST_NEIGHBORS = 2  # the farthest one is the scale for the others


class Insights:
    """Methods of a fitted classifier that read its graph and what was said of held-out labels."""

    graph_: Graph
    vertex_: Ints
    classes_: Any
    metric: str
    neighbors: Any
    random_state: int | None
    _points: Any
    _n_neighbors: int
    _evidence: Evidence
    _given_codes: Ints

    @abstractmethod
    def _need_selection(self, name: str) -> None:
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
        return copy_table(near, self.vertex_, self._given_codes, self.classes_)

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
        example = representatives(self.vertex_, coded_rows(self._given_codes), self.graph_.n_vertices)
        return outlier_table(isolation(near), example, self._given_codes, self.classes_)

    @property
    def _compares_features(self) -> bool:
        """Whether the graph was made of features, and has neighbours enough to tell what is close."""
        k = min(self._n_neighbors, self.graph_.n_vertices - 1)
        return self.metric != "precomputed" and k >= LEAST_NEIGHBORS

    def _near_features(self, name: str) -> Neighbors:
        """Neighbours by the features alone: those of the graph, unless scores of the labels have drawn it.

        Such a graph pulls copies of different labels apart, so their neighbours are sought once more.
        """
        self._need_selection(name)
        if not self._compares_features:
            raise ValueError(
                f"{name} needs a graph of features with {LEAST_NEIGHBORS} neighbours or more of each example; this "
                f"one is ready-made or has {min(self._n_neighbors, self.graph_.n_vertices - 1)}. Fit to features, "
                "with n_neighbors='auto'."
            )
        k = min(self._n_neighbors, self.graph_.n_vertices - 1, N_NEIGHBORS)
        points = self._feature_points()
        if points.shape[1] == self._points.shape[1]:
            return neighbors_on(self.graph_, points, k)
        return neighbors_within(points, k, self.neighbors, seed_of(self.random_state))

    def _feature_points(self) -> Floats:
        """The vertices in the chosen space, without the scores of the labels."""
        is_joined = self._evidence.selection.chosen.score_weight > 0
        d = self._points.shape[1] - (self.classes_.size if is_joined else 0)
        return self._points[:, :d]  # type: ignore[no-any-return]
