"""DaskSIISClassifier: the classifier for Dask arrays and data frames."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from siis._types import Floats, Ints
from siis.distributed.communicator import Lost
from siis.distributed.dask_rows import (
    LABELLED,
    SETTING,
    Rows,
    WorkFolder,
    as_dask_array,
    is_array,
    is_frame,
    over_chunks,
    write_rows,
)
from siis.distributed.job import ANSWERS, Job, Labels
from siis.distributed.program_stages import write_arrays
from siis.distributed.row_blocks import Reader
from siis.distributed.settings import SampleChoices
from siis.distributed.work_files import load_object
from siis.distributed.workers import NoWorkers, check_installed, check_shared_folder
from siis.errors import UnreachedWarning
from siis.estimators.base import warn_of_answers
from siis.estimators.classifier import SIISClassifier
from siis.estimators.default_fit import constraints_of
from siis.estimators.inputs import on_host
from siis.labels import GivenLabels, LabelWarning, read_labels
from siis.labels.unlabelled import labelled_accuracy
from siis.parameters import NOTHING, Rule, check_parameters, seed_of
from siis.progress import Progress
from siis.quality import Assessment, issue_table, ranking_table, warn_about_labels
from siis.quality.listings import listed_labels, suspect_labels
from siis.quality.sets import check_coverage
from siis.result_table import Table

CONNECT = (
    "Connect to one first, `client = dask.distributed.Client(...)`, or pass it: DaskSIISClassifier(client=client)."
)
SHARE = f"Name one that they share before the fit: dask.config.set({{'{SETTING}': FOLDER}})."
BLOCKS_FOLDER, WORK_FOLDER = "blocks", "work"  # folders in that of the work, next to the answers
CLIENT = Rule(
    lambda value: not isinstance(value, type) and all(hasattr(value, name) for name in ("submit", "gather", "run")),
    "a client of Dask",
)
SHARED = (  # parameters of SIISClassifier that this one has, too
    *("alpha", "beta", "n_components", "n_neighbors", "bandwidth", "metric", "connectivity", "laplacian", "tol"),
    *("max_iter", "random_state", "verbose"),
)


class DaskSIISClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # untyped bases
    """Classify the rows of Dask arrays and data frames from few, partly wrong labels, on the workers of Dask.

    Members and parameters are chosen by a fit of ``SIISClassifier`` to a sample of at most 20,000 rows. The leading
    graph and the program [1]_ on it are computed for all rows, and noise and calibration from all labels. What
    has an entry for each row is a lazy Dask array with the chunks of X; the rest is plain.

    Parameters
    ----------
    alpha : float or "auto", default="auto"
    beta : float or "auto", default="auto"
    n_components : int or "auto", default="auto"
        As in ``SIISClassifier``, like the others up to ``random_state``. The basis has fewer vectors where the memory
        of the workers does not hold so many.
    n_neighbors : int or "auto", default="auto"
    bandwidth : float or "median", default="median"
    metric : {"auto", "euclidean", "cosine"}, default="auto"
    connectivity : {"auto", "union", "mutual"}, default="auto"
    laplacian : {"auto", "unnormalized", "normalized"}, default="auto"
    tol : float, default=0.0001
    max_iter : int, default=1000
    random_state : int or None, default=None
    client : distributed.Client or None, default=None
        Connection to the cluster. None: that of the session. It is not copied, nor pickled.
    verbose : int, default=0
        1: a line on standard error for each stage.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
    transduction_ : dask.array.Array of shape (n,)
        The class of each row.
    label_distributions_ : dask.array.Array of shape (n, c)
        Calibrated probabilities; rows sum to 1.
    is_reached_ : dask.array.Array of bool, shape (n,)
        False where no label is connected to the row.
    label_quality_ : dask.array.Array of shape (n,)
        Probability that a given label is right; NaN where unlabelled.
    held_out_distributions_ : dask.array.Array of shape (n, c)
        Calibrated probabilities of labelled rows without their own labels; NaN elsewhere.
    objective_, dual_gap_, n_iter_, bandwidth_ : float, float, int, float
        Of the program and the graph of all rows, as in ``SIISClassifier``.
    largest_class_share_, largest_given_share_, graph_score_ : float
    noise_rate_, noise_interval_, noise_matrix_, class_noise_rates_ : float, (float, float), ndarray, ndarray
        The noise of all labels, as in ``SIISClassifier``.
    members_, average_summary_, leading_graph_, program_ : Table, str, MemberConfig, ProgramConfig
        What was chosen on the sample, as in ``SIISClassifier``.
    sample_model_ : SIISClassifier
        The fit to the sample, which predicts new rows. It has the methods that need a graph.
    sample_rows_ : ndarray of shape (s,)
        The rows of the sample.
    table_encoder_ : TableEncoder or None
        How the columns of a data frame were read.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, of a data frame

    See Also
    --------
    siis.SIISClassifier : The classifier on one machine.
    siis.distributed.fit : The same job on Parquet files.

    References
    ----------
    .. [1] C. Gong, H. Zhang, J. Yang, D. Tao, "Learning with Inadequate and Incorrect Supervision", IEEE
       International Conference on Data Mining, 2017.
    """

    _rules: ClassVar[dict[str, Rule]] = {
        **{name: SIISClassifier._rules[name] for name in SHARED},
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
        connectivity: str = "auto",
        laplacian: str = "auto",
        tol: float = 1e-4,
        max_iter: int = 1000,
        random_state: int | None = None,
        client: Any = None,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.bandwidth = bandwidth
        self.metric = metric
        self.connectivity = connectivity
        self.laplacian = laplacian
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.client = client
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> Self:
        """Classify all rows.

        Parameters
        ----------
        X : dask.array.Array or dask.dataframe.DataFrame of shape (n, d)
            An array of numbers, chunked by rows, or a data frame whose columns are read as ``siis fit`` reads those
            of a file.
        y : array-like of shape (n,)
            Given labels, of NumPy, pandas or Dask; unlabelled as in ``SIISClassifier.fit``. They come to the client.

        Returns
        -------
        self
        """
        check_parameters(self)
        check_installed(type(self).__name__)
        _check_kind(X)
        client, y = current_client(self.client), on_host(y)
        with _recorded_warnings() as label_warnings:
            labels = _read_labels(y if isinstance(y, np.ma.MaskedArray) else np.asarray(y))
        _issue(label_warnings)
        at = np.flatnonzero(labels.used)
        known = Labels(at, labels.codes[at], labels.classes)
        folder, progress, seed = WorkFolder(), Progress(int(self.verbose)), seed_of(self.random_state)
        try:
            check_shared_folder(client, folder.path, SHARE)
            with progress.stage("rows"):
                rows = write_rows(client, X, folder.path / BLOCKS_FOLDER, type(self).__name__)
            if rows.n != labels.used.size:
                found = [rows.n, labels.used.size]
                raise ValueError(f"Found input variables with inconsistent numbers of samples: {found}")
            sample = _Sample(self._local(seed), rows, y)
            work = folder.path / WORK_FOLDER
            job = Job(work, client, rows.blocks, seed, lambda line: progress.say(1, line))
            figures, sizes = job.run(lambda: known, sample.choose, write_arrays)
        except (NoWorkers, Lost) as problem:
            raise ValueError(f"the cluster was lost on the way: {problem}. Fit again.") from problem
        assessment: Assessment = load_object(work / "assessment.pickle")
        (work / ANSWERS).rename(folder.path / ANSWERS)
        for left in (folder.path / BLOCKS_FOLDER, work):
            shutil.rmtree(left)
        with _recorded_warnings() as fit_warnings:
            _warn(sample.model, figures, sizes, assessment, known)
        issued = {str(one.message) for one in label_warnings}
        _issue(one for one in (*sample.warnings, *fit_warnings) if str(one.message) not in issued)
        self._check_columns(X, reset=True)
        self._take_sample(sample)
        self._take_answers(folder, rows, figures["shards"], known, assessment)
        self._take_figures(figures, sizes, known, assessment)
        return self

    def predict_proba(self, X: Any) -> Any:
        """Predict class probabilities by the model of the sample.

        Parameters
        ----------
        X : array-like, Dask array or Dask data frame of shape (n_new, d)

        Returns
        -------
        ndarray of shape (n_new, c), or a Dask array where X was Dask's
            Rows sum to 1; columns as in ``classes_``.
        """
        return self._predict(X, "predict_proba", self._n_classes, np.float64)

    def predict(self, X: Any) -> Any:
        """Give the classes of examples: the largest entry of ``predict_proba``.

        Parameters
        ----------
        X : array-like, Dask array or Dask data frame of shape (n_new, d)

        Returns
        -------
        ndarray of shape (n_new,), or a Dask array where X was Dask's
        """
        check_is_fitted(self)
        return self._predict(X, "predict", 0, self.classes_.dtype)

    def predict_sets(self, X: Any, coverage: float = 0.9, *, allow_empty: bool = False) -> Any:
        """Give sets of classes that hold the true one with a given frequency, by the model of the sample.

        Parameters
        ----------
        X : array-like, Dask array or Dask data frame of shape (n_new, d)
        coverage : float, default=0.9
            Between 0 and 1.
        allow_empty : bool, default=False
            Whether a set may be empty. Otherwise it holds the likeliest class at least.

        Returns
        -------
        ndarray of bool, shape (n_new, c), or a Dask array where X was Dask's
            Columns as in ``classes_``.
        """
        check_coverage(coverage)
        settings = {"coverage": float(coverage), "allow_empty": allow_empty}
        return self._predict(X, "predict_sets", self._n_classes, np.bool_, **settings)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Give the share of labels that ``predict`` predicts, among the examples that have one.

        Parameters
        ----------
        X : array-like, Dask array or Dask data frame of shape (n_new, d)
        y : array-like of shape (n_new,)
        sample_weight : array-like of shape (n_new,), optional

        Returns
        -------
        float
        """
        return labelled_accuracy(on_host(y), on_host(self.predict(X)), self.classes_, on_host(sample_weight))

    def label_issues(self, threshold: float | None = None, *, n: int | None = None) -> Table:
        """List the given labels that are probably wrong, worst first, as ``SIISClassifier.label_issues`` does.

        Parameters
        ----------
        threshold : float, optional
            List the labels of a quality below this instead.
        n : int, optional
            List the n labels of the lowest quality instead.

        Returns
        -------
        Table
            Columns: index of the row, given class, suggested class, quality, and neighbors, which are empty lists.
        """
        check_is_fitted(self)
        found = self._labelled
        suspects = suspect_labels(found.quality, found.suggested != found.codes, self.noise_rate_)
        which = listed_labels(found.quality, suspects, threshold, n)
        given, suggested = self.classes_[found.codes[which]], self.classes_[found.suggested[which]]
        index = found.rows[which]
        return issue_table(index, given, suggested, found.quality[which], [[] for _ in index])

    def label_ranking(self) -> Table:
        """Rank all given labels by how far they can be trusted, worst first.

        Returns
        -------
        Table
            Columns: index of the row, given class, suggested class, quality.
        """
        check_is_fitted(self)
        found = self._labelled
        return ranking_table(found.rows, self.classes_[found.codes], self.classes_[found.suggested], found.quality)

    @property
    def _n_classes(self) -> int:
        check_is_fitted(self)
        return int(self.classes_.size)

    def _local(self, seed: int) -> SIISClassifier:
        """The classifier for the sample."""
        return SIISClassifier(**{**{name: getattr(self, name) for name in SHARED}, "random_state": seed})

    def _predict(self, X: Any, method: str, width: int, dtype: Any, **settings: Any) -> Any:
        """The answers of the model of the sample, chunk by chunk where X has chunks."""
        model, encoder = self.sample_model_, self.table_encoder_

        def predict(model: SIISClassifier, rows: Any) -> Any:
            return getattr(model, method)(rows if encoder is None else encoder.transform(rows), **settings)

        if not hasattr(X, "__dask_graph__"):
            return predict(model, X)
        self._check_columns(X, reset=False)
        return over_chunks(X, predict, model, width, dtype)

    def _check_columns(self, X: Any, reset: bool) -> None:
        """Learn the number and names of X's columns, or compare them with those of the fit."""
        validate_data(self, X._meta if is_frame(X) else X, reset=reset, skip_check_array=True)

    def _take_sample(self, sample: _Sample) -> None:
        """Set what was chosen on the sample."""
        self.sample_model_, self.sample_rows_, self.table_encoder_ = sample.model, sample.rows, sample.encoder
        for name in ("members_", "average_summary_", "leading_graph_", "program_"):
            setattr(self, name, getattr(sample.model, name))

    def _take_answers(
        self, folder: WorkFolder, rows: Rows, n_shards: int, known: Labels, assessment: Assessment
    ) -> None:
        """Set what there is of each row, as Dask arrays."""
        values = {"rows": known.rows, "quality": assessment.quality, "held_out": assessment.held_out}
        for name, value in values.items():
            np.save(folder.path / ANSWERS / f"{name}-{LABELLED}.npy", value)
        shards, c = [f"{k:05d}" for k in range(n_shards)], len(known.classes)

        def lazy(name: str, parts: list[str], width: int, dtype: Any, fill: Any = float("nan")) -> Any:
            return as_dask_array(folder, name, parts, rows.sizes, width, dtype, fill)

        self.classes_ = classes = known.classes
        self.label_distributions_ = P = lazy("probabilities", shards, c, np.float64)
        self.transduction_ = P.map_blocks(_winners, classes, drop_axis=1, dtype=classes.dtype)
        self.is_reached_ = lazy("reached", shards, 0, np.bool_, False)
        self.label_quality_ = lazy("quality", [LABELLED], 0, np.float64)
        self.held_out_distributions_ = lazy("held_out", [LABELLED], c, np.float64)
        self._labelled = LabelledRows(known.rows, known.codes, assessment.suggested, assessment.quality)

    def _take_figures(self, figures: dict[str, Any], sizes: Ints, known: Labels, assessment: Assessment) -> None:
        """Set what is small. sizes: (c + 1,), reached rows of each class, then the other rows."""
        noise = assessment.noise
        self.objective_, self.dual_gap_ = figures["objective"], figures["gap"]
        self.n_iter_, self.bandwidth_ = figures["iterations"], figures["bandwidth"]
        self.largest_class_share_ = float(sizes[:-1].max() / max(sizes[:-1].sum(), 1))
        self.largest_given_share_ = float(np.bincount(known.codes).max() / known.codes.size)
        self.noise_rate_, self.noise_interval_ = noise.rate, noise.interval
        self.noise_matrix_, self.class_noise_rates_ = noise.matrix, noise.class_rates
        self.graph_score_ = assessment.agreement.score

    def __sklearn_clone__(self) -> Self:
        """A new classifier with the same parameters; it shares the client, which cannot be copied."""
        given = self.get_params(deep=False)
        return type(self)(**{k: value if k == "client" else clone(value, safe=False) for k, value in given.items()})

    def __getstate__(self) -> dict[str, Any]:
        """All but the client, which lives in this process alone."""
        return {**super().__getstate__(), "client": None}


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """The given labels of a fit, assessed."""

    rows: Ints  # (l,), of X, ascending
    codes: Ints  # (l,)
    suggested: Ints  # (l,)
    quality: Floats  # (l,)


