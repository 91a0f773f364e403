"""From fitted models to report data."""

import json
import warnings
from copy import copy
from dataclasses import asdict

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp

from plain import PlainSIIS
from report_case import DOT
from siis import SIISClassifier
from siis.app import report
from siis.app.report import render
from siis.app.report.data import to_json
from siis.findings import find, given_codes
from siis.labels import LabelCoding


def collect(model, given=None, checked=(), n_queries=20, **shown):
    return report.collect(model, find(model, given=given, checked=checked, n_queries=n_queries), **shown)


def blobs(n=120, wrong=4, names=("ant", "bee", "cow")):
    rng = np.random.default_rng(0)
    truth = np.arange(n) % 3
    X = rng.standard_normal((n, 5)) + 6 * np.eye(3, 5)[truth]
    y = np.full(n, None, dtype=object)
    y[:60] = np.array(names, dtype=object)[truth[:60]]
    y[:wrong] = np.array(names, dtype=object)[(truth[:wrong] + 1) % 3]
    return X, y


IDS = [f"row {i}" for i in range(120)]


@pytest.fixture(scope="module")
def judged():
    X, y = blobs()
    return SIISClassifier().fit(X, y)


@pytest.fixture(scope="module")
def plain():
    X, y = blobs()
    return PlainSIIS().fit(X, y)


def test_what_is_read(judged):
    data = collect(judged, ids=IDS, source="animals.csv", warnings=["careful"])
    assert data.title == "Labels of animals.csv"
    assert data.classes == ["ant", "bee", "cow"]
    counts = data.counts
    assert (counts.examples, counts.labelled, counts.features, counts.classes) == (120, 60, 5, 3)
    issues = judged.label_issues()
    assert counts.suspects == issues.n_rows >= 4
    assert [s.id for s in data.suspects] == [IDS[i] for i in issues["index"]]
    assert [s.given for s in data.suspects] == list(issues["given"])
    assert [s.suggested for s in data.suspects] == list(issues["suggested"])
    assert [n.id for n in data.suspects[0].neighbors] == [IDS[i] for i in issues["neighbors"][0]]
    np.testing.assert_allclose([s.quality for s in data.suspects], issues["quality"], atol=1e-6)
    trust = data.trust
    assert trust.gap == pytest.approx(judged.dual_gap_, rel=1e-5)
    assert trust.noise_rate == pytest.approx(judged.noise_rate_, rel=1e-5)
    assert (trust.noise_low, trust.noise_high) == pytest.approx(judged.noise_interval_, rel=1e-5)
    assert trust.graph_score == pytest.approx(judged.graph_score_, rel=1e-5)
    assert trust.warnings == ["careful"]
    assert sum(data.reliability.labels) == np.isfinite(judged.held_out_distributions_[:, 0]).sum() == 60
    np.testing.assert_allclose(data.noise.matrix, judged.noise_matrix_, atol=1e-4)
    assert data.selection.columns == list(judged.members_)
    assert len(data.selection.rows) == judged.members_.n_rows
    assert data.convergence.iteration == judged.history_.iteration.tolist()
    np.testing.assert_allclose(
        np.array(data.convergence.bound, dtype=float), judged.history_.dual_objective, rtol=1e-5
    )


def test_the_map_shows_every_example(judged):
    data = collect(judged, ids=IDS)
    at = data.map
    assert at.ids == IDS
    assert at.placed == at.examples == 120
    assert [data.classes[k] for k in at.predicted] == judged.transduction_.tolist()
    given = [None if k < 0 else data.classes[k] for k in at.given]
    assert given == blobs()[1].tolist()
    np.testing.assert_allclose(at.probability, judged.label_distributions_.max(axis=1), atol=5e-4)
    for k, suspect in enumerate(at.suspect):
        assert suspect < 0 or data.suspects[suspect].id == at.ids[k]
    assert sorted(k for k in at.suspect if k >= 0) == list(range(len(data.suspects)))


def test_the_same_bytes_again(judged):
    X, y = blobs()
    again = SIISClassifier().fit(X, y)
    assert render(collect(judged, ids=IDS)) == render(collect(again, ids=IDS))


def test_data_is_plain(judged, plain):
    for model in (judged, plain):
        data = collect(model, ids=IDS, given=blobs()[1])
        assert json.loads(json.dumps(asdict(data), allow_nan=False)) == asdict(data)


def test_fewer_points_than_examples(judged, monkeypatch):
    monkeypatch.setattr("siis.app.report.map.MOST_POINTS", 30)
    data = collect(judged, ids=IDS)
    assert len(data.map.ids) == 30
    assert data.map.placed == 120
    assert sum(k >= 0 for k in data.map.suspect) == len(data.suspects)
    assert all(k >= 0 for k in data.map.given)  # 60 labelled ones come before all others
    assert "30 of 120 examples are drawn" in render(data)


