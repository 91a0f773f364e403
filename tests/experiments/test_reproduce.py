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
from siis.experiments import chain, comparison, moons
from siis.experiments.run_records import FIELDS, Records, read_rows
from siis.experiments.settings import Options

pytestmark = pytest.mark.slow

runner = CliRunner()


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def plain_options(out, **changes):
    settings = {"runs": 1, "noise": (0.0, 0.4), "methods": None, "data": None, "jobs": 1}
    return Options(out=out, track=lambda items, *_: items, **(settings | changes))


def test_chain(tmp_path):
    result = runner.invoke(app, ["reproduce", "chain", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    rows = rows_of(tmp_path / "chain_labels.csv")
    wrong = rows[7]
    assert (wrong["given"], wrong["truth"]) == ("1", "-1")
    assert float(wrong["gtf"]) <= -0.99
    assert float(wrong["laplacian"]) > -0.5
    assert tuple(rows_of(tmp_path / "chain.csv")[0]) == FIELDS
    for name in ("chain.svg", "chain.png", "chain.md", "reproduction.md"):
        assert (tmp_path / name).stat().st_size > 100
    first = (tmp_path / "chain.svg").read_bytes()
    runner.invoke(app, ["reproduce", "chain", "--out", str(tmp_path), "--page", str(tmp_path / "my.md")])
    assert "chain" in (tmp_path / "my.md").read_text()
    assert (tmp_path / "chain.svg").read_bytes() == first


def test_moons_improve_from_b_to_e(tmp_path):
    result = runner.invoke(app, ["reproduce", "moons", "--runs", "1", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    rows = read_rows(tmp_path / "moons.csv")
    mean = {m: np.mean([r["unlabelled_accuracy"] for r in rows if r["method"] == m]) for m in moons.METHODS}
    assert len(rows) == 80
    assert mean["gfhf"] < mean["robust"] < mean["gtf"] < mean["siis"]
    perfect = [r["unlabelled_accuracy"] == 1 for r in rows if r["method"] == "siis"]
    assert np.mean(perfect) > 0.5


def test_coil_in_small(tmp_path, coil):
    arguments = ["reproduce", "--noise", "0", "0.4", "coil", "--runs", "1", "--out", str(tmp_path)]
    result = runner.invoke(app, arguments)
    assert result.exit_code == 0, result.output
    rows = read_rows(tmp_path / "coil.csv")
    assert {r["method"] for r in rows} == set(comparison.METHODS)
    assert all(0 < r["unlabelled_accuracy"] <= 1 for r in rows)
    gfhf = next(r for r in rows if r["method"] == "gfhf" and r["noise"] == 0.4)
    assert gfhf["labelled_accuracy"] == pytest.approx(0.6)
    page = (tmp_path / "reproduction.md").read_text()
    assert re.search(r"At 40% noise SIIS with the paper's parameters (leads|trails)", page)


def test_interrupted_work_goes_on(tmp_path, coil, monkeypatch):
    done = []
    honest = comparison.measure

    def interrupted(shared, method, noise, run):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(run)
        return honest(shared, method, noise, run)

    options = plain_options(tmp_path, runs=4, noise=(0.4,), methods=("gfhf",))
    monkeypatch.setattr(comparison, "measure", interrupted)
    with pytest.raises(KeyboardInterrupt):
        comparison.run("coil", options)
    assert len(read_rows(tmp_path / "coil.csv")) == 2
    with (tmp_path / "coil.csv").open("a") as file:
        file.write("gfhf,0.4")  # a half-written line
    calls = []
    monkeypatch.setattr(comparison, "measure", lambda *call: calls.append(call) or honest(*call))
    comparison.run("coil", options)
    assert len(calls) == 2
    assert len(read_rows(tmp_path / "coil.csv")) == 4


def test_ctrl_c_ends_with_a_sentence(tmp_path, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(chain, "trend_filter", stopped)
    result = runner.invoke(app, ["reproduce", "chain", "--out", str(tmp_path)])
    assert result.exit_code == 130
    assert "continues where it stopped" in result.output


def test_other_settings_drop_old_rows(tmp_path):
    row = {
        "method": "a",
        "noise": 0.2,
        "run": 0,
        "labelled_accuracy": 0.5,
        "unlabelled_accuracy": 0.5,
        "seconds": 1.0,
    }
    Records(tmp_path / "x.csv", {"m": 1}).add(row)
    assert len(Records(tmp_path / "x.csv", {"m": 1}).rows) == 1
    assert len(Records(tmp_path / "x.csv", {"m": 2}).rows) == 0
    assert len(read_rows(tmp_path / "x.csv.old")) == 1  # moved, not lost


def test_other_data_drop_old_rows(tmp_path, coil):
    options = plain_options(tmp_path / "out", noise=(0.4,), methods=("gfhf",))
    comparison.run("coil", options)
    other = tmp_path / "data"
    other.mkdir()
    np.savez(other / "coil20.npz", X=np.random.default_rng(0).random(coil[0].shape), y=coil[1])
    comparison.run("coil", plain_options(tmp_path / "out", noise=(0.4,), methods=("gfhf",), runs=2, data=other))
    rows = read_rows(tmp_path / "out" / "coil.csv")
    assert len(rows) == 2
    assert max(r["unlabelled_accuracy"] for r in rows) < 0.2  # no row of the real images is left


def test_damaged_files_are_named_with_their_line(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(",".join(FIELDS) + "\na,zzz,0,1,1,1\n")
    with pytest.raises(ValueError, match=r"x.csv, line 2: .*Remove the line"):
        read_rows(path)
    path.write_text("metod,noise\n")
    with pytest.raises(ValueError, match="must start with the columns"):
        read_rows(path)


def test_lists_of_values(tmp_path, coil):
    arguments = ["--methods", "gfhf", "svm", "--noise", "0.2", "--noise", "0.4", "0.6", "--runs", "1"]
    result = runner.invoke(app, ["reproduce", "coil", *arguments, "--out", str(tmp_path), "--jobs", "1"])
    assert result.exit_code == 0, result.output
    rows = read_rows(tmp_path / "coil.csv")
    assert {(r["method"], r["noise"]) for r in rows} == {(m, v) for m in ("gfhf", "svm") for v in (0.2, 0.4, 0.6)}


def test_methods_that_an_experiment_does_not_know(tmp_path):
    result = runner.invoke(app, ["reproduce", "moons", "--methods", "svm", "--out", str(tmp_path)])
    assert result.exit_code == 1
    assert "knows the methods gfhf, robust, gtf, siis; found svm" in re.sub(r"\s+", " ", result.output)


def test_missing_data_is_one_sentence(tmp_path):
    result = runner.invoke(app, ["reproduce", "isolet", "--data", str(tmp_path), "--out", str(tmp_path / "o")])
    assert result.exit_code == 1
    assert "holds no isolet.npz" in result.output.replace("\n", " ")
    assert "Traceback" not in result.output


def test_advice_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    monkeypatch.delenv("SIIS_DATA", raising=False)
    result = runner.invoke(app, ["reproduce", "coil", "--runs", "1", "--jobs", "1", "--out", str(tmp_path)])
    assert result.exit_code == 1
    assert "pip install 'siis[data]'" in re.sub(r"\s+", " ", result.output)


def test_matplotlib_is_looked_for_before_the_first_run(tmp_path, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name, *rest: None if name == "matplotlib" else find(name))
    monkeypatch.setattr("siis.experiments.run.find_spec", importlib.util.find_spec, raising=False)
    result = runner.invoke(app, ["reproduce", "moons", "--runs", "1", "--jobs", "1", "--out", str(tmp_path / "o")])
    assert result.exit_code == 1
    assert "pip install 'siis[plot]'" in re.sub(r"\s+", " ", result.output)
    assert not (tmp_path / "o").exists()


def test_help_and_version():
    assert f"siis {siis.__version__}" in runner.invoke(app, ["--version"]).output
    text = runner.invoke(app, ["reproduce", "--help"], env={"COLUMNS": "200"}).output
    assert "siis reproduce all --runs 10" in re.sub(r"\s+", " ", text)
