"""What classifiers on a neighbourhood graph share: examples to graph, labels to vertices, answers to examples."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from siis._types import Bools, Features, Floats, Ints, Sparse
from siis.engine import NUMPY, Engine
from siis.errors import Message, UnreachedWarning
from siis.graph import (
    Graph,
    NeighborGraph,
    build_neighbor_graph,
    graph_of_weights,
    neighbors_between,
    prepare,
    ready_made,
)
from siis.graph.graph import ASYMMETRY
from siis.labels import GivenLabels, VertexLabels, distributions, gather, read_labels
from siis.labels.labelled import labelled_accuracy
from siis.parameters import COUNT, LEVEL, POSITIVE, SEARCH, Rule, check_parameters, metrics, one_of, seed_of
from siis.progress import Progress, Report

TIMES = ("date", "time", "duration", "period")  # how the types of such columns begin, in pandas and polars
SHOWN_COLUMNS = 5
HOST = 1  # of DLPack's numbers of devices
DEVICE_IS_FULL = "OutOfMemoryError"  # of PyTorch, by its name: it may not be installed
SINGLE_RANGE = 1e12  # of the largest feature: squares, and squares of small differences, stay in single precision


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
    """

    graph: Graph
    points: Features | None
    given: VertexLabels
    progress: Progress
    engine: Engine = NUMPY


