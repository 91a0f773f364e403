"""Fits on real workers: the same answers as in one place, and the same again when workers die on the way."""

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

from siis.app.options import FitOptions
from siis.distributed import ClusterOptions, connected, fit, job, stages
from siis.distributed import job as shards_job
from siis.distributed.row_blocks import find_blocks
from siis.distributed.sharded_engine import ShardedEngine
from siis.distributed.sharded_graph import build_shard
from siis.distributed.work_files import save_object
from siis.distributed.workers import on_shards
from siis.graph import build_neighbor_graph
from siis.labels import one_hot
from siis.program import Program
from siis.program.basis import smooth_basis
from siis.program.solvers import solve_certified
from siis.tables import Roles

pytest.importorskip("distributed", reason="Dask is not installed: nothing is run on a cluster")
pytestmark = pytest.mark.slow
N, C = 3000, 4
SPMD = ("graph", "basis", "evidence", "solve")  # stages in which shards wait for each other
TASKS = ("partition", "neighbours")
FUNCTIONS = {
    "graph": "build_graph",
    "evidence": "gather_evidence",
    "basis": "find_basis",
    "solve": "solve",
    "partition": "partition",
    "neighbours": "find_neighbors",
}
ORDER = ("partition", "neighbours", "graph", "folds", "basis", "evidence", "solve", "calibration")


@pytest.fixture(scope="module")
def client():
    with connected(ClusterOptions(workers=2, memory="2GB")) as found:
        yield found


@pytest.fixture(scope="module")
def truth():
    return np.random.default_rng(0).integers(0, C, N)


@pytest.fixture(scope="module")
def data(tmp_path_factory, truth):
    """Two files of several row groups; a fifth of 400 labels is wrong, and some rows are equal."""
    rng, folder = np.random.default_rng(1), tmp_path_factory.mktemp("data")
    X = (3.2 * np.eye(C, 6)[truth] + rng.standard_normal((N, 6))).astype(np.float32)
    X[2000:2100] = X[:100]
    truth[2000:2100] = truth[:100]
    labels = np.full(N, None, dtype=object)
    given = rng.choice(N, 400, replace=False)
    labels[given] = [f"class {k}" for k in np.where(rng.random(400) < 0.2, rng.integers(0, C, 400), truth[given])]
    for k, part in enumerate((slice(0, 1400), slice(1400, N))):
        columns = {f"x{j}": X[part, j] for j in range(6)}
        table = pa.table(
            {**columns, "name": [f"r{i}" for i in range(N)[part]], "kind": pa.array(labels[part], pa.string())}
        )
        parquet.write_table(table, folder / f"{k}.parquet", row_group_size=500)
    return str(folder / "*.parquet")


@pytest.fixture(scope="module")
def options(data):
    parameters = {"n_neighbors": 10, "random_state": 3}
    return FitOptions(data, Roles(label="kind", id="name"), parameters=parameters, issue_columns="cleanlab")


@pytest.fixture(scope="module")
def first(options, client, tmp_path_factory):
    """A fit without faults: its folder, and what its stages had left before it was finished."""
    out, saved = tmp_path_factory.mktemp("out"), tmp_path_factory.mktemp("saved") / "work"
    patch = pytest.MonkeyPatch()
    finish = job._finish

    def saving(work, *args):
        if not saved.exists():
            shutil.copytree(work, saved)
        return finish(work, *args)

    patch.setattr(job, "_finish", saving)
    patch.setattr(shards_job, "MOST_SAMPLED", 900)
    patch.setattr("siis.distributed.row_blocks.MOST_ROWS", 700)
    said = []
    summary = fit(options, out, client, said.append)
    yield out, saved, summary, said
    patch.undo()


def answers(out):
    return parquet.read_table(out / "predictions").to_pandas().sort_values("row").reset_index(drop=True)


