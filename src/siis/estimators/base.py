"""What classifiers on a neighbourhood graph share: examples to graph, labels to vertices, answers to examples."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from siis._types import Bools, Features, Floats, Ints
from siis.engine import NUMPY, Engine
from siis.errors import Message, UnreachedWarning, warn
from siis.estimators.inputs import columns_of_texts, columns_of_times, in_range, on_host, refuse_columns
from siis.estimators.prediction import predict_new, with_examples
from siis.estimators.result import FitResult, SolverResult, set_result
from siis.graph import Graph, NeighborGraph, build_neighbor_graph, graph_of_weights, ready_made
from siis.labels import GivenLabels, VertexLabels, distributions, gather, read_labels
from siis.labels.unlabelled import labelled_accuracy
from siis.model.located import FittedGraph
from siis.parameters import COUNT, LEVEL, POSITIVE, SEARCH, Rule, check_parameters, metrics, one_of, seed_of
from siis.progress import Progress, Report

DEVICE_IS_FULL = "OutOfMemoryError"  # of PyTorch, by its name: it may not be installed


@dataclass(frozen=True, eq=False)
class Task:
    """What a classifier has to solve: a graph whose components all hold a label.

    Attributes
    ----------
    graph : Graph
    points : array or csr_array of shape (n_vertices, d), or None for a ready-made graph
    given : VertexLabels
    progress : Progress
    engine : Engine
    seed : int
    """

    graph: Graph
    points: Features | None
    given: VertexLabels
    progress: Progress
    engine: Engine = NUMPY
    seed: int = 0


class TransductiveClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # untyped base
    """Base of the classifiers: subclasses turn a graph and label terms into soft labels, ``_soft_labels``."""

    _rules: ClassVar[dict[str, Rule]] = {
        "n_neighbors": COUNT,
        "bandwidth": POSITIVE | one_of("median"),
        "metric": metrics("euclidean", "cosine"),
        "affinity": one_of("nearest_neighbors", "precomputed"),
        "connectivity": one_of("union", "mutual"),
        "neighbor_search": one_of("auto", "exact", "faiss") | SEARCH,
        "verbose": LEVEL,
    }
    n_neighbors: int | str
    bandwidth: float | str
    metric: str
    affinity: str = "nearest_neighbors"
    connectivity: str
    neighbor_search: Any = "auto"
    verbose: int
    result_: FitResult

    @abstractmethod
    def _soft_labels(self, task: Task) -> tuple[Floats, SolverResult]:
        """Solve the task: F, (n_vertices, 1) in -1..1 for two classes, else (n_vertices, c), and how."""

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.affinity == "precomputed"
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, verified: Any = None) -> Self:
        """Classify all examples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or (n, n) where ``affinity="precomputed"``
            NumPy, SciPy sparse, pandas or polars.
        y : array-like of shape (n,) or (n, c)
            Given labels. Unlabelled: -1 among integers; None, NaN, pandas.NA or an empty text among strings. Other
            strings are classes, also "none" and "NA", with a warning. Two dimensions: soft labels, rows that sum to
            1, or to 0 where unlabelled; columns are the classes. Or what ``siis.labels.from_annotators`` returns.
        sample_weight : array-like of shape (n,), optional
            Multiplies alpha for each label; a labelled example of weight k counts as k equal ones, and one of
            weight 0 as absent (on a ready-made graph: as unlabelled). Weights of unlabelled examples have no effect.
        verified : array-like of bool, shape (n,), optional
            Labels that somebody has checked: each counts as three in the graph, and is the answer for its example.
            In a warm start, the labels before the check show how many of the others are wrong.

        Returns
        -------
        self
        """
        check_parameters(self)
        seed = seed_of(getattr(self, "random_state", None))  # of a generator, one number for all of the fit
        progress = Progress(int(self.verbose))
        given, X = X, self._validated(X, reset=True)
        labels = read_labels(*(on_host(part) for part in (y, sample_weight, verified)))
        check_consistent_length(X, labels.used)
        engine = self._engine(X, progress)
        if engine.search is not None:
            engine.search.register(X, given)
        try:
            result = self._classify(X, labels, seed, progress, engine)
        except RuntimeError as wrong:
            if type(wrong).__name__ != DEVICE_IS_FULL:
                raise
            n, c = X.shape[0], labels.classes.size
            raise ValueError(
                Message(
                    "the device's memory does not hold a fit to {n:,} examples and {c} classes; nothing of it was "
                    "kept. Half of the examples may fit ({half:,}); or use {engine:numpy}.",
                    n=n,
                    c=c,
                    half=n // 2,
                )
            ) from None
        return self._take(result)

    def _take(self, result: FitResult) -> Self:
        """Become the classifier that has found a result."""
        set_result(self, result)
        vertex = result.placed.vertex
        winners = np.argmax(result.vertex_distributions[vertex[result.reached & (vertex >= 0)]], axis=1)
        n_lost, n = int(np.count_nonzero(~result.reached)), result.reached.size
        warn_of_answers(result, result.classes, np.bincount(winners), n_lost, n, result.placed.graph.n_vertices)
        return self

    def _classify(self, X: Features, labels: GivenLabels, seed: int, progress: Progress, engine: Engine) -> FitResult:
        """Place the examples on a graph, and solve where a label is connected."""
        with progress.stage("graph") as report:
            placed = self._neighbor_graph(X, labels.absent, seed, report, engine)
        given = gather(placed.vertex[labels.used], labels.Y, labels.weights, labels.kinds)
        reached = placed.graph.reached_from(given.rows)
        core = placed.graph.subgraph(reached)
        points = None if placed.points is None else placed.points[reached]
        task = Task(core, points, given.relabel(np.cumsum(reached) - 1), progress, engine, seed)
        F, solver = self._soft_labels(task)
        result = self._plain_result(placed, labels, given, reached, F, solver, seed)
        return with_examples(result, X, labels, engine)

    def _plain_result(
        self,
        placed: NeighborGraph,
        labels: GivenLabels,
        given: VertexLabels,
        reached: Bools,
        F: Floats,
        solver: SolverResult,
        seed: int,
    ) -> FitResult:
        """What soft labels of the reached vertices, F, mean; elsewhere the frequencies of the given labels."""
        answers = np.tile(given.prior, (placed.graph.n_vertices, 1))
        answers[reached] = distributions(F, given.n_classes)
        n_neighbors, metric, _ = self._graph_setting()
        fitted = FittedGraph(placed, None, np.zeros(0, dtype=np.int64), sp.issparse(placed.points))
        parts = labels.classes, labels.codes, fitted, metric, n_neighbors, answers, reached, given.prior, seed, solver
        return FitResult(*parts)

    def _neighbor_graph(
        self, X: Features, absent: Bools | None, seed: int, report: Report, engine: Engine
    ) -> NeighborGraph:
        """The graph of the examples, or the ready-made one."""
        if self.affinity == "precomputed":
            return ready_made(graph_of_weights(X))
        K, metric, kind = self._graph_setting()
        search = self.neighbor_search
        return build_neighbor_graph(X, K, self.bandwidth, metric, kind, absent, search, seed, report, engine)

    def _engine(self, X: Features, progress: Progress) -> Engine:
        """On what a fit to these examples runs."""
        return NUMPY

    def predict_proba(self, X: Any) -> Floats:
        """Predict class probabilities.

        A training example gets its own row of ``label_distributions_``. Another one gets the mean of its nearest
        training examples' distributions, weighted as edges of the graph would be. With the default of
        ``SIISClassifier`` it is their scores that are averaged; the scores of the models of the features
        (``families_``) are added, and the sum is calibrated. With a ready-made graph, the graph
        itself gives the training examples' own answers; any other matrix is read as new examples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, d)
            With ``affinity="precomputed"``: weights between new and training examples, shape (n_new, n).

        Returns
        -------
        ndarray of shape (n_new, c)
            Rows sum to 1; columns as in ``classes_``.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        progress = Progress(int(self.verbose))
        try:
            engine = self._engine(X, progress)
        except ValueError as wrong:  # a model from another computer
            progress.say(1, f"on the CPU: {wrong}")
            engine = NUMPY
        return predict_new(self.result_, X, engine)[0]

    def predict(self, X: Any) -> Any:
        """Give the classes of examples: the largest entry of ``predict_proba``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, d)

        Returns
        -------
        ndarray of shape (n_new,)
        """
        winners = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[winners]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Give the share of labels that ``predict`` predicts, among the examples that have one.

        Examples without a label (-1 among integers, None, NaN or NA) do not count, so that ``cross_val_score`` and
        ``GridSearchCV`` can be used where only some are labelled; ``cv=siis.validation.LabelledKFold(5)`` holds out
        labels alone.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, d)
        y : array-like of shape (n_new,)
        sample_weight : array-like of shape (n_new,), optional

        Returns
        -------
        float
        """
        return labelled_accuracy(on_host(y), on_host(self.predict(X)), self.classes_, on_host(sample_weight))

    def _validated(self, X: Any, reset: bool) -> Features:
        X = on_host(X)
        refuse_columns(columns_of_times(X), "dates or times")  # NumPy would take some of them for numbers
        try:
            checked = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32])
        except (ValueError, TypeError):
            refuse_columns(columns_of_texts(X), "text")
            raise
        return in_range(sp.csr_array(checked) if sp.issparse(checked) else checked)

    def _graph_setting(self) -> tuple[int, str, str]:
        """Number of neighbours, metric and kind of the graph."""
        return int(self.n_neighbors), self.metric, self.connectivity


def warn_of_answers(result: FitResult, classes: Any, sizes: Ints, n_lost: int, n: int, n_vertices: int) -> None:
    """Warn of examples that no label reaches, and where all others have got one class; sizes: (c,)."""
    is_ready_made = result.placed.points is None
    if n_lost:
        rests_on_models = result.average is not None and not is_ready_made
        warn(
            Message(
                "{lost} of {n} examples are connected to no label: {is_reached_} is False there and the distribution "
                "{source}. {remedy} them to others, or label one of them.",
                lost=n_lost,
                n=n,
                source="rests on models of the features alone" if rests_on_models else "is that of the given labels",
                remedy="Join" if is_ready_made else Message("Raise {n_neighbors}, join"),
            ),
            UnreachedWarning,
        )
    if classes.size > 1 and np.count_nonzero(sizes) == 1 and n_vertices > 1:
        warn(
            Message(
                "every example was given the class {winner}, although {n} classes were given: the graph "
                "outweighs the labels. Trust the labels more (raise {alpha}) or smooth less (lower {beta}), "
                "where the method has them.",
                winner=classes[np.argmax(sizes)],
                n=classes.size,
            )
        )
