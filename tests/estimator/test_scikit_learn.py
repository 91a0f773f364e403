import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from digits_case import labelled_digits
from plain import PlainSIIS
from siis import SIISClassifier, SIISMultilabelClassifier

pytestmark = pytest.mark.slow

ESTIMATORS = [
    SIISClassifier(),
    PlainSIIS(),
    PlainSIIS(connectivity="mutual", laplacian="normalized"),
    SIISClassifier(method="paper"),
    SIISMultilabelClassifier(),
]
ONE_AND_TWO = "Y of this check holds 1 and 2; a tag is 0 or 1"
TWO_COLUMNS = (
    "it wants probabilities of two classes for one tag; check_classifiers_multilabel_output_format wants one column"
)
NOT_FOR_TAGS = {
    "check_estimators_dtypes": ONE_AND_TWO,
    "check_classifier_data_not_an_array": ONE_AND_TWO,
    "check_fit2d_1feature": ONE_AND_TWO,
    "check_estimator_sparse_array": TWO_COLUMNS,
    "check_estimator_sparse_matrix": TWO_COLUMNS,
    "check_classifiers_train": "it wants the classes of one target, shape (n,); tags are predicted in shape (n, t)",
    "check_classifiers_classes": "it gives names of classes; a tag is 0 or 1",
    "check_classifiers_multilabel_output_format_predict_proba": "it excludes the probabilities 0 and 1",
}


def not_applicable(estimator):
    return NOT_FOR_TAGS if isinstance(estimator, SIISMultilabelClassifier) else None


