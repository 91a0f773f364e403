"""What to label, or to check, next."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from siis._types import Ints
from siis.estimators.classifier import SIISClassifier
from siis.labels.unlabelled import coded_rows
from siis.quality.issues import dissenting_neighbors, representatives
from siis.report.data import Query
from siis.report.shown import Material
from siis.report.words import query_reason

N_CLASSES = 3
ANY = -1  # no class: dissenting_neighbors are then all neighbours


@dataclass(frozen=True)
class Wanted:
    """An example to label or to check."""

    index: int
    action: str
    gain: float
    neighbors: list[int]  # closest examples


def wanted(model: SIISClassifier, left_out: Collection[int], n: int) -> list[Wanted]:
    """At most n queries of the model, the most helpful first, without the examples in ``left_out``."""
    asked = [
        row
        for row in model.suggest_queries(n + len(left_out)).rows()
        if row["gain"] > 0 and int(row["index"]) not in left_out
    ]
    n_vertices = model.graph_.n_vertices
    example = representatives(model.vertex_, coded_rows(model._given_codes), n_vertices)
    everybody = np.zeros(n_vertices, dtype=np.int64)
    return [
        Wanted(
            index,
            str(row["action"]),
            float(row["gain"]),
            dissenting_neighbors(model.graph_, int(model.vertex_[index]), everybody, ANY, example),
        )
        for row in asked[:n]
        for index in [int(row["index"])]
    ]


def query(one: Wanted, model: SIISClassifier, codes: Ints, material: Material, pictured: bool) -> Query:
    """What the page shows of a query and its neighbours."""
    P = model.label_distributions_[one.index]
    best = np.argsort(-P, kind="stable")[:N_CLASSES]
    classes = [str(model.classes_[k]) for k in best]
    code = int(codes[one.index])
    given = None if code < 0 else str(model.classes_[code])
    quality = float(model.label_quality_[one.index])
    return Query(
        **material.example(one.index, pictured),
        action=one.action,
        gain=one.gain,
        given=given,
        classes=classes,
        probabilities=[round(float(P[k]), 3) for k in best],
        why=query_reason(given, classes[0], quality, bool(model.is_reached_[one.index])),
        **material.neighborhood(one.index, one.neighbors, pictured),
    )
