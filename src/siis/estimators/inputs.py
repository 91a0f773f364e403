"""What users give as X and y, as NumPy or SciPy arrays: from other libraries and devices, in range, without text."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp

from siis._types import Features

TIMES = ("date", "time", "duration", "period")  # how the types of such columns begin, in pandas and polars
SHOWN_COLUMNS = 5
HOST = 1  # of DLPack's numbers of devices
SINGLE_RANGE = 1e12  # of the largest feature: squares, and squares of small differences, stay in single precision


def on_host(given: Any) -> Any:
    """Arrays of DLPack as NumPy's, Dask's computed, lazy polars frames collected; anything else as it is."""
    if hasattr(given, "collect_schema") and hasattr(given, "collect"):
        given = given.collect()
    if hasattr(given, "__dask_graph__"):
        return given.compute()
    if isinstance(given, np.ndarray) or not hasattr(given, "__dlpack_device__"):
        return given
    if hasattr(given, "detach"):
        given = given.detach()
    if int(given.__dlpack_device__()[0]) != HOST:
        given = given.get() if hasattr(given, "get") else _from_device(given)
    if isinstance(given, np.ndarray):
        return given
    if "sparse" in str(getattr(given, "layout", "")):
        raise ValueError("tensors must be dense; found a sparse one. Use a sparse matrix of SciPy.")
    try:
        return np.from_dlpack(given)
    except (RuntimeError, BufferError):  # of a type that NumPy has not, as bfloat16
        return np.from_dlpack(given.float())


def _from_device(given: Any) -> Any:
    """An array on a device, brought to the host by its own library; by PyTorch where it knows DLPack alone."""
    if hasattr(given, "cpu"):
        return given.cpu()
    if find_spec("torch") is None:
        raise ValueError(
            f"an array of {type(given).__name__} lies on a device, and only PyTorch could bring it here, which is "
            "not installed. Install it with `pip install 'siis[gpu]'`, or give a NumPy array."
        )
    import torch  # noqa: PLC0415  (an extra)

    return torch.from_dlpack(given).cpu()


def in_range(X: Features) -> Features:
    """Features in double precision where squares of single precision would leave its range; X: (n, d)."""
    if X.dtype != np.float32:
        return X
    values = X.data if sp.issparse(X) else X
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    return X if is_squarable(largest) else X.astype(np.float64)


def is_squarable(largest: float) -> bool:
    """Whether squares of features stay in single precision, by the largest of them."""
    return largest == 0 or 1 / SINGLE_RANGE <= largest <= SINGLE_RANGE


def columns_of_times(X: Any) -> list[str]:
    """Columns of dates, times or durations, by their types."""
    if getattr(getattr(X, "dtype", None), "kind", "") in ("M", "m"):
        return [str(j) for j in range(X.shape[-1])]
    types = zip(getattr(X, "columns", ()), getattr(X, "dtypes", ()), strict=False)
    return [str(name) for name, kind in types if str(kind).lower().startswith(TIMES)]


def columns_of_texts(X: Any) -> list[str]:
    """Columns that hold a text which is no number."""
    if hasattr(X, "columns"):
        columns = {str(name): np.asarray(X[name]) for name in X.columns}
    elif not sp.issparse(X) and np.ndim(X) == 2:
        columns = {str(j): column for j, column in enumerate(np.asarray(X).T)}
    else:
        return []
    return [name for name, column in columns.items() if column.dtype.kind in "OUS" and any(map(_is_word, column))]


def _is_word(value: Any) -> bool:
    try:
        float(value)
    except ValueError:
        return isinstance(value, str | bytes)
    except TypeError:
        return False
    return False


def refuse_columns(columns: list[str], kind: str) -> None:
    """Raise ValueError where there are columns that hold no numbers."""
    if columns:
        more = f" and {len(columns) - SHOWN_COLUMNS} more" if len(columns) > SHOWN_COLUMNS else ""
        where, them = ("column", "it") if len(columns) == 1 else ("columns", "them")
        raise ValueError(
            f"X must hold numbers; found {kind} in {where} {', '.join(map(repr, columns[:SHOWN_COLUMNS]))}{more}. "
            f"Encode {them} first: make_pipeline(siis.tables.TableEncoder(), classifier), or use siis fit."
        ) from None
