"""The examples in the plane."""

from __future__ import annotations

import numpy as np

from siis._types import Ints
from siis.estimators.classifier import SIISClassifier
from siis.labels.unlabelled import coded_rows
from siis.report.layout import lay_out
from siis.report.report_data import ExampleMap
from siis.report.shown import Material, shortened

MOST_POINTS = 20_000
MOST_HOVERED = 3_000  # points with a text or a picture
MOST_PICTURE_BYTES = 8_000_000
ID_SHOWN = 200  # characters


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
    snippets, thumbnails = _hover_material(material, first_drawn[:MOST_HOVERED].tolist())
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


def _hover_material(material: Material, order: list[int]) -> tuple[dict[int, str | None], dict[int, str | None]]:
    """Texts and pictures of examples; pictures up to MOST_PICTURE_BYTES."""
    snippets = {i: material.hover_text(i) for i in order}
    thumbnails: dict[int, str | None] = {}
    used = 0
    for i in order if material.thumbnails is not None else ():
        picture = material.thumbnail(i)
        used += len(picture or "")
        if used > MOST_PICTURE_BYTES:
            break
        thumbnails[i] = picture
    return snippets, thumbnails


def _basis_rows(model: SIISClassifier) -> Ints:
    """Row of the basis at each vertex; -1 where it has none (the plain method leaves out what no label reaches)."""
    n_vertices, n_rows = model.graph_.n_vertices, model.basis_.shape[0]
    if n_rows == n_vertices:
        return np.arange(n_vertices)
    reached = np.zeros(n_vertices, dtype=bool)
    reached[model.vertex_[(model.vertex_ >= 0) & model.is_reached_]] = True
    return np.where(reached, np.cumsum(reached) - 1, -1)
