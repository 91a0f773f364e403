"""Methods that people use instead of the default, on the same labels, as documented or tuned on these labels.

A method is a function of the task, the labelled rows and their classes, which answers all rows (or those of ``at``).
"""

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import cg
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelPropagation, LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from siis.baselines.ablation import harmonic
from siis.graph import build_neighbor_graph
from siis.labels import distributions, gather, one_hot

GRAPHS = {}


def graph(task, n_neighbors=10):
    key = (task.data, n_neighbors)  # neighbours do not depend on the labels
    if key not in GRAPHS:
        if any(data != task.data for data, _ in GRAPHS):
            GRAPHS.clear()
        GRAPHS[key] = build_neighbor_graph(task.X, n_neighbors)
    return GRAPHS[key]


def supervised(model):
    def predict(task, rows, codes, at=slice(None)):
        return model().fit(task.X[rows], codes).predict(task.X[at])

    return predict


def with_unlabelled(model):
    def predict(task, rows, codes):
        y = np.full(task.truth.size, -1)
        y[rows] = codes
        return model().fit(task.X, y).predict(task.X)

    return predict


def spreading(model):
    def predict(task, rows, codes):
        y = np.full(task.truth.size, -1)
        y[rows] = codes
        return model().fit(task.X, y).transduction_

    return predict


def local_and_global(share, n_neighbors=10):
    """F = (I - share D^-1/2 W D^-1/2)^-1 Y (Zhou et al.)."""

    def predict(task, rows, codes, at=slice(None)):
        placed = graph(task, n_neighbors)
        scale = sp.diags_array(1 / np.sqrt(np.maximum(placed.graph.degrees, 1e-300)))
        M = sp.eye_array(placed.graph.n_vertices) - share * (scale @ placed.graph.weights @ scale)
        Y = np.zeros((placed.graph.n_vertices, task.truth.max() + 1))
        np.add.at(Y, (placed.vertex[rows], codes), 1.0)
        F = np.column_stack([cg(M, column, rtol=1e-6)[0] for column in Y.T])
        return np.argmax(F, axis=1)[placed.vertex][at]

    return predict


def gfhf(task, rows, codes):
    placed, c = graph(task), task.truth.max() + 1
    reached = placed.graph.reached_from(placed.vertex[rows])
    given = gather(placed.vertex[rows], one_hot(codes, c), np.ones(rows.size)).relabel(np.cumsum(reached) - 1)
    F = np.zeros((placed.graph.n_vertices, c))
    F[reached] = distributions(harmonic(placed.graph.subgraph(reached), given), c)
    return np.argmax(F, axis=1)[placed.vertex]


def poisson(task, rows, codes):
    import graphlearning  # noqa: PLC0415  (seconds to import)

    placed = graph(task)
    vertices, first = np.unique(placed.vertex[rows], return_index=True)
    model = graphlearning.ssl.poisson(sp.csr_matrix(placed.graph.weights))
    return model.fit_predict(vertices, codes[first])[placed.vertex]


def cleanlab_then_logistic(task, rows, codes):
    from cleanlab.filter import find_label_issues  # noqa: PLC0415

    X = task.X[rows]
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    p = cross_val_predict(logistic(), X, codes, cv=folds, method="predict_proba")
    kept = ~find_label_issues(codes, p)
    if np.unique(codes[kept]).size < 2:
        kept[:] = True
    return logistic().fit(X[kept], codes[kept]).predict(task.X)


def logistic(C=1.0):
    return LogisticRegression(C=C, max_iter=300, tol=1e-3)


def scaled(model):
    """On columns of unit variance; those of a sparse matrix keep their zeros."""

    def predict(task, rows, codes, at=slice(None)):
        scaler = StandardScaler(with_mean=not sp.issparse(task.X))
        return make_pipeline(scaler, model()).fit(task.X[rows], codes).predict(task.X[at])

    return predict


def forest(leaf=1):
    return RandomForestClassifier(300, min_samples_leaf=leaf, random_state=0, n_jobs=-1)


def boosting(rate=0.1, leaves=31):
    return HistGradientBoostingClassifier(learning_rate=rate, max_leaf_nodes=leaves, random_state=0)


def dense_only(rival):
    """A rival that takes no sparse matrix: of text it gives no answer."""

    def predict(task, rows, codes, at=slice(None)):
        if sp.issparse(task.X):
            raise NotAnswered("takes no sparse matrix")
        return rival(task, rows, codes, at)

    return predict


class NotAnswered(ValueError):
    """A rival cannot be asked about such data."""


OTHER_METHODS = {
    "SVC": supervised(SVC),
    "SVC, scaled": scaled(SVC),
    "logistic regression": supervised(logistic),
    "logistic regression, scaled": scaled(logistic),
    "random forest": supervised(forest),
    "gradient boosting": dense_only(supervised(boosting)),
    "kNN": supervised(KNeighborsClassifier),
    "LabelSpreading": spreading(lambda: LabelSpreading(kernel="knn", max_iter=200)),
    "LabelPropagation": spreading(lambda: LabelPropagation(kernel="knn", max_iter=5000)),
    "SelfTraining": with_unlabelled(lambda: SelfTrainingClassifier(logistic())),
    "LGC 0.9": local_and_global(0.9),
    "LGC 0.99": local_and_global(0.99),
    "GFHF": gfhf,
    "Poisson learning": poisson,
    "cleanlab + logistic": cleanlab_then_logistic,
}
GRIDS = {
    "SVC": [supervised(lambda C=C, g=g: SVC(C=C, gamma=g)) for C in (0.1, 1, 10) for g in ("scale", "auto")],
    "SVC, scaled": [scaled(lambda C=C: SVC(C=C)) for C in (0.1, 1, 10)],
    "logistic regression": [supervised(lambda C=C: logistic(C)) for C in (0.01, 0.1, 1, 10)],
    "logistic regression, scaled": [scaled(lambda C=C: logistic(C)) for C in (0.001, 0.01, 0.1, 1)],
    "random forest": [supervised(lambda leaf=leaf: forest(leaf)) for leaf in (1, 3, 10)],
    "gradient boosting": [
        dense_only(supervised(lambda rate=rate, leaves=leaves: boosting(rate, leaves)))
        for rate in (0.03, 0.1)
        for leaves in (7, 31)
    ],
    "kNN": [supervised(lambda k=k: KNeighborsClassifier(k)) for k in (1, 5, 15, 50)],
    "LGC": [local_and_global(share, k) for k in (5, 10, 20, 50) for share in (0.5, 0.9, 0.99)],
}


def tuned(grid):
    """Choose a rival's parameters by five-fold cross-validation on the given labels, then fit on all."""

    def predict(task, rows, codes):
        scores = np.zeros(len(grid))
        for train, held in StratifiedKFold(5, shuffle=True, random_state=0).split(rows, codes):
            for k, rival in enumerate(grid):
                scores[k] += np.sum(rival(task, rows[train], codes[train], rows[held]) == codes[held])
        return grid[int(np.argmax(scores))](task, rows, codes)

    return predict
