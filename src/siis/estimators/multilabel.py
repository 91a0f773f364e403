"""Several tags per example: one program for each tag, on one graph and one basis, solved as a batch."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MultiOutputMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from siis._types import Bools, Features, Floats, Ints
from siis.engine import NUMPY
from siis.estimators.base import TransductiveClassifier
from siis.estimators.classifier import SIISClassifier
from siis.estimators.inputs import on_host
from siis.estimators.prediction import with_examples
from siis.estimators.result import FitResult, SolverResult
from siis.estimators.solving import Solver, enough_components
from siis.graph import Graph, NeighborGraph
from siis.labels import GivenLabels, VertexLabels, gather, read_labels
from siis.labels.unlabelled import is_missing
from siis.parameters import COUNT, NON_NEGATIVE, POSITIVE, SEED, Rule, check_parameters, one_of, seed_of
from siis.program import Program
from siis.program.basis import SmoothBasis, smooth_basis
from siis.program.solvers import Solution, solve_batch
from siis.progress import Progress, Report

TOGETHER = 20  # iterations of the batch, before each program is finished by itself
HAS_TAG = 1  # the class of an example that has the tag; 0: it has not


@dataclass(frozen=True, eq=False)
class _Task:
    """The labels of one tag, where they sit on the graph."""

    labels: GivenLabels
    given: VertexLabels
    reached: Bools


class SIISMultilabelClassifier(MultiOutputMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # untyped base
    """Predict the tags of all examples from few, partly wrong labels, by the paper's program.

    The plain method, ``SIISClassifier(method="paper", solver="certified")``, once for each tag: graph and basis,
    which cost most, are computed once, and the programs, which differ in their labels alone, begin as a batch whose
    passes over the edges are shared, and are then finished each by itself. The answers are those of a fit for each
    tag, up to the duality gap.

    Parameters
    ----------
    alpha : float, default=100.0
        Trust in the labels.
    beta : float, default=10.0
        Weight of the energy: larger is smoother.
    n_components : int, default=30
        Number of eigenvectors.
    n_neighbors : int, default=10
        Of the neighbourhood graph.
    bandwidth : float or "median", default="median"
        Width of the edges' weights; "median" is the median distance between neighbours.
    metric : {"euclidean", "cosine"}, default="euclidean"
    affinity : {"nearest_neighbors", "precomputed"}, default="nearest_neighbors"
        "precomputed": X is the graph, a symmetric matrix of weights. ``metric``, ``n_neighbors``, ``bandwidth`` and
        ``connectivity`` are then not used.
    connectivity : {"union", "mutual"}, default="union"
    laplacian : {"unnormalized", "normalized"}, default="unnormalized"
    neighbor_search : {"auto", "exact", "faiss"} or object, default="auto"
        How neighbours are found.
    tol : float, default=0.0001
        Relative duality gap at which to stop: that of every tag is below.
    max_iter : int, default=1000
        Most iterations.
    random_state : int or None, default=None
        Seed of the eigensolver's start. None is 0.
    verbose : int, default=0
        1: a line on standard error for each stage.

    Attributes
    ----------
    tags_ : ndarray of shape (t,)
        Names of the columns of Y; 0, 1, ... where it has none.
    classes_ : list of t ndarrays
        Of each tag: [0, 1].
    estimators_ : list of t SIISClassifier
        The fitted classifier of each tag (classes 0 and 1); they share ``graph_`` and, where labels reach the same
        examples, ``basis_``.
    probabilities_ : ndarray of shape (n, t)
        Of the tags, for each example.
    transduction_ : ndarray of shape (n, t)
        1 where an example has the tag, else 0.
    dual_gaps_ : ndarray of shape (t,)
        Relative duality gap of each tag's program.
    n_iter_ : ndarray of shape (t,)
        Iterations of each tag's program, after those that all tags share.
    graph_ : Graph
    n_features_in_ : int

    See Also
    --------
    SIISClassifier : One class for each example, with everything chosen by held-out labels.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> import numpy as np
    >>> from siis import SIISMultilabelClassifier
    >>> X, digit = load_digits(return_X_y=True)
    >>> tags = np.column_stack([digit % 2 == 0, digit > 4, digit == 7]).astype(float)
    >>> Y = np.full(tags.shape, np.nan)
    >>> Y[:300] = tags[:300]
    >>> model = SIISMultilabelClassifier().fit(X, Y)
    >>> bool(np.mean(model.transduction_ == tags) > 0.9)
    True
    """

    _rules: ClassVar[dict[str, Rule]] = {
        **TransductiveClassifier._rules,
        "alpha": POSITIVE,
        "beta": NON_NEGATIVE,
        "n_components": COUNT,
        "laplacian": one_of("unnormalized", "normalized"),
        "tol": POSITIVE,
        "max_iter": COUNT,
        "random_state": SEED,
    }

    def __init__(
        self,
        *,
        alpha: float = 100.0,
        beta: float = 10.0,
        n_components: int = 30,
        n_neighbors: int = 10,
        bandwidth: float | str = "median",
        metric: str = "euclidean",
        affinity: str = "nearest_neighbors",
        connectivity: str = "union",
        laplacian: str = "unnormalized",
        neighbor_search: Any = "auto",
        tol: float = 1e-4,
        max_iter: int = 1000,
        random_state: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.bandwidth = bandwidth
        self.metric = metric
        self.affinity = affinity
        self.connectivity = connectivity
        self.laplacian = laplacian
        self.neighbor_search = neighbor_search
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.affinity == "precomputed"
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = False
        tags.target_tags.single_output = False
        return tags

    def fit(self, X: Any, Y: Any) -> Self:
        """Find the tags of all examples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or (n, n) where ``affinity="precomputed"``
        Y : array-like of shape (n, t)
            1 where an example is known to have the tag, 0 where it is known not to, NaN where nothing is known.
            Columns of a data frame name the tags.

        Returns
        -------
        self
        """
        check_parameters(self)
        progress = Progress(int(self.verbose))
        one = SIISClassifier(**self.get_params(deep=False), method="paper", solver="certified")
        X = one._validated(X, reset=True)
        columns, names = _tag_columns(Y)
        check_consistent_length(X, columns)
        with progress.stage("graph") as report:
            seed = seed_of(self.random_state)
            placed = one._neighbor_graph(X, None, seed, report, NUMPY)
        tasks = [_task(column, placed) for column in columns.T]
        results = self._results(one, tasks, placed, X, seed, progress)
        self.estimators_ = [copy.copy(one)._take(result) for result in results]
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(one, name):
                setattr(self, name, getattr(one, name))
        self.tags_, self.graph_ = names, placed.graph
        self.classes_ = [np.array([0, HAS_TAG]) for _ in names]
        self.dual_gaps_ = np.array([fitted.dual_gap_ for fitted in self.estimators_])
        self.n_iter_ = np.array([fitted.n_iter_ for fitted in self.estimators_])
        self.probabilities_ = _of_tags(self.estimators_, [fitted.label_distributions_ for fitted in self.estimators_])
        self.transduction_ = (self.probabilities_ > 0.5).astype(np.int64)
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Give the probabilities of the tags, through the neighbours among the training examples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, d)

        Returns
        -------
        ndarray of shape (n_new, t)
            Columns as in ``tags_``.
        """
        check_is_fitted(self)
        return _of_tags(self.estimators_, [fitted.predict_proba(X) for fitted in self.estimators_])

    def predict(self, X: Any) -> Ints:
        """Predict the tags of examples: those of a probability above 1/2.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, d)

        Returns
        -------
        ndarray of int, shape (n_new, t)
        """
        return np.asarray((self.predict_proba(X) > 0.5).astype(np.int64))

    def _results(
        self,
        one: SIISClassifier,
        tasks: list[_Task],
        placed: NeighborGraph,
        X: Features,
        seed: int,
        progress: Progress,
    ) -> list[FitResult]:
        """Solve the programs, those with the same labelled vertices in one batch."""
        cores: dict[bytes, tuple[Graph, SmoothBasis]] = {}
        batches: dict[tuple[bytes, bytes], list[int]] = {}
        for t, task in enumerate(tasks):
            key = task.reached.tobytes()
            if key not in cores:
                cores[key] = self._core(placed, task.reached, X, seed, progress)
            batches.setdefault((key, task.given.rows.tobytes()), []).append(t)
        found: dict[int, FitResult] = {}
        for (key, _), members in batches.items():
            graph, basis = cores[key]
            programs = [self._program(tasks[t], graph, basis) for t in members]
            with progress.stage(f"solve {len(programs)} tags") as report:
                solutions = self._solve(programs, progress, report)
            for t, solution in zip(members, solutions, strict=True):
                task, F = tasks[t], basis.synthesize(solution.coefficients)
                solver = SolverResult.of(solution, basis=basis)
                plain = one._plain_result(placed, task.labels, task.given, task.reached, F, solver, seed)
                found[t] = with_examples(plain, X, task.labels, NUMPY)
        return [found[t] for t in range(len(tasks))]

    def _solve(self, programs: list[Program], progress: Progress, report: Report) -> list[Solution]:
        """Solve all programs together, then each to its gap: they share one penalty, which slows the last digits."""
        solve = Solver("certified", self.tol, self.max_iter)
        starts: list[Solution | None] = [None] * len(programs)
        if len(programs) > 1:
            starts = list(solve_batch(programs, self.tol, min(TOGETHER, self.max_iter)))
        return [solve(program, progress, report, start) for program, start in zip(programs, starts, strict=True)]

    def _core(
        self, placed: NeighborGraph, reached: Bools, X: Features, seed: int, progress: Progress
    ) -> tuple[Graph, SmoothBasis]:
        """The part of the graph that labels reach, and its basis."""
        graph = placed.graph.subgraph(reached)
        with progress.stage("basis") as report:
            m = enough_components(graph, self.n_components)
            dtype = np.float32 if placed.points is not None and X.dtype == np.float32 else np.float64
            return graph, smooth_basis(graph, m, self.laplacian, seed, dtype=dtype, report=report, engine=NUMPY)

    def _program(self, task: _Task, graph: Graph, basis: SmoothBasis) -> Program:
        given = task.given.relabel(np.cumsum(task.reached) - 1)
        return Program(graph, basis, given.rows, given.coded, self.alpha * given.weights, self.beta)


