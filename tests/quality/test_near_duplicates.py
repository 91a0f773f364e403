"""Near-duplicates and outliers that were planted are found, and little else; units and order do not matter."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

import siis
from plain import PlainSIIS
from siis import SIISClassifier
from siis.graph import Graph, Neighbors, gaussian_weights, join, knn_from_graph, neighbors_within
from siis.quality.unusual_examples import (
    CLOSEST,
    isolation,
    near_duplicate_table,
    near_duplicate_threshold,
    outlier_threshold,
)

pytestmark = pytest.mark.slow

N = 300


def planted(d=6, seed=0):
    """Three classes; 10 near copies (4 with another label), 3 equal copies (1 with another label), 8 outliers."""
    rng = np.random.default_rng(seed)
    truth = np.arange(N) % 3
    X = rng.normal(size=(N, d)) + 5 * np.eye(3, d)[truth]
    copied = rng.choice(N, 13, replace=False)
    copies = X[copied] + np.r_[1e-3 * rng.normal(size=(10, d)), np.zeros((3, d))]
    directions = rng.normal(size=(8, d))
    away = 1.7 + 30 * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    X, y = np.vstack([X, copies, away]), np.r_[truth, truth[copied], np.zeros(8, dtype=int)]
    differ = np.r_[N : N + 4, N + 10]
    y[differ] = (y[differ] + 1) % 3
    order = rng.permutation(len(X))
    place = np.argsort(order)
    pairs = {frozenset((int(place[a]), int(place[N + k]))) for k, a in enumerate(copied)}
    differing = {frozenset((int(place[a]), int(place[N + k]))) for k, a in enumerate(copied) if N + k in differ}
    return X[order], y[order], pairs, differing, set(place[N + 13 :].tolist())


def groups(table):
    """Members of each group, and whether their labels differ."""
    found = {}
    for row in table.rows():
        found.setdefault(row["group"], (set(), row["labels_differ"]))[0].add(int(row["index"]))
    return [(frozenset(members), bool(differ)) for members, differ in found.values()]


@pytest.fixture(scope="module")
def fitted():
    X, y, *truth = planted()
    return X, y, truth, SIISClassifier().fit(X, y)


def test_planted_copies_are_found(fitted):
    _, y, (pairs, differing, _), model = fitted
    table = model.near_duplicates()
    assert list(table) == ["group", "index", "given", "distance", "labels_differ"]
    found = groups(table)
    assert {members for members, _ in found} == pairs, "all of them, and nothing else"
    assert {members for members, differ in found if differ} == differing
    assert [differ for _, differ in found] == [True] * 5 + [False] * 8, "those whose labels differ come first"
    assert table["given"].tolist() == y[table["index"]].tolist()
    assert (table["distance"] < CLOSEST).all()
    assert np.count_nonzero(table["distance"] == 0) == 6, "equal ones"
    first = table["distance"][table["labels_differ"]]
    assert (np.diff(first[::2]) >= 0).all(), "closest first"


def test_planted_outliers_are_found(fitted):
    *_, (_, _, outliers), model = fitted
    table = model.outliers()
    assert list(table) == ["index", "given", "score"]
    assert set(table["index"].tolist()) == outliers
    assert (np.diff(table["score"]) <= 0).all()
    assert (table["score"] > 2).all()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_other_draws(seed):
    X, y, pairs, _, outliers = planted(seed=seed)
    model = SIISClassifier(n_neighbors=5, metric="euclidean").fit(X, y)
    found = {members for members, _ in groups(model.near_duplicates())}
    assert len(found & pairs) >= 12, "recall"
    assert len(found - pairs) <= 1, "precision"
    far = set(model.outliers()["index"].tolist())
    assert len(far & outliers) >= 7
    assert len(far - outliers) <= 1


def test_units_and_order_do_not_matter(fitted):
    X, y, _, model = fitted
    order = np.random.default_rng(5).permutation(len(X))
    other = SIISClassifier().fit(1024 * X[order], y[order])
    moved = {
        (frozenset(order[list(members)].tolist()), differ) for members, differ in groups(other.near_duplicates())
    }
    assert moved == set(groups(model.near_duplicates()))
    assert set(order[other.outliers()["index"]].tolist()) == set(model.outliers()["index"].tolist())
    np.testing.assert_allclose(np.sort(other.outliers()["score"]), np.sort(model.outliers()["score"]), rtol=1e-9)


def test_clean_data_have_neither():
    rng = np.random.default_rng(0)
    copies = far = 0
    for d in (2, 5, 20, 60):
        near = neighbors_within(rng.normal(size=(800, d)) + 6 * np.eye(4, d)[np.arange(800) % min(d, 4)], 10)
        none = np.full(800, -1)
        copies += near_duplicate_table(near, np.arange(800), none, np.arange(2)).n_rows
        scores = isolation(near)
        far += np.count_nonzero(scores > outlier_threshold(scores))
    assert copies <= 2
    assert far <= 3


def test_thresholds_follow_the_data():
    rng = np.random.default_rng(1)
    line, plane, many = (
        near_duplicate_threshold(neighbors_within(rng.uniform(size=(500, d)), 8).distances) for d in (1, 2, 50)
    )
    assert line < plane < many == CLOSEST
    K, m, n = 8, 3.0, 4000  # distances as they are in three dimensions
    radii = np.sort(rng.uniform(size=(n, K)), axis=1) ** (1 / m)
    assert near_duplicate_threshold(radii) == pytest.approx((0.05 / (n * (K - 1))) ** (1 / m), rel=0.15)
    grid = Neighbors(np.tile(np.arange(3), (9, 1)), np.ones((9, 3)))
    assert near_duplicate_threshold(grid.distances) == CLOSEST, "where all neighbours are equally far"
    assert outlier_threshold(isolation(grid)) == 1.5


def test_neighbors_are_read_off_the_graph():
    X = np.random.default_rng(0).normal(size=(60, 3))
    X[0] = 40.0  # so far that its weights vanish
    found = neighbors_within(X, 6)
    for kind in ("union", "mutual"):
        graph = Graph(join(found, gaussian_weights(found, 1.0), kind))
        assert graph.degrees[0] == 0
        for k in (6, 4):
            read = knn_from_graph(graph, X, k)
            np.testing.assert_array_equal(read.indices, found.indices[:, :k])
            np.testing.assert_allclose(read.distances, found.distances[:, :k])


def test_ready_made_graphs_have_no_distances():
    X, y = load_digits(return_X_y=True)
    found = neighbors_within(X[:200], 8)
    W = Graph(join(found, gaussian_weights(found, 20.0))).weights
    model = SIISClassifier(affinity="precomputed").fit(W, y[:200])
    for ask in (model.near_duplicates, model.outliers):
        with pytest.raises(ValueError, match="ready-made"):
            ask()


@pytest.mark.filterwarnings("ignore:.*connected to no label:UserWarning")
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_the_plain_method_finds_copies_and_outliers(kind, tmp_path):
    X, y = load_digits(return_X_y=True)
    X, y = np.vstack([X[:200], X[3] + 1e-9, 9 * X[5]]), np.append(y[:200], [(y[3] + 1) % 10, -1])
    model = PlainSIIS().fit(kind(X), y)
    siis.save(model, tmp_path / "m")
    for one in (model, siis.load(tmp_path / "m")):
        assert {3, 200} <= set(one.near_duplicates()["index"].tolist())
        assert one.near_duplicates()["labels_differ"][0]
        assert one.outliers()["index"][0] == 201
