"""Progress of long work: its stages, and times in words."""

import numpy as np
import pytest

from siis import SIISClassifier, progress
from siis.progress import Progress, progress_listener, round_seconds


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "a second"), (12.4, "12 s"), (170, "3 min"), (5.1 * 3600, "5 h"), (2e5, "56 h")]
)
def test_times_in_words(seconds, words):
    assert round_seconds(seconds) == words


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is set."""
    time = {"now": 0.0}
    monkeypatch.setattr(progress.time, "perf_counter", lambda: time["now"])
    return time


def test_the_seconds_left_follow_from_the_share_that_is_done(clock):
    reports = []
    with progress_listener(lambda *report: reports.append(report)), Progress(0).stage("solve") as report:
        clock["now"] = 3.0
        report(0.25)
        clock["now"] = 4.0
        report(0.8)
    assert reports == [
        ("solve", 0.0, None),
        ("solve", 0.25, pytest.approx(9.0)),
        ("solve", 0.8, pytest.approx(1.0)),
        ("solve", 1.0, None),
    ]


def test_a_long_stage_is_reported_every_two_seconds(clock, capfd):
    with Progress(1).stage("solve") as report:
        for clock["now"] in (1.0, 2.5, 3.0, 5.0):
            report(clock["now"] / 10)
    assert capfd.readouterr().err.splitlines() == [
        "[siis] solve: 25%, about 8 s left",
        "[siis] solve: 50%, about 5 s left",
        "[siis] solve: 5.00 s",
    ]


def test_nothing_is_written_unless_asked_for(capfd):
    with Progress(0).stage("solve") as report:
        report(0.5)
    assert capfd.readouterr().err == ""


def test_a_stage_begins_once_and_ends_once():
    """A listener draws a row for each beginning: work that reports 0 or 1 itself must not begin or end the stage."""
    shares = []
    with progress_listener(lambda name, share, left: shares.append(share)), Progress(0).stage("graph") as report:
        for share in (0.0, 0.5, 1.0):
            report(share)
    assert shares == [0.0, 0.5, 1.0]
    reports = []
    X, y = np.random.default_rng(0).standard_normal((60, 3)), np.arange(60) % 2
    with progress_listener(lambda name, share, left: reports.append((name, share))):
        SIISClassifier().fit(X, y)
    ends = [what for what in reports if what[1] in (0.0, 1.0)]
    assert len(ends) == len(set(ends))
    assert {"average", "graph", "basis", "solve"} <= {name for name, _ in ends}
