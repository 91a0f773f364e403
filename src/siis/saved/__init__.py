"""Fitted models as files that hold data alone. Nothing in them is ever run, and nothing is used unchecked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from siis.estimators.classifier import SIISClassifier
from siis.estimators.result import AverageFit, FitResult, LabelQuality, SolverResult, set_result
from siis.files import write_file
from siis.graph import Graph, NeighborGraph
from siis.model.choose import Choices
from siis.model.config import MemberConfig, Plan
from siis.model.linear import LinearScores
from siis.model.link import ExpectedAccuracy
from siis.model.located import FittedGraph
from siis.model.predictor import Predictor
from siis.model.programs import ProgramConfig
from siis.model.spaces import Space
from siis.model.trees import Forest
from siis.program.solvers.solution import History
from siis.quality import Calibration, NoiseModel
from siis.saved.archive import OtherFormat, archive_bytes, read_archive
from siis.saved.checks import check_extra, check_model

NAMES = ("model", "features", "result", "extra")
FEATURES = ("n_features_in_", "feature_names_in_")  # which scikit-learn sets
PARTS: dict[str, type] = {
    part.__name__: part
    for part in (
        AverageFit,
        Calibration,
        Choices,
        ExpectedAccuracy,
        FitResult,
        FittedGraph,
        Forest,
        Graph,
        History,
        LabelQuality,
        LinearScores,
        MemberConfig,
        NeighborGraph,
        NoiseModel,
        Plan,
        Predictor,
        ProgramConfig,
        SolverResult,
        Space,
    )
}
SHOWN = 200  # characters of what is wrong with a file


@dataclass(frozen=True, eq=False)
class Saved:
    """A model from a file, and what was stored with it."""

    model: SIISClassifier
    extra: dict[str, Any]


def save(model: SIISClassifier, path: str | Path, extra: Mapping[str, Any] | None = None) -> None:
    """Write a fitted model; the same model gives the same bytes.

    Parameters
    ----------
    model : SIISClassifier
        Fitted. ``basis_`` and ``solution_`` are left out.
    path : str or Path
        The file is written whole or not at all.
    extra : mapping, optional
        Plain values and arrays to be kept with it.
    """
    content = saved_bytes(model, extra)
    try:
        write_file(Path(path), content)
    except OSError as problem:
        raise OSError(
            problem.errno, f"the model cannot be written ({problem.strerror}). Name a folder that can", str(path)
        ) from None


def load(path: str | Path) -> SIISClassifier:
    """Read a model that ``save`` has written. Files from strangers are safe to read: they hold no code.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    SIISClassifier
    """
    return load_all(path).model


def saved_bytes(model: SIISClassifier, extra: Mapping[str, Any] | None = None) -> bytes:
    """Content of a model file."""
    if hasattr(model, "sample_model_"):
        raise ValueError(
            "a model of a fit on a cluster has its graph there; what answers is sample_model_. Save that: "
            "siis.save(model.sample_model_, path)."
        )
    if not isinstance(model, SIISClassifier):
        steps = getattr(model, "steps", None)
        remedy = "Save its last step: siis.save(pipeline[-1], path)" if steps else "Give one, after fit"
        raise ValueError(f"the model must be a SIISClassifier; found a {type(model).__name__}. {remedy}.")
    if not hasattr(model, "result_"):
        raise ValueError("the model must be fitted before it is saved. Call fit first.")
    result = model.result_
    result = replace(result, solver=replace(result.solver, basis=None, solution=None))
    features = {name: value for name, value in vars(model).items() if name in FEATURES}
    values = (model.get_params(deep=False), features, result, dict(extra or {}))
    return archive_bytes(dict(zip(NAMES, values, strict=True)), PARTS)


def load_all(path: str | Path) -> Saved:
    """Read a model and what was stored with it."""
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"{path} must be a model file; there is no such file. Fit a model first: siis fit DATA.")
    try:
        found = read_archive(path, NAMES, PARTS)
        check_model(*(found[name] for name in NAMES[:3]))
        check_extra(found["extra"], found["features"], found["result"])
        model = SIISClassifier(**found["model"])
        model.__dict__.update(found["features"])
        set_result(model, found["result"])
    except OtherFormat as problem:
        raise ValueError(f"{path} was written by {problem}") from problem
    except (MemoryError, PermissionError):
        raise
    except Exception as problem:  # whatever a damaged file brings about
        raise _damaged(path, problem) from problem
    return Saved(model, found["extra"])


@contextmanager
def sound(path: Path) -> Iterator[None]:
    """Report a file as damaged if using its content fails."""
    try:
        yield
    except (OSError, ValueError, MemoryError, ModuleNotFoundError):
        raise
    except Exception as problem:
        raise _damaged(path, problem) from problem


def _damaged(path: Path, problem: Exception) -> ValueError:
    reason = str(problem).splitlines()[0][:SHOWN] if str(problem) else type(problem).__name__
    return ValueError(
        f"{path} is not a model that siis has saved, or it is damaged ({reason}). Fit and save it again."
    )
