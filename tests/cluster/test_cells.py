"""Cells and blocks, without workers."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from siis.cluster import fit
from siis.graph.neighbors import neighbors_between
from siis.shards.cells import Cells, search, train_cells
from siis.tables.blocks import find_blocks
from siis.workflow import FitOptions


@pytest.fixture
def points():
    rng = np.random.default_rng(0)
    return (4 * rng.standard_normal((12, 5))[rng.integers(0, 12, 900)] + rng.standard_normal((900, 5))).astype(
        np.float32
    )


def test_cells_are_dealt_to_shards_of_like_size(points):
    cells = train_cells(points, 60_000, 3, 0)
    assert len(cells.centers) == 30
    assert (np.diff(cells.shard) >= 0).all()
    near = cells.nearest(points)
    sizes = np.bincount(cells.shard[near[:, 0]], minlength=3)
    assert sizes.max() < 1.5 * sizes.min()
    exact = neighbors_between(points.astype(float), cells.centers.astype(float), 8).indices
    np.testing.assert_array_equal(near, exact)
    some = np.array([5, 700, 30])
    np.testing.assert_array_equal(cells.nearest(points[some]), near[some])  # whatever stands beside a row
    again = train_cells(points, 60_000, 3, 0)
    np.testing.assert_array_equal(again.centers, cells.centers)


def test_fewer_points_than_cells():
    cells = train_cells(np.repeat(np.eye(3, dtype=np.float32), 5, axis=0), 100, 4, 0)
    assert len(cells.centers) == 3
    assert set(cells.shard) <= set(range(4))


def test_search_inside_cells_is_exact_where_all_are_looked_through(points):
    cells = train_cells(points, 20_000, 2, 0)
    home = cells.nearest(points)[:, 0]
    order = np.argsort(home, kind="stable")
    base = points[order]
    first = np.searchsorted(home[order], np.arange(len(cells.centers) + 1))
    every = np.tile(np.arange(len(cells.centers)), (900, 1))
    here = np.arange(len(cells.centers))
    found, distances = search(base, every, base, first, here, cells.centers, 6)
    exact = neighbors_between(base.astype(float), base.astype(float), 6)
    np.testing.assert_allclose(distances, exact.distances, atol=1e-6)
    assert np.mean(found == exact.indices) > 0.999
    found, distances = search(base, every[:, :1], base, first, here, cells.centers, 6)
    assert (found[home[order] != 0, 0] < first[1]).all()  # in the first cell alone
    nobody = Cells(cells.centers[:0], cells.shard[:0])
    found, _ = search(base, every, base[:0], np.zeros(1, int), here[:0], nobody.centers, 6)
    assert (found == -1).all()


@pytest.mark.parametrize(
    ("roles", "parameters", "message"),
    [
        ({}, {}, "must be named with --label"),
        ({"label": "kind", "text": ["name"]}, {}, "--text is not for that"),
        ({"label": "kind", "encoder": {"source": "net.onnx"}}, {}, "--encoder is not for that"),
        ({"label": "kind", "sheet": "July"}, {}, "--sheet is not for that"),
        ({"label": "kind"}, {"selection": None}, "found --selection none. Leave it at --selection auto"),
    ],
)
def test_what_a_cluster_cannot_do_is_refused(roles, parameters, message, tmp_path):
    data = str(tmp_path / "none.parquet")
    with pytest.raises(ValueError, match=message):
        fit(FitOptions(data, roles, parameters=parameters), tmp_path, None)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(ValueError, match="there is no such file"):
        find_blocks(str(tmp_path / "*.parquet"))
    (tmp_path / "a.parquet").write_bytes(b"no table")
    with pytest.raises(ValueError, match=r"a\.parquet: must be a Parquet file"):
        find_blocks(str(tmp_path / "*.parquet"))
    parquet.write_table(pa.table({"x": [1.0], "label": ["a"]}), tmp_path / "a.parquet")
    parquet.write_table(pa.table({"y": [1.0], "label": ["a"]}), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"b\.parquet: must have the columns of"):
        find_blocks(str(tmp_path / "*.parquet"))
