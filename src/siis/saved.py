"""Fitted models as files that hold data alone: arrays and one JSON text in an archive. Nothing in it is ever run."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from siis.automatic import Evidence
from siis.classifier import SIISClassifier
from siis.evidence import KernelScores
from siis.evidence.kernel import Kernel
from siis.evidence.space import Space
from siis.files import write_file
from siis.graph import Embedded, Graph
from siis.labels import Supervision
from siis.parameters import check_parameters
from siis.selection import Selection
from siis.selection.candidate import Candidate
from siis.solvers.solution import History
from siis.table import Table

FORMAT = 1
STRUCTURE = "model.json"
EPOCH = (1980, 1, 1, 0, 0, 0)  # of every member: the same model is the same bytes
PARTS: dict[str, type] = {
    part.__name__: part
    for part in (Candidate, Embedded, Evidence, Graph, History, Kernel, KernelScores, Selection, Space, Supervision)
}
LEFT_OUT = ("basis_", "solution_")  # large, and of no use to answers: history_ and dual_gap_ tell what they proved
NEEDED = (
    "classes_",
    "graph_",
    "vertex_",
    "label_distributions_",
    "is_reached_",
    "bandwidth_",
    "_answers",
    "_reached",
    "_prior",
    "_points",
    "_n_neighbors",
)


@dataclass(frozen=True, eq=False)
class Saved:
    """A model from a file, and what was stored with it.

    Attributes
    ----------
    model : SIISClassifier
    extra : dict
    """

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
    write_file(Path(path), saved_bytes(model, extra))


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
    """Give the content of a model file.

    Parameters
    ----------
    model : SIISClassifier
    extra : mapping, optional

    Returns
    -------
    bytes
    """
    if not hasattr(model, "graph_"):
        raise ValueError("the model must be fitted before it is saved. Call fit first.")
    writer = _Writer()
    state = {name: value for name, value in vars(model).items() if name not in LEFT_OUT}
    content = {
        "format": FORMAT,
        "state": writer.packed(state, "model"),
        "extra": writer.packed(dict(extra or {}), "extra"),
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(STRUCTURE, EPOCH), json.dumps(content, allow_nan=False))
        for k, array in enumerate(writer.arrays):
            member = io.BytesIO()
            np.lib.format.write_array(member, array, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{k}.npy", EPOCH), member.getvalue())
    return out.getvalue()


def load_all(path: str | Path) -> Saved:
    """Read a model with what was stored beside it.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Saved
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"{path} must be a model file; there is no such file. Fit a model first: siis fit DATA.")
    try:
        with zipfile.ZipFile(path) as archive:
            reader = _Reader(archive)
            content = json.loads(reader.member(STRUCTURE))
            version = content["format"]
            if version != FORMAT:
                raise ValueError(f"its format is {version!r}, this version of siis reads {FORMAT}")
            model = SIISClassifier()
            state = reader.unpacked(content["state"])
            extra = reader.unpacked(content["extra"])
        _check_state(state, model)
    except Exception as problem:  # whatever a damaged file brings about
        raise _damaged(path, problem) from problem
    model.__dict__.update(state)
    return Saved(model, extra)


@contextmanager
def sound(path: Path) -> Iterator[None]:
    """Say that a file is damaged where its content turns out to be senseless in use.

    Parameters
    ----------
    path : Path
    """
    try:
        yield
    except (OSError, ValueError, MemoryError):
        raise
    except Exception as problem:
        raise _damaged(path, problem) from problem


def _damaged(path: Path, problem: Exception) -> ValueError:
    reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
    return ValueError(
        f"{path} is not a model that siis has saved, or it is damaged ({reason}). Fit and save it again."
    )


def _check_state(state: dict[str, Any], model: SIISClassifier) -> None:
    """Refuse what would lead compiled code astray, and attributes that are none."""
    missing = [name for name in (*NEEDED, *model.get_params()) if name not in state]
    if missing:
        raise ValueError(f"it lacks {', '.join(missing)}")
    strange = [name for name in state if callable(getattr(SIISClassifier, name, None))]
    if strange:
        raise ValueError(f"it sets {', '.join(strange)}")
    check_parameters(SIISClassifier(**{name: state[name] for name in model.get_params()}), SIISClassifier._rules)
    c, n, n_examples = state["classes_"].size, state["graph_"].n_vertices, state["vertex_"].size
    shapes: dict[str, tuple[str, tuple[int, ...]]] = {
        "vertex_": ("i", (n_examples,)),
        "_answers": ("f", (n, c)),
        "_reached": ("b", (n,)),
        "_prior": ("f", (c,)),
        "label_distributions_": ("f", (n_examples, c)),
        "is_reached_": ("b", (n_examples,)),
        "label_quality_": ("f", (n_examples,)),
        "held_out_distributions_": ("f", (n_examples, c)),
        "_given_codes": ("i", (n_examples,)),
        "_suggested": ("i", (n_examples,)),
    }
    for name, (kind, shape) in shapes.items():
        if name in state and (state[name].dtype.kind != kind or state[name].shape != shape):
            raise ValueError(f"{name} is {state[name].dtype} of shape {state[name].shape}, not of shape {shape}")
    for name in ("_answers", "_prior", "label_distributions_"):
        if not np.isfinite(state[name]).all():
            raise ValueError(f"{name} holds numbers that are none")
    for name, most in (("vertex_", n), ("_given_codes", c), ("_suggested", c)):
        if name in state and n_examples and not -1 <= state[name].min() <= state[name].max() < most:
            raise ValueError(f"{name} points beyond {most}")
    _check_points(state, n)