@dataclass(frozen=True, eq=False)
class Answer:
    """What a classifier found.

    Attributes
    ----------
    placed : NeighborGraph
    distributions : ndarray of shape (n_vertices, c)
    reached : ndarray of bool, shape (n_vertices,)
        Where a label is connected.
    prior : ndarray of shape (c,)
        Frequencies of the given labels.
    n_neighbors : int
        How many neighbours speak for a new example.
    attributes : dict
        What the fitted estimator shows besides.
    own : ndarray of shape (l, c), optional
        Distributions of labelled examples that differ from those of their vertices; NaN where they do not.
    """

    placed: NeighborGraph
    distributions: Floats
    reached: Bools
    prior: Floats
    n_neighbors: int
    attributes: dict[str, Any]
    own: Floats | None = None


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
    _optional: ClassVar[tuple[str, ...]] = ()  # attributes that not every fit sets
    _seed = 0
    _unreached = "the distribution is that of the given labels"

    @abstractmethod
    def _soft_labels(self, task: Task) -> tuple[Floats, dict[str, Any]]:
        """Solve the task: F, (n_vertices, 1) in -1..1 for two classes, else (n_vertices, c), and attributes."""

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
            NumPy, SciPy sparse, pandas or polars. With ``SIISClassifier(engine="dask")``: a Dask array, chunked by
            rows, or a Dask data frame, whose columns are read as ``siis fit`` reads those of a file.
        y : array-like of shape (n,) or (n, c)
            Given labels. Unlabelled: -1 among integers; None, NaN, pandas.NA or an empty text among strings. Other
            strings are classes, also "none" and "NA", with a warning. Two dimensions: soft labels, rows that sum to
            1, or to 0 where unlabelled; columns are the classes. Or what ``siis.labels.from_annotators`` returns.
        sample_weight : array-like of shape (n,), optional
            Multiplies alpha for each label; a labelled example of weight k counts as k equal ones, and one of
            weight 0 as absent (on a ready-made graph: as unlabelled). Weights of unlabelled examples have no effect.
        verified : array-like of bool, shape (n,), optional
            Labels that somebody has checked: each counts as three in the graph, and is the answer for its example.
            In a warm start, what they were before says how many of the others are wrong.

        Returns
        -------
        self
        """
        check_parameters(self, self._rules)
        self._seed = seed_of(getattr(self, "random_state", None))  # of a generator, one number for all of the fit
        if self._fit_elsewhere(X, y, sample_weight, verified):
            return self
        progress = Progress(int(self.verbose))
        given, X = X, self._validated(X, reset=True)
        labels = read_labels(*(on_host(part) for part in (y, sample_weight, verified)))
        check_consistent_length(X, labels.used)
        engine = self._engine(X, progress)
        if engine.search is not None:
            engine.search.register(X, given)
        try:
            answer = self._classify(X, labels, progress, engine)
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
        return self._take(X, labels, answer)

    def _fit_elsewhere(self, X: Any, y: Any, sample_weight: Any, verified: Any) -> bool:
        """Fit on other machines; False where this is to be done here."""
        return False

    def _take(self, X: Features, labels: GivenLabels, answer: Answer) -> Self:
        """Become the classifier that has found an answer."""
        placed = answer.placed
        for name in self._optional:
            self.__dict__.pop(name, None)  # of an earlier fit
        self.classes_, self._codes = labels.classes, labels.codes
        self.graph_, self.vertex_ = placed.graph, placed.vertex
        self.bandwidth_ = placed.bandwidth
        self.neighbor_search_, self.neighbor_recall_ = placed.search, placed.recall
        self._points, self._answers, self._reached = placed.points, answer.distributions, answer.reached
        self._prior, self._n_neighbors = answer.prior, answer.n_neighbors
        pin(self._answers, placed.vertex, labels)
        for name, value in answer.attributes.items():
            setattr(self, name, value)
        own = None if answer.own is None else _unpinned(answer.own, placed.vertex, labels)
        self._answer_training_examples(X, np.flatnonzero(labels.used), own)
        winners = np.argmax(self._answers[placed.vertex[self.is_reached_ & (placed.vertex >= 0)]], axis=1)
        self.largest_class_share_ = float(np.bincount(winners).max() / winners.size)
        self.largest_given_share_ = float(answer.prior.max())
        n_lost, n_vertices = int(np.count_nonzero(~self.is_reached_)), placed.graph.n_vertices
        self._warn_of(labels.classes, np.bincount(winners), n_lost, self.is_reached_.size, n_vertices)
        return self

    def _classify(self, X: Features, labels: GivenLabels, progress: Progress, engine: Engine) -> Answer:
        """Place the examples on a graph, and solve where a label is connected."""
        with progress.stage("graph") as report:
            placed = self._neighbor_graph(X, labels.absent, report, engine)
        given = gather(placed.vertex[labels.used], labels.Y, labels.weights, labels.kinds)
        reached = placed.graph.reached_from(given.rows)
        core = placed.graph.subgraph(reached)
        points = None if placed.points is None else placed.points[reached]
        F, attributes = self._soft_labels(Task(core, points, given.relabel(np.cumsum(reached) - 1), progress, engine))
        answers = np.tile(given.prior, (placed.graph.n_vertices, 1))
        answers[reached] = distributions(F, given.n_classes)
        return Answer(placed, answers, reached, given.prior, self._graph_setting()[0], attributes)

    def _neighbor_graph(self, X: Features, absent: Bools | None, report: Report, engine: Engine) -> NeighborGraph:
        """The graph of the examples, or the ready-made one."""
        if self.affinity == "precomputed":
            return ready_made(graph_of_weights(X))
        K, metric, kind = self._graph_setting()
        search, seed = self.neighbor_search, self._seed
        return build_neighbor_graph(X, K, self.bandwidth, metric, kind, absent, search, seed, report, engine)

    def _engine(self, X: Features, progress: Progress) -> Engine:
        """On what a fit to these examples runs."""
        return NUMPY

    def _engine_here(self, X: Features) -> Engine:
        """The engine for predictions: that of a fit, or the host's where a model from another computer finds none."""
        progress = Progress(int(self.verbose))
        try:
            return self._engine(X, progress)
        except ValueError as wrong:
            progress.say(1, f"on the CPU: {wrong}")
            return NUMPY

    def predict_proba(self, X: Any) -> Floats:
        """Predict class probabilities.

        A training example gets its own row of ``label_distributions_``. Another one gets the mean of its nearest
        training examples' distributions, weighted as edges of the graph would be. With a ready-made graph, the graph
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
        return self._inductive(self._validated(X, reset=False))[0]

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
        """Give the share of labels that ``predict`` meets, among the examples that have one.

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

    def _answer_training_examples(self, X: Features, labelled: Ints, own: Floats | None) -> None:
        """Set the transductive answers: an example's own, its vertex's, or its neighbours' where it has none."""
        on_graph = self.vertex_ >= 0
        self.label_distributions_ = self._answers[self.vertex_]
        self.is_reached_ = self._reached[self.vertex_]
        if not on_graph.all():
            self.label_distributions_[~on_graph], self.is_reached_[~on_graph] = self._inductive(X[~on_graph])
        if own is not None:
            judged = np.flatnonzero(~np.isnan(own[:, 0]))
            self.label_distributions_[labelled[judged]] = own[judged]
        self.transduction_ = self.classes_[np.argmax(self.label_distributions_, axis=1)]

    def _inductive(self, X: Features) -> tuple[Floats, Bools]:
        """Distributions of examples, and whether a neighbour that a label reaches speaks for each."""
        if self.affinity == "precomputed":
            W = sp.csr_array(X)
            largest = self.graph_.weights.data.max(initial=0.0)
            same = W.shape == self.graph_.weights.shape and abs(W - self.graph_.weights).max() <= ASYMMETRY * largest
            if same:  # the training graph itself
                return self._answers.copy(), self._reached.copy()
            if (W.data < 0).any():
                raise ValueError(f"weights must be non-negative; the smallest is {W.data.min():.3g}")
            weights = sp.csr_array(W @ sp.diags_array(self._reached.astype(np.float64)))
            answers, _ = self._mean_over(weights, self._answers, self._prior)
        else:
            weights, is_known = self._new_weights(X)
            answers = self._new_answers(X, weights, is_known)
        return answers, np.asarray(weights @ self._reached.astype(np.float64) > 0)

    @staticmethod
    def _mean_over(weights: Sparse, values: Floats, otherwise: Floats) -> tuple[Floats, Bools]:
        """Weighted means of values at the vertices, and where there is a weight at all."""
        total = np.asarray(weights.sum(axis=1)).ravel()
        heard = total > 0
        means = np.tile(otherwise, (weights.shape[0], 1))
        means[heard] = (weights[heard] @ values) / total[heard][:, None]
        return means, heard

    def _new_answers(self, X: Features, weights: Sparse, is_known: Bools) -> Floats:
        """Distributions of new examples, from their neighbours' answers; ``is_known`` where one is equal."""
        return self._mean_over(weights, self._answers, self._prior)[0]

    def _new_weights(self, X: Features) -> tuple[Sparse, Bools]:
        """Weights of reached vertices, 1 at the nearest, and where one is equal: it then counts alone."""
        assert self._points is not None
        k, engine = min(self._n_neighbors, self.graph_.n_vertices), self._engine_here(X)
        found = neighbors_between(self._located(X, engine), self._points, k, engine)
        is_own = found.distances == 0
        speaks = np.where(is_own.any(axis=1)[:, None], is_own, self._reached[found.indices])
        nearest = np.min(found.distances, axis=1, where=speaks, initial=np.inf)[:, None]
        weights = np.zeros(speaks.shape)
        exponents = (nearest**2 - found.distances**2) / (2 * self.bandwidth_**2)
        np.exp(exponents, where=speaks, out=weights)
        indptr = np.arange(0, found.indices.size + 1, k)
        shape = (X.shape[0], self.graph_.n_vertices)
        return sp.csr_array((weights.ravel(), found.indices.ravel(), indptr), shape=shape), is_own.any(axis=1)

    def _located(self, X: Features, engine: Engine) -> Features:
        """Map new examples to the space of the graph."""
        if sp.issparse(self._points):
            X = sp.csr_array(X)
        elif sp.issparse(X):
            X = X.toarray()
        return prepare(X, self._graph_setting()[1])

    def _graph_setting(self) -> tuple[int, str, str]:
        """Number of neighbours, metric and kind of the graph."""
        return int(self.n_neighbors), self.metric, self.connectivity

    def _warn_of(self, classes: Any, sizes: Ints, n_lost: int, n: int, n_vertices: int) -> None:
        """Warn of examples that no label reaches, and where all others have got one class."""
        if n_lost:
            remedy = "Join" if self.affinity == "precomputed" else Message("Raise {n_neighbors}, join")
            warnings.warn(
                Message(
                    "{lost} of {n} examples are connected to no label: {is_reached_} is False there and {unreached}. "
                    "{remedy} them to others, or label one of them.",
                    lost=n_lost,
                    n=n,
                    unreached=self._unreached,
                    remedy=remedy,
                ),
                UnreachedWarning,
                stacklevel=4,
            )
        if classes.size > 1 and np.count_nonzero(sizes) == 1 and n_vertices > 1:
            warnings.warn(
                Message(
                    "every example was given the class {winner}, although {n} classes were given: the graph "
                    "outweighs the labels. Trust the labels more (raise {alpha}) or smooth less (lower {beta}), "
                    "where the method has them.",
                    winner=classes[np.argmax(sizes)],
                    n=classes.size,
                ),
                UserWarning,
                stacklevel=4,
            )


