"""The map: examples in the plane, where the neighbourhoods of the smooth basis are kept.

Two eigenvectors show two clusters, and two linear directions let ten classes overlap. So landmarks are embedded by
t-SNE, and every other point takes the mean position of the landmarks closest to it. Points that coincide are then
pushed apart. The cost of t-SNE does not grow with the number of examples.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree
from sklearn.manifold import TSNE

from siis._types import Floats, Ints
from siis.app.report.data import ExampleMap
from siis.app.report.shown import Material
from siis.engine.rows import fix_signs
from siis.engine.threads import n_threads, one_blas_thread
from siis.estimators.classifier import SIISClassifier
from siis.labels.unlabelled import coded_rows
from siis.model.gaussian import squared_distances
from siis.texts import shortened

MOST_POINTS = 20_000
MOST_HOVERED = 3_000  # points with a text or a picture
ID_SHOWN = 200  # characters
SIDE = 9999  # coordinates are integers from 0 to this
N_LANDMARKS = 250
LEAST_EMBEDDED = 4  # fewer points lie in a row
PERPLEXITY, ROUNDS = 20.0, 300
EXAGGERATION = 2.0  # early; at more, groups collapse to points and rounding decides their orientation
START_SPREAD = 1e-2  # standard deviation of the first positions
N_NEAREST = 4  # landmarks whose mean position is that of another point
FILLED = 0.25  # of the square, by points side by side
CROWD, PUSHES = 6, 40
HEAT = 6.0  # times the mean eigenvalue; less leaves single examples far from their groups


def map_of(model: SIISClassifier, material: Material, codes: Ints, suspects: list[int]) -> ExampleMap | None:
    """Coordinates of suspects, then labelled examples, then a sample of the rest; None if no example has any."""
    n, vertex = codes.size, model.vertex_
    row = _basis_rows(model)
    has_place = vertex >= 0
    has_place[has_place] = row[vertex[has_place]] >= 0
    placed = np.flatnonzero(has_place)
    if not placed.size:
        return None
    urgency = np.full(n, 2)
    urgency[coded_rows(codes)] = 1
    urgency[suspects] = 0
    mixed = np.random.default_rng(0).permutation(placed)
    first_drawn = mixed[np.argsort(urgency[mixed], kind="stable")[:MOST_POINTS]]
    hovered = first_drawn[:MOST_HOVERED].tolist()
    snippets, thumbnails = {i: material.hover_text(i) for i in hovered}, material.hover_pictures(hovered)
    drawn = np.sort(first_drawn)
    places = row[vertex[drawn]]
    winners = np.argmax(model.label_distributions_[drawn], axis=1)
    distinct, first, back = np.unique(places, return_index=True, return_inverse=True)
    at = lay_out(model.basis_.vectors[distinct], model.basis_.values, winners[first])[back]
    rank = np.full(n, -1)
    rank[suspects] = np.arange(len(suspects))
    return ExampleMap(
        x=at[:, 0].tolist(),
        y=at[:, 1].tolist(),
        ids=[shortened(material.ids[i], ID_SHOWN) for i in drawn],
        predicted=winners.tolist(),
        given=codes[drawn].tolist(),
        probability=[round(float(p), 3) for p in model.label_distributions_[drawn, winners]],
        suspect=rank[drawn].tolist(),
        snippets=[snippets.get(i) for i in drawn.tolist()],
        thumbnails=[thumbnails.get(i) for i in drawn.tolist()],
        placed=int(placed.size),
        examples=n,
    )


def _basis_rows(model: SIISClassifier) -> Ints:
    """Row of the basis at each vertex; -1 where it has none (the plain method leaves out what no label reaches)."""
    n_vertices, n_rows = model.graph_.n_vertices, model.basis_.shape[0]
    if n_rows == n_vertices:
        return np.arange(n_vertices)
    reached = np.zeros(n_vertices, dtype=bool)
    reached[model.vertex_[(model.vertex_ >= 0) & model.is_reached_]] = True
    return np.where(reached, np.cumsum(reached) - 1, -1)


def heat_rows(vectors: Floats, values: Floats) -> Floats:
    """Rows of U exp(-6 Sigma / s) scaled to length 1, s the mean eigenvalue; zero rows stay zero. U: (k, m)."""
    mean = float(values.mean())
    heat = np.exp(-HEAT * values / mean) if mean > 0 else np.ones_like(values)
    rows = vectors * heat
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0), dtype=np.float32)


def lay_out(vectors: Floats, values: Floats, classes: Ints) -> Ints:
    """Integer coordinates, 0 to 9999, (k, 2), of rows of the basis; all predicted classes share the landmarks."""
    E = heat_rows(vectors, values)
    with one_blas_thread():  # sums in one order, whatever the machine
        marks = _landmarks(classes)
        at = _embedded(E[marks])
        places = np.concatenate([_between(block, E[marks], at) for block in np.array_split(E, 1 + len(E) // 2000)])
    places[marks] = at
    return np.asarray(np.rint(_in_square(_apart(_in_square(places)))), dtype=np.int64)


def _landmarks(classes: Ints) -> Ints:
    """Rows of the landmarks: all, or the same number of each class as far as they go."""
    if classes.size <= N_LANDMARKS:
        return np.arange(classes.size)
    order = np.random.default_rng(0).permutation(classes.size)
    turn = np.empty(classes.size, dtype=np.int64)  # how many of the same class come before it
    by_class = order[np.argsort(classes[order], kind="stable")]
    first = np.searchsorted(classes[by_class], classes[by_class])
    turn[by_class] = np.arange(classes.size) - first
    return np.sort(order[np.argsort(turn[order], kind="stable")[:N_LANDMARKS]])


def _embedded(E: Floats) -> Floats:
    """Exact t-SNE, started from the two principal directions; the farthest point is on the positive side of each."""
    n = len(E)
    if n <= LEAST_EMBEDDED:
        return np.column_stack([np.arange(n), np.zeros(n)]).astype(np.float32)
    W, S, _ = np.linalg.svd(E - E.mean(axis=0), full_matrices=False)
    start = np.zeros((n, 2), dtype=np.float32)
    start[:, : min(2, S.size)] = fix_signs(W[:, :2] * S[:2])
    spread = float(start.std())
    if spread < 1e-6:  # the basis cannot separate the points
        return np.zeros_like(start)
    tsne = TSNE(
        perplexity=min(PERPLEXITY, (n - 1) / 3),
        early_exaggeration=EXAGGERATION,
        init=start * (START_SPREAD / spread),
        max_iter=ROUNDS,
        method="exact",
    )
    return np.asarray(tsne.fit_transform(E), dtype=np.float32)


def _between(E: Floats, marks: Floats, at: Floats) -> Floats:
    """The mean place of the closest landmarks, by similarity."""
    squared = squared_distances(E, marks)
    k = min(N_NEAREST, len(marks))
    near = np.argpartition(squared, k - 1, axis=1)[:, :k]
    close = np.take_along_axis(squared, near, axis=1)
    weights = np.exp(-3 * close / close.max(axis=1, keepdims=True).clip(1e-12))
    weights /= weights.sum(axis=1, keepdims=True)
    return np.asarray(np.einsum("ij,ijk->ik", weights, at[near]), dtype=np.float32)


def _apart(places: Floats) -> Floats:
    """Move points that lie on each other apart, so that a group is as large as its number of points."""
    n = len(places)
    spacing = SIDE * np.sqrt(FILLED / n)  # the distance that two points should keep
    cells = np.rint(places / (0.2 * spacing))
    distinct, back, counts = np.unique(cells, axis=0, return_inverse=True, return_counts=True)
    if len(distinct) < n:  # points in one place: a spiral around it
        order = np.argsort(back.ravel(), kind="stable")
        turn = np.empty(n)
        turn[order] = np.arange(n) - np.repeat(np.cumsum(counts) - counts, counts)
        angle = turn * np.pi * (3 - np.sqrt(5))
        places = places + 0.5 * spacing * np.sqrt(turn)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    for _ in range(PUSHES if n > 1 else 0):
        far, near = cKDTree(places).query(
            places, k=min(CROWD + 1, n), distance_upper_bound=spacing, workers=n_threads()
        )
        is_close = np.isfinite(far) & (far > 0)
        away = places[:, None] - places[np.where(is_close, near, 0)]
        push = np.where(is_close, (spacing - far) / np.where(is_close, far, 1), 0)
        places = places + 0.35 * np.einsum("ij,ijk->ik", push, away)
    return places


def _in_square(places: Floats) -> Floats:
    """One scale for both directions, centred."""
    low, high = places.min(axis=0), places.max(axis=0)
    side = float((high - low).max())
    if side == 0:
        return np.full(places.shape, SIDE // 2, dtype=np.float64)
    inside = (places.astype(np.float64) - (low + high) / 2) / side + 0.5
    return np.asarray((SIDE * inside).clip(0, SIDE))
