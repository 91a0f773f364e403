"""The main job from Python: what the commands write, without them."""

from pathlib import Path

import pytest

from cli_case import QUICK, write_csv
from siis.decisions import JOURNAL
from siis.app import FitOptions, run_job

pytestmark = pytest.mark.slow
ROLES = {
    **{"label": "label", "id": "name", "features": None, "text": None, "text_only": False, "annotators": []},
    **{"unlabelled": [], "merge_classes": False, "embeddings": None, "graph": None, "labels_file": None},
    **{"image": None, "image_folder": None},
    "encoding": "utf-8",
    "sheet": None,
    "header_row": None,
    "encoder": None,
}
PARAMETERS = {
    **{"n_neighbors": "auto", "n_components": 20, "alpha": "auto", "beta": "auto", "bandwidth": "median"},
    **{"metric": "auto", "connectivity": "auto", "laplacian": "auto", "neighbor_search": "auto", "method": "paper"},
    **{"members": "auto", "solver": "auto", "tol": 1e-4, "max_iter": 1000, "engine": "auto", "device": "auto"},
    "random_state": 0,
}


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != JOURNAL}


@pytest.fixture
def asked(table, tmp_path):
    path, ids, _, truth = table
    write_csv(tmp_path / "first.csv", ["id", "label"], [(ids[0], truth[0]), (ids[1], truth[1])])
    write_csv(tmp_path / "second.csv", ["id", "label"], [(ids[1], "3"), (ids[2], truth[2])])
    corrections = (str(tmp_path / "first.csv"), str(tmp_path / "second.csv"))
    return FitOptions(str(path), ROLES, corrections, "Digits", PARAMETERS, 7)


def test_the_job_writes_what_the_command_does(asked, siis, tmp_path, monkeypatch):
    for folder in ("called", "typed"):
        (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path / "called")
    outcome, contents = run_job(asked, Path("out"))
    monkeypatch.chdir(tmp_path / "typed")
    options = ("--label", "label", "--id", "name", "--title", "Digits", "--queries", 7)
    done = siis("fit", asked.data, "--out", "out", *options, "--corrections", *asked.corrections, *QUICK)
    assert done.exit_code == 0, done.stderr
    assert files(tmp_path / "called" / "out") == files(tmp_path / "typed" / "out") == contents
    assert outcome.given.verified.sum() == 3
    assert outcome.given.labels[1] == "3", "the later file goes before"


def test_the_order_of_the_steps_and_of_what_is_said(asked, tmp_path):
    lines = []

    def step(name, work):
        lines.append(name)
        if name == "write":
            assert files(tmp_path / "out") == {}
        return work()

    _, contents = run_job(asked, tmp_path / "out", log=lines.append, step=step)
    assert lines[0] == "read"
    assert lines[1] == f"{asked.data}:"
    assert lines[-2:] == ["fit", "write"]
    assert "  3 checked labels: verified" in lines[2:-2]
    assert files(tmp_path / "out") == contents


def test_earlier_corrections_stay_and_the_newest_answer_counts(asked, table, tmp_path):
    ids = table[1]
    earlier = {ids[1]: "2", ids[5]: "2"}
    outcome, _ = run_job(asked, tmp_path / "out", earlier=earlier)
    assert outcome.given.verified.nonzero()[0].tolist() == [0, 1, 2, 5]
    assert outcome.given.labels[[1, 5]].tolist() == ["3", "2"]


def test_a_step_that_fails_leaves_the_folder_alone(asked, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "report.html").write_bytes(b"former")

    def step(name, work):
        if name == "write":
            raise OSError("no")
        return work()

    with pytest.raises(OSError, match="no"):
        run_job(asked, tmp_path / "out", step=step)
    assert files(tmp_path / "out") == {"report.html": b"former"}
