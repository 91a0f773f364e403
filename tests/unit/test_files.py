"""A folder's files are all former or all new: kills at any step, failures, several writers, other people's files."""

import errno
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from siis.files import (
    COMMIT,
    NAMES,
    NEW,
    STAGING,
    TAKING,
    UNDOING,
    _machine,
    check_writable,
    settle,
    write_files,
)

FILES = ("predictions.csv", "label_issues.csv", "model.siis", "report.html", "summary.json")


def results(k):
    """Five files that belong together: the last holds the digests of the others."""
    contents = {name: f"{name} of fit {k}\n".encode() * 2000 for name in FILES[:-1]}
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    return {**contents, FILES[-1]: json.dumps({"fit": k, "files": digests}).encode()}


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def pending(folder):
    return [path for path in folder.iterdir() if path.name.startswith((COMMIT, UNDOING))]


def leftovers(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith(".siis")]


def whole(folder):
    """The number of the fit whose files these are; None for a mixture."""
    found = content(folder)
    summary = json.loads(found["summary.json"])
    digests = {name: hashlib.sha256(found[name]).hexdigest() for name in FILES[:-1]}
    return summary["fit"] if digests == summary["files"] else None


STEPS = """
    import os, shutil, signal, sys
    from pathlib import Path
    sys.path.insert(0, sys.argv[2])
    from test_files import results
    from siis.files import write_files

    def killed_at(step):
        left = step
        def counted(real):
            def call(*args, **more):
                nonlocal left
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                left -= 1
                return real(*args, **more)
            return call
        for name in ("replace", "rename", "link", "unlink", "rmdir", "mkdir", "fsync"):
            setattr(os, name, counted(getattr(os, name)))

    for step in range(1000):
        folder = Path(sys.argv[1]) / str(step)
        folder.mkdir()
        for name, content in results(0).items():
            if name != "label_issues.csv":  # one that was not there before
                (folder / name).write_bytes(content)
        (folder / "notes.txt").write_bytes(b"mine")
        child = os.fork()
        if child == 0:
            killed_at(step)
            write_files(folder, results(1))
            os._exit(0)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:
            break
    print(step)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_kill_at_any_step_leaves_all_former_or_all_new(tmp_path):
    """Between any two calls that change the disk; a mixture is seen only beside a decision that is yet to be done."""
    command = [sys.executable, "-c", textwrap.dedent(STEPS), str(tmp_path), os.path.dirname(__file__)]
    n_steps = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert n_steps > 20
    old = {name: text for name, text in results(0).items() if name != "label_issues.csv"}
    seen = set()
    for step in range(n_steps):
        folder = tmp_path / str(step)
        found = content(folder)
        assert found.pop("notes.txt") == b"mine"
        state = "old" if found == old else "new" if found == results(1) else "mixed"
        if state == "mixed":
            assert pending(folder), step
        was_pending = bool(pending(folder))
        settle(folder)
        assert content(folder)["notes.txt"] == b"mine"
        after = {name: text for name, text in content(folder).items() if name != "notes.txt"}
        assert after == (results(1) if state == "new" or was_pending else old), step
        assert leftovers(folder) == []
        seen.add(state)
    assert seen == {"old", "new", "mixed"}


WRITER = """
    import sys
    from pathlib import Path
    sys.path.insert(0, sys.argv[2])
    from test_files import results
    from siis.files import write_files
    print("ready", flush=True)
    for k in range(int(sys.argv[3]), int(sys.argv[4])):
        write_files(Path(sys.argv[1]), results(k))
