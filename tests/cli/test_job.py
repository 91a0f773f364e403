"""The main job from Python: what the commands write, without them."""

from pathlib import Path

import pytest

from cli_case import QUICK, write_csv
from siis.app.options import FitOptions
from siis.app.run import Job, run_job
from siis.decisions import JOURNAL
from siis.tables import Roles

pytestmark = pytest.mark.slow
PARAMETERS = {
    **{"n_neighbors": "auto", "n_components": 20, "alpha": "auto", "beta": "auto", "bandwidth": "median"},
    **{"metric": "auto", "connectivity": "auto", "laplacian": "auto", "neighbor_search": "auto", "method": "paper"},
    **{"members": "auto", "solver": "auto", "tol": 1e-4, "max_iter": 1000, "engine": "auto", "device": "auto"},
    "random_state": 0,
}


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != JOURNAL}


@pytest.fixture
def options(table, tmp_path):
    path, ids, _, truth = table
    write_csv(tmp_path / "first.csv", ["id", "label"], [(ids[0], truth[0]), (ids[1], truth[1])])
    write_csv(tmp_path / "second.csv", ["id", "label"], [(ids[1], "3"), (ids[2], truth[2])])
    corrections = (str(tmp_path / "first.csv"), str(tmp_path / "second.csv"))
    return FitOptions(str(path), Roles(label="label", id="name"), corrections, "Digits", PARAMETERS, 7)


def test_the_job_writes_what_the_command_does(options, siis, tmp_path, monkeypatch):
    for folder in ("called", "typed"):
        (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path / "called")
    outcome = run_job(options, Path("out"))
    monkeypatch.chdir(tmp_path / "typed")
    names = ("--label", "label", "--id", "name", "--title", "Digits", "--queries", 7)
    siis.ok("fit", options.data, "--out", "out", *names, "--corrections", *options.corrections, *QUICK)
    assert files(tmp_path / "called" / "out") == files(tmp_path / "typed" / "out")
    assert outcome.given.verified.sum() == 3
    assert outcome.given.labels[1] == "3", "the later file takes precedence"


def test_nothing_is_written_before_the_last_step(options, table, tmp_path):
    """Earlier corrections are kept; the newest label counts."""
    ids = table[1]
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "report.html").write_bytes(b"former")
    with Job(options, tmp_path / "out", checked={ids[1]: "2", ids[5]: "2"}) as job:
        lines = job.read()
        outcome = job.fit()
        assert files(tmp_path / "out") == {"report.html": b"former"}
        job.write()
    assert lines[0] == f"{options.data}:"
    assert "  4 checked labels: verified" in lines
    assert files(tmp_path / "out") == job.contents
    assert outcome.given.verified.nonzero()[0].tolist() == [0, 1, 2, 5]
    assert outcome.given.labels[[1, 5]].tolist() == ["3", "2"]