def test_checked_labels_are_never_suspects(judged, plain):
    y = blobs()[1]
    for model in (judged, plain):
        before = collect(model, ids=IDS, given=y)
        first = IDS.index(before.suspects[0].id)
        after = collect(model, ids=IDS, given=y, checked=[first, 50])
        assert [s.id for s in after.suspects] == [s.id for s in before.suspects[1:]]
        assert after.counts.checked == 2
        assert after.counts.suspects == before.counts.suspects - 1
        assert after.map.suspect[after.map.ids.index(IDS[first])] == -1


def test_without_selection(plain):
    y = blobs()[1]
    data = collect(plain, ids=IDS, given=y)
    given, answers = y[:60], plain.transduction_[:60]
    assert {s.id for s in data.suspects} == {IDS[i] for i in range(60) if given[i] != answers[i]}
    assert len(data.suspects) >= 4
    for s in data.suspects:
        i = IDS.index(s.id)
        assert s.suggested == answers[i]
        column = data.classes.index(s.given)
        assert s.quality == pytest.approx(plain.label_distributions_[i, column], abs=1e-6)
        for near in s.neighbors:
            assert near.label == plain.transduction_[IDS.index(near.id)] != s.given
    assert sorted(s.quality for s in data.suspects) == [s.quality for s in data.suspects]
    assert (
        data.reliability
        is data.noise
        is data.selection
        is data.trust.graph_score
        is data.trust.noise_rate
        is data.trust.noise_low
        is None
    )
    assert "Not estimated" in render(data)


def test_sparse_features():
    X, y = blobs()
    model = PlainSIIS().fit(sp.csr_array(np.abs(X)), y)
    data = collect(model, ids=IDS, given=y)
    assert data.counts.features == 5
    assert len(data.map.ids) == 120


