"""Parquet and Arrow files, whole and damaged."""

import contextlib
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from siis.tables import Roles, read

TABLE = pa.table({"a": [1.5, 2.5, None, 4.0] * 50, "kind": ["x", None, "y", ""] * 50})


def write_parquet(path):
    pq.write_table(TABLE, path)


def write_stream(path):
    with pa.ipc.new_stream(path, TABLE.schema) as sink:
        sink.write_table(TABLE)


def write_feather(path):
    pyarrow.feather.write_feather(TABLE, path)


WRITERS = {
    "t.parquet": write_parquet,
    "t.PARQUET": write_parquet,
    "t.feather": write_feather,
    "t.arrow": write_stream,
    "t.ipc": write_feather,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_says_the_same(tmp_path, write, name):
    path = tmp_path / name
    WRITERS[name](path)
    data = read(path, Roles(label="kind"))
    text = write("a,kind\n" + "1.5,x\n2.5,\n,y\n4.0,\n" * 50)
    same = read(text, Roles(label="kind"))
    assert np.array_equal(data.X, same.X)
    assert list(data.labels) == list(same.labels)
    assert data.notes == same.notes
    assert data.ids == same.ids


@pytest.mark.parametrize("name", WRITERS)
def test_damaged_files(tmp_path, refusal, name):
    """Cut files are refused; whatever else stands in a file, the answer is data or a ValueError."""
    path = tmp_path / name
    WRITERS[name](path)
    whole = np.frombuffer(path.read_bytes(), dtype=np.uint8)
    for share in (0, 0.1, 0.5, 0.99):
        path.write_bytes(whole[: int(share * whole.size)].tobytes())
        message = refusal(path)
        assert str(path) in message
        assert "damaged" in message
    rng = np.random.default_rng(0)
    for _ in range(40):
        broken = whole.copy()
        broken[rng.integers(0, whole.size, 4)] = rng.integers(0, 256, 4)
        path.write_bytes(broken.tobytes())
        with contextlib.suppress(ValueError):
            assert len(read(path, Roles(label="kind")).ids)


def test_tables_without_rows_or_columns(tmp_path, refusal):
    path = tmp_path / "t.parquet"
    pq.write_table(TABLE, path)
    assert "encoding is for CSV" in refusal(path, encoding="latin-1")
    pq.write_table(TABLE.slice(0, 0), path)
    assert "no rows" in refusal(path)
    pq.write_table(TABLE.select([]), path)
    assert "no columns" in refusal(path)
    pq.write_table(pa.table([[1], [2], ["x"]], names=["a", " a", "kind"]), path)
    assert "names must differ" in refusal(path)


def test_encodings_within_encodings_are_undone(tmp_path):
    prices = pa.array([Decimal("1.5"), Decimal("2.5")] * 4).dictionary_encode()
    path = tmp_path / "t.feather"
    pyarrow.feather.write_feather(pa.table({"price": prices, "kind": ["x", "y"] * 4}), path)
    assert read(path, Roles(label="kind")).X[:, 0].tolist() == [1.5, 2.5] * 4


@pytest.mark.parametrize("name", ["t.parquet", "t.feather"])
def test_texts_that_are_no_text(tmp_path, refusal, name):
    raw = pa.array([b"x", b"\xff\xfe", b"y"])
    broken = pa.Array.from_buffers(pa.string(), 3, raw.buffers())
    table = pa.table({"a": [1, 2, 3], "kind": broken})
    if name == "t.parquet":
        pq.write_table(table, tmp_path / name)
    else:
        pyarrow.feather.write_feather(table, tmp_path / name)
    assert "damaged" in refusal(tmp_path / name)
