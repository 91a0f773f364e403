"""`siis review` on the command line: what it refuses, what it opens, and how it stands beside siis corrections."""

import json
import socket
import threading
import time
import webbrowser

import pytest

import siis.app.cli.review as command
from cli_case import SIIS, read_csv, write_csv
from siis.app.review import ReviewServer
from siis.app.rounds import Rounds, former_round
from siis.decisions import JOURNAL, Decision, Journal

pytestmark = pytest.mark.slow
FIT = ["fit", "--label", "label", "--id", "name", "--n-neighbors", 5]


@pytest.fixture(scope="module")
def source(table, tmp_path_factory):
    """Results of a default fit."""
    out = tmp_path_factory.mktemp("fitted") / "results"
    fit = [*FIT, table[0], "--out", out, "--quiet"]
    SIIS.ok(*fit)
    return out


@pytest.fixture
def results(source, tmp_path):
    """A copy of them."""
    out = tmp_path / "results"
    out.mkdir()
    for path in source.iterdir():
        (out / path.name).write_bytes(path.read_bytes())
    return out


def journal_of(folder):
    return Journal(folder, json.loads((folder / "summary.json").read_text())["table"])


@pytest.fixture
def opened(monkeypatch):
    """Addresses that a browser was asked to open; serving ends at once, as by Ctrl-C that nobody minds."""
    found = []
    monkeypatch.setattr(webbrowser, "open", found.append)
    monkeypatch.setattr(ReviewServer, "serve_forever", lambda self, poll: None)
    return found


def test_help_has_every_option_and_an_example(siis):
    said = siis("review", "--help").stdout
    for word in ("RESULTS", "--port", "--open", "--no-open", "siis review results --no-open --port 8800"):
        assert word in said
    assert "siis review results" in siis("--help").stdout


def test_a_browser_is_opened_where_asked(siis, results, opened, monkeypatch):
    done = siis.ok("review", results, "--open")
    assert opened == [done.stdout.strip()]
    assert opened[0].startswith("http://127.0.0.1:")
    siis.ok("review", results, "--no-open")
    assert siis("review", results).exit_code == 0  # no terminal
    assert len(opened) == 1
    monkeypatch.setattr(command, "is_desktop", lambda: True)
    siis.ok("review", results)
    assert len(opened) == 2


@pytest.mark.parametrize(
    ("environment", "is_terminal", "expected"),
    [
        ({"DISPLAY": ":0"}, True, True),
        ({"DISPLAY": ":0"}, False, False),
        ({"DISPLAY": ":0", "SSH_CONNECTION": "a"}, True, False),
        ({}, True, False),
    ],
)
def test_where_a_browser_is_sensible(monkeypatch, environment, is_terminal, expected):
    class Stream:
        def isatty(self):
            return is_terminal

    monkeypatch.setattr(command.sys, "platform", "linux")
    monkeypatch.setattr(command.sys, "stdout", Stream())
    monkeypatch.setattr(command.sys, "stderr", Stream())
    monkeypatch.setattr(command.os, "environ", environment)
    assert command.is_desktop() is expected


def test_the_port(siis, results, opened):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"--port must be one that is free, and that you may use; {port} is not" in siis.refused(
            "review", results, "--port", port
        )
    done = siis.ok("review", results, "--port", port)
    assert f":{port}/?token=" in done.stdout
    assert siis("review", results, "--port", 70000).exit_code == 2


