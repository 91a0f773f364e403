"""Cells and blocks, without workers."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from siis.cluster import fit
from siis.graph.neighbors import neighbors_between
from siis.shards import job
from siis.shards.cells import Cells, search, search_all, train_cells
from siis.shards.files import load_array, map_array, release_pages, save_arrays
from siis.tables import Roles
from siis.tables.parquet_blocks import Block, block_labels, find_blocks
from siis.workflow import FitOptions, worded


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
    monkeypatch.setattr("siis.shards.cells.POINTS_AT_ONCE", 100)
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
        ({"label": "kind"}, {"method": "paper"}, "found --method paper. Leave it at --method auto"),
    ],
)
def test_what_a_cluster_cannot_do_is_refused(roles, parameters, message, tmp_path):
    data = str(tmp_path / "none.parquet")
    with pytest.raises(ValueError) as caught:  # noqa: PT011  (worded as the command line does)
        fit(FitOptions(data, roles, parameters=parameters), tmp_path, None)
    assert message in worded(caught.value)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(ValueError, match="no file has such a name"):
        find_blocks(str(tmp_path / "*.parquet"))
    (tmp_path / "a.parquet").write_bytes(b"no table")
    with pytest.raises(ValueError, match=r"a\.parquet: must be a Parquet file"):
        find_blocks(str(tmp_path / "*.parquet"))
    parquet.write_table(pa.table({"x": [1.0], "label": ["a"]}), tmp_path / "a.parquet")
    parquet.write_table(pa.table({"y": [1.0], "label": ["a"]}), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"b\.parquet: must have the columns of"):
        find_blocks(str(tmp_path / "*.parquet"))


def test_what_labels_mean_is_read_from_all_blocks(tmp_path):
    """A block of -1 and 1 alone has two classes; beside 2, -1 is no label. Spellings are counted over all, too."""
    cells = ["-1", "1", "1", "-1", "2", "Two", "two", "two"]
    parquet.write_table(pa.table({"x": np.arange(8.0), "kind": cells}), tmp_path / "a.parquet", row_group_size=4)
    blocks = [Block(str(tmp_path / "a.parquet"), (k,), 4 * k, 4) for k in range(2)]
    rows, labels = block_labels(blocks, Roles(label="kind", merge_classes=True))
    assert rows.tolist() == [1, 2, 4, 5, 6, 7]
    assert labels.tolist() == ["1", "1", "2", "two", "two", "two"]
    rows, labels = block_labels(blocks[:1], Roles(label="kind"))
    assert labels.tolist() == ["-1", "1", "1", "-1"]


def test_every_class_is_in_the_sample(monkeypatch):
    monkeypatch.setattr(job, "MOST_SAMPLED_LABELS", 50)
    codes = np.random.default_rng(0).permutation(np.repeat(np.arange(45), 40))
    taken = job._sampled(codes, np.random.default_rng(1))
    assert taken.size == 50
    assert np.unique(codes[taken]).size == 45


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"solver": "paper"}, "found --solver paper. Leave it at --solver auto"),
        ({"neighbor_search": "exact"}, "found --neighbor-search exact. Leave it at --neighbor-search auto"),
        ({"engine": "dask"}, "a file is fitted on a cluster with --cluster"),
        ({"client": 1}, "parameters must be those of SIISClassifier; found client"),
    ],
)
def test_parameters_that_a_cluster_would_not_heed(parameters, message, tmp_path):
    with pytest.raises(ValueError) as caught:  # noqa: PT011  (worded as the command line does)
        fit(FitOptions(str(tmp_path / "none.parquet"), {"label": "kind"}, parameters=parameters), tmp_path, None)
    assert message in worded(caught.value)


def test_pages_of_a_mapped_array_can_be_given_back(tmp_path):
    path, numbers = tmp_path / "00000.npz", np.arange(10_000.0)
    save_arrays(path, numbers=numbers, nothing=numbers[:0])
    found = map_array(path, "numbers")
    found[3] = 7.0  # nothing of it reaches the file
    release_pages(found, map_array(path, "nothing"), numbers)
    np.testing.assert_array_equal(found, numbers)
    np.testing.assert_array_equal(load_array(path, "numbers"), numbers)
