"""Fits of files on real workers: the same answers as in one place, and the same again when workers die on the way."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from siis.distributed import (
    ClusterOptions,
    connected,
    file_fit,
    fit,
    neighbor_stages,
    program_stages,
    row_blocks,
    workers,
)
from siis.distributed import job as job_module
from siis.distributed.row_blocks import find_blocks
from siis.distributed.settings import Settings
from siis.distributed.work_files import save_object
from siis.workflow import FitOptions

pytest.importorskip("distributed", reason="Dask is not installed: nothing is run on a cluster")
pytestmark = pytest.mark.slow
N, C = 3000, 4
STAGES = {  # in their order, with what workers run; the first two as independent tasks
    "partition": (neighbor_stages, "partition"),
    "neighbours": (neighbor_stages, "find_neighbors"),
    "graph": (neighbor_stages, "build_graph"),
    "basis": (program_stages, "find_basis"),
    "evidence": (program_stages, "gather_evidence"),
    "solve": (program_stages, "solve"),
    "calibration": None,
}


@pytest.fixture(scope="module")
def truth():
    return np.random.default_rng(0).integers(0, C, N)


@pytest.fixture(scope="module")
def options(truth, tmp_path_factory):
    """Two files of several row groups; a fifth of 400 labels is wrong, and some rows are equal."""
    rng, folder = np.random.default_rng(1), tmp_path_factory.mktemp("data")
    X = (3.2 * np.eye(C, 6)[truth] + rng.standard_normal((N, 6))).astype(np.float32)
    X[2000:2100], truth[2000:2100] = X[:100], truth[:100]
    labels = np.full(N, None, dtype=object)
    given = rng.choice(N, 400, replace=False)
    labels[given] = [f"class {k}" for k in np.where(rng.random(400) < 0.2, rng.integers(0, C, 400), truth[given])]
    columns = {f"x{j}": X[:, j] for j in range(6)}
    table = pa.table({**columns, "name": [f"r{i}" for i in range(N)], "kind": pa.array(labels, pa.string())})
    for k, part in enumerate((table[:1400], table[1400:])):
        parquet.write_table(part, folder / f"{k}.parquet", row_group_size=500)
    parameters = {"n_neighbors": 10, "random_state": 3}
    roles = {"label": "kind", "id": "name"}
    return FitOptions(str(folder / "*.parquet"), roles, parameters=parameters, issue_columns="cleanlab")


@pytest.fixture(scope="module", autouse=True)
def small():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job_module, "MOST_SAMPLED", 900)
        patch.setattr(row_blocks, "MOST_ROWS", 700)
        yield


@pytest.fixture(scope="module")
def first(options, client, tmp_path_factory):
    """A fit without faults: its folder, and what its stages had left before it was finished."""
    out, saved = tmp_path_factory.mktemp("out"), tmp_path_factory.mktemp("saved") / "work"
    finish, lines = file_fit._finish, []

    def saving(work, *args):
        shutil.copytree(work, saved, ignore=shutil.ignore_patterns("predictions"))
        return finish(work, *args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_fit, "_finish", saving)
        summary = fit(options, out, client, lines.append)
    return out, saved, summary, lines


def resumed(first, out, stage):
    """The work of the first fit up to a stage, in another folder of results."""
    shutil.copytree(first[1], out / file_fit.WORK)
    for name in list(STAGES)[list(STAGES).index(stage) :]:
        (out / file_fit.WORK / f"{name}.json").unlink()


def answers(out):
    return parquet.read_table(out / "predictions").to_pandas().sort_values("row").reset_index(drop=True)


def test_from_parquet_to_answers(first, truth):
    out, _, summary, lines = first
    found, figures = answers(out), summary["cluster"]
    np.testing.assert_array_equal(found["row"], np.arange(N))
    np.testing.assert_array_equal(found["id"], [f"r{i}" for i in range(N)])
    assert np.mean(found["label"] == [f"class {k}" for k in truth]) > 0.9
    assert found["given"].notna().sum() == figures["labelled"]
    assert (found["label"][:100].to_numpy() == found["label"][2000:2100].to_numpy()).mean() > 0.95  # equal rows
    assert (figures["vertices"], figures["status"]) == (N - 100, "certified")
    assert 0.9 < figures["neighbor_recall"] <= 1
    assert figures["columns"]["basis"] > figures["vectors"]
    assert 0.05 < figures["noise_rate"] < 0.35
    assert {"report.html", "model.siis", "summary.json", "label_issues.csv"} <= {path.name for path in out.iterdir()}
    assert "is_label_issue" in (out / "label_issues.csv").read_text().splitlines()[0]
    assert not (out / file_fit.WORK).exists()
    assert any(line.startswith("solve: ") for line in lines)
    assert json.loads((out / "summary.json").read_text())["cluster"]["rows"] == N


@pytest.mark.parametrize("stage", list(STAGES)[:-1])
def test_a_worker_that_dies_changes_nothing(stage, first, options, client, tmp_path, monkeypatch):
    """Its own process id is killed in the midst of the stage; all stages before are taken from their checkpoints."""
    resumed(first, tmp_path, stage)
    once, is_task = str(tmp_path / "once"), stage in ("partition", "neighbours")
    real = getattr(*STAGES[stage])

    def dying(*args):
        if (args[1] if is_task else args[0].rank) == 1 and not Path(once).exists():
            Path(once).touch()
            threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGKILL)).start()
            threading.Event().wait(0.03 if is_task else 0)
        return real(*args)

    monkeypatch.setattr(*STAGES[stage], dying)
    lines = []
    fit(options, tmp_path, client, lines.append)
    assert Path(once).exists()
    assert "sample: done before" in lines
    assert is_task or any(line.startswith("a worker was lost") for line in lines)
    assert answers(tmp_path).equals(answers(first[0]))


def test_little_memory(first, options, client, tmp_path):
    """Fewer vectors, and single precision throughout: nearly the same answers."""
    resumed(first, tmp_path, "basis")
    settings = replace(Settings.load(tmp_path / file_fit.WORK), n_components=8)
    save_object(settings.folder / "settings.pickle", settings)
    assert settings.low_memory
    assert fit(options, tmp_path, client)["cluster"]["vectors"] == 8
    assert np.mean(answers(tmp_path)["label"] == answers(first[0])["label"]) > 0.97


def test_other_options_begin_anew(first, options, tmp_path):
    work = tmp_path / file_fit.WORK
    shutil.copytree(first[1], work)
    other = FitOptions(options.data, options.roles, parameters={"n_neighbors": 5})
    file_fit.begin(other, find_blocks(options.data), work)
    assert {path.name for path in work.iterdir()} == {"mark"}


def test_every_class_is_in_the_sample(monkeypatch):
    monkeypatch.setattr(job_module, "MOST_SAMPLED_LABELS", 50)
    codes = np.random.default_rng(0).permutation(np.repeat(np.arange(45), 40))
    taken = job_module.sampled_labels(codes, np.random.default_rng(1))
    assert (taken.size, np.unique(codes[taken]).size) == (50, 45)


@pytest.mark.parametrize(
    ("cluster", "message"),
    [
        (ClusterOptions("tcp://127.0.0.1:9"), "must be the address of a scheduler that answers"),
        (ClusterOptions(memory="much"), "--memory must be a size"),
    ],
)
def test_clusters_that_do_not_answer(cluster, message):
    with pytest.raises(ValueError, match=message), connected(cluster):
        pass


def test_the_command(options, siis, tmp_path):
    out = tmp_path / "out"
    command = ("fit", options.data, "--label", "kind", "--out", out)
    local = ("--cluster", "local", "--workers", 1, "--memory", "2GB")
    done = siis(*command, "--n-neighbors", 10, *local, "--json")
    assert done.exit_code == 0, done.stderr
    figures = json.loads(done.stdout)["cluster"]
    assert (figures["rows"], figures["shards"]) == (N, 1)
    assert "solve: " in done.stderr
    assert len(answers(out)) == N
    done = siis(*command, "--workers", 1)
    assert (done.exit_code, "go with --cluster local" in done.stderr) == (1, True)
    done = siis(*command, "--cluster", "tcp://x:1", "--memory", "1GB")
    assert (done.exit_code, "are for --cluster local" in done.stderr) == (1, True)


def test_a_scheduler_that_dies(first, options, client, tmp_path, monkeypatch):
    """One sentence; the same command then goes on, on another cluster, and ends with the same answers."""
    resumed(first, tmp_path, "basis")
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    address, real = f"tcp://127.0.0.1:{port}", program_stages.find_basis

    def start(what, *more):
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", "--no-dashboard", *more]
        return subprocess.Popen(command, stderr=subprocess.DEVNULL)

    scheduler = start("scheduler", "--host", "127.0.0.1", "--port", str(port))
    worker = start("worker", address, "--nthreads", "1", "--no-nanny", "--death-timeout", "60")
    process = scheduler.pid

    def dying(*args):
        os.kill(process, signal.SIGKILL)
        return real(*args)

    try:
        wait_for(port)
        with connected(ClusterOptions(address)) as other, monkeypatch.context() as patch:
            patch.setattr(program_stages, "find_basis", dying)
            patch.setattr(workers, "WAIT_FOR_WORKERS", 10.0)
            with pytest.raises(ValueError, match="Run the same command again"):
                fit(options, tmp_path, other)
    finally:
        for one in (scheduler, worker):
            one.kill()
            one.wait()
    lines = []
    fit(options, tmp_path, client, lines.append)
    assert "graph: done before" in lines
    assert answers(tmp_path).equals(answers(first[0]))


def wait_for(port):
    """A busy computer takes its time to start a scheduler."""
    for _ in range(600):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.1)
