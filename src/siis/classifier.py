"""SIISClassifier: the scikit-learn face of the method."""

from __future__ import annotations

from typing import Any, ClassVar

from siis._types import Floats
from siis.labels import label_rows
from siis.parameters import COUNT, NON_NEGATIVE, POSITIVE, SEED, Rule, one_of, seed_of
from siis.program import Program
from siis.progress import Progress
from siis.solvers import Solution, solve_paper
from siis.solvers.paper import MAX_ITER as PAPER_MAX_ITER
from siis.spectral import smooth_basis
from siis.transductive import Task, TransductiveClassifier, certified_or_warned, enough_components, narrated, shown


class SIISClassifier(TransductiveClassifier):
    """Classify all examples from few, partly wrong labels, with a proof of optimality.

    Semi-supervised learning under Inadequate and Incorrect Supervision. On a graph of nearest neighbours it solves

        minimise over A   ||P U A||_{2,1} + alpha ||J U A - Y||_{2,1} + beta tr(A' Sigma A)

    where U holds the smoothest eigenvectors of the graph's Laplacian and Sigma their eigenvalues, P takes weighted
    differences along the edges, J picks the labelled examples and Y holds their labels. F = U A are the soft labels
    of all examples. Sums of row norms let a few rows be wrong.

    Parameters
    ----------
    alpha : float
        Trust in the given labels.
    beta : float
        Weight of the energy: larger is smoother.
    n_components : int
        m, the number of eigenvectors (at most the number of distinct examples).
    n_neighbors : int
        K of the neighbourhood graph.
    bandwidth : float or "median"
        xi in w_ij = exp(-||x_i - x_j||^2 / (2 xi^2)); "median" is the median distance between neighbours.
    metric : {"euclidean", "cosine", "precomputed"}
        "cosine" is the Euclidean distance between rows of unit length. "precomputed": X is the graph, a symmetric
        (sparse) matrix of weights with zero diagonal.
    graph : {"union", "mutual"}
        Which edges: one end names the other, or both do (others then keep 1 % of their weight).
    laplacian : {"unnormalized", "normalized"}
        L = D - W, or the normalised one (functions smooth with respect to the degrees).
    schedule : {"certified", "paper"}
        "certified" stops at a relative duality gap of ``tol``; "paper" is Algorithm 1 of the paper, where ``tol``
        is the relative change of A, within 100 iterations.
    tol : float
    max_iter : int
    random_state : int or None
        Seed of the eigensolver's start. None is 0: the same input always gives the same answer.
    verbose : int
        1: a line on standard error for each stage; 2: the solver's gap as well.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
    transduction_ : ndarray of shape (n,)
        The class of each example.
    label_distributions_ : ndarray of shape (n, c)
        Rows sum to 1. Where no label is connected: the frequencies of the given labels.
    is_reached_ : ndarray of bool, shape (n,)
        False where no label is connected to the example, so that nothing is known about it.
    objective_ : float
        Value of the program.
    dual_gap_ : float
        Relative duality gap: the objective is at most this far above the best possible one, relative to the
        objective itself (or to a millionth of its value at A = 0, where that is larger: some optima are 0).
    n_iter_ : int
    history_ : History
        Iteration, objective, bound, gap and change of A along the way.
    graph_ : Graph
        On the distinct examples.
    vertex_ : ndarray of shape (n,)
        The vertex of each example; -1 for labelled examples with weight 0, which are not in the graph.
    basis_ : SmoothBasis
        On the vertices that a label reaches.
    solution_ : Solution
        Coefficients, multipliers and status.
    bandwidth_ : float
        The bandwidth used (NaN for a ready-made graph).
    largest_class_share_ : float
        The share of the examples that got the most frequent class. Compare with ``largest_given_share_``, the
        largest share among the given labels: where it is far above, the soft labels are over-smoothed; raise alpha
        or lower beta.
    largest_given_share_ : float
    n_features_in_ : int
    feature_names_in_ : ndarray of str, if X had them

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> import numpy as np
    >>> from siis import SIISClassifier
    >>> X, truth = load_digits(return_X_y=True)
    >>> y = np.full(truth.size, -1)
    >>> y[:100] = truth[:100]
    >>> y[:20] = (y[:20] + 1) % 10  # a fifth of the labels is wrong
    >>> model = SIISClassifier().fit(X, y)
    >>> bool(np.mean(model.transduction_ == truth) > 0.8)
    True
    """

    _rules: ClassVar[dict[str, Rule]] = {
        **TransductiveClassifier._rules,
        "alpha": POSITIVE,
        "beta": NON_NEGATIVE,
        "n_components": COUNT,
        "laplacian": one_of("unnormalized", "normalized"),
        "schedule": one_of("certified", "paper"),
        "tol": POSITIVE,
        "max_iter": COUNT,
        "random_state": SEED,
    }

    def __init__(
        self,
        alpha: float = 100.0,
        beta: float = 10.0,
        n_components: int = 30,
        n_neighbors: int = 10,
        bandwidth: float | str = "median",
        metric: str = "euclidean",
        graph: str = "union",
        laplacian: str = "unnormalized",
        schedule: str = "certified",
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
        self.graph = graph
        self.laplacian = laplacian
        self.schedule = schedule
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def _soft_labels(self, task: Task) -> tuple[Floats, dict[str, Any]]:
        given, progress = task.given, task.progress
        with progress.stage("basis"):
            n_components = enough_components(task.graph, self.n_components)
            basis = smooth_basis(task.graph, n_components, self.laplacian, seed_of(self.random_state))
        Y = label_rows(given.codes, task.n_classes)
        program = Program(task.graph, basis, given.rows, Y, self.alpha * given.weights, self.beta)
        with progress.stage("solve"):
            solution = self._solve(program, progress)
        return basis.synthesize(solution.coefficients), {"basis_": basis, **shown(solution)}

    def _solve(self, program: Program, progress: Progress) -> Solution:
        if self.schedule == "paper":
            return narrated(solve_paper(program, self.tol, min(self.max_iter, PAPER_MAX_ITER)), progress)
        return certified_or_warned(program, self.tol, self.max_iter, progress)
