"""Features are kept by content: whole or not at all, for any number of processes."""

import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from encoder_case import image_model, write_pictures
from siis.encode import EncoderChoice, encode_images, load_encoder
from siis.encode.encode import encode

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
    computed = []
    run = partial(_counting, encoder.run, computed)
    return replace(encoder, run=run), computed


def _counting(run, computed, contents):
    computed.extend(one.name for one in contents)
    return run(contents)


def test_nothing_is_computed_twice(case, tmp_path):
    path, paths = case
    encoder, computed = counted(path)
    X = encode_images(paths, encoder)
    assert len(computed) == 40
    again, computed = counted(path)
    assert np.array_equal(encode_images(paths, again), X)
    moved = paths[3].rename(tmp_path / "elsewhere.png")
    assert np.array_equal(encode_images([moved, paths[0]], again), X[[3, 0]])
    paths[5].write_bytes(paths[6].read_bytes())
    assert np.array_equal(encode_images([paths[5]], again)[0], X[6])
    assert not computed, "the content counts, not the name"


def test_equal_contents_are_computed_once(case):
    path, paths = case
    encoder, computed = counted(path)
    X = encode_images([paths[0], paths[1], paths[0]], encoder)
    assert len(computed) == 2
    assert np.array_equal(X[0], X[2])


def test_other_settings_and_weights_are_other_encoders(case):
    path, paths = case
    X = encode_images(paths, str(path))
    other, computed = counted(path, mean=(0.1,))
    assert not np.allclose(encode_images(paths, other), X)
    assert len(computed) == 40
    image_model(path, np.ones((6, 3, 4, 4), dtype=np.float32))
    other, computed = counted(path)
    assert not np.allclose(encode_images(paths, other), X)
    assert len(computed) == 40


@pytest.mark.parametrize("change", ["zeroblob(28)", "x'00'", "'text'", "NULL"])
def test_damaged_rows_are_computed_again(case, cache, change):
    path, paths = case
    encoder, computed = counted(path)
    X = encode_images(paths, encoder)
    with closing(sqlite3.connect(cache / f"{encoder.digest}.sqlite")) as store, store:
        store.execute(f"UPDATE features SET row = {change}")
    assert np.array_equal(encode_images(paths, encoder), X)
    assert len(computed) == 80


def test_a_cache_that_cannot_be_used_is_said(case, cache, monkeypatch, tmp_path):
    path, paths = case
    encoder, _ = counted(path)
    X = encode_images(paths, encoder)
    (cache / f"{encoder.digest}.sqlite").write_bytes(b"no database, but long enough to be looked at" * 40)
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "cache", tmp_path / "file"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
        features, (note,) = encode(encoder, paths)
        assert np.array_equal(features, X)
        assert "features are not cached" in note


def child(path, folder, out, slow):
    return subprocess.Popen([sys.executable, "-c", CHILD, *map(str, (path, folder, out, slow))])


def test_two_processes_at_once(case, tmp_path):
    path, paths = case
    both = [child(path, tmp_path / "p", tmp_path / f"{k}.npy", 0.05) for k in range(2)]
    assert [one.wait(60) for one in both] == [0, 0]
    again, computed = counted(path)
    X = encode_images(paths, again)
    assert not computed
    for k in range(2):
        assert np.allclose(np.load(tmp_path / f"{k}.npy"), X, rtol=1e-5)


def test_what_a_killed_process_had_written_is_there(case, cache, tmp_path):
    path, paths = case
    one = child(path, tmp_path / "p", tmp_path / "x.npy", 1.0)
    until = time.monotonic() + 60
    while time.monotonic() < until and not _holds_rows(cache):
        time.sleep(0.05)
    one.kill()
    one.wait()
    again, computed = counted(path)
    assert encode_images(paths, again).shape == (40, 6)
    assert 0 < len(computed) < 40


def _holds_rows(cache):
    for path in cache.glob("*.sqlite"):
        with closing(sqlite3.connect(path)) as store, suppress(sqlite3.Error):
            return store.execute("SELECT count(*) FROM features").fetchone()[0] > 0
    return False
