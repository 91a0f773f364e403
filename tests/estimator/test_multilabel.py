"""Several tags on one graph and basis: each tag's answers are those of a fit of its own, to the gap."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_multilabel_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score

from plain import PlainSIIS
from siis import SIISMultilabelClassifier
from siis.estimators import multilabel

pytestmark = pytest.mark.slow

TOL = 1e-7


def heaps():
    """Tags that depend on which of six heaps an example is in; a tenth of the answers is wrong."""
    rng = np.random.default_rng(0)
    heap = np.arange(240) % 6
    X = rng.normal(size=(240, 4)) + 5 * rng.normal(size=(6, 4))[heap]
    tags = np.column_stack([heap < 3, heap % 2 == 0, heap == 5, heap > 1]).astype(float)
    given = np.where(rng.random(tags.shape) < 0.1, 1 - tags, tags)
    given[rng.permutation(240)[:160]] = np.nan
    return X, given, tags


def words():
    """Counts of words, as scikit-learn makes them; a fifth is labelled, and of every tag other examples."""
    X, tags = make_multilabel_classification(n_samples=200, n_features=12, n_classes=3, random_state=1)
    given = np.where(np.random.default_rng(1).random(tags.shape) < 0.2, tags, np.nan)
    return X, given, tags


def islands():
    """Three heaps that are not connected; a tag is known of two, or of one of them; some examples are equal."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(150, 2)) + 1000.0 * (np.arange(150) % 3)[:, None]
    X[147:] = X[:3]
    tags = np.column_stack([X[:, 0] % 1000 > 0, np.arange(150) % 3 == 1, X[:, 1] % 1000 > 1]).astype(float)
    given = np.where(rng.random((150, 1)) < 0.4, tags, np.nan)
    given[np.arange(150) % 3 == 2, 1] = np.nan
    given[np.arange(150) % 3 > 0, 2] = np.nan
    given[0], given[147] = 1.0, 0.0
    return X, given, tags


@pytest.mark.filterwarnings("ignore::siis.errors.UnreachedWarning", "ignore:every example was given:UserWarning")
@pytest.mark.parametrize("make", [heaps, words, islands])
def test_each_tag_is_a_fit_of_its_own(make):
    X, given, _ = make()
    model = SIISMultilabelClassifier(tol=TOL, max_iter=20_000).fit(X, given)
    assert (model.dual_gaps_ <= TOL).all()
    assert model.probabilities_.shape == given.shape
    for t, column in enumerate(given.T):
        y = np.where(np.isnan(column), -1, column).astype(int)
        own = PlainSIIS(tol=TOL, max_iter=20_000).fit(X, y)
        one = model.estimators_[t]
        assert one.objective_ == pytest.approx(own.objective_, rel=2 * TOL), "both within the gap of one optimum"
        np.testing.assert_allclose(one.label_distributions_, own.label_distributions_, atol=2e-3)
        np.testing.assert_array_equal(one.is_reached_, own.is_reached_)
        sure = np.abs(own.label_distributions_[:, 1] - 0.5) > 5e-3
        np.testing.assert_array_equal(model.transduction_[sure, t], own.transduction_[sure])
        np.testing.assert_allclose(
            model.predict_proba(X[:20] + 0.01)[:, t], own.predict_proba(X[:20] + 0.01)[:, 1], atol=2e-3
        )
        assert one.graph_ is model.graph_


def test_tags_are_found_and_share_the_work(monkeypatch):
    X, given, tags = heaps()
    batches, bases = [], []
    solve, basis = multilabel.solve_batch, multilabel.smooth_basis
    monkeypatch.setattr(multilabel, "solve_batch", lambda p, *a, **k: batches.append(len(p)) or solve(p, *a, **k))
    monkeypatch.setattr(multilabel, "smooth_basis", lambda *a, **k: bases.append(1) or basis(*a, **k))
    model = SIISMultilabelClassifier().fit(X, given)
    assert batches == [4], "one batch"
    assert bases == [1], "one basis"
    assert all(one.basis_ is model.estimators_[0].basis_ for one in model.estimators_)
    assert np.mean(model.transduction_ == tags) > 0.95
    np.testing.assert_array_equal(model.predict(X), model.transduction_)
    assert model.tags_.tolist() == [0, 1, 2, 3]


