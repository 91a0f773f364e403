"""Features are kept by content: whole or not at all, for any number of processes."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import numpy as np
import pytest

from encoder_case import image_model, write_pictures
from siis.encode import EncoderChoice, encode_images, load_encoder
from siis.encode.feature_cache import FeatureCache

CHILD = """
import sys, time
import numpy as np
from pathlib import Path
from dataclasses import replace
from siis.encode import EncoderChoice, encode_images, load_encoder, feature_cache
feature_cache.WRITE_INTERVAL = 0.0
encoder = load_encoder(EncoderChoice(sys.argv[1]), "images")
def run(contents):
    time.sleep(float(sys.argv[4]))
    return encoder.run(contents)
paths = sorted(Path(sys.argv[2]).rglob("*.png"))
np.save(sys.argv[3], encode_images(paths, replace(encoder, run=run)))
"""


@pytest.fixture
def case(tmp_path):
    image_model(tmp_path / "net.onnx")
    paths, _ = write_pictures(tmp_path / "p", 40)
    return tmp_path / "net.onnx", sorted(paths)


def counted(path, **options):
    """An encoder, and the names of what it had to compute."""
    encoder = load_encoder(EncoderChoice(str(path), **options), "images")
    asked, run = [], encoder.run
    object.__setattr__(encoder, "run", lambda contents: asked.extend(one.name for one in contents) or run(contents))
    return encoder, asked


def test_nothing_is_computed_twice(case, tmp_path):
    path, paths = case
    encoder, asked = counted(path)
    X = encode_images(paths, encoder)
    assert len(asked) == 40
    again, asked = counted(path)
    assert np.array_equal(encode_images(paths, again), X)
    assert not asked
    moved = tmp_path / "elsewhere.png"
    paths[3].rename(moved)
    assert np.array_equal(encode_images([moved, paths[0]], again), X[[3, 0]])
    assert not asked, "the content counts, not the name"
    paths[5].write_bytes(paths[6].read_bytes())
    assert np.array_equal(encode_images([paths[5]], again)[0], X[6])


def test_equal_contents_are_computed_once(case):
    path, paths = case
    encoder, asked = counted(path)
    X = encode_images([paths[0], paths[1], paths[0]], encoder)
    assert len(asked) == 2
    assert np.array_equal(X[0], X[2])


def test_other_settings_and_weights_are_other_encoders(case):
    path, paths = case
    X = encode_images(paths, str(path))
    other, asked = counted(path, mean=(0.1,))
    assert not np.allclose(encode_images(paths, other), X)
    assert len(asked) == 40
    image_model(path, np.ones((6, 3, 4, 4), dtype=np.float32))
    other, asked = counted(path)
    assert not np.allclose(encode_images(paths, other), X)
    assert len(asked) == 40


def test_damaged_rows_are_computed_again(case, cache):
    path, paths = case
    encoder, asked = counted(path)
    X = encode_images(paths, encoder)
    with sqlite3.connect(cache / f"{encoder.digest}.sqlite") as store:
        for change in ("zeroblob(28)", "x'00'", "'text'", "NULL"):
            store.execute(f"UPDATE features SET row = {change}")
            store.commit()
            asked.clear()
            assert np.array_equal(encode_images(paths, encoder), X)
            assert len(asked) == 40
    store.close()


def test_a_cache_that_cannot_be_used_is_said(case, cache, monkeypatch, tmp_path):
    path, paths = case
    encoder, _ = counted(path)
    X = encode_images(paths, encoder)
    (cache / f"{encoder.digest}.sqlite").write_bytes(b"no database, but long enough to be looked at" * 40)
    assert np.array_equal(encode_images(paths, encoder), X)
    with closing(FeatureCache(encoder.digest)) as cached:
        assert "features are not cached" in cached.problem
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert np.array_equal(encode_images(paths, encoder), X)


def child(path, folder, out, slow):
    command = [sys.executable, "-c", CHILD, str(path), str(folder), str(out), str(slow)]
    return subprocess.Popen(command, env=dict(os.environ))


def test_two_processes_at_once(case, tmp_path):
    path, paths = case
    both = [child(path, tmp_path / "p", tmp_path / f"{k}.npy", 0.05) for k in range(2)]
    assert [one.wait(60) for one in both] == [0, 0]
    again, asked = counted(path)
    X = encode_images(paths, again)
    assert not asked
    for k in range(2):
        assert np.allclose(np.load(tmp_path / f"{k}.npy"), X, rtol=1e-5)


def test_what_a_killed_process_had_written_is_there(case, cache, tmp_path):
    path, paths = case
    one = child(path, tmp_path / "p", tmp_path / "x.npy", 1.0)
    until = time.monotonic() + 60
    while time.monotonic() < until and not _rows(cache):
        time.sleep(0.05)
    one.send_signal(signal.SIGKILL)
    one.wait()
    again, asked = counted(path)
    assert encode_images(paths, again).shape == (40, 6)
    assert 0 < len(asked) < 40


def _rows(cache):
    found = list(cache.glob("*.sqlite"))
    if not found:
        return 0
    store = sqlite3.connect(found[0])
    try:
        return store.execute("SELECT count(*) FROM features").fetchone()[0]
    except sqlite3.Error:
        return 0
    finally:
        store.close()