@pytest.mark.parametrize("method", ["auto", "paper"])
def test_ready_made_graph_with_an_unreached_part(method):
    """Two rings; labels on one only."""
    ring = sp.diags_array([np.ones(29), np.ones(29)], offsets=[1, -1])
    W = sp.csr_array(sp.block_diag([ring, ring]))
    y = np.full(60, -1)
    y[[0, 1, 2, 3, 26, 27, 28, 29]] = [0, 0, 0, 1, 1, 1, 1, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SIISClassifier(method=method, solver="certified", affinity="precomputed").fit(W, y)
    data = collect(model, ids=IDS[:60], given=y)
    assert data.counts.features is None
    assert data.counts.labelled == 8
    assert data.trust.neighbor_recall is None
    assert data.trust.unreached == 30
    assert data.map.examples == 60
    on_basis = 60 if model.basis_.shape[0] == 60 else 30
    assert data.map.placed == on_basis
    assert set(IDS[:30]) <= set(data.map.ids)
    assert "ready-made graph" in render(data)


def test_numbers_as_classes():
    X, y = blobs(names=(1.0, 2.0, 3.0))
    y = np.array([np.nan if v is None else v for v in y])
    model = PlainSIIS().fit(X, y)
    data = collect(model, ids=IDS, given=y)
    assert data.classes == ["1.0", "2.0", "3.0"]
    assert data.counts.labelled == 60
    assert {s.given for s in data.suspects} <= set(data.classes)


def test_one_class():
    X, _ = blobs()
    y = np.where(np.arange(120) < 3, 7, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SIISClassifier().fit(X, y)
    data = collect(model, ids=IDS, given=y)
    assert (data.classes, data.counts.labelled, data.suspects) == (["7"], 3, [])
    render(data)


def test_examples_left_out_of_the_graph():
    X, y = blobs()
    weight = np.ones(120)
    weight[0] = 0
    model = PlainSIIS().fit(X, y, sample_weight=weight)
    data = collect(model, ids=IDS, given=y)
    assert IDS[0] not in data.map.ids
    assert data.map.placed == 119
    assert data.suspects[[s.id for s in data.suspects].index(IDS[0])].neighbors == []


def test_long_texts_are_cut(judged):
    texts = ["word " * 2_000_000] + ["short  text\n here"] * 119
    data = collect(judged, ids=IDS, texts=texts)
    shown = {s.id: s.snippet for s in data.suspects}
    assert len(shown["row 0"]) == 300
    assert shown["row 0"].endswith("…")
    assert shown["row 1"] == "short text here"
    assert len(to_json(data)) < 200_000
    assert collect(judged, ids=IDS).suspects[0].snippet is None


def test_thumbnails_of_suspects_their_neighbours_and_the_map(judged, monkeypatch):
    data = collect(judged, ids=IDS, thumbnails=lambda i: DOT)
    assert data.suspects[0].thumbnail == data.suspects[0].neighbors[0].thumbnail == DOT
    assert data.pictured == len(data.suspects)
    assert data.map.thumbnails == [DOT] * 120  # unlabelled examples too
    assert "pictures are there for" not in render(data)
    asked = []
    monkeypatch.setattr("siis.app.report.shown.MOST_HOVER_BYTES", 10 * len(DOT))
    monkeypatch.setattr("siis.app.report.shown.MOST_PICTURED", 2)
    data = collect(judged, ids=IDS, thumbnails=lambda i: asked.append(i) or DOT)
    assert data.pictured == 2
    assert data.suspects[2].thumbnail is data.suspects[2].neighbors[0].thumbnail is None
    shown = [k for k, picture in enumerate(data.map.thumbnails) if picture is not None]
    assert len(shown) == 10
    assert {k for k, at in enumerate(data.map.suspect) if at >= 0} & set(shown)  # suspects come first
    assert "pictures are there for 10 of the 120 drawn examples" in render(data)
    assert len(set(asked)) < 120
    monkeypatch.setattr("siis.app.report.map.MOST_HOVERED", 7)
    data = collect(judged, ids=IDS, texts=["a text"] * 120, thumbnails=lambda i: DOT)
    assert sum(text == "a text" for text in data.map.snippets) == 7
    assert collect(judged, ids=IDS, thumbnails=lambda i: None).pictured is None


class Cells(list):
    """Rows of a table: a number, a category, a number that is the same for all, and a name of its own."""

    names = ("size", "kind", "same", "name")
    decimal = "."

    @property
    def columns(self):
        return tuple(pa.chunked_array([pa.array(column)]) for column in zip(*self, strict=True))


def table():
    X, _ = blobs()
    kinds = ["ant", "bee", "cow"]
    return Cells((f"{X[i, 0]:.2f}", kinds[i % 3], "7", f"n {i} " + "x" * 500) for i in range(120))


def test_cells_of_suspects_and_what_tells_them_apart(judged):
    rows = table()
    rows[0] = ("100", "wolf", "7", "n")  # unlike its neighbours
    data = collect(judged, ids=IDS, rows=rows)
    assert data.columns == ["size", "kind", "same", "name"]
    assert data.tabled == len(data.suspects)
    shown = next(s for s in data.suspects if s.id == "row 0")
    assert shown.cells == ["100", "wolf", "7", "n"]
    assert shown.unusual == [0, 1]  # names differ everywhere: they tell nothing
    for near in shown.neighbors:
        i = IDS.index(near.id)
        assert near.cells[:3] == list(rows[i][:3])
        assert len(near.cells[3]) == 200
        assert near.differs == [0, 1]
    assert data.map.snippets[1].startswith(f"size {rows[1][0]}, kind bee, same 7, name n 1")
    assert max(map(len, data.map.snippets)) <= 100
    plain = collect(judged, ids=IDS)
    assert (plain.columns, plain.tabled, plain.suspects[0].cells) == ([], None, None)
    assert json.loads(to_json(data))["rows"][0] is not None


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("0.14285714924335480", "0.142857"),
        ("-1234567.891", "-1234568"),
        ("1234.56789", "1234.57"),
        ("0,3333333333", "0,333333"),
        ("1.23456789e-12", "1.23457e-12"),
        ("0.00001234567", "0.0000123457"),
        ("2.50000000000001", "2.5"),
        ("0.0000000", "0"),
        ("9.99999999", "10"),
        ("12345678", "12345678"),
        ("1.5", "1.5"),
        ("1.2.3.4567", "1.2.3.4567"),
        ("1e400.5", "1e400.5"),
    ],
)
def test_numbers_are_shown_with_six_digits(judged, cell, shown):
    rows = table()
    rows[0] = (cell, "wolf", "7", "n")
    data = collect(judged, ids=IDS, rows=rows)
    assert next(s for s in data.suspects if s.id == "row 0").cells[0] == shown
    assert any(snippet and f"size {shown}, kind wolf" in snippet for snippet in data.map.snippets)


def test_large_pictures_fill_the_room_there_is(judged, monkeypatch):
    data = collect(judged, ids=IDS, thumbnails=lambda i: DOT, pictures=lambda i: DOT + str(i))
    listed = [*data.suspects, *data.queries]
    assert set(data.large) >= {one.id for one in listed} | {near.id for one in listed for near in one.neighbors}
    assert data.large["row 0"] == f"{DOT}0"
    page = render(data)
    assert f'"row 0":"{DOT}0"' in page
    monkeypatch.setattr("siis.app.report.shown.MOST_LARGE", 3 * len(DOT) + 10)
    assert len(collect(judged, ids=IDS, thumbnails=lambda i: DOT, pictures=lambda i: DOT).large) == 3
    assert collect(judged, ids=IDS, thumbnails=lambda i: DOT).large == {}
    with pytest.raises(ValueError, match="pictures must give data URIs of images"):
        collect(judged, ids=IDS, pictures=lambda i: "javascript:alert(1)")


