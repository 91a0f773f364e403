"""Decisions on the disk: replayed, mended after a crash, and one process's alone."""

import json
import os
import subprocess
import sys

import pytest

from siis.decisions import JOURNAL, Decision, Journal, check_not_reviewed


def lines(folder):
    return [json.loads(line) for line in (folder / JOURNAL).read_text().splitlines()]


def test_decisions_are_replayed(tmp_path):
    with Journal(tmp_path, "t") as journal:
        journal.add(Decision("a", "accepted", "x"))
        journal.add(Decision("\udc80 é", "kept", "y"))
        journal.add(Decision("a", "chosen", "z"))
        journal.add(Decision("b", "kept", "x"))
        journal.add(Decision("b", "undone", None))
        journal.add(Decision("b", "undone", None))  # changes nothing
    assert [line["decision"] for line in lines(tmp_path)] == ["accepted", "kept", "chosen", "kept", "undone"]
    with Journal(tmp_path, "t") as journal:
        assert [(one.id, one.decision, one.label) for one in journal.made.values()] == [
            ("\udc80 é", "kept", "y"),
            ("a", "chosen", "z"),
        ]
        assert journal.note == ""
        earlier = {"b": "x", "other": "y", "a": "w"}
        assert journal.checked(earlier) == {"other": "y", "\udc80 é": "y", "a": "z"}


def test_decisions_belong_to_a_table(tmp_path):
    with Journal(tmp_path, "cars", "ann") as journal:
        journal.add(
            Decision("1", "accepted", "small"), Decision("2", "kept", "large"), Decision("3", "kept", "small")
        )
        journal.add(Decision("3", "undone", None))
    with Journal(tmp_path, "birds", "bob") as journal:
        assert journal.made == {}
        assert journal.checked({}) == {}
        path = tmp_path / JOURNAL
        assert journal.others() == (
            f"2 decisions were made on another table: they stay in {path} and are not applied. If the ids still name "
            f"the same examples, apply them with --corrections {path}"
        )
        journal.add(Decision("1", "chosen", "hawk"))
    with Journal(tmp_path, "cars") as journal:
        assert journal.checked({}) == {"1": "small", "2": "large"}
        assert journal.made["1"].by == "ann"
        assert journal.others().startswith(f"1 decision was made on another table: it stays in {path} and is not")
    with Journal(tmp_path, "") as journal:
        assert journal.made == {}  # nor is a line without a table of all tables
    assert [line["by"] for line in lines(tmp_path)] == ["ann"] * 4 + ["bob"]


def test_who_has_decided_and_when_is_kept(tmp_path):
    with Journal(tmp_path / ".", "t", "ann") as journal:
        journal.add(Decision("a", "kept", "x", "eve", "2020-01-01T00:00:00+00:00"), Decision("b", "kept", "x"))
        journal.add(Decision("a", "kept", "x"))  # changes nothing
    eve, ann = lines(tmp_path)
    assert (eve["by"], eve["at"]) == ("eve", "2020-01-01T00:00:00+00:00")
    assert ann["by"] == "ann"
    assert ann["at"] > "2026"


def test_each_line_is_flushed_before_it_counts(tmp_path, monkeypatch):
    flushed = []
    with Journal(tmp_path, "t") as journal:
        monkeypatch.setattr(os, "fsync", lambda file: flushed.append((tmp_path / JOURNAL).read_bytes()))
        journal.add(Decision("a", "kept", "x"))
    assert len(flushed) == 1
    assert flushed[0].endswith(b"\n")


def test_a_torn_line_is_left_out_and_said(tmp_path):
    with Journal(tmp_path, "t") as journal:
        journal.add(Decision("a", "kept", "x"))
    whole = (tmp_path / JOURNAL).read_bytes()
    (tmp_path / JOURNAL).write_bytes(whole + whole[:-9])
    with Journal(tmp_path, "t") as journal:
        assert "line 2, was cut off in the middle" in journal.note
        assert list(journal.made) == ["a"]
        journal.add(Decision("b", "kept", "x"))
    assert [line["id"] for line in lines(tmp_path)] == ["a", "b"]


def test_a_last_line_without_an_end_counts(tmp_path):
    (tmp_path / JOURNAL).write_text('{"id": "a", "decision": "kept", "label": "x", "table": "t"}')
    with Journal(tmp_path, "t") as journal:
        assert journal.note == ""
        journal.add(Decision("b", "kept", "x"))
    assert [line["id"] for line in lines(tmp_path)] == ["a", "b"]


@pytest.mark.parametrize(
    "line",
    ["[]", "7", "{}", '{"id": 3, "decision": "kept", "label": "x"}', '{"id": "a", "decision": "no", "label": "x"}'],
)
def test_a_line_that_is_no_decision_is_named(tmp_path, line):
    (tmp_path / JOURNAL).write_text(f'{{"id": "a", "decision": "kept", "label": "x", "table": "t"}}\n{line}\n')
    with pytest.raises(ValueError, match=r"decisions\.jsonl, line 2, must be a decision"):
        Journal(tmp_path, "t")


def test_a_full_disk_leaves_no_half_line(tmp_path, monkeypatch):
    with Journal(tmp_path, "t") as journal:
        journal.add(Decision("a", "kept", "x"))
        write = os.write
        monkeypatch.setattr(os, "write", lambda file, content: write(file, content[:5]))
        with pytest.raises(OSError, match="space"):
            journal.add(Decision("b", "kept", "x"))
        assert list(journal.made) == ["a"]
    assert [line["id"] for line in lines(tmp_path)] == ["a"]


def test_a_journal_that_was_moved_is_found_out(tmp_path):
    with Journal(tmp_path, "t") as journal:
        (tmp_path / JOURNAL).rename(tmp_path / "away")
        with pytest.raises(ValueError, match="was moved away"):
            journal.add(Decision("a", "kept", "x"))


HOLD = "import sys, time; from pathlib import Path; from siis.decisions import Journal; \
j = Journal(Path(sys.argv[1]), 't'); print('held', flush=True); time.sleep(60)"


def test_one_process_at_a_time_and_a_killed_one_holds_nothing(tmp_path):
    check_not_reviewed(tmp_path)
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "held\n"
        with pytest.raises(ValueError, match="must not be under review already"):
            Journal(tmp_path, "t")
        with pytest.raises(ValueError, match="must not be under review while its files are replaced"):
            check_not_reviewed(tmp_path)
    finally:
        process.kill()
        process.communicate()
    check_not_reviewed(tmp_path)
    Journal(tmp_path, "t").close()
