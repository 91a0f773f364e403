"""The fit of a classifier to Dask arrays and data frames: a sample here, all rows on the workers."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from siis._types import Floats, Ints
from siis.engine.group import Lost
from siis.errors import UnreachedWarning
from siis.estimators.base import on_host
from siis.estimators.choices import check_choices, choices_of
from siis.estimators.dask_rows import (
    KINDS,
    LABELLED,
    REMEDY,
    Rows,
    WorkFolder,
    is_array,
    is_frame,
    lazily,
    write_labelled,
    write_rows,
)
from siis.labels import GivenLabels, LabelWarning, read_labels
from siis.progress import Progress
from siis.quality import Assessment, warn_about_labels
from siis.shards import Job, Labels, NoWorkers, SampleChoices, check_shared_folder
from siis.shards.files import load_object
from siis.shards.job import ANSWERS
from siis.shards.stages import write_arrays

if TYPE_CHECKING:
    from siis.estimators.classifier import SIISClassifier

CONNECT = "Connect to one first, `client = dask.distributed.Client(...)`, or pass it: SIISClassifier(client=client)."
STACK = 5  # calls from a warning to the user's own
BLOCKS_FOLDER, WORK_FOLDER = "blocks", "work"  # folders in that of the work, next to the answers


@dataclass(frozen=True, eq=False)
class Suspects:
    """The given labels of a fit on a cluster, judged."""

    rows: Ints  # (l,), of X, ascending
    codes: Ints  # (l,)
    suggested: Ints  # (l,)
    quality: Floats  # (l,)


def fit_on_cluster(estimator: SIISClassifier, X: Any, y: Any, more: list[str]) -> dict[str, Any]:
    """Classify the rows of a Dask array or data frame.

    X: a Dask array, (n, d), or data frame; y: (n,), Dask's or not; ``more`` names what else ``fit`` was given. The
    estimator is not changed. Returns its fitted attributes.
    """
    _check(estimator, X, more)
    client = current_client(estimator.client)
    y = on_host(y)
    y = y if isinstance(y, np.ma.MaskedArray) else np.asarray(y)
    with _recorded_warnings() as label_warnings:
        labels = _labels(y)
    _issue(label_warnings)
    folder, progress = WorkFolder(), Progress(int(estimator.verbose))
    try:
        check_shared_folder(client, folder.path, REMEDY)
        with progress.stage("rows"):
            rows = write_rows(client, X, folder.path / BLOCKS_FOLDER, type(estimator).__name__)
        if rows.n != labels.used.size:
            found = [rows.n, labels.used.size]
            raise ValueError(f"Found input variables with inconsistent numbers of samples: {found}")
        seed = estimator._seed
        sample = _Sample(estimator, rows, y, seed)
        at = np.flatnonzero(labels.used)
        known = Labels(at, labels.codes[at], labels.classes)
        job = Job(folder.path / WORK_FOLDER, client, rows.blocks, seed, lambda line: progress.say(1, line))
        figures, sizes = job.run(lambda: known, sample.choose, write_arrays)
    except (NoWorkers, Lost) as problem:
        raise ValueError(f"the cluster was lost on the way: {problem}. Fit again.") from problem
    assessment: Assessment = load_object(folder.path / WORK_FOLDER / "assessment.pickle")
    shutil.rmtree(folder.path / BLOCKS_FOLDER)
    (folder.path / WORK_FOLDER / ANSWERS).rename(folder.path / ANSWERS)
    shutil.rmtree(folder.path / WORK_FOLDER)
    with _recorded_warnings() as fit_warnings:
        _warn(sample.model, figures, sizes, assessment, known)
    before = {str(one.message) for one in label_warnings}
    _issue([one for one in (*sample.warnings, *fit_warnings) if str(one.message) not in before])
    return {
        **sample.shown,
        **_answers(folder, rows, figures, assessment, known),
        **_attributes(figures, sizes, assessment, known),
    }


def current_client(client: Any) -> Any:
    """The client that was given, or else that of the session."""
    from distributed import get_client  # noqa: PLC0415  (an extra)

    if client is None:
        try:
            client = get_client()
        except ValueError as problem:
            raise ValueError(f"engine='dask' needs a client of a cluster; there is none. {CONNECT}") from problem
    if client.asynchronous:
        raise ValueError(
            "the client must be one that waits; found an asynchronous one. Use Client(asynchronous=False)."
        )
    if client.status != "running":
        raise ValueError(f"the client must be connected to a cluster; this one is {client.status}. {CONNECT}")
    return client


@contextmanager
def _recorded_warnings() -> Iterator[list[warnings.WarningMessage]]:
    """Record all warnings, and issue none."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def _issue(recorded: Iterable[warnings.WarningMessage]) -> None:
    for one in recorded:
        warnings.warn(one.message, one.category, stacklevel=STACK)


