"""Ways to find wrong labels and to estimate their share that others have published, written from their papers.

Each takes features and classes of labelled examples. Rankings: higher is more likely right.
"""

import warnings

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import issparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

N_NEIGHBORS = 10
FOLDS = 5


def unit_rows(X):
    """Rows of unit length, for cosine distances.

    Parameters
    ----------
    X : array or csr_array of shape (l, d)

    Returns
    -------
    array or csr_array of shape (l, d)
    """
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel()) if issparse(X) else np.linalg.norm(X, axis=1)
    scale = 1 / np.maximum(norms, 1e-12)
    return X.multiply(scale[:, None]).tocsr() if issparse(X) else X * scale[:, None]


def nearest_labelled(X, n_neighbors):
    """Indices of the nearest other labelled examples by cosine distance, shape (l, n_neighbors)."""
    return NearestNeighbors(n_neighbors=n_neighbors).fit(unit_rows(X)).kneighbors(return_distance=False)


def soft_votes(X, codes, n_classes, n_neighbors=N_NEIGHBORS):
    """Shares of the classes among an example and its neighbours, shape (l, c)."""
    near = nearest_labelled(X, min(n_neighbors, len(codes) - 1))
    votes = np.eye(n_classes)[codes] + np.sum(np.eye(n_classes)[codes[near]], axis=1)
    return votes / votes.sum(axis=1, keepdims=True)


def simifeat_vote(X, codes, n_classes):
    """SimiFeat-V (Zhu, Dong, Liu, ICML 2022): by how many votes of the neighbours the label leads, or trails."""
    votes = soft_votes(X, codes, n_classes)
    at = np.arange(codes.size)
    others = votes.copy()
    others[at, codes] = -1
    return votes[at, codes] - others.max(axis=1)


def simifeat_rank(X, codes, n_classes):
    """SimiFeat-R (the same): cosine of the angle between the neighbours' votes and the label."""
    votes = soft_votes(X, codes, n_classes)
    return votes[np.arange(codes.size), codes] / np.linalg.norm(votes, axis=1)


def consensus(codes, near, n_classes):
    """Frequencies of the labels of an example and of its two nearest neighbours, shapes (c,), (c, c), (c, c, c)."""
    third = np.zeros((n_classes,) * 3)
    np.add.at(third, (codes, codes[near[:, 0]], codes[near[:, 1]]), 1 / codes.size)
    return third.sum(axis=(1, 2)), third.sum(axis=2), third


def hoc(X, codes, n_classes):
    """HOC (Zhu, Song, Liu, ICML 2021): noise matrix and class shares from how often neighbours' labels agree.

    Two nearest neighbours are taken to have the example's true class. Then with class shares p and T_kj = P(label j |
    class k), labels of the three are independent given the class:

        P(a, b, c) = sum_k p_k T_ka T_kb T_kc,

    which is fitted with its margins by least squares.

    Parameters
    ----------
    X : array or csr_array of shape (l, d)
    codes : ndarray of shape (l,)
    n_classes : int

    Returns
    -------
    T : ndarray of shape (c, c)
        Row: true class.
    p : ndarray of shape (c,)
    """
    return fit_consensus(*consensus(codes, nearest_labelled(X, 2), n_classes))


def fit_consensus(first, second, third):
    """The least-squares fit of ``hoc`` to given frequencies; T and p."""
    c = first.size

    def unpack(x):
        logits = x[: c * c].reshape(c, c)
        T = np.exp(logits - logits.max(axis=1, keepdims=True))
        p = np.exp(x[c * c :] - x[c * c :].max())
        return T / T.sum(axis=1, keepdims=True), p / p.sum()

    def loss(x):
        T, p = unpack(x)
        e1 = T.T @ p - first
        e2 = np.einsum("k,ka,kb->ab", p, T, T, optimize=True) - second
        e3 = np.einsum("k,ka,kb,kc->abc", p, T, T, T, optimize=True) - third
        g1, g2, g3 = 2 * e1, 2 * (e2 + e2.T), 2 * (e3 + e3.transpose(1, 0, 2) + e3.transpose(2, 1, 0))
        by_T = p[:, None] * (g1 + T @ g2 + np.einsum("abc,kb,kc->ka", g3, T, T, optimize=True))
        two, three = 2 * e2, 2 * e3
        by_p = (
            T @ g1 + np.einsum("ab,ka,kb->k", two, T, T) + np.einsum("abc,ka,kb,kc->k", three, T, T, T, optimize=True)
        )
        by_logits = T * (by_T - np.sum(T * by_T, axis=1, keepdims=True))
        return float(e1 @ e1 + np.sum(e2**2) + np.sum(e3**2)), np.concatenate(
            [by_logits.ravel(), p * (by_p - p @ by_p)]
        )

    start = np.concatenate([(2.0 * np.eye(c) + np.log(1 / c)).ravel(), np.log(np.maximum(first, 1e-6))])
    return unpack(minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x)


def classifiers(X):
    """Three that people would use, by name."""
    scaled = StandardScaler(with_mean=not issparse(X))
    return {
        "logistic regression": make_pipeline(scaled, LogisticRegression(max_iter=300, tol=1e-3)),
        "kNN": KNeighborsClassifier(N_NEIGHBORS),
        "random forest": RandomForestClassifier(200, random_state=0, n_jobs=-1),
    }


def out_of_fold(model, X, codes, n_classes):
    """Probabilities of held-out labels, shape (l, c); classes that a fold lacks have none."""
    P = np.zeros((codes.size, n_classes))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of convergence, and of classes with few labels
        P[:, np.unique(codes)] = cross_val_predict(model, X, codes, cv=folds, method="predict_proba")
    return P


def cleanlab_best(X, codes, n_classes):
    """Cleanlab's self-confidence, with that of three classifiers whose held-out answers meet most labels."""
    from cleanlab.rank import get_label_quality_scores  # noqa: PLC0415

    found = [out_of_fold(model, X, codes, n_classes) for model in classifiers(X).values()]
    best = max(found, key=lambda P: np.mean(np.argmax(P, axis=1) == codes))
    best = np.maximum(best, 1e-9)
    return get_label_quality_scores(codes, best / best.sum(axis=1, keepdims=True))


def in_sample_margin(X, codes, n_classes):
    """The label's probability less the largest other one, by logistic regression fitted on all labels."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of convergence
        model = classifiers(X)["logistic regression"].fit(X, codes)
    P = np.zeros((codes.size, n_classes))
    P[:, model.classes_] = model.predict_proba(X)
    at = np.arange(codes.size)
    own = P[at, codes]
    P[at, codes] = -1
    return own - P.max(axis=1)


RANKINGS = {
    "SimiFeat, vote": simifeat_vote,
    "SimiFeat, rank": simifeat_rank,
    "in-sample margin": in_sample_margin,
    "cleanlab, best of three": cleanlab_best,
}
