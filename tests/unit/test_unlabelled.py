"""What is no label: decided in one place, coded once."""

import re
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import siis
from siis import SIISClassifier
from siis.engine.rows import fix_signs
from siis.labels import encode_labels, gather, read_labels
from siis.labels.unlabelled import (
    are_signs,
    coded_rows,
    is_minus_one,
    is_missing,
    is_unlabelled,
    labelled_rows,
    named,
    soft_rows,
)

DECISIONS = (
    r"""[!=]= ?["']?-1\b""",  # what -1 means
    r"""\{["']?-1["']?, ["']?1["']?\}""",  # the two signs
    r"codes >= 0|codes < 0|Y\.any\(axis=1\)",  # the marks
)
CATEGORIES = ("parts.py", "columns.py")  # these code the cells of features


def test_no_other_module_decides():
    root = Path(siis.__file__).parent
    found = [
        f"{path.relative_to(root)}: {line.strip()}"
        for path in sorted(root.rglob("*.py"))
        if path.name not in ("unlabelled.py", *CATEGORIES)
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search("|".join(DECISIONS), line) and "axis == -1" not in line
    ]
    assert found == []


def test_what_is_missing():
    assert all(map(is_missing, (None, float("nan"), np.float32("nan"), pd.NA, pd.NaT)))
    assert not any(map(is_missing, ("", "nan", 0, -1, 0.0, False, Decimal(0))))


@pytest.mark.parametrize("label", [-1, -1.0, np.int8(-1), "-1", " -1 ", "-1.0", "-1."])
def test_minus_one_however_it_is_written(label):
    assert is_minus_one(label)
    assert is_unlabelled(label, minus_one_is_class=False)
    assert not is_unlabelled(label, minus_one_is_class=True)


def test_signs_are_two_classes_and_nothing_else_is():
    assert are_signs([-1, 1])
    assert are_signs(np.array([-1.0, 1.0]))
    assert are_signs(["-1.0", "+1", "1"])
    for others in ([], [-1], [1], [-1, 0, 1], ["-1", "1", "x"], [-2, 2]):
        assert not are_signs(others)


def test_the_three_marks():
    assert named(np.array([["a", None], [None, "b"]], dtype=object)).tolist() == [[True, False], [False, True]]
    assert coded_rows(np.array([-1, 0, 3])).tolist() == [False, True, True]
    assert soft_rows(np.array([[0.0, 0.0], [0.5, 0.5]])).tolist() == [False, True]


def test_scores_read_minus_one_as_the_model_does():
    assert labelled_rows([0, -1, None, np.nan], [0, 1]).tolist() == [True, False, False, False]
    assert labelled_rows([1, -1], [-1, 1]).tolist() == [True, True]


def test_classes_without_weight_are_dropped_and_codes_follow():
    labels = read_labels(np.array(["a", "b", "c", None, "c", "a"], dtype=object), [1, 0, 1, 1, 1, 0])
    assert labels.classes.tolist() == ["a", "c"]
    assert labels.codes.tolist() == [0, -1, 1, -1, 1, -1]
    assert labels.kinds.tolist() == labels.codes[labels.used].tolist() == np.argmax(labels.Y, axis=1).tolist()
    soft = read_labels(np.array([[0.2, 0.0, 0.8], [0, 0, 0], [0.2, 0.0, 0.8], [1, 0, 0]]))
    assert soft.codes.tolist() == [1, -1, 1, 0]
    assert soft.kinds.tolist() == [1, 1, 0]


def test_known_kinds_gather_the_same_pairs(rng):
    codes = rng.integers(0, 4, 60)
    labels = read_labels(codes)
    vertex, weights = rng.integers(0, 9, 60), rng.random(60)
    for one, other in ((codes >= 0, codes >= 0), (codes > 1, codes > 1)):  # all, and those of some classes
        known = gather(vertex[one], labels.Y[one], weights[one], labels.kinds[one])
        found = gather(vertex[other], labels.Y[other], weights[other])
        for name in ("rows", "Y", "weights"):
            np.testing.assert_array_equal(getattr(known, name), getattr(found, name))


@pytest.mark.parametrize("method", ["auto", "paper"])
def test_a_fit_codes_labels_once(method, rng, monkeypatch):
    calls = []

    def counted(y):
        calls.append("coded")
        return encode_labels(y)

    def again(Y):
        raise AssertionError("classes are numbered already")

    monkeypatch.setattr("siis.labels.given_labels.encode_labels", counted)
    monkeypatch.setattr("siis.labels.vertex_labels.label_kinds", again)
    X = np.concatenate([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 5])
    y, verified = np.repeat([3, 7], 20), np.arange(40) < 2
    SIISClassifier(method=method, solver="certified", random_state=0).fit(X, y, verified=verified)
    assert calls == ["coded"]


def test_a_ready_made_graph_is_checked_once(monkeypatch):
    from siis.estimators import default_fit  # noqa: PLC0415

    seen = []

    def remembered(*args):
        seen.append(merge(*args))
        return seen[-1]

    merge = default_fit.merge_examples
    monkeypatch.setattr(default_fit, "merge_examples", remembered)
    W = np.kron(np.eye(2), np.ones((6, 6)) - np.eye(6))
    W[5, 6] = W[6, 5] = 0.1
    model = SIISClassifier(affinity="precomputed", random_state=0).fit(sp.csr_array(W), np.repeat([0, 1], 6))
    assert model.graph_ is seen[0].graph


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_the_first_of_the_largest_entries_is_made_positive(kind):
    V = np.array([[-1, 1, 0.5, 0], [1, -2, -0.25, 0]], dtype=kind)
    fixed = fix_signs(V)
    assert fixed.dtype == kind
    np.testing.assert_array_equal(fixed, [[1, -1, 0.5, 0], [-1, 2, -0.25, 0]])
    np.testing.assert_array_equal(fix_signs(-V), fixed)
