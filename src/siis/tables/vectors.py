"""Columns of lists of numbers, as embeddings are stored, as one column for each place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from siis.texts import quoted

SINGLE = (pa.float16(), pa.float32())


def spread(columns: Mapping[str, Any]) -> tuple[dict[str, Any], frozenset[str], list[str]]:
    """Replace columns of equally long lists v by v.0, v.1, ...; returns all columns, new names, and notes."""
    found: dict[str, Any] = {}
    names: set[str] = set()
    notes = []
    for name, column in columns.items():
        titles = [f"{name}.{k}" for k in range(_width(column))]
        if not titles or columns.keys() & {*titles}:
            found[name] = column
            continue
        notes.append(f"column {quoted(name)}: lists of {len(titles):,} numbers, one feature each")
        X = _matrix(column, len(titles))
        found |= {title: pa.chunked_array([pa.array(X[:, k])]) for k, title in enumerate(titles)}
        names |= {*titles}
    return found, frozenset(names), notes


def _width(column: Any) -> int:
    """Common length of the lists; 0 if lengths differ or the column holds something else."""
    kind = column.type
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    if not is_list or not (pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type)):
        return 0
    lengths = pc.unique(pc.list_value_length(column).drop_null()).to_pylist()
    return int(lengths[0]) if len(lengths) == 1 else 0


def _matrix(column: Any, width: int) -> Any:
    """The lists as rows, shape (n, width); NaN if one is missing."""
    kind = np.float32 if column.type.value_type in SINGLE else np.float64
    X = np.full((len(column), width), np.nan, dtype=kind, order="F")
    numbers = pc.list_flatten(column).cast(pa.from_numpy_dtype(kind), safe=False)
    present = np.asarray(column.is_valid().to_numpy(), dtype=bool)
    X[present] = np.asarray(numbers.to_numpy()).reshape(-1, width)
    return X