def on_host(given: Any) -> Any:
    """Arrays that speak DLPack as NumPy's, Dask's computed, lazy polars frames collected; anything else as it is."""
    if hasattr(given, "collect_schema") and hasattr(given, "collect"):
        given = given.collect()
    if hasattr(given, "__dask_graph__"):
        return given.compute()
    if isinstance(given, np.ndarray) or not hasattr(given, "__dlpack_device__"):
        return given
    if hasattr(given, "detach"):
        given = given.detach()
    if int(given.__dlpack_device__()[0]) != HOST:
        given = given.get() if hasattr(given, "get") else _from_device(given)
    if isinstance(given, np.ndarray):
        return given
    if "sparse" in str(getattr(given, "layout", "")):
        raise ValueError("tensors must be dense; found a sparse one. Use a sparse matrix of SciPy.")
    try:
        return np.from_dlpack(given)
    except (RuntimeError, BufferError):  # of a type that NumPy has not, as bfloat16
        return np.from_dlpack(given.float())


def _from_device(given: Any) -> Any:
    """An array on a device, brought to the host by its own library; by PyTorch where it speaks DLPack alone."""
    if hasattr(given, "cpu"):
        return given.cpu()
    if find_spec("torch") is None:
        raise ValueError(
            f"an array of {type(given).__name__} lies on a device, and only PyTorch could bring it here, which is "
            "not installed. Install it with `pip install 'siis[gpu]'`, or give a NumPy array."
        )
    import torch  # noqa: PLC0415  (an extra)

    return torch.from_dlpack(given).cpu()