def _check_points(state: dict[str, Any], n: int) -> None:
    points = state["_points"]
    if type(state["_n_neighbors"]) is not int or state["_n_neighbors"] < 1:
        raise ValueError(f"its number of neighbours is {state['_n_neighbors']!r}")
    if points is None:
        return
    if points.ndim != 2 or points.shape[0] != n or points.dtype.kind != "f":
        raise ValueError(f"its points have shape {points.shape} for {n} vertices")
    if not (isinstance(state["bandwidth_"], float) and 0 < state["bandwidth_"] < np.inf):
        raise ValueError(f"its bandwidth is {state['bandwidth_']!r}")


class _Writer:
    """Turns values into JSON, in which arrays are numbers of members."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray[Any, Any]] = []
        self.known: dict[int, int] = {}

    def packed(self, value: Any, name: str) -> Any:  # noqa: PLR0911  (one for each kind)
        """The value as JSON; ``name`` says where it is."""
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return value if np.isfinite(value) else {"float": repr(value)}
        if isinstance(value, np.generic):
            return {"scalar": self._array(np.asarray(value))}
        if isinstance(value, np.ndarray):
            if value.dtype.kind == "O":
                items = [self.packed(item, name) for item in value.ravel()]
                return {"objects": items, "shape": list(value.shape)}
            return {"array": self._array(value)}
        if sp.issparse(value):
            M = sp.csr_array(value)
            return {"csr": [self._array(part) for part in (M.data, M.indices, M.indptr)], "shape": list(M.shape)}
        if isinstance(value, list | tuple):
            return {type(value).__name__: [self.packed(item, f"{name}[{i}]") for i, item in enumerate(value)]}
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            kind = "table" if isinstance(value, Table) else "dict"
            return {kind: {key: self.packed(item, f"{name}.{key}") for key, item in value.items()}}
        if is_dataclass(value) and type(value).__name__ in PARTS:
            parts = {f.name: self.packed(getattr(value, f.name), f"{name}.{f.name}") for f in fields(value)}
            return {"part": type(value).__name__, "fields": parts}
        raise ValueError(
            f"a model can be saved where all of it is data; {name} is a {type(value).__name__}. Fit with names "
            "(such as neighbors='exact') instead of objects."
        )

    def _array(self, array: np.ndarray[Any, Any]) -> int:
        key = id(array)
        if key not in self.known:
            self.known[key] = len(self.arrays)
            self.arrays.append(array)  # kept, so that no other array gets its id
        return self.known[key]


class _Reader:
    """Turns JSON back into values: plain ones, arrays, and the parts of a model that are named above."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self.archive = archive
        self.known: dict[int, np.ndarray[Any, Any]] = {}

    def member(self, name: str) -> bytes:
        """The bytes of a member; compressed ones are refused, since a small file could fill the memory."""
        info = self.archive.getinfo(name)
        if info.compress_type != zipfile.ZIP_STORED:
            raise ValueError(f"its member {name} is compressed")
        return self.archive.read(info)

    def unpacked(self, value: Any) -> Any:  # noqa: PLR0911  (one for each kind)
        """The value of a JSON structure."""
        if not isinstance(value, dict):
            return value
        if "part" in value:
            part, parts = PARTS[value["part"]], value["fields"]
            return part(**{name: self.unpacked(item) for name, item in parts.items()})
        kind, content = next(iter(value.items()))
        if kind == "float":
            return float(content)
        if kind == "scalar":
            return self._array(content)[()]
        if kind == "array":
            return self._array(content)
        if kind == "objects":
            array = np.empty(len(content), dtype=object)
            array[:] = [self.unpacked(item) for item in content]
            return array.reshape(value["shape"])
        if kind == "csr":
            M = sp.csr_array(tuple(self._array(part) for part in content), shape=tuple(value["shape"]))
            M.check_format(full_check=True)
            return M
        if kind in ("list", "tuple"):
            items = [self.unpacked(item) for item in content]
            return items if kind == "list" else tuple(items)
        if kind in ("dict", "table"):
            found = {key: self.unpacked(item) for key, item in content.items()}
            return Table(found) if kind == "table" else found
        raise ValueError(f"it holds a {kind!r}")

    def _array(self, k: int) -> np.ndarray[Any, Any]:
        if k not in self.known:
            self.known[k] = np.lib.format.read_array(io.BytesIO(self.member(f"{int(k)}.npy")), allow_pickle=False)
        return self.known[k]
