"""The search does not take luck for merit."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from siis import SIISClassifier
from siis.graph import embed
from siis.labels import Supervision

SETTLED = {"n_components": 20, "alpha": 1.0, "beta": 1.0, "laplacian": "normalized"}


def overlapping(seed=7):
    """Classes that overlap, in columns of about one scale: no space or reading is much better than another."""
    X, truth = make_blobs(150, 4, centers=3, cluster_std=5.0, random_state=seed)
    return X * [1.0, 1.5, 0.7, 2.0], np.where(np.arange(150) % 3 == 0, truth, -1)


@pytest.mark.parametrize(
    ("stage", "plainest", "metric", "seed"),
    [("space", "as given", "auto", 7), ("reading", "standardized", "euclidean", 1)],
)
def test_the_plainest_is_left_only_for_what_is_clearly_better(stage, plainest, metric, seed):
    """It is behind the best by less than 1.5 standard errors of the difference, and chosen all the same."""
    model = SIISClassifier(n_neighbors=10, metric=metric, **SETTLED).fit(*overlapping(seed))
    tried = [row for row in model.selection_.rows() if row["stage"] == stage]
    chosen = next(row for row in tried if row["chosen"])
    best = max(tried, key=lambda row: row["accuracy"])
    assert best[stage] != plainest, "else these data show nothing: take others"
    assert chosen[stage] == plainest
    assert 0 < chosen["behind"] == best["accuracy"] - chosen["accuracy"] <= 1.5 * chosen["behind_error"]


@pytest.mark.parametrize("ready_made", [False, True])
def test_what_won_the_race_is_judged_on_new_folds(ready_made, monkeypatch):
    """On the folds of the race its accuracy is biased upwards, and so would be that of everything chosen after it."""
    X, y = overlapping()
    sets, picked = [], Supervision.picked

    def recorded(given, which):
        if np.asarray(which).dtype == bool:  # the folds that stay
            sets.append(tuple(np.flatnonzero(which)))
        return picked(given, which)

    if ready_made:
        placed = embed(X, 10)
        X, settings = placed.graph.weights[placed.vertex][:, placed.vertex], {"affinity": "precomputed"}
    else:
        settings = {"n_neighbors": 10, "metric": "euclidean"}
    monkeypatch.setattr("siis.estimators.pooling.MOST_VERTICES", 0)  # no leaves, which have folds of their own
    monkeypatch.setattr(Supervision, "picked", recorded)
    SIISClassifier(**settings, **SETTLED).fit(X, y)
    assert len(set(sets[:5])) == 5, "five training sets in the race"
    assert len(set(sets[-5:])) == 5, "five in the end"
    assert not set(sets[:5]) & set(sets[-5:])