def test_names_and_a_tag_that_all_have():
    pd = pytest.importorskip("pandas")
    X, given, _ = heaps()
    given[:, 1] = np.where(np.isnan(given[:, 1]), np.nan, 1.0)
    model = SIISMultilabelClassifier().fit(X, pd.DataFrame(given, columns=["red", "blue", "old", "new"]))
    assert model.tags_.tolist() == ["red", "blue", "old", "new"]
    np.testing.assert_array_equal(model.probabilities_[:, 1], 1.0)
    given[:, 1] = np.where(np.isnan(given[:, 1]), np.nan, 0.0)
    np.testing.assert_array_equal(SIISMultilabelClassifier().fit(X, given).probabilities_[:, 1], 0.0)


def test_what_is_no_tag_is_refused():
    X, given, tags = heaps()
    given[7, 2] = 2
    with pytest.raises(ValueError, match=r"found 2 in row 7, column 2. Write NaN"):
        SIISMultilabelClassifier().fit(X, given)
    with pytest.raises(ValueError, match="column 3 of Y has none"):
        SIISMultilabelClassifier().fit(X, np.where(np.arange(4) == 3, np.nan, np.nan_to_num(given) > 0))
    with pytest.raises(ValueError, match=r"one column for each tag; found shape .* Y\.reshape\(-1, 1\)"):
        SIISMultilabelClassifier().fit(X, tags[:, 0])
    with pytest.raises(ValueError, match=r"Unknown label type: continuous\. .* found fractions"):
        SIISMultilabelClassifier().fit(X, tags + 0.25)
    with pytest.raises(ValueError, match="y to be passed"):
        SIISMultilabelClassifier().fit(X, None)
    with pytest.raises(ValueError, match="alpha"):
        SIISMultilabelClassifier(alpha="auto").fit(X, given)


def test_a_batch_that_does_not_converge_is_named():
    X, given, _ = heaps()
    with pytest.warns(ConvergenceWarning, match="above tol"):
        SIISMultilabelClassifier(max_iter=1).fit(X, given[:, :1])


def test_unknown_tags_of_data_frames_and_texts():
    X, Y = np.random.default_rng(0).normal(size=(40, 3)), np.tile([0.0, 1.0], (40, 1))
    Y[:20] = Y[:20, ::-1]
    Y[5, 0] = np.nan
    frame = pd.DataFrame(Y, columns=["a", "b"]).astype("Int64")
    found = SIISMultilabelClassifier(n_components=5, n_neighbors=4).fit(X, frame)
    expected = SIISMultilabelClassifier(n_components=5, n_neighbors=4).fit(X, Y)
    np.testing.assert_array_equal(found.probabilities_, expected.probabilities_)
    assert list(found.tags_) == ["a", "b"]
    with pytest.raises(ValueError, match=r"Y must hold numbers: .* found texts"):
        SIISMultilabelClassifier().fit(X, [["a"]] * 40)


class _NotAnArray:
    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype)


KINDS = {
    "float32": lambda X: X.astype(np.float32),
    "int32": lambda X: X.astype(np.int32),
    "csr_array": sp.csr_array,
    "csr_matrix": sp.csr_matrix,
    "list": lambda X: X.tolist(),
    "not an array": _NotAnArray,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_features", [1, 4])
@pytest.mark.filterwarnings("ignore::siis.errors.UnreachedWarning")
def test_kinds_of_features(kind, n_features):
    X, given, _ = heaps()
    X = np.round(1e4 * X[:, :n_features])  # whole numbers, and few pairs at one distance
    expected = SIISMultilabelClassifier().fit(X, given)
    model = SIISMultilabelClassifier().fit(KINDS[kind](X), given)
    assert np.mean(model.transduction_ == expected.transduction_) > 0.99
    assert np.mean(model.predict(KINDS[kind](X + 1)) == expected.predict(X + 1)) > 0.99
    one = SIISMultilabelClassifier().fit(KINDS[kind](X), given[:, :1])
    assert one.predict(KINDS[kind](X)).shape == one.predict_proba(KINDS[kind](X)).shape == (240, 1)


@pytest.mark.parametrize("n_tags", [1, 4])
def test_scores_of_scikit_learn(n_tags):
    X, _, tags = heaps()
    Y = tags[:, :n_tags].astype(int)
    model = SIISMultilabelClassifier().fit(X, Y)
    assert [classes.tolist() for classes in model.classes_] == [[0, 1]] * n_tags
    assert model.n_iter_.shape == (n_tags,)
    for scoring in ("accuracy", "f1_micro", "roc_auc", "average_precision"):
        scores = cross_val_score(SIISMultilabelClassifier(), X, Y, scoring=scoring, cv=3, error_score="raise")
        assert scores.min() > 0.9
