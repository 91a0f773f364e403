"""Plain values as one file: arrays and a JSON text in an archive, with a digest of all of it. Nothing is ever run.

What is read is taken for an enemy's work until it has been checked: sizes before anything is allocated, the digest
before anything is built, every index of a sparse matrix before compiled code follows it.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, NoReturn, get_args, get_origin, get_type_hints

import numpy as np
import scipy.sparse as sp

from siis._types import Bools, Floats, Ints
from siis.result_table import Table

FORMAT = 3
STRUCTURE, DIGEST = "model.json", "digest"
EPOCH = (1980, 1, 1, 0, 0, 0)  # of every member: the same values are the same bytes
KINDS = "biufUS"  # of arrays
INDEX_TYPES = (np.int32, np.int64)
FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
ARRAYS = {Floats: (np.float32, np.float64), Ints: (np.int32, np.int64), Bools: (np.bool_,)}
SCALARS = {float: (float, int, np.floating, np.integer), int: (int, np.integer), bool: (bool, np.bool_), str: (str,)}
MOST_PARTS = 200  # of a model: each may take more memory than its share of the file
HEADER = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '([<>|])([a-zA-Z])(\d{1,9})', 'fortran_order': (False|True), "
    rb"'shape': \(((?:\d{1,18}, ?)*\d{0,18})\), \} *\n",
    re.DOTALL,
)


class OtherFormat(ValueError):
    """The file is of a format that another version of siis writes."""


def archive_bytes(values: Mapping[str, Any], parts: Mapping[str, type]) -> bytes:
    """Content of a file with plain values, arrays, sparse matrices, tables and dataclasses (``parts``, by name)."""
    packer = _Packer(parts)
    content = {"format": FORMAT, **{name: packer.packed(value, name) for name, value in values.items()}}
    members = {STRUCTURE: json.dumps(content, allow_nan=False).encode()}
    for k, array in enumerate(packer.arrays):
        member = io.BytesIO()
        np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)
        members[f"{k}.npy"] = member.getvalue()
    members[DIGEST] = digest(members.items()).encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, member_bytes in members.items():
            archive.writestr(zipfile.ZipInfo(name, EPOCH), member_bytes)
    return out.getvalue()


def digest(members: Iterable[tuple[str, bytes]]) -> str:
    """SHA-256 of all members except the digest, in the order of their names."""
    found = hashlib.sha256()
    for name, content in sorted(members):
        if name != DIGEST:
            found.update(f"{name}\0{len(content)}\0".encode())
            found.update(content)
    return found.hexdigest()


def read_archive(path: Path, names: Iterable[str], parts: Mapping[str, type]) -> dict[str, Any]:
    """Read back exactly the values of these names; any exception except OtherFormat means a damaged file."""
    members = _members(path)
    content = json.loads(
        members[STRUCTURE].decode(),
        object_pairs_hook=_distinct,
        parse_constant=lambda name: _refuse(f"it holds {name}"),
    )
    version = content["format"] if isinstance(content, dict) else None
    if type(version) is not int or version < 1:
        raise ValueError(f"its format is {version!r}")
    if version != FORMAT:
        raise OtherFormat(
            f"another version of siis (its format is {version}; this version reads {FORMAT}). Fit and save it again."
        )
    if DIGEST not in members:
        raise ValueError("it has no digest")
    if members[DIGEST] != digest(members.items()).encode():
        raise ValueError("its content does not match its digest")
    arrays = [members.pop(f"{k}.npy") for k in range(len(members) - 2)]
    if set(content) != {"format", *names}:
        raise ValueError(f"it holds {', '.join(map(str, content))}")
    unpacker = _Unpacker(arrays, parts)
    return {name: unpacker.unpacked(content[name]) for name in names}


def _members(path: Path) -> dict[str, bytes]:
    """All members; compressed ones are refused, since a small file could fill the memory."""
    size = path.stat().st_size
    with zipfile.ZipFile(path) as archive:
        infos = archive.infolist()
        for info in infos:
            if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
                raise ValueError(f"its member {info.filename!r} is compressed")
        if sum(info.file_size for info in infos) > size:
            raise ValueError("its members are larger than the file")
        if len({info.filename for info in infos}) < len(infos):
            raise ValueError("it has a member twice")
        return {info.filename: archive.read(info) for info in infos}


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    return found if len(found) == len(pairs) else _refuse("it has a key twice")


def _refuse(what: str) -> NoReturn:
    raise ValueError(what)


class _Packer:
    """Turns values into JSON, in which arrays are numbers of members."""

    def __init__(self, parts: Mapping[str, type]) -> None:
        self.parts = parts
        self.arrays: list[np.ndarray[Any, Any]] = []
        self.known: dict[int, int] = {}

    def packed(self, value: Any, name: str) -> Any:  # noqa: PLR0911  (one for each kind)
        """The value as JSON; ``name`` is its place, for messages."""
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": repr(float(value))}
        if isinstance(value, np.generic) and value.dtype.kind in KINDS:
            return {"scalar": self._array(np.asarray(value))}
        if isinstance(value, np.ndarray) and value.dtype.kind == "O":
            return {"objects": [self.packed(item, name) for item in value.ravel()], "shape": list(value.shape)}
        if isinstance(value, np.ndarray) and value.dtype.kind in KINDS:
            return {"array": self._array(value)}
        if sp.issparse(value):
            M = value if value.format == "csr" else sp.csr_array(value)
            return {"csr": [self._array(part) for part in (M.data, M.indices, M.indptr)], "shape": list(M.shape)}
        if isinstance(value, list | tuple):
            return {type(value).__name__: [self.packed(item, f"{name}[{i}]") for i, item in enumerate(value)]}
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            kind = "table" if isinstance(value, Table) else "dict"
            return {kind: {key: self.packed(item, f"{name}.{key}") for key, item in value.items()}}
        if is_dataclass(value) and type(value).__name__ in self.parts:
            parts = {f.name: self.packed(getattr(value, f.name), f"{name}.{f.name}") for f in fields(value)}
            return {"part": type(value).__name__, "fields": parts}
        raise ValueError(
            f"a model can be saved where all of it is data; {name} is a {type(value).__name__}. Fit with names "
            "(such as neighbor_search='exact') instead of objects."
        )

    def _array(self, array: np.ndarray[Any, Any]) -> int:
        key = id(array)
        if key not in self.known:
            self.known[key] = len(self.arrays)
            self.arrays.append(array)  # kept, so that no other array gets its id
        return self.known[key]


class _Unpacker:
    """Turns JSON back into values: plain ones, arrays, and the parts that are named."""

    def __init__(self, arrays: list[bytes], parts: Mapping[str, type]) -> None:
        self.arrays, self.parts = arrays, parts
        self.known: dict[int, np.ndarray[Any, Any]] = {}
        self.n_parts = 0

    def unpacked(self, value: Any) -> Any:
        """The value of a JSON structure."""
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if not isinstance(value, dict) or not value:
            raise ValueError(f"it holds a {type(value).__name__}")
        kind = next(iter(value))
        build = getattr(self, f"_{kind}", None) if kind in READ else None
        if build is None or tuple(value) != READ[kind]:
            raise ValueError(f"it holds a {kind!r}")
        return build(*value.values())

    def _float(self, text: str) -> float:
        return FLOATS[text]

    def _scalar(self, k: int) -> Any:
        found = self._array(k)
        return found[()] if found.shape == () else _refuse("a number of it is none")

    def _array(self, k: int) -> np.ndarray[Any, Any]:
        if type(k) is not int or not 0 <= k < len(self.arrays):
            raise ValueError(f"it has no array {k!r}")
        if k not in self.known:
            self.known[k], self.arrays[k] = _read_array(self.arrays[k]), b""
        return self.known[k]

    def _objects(self, items: list[Any], shape: list[int]) -> np.ndarray[Any, Any]:
        _check_shape(shape)
        if len(items) != math.prod(shape):
            raise ValueError(f"{len(items)} objects have no shape {shape}")
        array = np.empty(len(items), dtype=object)
        array[:] = [item if isinstance(item, str) else self.unpacked(item) for item in items]
        return array.reshape(shape)

    def _csr(self, arrays: list[int], shape: list[int]) -> Any:
        _check_shape(shape)
        data, indices, indptr = (self._array(k) for k in arrays)
        if any(part.ndim != 1 for part in (data, indices, indptr)) or len(shape) != 2:
            raise ValueError("a sparse matrix of it is none")
        if data.dtype.kind not in "fiub" or not {indices.dtype.type, indptr.dtype.type} <= set(INDEX_TYPES):
            raise ValueError(f"a sparse matrix of it is of {data.dtype}, {indices.dtype} and {indptr.dtype}")
        if indptr.size != shape[0] + 1 or indptr[0] != 0 or (np.diff(indptr) < 0).any():
            raise ValueError("the rows of a sparse matrix do not follow each other")
        if not data.size == indices.size == indptr[-1]:
            raise ValueError("a sparse matrix lacks entries, or has too many")
        if indices.size and not 0 <= indices.min() <= indices.max() < shape[1]:
            raise ValueError(f"an entry of a sparse matrix lies beyond its {shape[1]} columns")
        return sp.csr_array((data, indices, indptr), shape=tuple(shape))

    def _list(self, items: list[Any]) -> list[Any]:
        return [item if isinstance(item, str) else self.unpacked(item) for item in items]

    def _tuple(self, items: list[Any]) -> tuple[Any, ...]:
        return tuple(self._list(items))

    def _dict(self, items: dict[str, Any]) -> dict[str, Any]:
        return {key: self.unpacked(item) for key, item in items.items()}

    def _table(self, items: dict[str, Any]) -> Table:
        table = Table(self._dict(items))
        columns = list(table.values())
        if not all(isinstance(column, np.ndarray) and column.ndim == 1 for column in columns):
            raise ValueError("a table of it is none")
        if len({column.size for column in columns}) > 1:
            raise ValueError("a table of it has columns of different lengths")
        return table

    def _part(self, name: str, items: dict[str, Any]) -> Any:
        self.n_parts += 1
        if self.n_parts > MOST_PARTS:
            raise ValueError(f"it has more than {MOST_PARTS} parts")
        kind, values = self.parts[name], self._dict(items)
        hints = _hints(kind)
        if set(values) != set(hints):
            raise ValueError(f"its {name} has other fields")
        wrong = next((field for field, value in values.items() if not _is_of_type(value, hints[field])), None)
        if wrong is not None:
            raise ValueError(f"{wrong} of its {name} is of another type")
        return kind(**values)


READ: dict[str, tuple[str, ...]] = {  # what may stand in the JSON text: kind and keys
    "float": ("float",),
    "scalar": ("scalar",),
    "array": ("array",),
    "objects": ("objects", "shape"),
    "csr": ("csr", "shape"),
    "list": ("list",),
    "tuple": ("tuple",),
    "dict": ("dict",),
    "table": ("table",),
    "part": ("part", "fields"),
}


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _is_of_type(value: Any, hint: Any) -> bool:
    """Whether a value is what its annotation promises; Any promises nothing."""
    origin, options = get_origin(hint), get_args(hint)
    if isinstance(hint, UnionType):
        return any(_is_of_type(value, option) for option in options)
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and (hint not in ARRAYS or value.dtype.type in ARRAYS[hint])
    if origin is tuple and isinstance(value, tuple):
        each = options[:1] * len(value) if options[1:] == (...,) else options
        return len(each) == len(value) and all(map(_is_of_type, value, each))
    if origin is dict and isinstance(value, dict):
        return all(_is_of_type(item, options[1]) for item in value.values())  # keys are texts in JSON
    if hint in SCALARS:
        return isinstance(value, SCALARS[hint]) and (hint is bool or not isinstance(value, bool | np.bool_))
    return hint is Any or (isinstance(hint, type) and isinstance(value, hint))


def _check_shape(shape: Any) -> None:
    if not isinstance(shape, list) or any(type(size) is not int or not 0 <= size < 2**62 for size in shape):
        raise ValueError(f"{shape!r} is no shape")


def _read_array(member: bytes) -> np.ndarray[Any, Any]:
    """An array of an NPY member, in the byte order of this machine; its size must be exactly that of the member."""
    header = HEADER.match(member)
    if header is None or int.from_bytes(member[8:10], "little") != header.end() - 10:
        raise ValueError("an array of it has no header that siis has written")
    order, kind, size = header[1].decode(), header[2].decode(), int(header[3])
    shape = tuple(int(text) for text in header[5].decode().split(",") if text.strip())
    if kind not in KINDS:
        raise ValueError(f"an array of it is of kind {kind!r}")
    n_bytes = size * 4 if kind == "U" else size
    if not 0 < n_bytes <= max(len(member), 8) or math.prod(shape) * n_bytes != len(member) - header.end():
        raise ValueError(f"an array of it is not of shape {shape}")
    dtype = np.dtype(f"{order}{kind}{size}")
    flat = np.frombuffer(member, dtype, offset=header.end()).astype(dtype.newbyteorder("="))
    return flat.reshape(shape, order="F" if header[4] == b"True" else "C")