def test_cells_take_a_bounded_room(judged, monkeypatch):
    monkeypatch.setattr("siis.app.report.shown.MOST_CHARACTERS", 10_000)
    data = collect(judged, ids=IDS, rows=table())
    assert 0 <= data.tabled < len(data.suspects)
    island = json.loads(to_json(data))
    assert sum(len(cell) for cells in island["rows"] for cell in cells) <= 10_000
    assert "the columns are shown for the worst" in render(data)


def test_what_to_label_next(judged, plain):
    y = blobs()[1]
    data = collect(judged, ids=IDS, checked=[5], rows=table(), thumbnails=lambda i: DOT)
    asked = [IDS[i] for i in judged.suggest_queries(60)["index"]]
    suspects = {s.id for s in data.suspects}
    found = [q.id for q in data.queries]
    assert 0 < len(found) <= 20
    assert found == [name for name in asked if name not in suspects | {"row 5"}][: len(found)]
    for one in data.queries:
        i = IDS.index(one.id)
        assert one.given == y[i]
        assert one.action == ("label" if y[i] is None else "check")
        assert one.classes[0] == judged.transduction_[i]
        assert one.probabilities == sorted(one.probabilities, reverse=True)
        assert one.thumbnail == DOT
        assert one.cells is not None
        assert 0 < len(one.neighbors) <= 5
    assert "Label these next" in render(data)
    data = collect(plain, ids=IDS, given=y)
    assert data.queries == []
    assert "these next" not in render(data)


def test_the_share_of_wrong_labels_is_known_where_labels_follow_neighbourhoods(judged, plain):
    model = copy(judged)
    assert collect(model, ids=IDS).trust.is_rate_known
    assert not collect(plain, ids=IDS, given=blobs()[1]).trust.is_rate_known
    model.graph_score_ = 0.24
    data = collect(model, ids=IDS)
    assert not data.trust.is_rate_known
    assert data.trust.noise_rate == pytest.approx(judged.noise_rate_, rel=1e-5)
    assert len(data.suspects) >= 4
    assert "cannot be estimated here" in data.summary[1]
    model.graph_score_ = 0.25
    assert collect(model, ids=IDS).trust.is_rate_known


def test_an_unknown_gap_is_not_zero(judged):
    model = copy(judged)
    model.dual_gap_ = np.nan
    data = collect(model, ids=IDS)
    assert data.trust.gap is None
    assert "is not known" in render(data)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ids": IDS[:5]}, "ids must have one entry for each of the 120 examples; found 5"),
        ({"ids": ["same"] * 120}, "entries 0 and 1 are both 'same'"),
        ({"ids": list(range(120))}, "ids must be strings; entry 0 is 0"),
        ({"texts": ["a"]}, "texts must have one entry"),
        ({"rows": Cells([("1", "a", "7", "x")])}, "rows must have one entry"),
        ({"given": ["wolf"] * 120}, "entry 0 is 'wolf'"),
        ({"checked": [120]}, "0 to 119; found 120"),
        ({"checked": [-1]}, "found -1"),
        ({"thumbnails": lambda i: "http://example.org"}, "data URIs of images"),
    ],
)
def test_bad_input(judged, arguments, message):
    with pytest.raises(ValueError, match=message):
        collect(judged, **{"ids": IDS, **arguments})


@pytest.mark.filterwarnings("ignore:-1 and 1 in y")
@pytest.mark.parametrize("names", [("-1", "1"), ("-1.0", "1.0")])
def test_minus_one_is_a_class_beside_one_however_it_is_written(names):
    X, y = blobs(names=(*names, names[0]))
    model = PlainSIIS().fit(X, y)
    given = collect(model, ids=IDS, given=y).map.given
    assert given == [model.classes_.tolist().index(label) if label is not None else -1 for label in y]


def test_codes_that_are_known_are_taken(plain):
    y = blobs()[1]
    coding = LabelCoding(plain.classes_, given_codes(plain, y))
    assert render(collect(plain, ids=IDS, given=coding)) == render(collect(plain, ids=IDS, given=y))
    with pytest.raises(ValueError, match="given must have one entry for each of the 120 examples; found 5"):
        collect(plain, ids=IDS, given=LabelCoding(plain.classes_, coding.codes[:5]))


def test_given_is_needed_without_selection(plain):
    with pytest.raises(ValueError, match="Pass given=y"):
        collect(plain, ids=IDS)
