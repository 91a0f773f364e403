"""Encoders on the command line: photographs and sentences, from the fit to answers for new files."""

import json
import shutil

import numpy as np
import pytest

from cli_case import QUICK, read_csv, write_csv
from encoder_case import image_model, text_model, tokenizer, write_pictures

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def photos(tmp_path):
    """60 pictures of two kinds; a third has a label."""
    paths, _ = write_pictures(tmp_path / "photos", 60)
    rows = [(path.relative_to(tmp_path / "photos").as_posix(), path.parent.name) for path in paths[:20]]
    write_csv(tmp_path / "photos" / "labels.csv", ["file", "label"], rows)
    return tmp_path / "photos"


@pytest.fixture
def reviews(tmp_path):
    rng = np.random.default_rng(0)
    words = (["cat", "dog", "tail"], ["bond", "stock", "bank"])
    rows = [
        (f"r{i}", " ".join(rng.choice(words[i % 2], 8)), i % 3, ("pet", "money")[i % 2] if i < 20 else "")
        for i in range(60)
    ]
    write_csv(tmp_path / "reviews.csv", ["id", "said", "stars", "label"], rows)
    return tmp_path / "reviews.csv"


def sentence(done, *parts):
    assert done.exit_code == 1
    assert done.stderr.startswith("siis: ")
    assert len(done.stderr.splitlines()) == 1
    for part in parts:
        assert part in done.stderr


def test_photographs_from_fit_to_prediction(siis, photos, tmp_path):
    image_model(tmp_path / "net.onnx")
    out = tmp_path / "out"
    done = siis.ok("fit", photos, "--encoder", tmp_path / "net.onnx", "--out", out, *QUICK[:-1])
    assert "60 images, 6 features of net.onnx, 20 labelled, 2 classes" in done.stderr
    assert "encoder net.onnx: the middle of each made 16 x 16 pixels, scaled as ImageNet's are" in done.stderr
    assert "encode: " in done.stderr, "progress"
    answers = {row["id"]: row["label"] for row in read_csv(out / "predictions.csv")}
    assert np.mean([name[0] == label for name, label in answers.items()]) == 1
    done = siis.ok("predict", out, photos, "--quiet")
    assert done.stdout.splitlines()[1].startswith("a/00000.png,a,")
    (tmp_path / "net.onnx").rename(tmp_path / "moved.onnx")
    sentence(siis("predict", out, photos), "fitted with the encoder net.onnx", "there is no file", "--encoder")
    assert siis("predict", out, photos, "--encoder", tmp_path / "moved.onnx", "--quiet").stdout == done.stdout
    image_model(tmp_path / "net.onnx", np.ones((6, 3, 4, 4), dtype=np.float32))
    sentence(siis("predict", out, photos), "must be the one that the model was fitted with, net.onnx")
    assert not list(out.glob(".siis*"))


