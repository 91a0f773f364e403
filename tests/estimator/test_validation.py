"""Cross-validation with scikit-learn's tools where most examples have no label."""

import doctest
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import siis.validation
from plain import PlainSIIS
from siis.baselines import GFHFClassifier
from siis.validation import LabelledKFold, labelled_accuracy_scorer, labelled_scorer

KINDS = ["integers", "strings", "integers and None", "floats and NaN", "pandas"]


@pytest.fixture(scope="module")
def digits():
    X, truth = load_digits(return_X_y=True)
    X, truth = X[:300], truth[:300]
    y = np.where(np.random.default_rng(0).permutation(300) < 120, truth, -1)
    return X, y


def written(y, kind):
    if kind == "integers":
        return y
    if kind == "floats and NaN":
        return np.where(y >= 0, y, np.nan)
    if kind == "pandas":
        return pd.array(np.where(y >= 0, y, None), dtype="Int64")
    return np.array([None if k < 0 else f"digit {k}" if kind == "strings" else int(k) for k in y], dtype=object)


@pytest.mark.parametrize("kind", KINDS)
def test_a_score_counts_labelled_examples_only(digits, kind):
    X, y = digits
    labels, rows = written(y, kind), np.flatnonzero(y >= 0)
    for model in (PlainSIIS(n_components=20), GFHFClassifier()):
        model.fit(X, labels)
        names = model.classes_.tolist()
        correct = [names.index(answer) == k for answer, k in zip(model.transduction_[rows], y[rows], strict=True)]
        assert np.mean(correct) > 0.8
        assert model.score(X, labels) == pytest.approx(np.mean(correct))
        weights = np.where(np.arange(300) < 150, 3.0, 1.0)
        assert model.score(X, labels, weights) == pytest.approx(np.average(correct, weights=weights[rows]))
        assert labelled_accuracy_scorer(model, X, labels) == pytest.approx(np.mean(correct))


def test_what_minus_one_means_is_up_to_the_model(digits):
    X, y = digits
    keep = np.isin(y, [-1, 0, 1])
    model = PlainSIIS(n_components=20).fit(X[keep], y[keep])
    ones = np.isin(y, [-1, 1])  # by themselves, these would be two classes
    assert model.score(X[ones], y[ones]) == np.mean(model.predict(X[y == 1]) == 1)
    signs = np.where(np.arange(300) % 2, -1, 1)
    with pytest.warns(UserWarning, match="only -1 and \\+1"):
        model.fit(X, signs)
    assert model.score(X, signs) == accuracy_score(signs, model.predict(X))


def test_nothing_to_score(digits):
    X, y = digits
    model = PlainSIIS(n_components=20).fit(X, y)
    for score in (model.score, lambda X, y: labelled_accuracy_scorer(model, X, y)):
        with pytest.raises(ValueError, match=r"at least one labelled example; none of 5 .*LabelledKFold"):
            score(X[:5], np.full(5, -1))
    with pytest.raises(ValueError, match="inconsistent numbers"):
        model.score(X, y[1:])
    assert model.score(X[y >= 0], np.full(120, 99)) == 0.0, "a class that the model does not know is a miss"


@pytest.mark.parametrize("kind", KINDS)
def test_folds_hold_out_labels_and_keep_the_rest(digits, kind):
    X, y = digits
    seen = []
    for train, test in LabelledKFold(5).split(X, written(y, kind)):
        assert (y[test] >= 0).all()
        np.testing.assert_array_equal(np.union1d(train, test), np.arange(300))
        assert not np.intersect1d(train, test).size
        counts = np.bincount(y[test], minlength=10)
        assert (abs(counts - np.bincount(y[y >= 0]) / 5) < 1).all(), "each class has its share in each fold"
        seen += test.tolist()
    assert sorted(seen) == np.flatnonzero(y >= 0).tolist()


def test_folds_of_few_labels():
    y = np.array([0, 1, 1, -1, 2, 2, -1])
    held = [test.tolist() for _, test in LabelledKFold(4).split(y, y)]
    assert held == [[1], [2], [4], [5]], "the only label of class 0 stays"
    with pytest.raises(ValueError, match=r"n_splits=5 folds need .*there are 4"):
        list(LabelledKFold(5).split(y, y))
    for wrong in (1, 2.5, "many"):
        with pytest.raises(ValueError, match="n_splits must be an integer of at least 2"):
            list(LabelledKFold(wrong).split(y, y))
    with pytest.raises(ValueError, match="y=None"):
        list(LabelledKFold(2).split(y))


def test_folds_are_shuffled_only_on_request(digits):
    X, y = digits

    def held(**options):
        return [test.tolist() for _, test in LabelledKFold(3, **options).split(X, y)]

    assert held() == held(random_state=1)
    assert held(shuffle=True, random_state=1) == held(shuffle=True, random_state=1) != held()
    assert held(shuffle=True, random_state=1) != held(shuffle=True, random_state=2)
    assert repr(LabelledKFold(3)) == "LabelledKFold(n_splits=3, random_state=None, shuffle=False)"
    assert LabelledKFold(3).get_n_splits() == 3


@pytest.mark.filterwarnings("ignore:every example was given")
@pytest.mark.parametrize("kind", KINDS)
def test_grid_search(digits, kind):
    X, y = digits
    labels = written(y, kind)
    for scoring in (None, labelled_accuracy_scorer, labelled_scorer("balanced_accuracy")):
        search = GridSearchCV(
            PlainSIIS(n_components=20), {"alpha": [0.01, 100.0]}, cv=LabelledKFold(3), scoring=scoring
        )
        search.fit(X, labels)
        assert search.best_params_ == {"alpha": 100.0}
        assert search.best_score_ > 0.75
    pipeline = make_pipeline(StandardScaler(), PlainSIIS(n_components=20))
    assert cross_val_score(pipeline, X, labels, cv=LabelledKFold(3)).min() > 0.6


def test_plain_numbers_of_folds_work_with_integers(digits):
    X, y = digits
    scores = cross_val_score(PlainSIIS(n_components=20), X, y, cv=3)
    assert scores.min() > 0.6, "unlabelled examples are no misses"


def test_other_scores(digits):
    X, y = digits
    model = PlainSIIS(n_components=20).fit(X, written(y, "strings"))
    for scoring in ("f1_macro", "neg_log_loss", "balanced_accuracy", lambda model, X, y: float(len(y))):
        scorer = labelled_scorer(scoring)
        found = scorer(model, X, written(y, "strings"))
        expected = scorer(model, X[y >= 0], written(y, "strings")[y >= 0])
        assert found == pytest.approx(expected)
    assert found == 120
    assert pickle.loads(pickle.dumps(labelled_accuracy_scorer)) is not None
    with pytest.raises(ValueError, match="nonsense"):
        labelled_scorer("nonsense")


def test_booleans_and_none(digits):
    X, y = digits
    labels = np.array([None if k < 0 else bool(k < 5) for k in y], dtype=object)
    model = PlainSIIS(n_components=20).fit(X, labels)
    assert model.score(X, labels) == labelled_accuracy_scorer(model, X, labels) > 0.8


def test_the_example_of_the_reference():
    assert doctest.testmod(siis.validation).failed == 0