def test_the_same_graph_gives_the_same_answers(client):
    rng = np.random.default_rng(3)
    kinds = rng.integers(0, 3, 1500)
    graph = build_neighbor_graph(2.5 * np.eye(3, 8)[kinds] + rng.standard_normal((1500, 8)), 8).graph
    vertices = np.arange(0, 1500, 15)
    Y, W, bounds = one_hot(kinds[vertices], 3), graph.weights, np.array([0, 700, 1500])
    basis = smooth_basis(graph, 20, method="chebyshev")
    expected = solve_certified(Program(graph, basis, vertices, Y, 10.0, 1.0), 1e-7)

    def work(comm):
        a, b = bounds[comm.rank], bounds[comm.rank + 1]
        shard = build_shard(comm, W[a:b], bounds)
        own = smooth_basis(shard, 20, engine=ShardedEngine(comm, shard.halo))
        here = (vertices >= a) & (vertices < b)
        solution = solve_certified(Program(shard, own, vertices[here] - a, Y[here], 10.0, 1.0), 1e-7)
        return solution.objective, own.synthesize(solution.coefficients)

    found, traffic = on_shards(client, 2, work)
    for objective, _ in found:
        assert objective == pytest.approx(expected.objective, rel=1e-6)
    F = np.concatenate([part for _, part in found])
    assert np.mean(F.argmax(axis=1) == basis.synthesize(expected.coefficients).argmax(axis=1)) >= 0.999
    assert all(sent > 0 for sent, _, _ in traffic)


def test_from_parquet_to_answers(first, truth):
    out, _, summary, said = first
    found = answers(out)
    np.testing.assert_array_equal(found["row"], np.arange(N))
    np.testing.assert_array_equal(found["id"], [f"r{i}" for i in range(N)])
    assert np.mean(found["label"] == [f"class {k}" for k in truth]) > 0.9
    assert found["given"].notna().sum() == summary["cluster"]["labelled"]
    assert (found["label"][:100].to_numpy() == found["label"][2000:2100].to_numpy()).mean() > 0.95  # equal rows
    assert summary["cluster"]["vertices"] == N - 100
    assert summary["cluster"]["status"] == "certified"
    assert 0.9 < summary["cluster"]["neighbor_recall"] <= 1
    assert summary["cluster"]["columns"]["basis"] > summary["cluster"]["vectors"]
    assert 0.05 < summary["cluster"]["noise_rate"] < 0.35
    assert {"report.html", "model.siis", "summary.json", "label_issues.csv"} <= {path.name for path in out.iterdir()}
    assert "is_label_issue" in (out / "label_issues.csv").read_text().splitlines()[0]
    assert not (out / job.WORK).exists()
    assert any(line.startswith("solve: ") for line in said)
    assert json.loads((out / "summary.json").read_text())["cluster"]["rows"] == N


@pytest.mark.parametrize("stage", [*TASKS, *SPMD])
def test_a_worker_that_dies_changes_nothing(stage, first, options, client, tmp_path, monkeypatch):
    """Its own process id is killed in the midst of the stage; all stages before are taken from their checkpoints."""
    out, saved, _, _ = first
    work, once = tmp_path / job.WORK, str(tmp_path / "once")
    shutil.copytree(saved, work)
    shutil.rmtree(work / "predictions")
    for name in ORDER[ORDER.index(stage) :]:
        (work / f"{name}.json").unlink()
    real, is_group = getattr(stages, FUNCTIONS[stage]), stage in SPMD

    def dying(*args):
        if (args[0].rank == 1 if is_group else args[1] == 1) and not Path(once).exists():
            Path(once).touch()
            threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGKILL)).start()
            threading.Event().wait(0.03 if not is_group else 0)
        return real(*args)

    monkeypatch.setattr(stages, FUNCTIONS[stage], dying)
    said = []
    fit(options, tmp_path, client, said.append)
    assert Path(once).exists()
    assert "sample: done before" in said
    assert not is_group or any(line.startswith("a worker was lost") for line in said)
    assert answers(tmp_path).equals(answers(out))