def _tag_columns(Y: Any) -> tuple[Floats, Any]:
    """Y as numbers, shape (n, t), and the names of the tags."""
    if Y is None:
        raise ValueError("fit requires y to be passed, but the target y is None")
    names = getattr(Y, "columns", None)
    cells = np.asarray(on_host(Y))
    if cells.dtype.kind == "O":  # None and NA are not known, either
        cells = np.array([np.nan if is_missing(cell) else cell for cell in cells.ravel()]).reshape(cells.shape)
    if cells.dtype.kind not in "buif":
        raise ValueError("Y must hold numbers: 1 (has the tag), 0 (has it not) or NaN (not known); found texts")
    columns = cells.astype(np.float64)
    known = ~np.isnan(columns)
    if (columns[known] != np.round(columns[known])).any():
        raise ValueError(
            "Unknown label type: continuous. Y must hold 1 (has the tag), 0 (has it not) or NaN (not known); "
            "found fractions. Round them."
        )
    if columns.ndim != 2 or columns.shape[1] == 0:
        raise ValueError(
            f"Y must have one row for each example and one column for each tag; found shape {columns.shape}. "
            "Only binary classification is supported. Write one tag as Y.reshape(-1, 1), and use SIISClassifier "
            "for one class per example."
        )
    wrong = known & (columns != 0) & (columns != HAS_TAG)
    if wrong.any():
        i, t = (int(place[0]) for place in np.nonzero(wrong))
        raise ValueError(
            "Y must hold 1 (has the tag), 0 (has it not) or NaN (not known); found "
            f"{columns[i, t]:g} in row {i}, column {t}. Write NaN where nothing is known."
        )
    empty = np.flatnonzero(~known.any(axis=0))
    if empty.size:
        raise ValueError(f"every tag must have at least one label; column {empty[0]} of Y has none. Leave it out.")
    return columns, np.arange(columns.shape[1]) if names is None else np.asarray(list(names))


def _task(column: Floats, placed: NeighborGraph) -> _Task:
    has_label = ~np.isnan(column)
    y = np.full(column.size, None, dtype=object)
    y[has_label] = column[has_label].astype(np.int64)
    labels = read_labels(y)
    given = gather(placed.vertex[labels.used], labels.Y, labels.weights, labels.kinds)
    return _Task(labels, given, placed.graph.reached_from(given.rows))


def _of_tags(fitted: list[SIISClassifier], answers: list[Floats]) -> Floats:
    """Probabilities of having the tags, shape (n, t); of a tag with one answer only, that answer."""
    return np.column_stack([P @ (one.classes_ == HAS_TAG) for one, P in zip(fitted, answers, strict=True)])