def in_range(X: Features) -> Features:
    """Features in double precision where squares of single precision would leave its range; X: (n, d)."""
    if X.dtype != np.float32:
        return X
    values = X.data if sp.issparse(X) else X
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    return X if is_squarable(largest) else X.astype(np.float64)


def is_squarable(largest: float) -> bool:
    """Tell whether squares of features stay in single precision, by the largest of them."""
    return largest == 0 or 1 / SINGLE_RANGE <= largest <= SINGLE_RANGE


def columns_of_times(X: Any) -> list[str]:
    """Columns of dates, times or durations, by their types."""
    if getattr(getattr(X, "dtype", None), "kind", "") in ("M", "m"):
        return [str(j) for j in range(X.shape[-1])]
    types = zip(getattr(X, "columns", ()), getattr(X, "dtypes", ()), strict=False)
    return [str(name) for name, kind in types if str(kind).lower().startswith(TIMES)]


def columns_of_texts(X: Any) -> list[str]:
    """Columns that hold a text which is no number."""
    if hasattr(X, "columns"):
        columns = {str(name): np.asarray(X[name]) for name in X.columns}
    elif not sp.issparse(X) and np.ndim(X) == 2:
        columns = {str(j): column for j, column in enumerate(np.asarray(X).T)}
    else:
        return []
    return [name for name, column in columns.items() if column.dtype.kind in "OUS" and any(map(_is_word, column))]


def _is_word(value: Any) -> bool:
    try:
        float(value)
    except ValueError:
        return isinstance(value, str | bytes)
    except TypeError:
        return False
    return False


def refuse_columns(columns: list[str], kind: str) -> None:
    """Raise ValueError where there are columns that hold no numbers."""
    if columns:
        more = f" and {len(columns) - SHOWN_COLUMNS} more" if len(columns) > SHOWN_COLUMNS else ""
        where = "column" if len(columns) == 1 else "columns"
        them = "it" if len(columns) == 1 else "them"
        raise ValueError(
            f"X must hold numbers; found {kind} in {where} {', '.join(map(repr, columns[:SHOWN_COLUMNS]))}{more}. "
            f"Encode {them} first: make_pipeline(siis.tables.TableEncoder(), classifier), or use siis fit."
        ) from None


def pin(answers: Floats, vertex: Ints, labels: GivenLabels) -> None:
    """Write verified labels into the answers, (n_vertices, c); where labels of a vertex differ, their mean."""
    sure = labels.verified[labels.used]
    if sure.any():
        at = gather(vertex[labels.verified], labels.Y[sure], labels.weights[sure], labels.kinds[sure]).aggregate()
        answers[at.rows] = at.Y


def _unpinned(own: Floats, vertex: Ints, labels: GivenLabels) -> Floats:
    """Answers of labelled examples, but where a verified label of an equal one decides."""
    if not labels.verified.any():
        return own
    at = vertex[labels.used]
    is_pinned = (at >= 0) & np.isin(at, vertex[labels.verified])
    own[is_pinned] = np.nan
    return own
