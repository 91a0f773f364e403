"""Cells, blocks and files, without workers."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from siis.app.messages import worded
from siis.app.options import FitOptions
from siis.distributed import cells as cells_module
from siis.distributed import fit
from siis.distributed.cells import CellPoints, train_cells
from siis.distributed.row_blocks import ParquetBlock, block_labels, find_blocks
from siis.distributed.work_files import load_array, map_array, release_pages, save_arrays
from siis.encode import EncoderChoice
from siis.graph.neighbors import neighbors_between
from siis.tables import Roles


@pytest.fixture
def points():
    rng = np.random.default_rng(0)
    X = 4 * rng.standard_normal((12, 5))[rng.integers(0, 12, 900)] + rng.standard_normal((900, 5))
    return X.astype(np.float32)


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
    np.testing.assert_array_equal(cells.nearest(points[some]), near[some])  # whatever other rows there are
    np.testing.assert_array_equal(train_cells(points, 60_000, 3, 0).centers, cells.centers)


def test_fewer_points_than_cells():
    cells = train_cells(np.repeat(np.eye(3, dtype=np.float32), 5, axis=0), 100, 4, 0)
    assert len(cells.centers) == 3
    assert set(cells.shard) <= set(range(4))


def test_search_inside_cells_is_exact_where_all_are_looked_through(points, monkeypatch):
    cells = train_cells(points, 20_000, 2, 0)
    home = cells.nearest(points)[:, 0]
    order, here = np.argsort(home, kind="stable"), np.arange(len(cells.centers))
    X, every = points[order], np.tile(here, (900, 1))
    first = np.searchsorted(home[order], np.arange(len(here) + 1))
    base = CellPoints(X, first, here, cells.centers)
    exact = neighbors_between(X.astype(float), X.astype(float), 6)
    found, distances = base.search(X, every, 6)
    np.testing.assert_allclose(distances, exact.distances, atol=1e-6)
    assert np.mean(found == exact.indices) > 0.999
    found, distances = base.search(X, every, 5, is_own=True)
    assert not (found == np.arange(900)[:, None]).any()
    np.testing.assert_allclose(distances, exact.distances[:, 1:], atol=1e-6)
    found, _ = base.search(X, every[:, :1], 6)
    assert (found[home[order] != 0, 0] < first[1]).all()  # in the first cell alone
    monkeypatch.setattr(cells_module, "POINTS_AT_ONCE", 100)
    assert np.mean(base.search_all(X[:40], 6)[0] == exact.indices[:40]) > 0.99
    nothing = CellPoints(X[:0], np.zeros(1, int), here[:0], cells.centers[:0])
    assert (nothing.search(X, every, 6)[0] == -1).all()


@pytest.mark.parametrize(
    ("roles", "parameters", "message"),
    [
        ({}, {}, "must be named with --label"),
        ({"text": ("name",)}, {}, "--text is not for that"),
        ({"encoder": EncoderChoice("net.onnx")}, {}, "--encoder is not for that"),
        ({"sheet": "July"}, {}, "--sheet is not for that"),
        ({"label": "kind"}, {"method": "paper"}, "found --method paper. Leave it at --method auto"),
        ({"label": "kind"}, {"solver": "paper"}, "found --solver paper. Leave it at --solver auto"),
        ({"label": "kind"}, {"neighbor_search": "exact"}, "found --neighbor-search exact. Leave it at --neighbor"),
        ({"label": "kind"}, {"warm_start": True}, "every fit starts anew; found warm_start=True"),
        ({"label": "kind"}, {"class_prior": [0.5, 0.5]}, "class sizes are not used; found class sizes. Leave it out"),
        ({"label": "kind"}, {"client": 1}, "parameters must be those of SIISClassifier; found client"),
    ],
)
def test_options_that_a_cluster_cannot_use_are_refused(roles, parameters, message, tmp_path):
    options = FitOptions(str(tmp_path / "none.parquet"), Roles(**roles), parameters=parameters)
    with pytest.raises(ValueError) as caught:  # noqa: PT011  (worded as the command line does)
        fit(options, tmp_path, None)
    assert message in worded(caught.value)


def test_files_that_cannot_be_read(tmp_path):
    pattern, a, b = (str(tmp_path / name) for name in ("*.parquet", "a.parquet", "b.parquet"))
    with pytest.raises(ValueError, match="no file has such a name"):
        find_blocks(pattern)
    (tmp_path / "a.parquet").write_bytes(b"no table")
    with pytest.raises(ValueError, match=r"a\.parquet: must be a Parquet file"):
        find_blocks(pattern)
    parquet.write_table(pa.table({"x": [1.0][:0], "label": ["a"][:0]}), a)
    with pytest.raises(ValueError, match="holds no rows"):
        find_blocks(pattern)
    parquet.write_table(pa.table({"y": [1.0], "label": ["a"]}), b)
    with pytest.raises(ValueError, match=r"b\.parquet: must have the columns of"):
        find_blocks(pattern)


def test_what_labels_mean_is_read_from_all_blocks(tmp_path):
    """A block of -1 and 1 alone has two classes; with 2, -1 is no label. Spellings are counted over all, too."""
    cells = ["-1", "1", "1", "-1", "2", "Two", "two", "two"]
    parquet.write_table(pa.table({"x": np.arange(8.0), "kind": cells}), tmp_path / "a.parquet", row_group_size=4)
    blocks = [ParquetBlock(str(tmp_path / "a.parquet"), (k,), 4 * k, 4) for k in range(2)]
    rows, labels = block_labels(blocks, Roles(label="kind", merge_classes=True))
    assert rows.tolist() == [1, 2, 4, 5, 6, 7]
    assert labels.tolist() == ["1", "1", "2", "two", "two", "two"]
    _, labels = block_labels(blocks[:1], Roles(label="kind"))
    assert labels.tolist() == ["-1", "1", "1", "-1"]


def test_pages_of_a_mapped_array_can_be_released(tmp_path):
    path, numbers = tmp_path / "00000.npz", np.arange(10_000.0)
    save_arrays(path, numbers=numbers, nothing=numbers[:0])
    found = map_array(path, "numbers")
    found[3] = 7.0  # nothing of it reaches the file
    release_pages(found, map_array(path, "nothing"), numbers)
    np.testing.assert_array_equal(found, numbers)
    np.testing.assert_array_equal(load_array(path, "numbers"), numbers)
