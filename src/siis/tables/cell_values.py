"""Columns of pyarrow: plain types, and cells as texts, numbers, truth values or missing values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from siis._types import Bools, Floats
from siis.labels.unlabelled import MISSING, NO_ANSWER
from siis.texts import quoted, readable

LARGEST_WHOLE = 2.0**63
NO_NUMBER = (
    *MISSING,
    "na",
    "n/a",
    "null",
    "none",
)  # words for a missing number; where there are categories, one each
SINGLE = (pa.float16(), pa.float32())


def is_text(column: Any) -> bool:
    """Whether a column holds strings."""
    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def as_plain(path: Any, name: str, column: Any) -> Any:
    """Decode dictionaries, views, decimals and extension types."""
    kind = column.type
    with readable(path, f"a table with plain columns, which {quoted(name)} is not,", "Convert the column."):
        if isinstance(kind, pa.BaseExtensionType):
            column = pa.chunked_array([chunk.storage for chunk in column.chunks], kind.storage_type)
        elif pa.types.is_dictionary(kind):
            column = column.cast(kind.value_type)
        elif pa.types.is_run_end_encoded(kind):
            column = pa.chunked_array([pc.run_end_decode(chunk) for chunk in column.chunks], kind.value_type)
        elif pa.types.is_string_view(kind):
            column = column.cast(pa.large_string())
        elif pa.types.is_decimal(kind) or pa.types.is_float16(kind):
            column = column.cast(pa.float64() if pa.types.is_decimal(kind) else pa.float32())
    return column if column.type.equals(kind) else as_plain(path, name, column)


def list_length(column: Any) -> int:
    """Common length of the lists of numbers in a column; 0 if lengths differ or it holds something else."""
    kind = column.type
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    if not is_list or not (pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type)):
        return 0
    lengths = pc.unique(pc.list_value_length(column).drop_null()).to_pylist()
    return int(lengths[0]) if len(lengths) == 1 else 0


def spread_lists(columns: Mapping[str, Any]) -> tuple[dict[str, Any], frozenset[str], list[str]]:
    """Replace columns of equally long lists v, as of embeddings, by v.0, v.1, ...; returns their names, and notes."""
    found: dict[str, Any] = {}
    names: set[str] = set()
    notes = []
    for name, column in columns.items():
        titles = [f"{name}.{k}" for k in range(list_length(column))]
        if not titles or columns.keys() & {*titles}:
            found[name] = column
            continue
        notes.append(f"column {quoted(name)}: lists of {len(titles):,} numbers, one feature each")
        kind = np.float32 if column.type.value_type in SINGLE else np.float64
        X = np.full((len(column), len(titles)), np.nan, dtype=kind, order="F")
        numbers = pc.list_flatten(column).cast(pa.from_numpy_dtype(kind), safe=False)
        X[np.asarray(column.is_valid().to_numpy(), dtype=bool)] = numbers.to_numpy().reshape(-1, len(titles))
        found |= {title: pa.chunked_array([pa.array(X[:, k], from_pandas=True)]) for k, title in enumerate(titles)}
        names |= {*titles}
    return found, frozenset(names), notes


def missing(texts: Any, words: Sequence[str] = MISSING) -> Any:
    """Whether each text is missing: null, or one of some lower-case words in any case."""
    folded = pc.ascii_lower(pc.utf8_trim_whitespace(texts))
    return pc.or_(pc.is_null(texts), pc.is_in(folded, value_set=pa.array(words, type=texts.type)))


def without(texts: Any, is_left_out: Any) -> Any:
    """Texts, null at some places."""
    return pc.if_else(is_left_out, pa.scalar(None, texts.type), texts)


def marked(texts: Any) -> Any:
    """Whether each text is a mark for a missing number: ?, -, unknown, #N/A and the like; null for null."""
    folded = pc.ascii_lower(pc.utf8_trim_whitespace(texts))
    return pc.is_in(folded, value_set=pa.array(NO_ANSWER, type=texts.type))


def as_texts(column: Any) -> Any:
    """Cells as stripped texts, whole numbers without decimals, null if missing; None for lists, bytes or the like."""
    if is_text(column):
        return pc.utf8_trim_whitespace(column)
    if pa.types.is_floating(column.type):
        values = [None if value is None or np.isnan(value) else _float_text(value) for value in column.to_pylist()]
        return pa.chunked_array([pa.array(values, pa.large_string())])
    try:
        return column.cast(pa.string())
    except pa.ArrowException:
        return None


def _float_text(value: float) -> str:
    return str(int(value)) if abs(value) < LARGEST_WHOLE and value == int(value) else str(value)


def as_numbers(column: Any, decimal: str = ".") -> Floats | None:
    """Cells as numbers, (n,), NaN if missing; None if a cell is none. With a decimal comma, a point works too."""
    kind = column.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        wanted = kind if pa.types.is_float32(kind) else pa.float64()
        return _array(column.cast(wanted, safe=False))  # whole numbers beyond 2^53 are rounded
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if not is_text(column):
        return None
    try:
        return _array(column.cast(pa.float64()))  # nothing missing, nothing to strip: the quick way
    except pa.ArrowInvalid:
        pass
    present = without(pc.utf8_trim_whitespace(column), missing(column, NO_NUMBER))
    if decimal == ",":
        present = pc.replace_substring(present, ",", ".")  # 1.234,5 has two points then, and is no number
    try:
        return _array(present.cast(pa.float64()))
    except pa.ArrowInvalid:
        folded = pc.ascii_lower(present)
    is_true = pc.equal(folded, "true")
    return _array(is_true.cast(pa.float64())) if pc.all(pc.or_(is_true, pc.equal(folded, "false"))).as_py() else None


def _array(column: Any) -> Floats:
    return np.array(column.to_numpy(), dtype=column.type.to_pandas_dtype())  # a copy: Arrow's memory is read-only


def bools(column: Any) -> Bools:
    """Truth values as an array, shape (n,); null is false."""
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return np.array(pc.fill_null(column, False).to_numpy(zero_copy_only=False), dtype=np.bool_)


def floats(column: Any) -> Floats:
    """Numbers as float64, shape (n,); null is NaN."""
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return np.array(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)


def median_of(values: Floats) -> float:
    """Median of large numbers: the usual mean of the two in the middle may overflow. values: (n,)."""
    middle = [(values.size - 1) // 2, values.size // 2]
    low, high = map(float, np.partition(values, middle)[middle])
    return low if low == high else low / 2 + high / 2


def fits_single(values: Any) -> bool:
    """Whether finite numbers lie within the range of float32."""
    return bool((np.abs(values) <= np.finfo(np.float32).max).all())