def test_what_cannot_be_reviewed(siis, results, opened, tmp_path):
    assert "there is no such file" in siis.refused("review", tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()
    assert "it is a file. Name the folder of the results (siis review DIR)." in siis.refused(
        "review", results / "summary.json"
    )
    summary = json.loads((results / "summary.json").read_text())
    summary["options"]["data"] = "gone.csv"
    (results / "summary.json").write_text(json.dumps(summary))
    assert "Run siis review in the folder in which siis fit was run" in siis.refused("review", results)


def test_one_review_at_a_time(siis, table, results, opened, tmp_path):
    write_csv(tmp_path / "fix.csv", ["id", "label"], [("digit 0", "0")])
    with journal_of(results):
        for args in (
            ("review", results),
            ("corrections", tmp_path / "fix.csv", "--results", results),
            ("fit", table[0], "--out", results),
        ):
            said = siis.refused(*args)
            assert "under review" in said
            assert "Ctrl-C" in said
    with journal_of(results) as journal:
        journal.add(Decision("digit 1", "kept", "1"))
    with (results / JOURNAL).open("a") as file:
        file.write('{"id": "dig')
    done = siis.ok("review", results)
    assert "line 2, was cut off in the middle and is ignored" in done.stderr
    assert "1 decision is saved in" in done.stderr


def test_rounds_are_those_of_corrections_whenever_they_are_run(siis, results, tmp_path):
    suspects = [row["id"] for row in read_csv(results / "label_issues.csv")][:3]
    decided = dict.fromkeys(suspects, "0")
    write_csv(tmp_path / "fix.csv", ["id", "label"], decided.items())
    siis.ok("corrections", tmp_path / "fix.csv", "--results", results, "--out", tmp_path / "one")
    former = former_round(results, results / "model.siis", "siis review")
    assert former.checked == {}
    with journal_of(results) as journal:
        rounds = Rounds(former, results, journal)
        rounds.run({suspects[0]: "1"}).write()
        rounds.run(decided).write()
    for name in ("predictions.csv", "label_issues.csv", "label_quality.csv", "label_next.csv"):
        assert (results / name).read_bytes() == (tmp_path / "one" / name).read_bytes(), name


def test_corrections_and_later_fits_take_in_what_was_decided(siis, table, results, tmp_path):
    first, second, third = (row["id"] for row in read_csv(results / "label_issues.csv")[:3])
    with journal_of(results) as journal:
        journal.add(Decision(first, "chosen", "0"))
        journal.add(Decision(second, "chosen", "0"))
    write_csv(tmp_path / "fix.csv", ["id", "label"], [(second, "1"), (third, "1")])
    siis.ok("corrections", tmp_path / "fix.csv", "--results", results, "--quiet")
    wanted = {first: "0", second: "1", third: "1"}
    assert former_round(results, results / "model.siis", "siis review").checked == wanted
    with journal_of(results) as journal:  # a later review begins from there
        assert {name: one.decision for name, one in journal.made.items()} == {
            first: "chosen",
            second: "corrected",
            third: "corrected",
        }
        assert journal.checked({}) == wanted
    rows = {row["id"]: row for row in read_csv(results / "checked_labels.csv")}
    given = {row["name"]: row["label"] for row in read_csv(table[0])}
    assert {name: (row["given"], row["label"]) for name, row in rows.items()} == {
        name: (given[name], label) for name, label in wanted.items()
    }
    assert [rows[name]["decision"] for name in wanted] == ["chosen", "corrected", "corrected"]
    assert all(row["at"] > "2026" for row in rows.values())
    again = siis.ok(*FIT, table[0], "--out", results)
    assert f"3 checked labels: verified, 3 of them saved in {results / JOURNAL}" in again.stderr
    assert former_round(results, results / "model.siis", "siis review").checked == wanted
    assert {row["id"]: row for row in read_csv(results / "checked_labels.csv")} == rows


def test_ctrl_c_says_what_is_saved(results, monkeypatch, capfd):
    """In this process: the real signal is in the browser's story."""
    ended = []
    monkeypatch.setattr("siis.app.cli.terminal.stop", lambda: ended.append(command.set_interrupt_message))

    def serve(self, poll):
        self.session.decide(Decision("digit 0", "chosen", "0"))
        time.sleep(0.1)
        raise KeyboardInterrupt

    said = []
    monkeypatch.setattr(ReviewServer, "serve_forever", serve)
    monkeypatch.setattr(command, "set_interrupt_message", said.append)
    SIIS("review", str(results), "--no-open")
    assert len(ended) == 1
    assert said[-1] == (
        f"1 decision is saved in {results / JOURNAL}. siis review {results} will fit those that are new."
    )
    assert threading.active_count() < 20
