"""Hostile data, full disks, kill -9, Ctrl-C: one clear sentence, and nothing lost or half-written."""

import errno
import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cli_case import QUICK, SIIS, read_csv, write_csv
from siis.files import NAMES, NEW, TAKING

pytestmark = pytest.mark.slow

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x9b]")


def one_sentence(done, *said):
    assert done.exit_code == 1
    assert done.stderr.startswith("siis: ")
    assert len(done.stderr.splitlines()) == 1
    assert "Traceback" not in done.stderr
    for text in said:
        assert text in done.stderr


def rows_of(n=60, seed=0):
    """Two groups; every third row is labelled."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 2
    X = rng.standard_normal((n, 3)) + 6 * truth[:, None]
    return X, truth


def hostile_table(path, names, ids):
    X, truth = rows_of(len(ids))
    labels = [names[k] if i % 3 == 0 else "" for i, k in enumerate(truth)]
    write_csv(path, ["id", "label", "a", "b", "c"], zip(ids, labels, *X.T, strict=True))
    return [names[k] for k in truth]


def test_formulas_and_markup_are_only_text(siis, tmp_path):
    names = ("=cmd()", "<script>window.__pwned = 1</script>")
    odd = ['=HYPERLINK("x")', "+1+1", "@SUM(A1)", '"quoted", twice', "line\nbreak", "😀", "-2.5", "a\u2028b"]
    ids = odd + ["</script>"] + [f"id {i}" for i in range(51)]
    truth = hostile_table(tmp_path / "in.csv", names, ids)
    fit = ("fit", tmp_path / "in.csv", "--label", "label", "--id", "id", "--out", tmp_path / "out", *QUICK)
    siis.ok(*fit)
    text = (tmp_path / "out" / "predictions.csv").read_text()
    rows = read_csv(tmp_path / "out" / "predictions.csv")
    assert [row["label"].removeprefix("'") for row in rows] == truth
    assert [row["id"] for row in rows][:4] == ['\'=HYPERLINK("x")', "'+1+1", "'@SUM(A1)", '"quoted", twice']
    assert rows[6]["id"] == "-2.5"  # a number is no formula
    for cell in re.split(r"[,\n]", text):
        assert not cell.startswith(("=", "+", "@")), cell
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<script>window.__pwned" not in page
    write_csv(tmp_path / "fix.csv", ["id", "label"], [("'+1+1", "'=cmd()"), ('=HYPERLINK("x")', "new class")])
    siis.ok(*fit, "--corrections", tmp_path / "fix.csv")
    rows = read_csv(tmp_path / "out" / "predictions.csv")
    assert [row["label"] for row in rows][:2] == ["new class", "'=cmd()"]


def test_control_characters_of_the_data_do_not_reach_the_terminal(siis, tmp_path):
    ids = ["\x1b[31mred\x07", *(f"id {i}" for i in range(59))]
    hostile_table(tmp_path / "in.csv", ("a", "b\x1b[2J\x08"), ids)
    done = siis.ok(
        "fit", tmp_path / "in.csv", "--label", "label", "--id", "id", "--out", tmp_path / "out", *QUICK[:-1]
    )
    assert not CONTROL.search(done.stdout + done.stderr)
    done = siis.ok("explain", ids[0], "--results", tmp_path / "out")
    assert not CONTROL.search(done.stdout)


def test_latin_1_can_be_read(siis, tmp_path):
    rows = "\n".join(f"{'café' if i % 2 else 'thé'},{i % 2 * 5 + i / 100},{i % 2}" for i in range(40))
    (tmp_path / "in.csv").write_bytes(f"label,a,b\n{rows}\n".encode("latin-1"))
    siis.ok("fit", tmp_path / "in.csv", "--label", "label", "--encoding", "latin-1", "--out", tmp_path / "o", *QUICK)
    assert {row["label"] for row in read_csv(tmp_path / "o" / "predictions.csv")} == {"café", "thé"}


def test_huge_cells(siis, tmp_path):
    X, truth = rows_of()
    text = ["x" * 10_000_000 if i == 0 else f"word{k} other" for i, k in enumerate(truth)]
    labels = [f"class {k}" if i % 3 == 0 else "" for i, k in enumerate(truth)]
    write_csv(tmp_path / "in.csv", ["label", "note", "a", "b", "c"], zip(labels, text, *X.T, strict=True))
    siis.ok(
        "fit", tmp_path / "in.csv", "--label", "label", "--features", "a", "b", "c", "--out", tmp_path / "out", *QUICK
    )
    siis.ok("fit", tmp_path / "in.csv", "--label", "label", "--text", "note", "--out", tmp_path / "out", *QUICK)
    assert (tmp_path / "out" / "report.html").stat().st_size < 2_000_000


def test_an_output_that_is_no_folder(siis, table, tmp_path):
    (tmp_path / "file").write_text("mine")
    done = siis("fit", table[0], "--label", "label", "--out", tmp_path / "file")
    one_sentence(done, "must be a folder")
    assert (tmp_path / "file").read_text() == "mine"
    (tmp_path / "out" / "report.html").mkdir(parents=True)
    done = siis("fit", table[0], "--label", "label", "--out", tmp_path / "out", *QUICK)
    one_sentence(done, "must be a file")
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["report.html"]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_full_or_read_only_disk_loses_nothing(siis, table, tmp_path, monkeypatch, code):
    out = tmp_path / "out"
    fit = ["fit", table[0], "--label", "label", "--out", out, *QUICK]
    siis.ok(*fit)
    before = {p.name: p.read_bytes() for p in out.iterdir()}

    def fails(descriptor):
        raise OSError(code, os.strerror(code), str(out / "predictions.csv"))

    monkeypatch.setattr(os, "fsync", fails)
    one_sentence(siis(*fit, "--seed", 5, "--n-components", 5), f"{out} cannot be")
    assert {p.name: p.read_bytes() for p in out.iterdir()} == before


def started(tmp_path, *more):
    """A fit that takes minutes, in its own process, once it is at work."""
    rng = np.random.default_rng(0)
    n = 4000
    np.savez(
        tmp_path / "in.npz", X=rng.standard_normal((n, 40)), y=np.where(np.arange(n) % 2, -1, rng.integers(0, 9, n))
    )
    command = [sys.executable, "-m", "siis", "fit", str(tmp_path / "in.npz"), "--out", str(tmp_path / "out"), *more]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert "in.npz" in process.stderr.readline()  # what was understood is said before the work begins
    time.sleep(3)
    assert process.poll() is None
    return process


def test_interrupted_and_killed_fits_leave_earlier_results(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "predictions.csv").write_text("earlier")
    process = started(tmp_path)
    process.send_signal(signal.SIGINT)
    asked = time.monotonic()
    _, said = process.communicate(timeout=60)
    assert time.monotonic() - asked < 20  # a second on a machine with nothing else to do
    assert process.returncode == 130
    assert said.rstrip().splitlines()[-1].startswith("Interrupted. Files in")
    assert "Traceback" not in said
    process = started(tmp_path)
    process.kill()
    process.communicate(timeout=60)
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["predictions.csv"]
    assert (tmp_path / "out" / "predictions.csv").read_text() == "earlier"


def test_no_control_characters_in_pipes(table, tmp_path):
    environment = {**os.environ, "GITHUB_ACTIONS": "true", "CI": "true", "TERM": "xterm-256color"}
    for command in (
        ["--help"],
        ["fit", "--help"],
        ["fit"],
        ["--version"],
        ["fit", str(table[0]), "--label", "label", "--out", str(tmp_path / "out"), *QUICK[:-1]],
        ["fit", str(table[0]), "--label", "nothing"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "siis", *command], capture_output=True, text=True, env=environment, check=False
        )
        assert not CONTROL.search(done.stdout + done.stderr), command
        assert done.stdout or done.stderr


def test_a_reader_that_goes_away_is_no_error_message(table, tmp_path):
    out = str(tmp_path / "out")
    fit = [sys.executable, "-m", "siis", "fit", str(table[0]), "--label", "label", "--out", out, *QUICK]
    assert subprocess.run(fit, check=False).returncode == 0
    predict = f"'{sys.executable}' -m siis predict '{tmp_path / 'out'}' '{table[0]}' --quiet | true"
    done = subprocess.run(["bash", "-c", predict], capture_output=True, text=True, check=False)
    assert done.stderr == ""


cells = st.one_of(st.text(max_size=6), st.integers(-5, 5).map(str), st.floats().map(str), st.just(""))


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_any_table_gives_answers_or_one_sentence(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("any")
    n, d = data.draw(st.integers(0, 12)), data.draw(st.integers(1, 4))
    header = ["label", *data.draw(st.lists(st.text(max_size=4), min_size=d, max_size=d))]
    labels = data.draw(st.lists(st.sampled_from(["a", "b", "", "=1"]), min_size=n, max_size=n))
    rows = [[label, *data.draw(st.lists(cells, min_size=d, max_size=d))] for label in labels]
    try:
        write_csv(folder / "in.csv", header, rows)
    except UnicodeEncodeError:
        return  # half characters cannot be written
    command = ["fit", str(folder / "in.csv"), "--label", "label", "--out", str(folder / "out"), *QUICK]
    done = SIIS(*command)
    if done.exit_code == 0:
        assert len(read_csv(folder / "out" / "predictions.csv")) <= n
        assert (folder / "out" / "report.html").exists()
    else:
        one_sentence(done)


def test_links_pipes_and_devices_stay_what_they_are(siis, table, tmp_path):
    fit = ("fit", table[0], "--label", "label", *QUICK)
    siis.ok(*fit, "--out", tmp_path / "out")
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    siis.ok("predict", tmp_path / "out", table[0], "--quiet", "--out", tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text().startswith("id,label,probability")
    siis.ok("predict", tmp_path / "out", table[0], "--quiet", "--out", os.devnull)
    assert not os.path.isfile(os.devnull)
    (tmp_path / "mine.txt").write_text("mine")
    (tmp_path / "out" / ".siis-probe").symlink_to(tmp_path / "mine.txt")
    siis("fit", table[0], "--label", "nothing", "--out", tmp_path / "out")
    assert (tmp_path / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize(
    "change",
    [
        {"data": 5},
        {"roles": []},
        {"roles": {"label": "x"}},
        {"corrections": [5]},
        {"parameters": {"x": 1}},
        {"title": None},
    ],
)
def test_damaged_summaries(siis, table, tmp_path, change):
    out = tmp_path / "out"
    siis.ok("fit", table[0], "--label", "label", "--out", out, *QUICK)
    summary = json.loads((out / "summary.json").read_text())
    summary["options"].update(change)
    (out / "summary.json").write_text(json.dumps(summary))
    write_csv(tmp_path / "fix.csv", ["id", "label"], [("1", "0")])
    one_sentence(siis("corrections", tmp_path / "fix.csv", "--results", out))


@pytest.mark.parametrize("command", ["predict", "explain", "corrections", "fit"])
def test_any_command_finishes_what_a_killed_one_has_begun(siis, table, tmp_path, command):
    """The fit was killed when two of its six files had their names."""
    old, new = tmp_path / "old", tmp_path / "new"
    fit = ["fit", table[0], "--label", "label", "--id", "name", *QUICK]
    siis.ok(*fit, "--out", old)
    siis.ok(*fit, "--out", new, "--title", "The newer one")
    wanted = {path.name: path.read_bytes() for path in new.iterdir()}
    names = ["predictions.csv", "label_issues.csv", "model.siis", "report.json", "report.html", "summary.json"]
    (old / TAKING / NEW).mkdir(parents=True)
    (old / TAKING / NAMES).write_text(json.dumps(names))
    for k, name in enumerate(names):
        (new / name).rename(old / name if k < 2 else old / TAKING / NEW / name)
    write_csv(tmp_path / "fix.csv", ["id", "label"], [("no such id", "0")])
    done = {
        "predict": lambda: siis("predict", old / "model.siis", table[0], "--quiet"),
        "explain": lambda: siis("explain", "digit 3", "--results", old),
        "corrections": lambda: siis("corrections", tmp_path / "fix.csv", "--results", old),
        "fit": lambda: siis("fit", tmp_path / "nothing.csv", "--out", old),
    }[command]()
    assert done.exit_code == (1 if command in ("corrections", "fit") else 0)
    assert {path.name: path.read_bytes() for path in old.iterdir()} == wanted


DEEP = 100_000


@pytest.mark.parametrize("depth", [20, 300, DEEP])
def test_a_config_file_of_brackets(siis, table, tmp_path, depth):
    for text in (f"seed = {'[' * depth}{']' * depth}", f"features = {'[' * depth}", f"seed = {'{a=' * depth}"):
        (tmp_path / "fit.toml").write_text(text)
        done = siis("fit", table[0], "--label", "label", "--config", tmp_path / "fit.toml", "--out", tmp_path / "out")
        assert done.exit_code == 2
        assert "fit.toml" in done.stderr
        assert len(done.stderr) < 1000
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("depth", [20, 600, DEEP])
def test_a_summary_of_brackets(siis, table, tmp_path, depth):
    out = tmp_path / "out"
    siis.ok("fit", table[0], "--label", "label", "--out", out, *QUICK)
    summary = json.loads((out / "summary.json").read_text())
    summary["options"]["parameters"]["alpha"] = "@"
    nested = json.dumps(summary).replace('"@"', "[" * depth + "]" * depth)
    write_csv(tmp_path / "fix.csv", ["id", "label"], [("1", "0")])
    for text in (nested, "[" * depth, "[" * depth + "]" * depth):
        (out / "summary.json").write_text(text)
        one_sentence(siis("corrections", tmp_path / "fix.csv", "--results", out), "summary.json")


def test_numbers_beyond_all_bounds(siis, table, tmp_path):
    fit = ("fit", table[0], "--label", "label", "--out", tmp_path / "out")
    for option in ("--n-neighbors", "--max-iter"):
        one_sentence(siis(*fit, option, "9" * 25), "must be")
    assert siis(*fit, "--seed", "9" * 25).exit_code == 2
    assert siis("demo", "--seed", "-1").exit_code == 2