class _Sample:
    """Fits a classifier to a sample of the rows, as without a cluster, and keeps it."""

    def __init__(self, model: SIISClassifier, written: Rows, y: Any) -> None:
        self.model, self.written, self.y = model, written, y

    def choose(self, rows: Ints) -> tuple[SampleChoices, Any]:
        """Fit to some rows."""
        X, reader, self.encoder = self.written.sample(rows)
        with _recorded_warnings() as caught:
            self.model.fit(X, self.y[rows])
        self.rows = rows
        self.warnings = [one for one in caught if not issubclass(one.category, LabelWarning | UnreachedWarning)]
        return sample_choices(self.model, reader), X


def sample_choices(model: SIISClassifier, reader: Reader) -> SampleChoices:
    """What a classifier has chosen that was fitted to a sample; ``reader`` gives the features of a block of rows."""
    average = model.result_.average
    assert average is not None
    found = average.choices, constraints_of(model)
    return SampleChoices(reader, model.classes_, *found, float(model.tol), int(model.max_iter))


def current_client(client: Any) -> Any:
    """The client that was given, or else that of the session."""
    from distributed import get_client  # noqa: PLC0415  (an extra)

    if client is None:
        try:
            client = get_client()
        except ValueError as problem:
            raise ValueError(f"DaskSIISClassifier needs a client of a cluster; there is none. {CONNECT}") from problem
    if client.asynchronous:
        raise ValueError(
            "the client must be one that waits; found an asynchronous one. Use Client(asynchronous=False)."
        )
    if client.status != "running":
        raise ValueError(f"the client must be connected to a cluster; this one is {client.status}. {CONNECT}")
    return client


