"""SIISClassifier: the scikit-learn estimator of the method."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import fields, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from siis._types import Bools, Features, Floats, Ints, Sparse
from siis.engine import NUMPY, Engine
from siis.engine.choice import ENGINES, choose_engine
from siis.engine.types import Array
from siis.errors import FAILURES, Message
from siis.estimators.base import Answer, Task, TransductiveClassifier
from siis.estimators.insights import Insights
from siis.estimators.lone import supported_classes, warn_of_lone_classes, with_lone_classes
from siis.estimators.on_cluster import OnCluster
from siis.estimators.solving import certified_or_warned, enough_components, log_history, solution_attributes
from siis.estimators.warm import FALLEN_BEHIND, KEPT, OTHER_CLASSES, OTHER_EXAMPLES, PreviousFit
from siis.graph import Graph
from siis.labels import GivenLabels
from siis.labels.known_shares import class_shares_of
from siis.labels.unlabelled import coded_rows
from siis.model.choose import Choices, choose_members, large_scores, planned_scores
from siis.model.config import FAMILIES
from siis.model.constraints import Constraints
from siis.model.link import ExpectedAccuracy
from siis.model.located import Located, build_graph
from siis.model.predictor import Predictor, neighbor_means
from siis.model.programs import ProgramConfig, Solved, program_basis, program_configs, solve_first
from siis.model.score_set import ScoreSet, program_weight
from siis.model.scores import softmax
from siis.model.tables import TOO_FEW, with_program_weight
from siis.model.vertices import Vertices, merge_examples
from siis.parameters import (
    AUTO,
    CLIENT,
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
from siis.program.basis import SmoothBasis, smooth_basis
from siis.program.solvers import Solution, solve_paper
from siis.program.solvers.paper import MAX_ITER as PAPER_MAX_ITER
from siis.progress import Progress, Report
from siis.quality import Assessment, assess_labels, issue_table, query_table, ranking_table, warn_about_labels
from siis.quality.issues import dissenting_neighbors, other_classes, representatives, suspect_labels, worst_labels
from siis.quality.queries import entropy, ranked_vertices
from siis.quality.sets import class_sets, coverage_levels, enough_rows
from siis.quality.shares import class_shares
from siis.result_table import Table

UNREACHED = "the distribution rests on models of the features alone"
JUDGED = (  # set by every fit that judges labels, or by none
    "members_",
    "families_",
    "average_summary_",
    "leading_graph_",
    "program_",
    "label_quality_",
    "held_out_distributions_",
    "noise_rate_",
    "noise_interval_",
    "noise_matrix_",
    "class_noise_rates_",
    "graph_score_",
    "class_shares_",
    "_fitted_graph",
    "_predictor",
    "_choices",
    "_calibration",
    "_levels",
    "_given_codes",
    "_suggested",
    "_supported",
    "_listed",
)
OPTIONAL = (
    *JUDGED,
    "_unreached",
    "_before_codes",
    "_judged",
    "_n_searched",
    "_settings",
    "sample_model_",
    "sample_rows_",
    "table_encoder_",
    "_suspects",
)


class SIISClassifier(OnCluster, Insights):
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
    engine : {"auto", "numpy", "torch", "dask"}, default="auto"
        On which the computation runs. "auto": PyTorch (``pip install 'siis[gpu]'``) on a GPU, from 20,000 examples on
        and where there is one that answers; else NumPy. "dask": the workers of a cluster, for Dask arrays and data
        frames (``pip install 'siis[cluster]'``); what has an entry for each example is then a Dask array.
    device : str, default="auto"
        Of PyTorch: "auto" is its GPU, or the CPU where there is none; or as PyTorch names it ("cuda:1").
    client : distributed.Client or None, default=None
        Of "dask": the connection to its cluster. None: that of the session. It is not copied, nor pickled.
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
        With ``method="auto"``: the probability that a given label is right, from what is read while it is held out;
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
        readings. 0 is chance; wrong labels lower it too.
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
    sample_model_ : SIISClassifier
        With the engine "dask": the fit to a sample, on which everything was chosen, and which ``predict`` asks.
    sample_rows_ : ndarray of shape (s,)
        With the engine "dask": the rows of the sample.
    table_encoder_ : TableEncoder
        With the engine "dask": how the columns of a data frame were read.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, if X had them

    See Also
    --------
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

    _optional: ClassVar[tuple[str, ...]] = OPTIONAL
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
        "client": NOTHING | CLIENT,
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
        client: Any = None,
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
        self.client = client
        self.verbose = verbose

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
            quality, as in ``label_quality_``; neighbors, up to five close examples with another predicted class (none
            with the engine "dask", where the graph stays on the workers). ``pandas.DataFrame(table)`` makes a data
            frame.
        """
        self._need_judged("label_issues")
        if not (threshold is None or NON_NEGATIVE.holds(threshold)):
            raise ValueError(f"threshold must be None or {NON_NEGATIVE.text}; found {threshold!r}")
        if not (n is None or COUNT.holds(n)):
            raise ValueError(f"n must be None or {COUNT.text}; found {n!r}")
        if threshold is not None and n is not None:
            raise ValueError("threshold and n exclude each other; found both. Leave one out.")
        rows, given, suggested, quality = self._judged_labels()
        if n is not None:
            which = worst_labels(quality, n)
        elif threshold is not None:
            which = np.nan_to_num(quality, nan=np.inf) < threshold
        elif self._fitted_on_cluster:
            which = suspect_labels(quality, suggested != given, self.noise_rate_)
        else:
            which = self._listed[rows]
        index, codes = rows[which], given[which]
        against: list[list[int]] = [[] for _ in index]
        if not self._fitted_on_cluster:
            suggested[which] = other_classes(self.held_out_distributions_[index], codes, suggested[which])
            winners = np.argmax(self._answers, axis=1)
            example = representatives(self.vertex_, coded_rows(self._given_codes), self.graph_.n_vertices)
            against = [
                dissenting_neighbors(self.graph_, v, winners, g, example)
                for v, g in zip(self.vertex_[index], codes, strict=True)
            ]
        return issue_table(index, self.classes_[codes], self.classes_[suggested[which]], quality[which], against)

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
        self._need_judged("label_ranking")
        rows, given, suggested, quality = self._judged_labels()
        return ranking_table(rows, self.classes_[given], self.classes_[suggested], quality)

    def _judged_labels(self) -> tuple[Ints, Ints, Ints, Floats]:
        """Labelled examples, their given and their suggested classes by number, and the quality of their labels."""
        if self._fitted_on_cluster:
            found = self._suspects
            return found.rows, found.codes, found.suggested, found.quality
        rows = np.flatnonzero(coded_rows(self._given_codes))
        codes, suggested = self._given_codes[rows], self._suggested[rows]
        others = other_classes(self.held_out_distributions_[rows], codes, suggested)
        return rows, codes, np.where(self._listed[rows], others, suggested), self.label_quality_[rows]

    def predict_sets(self, X: Any, coverage: float = 0.9, *, allow_empty: bool = False) -> Bools:
        """Give sets of classes that hold the true one as often as asked.

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
        self._need_judged("predict_sets")
        if not (isinstance(coverage, Real) and 0 < coverage < 1):
            raise ValueError(f"coverage must be a number between 0 and 1; found {coverage!r}")
        if self._fitted_on_cluster:
            settings = {"coverage": float(coverage), "allow_empty": allow_empty}
            return self._predict_chunks(X, "predict_sets", self.classes_.size, np.bool_, **settings)
        if not hasattr(self, "_levels"):
            raise ValueError("sets of classes need a model that was fitted by siis 0.2 or later: fit it again")
        return class_sets(self.predict_proba(X), self._levels, float(coverage), allow_empty)

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
        self._need_judged("suggest_queries")
        if not COUNT.holds(n):
            raise ValueError(f"n must be {COUNT.text}; found {n!r}")
        doubt = entropy(self._answers)
        quality = self.label_quality_
        judged = np.flatnonzero(~np.isnan(quality) & (self.vertex_ >= 0))
        at = self.vertex_[judged]
        doubt[at] = 0.0
        np.maximum.at(doubt, at, entropy(np.column_stack([quality[judged], 1 - quality[judged]])))
        picked, gains = ranked_vertices(self.graph_, doubt, n)
        has_label = coded_rows(self._given_codes)
        example = representatives(self.vertex_, has_label, self.graph_.n_vertices)[picked]
        return query_table(example, has_label[example], np.asarray(gains))

    def _need_judged(self, name: str) -> None:
        check_is_fitted(self)
        self._refuse_on_cluster(name)
        if not hasattr(self, "label_quality_"):
            raise ValueError(
                Message("{name} needs held-out scores; fit with {method:auto} on two classes or more", name=name)
            )

    def _graph_setting(self) -> tuple[int, str, str]:
        plain = {"n_neighbors": 10, "metric": "euclidean", "connectivity": "union"}
        K, metric, kind = (_or_default(getattr(self, name), default) for name, default in plain.items())
        return K, metric, kind

    def _classify(self, X: Features, labels: GivenLabels, progress: Progress, engine: Engine) -> Answer:
        if self.method == "paper" and self.class_prior is not None:
            raise ValueError(
                Message("known class sizes need {method:auto}; the plain method does not use them. Leave them out.")
            )
        if self.method == "paper" or labels.classes.size == 1:
            return super()._classify(X, labels, progress, engine)
        vertices = merge_examples(X, labels, self.metric, self.affinity)
        supported = supported_classes(vertices.parts)
        if supported.all() or self.class_prior is not None:
            return self._selected(vertices, labels, progress, engine)
        warn_of_lone_classes(labels, supported)
        some = labels.only(supported)
        vertices = merge_examples(X, some, self.metric, self.affinity)
        return with_lone_classes(self._selected(vertices, some, progress, engine), labels, supported)

    def _selected(self, vertices: Vertices, labels: GivenLabels, progress: Progress, engine: Engine) -> Answer:
        """The average, and the labels to list: suspects, and those that were listed before and are not decided."""
        previous = PreviousFit.of(self) if self.warm_start else None
        answer = self._kept_or_searched(vertices, labels, progress, engine, previous)
        shown = answer.attributes
        is_other = shown["_suggested"] != shown["_given_codes"]
        shown["_listed"] = suspect_labels(shown["label_quality_"], is_other, shown["noise_rate_"])
        if previous is not None:
            shown["_listed"] |= previous.still_listed(vertices, labels)
        return answer

    def _kept_or_searched(
        self,
        vertices: Vertices,
        labels: GivenLabels,
        progress: Progress,
        engine: Engine,
        previous: PreviousFit | None,
    ) -> Answer:
        """The average, of a previous fit's choices where these still hold."""
        constraints, before = self._constraints(), None
        if previous is not None:
            reason = previous.reason_to_search_again(vertices, labels, self._settings_now())
            before = None if reason in (OTHER_CLASSES, OTHER_EXAMPLES) else previous.before
            if not reason:
                again = self._average(vertices, labels, constraints, progress, engine, before, previous)
                if not previous.is_better(again.attributes["held_out_distributions_"], labels):
                    return again
                reason = FALLEN_BEHIND
            progress.say(1, f"everything is tried anew: {reason}")
        return self._average(vertices, labels, constraints, progress, engine, before)

    def _average(
        self,
        vertices: Vertices,
        labels: GivenLabels,
        constraints: Constraints,
        progress: Progress,
        engine: Engine,
        before: Ints | None,
        previous: PreviousFit | None = None,
    ) -> Answer:
        """Average what predicts held-out labels and solve the program on it; a previous fit's choices are kept."""
        seed, X, basis, start = self._seed, vertices.X, None, None
        if previous is None:
            choices, scores = choose_members(vertices, constraints, seed, progress, engine)
        else:
            choices, scores, basis, start = previous.choices, None, previous.basis, previous.solution
        if scores is None:
            scores = planned_scores(choices, vertices, constraints, seed, progress, engine)
        if previous is None:
            fitted = build_graph(vertices, choices.leading, choices.space, constraints, seed, progress, engine)
        else:
            fitted = previous.fitted_graph
        located = Located.of(fitted, vertices)
        basis_of = self._basis_of(located.graph, _precision(X), progress, engine, choices, basis)
        if scores is None:
            subspace = _vectors(basis_of, choices.program)
            scores = large_scores(choices, located, vertices.verified, constraints, seed, progress, engine, subspace)
        else:
            scores = scores.in_order(located)
        solved = self._solve_program(located, scores, choices, constraints, basis_of, progress, start)
        summary = scores.summary + ("" if previous is None else KEPT)
        if solved.n_failed:
            summary += f"; of the programs, {solved.n_failed} failed on all examples, and the next was taken"
        expected = scores.expected_accuracy(located)
        scores, weight = scores.with_program(solved, labels.classes.size, program_weight(scores.families))
        scores = scores.with_shares(class_shares_of(self.class_prior, labels.classes))
        scores = replace(scores, families=with_program_weight(scores.families, weight))
        choices = replace(choices, summary=summary, program=solved.config)
        n_searched = int(np.count_nonzero(labels.used)) if previous is None else previous.n_searched
        return self._judge(choices, located, solved, scores, vertices, labels, n_searched, before, expected)

    def _judge(
        self,
        choices: Choices,
        located: Located,
        solved: Solved,
        scores: ScoreSet,
        vertices: Vertices,
        labels: GivenLabels,
        n_searched: int,
        before: Ints | None,
        estimated: tuple[Floats, ExpectedAccuracy] | None,
    ) -> Answer:
        """Judge the labels by their scores while they were held out, and calibrate the answers."""
        which = np.flatnonzero(vertices.by_example(scores.judged[:, None].astype(np.float64)))
        held_out = vertices.by_example(scores.held_out)[which]
        before = np.where(labels.verified, -1 if before is None else before, labels.codes)
        vertex, predictor = located.fitted.placed.vertex, scores.predictor(choices.plan, located)
        assessment = assess_labels(which, held_out, labels, vertex, scores.final, before, estimated)
        _warn_about(choices.summary, which, assessment, located, labels)
        if (levels := _levels_of_new(located, predictor, assessment, vertices, labels, which.size)) is not None:
            assessment = replace(assessment, levels=levels)
        shares = class_shares(which, vertex, held_out, assessment, labels, self._seed)
        answer = self._answer(choices, located, solved, scores, assessment)
        answer.attributes.update(
            class_shares_=shares,
            _predictor=predictor,
            _judged=np.flatnonzero(labels.used)[which],
            _before_codes=before,
            _n_searched=n_searched,
            _settings=self._settings_now(),
            _supported=np.arange(labels.classes.size),
        )
        return answer

    def _solve_program(
        self,
        located: Located,
        scores: ScoreSet,
        choices: Choices,
        constraints: Constraints,
        basis_of: Callable[[ProgramConfig], SmoothBasis],
        progress: Progress,
        start: Solution | None,
    ) -> Solved:
        """Basis, program, solution; of the next program where the chosen one cannot be solved."""

        def solve(program: Program) -> Solution:
            with progress.stage("solve") as report:
                return self._solve(program, progress, report, start)

        others = program_configs(constraints, located.given.n_classes)
        configs = list(dict.fromkeys([choices.program, *others]))
        return solve_first(located.graph, softmax(scores.final), configs, constraints, solve, basis_of)

    def _basis_of(
        self,
        graph: Graph,
        dtype: type[np.floating[Any]],
        progress: Progress,
        engine: Engine,
        choices: Choices,
        basis: SmoothBasis | None,
    ) -> Callable[[ProgramConfig], SmoothBasis]:
        seed = self._seed
        known: dict[ProgramConfig, SmoothBasis | Exception] = {}  # labels are smoothed by the basis of the program
        if basis is not None:
            known[choices.program] = basis.on(engine)

        def basis_of(config: ProgramConfig) -> SmoothBasis:
            if config not in known:
                try:
                    with progress.stage("basis") as report:
                        known[config] = program_basis(graph, config, seed, dtype, report, engine)
                except FAILURES as failure:
                    known[config] = failure
            if isinstance(found := known[config], Exception):
                raise found
            return found

        return basis_of

    def _answer(
        self, choices: Choices, located: Located, solved: Solved, scores: ScoreSet, assessment: Assessment
    ) -> Answer:
        """Everything that a fit shows."""
        graph, given, placed = located.graph, located.given, located.fitted.placed
        basis, noise = solved.program.basis, assessment.noise
        assert isinstance(basis, SmoothBasis)
        attributes = {
            "basis_": basis.on(NUMPY),
            **solution_attributes(solved.solution, basis.engine),
            "members_": choices.members,
            "families_": scores.families,
            "average_summary_": choices.summary,
            "leading_graph_": choices.leading,
            "program_": choices.program,
            "label_quality_": assessment.quality,
            "held_out_distributions_": assessment.held_out,
            "noise_rate_": noise.rate,
            "noise_interval_": noise.interval,
            "noise_matrix_": noise.matrix,
            "class_noise_rates_": noise.class_rates,
            "graph_score_": assessment.agreement.score,
            "_fitted_graph": located.fitted,
            "_choices": choices,
            "_calibration": noise.calibration,
            "_levels": assessment.levels,
            "_given_codes": assessment.codes,
            "_suggested": assessment.suggested,
            "_unreached": TransductiveClassifier._unreached if placed.points is None else UNREACHED,
        }
        reached = graph.reached_from(given.rows)
        answers = assessment.probabilities
        if placed.points is None:  # a ready-made graph: nothing is known where no label is connected
            answers[~reached] = given.prior
        n_neighbors = max(choices.leading.n_neighbors, 1)
        return Answer(placed, answers, reached, given.prior, n_neighbors, attributes, assessment.own)

    def _new_answers(self, X: Features, weights: Sparse, is_known: Bools) -> Floats:
        """Neighbours on the graph and models of the features together."""
        answers = super()._new_answers(X, weights, is_known)
        if hasattr(self, "_predictor") and self._predictor.models and not is_known.all():
            new, predictor = np.flatnonzero(~is_known), self._predictor
            of_neighbors, _ = self._mean_over(weights[new], predictor.graph_scores, np.zeros(self._supported.size))
            scores = predictor.score(self._as_fitted(X[new]), of_neighbors)
            answers[new] = 0.0
            answers[np.ix_(new, self._supported)] = self._calibration(scores)
        return answers

    def _as_fitted(self, X: Features) -> Features:
        """Examples as a sparse or a dense array, as those of the fit were."""
        if sp.issparse(X) == self._fitted_graph.is_sparse:
            return X
        return X.toarray() if sp.issparse(X) else sp.csr_array(X)

    def _engine(self, X: Features, progress: Progress) -> Engine:
        engine, why = choose_engine(self.engine, self.device, X.shape[0])
        if why:
            progress.say(1, why)
        return engine

    def _located(self, X: Features, engine: Engine) -> Features:
        return self._fitted_graph.locate(X, engine) if hasattr(self, "_fitted_graph") else super()._located(X, engine)

    def _settings_now(self) -> str:
        """What a search depends on, beside the data."""
        return f"{self._constraints()!r}, seed {self._seed}, shares {self.class_prior!r}"

    def _constraints(self) -> Constraints:
        return Constraints(**{field.name: getattr(self, field.name) for field in fields(Constraints)})

    def _soft_labels(self, task: Task) -> tuple[Floats, dict[str, Any]]:
        given, progress = task.given, task.progress
        with progress.stage("basis") as report:
            n_components = enough_components(task.graph, _or_default(self.n_components, 30))
            laplacian = _or_default(self.laplacian, "unnormalized")
            seed, dtype = self._seed, _precision(task.points)
            basis = smooth_basis(
                task.graph, n_components, laplacian, seed, dtype=dtype, report=report, engine=task.engine
            )
        alpha, beta = _or_default(self.alpha, 100.0), _or_default(self.beta, 10.0)
        program = Program(task.graph, basis, given.rows, given.coded, alpha * given.weights, beta)
        with progress.stage("solve") as report:
            solution = self._solve(program, progress, report)
        F = task.engine.numpy(basis.synthesize(solution.coefficients))
        return F, {"basis_": basis.on(NUMPY), **solution_attributes(solution, task.engine)}

    def _solve(self, program: Program, progress: Progress, report: Report, start: Solution | None = None) -> Solution:
        if self.solver == "paper" or (self.solver == "auto" and self.method == "paper"):
            return log_history(solve_paper(program, self.tol, min(self.max_iter, PAPER_MAX_ITER)), progress)
        return certified_or_warned(program, self.tol, self.max_iter, progress, report, start)


