"""SIISClassifier: the scikit-learn estimator of the method."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from siis._types import Features, Floats
from siis.engine import Engine
from siis.engine.choice import ENGINES, choose_engine
from siis.errors import Message
from siis.estimators.base import Task, TransductiveClassifier
from siis.estimators.default_fit import FitSettings, constraints_of, fit_default
from siis.estimators.insights import Insights
from siis.estimators.result import FitResult, SolverResult
from siis.estimators.solving import Solver, enough_components
from siis.estimators.warm import PreviousFit
from siis.labels import GivenLabels
from siis.model.config import FAMILIES
from siis.parameters import (
    AUTO,
    COUNT,
    FLAG,
    NON_NEGATIVE,
    NOTHING,
    POSITIVE,
    SEED,
    SHARES,
    WORD,
    Rule,
    metrics,
    one_of,
    some_of,
)
from siis.program import Program
from siis.program.basis import smooth_basis
from siis.progress import Progress

PLAIN = {  # values of "auto" with the plain method
    "alpha": 100.0,
    "beta": 10.0,
    "n_components": 30,
    "n_neighbors": 10,
    "metric": "euclidean",
    "connectivity": "union",
    "laplacian": "unnormalized",
}


class SIISClassifier(TransductiveClassifier, Insights):
    """Classify all examples from few, partly wrong labels, and find the wrong labels.

    Semi-supervised learning under Inadequate and Incorrect Supervision [1]_. On a graph of nearest neighbours it
    solves

        minimise over A   ||P U A||_{2,1} + alpha ||J U A - Y||_{2,1} + beta tr(A' Sigma A)

    where U holds the smoothest eigenvectors of the graph's Laplacian and Sigma their eigenvalues, P takes weighted
    differences along the edges, J picks the labelled examples and Y holds their labels. F = U A are the soft labels
    of all examples. Sums of row norms let a few rows be wrong.

    By default the prediction is an average of models that predict held-out labels well: ridge regressions of the
    labels in kernels of neighbour graphs and of distances, forests, and this program on the leading graph with the
    average as soft labels (docs/math.md, (D1) to (D8)). What is set to a value is kept. ``method="paper"`` is the
    plain method of the paper: Y holds the given labels.

    Parameters
    ----------
    alpha : float or "auto", default="auto"
        Trust in the rows of Y. "auto": the mean degree of the graph (plain method: 100).
    beta : float or "auto", default="auto"
        Weight of the energy: larger is smoother. "auto": 30 times the mean degree, or 300 with the
        unnormalised Laplacian (plain method: 10).
    n_components : int or "auto", default="auto"
        m, the number of eigenvectors (at most the number of distinct examples). "auto": 60, or 1.2 times the
        number of classes, 240 at most (plain method: 30).
    n_neighbors : int or "auto", default="auto"
        K of the neighbourhood graph. "auto": 5, 10 and 20 are tried (plain method: 10).
    bandwidth : float or "median", default="median"
        xi in w_ij = exp(-||x_i - x_j||^2 / (2 xi^2)); "median" is the median distance between neighbours.
    metric : {"auto", "euclidean", "cosine"}, default="auto"
        "cosine" is the Euclidean distance between rows of unit length. "auto": features as given, of unit variance or
        of unit length; latent dimensions of sparse text (plain method: "euclidean").
    affinity : {"nearest_neighbors", "precomputed"}, default="nearest_neighbors"
        "precomputed": X is the graph, a symmetric (sparse) matrix of weights with zero diagonal, not of distances.
        ``metric``, ``n_neighbors``, ``bandwidth``, ``connectivity`` and ``neighbor_search`` are then not used.
    connectivity : {"auto", "union", "mutual"}, default="auto"
        Which edges: one end names the other, or both do (others then keep 1 % of their weight). Plain
        method: "union".
    laplacian : {"auto", "unnormalized", "normalized"}, default="auto"
        L = D - W, or the normalised one (functions smooth with respect to the degrees). "auto": either (plain method:
        "unnormalized").
    neighbor_search : {"auto", "exact", "faiss"} or object, default="auto"
        How neighbours are found. "auto": exactly, up to 40,000 distinct examples and for sparse X; beyond, by
        approximate search (``pip install 'siis[ann]'``), whose recall is measured. An object has scikit-learn's
        ``fit`` and ``kneighbors``; a copy of it is fitted.
    class_prior : array-like of shape (c,), dict or None, default=None
        Known shares of the classes among all examples, in the order of ``classes_`` or by class; only with
        ``method="auto"``. The mean probabilities of the examples become these shares.
    method : {"auto", "paper"}, default="auto"
        "auto": average what predicts held-out labels. "paper": the method exactly as published, which is called the
        plain method here.
    members : list of {"graph", "kernel", "graph and kernel", "forest"} or "auto", default="auto"
        Families of models that are averaged with ``method="auto"``: label smoothing on neighbour graphs, ridge
        regression in Gaussian and linear kernels, in sums of both kernels, forests. "auto": all.
    solver : {"auto", "certified", "paper"}, default="auto"
        Of the program. "certified" stops at a relative duality gap of ``tol``; "paper" is Algorithm 1 of the paper,
        where ``tol`` is the relative change of A, within 100 iterations. "auto": "paper" with ``method="paper"``,
        else "certified".
    tol : float, default=0.0001
        Relative duality gap at which to stop (``solver="paper"``: relative change of A).
    max_iter : int, default=1000
        Most iterations.
    warm_start : bool, default=False
        Start from the previous fit, if there is one: its choices, graph and basis stay, and the program starts from
        its solution. For corrections and some more labels of the same examples. Everything is computed anew where
        examples, their order, classes or parameters have changed, where there are half as many labels again as at the
        last full fit, where a third of them are other ones, or where clearly fewer held-out labels are predicted.
        Without effect with ``method="paper"``.
    random_state : int or None, default=None
        Seed of the folds and of the eigensolver's start. None is 0: the same input always gives the same answer.
    engine : {"auto", "numpy", "torch"}, default="auto"
        On which the computation runs. "auto": PyTorch (``pip install 'siis[gpu]'``) on a GPU, from 20,000 examples on
        and where there is one that answers; else NumPy.
    device : str, default="auto"
        Of PyTorch: "auto" is its GPU, or the CPU where there is none; or as PyTorch names it ("cuda:1").
    verbose : int, default=0
        1: a line on standard error for each stage; 2: the solver's gap as well.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
    transduction_ : ndarray of shape (n,)
        The class of each example.
    label_distributions_ : ndarray of shape (n, c)
        Rows sum to 1. With ``method="auto"`` they are calibrated on held-out labels, allowing for their noise; where
        no label is connected they rest on the kernel model alone. Plain method: where no label is connected, the
        frequencies of the given labels.
    is_reached_ : ndarray of bool, shape (n,)
        False where no label is connected to the example, so that nothing is known about it.
    objective_ : float
        Value of the program.
    dual_gap_ : float
        Relative duality gap of the program on the graph. It certifies the solution of that program only; with
        ``method="auto"`` the program is one part of the averaged answer. The objective is at most this far above the
        minimum, relative to the objective itself, or to a share of its value at A = 0 where that is larger (some
        optima are 0): a tenth with ``method="auto"``, a millionth with "paper".
    n_iter_ : int
    history_ : History
        Iteration, objective, bound, gap and change of A along the way.
    graph_ : Graph
        On the distinct examples.
    vertex_ : ndarray of shape (n,)
        The vertex of each example; -1 for labelled examples with weight 0, which are not in the graph.
    neighbor_search_ : str
        How neighbours were found: "exact", "faiss", "torch", the name of the object's class, or
        "ready-made".
    neighbor_recall_ : float
        The share of nearest neighbours that was found, measured on a sample; NaN for a ready-made graph.
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
    label_quality_ : ndarray of shape (n,)
        With ``method="auto"``: the probability that a given label is right, from scores that did not see it;
        NaN where unlabelled. Low is suspect. The only label of its class is given the overall share of right labels,
        and a verified label 1.
    noise_rate_, noise_interval_ : float, (float, float)
        With ``method="auto"``: the estimated share of wrong ones among the labels that are not verified, and a 95 %
        interval. NaN where nothing could be held out.
    noise_matrix_ : ndarray of shape (c, c)
        With ``method="auto"``: row, given class; column, true class; columns sum to 1.
    class_noise_rates_ : ndarray of shape (c,)
        With ``method="auto"``: the share of wrong ones among the labels of each given class.
    class_shares_ : Table
        With ``method="auto"``: the estimated share of each class among all examples, with a 95 % interval (class,
        share, low, high), whether labels were drawn at random or so many of each class.
    families_ : Table
        With ``method="auto"``: families of members (graphs, kernels, sums of both, forests, the program), their
        weights, and the share of the held-out labels that each predicts; last, of all together.
    graph_score_ : float
        With ``method="auto"``: how well the graph carries the labels, Cohen's kappa between held-out labels and
        predictions. 0 is chance; wrong labels lower it too.
    held_out_distributions_ : ndarray of shape (n, c)
        With ``method="auto"``: calibrated probabilities of labelled examples without their own labels; NaN elsewhere.
    members_ : Table
        With ``method="auto"``: everything that was tried, with held-out log-likelihood, accuracy and weight.
    leading_graph_ : MemberConfig
        With ``method="auto"``: the graph with the largest weight (space, n_neighbors, connectivity, fidelity).
    program_ : ProgramConfig
        With ``method="auto"``: the program that is solved on this graph (n_components, beta, alpha, laplacian).
    average_summary_ : str
        With ``method="auto"``: what was averaged, in a sentence.
    result_ : FitResult
        All of this as one object, for other modules.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, if X had them

    See Also
    --------
    siis.distributed.DaskSIISClassifier : The same for Dask arrays and data frames, on a cluster.
    siis.baselines.GTFClassifier : Graph trend filtering without the basis.
    siis.baselines.GFHFClassifier : Quadratic smoothing that keeps the given labels.
    siis.tables.TableEncoder : Columns of a table as features.
    siis.validation.LabelledKFold : Cross-validation that holds out labels alone.

    References
    ----------
    .. [1] C. Gong, H. Zhang, J. Yang, D. Tao, "Learning with Inadequate and Incorrect Supervision", IEEE
       International Conference on Data Mining, 2017.

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
        "alpha": POSITIVE | AUTO,
        "beta": NON_NEGATIVE | AUTO,
        "n_components": COUNT | AUTO,
        "n_neighbors": COUNT | AUTO,
        "metric": metrics("auto", "euclidean", "cosine"),
        "connectivity": one_of("auto", "union", "mutual"),
        "laplacian": one_of("auto", "unnormalized", "normalized"),
        "class_prior": NOTHING | SHARES,
        "method": one_of("auto", "paper"),
        "members": some_of(*FAMILIES) | AUTO,
        "solver": one_of("auto", "certified", "paper"),
        "tol": POSITIVE,
        "max_iter": COUNT,
        "warm_start": FLAG,
        "random_state": SEED,
        "engine": one_of(*ENGINES),
        "device": WORD,
    }

    def __init__(
        self,
        *,
        alpha: float | str = "auto",
        beta: float | str = "auto",
        n_components: int | str = "auto",
        n_neighbors: int | str = "auto",
        bandwidth: float | str = "median",
        metric: str = "auto",
        affinity: str = "nearest_neighbors",
        connectivity: str = "auto",
        laplacian: str = "auto",
        neighbor_search: Any = "auto",
        class_prior: Any = None,
        method: str = "auto",
        members: Any = "auto",
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int = 1000,
        warm_start: bool = False,
        random_state: int | None = None,
        engine: str = "auto",
        device: str = "auto",
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
        self.class_prior = class_prior
        self.method = method
        self.members = members
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.random_state = random_state
        self.engine = engine
        self.device = device
        self.verbose = verbose

    def _classify(self, X: Features, labels: GivenLabels, seed: int, progress: Progress, engine: Engine) -> FitResult:
        if self.method == "paper" and self.class_prior is not None:
            raise ValueError(
                Message("known class sizes need {method:auto}; the plain method does not use them. Leave them out.")
            )
        if self.method == "paper" and not (isinstance(self.members, str) and self.members == "auto"):
            raise ValueError(
                Message("{members} needs {method:auto}; the plain method averages no models. Leave {members} out.")
            )
        if self.method == "paper" or labels.classes.size == 1:
            return super()._classify(X, labels, seed, progress, engine)
        constraints, solver = constraints_of(self), self._solver()
        settings = FitSettings(constraints, self.class_prior, solver, seed, progress, engine)
        previous = PreviousFit.of(getattr(self, "result_", None)) if self.warm_start else None
        return fit_default(X, labels, self.affinity, settings, previous)

    def _soft_labels(self, task: Task) -> tuple[Floats, SolverResult]:
        """The plain method: basis, program, solution."""
        given, progress, engine = task.given, task.progress, task.engine
        with progress.stage("basis") as report:
            m = enough_components(task.graph, self._plain("n_components"))
            dtype = np.float32 if task.points is not None and task.points.dtype == np.float32 else np.float64
            laplacian = self._plain("laplacian")
            basis = smooth_basis(task.graph, m, laplacian, task.seed, dtype=dtype, report=report, engine=engine)
        alpha, beta = self._plain("alpha"), self._plain("beta")
        program = Program(task.graph, basis, given.rows, given.coded, alpha * given.weights, beta)
        with progress.stage("solve") as report:
            solution = self._solver()(program, progress, report)
        F = engine.numpy(basis.synthesize(solution.coefficients))
        return F, SolverResult.of(solution, engine, basis)

    def _solver(self) -> Solver:
        is_paper = self.solver == "paper" or (self.solver == "auto" and self.method == "paper")
        return Solver("paper" if is_paper else "certified", self.tol, self.max_iter)

    def _graph_setting(self) -> tuple[int, str, str]:
        return self._plain("n_neighbors"), self._plain("metric"), self._plain("connectivity")

    def _plain(self, name: str) -> Any:
        """The value of a parameter for the plain method."""
        value = getattr(self, name)
        return PLAIN[name] if isinstance(value, str) and value == "auto" else value

    def _engine(self, X: Features, progress: Progress) -> Engine:
        engine, why = choose_engine(self.engine, self.device, X.shape[0])
        if why:
            progress.say(1, why)
        return engine