def _check_kind(X: Any) -> None:
    if not (is_array(X) or is_frame(X)):
        raise ValueError(
            f"X must be a Dask array or a Dask data frame; found {type(X).__name__}. Make one with "
            "dask.array.from_array(X, chunks=...) or dask.dataframe.from_pandas(X, npartitions=...), or use "
            "SIISClassifier."
        )
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: X must have a row for each example")


def _read_labels(y: Any) -> GivenLabels:
    if y.ndim == 2 and y.shape[1] > 1:
        raise ValueError(
            f"on a cluster, y must hold one class for each row; found shape {y.shape}. Take the likeliest."
        )
    labels = read_labels(y)
    if labels.classes.size < 2:
        raise ValueError(
            f"y must hold labels of two classes or more; found only {labels.classes[0]}. Label some rows of each "
            "class."
        )
    return labels


def _winners(P: Floats, classes: Any) -> Any:
    return classes[np.argmax(P, axis=1)]


@contextmanager
def _recorded_warnings() -> Iterator[list[warnings.WarningMessage]]:
    """Record all warnings, and issue none."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def _issue(recorded: Iterable[warnings.WarningMessage]) -> None:
    """Issue recorded warnings as those of the line that has called ``fit``."""
    for one in recorded:
        warnings.warn(one.message, one.category, stacklevel=3)


def _warn(model: SIISClassifier, figures: dict[str, Any], sizes: Ints, assessment: Assessment, known: Labels) -> None:
    """Say of all rows what a fit without a cluster would."""
    if figures["status"] != "certified":
        warnings.warn(
            f"after max_iter={model.max_iter} iterations the relative duality gap is {figures['gap']:.1e}, above "
            f"tol={model.tol:g}. Raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=1,
        )
    warn_about_labels(assessment, known.codes, known.classes)
    n_lost, n, n_vertices = int(sizes[-1]), figures["rows"], figures["vertices"]
    warn_of_answers(model.result_, known.classes, sizes[:-1], n_lost, n, n_vertices)