def _warn_about(summary: str, which: Ints, assessment: Assessment, located: Located, labels: GivenLabels) -> None:
    if which.size:
        warn_about_labels(assessment, located.given.codes, labels.classes)
        return
    remedy = " Label two examples or more of each class." if summary == TOO_FEW else ""
    warnings.warn(f"{summary}.{remedy}", UserWarning, stacklevel=4)


def _levels_of_new(
    located: Located,
    predictor: Predictor,
    assessment: Assessment,
    vertices: Vertices,
    labels: GivenLabels,
    n_judged: int,
) -> Floats | None:
    """Levels of sets by unlabelled examples, predicted as if they were new; None where labels are more.  (C13)"""
    W, vertex = located.graph.weights, located.fitted.placed.vertex
    free = np.unique(vertex[~labels.used & (vertex >= 0)])
    if not free.size > n_judged > 0:
        return None
    rows = free[enough_rows(free.size, labels.classes.size)]
    if predictor.models:
        X = vertices.X if located.order is None else vertices.X[located.order]
        P = assessment.noise.probabilities(predictor.score_vertices(W, X, rows))
    else:
        P = neighbor_means(W, assessment.probabilities, rows)
    return coverage_levels(P, assessment.probabilities[rows], np.ones(rows.size))


def _precision(X: Any) -> type[np.floating[Any]]:
    """Single precision where the features are."""
    return np.float32 if X is not None and X.dtype == np.float32 else np.float64


def _vectors(basis_of: Callable[[ProgramConfig], SmoothBasis], config: ProgramConfig) -> Array | None:
    """Vectors of the basis; None where it cannot be computed, and another program will be tried."""
    try:
        return basis_of(config).vectors
    except FAILURES:
        return None


def _or_default(value: Any, default: Any) -> Any:
    return default if isinstance(value, str) and value == "auto" else value