def test_little_memory(first, options, client, tmp_path):
    """Fewer vectors, and single precision throughout: nearly the same answers."""
    out, saved, _, _ = first
    work = tmp_path / job.WORK
    shutil.copytree(saved, work)
    shutil.rmtree(work / "predictions")
    for name in ORDER[ORDER.index("basis") :]:
        (work / f"{name}.json").unlink()
    settings = stages.load_settings(str(work))
    save_object(work / "settings.pickle", replace(settings, n_components=8))
    assert replace(settings, n_components=8).low_memory
    summary = fit(options, tmp_path, client)
    assert summary["cluster"]["vectors"] == 8
    assert np.mean(answers(tmp_path)["label"] == answers(out)["label"]) > 0.97


def test_other_options_begin_anew(first, options, tmp_path, monkeypatch):
    _, saved, _, _ = first
    work = tmp_path / job.WORK
    shutil.copytree(saved, work)
    other = FitOptions(options.data, options.roles, parameters={"n_neighbors": 5})
    job.begin(other, find_blocks(options.data), work)
    assert {path.name for path in work.iterdir()} == {"mark"}


def test_clusters_that_do_not_answer():
    with (
        pytest.raises(ValueError, match="must be the address of a scheduler that answers"),
        connected(ClusterOptions("tcp://127.0.0.1:9")),
    ):
        pass
    with pytest.raises(ValueError, match="--memory must be a size"), connected(ClusterOptions(memory="much")):
        pass


def test_the_command(data, siis, tmp_path, monkeypatch):
    monkeypatch.setattr(shards_job, "MOST_SAMPLED", 900)
    out = tmp_path / "out"
    cluster = ("--cluster", "local", "--workers", 1, "--memory", "2GB")
    done = siis("fit", data, "--label", "kind", "--out", out, "--n-neighbors", 10, *cluster, "--json")
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)["cluster"]
    assert (told["rows"], told["shards"]) == (N, 1)
    assert "solve: " in done.stderr
    assert len(answers(out)) == N
    done = siis("fit", data, "--label", "kind", "--out", out, "--workers", 1)
    assert (done.exit_code, "go with --cluster local" in done.stderr) == (1, True)
    done = siis("fit", data, "--label", "kind", "--out", out, "--cluster", "tcp://x:1", "--memory", "1GB")
    assert (done.exit_code, "are for --cluster local" in done.stderr) == (1, True)


def wait_for(port):
    """A busy computer takes its time to start a scheduler."""
    for _ in range(600):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.1)


def test_a_scheduler_that_dies(first, options, client, tmp_path, monkeypatch):
    """One sentence; the same command then goes on, on another cluster, and ends with the same answers."""
    out, saved, _, _ = first
    work = tmp_path / job.WORK
    shutil.copytree(saved, work)
    shutil.rmtree(work / "predictions")
    for name in ORDER[ORDER.index("basis") :]:
        (work / f"{name}.json").unlink()
    port, real = free_port(), stages.find_basis
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", str(port), "--no-dashboard"]
    scheduler = subprocess.Popen([*command, "--host", "127.0.0.1"], stderr=subprocess.DEVNULL)
    address, process = f"tcp://127.0.0.1:{port}", scheduler.pid
    command = [
        sys.executable,
        "-m",
        "distributed.cli.dask_worker",
        address,
        "--no-dashboard",
    ]
    worker = subprocess.Popen(
        [*command, "--nthreads", "1", "--no-nanny", "--death-timeout", "60"], stderr=subprocess.DEVNULL
    )

    def dying(*args):
        os.kill(process, signal.SIGKILL)
        return real(*args)

    try:
        wait_for(port)
        with connected(ClusterOptions(address)) as other, monkeypatch.context() as patch:
            patch.setattr(stages, "find_basis", dying)
            patch.setattr("siis.distributed.workers.WAIT_FOR_WORKERS", 10.0)
            with pytest.raises(ValueError, match="Run the same command again"):
                fit(options, tmp_path, other)
    finally:
        for one in (scheduler, worker):
            one.kill()
            one.wait()
    said = []
    fit(options, tmp_path, client, said.append)
    assert "folds: done before" in said
    assert answers(tmp_path).equals(answers(out))


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]