def _check(estimator: SIISClassifier, X: Any, more: list[str]) -> None:
    """Refuse what a cluster would ignore."""
    check_choices(estimator.get_params(deep=False))
    if estimator.device != "auto":
        raise ValueError(
            f"engine='dask' has no devices; found device={estimator.device!r}. Leave it at device='auto'."
        )
    if more:
        raise ValueError(f"on a cluster, fit takes X and y alone; found {more[0]}. Leave it out.")
    if not (is_array(X) or is_frame(X)):
        raise ValueError(KINDS.format(type(X).__name__))
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: X must have a row for each example")


def _labels(y: Any) -> GivenLabels:
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


class _Sample:
    """Fits a classifier to the sample, as without a cluster, and keeps it."""

    def __init__(self, estimator: SIISClassifier, rows: Rows, y: Any, seed: int) -> None:
        self.estimator, self.rows, self.y, self.seed = estimator, rows, y, seed

    def choose(self, rows: Ints) -> tuple[SampleChoices, Any]:
        """Fit to some rows."""
        X, reader, encoder = self.rows.sample(rows)
        parameters = {**self.estimator.get_params(deep=False), "engine": "auto", "client": None}
        model = type(self.estimator)(**{**parameters, "random_state": self.seed})
        with _recorded_warnings() as caught:
            model.fit(X, self.y[rows])
        self.model, self.sampled, self.encoder = model, rows, encoder
        self.warnings = [one for one in caught if not issubclass(one.category, LabelWarning | UnreachedWarning)]
        return choices_of(model, reader), X

    @property
    def shown(self) -> dict[str, Any]:
        """What the fitted estimator shows of it."""
        names = ("members_", "average_summary_", "leading_graph_", "program_", "_unreached")
        encoder = {} if self.encoder is None else {"table_encoder_": self.encoder}
        chosen = {name: getattr(self.model, name) for name in names}
        return {"sample_model_": self.model, "sample_rows_": self.sampled, **encoder, **chosen}


def _answers(
    folder: WorkFolder, rows: Rows, figures: dict[str, Any], assessment: Assessment, known: Labels
) -> dict[str, Any]:
    """What there is of each row, as Dask arrays."""
    write_labelled(folder.path / ANSWERS, known.rows, quality=assessment.quality, held=assessment.held_out)
    shards, c = [f"{k:05d}" for k in range(figures["shards"])], len(known.classes)
    nan, sizes = float("nan"), rows.sizes
    P = lazily(folder, "answers", shards, sizes, c, np.float64, nan)
    return {
        "label_distributions_": P,
        "transduction_": P.map_blocks(_winners, known.classes, drop_axis=1, dtype=known.classes.dtype),
        "is_reached_": lazily(folder, "reached", shards, sizes, 0, np.bool_, False),
        "label_quality_": lazily(folder, "quality", [LABELLED], sizes, 0, np.float64, nan),
        "held_out_distributions_": lazily(folder, "held", [LABELLED], sizes, c, np.float64, nan),
    }


def _winners(P: Floats, classes: Any) -> Any:
    return classes[np.argmax(P, axis=1)]


def _attributes(figures: dict[str, Any], sizes: Ints, assessment: Assessment, known: Labels) -> dict[str, Any]:
    """Small attributes of the fitted estimator."""
    noise = assessment.noise
    return {
        "classes_": known.classes,
        "objective_": figures["objective"],
        "dual_gap_": figures["gap"],
        "n_iter_": figures["iterations"],
        "bandwidth_": figures["bandwidth"],
        "largest_class_share_": float(sizes[:-1].max() / max(sizes[:-1].sum(), 1)),
        "largest_given_share_": float(np.bincount(known.codes).max() / known.codes.size),
        "noise_rate_": noise.rate,
        "noise_interval_": noise.interval,
        "noise_matrix_": noise.matrix,
        "class_noise_rates_": noise.class_rates,
        "graph_score_": assessment.agreement.score,
        "_suspects": Suspects(known.rows, known.codes, assessment.suggested, assessment.quality),
    }


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
    model._warn_of(known.classes, sizes[:-1], int(sizes[-1]), figures["rows"], figures["vertices"])