def test_corrections_use_the_encoder_again(siis, photos, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    image_model(tmp_path / "net.onnx")
    siis.ok("fit", "photos", "--encoder", "net.onnx", "--out", "out", *QUICK)
    options = json.loads((tmp_path / "out" / "summary.json").read_text())["options"]["roles"]["encoder"]
    assert options == {"source": "net.onnx", "size": None, "mean": None, "std": None, "tokenizer": None}
    write_csv(tmp_path / "fix.csv", ["id", "label"], [("b/00021.png", "b")])
    siis.ok("corrections", "fix.csv", "--results", "out", "--quiet")


def test_size_and_scaling_are_options(siis, photos, tmp_path):
    image_model(tmp_path / "net.onnx", shape=("n", 3, "h", "w"))
    fit = ("fit", photos, "--encoder", tmp_path / "net.onnx", "--out", tmp_path / "out", *QUICK[:-1])
    sentence(siis(*fit), "--encoder-size 224")
    size = ("--encoder-size", 8, "--encoder-mean", 0.5, 0.4, 0.3, "--encoder-std", 0.25)
    done = siis.ok(*fit, *size)
    assert "8 x 8 pixels, less 0.5 0.4 0.3, over 0.25" in done.stderr
    done = siis.ok("predict", tmp_path / "out", photos, "--quiet")
    sentence(siis(*fit, "--encoder-mean", 1, 2), "must be one number or three; found 1.0 2.0")


@pytest.mark.parametrize("named", [(), ("--text", "said"), ("--text", "said", "--text-only")])
def test_sentences_from_fit_to_prediction(siis, reviews, tmp_path, named):
    text_model(tmp_path / "net.onnx")
    tokenizer(tmp_path, name="words.json")
    out, words = tmp_path / "out", tmp_path / "words.json"
    fit = ("fit", reviews, "--encoder", tmp_path / "net.onnx", "--id", "id", "--out", out, *QUICK[:-1])
    sentence(siis(*fit, *named), "needs its tokenizer")
    done = siis.ok(*fit, *named, "--tokenizer", words)
    assert "texts as 5 features of net.onnx" in done.stderr
    assert "encoder net.onnx: 256 tokens of each at most" in done.stderr
    assert ("texts: column said, the only one of sentences" in done.stderr) == (not named)
    assert json.loads((out / "summary.json").read_text())["features"] == (5 if "--text-only" in named else 6)
    answers = [row["label"] for row in read_csv(out / "predictions.csv")]
    assert np.mean(np.array(answers) == np.array(["pet", "money"] * 30)) > 0.9
    write_csv(tmp_path / "new.csv", ["said", "stars"], [("cat tail", 1), ("bond bank", 1)])
    done = siis("predict", out, tmp_path / "new.csv", "--quiet")
    assert [line.split(",")[1] for line in done.stdout.splitlines()[1:]] == ["pet", "money"]
    shutil.move(words, tmp_path / "moved.json")
    sentence(siis("predict", out, tmp_path / "new.csv"), "needs its tokenizer")
    moved = ("--encoder", tmp_path / "net.onnx", "--tokenizer", tmp_path / "moved.json", "--quiet")
    assert siis("predict", out, tmp_path / "new.csv", *moved).stdout == done.stdout
    tokenizer(tmp_path, special=False, name="moved.json")
    sentence(siis("predict", out, tmp_path / "new.csv", *moved), "or its tokenizer is another one")


def test_what_does_not_go_together(siis, photos, reviews, tmp_path):
    image_model(tmp_path / "net.onnx")
    np.save(tmp_path / "e.npy", np.ones((60, 2)))
    np.savez(tmp_path / "x.npz", X=np.ones((4, 2)), y=np.arange(4))
    net, out = ("--encoder", tmp_path / "net.onnx"), ("--out", tmp_path / "out", "--quiet")
    sentence(siis("fit", photos, *net, "--embeddings", tmp_path / "e.npy", *out), "--encoder and --embeddings")
    sentence(siis("fit", tmp_path / "x.npz", *net, *out), "--encoder does not go with an NPZ file")
    sentence(siis("fit", reviews, *net, *out), "a network for texts must take")
    for option, value in {"size": 3, "mean": 0.5, "std": 0.5}.items():
        sentence(siis("fit", photos, f"--encoder-{option}", value, *out), f"--encoder-{option} goes with an encoder")
    sentence(siis("fit", photos, "--tokenizer", "t.json", *out), "--tokenizer goes with an encoder")
    write_csv(tmp_path / "numbers.csv", ["a", "label"], [(i, "xy"[i % 2]) for i in range(20)])
    sentence(siis("fit", tmp_path / "numbers.csv", *net, *out), "found no column of sentences", "--text")
    siis.ok("fit", photos, "--out", tmp_path / "out", *QUICK)
    sentence(siis("predict", tmp_path / "out", photos, *net), "was fitted without an encoder")


def test_without_an_encoder_one_line_says_what_would_do_better(siis, tmp_path):
    write_pictures(tmp_path / "large", 24, size=100)
    done = siis.ok("fit", tmp_path / "large", "--out", tmp_path / "out", *QUICK[:-1])
    assert done.stderr.count("--encoder FILE.onnx") == 1
    write_pictures(tmp_path / "small", 24, size=32)
    done = siis.ok("fit", tmp_path / "small", "--out", tmp_path / "small out", *QUICK[:-1])
    assert "--encoder" not in done.stderr
    for n, said in ((3, 0), (30, 1)):
        rows = [(" ".join(f"word{(i * k) % 7}" for k in range(n)), "xy"[i % 2]) for i in range(40)]
        write_csv(tmp_path / "t.csv", ["t", "label"], rows)
        done = siis.ok("fit", tmp_path / "t.csv", "--text", "t", "--out", tmp_path / f"out {n}", *QUICK[:-1])
        assert done.stderr.count("--encoder FILE.onnx") == said


def test_a_missing_package_is_named(siis, photos, tmp_path, monkeypatch):
    image_model(tmp_path / "net.onnx")
    monkeypatch.setattr("siis.encode.onnx_file.find_spec", lambda name: None)
    done = siis("fit", photos, "--encoder", tmp_path / "net.onnx", "--out", tmp_path / "out")
    sentence(done, "needs onnx and onnxruntime", "pip install 'siis[encode]'")
    done = siis("fit", photos, "--encoder", "resnet18", "--out", tmp_path / "out")
    sentence(done, "needs timm", "pip install 'timm'")
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    done = siis.ok("fit", photos, "--encoder", tmp_path / "net.onnx", "--out", tmp_path / "out", *QUICK)
    monkeypatch.setattr("siis.encode.onnx_file.find_spec", lambda name: None)
    sentence(siis("predict", tmp_path / "out", photos), "siis: this encoder needs onnx and onnxruntime")


def test_a_broken_photograph_is_left_out(siis, photos, tmp_path):
    image_model(tmp_path / "net.onnx")
    out = tmp_path / "out"
    broken = ["a/00004.png", "b/00031.png", "b/00059.png"]
    for name in broken:
        (photos / name).write_bytes(b"no picture")
    (photos / "a/00002.png").write_bytes((photos / "a/00002.png").read_bytes()[:200])
    done = siis.ok("fit", photos, "--encoder", tmp_path / "net.onnx", "--out", out, *QUICK[:-1])
    assert "56 images, 6 features of net.onnx, 18 labelled, 2 classes" in done.stderr
    assert "4 images left out, which cannot be read: 'a/00002.png', 'a/00004.png', 'b/00031.png'" in done.stderr
    ids = [row["id"] for row in read_csv(out / "predictions.csv")]
    assert len(ids) == 56
    assert not {*broken, "a/00002.png"} & {*ids}
    done = siis.ok("predict", out, photos)
    assert "4 images left out" in done.stderr
    assert len(done.stdout.splitlines()) == 57
