"""What is said about the time that is left."""

import importlib
import json
import sys
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from siis import SIISClassifier
from siis.forecast import COSTS, Forecast, expected_seconds, kind_of
from siis.progress import Progress, listening, round_seconds

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_a_slow_machine_is_noticed_and_a_stage_knows_its_share():
    forecast = Forecast({"a": 2.0, "b": 4.0, "c": 4.0})
    assert forecast.left("a", 0.0) == pytest.approx(10.0)
    forecast.spend("a", 8.0)  # four times as slow; a tenth of the whole, 1 s, counts as spent at the usual speed
    assert forecast.left("b", 0.0) == pytest.approx((8 + 1) / (2 + 1) * 8)
    forecast.spend("b", 6.0)
    assert forecast.left("b", 0.5) == pytest.approx(6.0 + 3 * 4)
    assert forecast.left("b", 0.0) == pytest.approx(3 * 4 - 6 + 3 * 4)
    assert forecast.left("b", 0.01) < 2 * forecast.left("b", 0.0), "the first per cent says next to nothing"
    forecast.spend("c", 1.0)
    assert forecast.left("c", 1.0) == 0.0


def test_names_lose_their_numbers():
    assert kind_of("selection: at most 54 graphs and smoothings") == "selection: at most graphs and smoothings"


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "a second"), (12.4, "12 s"), (170, "3 min"), (5.1 * 3600, "5 h"), (2e5, "56 h")]
)
def test_times_in_words(seconds, words):
    assert round_seconds(seconds) == words


def test_a_fit_runs_through_the_stages_that_were_forecast(capsys):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6))
    y = np.where(np.arange(300) < 60, (X[:, 0] > 0).astype(int), -1)
    told = []
    with listening(lambda *what: told.append(what)):
        SIISClassifier(verbose=1).fit(X, y)
    expected = expected_seconds(300, 6, 60, 2)
    assert {kind_of(name) for name, _, _ in told} == set(expected)
    left = [seconds for _, _, seconds in told]
    assert left[0] == pytest.approx(sum(expected.values()), rel=0.01)
    assert left[-1] == 0.0
    assert capsys.readouterr().err.startswith("[siis] about ")


def test_more_data_take_longer():
    small, large = (sum(expected_seconds(n, 50, n // 10, 10).values()) for n in (1_000, 100_000))
    assert large > 3 * small


def test_factors_are_those_of_the_measurements(monkeypatch):
    """costs.json is what benchmarks/stages.py makes of its results."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    stages = importlib.import_module("stages")
    rows = stages.Rows(stages.RESULTS / "stages.csv", stages.COLUMNS, 3).rows
    mine = [row for row in rows if row["version"] == rows[-1]["version"]]
    found = json.loads(resources.files("siis").joinpath(COSTS).read_text("utf-8"))
    for stage, values in stages.factors(mine).items():
        np.testing.assert_allclose(found[stage], values, atol=0.02)
    assert set(found) == set(stages.factors(mine))
    told = (stages.RESULTS / "stages.md").read_text()
    assert stages.table(mine).splitlines()[-1] == told.splitlines()[-1]  # how many were right within a factor of two
    sys.modules.pop("stages", None)


def test_nothing_is_forecast_where_nobody_knows():
    told = []
    with listening(lambda *what: told.append(what)), Progress(0).stage("report"):
        pass
    assert told == [("report", 0.0, None), ("report", 1.0, None)]


def test_stages_that_have_ended_are_not_ahead_though_nobody_listens():
    progress = Progress(0)
    progress.expect({"a": 10.0, "b": 2.0})
    with progress.stage("a"):
        pass
    assert progress.forecast.left("b", 0.0) < 2.0


def test_a_stage_begins_once_and_ends_once():
    """A listener draws a row for each beginning: work that reports 0 or 1 itself must not begin or end the stage."""
    told = []
    with listening(lambda name, share, left: told.append(share)), Progress(0).stage("graph") as report:
        for share in (0.0, 0.5, 1.0):
            report(share)
    assert told == [0.0, 0.5, 1.0]
    told.clear()
    X, y = np.random.default_rng(0).standard_normal((60, 3)), np.arange(60) % 2
    with listening(lambda name, share, left: told.append((name, share))):
        SIISClassifier().fit(X, y)
    ends = [what for what in told if what[1] in (0.0, 1.0)]
    assert len(ends) == len(set(ends))
