"""`siis reproduce`, as a user types it."""

import csv
import importlib.util
import re
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import siis
from siis.app.cli.program import app
from siis.reproduction import chain, comparison, moons
from siis.reproduction.options import Options
from siis.reproduction.records import FIELDS, Records, read_rows

pytestmark = pytest.mark.slow


def reproduce(out, *arguments, code=0):
    """Run the command; returns what it prints, on one line."""
    result = CliRunner().invoke(app, ["reproduce", *map(str, arguments), "--out", str(out)])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return re.sub(r"\s+", " ", result.output)


def gfhf_at_40(out, **changes):
    settings = {"runs": 1, "data": None} | changes
    return Options(out=out, noise=(0.4,), methods=("gfhf",), jobs=1, track=lambda items, *_: items, **settings)


def test_chain(tmp_path):
    reproduce(tmp_path, "chain")
    with (tmp_path / "chain_labels.csv").open(newline="") as file:
        wrong = list(csv.DictReader(file))[7]
    assert (wrong["given"], wrong["truth"]) == ("1", "-1")
    assert float(wrong["gtf"]) <= -0.99
    assert float(wrong["laplacian"]) > -0.5
    assert len(read_rows(tmp_path / "chain.csv")) == 2
    for name in ("chain.svg", "chain.png", "chain.md", "reproduction.md"):
        assert (tmp_path / name).stat().st_size > 100
    first = (tmp_path / "chain.svg").read_bytes()
    reproduce(tmp_path, "chain", "--page", tmp_path / "my.md")
    assert "chain" in (tmp_path / "my.md").read_text()
    assert (tmp_path / "chain.svg").read_bytes() == first


def test_moons_improve_from_b_to_e(tmp_path):
    reproduce(tmp_path, "moons", "--runs", 1)
    rows = read_rows(tmp_path / "moons.csv")
    accuracy = {m: [r["unlabelled_accuracy"] for r in rows if r["method"] == m] for m in moons.METHODS}
    assert len(rows) == 80
    assert all(np.diff([np.mean(accuracy[method]) for method in ("gfhf", "robust", "gtf", "siis")]) > 0)
    assert np.mean(np.array(accuracy["siis"]) == 1) > 0.5


def test_coil_in_small(tmp_path, coil):
    reproduce(tmp_path, "--noise", 0, 0.4, "coil", "--runs", 1)
    rows = read_rows(tmp_path / "coil.csv")
    assert {r["method"] for r in rows} == set(comparison.METHODS)
    assert all(0 < r["unlabelled_accuracy"] <= 1 for r in rows)
    gfhf = next(r for r in rows if r["method"] == "gfhf" and r["noise"] == 0.4)
    assert gfhf["labelled_accuracy"] == pytest.approx(0.6)
    page = (tmp_path / "reproduction.md").read_text()
    assert re.search(r"At 40% noise SIIS with the paper's parameters (leads|trails)", page)


def test_interrupted_work_goes_on(tmp_path, coil, monkeypatch):
    calls, measure = [], comparison.measure

    def interrupted(*call):
        if len(calls) == 2:
            raise KeyboardInterrupt
        calls.append(call)
        return measure(*call)

    monkeypatch.setattr(comparison, "measure", interrupted)
    with pytest.raises(KeyboardInterrupt):
        comparison.run("coil", gfhf_at_40(tmp_path, runs=4))
    assert len(read_rows(tmp_path / "coil.csv")) == 2
    with (tmp_path / "coil.csv").open("a") as file:
        file.write("gfhf,0.4")  # a half-written line
    monkeypatch.setattr(comparison, "measure", lambda *call: calls.append(call) or measure(*call))
    comparison.run("coil", gfhf_at_40(tmp_path, runs=4))
    assert len(calls) == 4
    assert len(read_rows(tmp_path / "coil.csv")) == 4


def test_other_settings_drop_old_rows(tmp_path):
    row = dict(zip(FIELDS, ("a", 0.2, 0, 0.5, 0.5, 1.0), strict=True))
    Records(tmp_path / "x.csv", {"m": 1}).add(row)
    assert len(Records(tmp_path / "x.csv", {"m": 1}).rows) == 1
    assert len(Records(tmp_path / "x.csv", {"m": 2}).rows) == 0
    assert len(read_rows(tmp_path / "x.csv.old")) == 1  # moved, not lost


def test_other_data_drop_old_rows(tmp_path, coil):
    comparison.run("coil", gfhf_at_40(tmp_path))
    np.savez(tmp_path / "coil20.npz", X=np.random.default_rng(0).random(coil[0].shape), y=coil[1])
    comparison.run("coil", gfhf_at_40(tmp_path, runs=2, data=tmp_path))
    rows = read_rows(tmp_path / "coil.csv")
    assert len(rows) == 2
    assert max(r["unlabelled_accuracy"] for r in rows) < 0.2  # no row of the real images is left


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (",".join(FIELDS) + "\na,zzz,0,1,1,1\n", r"x.csv, line 2: .*Remove the line"),
        ("metod,noise\n", "must start with the columns"),
    ],
)
def test_damaged_files_are_named_with_their_line(tmp_path, text, message):
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_rows(tmp_path / "x.csv")


def test_lists_of_values(tmp_path, coil):
    lists = ("--methods", "gfhf", "svm", "--noise", 0.2, "--noise", 0.4, 0.6)
    reproduce(tmp_path, "coil", *lists, "--runs", 1, "--jobs", 1)
    rows = read_rows(tmp_path / "coil.csv")
    assert {(r["method"], r["noise"]) for r in rows} == {(m, v) for m in ("gfhf", "svm") for v in (0.2, 0.4, 0.6)}


def test_ctrl_c_ends_with_a_sentence(tmp_path, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(chain, "trend_filter", stopped)
    assert "continues where it stopped" in reproduce(tmp_path, "chain", code=130)


def test_what_is_missing_is_one_sentence(tmp_path, monkeypatch):
    known = "knows the methods gfhf, robust, gtf, siis; found svm"
    assert known in reproduce(tmp_path, "moons", "--methods", "svm", code=1)
    assert "holds no isolet.npz" in reproduce(tmp_path / "o", "isolet", "--data", tmp_path, code=1)
    monkeypatch.setitem(sys.modules, "pooch", None)
    monkeypatch.delenv("SIIS_DATA", raising=False)
    assert "pip install 'siis[data]'" in reproduce(tmp_path, "coil", "--runs", 1, "--jobs", 1, code=1)


def test_matplotlib_is_looked_for_before_the_first_run(tmp_path, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr("siis.reproduction.run.find_spec", lambda name: None if name == "matplotlib" else find(name))
    assert "pip install 'siis[plot]'" in reproduce(tmp_path / "o", "moons", "--runs", 1, "--jobs", 1, code=1)
    assert not (tmp_path / "o").exists()


def test_help_and_version():
    assert f"siis {siis.__version__}" in CliRunner().invoke(app, ["--version"]).output
    text = CliRunner().invoke(app, ["reproduce", "--help"], env={"COLUMNS": "200"}).output
    assert "siis reproduce all --runs 10" in re.sub(r"\s+", " ", text)
