"""Data frames and arrays as the same columns that files give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from siis.tables.sheet import Sheet
from siis.tables.tools.tool_file import RawTable

KINDS = "a pandas or polars data frame, a pyarrow table, a dict of columns or an array of two dimensions"


def sheet_of_frame(X: Any) -> Sheet:
    """The columns of a data frame, a dict of columns, or an array of shape (n, k)."""
    columns = {str(name): _column(str(name), values) for name, values in _named_columns(X).items()}
    lengths = {len(column) for column in columns.values()}
    if len(lengths) > 1:
        raise ValueError(f"the columns of X must be equally long; found lengths {sorted(lengths)}.")
    n = lengths.pop() if lengths else 0
    if not columns or not n:
        raise ValueError(
            f"X must have at least one row and one column; found {n} sample(s) and {len(columns)} feature(s) "
            f"(shape=({n}, {len(columns)})) while a minimum of 1 is required."
        )
    return Sheet.of(Path("X"), RawTable(list(columns), list(columns.values()), []), is_file=False)


def collected(X: Any) -> Any:
    """Compute a lazy frame of polars; other objects are returned as they are."""
    return X.collect() if hasattr(X, "collect_schema") and hasattr(X, "collect") else X


def has_names(X: Any) -> bool:
    """Whether the columns of a table have names."""
    return isinstance(X, Mapping) or hasattr(X, "columns")


def _named_columns(X: Any) -> dict[Any, Any]:
    if sp.issparse(X):
        raise TypeError(f"X must be {KINDS}; found a sparse matrix. Sparse input is not supported: use X.toarray().")
    if isinstance(X, Mapping):
        return dict(X)
    names = X.column_names if isinstance(X, pa.Table) else getattr(X, "columns", None)
    if names is not None:
        many = [name for name, count in Counter(map(str, names)).items() if count > 1]
        if many:
            raise ValueError(f"the columns of X must have different names; found {many[0]!r} twice. Rename one.")
        return {name: X[name] for name in names}
    array = np.asarray(X)
    if array.ndim != 2 or array.dtype.kind == "c":
        found = "Complex data not supported" if array.dtype.kind == "c" else f"{array.ndim} dimension(s)"
        raise ValueError(f"X must be {KINDS}; found: {found}. Reshape your data: one row for each example.")
    return {f"x{j}": array[:, j] for j in range(array.shape[1])}


def _column(name: str, values: Any) -> Any:
    if isinstance(values, pa.ChunkedArray):
        return values
    if hasattr(values, "to_arrow"):  # polars
        return pa.chunked_array([values.to_arrow()])
    try:
        column = pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):  # objects of several types
        column = pa.array([_written(value) for value in values], pa.string())
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def _written(value: Any) -> str | None:
    if value is None or type(value).__name__ in ("NAType", "NaTType") or value != value:  # noqa: PLR0124 - NaN
        return None
    if isinstance(value, dict | list | set | tuple):
        raise TypeError(f"a cell of X, as an argument, must be a string or a number; found {type(value).__name__}")
    return str(value)
