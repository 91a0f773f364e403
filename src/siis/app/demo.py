"""The data of `siis demo`, digits with 20 labels per class of which 40 % are wrong, and its summary."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from siis.app.outputs import Outcome
from siis.app.thumbnails import data_uri
from siis.datasets import contaminate, draw_labelled
from siis.labels.unlabelled import coded_rows, named
from siis.tables import Data

LABELS_PER_CLASS, NOISE = 20, 0.4
ENLARGED = 48  # pixels of a side


def demo_data(seed: int) -> tuple[Data, Callable[[int], str]]:
    """Digits with few and partly wrong labels, and their thumbnails."""
    X, truth = load_digits(return_X_y=True)
    y = np.full(truth.size, -1)
    rows = draw_labelled(truth, per_class=LABELS_PER_CLASS, random_state=seed)
    y[rows] = truth[rows]
    y = contaminate(y, NOISE, seed)
    labels = y.astype(str).astype(object)
    labels[~coded_rows(y)] = None
    wrong = np.count_nonzero(coded_rows(y) & (y != truth))
    note = (
        f"{truth.size:,} images of 8 x 8 pixels, {rows.size} labelled, {wrong} of these labels made wrong, 10 classes"
    )
    data = Data(
        ids=tuple(f"digit {i:04d}" for i in range(truth.size)),
        labels=labels,
        annotations=None,
        X=X,
        affinity="nearest_neighbors",
        texts=None,
        images=None,
        recipe=None,
        notes=(note,),
    )

    @cache
    def thumbnail(index: int) -> str:
        pixels = (255 - 255 * X[index].reshape(8, 8) / 16).astype(np.uint8)
        return data_uri(Image.fromarray(pixels).resize((ENLARGED, ENLARGED), Image.Resampling.NEAREST))

    return data, thumbnail


def demo_summary(outcome: Outcome) -> str:
    """Compare the predictions with the true classes, which the fit does not use."""
    X, labels, model = outcome.data.X, outcome.given.labels, outcome.model
    truth = load_digits(return_X_y=True)[1].astype(str)
    given = named(labels)
    nearest = KNeighborsClassifier(1).fit(X[given], labels[given].astype(str)).predict(X)
    answer = np.asarray(model.transduction_, dtype=str)
    suspects = model.label_issues()["index"]
    wrong = given & (labels != truth)
    found = np.count_nonzero(wrong[suspects])

    def row(name: str, rows: Any, before: Any) -> str:
        return f"{name:<52}{np.mean(before[rows] == truth[rows]):>6.1%}{np.mean(answer[rows] == truth[rows]):>8.1%}"

    lines = [
        "Accuracy against the true classes, which the fit does not use:",
        f"{'':<52}{'before':>6}{'siis':>8}",
        row("  labelled examples (before: the given label)", given, labels),
        row("  unlabelled examples (before: 1 nearest neighbour)", ~given, nearest),
        f"Wrong labels found: {found} of {wrong.sum()}, with {len(suspects) - found} false alarms.",
    ]
    return "\n".join(lines)
