"""Cells and blocks, without workers."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from siis.cluster import fit
from siis.cluster.blocks import find_blocks
from siis.cluster.cells import Cells, search, search_all, train_cells
from siis.cluster.files import let_go, load_one, mapped, save_each
from siis.graph.neighbors import neighbors_between
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


def test_search_inside_cells_is_exact_where_all_are_looked_through(points, monkeypatch):
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
    found, distances = search(base, every, base, first, here, cells.centers, 5, is_own=True)
    assert not (found == np.arange(900)[:, None]).any()
    np.testing.assert_allclose(distances, exact.distances[:, 1:], atol=1e-6)
    monkeypatch.setattr("siis.cluster.cells.AT_ONCE", 100)
    found, _ = search_all(base[:40], base, 6)
    assert np.mean(found == exact.indices[:40]) > 0.99
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
        ({"label": "kind"}, {"selection": None}, "leave --selection out"),
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


def test_pages_of_a_mapped_array_can_be_given_back(tmp_path):
    path, numbers = tmp_path / "00000.npz", np.arange(10_000.0)
    save_each(path, numbers=numbers, nothing=numbers[:0])
    found = mapped(path, "numbers")
    found[3] = 7.0  # nothing of it reaches the file
    let_go(found, mapped(path, "nothing"), numbers)
    np.testing.assert_array_equal(found, numbers)
    np.testing.assert_array_equal(load_one(path, "numbers"), numbers)
