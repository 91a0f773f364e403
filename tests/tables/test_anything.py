"""Arbitrary tables: consistent data or a ValueError, and nothing else."""

import csv
import io
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from siis.tables import Recipe, Roles, read

QUICK = settings(
    max_examples=150,
    deadline=20_000,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
CELLS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        ["", "NA", "nan", "inf", "-1", "0", "true", "2024-01-01", "a", "b", '"', "\r\n", "1e400", "=1+1"]
    ),
    st.floats().map(repr),
    st.integers().map(str),
)


@st.composite
def tables(draw):
    width = draw(st.integers(1, 5))
    header = draw(st.lists(st.text(max_size=8), min_size=width, max_size=width))
    rows = draw(st.lists(st.lists(CELLS, min_size=width, max_size=width), max_size=12))
    if draw(st.booleans()):  # as many rows as categories need
        rows = rows * 5
    separator = draw(st.sampled_from([",", "\t", ";"]))
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=separator, quoting=draw(st.sampled_from([0, 1]))).writerows([header, *rows])
    return header, len(rows), file.getvalue(), ".tsv" if separator == "\t" else ".csv"


def attempt(path, roles):
    """Read; check what came back; say whether anything did."""
    try:
        data = read(path, roles)
    except ValueError as problem:
        return None, str(problem)
    n = len(data.ids)
    assert n > 0
    assert data.X.shape[0] == n
    assert data.X.shape[1] > 0
    assert np.isfinite(data.X.data if sp.issparse(data.X) else data.X).all()
    assert len(set(data.ids)) == n
    answers = data.labels if data.labels is not None else data.annotations
    assert all(type(answer) is str and answer.strip() for answer in answers.ravel() if answer is not None)
    assert any(answer is not None for answer in answers.ravel())
    assert all(note.isprintable() for note in data.notes)
    again = Recipe.from_plain(*data.recipe.to_plain()).apply(path, Roles(encoding=roles.encoding, id=roles.id))
    same = again.X != data.X
    assert (same.nnz if sp.issparse(same) else np.count_nonzero(same)) == 0
    assert again.ids == data.ids
    return data, ""


@QUICK
@given(table=tables(), data=st.data())
def test_arbitrary_tables(tmp_path, table, data):
    header, n, text, suffix = table
    names = st.sampled_from([name.strip() for name in header]) | st.text(max_size=5)
    roles = data.draw(
        st.builds(
            Roles,
            label=names | st.none(),
            id=names | st.none(),
            features=st.none() | st.lists(names, max_size=3).map(tuple),
            text=st.none() | names,
            annotators=st.just(()) | st.lists(names, max_size=2).map(tuple),
        )
    )
    path = Path(tmp_path) / f"t{suffix}"
    path.write_text(text, encoding="utf-8", newline="")
    found, problem = attempt(path, roles)
    if found is None:
        assert problem.isprintable()
    else:
        assert len(found.ids) <= n


@QUICK
@given(
    content=st.binary(max_size=300) | st.binary(max_size=60).map(lambda more: b"a,b\n1,x\n2,y\n" + more),
    suffix=st.sampled_from([".csv", ".tsv", ".csv.gz", ".parquet", ".feather", ".arrow", ".npz"]),
    encoding=st.sampled_from(["utf-8", "latin-1", "utf-16"]),
)
def test_arbitrary_bytes(tmp_path, content, suffix, encoding):
    path = Path(tmp_path) / f"t{suffix}"
    path.write_bytes(content)
    data, problem = attempt(path, Roles(label="b", encoding=encoding))
    assert data is not None or problem.isprintable()


@settings(QUICK, phases=[Phase.generate], database=None, derandomize=True)
@given(table=tables())
def count_data(tmp_path, found, table):
    """Read with the first column as the label."""
    header, _, text, suffix = table
    path = Path(tmp_path) / f"t{suffix}"
    path.write_text(text, encoding="utf-8", newline="")
    found.append(attempt(path, Roles(label=header[0].strip() or "column 1"))[0] is not None)


def test_the_tables_are_not_all_refused(tmp_path):
    found = []
    count_data(tmp_path, found)
    assert np.mean(found) > 0.1