@pytest.mark.filterwarnings("ignore:n_neighbors=:UserWarning", "ignore:every example:UserWarning")
@pytest.mark.filterwarnings("ignore:y holds only -1:UserWarning", "ignore:.*connected to no label:UserWarning")
@pytest.mark.filterwarnings("ignore:Can't check dok sparse matrix:UserWarning")
@pytest.mark.filterwarnings("ignore:the labels do not follow:UserWarning", "ignore:most labels of these:UserWarning")
@pytest.mark.filterwarnings("ignore:nothing could be chosen:UserWarning")
@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pair
        for estimator in ESTIMATORS
        for pair in estimator_checks_generator(
            estimator, expected_failed_checks=not_applicable(estimator), mark="xfail"
        )
    ],
    ids=lambda value: getattr(getattr(value, "func", value), "__name__", None),
)
def test_check_estimator(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def digits():
    return labelled_digits(1797, 200, 80)


def test_it_corrects_labels_and_classifies_the_rest(digits):
    X, y, truth, rows = digits
    model = SIISClassifier().fit(X, y)
    assert np.mean(y[rows] == truth[rows]) == 0.6
    assert np.mean(model.transduction_[rows] == truth[rows]) > 0.85
    assert np.mean(model.transduction_ == truth) > 0.85
    assert model.dual_gap_ <= 1e-4
    assert model.history_.relative_gap[-1] == model.dual_gap_
    assert model.objective_ == model.solution_.objective
    assert model.is_reached_.all()
    np.testing.assert_allclose(model.label_distributions_.sum(1), 1)


def test_pandas_polars_and_names(digits):
    X, y = digits[0][:500], digits[1][:500]
    expected = SIISClassifier().fit(X, y)
    names = [f"pixel{i}" for i in range(64)]
    labels = [f"digit {k}" if k >= 0 else None for k in y]
    frames = [(pd.DataFrame(X, columns=names), pd.Series(labels)), (pl.DataFrame(X, schema=names), pl.Series(labels))]
    for frame, series in frames:
        model = SIISClassifier().fit(frame, series)
        assert model.feature_names_in_.tolist() == names
        np.testing.assert_array_equal(model.transduction_, [f"digit {k}" for k in expected.transduction_])
        np.testing.assert_array_equal(model.predict(frame), model.transduction_)


@pytest.mark.filterwarnings("ignore:every example was given")
def test_pipeline_clone_and_grid_search(digits):
    X, _, truth, _ = digits
    pipeline = make_pipeline(StandardScaler(), PlainSIIS(n_components=20))
    search = GridSearchCV(pipeline, {"siisclassifier__alpha": [0.5, 100.0]}, cv=2)
    search.fit(X[:300], truth[:300])
    assert search.best_params_ == {"siisclassifier__alpha": 100.0}
    assert clone(search.best_estimator_[-1]).get_params()["n_components"] == 20


def test_weights_matter(digits):
    X, y, truth, _ = digits
    wrong = (y >= 0) & (y != truth)
    plain = PlainSIIS().fit(X, y)
    light = PlainSIIS().fit(X, y, sample_weight=np.where(wrong, 0.01, 1.0))
    assert np.mean(light.transduction_ == truth) > np.mean(plain.transduction_ == truth)
    assert np.mean(light.transduction_[wrong] == truth[wrong]) > np.mean(plain.transduction_[wrong] == truth[wrong])
    scaled = SIISClassifier(alpha=50.0, method="paper", solver="certified").fit(
        X, y, sample_weight=np.full(y.size, 2.0)
    )
    np.testing.assert_allclose(scaled.label_distributions_, plain.label_distributions_, atol=1e-9)


def test_same_seed_same_bytes(digits):
    X, y = digits[0][:600], digits[1][:600]
    one, two = (SIISClassifier(random_state=7).fit(X, y) for _ in range(2))
    assert one.label_distributions_.tobytes() == two.label_distributions_.tobytes()


def test_progress_goes_to_standard_error_on_request(digits, capfd):
    X, y, _, _ = digits
    SIISClassifier().fit(X[:300], y[:300])
    assert capfd.readouterr() == ("", "")
    SIISClassifier(verbose=2).fit(X[:300], y[:300])
    out, err = capfd.readouterr()
    assert out == ""
    assert all(word in err for word in ("graph:", "basis:", "solve:", "relative gap"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("alpha", 0),
        ("alpha", "big"),
        ("beta", -1.0),
        ("n_components", 2.5),
        ("n_components", True),
        ("n_neighbors", 0),
        ("bandwidth", "wide"),
        ("bandwidth", -1),
        ("metric", "manhattan"),
        ("connectivity", "all"),
        ("laplacian", "signless"),
        ("solver", "fast"),
        ("method", None),
        ("warm_start", "no"),
        ("tol", np.nan),
        ("max_iter", 0),
        ("random_state", "x"),
        ("verbose", -1),
    ],
)
def test_bad_parameters(name, value):
    with pytest.raises(ValueError, match=f"{name} of SIISClassifier must be .*; found "):
        SIISClassifier(**{name: value}).fit(np.eye(4), [0, 1, 0, 1])


@pytest.mark.parametrize("method", ["auto", "paper"])
def test_an_interrupted_fit_changes_nothing(monkeypatch, method):
    X, truth = load_digits(return_X_y=True)
    X, y = X[:300], np.where(np.arange(300) < 60, truth[:300], -1)
    model = SIISClassifier(method=method, solver="certified").fit(X, y)
    before = {name: value for name, value in vars(model).items() if name != "n_features_in_"}
    stages = ["siis.estimators.base.build_neighbor_graph", "siis.estimators.classifier.smooth_basis"]
    if method == "auto":
        names = ("choose_members", "build_graph", "program_basis", "assess_labels")
        stages = [f"siis.estimators.default_fit.{name}" for name in names]
    for stage in (*stages, "siis.estimators.solving.solve_certified"):
        with monkeypatch.context() as patch:

            def interrupted(*args, **options):
                raise KeyboardInterrupt

            patch.setattr(stage, interrupted)
            with pytest.raises(KeyboardInterrupt):
                model.fit(X[:200], y[:200])
        after = {name: value for name, value in vars(model).items() if name != "n_features_in_"}
        assert after.keys() == before.keys()
        assert all(after[name] is before[name] for name in before)