"""


def writer(folder, first, last):
    command = [sys.executable, "-c", textwrap.dedent(WRITER), folder, os.path.dirname(__file__), first, last]
    return subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True)


def test_forty_kills_at_random_moments(tmp_path):
    rng = random.Random(0)
    write_files(tmp_path, results(0))
    for _ in range(40):
        process = writer(tmp_path, 1, 10**9)
        assert process.stdout.readline() == "ready\n"
        time.sleep(rng.uniform(0, 0.05))
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        assert whole(tmp_path) is not None or pending(tmp_path)
        settle(tmp_path)
        assert whole(tmp_path) is not None
        assert sorted(content(tmp_path)) == sorted(FILES)
        assert leftovers(tmp_path) == []


def test_writers_at_the_same_time_do_not_mix_their_files(tmp_path):
    processes = [writer(tmp_path, 100 * k, 100 * k + 40) for k in range(1, 4)]
    for process in processes:
        process.communicate(timeout=120)
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert whole(tmp_path) % 100 == 39  # the last one of somebody
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize(
    "problem", [KeyboardInterrupt(), PermissionError(errno.EACCES, "no"), OSError(errno.EIO, "x")]
)
@pytest.mark.parametrize("call", ["replace", "rename", "link", "fsync"])
def test_failures_on_the_way_give_the_former_files_back(tmp_path, monkeypatch, call, problem):
    for stop in range(30):
        folder = tmp_path / str(stop)
        folder.mkdir()
        for name in ("predictions.csv", "report.html"):
            (folder / name).write_bytes(b"old")
        (folder / "report.html").chmod(0o444)
        before, real, left = content(folder), getattr(os, call), [stop]

        def fails(*args, real=real, left=left, **more):
            left[0] -= 1
            if left[0] == -1:
                raise problem
            return real(*args, **more)

        with monkeypatch.context() as patch:
            patch.setattr(os, call, fails)
            failed = False
            try:
                write_files(folder, results(1))
            except type(problem):
                failed = True
        settle(folder)
        assert content(folder) == (before if failed else results(1)), stop
        assert leftovers(folder) == []
        if left[0] >= 0:
            return
    raise AssertionError("there are fewer steps than that")


def test_links_of_the_user_and_files_of_others_stay(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    (real / "photos").mkdir(parents=True)
    (real / "photos" / "a.png").write_bytes(b"a")
    link.symlink_to(real)
    write_files(link, results(1))
    assert link.is_symlink()
    assert whole(real) == 1
    assert (real / "photos" / "a.png").read_bytes() == b"a"
    assert leftovers(real) == []


def begun(folder, names, name=COMMIT):
    (folder / name / NEW).mkdir(parents=True)
    for k in names:
        if "/" not in k and k not in (".", ".."):
            (folder / name / NEW / k).write_bytes(b"new")
    (folder / name / NAMES).write_text(json.dumps(names))


def test_what_was_decided_is_finished_by_whoever_comes_next(tmp_path):
    for first in (settle, check_writable, lambda folder: write_files(folder, {"c": b"c"})):
        folder = tmp_path / str(id(first))
        folder.mkdir()
        (folder / "a").write_bytes(b"old")
        begun(folder, ["a", "b"])
        first(folder)
        assert {name: text for name, text in content(folder).items() if name != "c"} == {"a": b"new", "b": b"new"}
        assert leftovers(folder) == []


def test_two_decisions_are_carried_out_in_their_order(tmp_path):
    begun(tmp_path, ["a", "b"], f"{TAKING}17-x")
    begun(tmp_path, ["a"])
    (tmp_path / COMMIT / NEW / "a").write_bytes(b"newer")
    settle(tmp_path)
    assert content(tmp_path) == {"a": b"newer", "b": b"new"}


@pytest.mark.parametrize("names", [["../a"], [".."], [""], "ab", [5], {"a": 1}, ["a\\b"], ["a\0"]])
def test_a_hostile_decision_moves_nothing(tmp_path, names):
    folder = tmp_path / "inner"
    (folder / COMMIT / NEW).mkdir(parents=True)
    (folder / COMMIT / NAMES).write_text(json.dumps(names))
    (folder / COMMIT / "a").write_bytes(b"new")
    for _ in range(2):
        with pytest.raises(ValueError, match="must be a folder that siis has made"):
            settle(folder)
    assert not content(tmp_path)


def test_nested_names_are_no_decision(tmp_path):
    (tmp_path / COMMIT).mkdir()
    (tmp_path / COMMIT / NAMES).write_text("[" * 100_000)
    with pytest.raises(ValueError, match="must be a folder that siis has made"):
        settle(tmp_path)


def test_a_folder_that_may_not_be_written_is_named(tmp_path, monkeypatch):
    begun(tmp_path, ["a"])

    def refuses(*args):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "rename", refuses)
    with pytest.raises(ValueError, match="were about to be replaced when siis was stopped"):
        settle(tmp_path)


def test_nothing_is_written_where_nothing_is_to_be_done(tmp_path):
    write_files(tmp_path, results(1))
    before = tmp_path.stat().st_mtime_ns
    settle(tmp_path)
    settle(tmp_path / "nowhere")
    assert tmp_path.stat().st_mtime_ns == before


def test_work_in_progress_of_others_is_left_alone(tmp_path):
    command = [sys.executable, "-c", "import os; print(os.getpid())"]
    gone = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    kept = [f"{STAGING}{os.getpid()}-{_machine()}-x", f"{STAGING}{gone}-elsewhere-y", f"{STAGING}notes"]
    for name in (*kept, f"{STAGING}{gone}-{_machine()}-y", f"{STAGING}{gone}-elsewhere-old"):
        (tmp_path / name).mkdir()
    os.utime(tmp_path / f"{STAGING}{gone}-elsewhere-old", (0, 0))
    write_files(tmp_path, {"a": b"1"})
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*kept, "a"])
    shutil.rmtree(tmp_path / kept[0])
