"""NPZ and NPY files: examples as arrays, embeddings, precomputed graphs. Nothing is ever unpickled."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from siis._types import Floats, Sparse
from siis.plain_data import check, frozen
from siis.tables.cell_values import fits_single, median_of
from siis.tables.examples import Encoded
from siis.tables.sheet import Sheet
from siis.texts import listed, plural, quoted, readable

SINGLE_BYTES = 4  # of a number
NPZ = "Write it with numpy.savez(file, X=..., y=...), without Python objects."


@dataclass(frozen=True, eq=False)
class Values:
    """Rows of numbers as they are, with medians for missing values."""

    kind: ClassVar[str] = "arrays"
    medians: Floats  # (d,), for missing numbers

    def __post_init__(self) -> None:
        check(self.medians.size > 0, "one median or more")

    @property
    def n_features(self) -> int:
        """Number of features, d."""
        return int(self.medians.size)

    @classmethod
    def learn(cls, X: Floats, where: Path, summary: str) -> Encoded:
        """Learn the medians of features with gaps, 0 for a feature without values. X: (n, d)."""
        medians = np.zeros(X.shape[1])
        for j in np.flatnonzero(~np.isfinite(X).all(axis=0)):
            known = X[np.isfinite(X[:, j]), j]
            medians[j] = median_of(known) if known.size else 0.0
        values = cls(frozen(medians))
        X, notes = values.encode(X, str(where))
        return Encoded(values, X, summary.format(f"{X.shape[1]:,}"), notes)

    def encode(self, X: Floats, where: str) -> tuple[Floats, list[str]]:
        """Check the number of features and fill gaps; returns X, shape (n, d), and notes."""
        if X.shape[1] != self.medians.size:
            problem = f"must have {plural(self.medians.size, 'feature')}, as when the model was fitted;"
            raise ValueError(f"{where}: {problem} found {X.shape[1]:,}. Build the features in the same way.")
        gaps = ~np.isfinite(X)
        if not gaps.any():
            return X, []
        n_columns = plural(int(np.count_nonzero(gaps.any(axis=0))), "feature")
        values = plural(int(np.count_nonzero(gaps)), "missing or infinite value")
        medians = self.medians.astype(X.dtype) if fits_single(self.medians) else self.medians
        return np.where(gaps, medians, X), [f"{values} in {n_columns}: filled with the medians"]


def load_arrays(path: Path) -> dict[str, Any]:
    """Load all arrays of an NPZ file, or the one of an NPY file under the name X."""
    if path.name.lower().endswith(".npy"):
        with (
            readable(path, "an NPY file", "Write it with numpy.save, without Python objects."),
            path.open("rb") as file,
        ):
            return {"X": np.load(file, allow_pickle=False)}
    if not path.name.lower().endswith(".npz"):
        raise ValueError(f"{path}: must be an NPZ or NPY file; found {path.suffix or 'no suffix'}. {NPZ}")
    with readable(path, "an NPZ file", NPZ), path.open("rb") as file:  # closed also where loading fails
        loaded: Any = np.load(file, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            raise TypeError("it is an NPY file")
        with loaded:
            return {name: loaded[name] for name in loaded.files}


def matrix_of(path: Path, arrays: dict[str, Any], name: str | None = None) -> Floats:
    """Examples, X or the only array, (n, d), blocks as rows: float32 if the file holds that or less, else float64."""
    if name is None:
        name = next(iter(arrays)) if len(arrays) == 1 else "X"
    if name not in arrays:
        raise ValueError(f"{path}: must hold an array {quoted(name)}; found {listed(list(arrays)) or 'none'}. {NPZ}")
    X = arrays[name]
    if X.ndim < 2 or X.size == 0 or X.dtype.kind not in "fiub":
        problem = f"array {quoted(name)} must hold numbers, one row for each example;"
        raise ValueError(f"{path}: {problem} found shape {X.shape} of {X.dtype}. Write it again.")
    is_single = X.dtype.kind == "f" and X.dtype.itemsize <= SINGLE_BYTES
    return np.ascontiguousarray(X.reshape(X.shape[0], -1), dtype=np.float32 if is_single else np.float64)


def sheet_of(path: Path, arrays: dict[str, Any], n: int, names: list[str]) -> Sheet:
    """Columns of the arrays that hold labels and ids; names that the file lacks are left out."""
    columns = {}
    for name in names:
        if name not in arrays:
            continue
        if arrays[name].shape != (n,):
            problem = f"array {quoted(name)} must have one entry for each of the {plural(n, 'example')};"
            raise ValueError(f"{path}: {problem} found shape {arrays[name].shape}. Write it again.")
        with readable(path, f"an NPZ file with text or numbers in {quoted(name)}", NPZ):
            columns[name] = pa.chunked_array([pa.array(arrays[name])])
    return Sheet(path, columns, n)


def load_embeddings(path: Path, n: int, data: Path) -> Floats:
    """Load one row of numbers for each of the n examples; returns (n, d)."""
    X = matrix_of(path, load_arrays(path))
    if X.shape[0] != n:
        raise ValueError(
            f"{path}: embeddings must have one row for each of the {n:,} examples of {data}; found "
            f"{plural(X.shape[0], 'row')}. Compute them anew, in the order of the examples."
        )
    return X


def load_graph(path: Path, n: int, data: Path) -> Sparse:
    """Load edge weights between all n examples; returns (n, n), symmetric, non-negative, zero diagonal."""
    from siis.graph import Graph  # noqa: PLC0415 - compiled loops, only needed here

    arrays = load_arrays(path)
    if len(arrays) == 1:
        W = matrix_of(path, arrays)
    else:
        with readable(path, "a sparse matrix", "Write it with scipy.sparse.save_npz."), path.open("rb") as file:
            W = sp.load_npz(file)
            W = W if W.format in ("csr", "csc", "bsr") else W.tocsr()
            W.check_format(full_check=True)  # indices of a hostile file may point anywhere
    if W.dtype.kind not in "biuf":
        raise ValueError(f"{path}: the weights of a graph must be real numbers; found {W.dtype}. Convert them.")
    if W.shape != (n, n):
        problem = f"the graph must have one row and one column for each of the {n:,} examples of {data};"
        raise ValueError(f"{path}: {problem} found shape {W.shape}. Build it from the same examples, in their order.")
    try:
        weights: Sparse = Graph(sp.csr_array(W)).weights.copy()
    except ValueError as problem:
        raise ValueError(f"{path}: {problem}") from None
    return weights
