"""Features from the cache where they are known, computed in batches otherwise."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import numpy as np

from siis._types import Floats
from siis.encode.encoder import Content, Encoder, EncoderChoice
from siis.encode.feature_cache import FeatureCache
from siis.encode.image_encoders import onnx_images
from siis.encode.image_files import ImageSource, UnreadableImage, image_errors
from siis.encode.libraries import sentence_transformer, timm_images
from siis.encode.text_encoders import onnx_texts
from siis.progress import Progress
from siis.texts import quoted

STEPS = 200  # reports of progress


def load_encoder(choice: EncoderChoice, kind: Literal["images", "texts"]) -> Encoder:
    """Load the encoder that was chosen.

    Parameters
    ----------
    choice : EncoderChoice
    kind : {"images", "texts"}

    Returns
    -------
    Encoder
    """
    if kind == "images" and choice.tokenizer is not None:
        raise ValueError("a tokenizer is for texts; the examples are images. Leave --tokenizer out.")
    if kind == "texts" and (choice.mean is not None or choice.std is not None):
        raise ValueError(
            "means and standard deviations of pixels are for images; the examples are texts. Leave --encoder-mean "
            "and --encoder-std out."
        )
    source = Path(choice.source)
    if choice.is_file:
        return (onnx_images if kind == "images" else onnx_texts)(choice, source)
    if choice.tokenizer is not None:
        raise ValueError("a model of a library brings its own tokenizer. Leave --tokenizer out.")
    library = "timm" if kind == "images" else "sentence_transformers"
    networks = [file for place in (source, source / "onnx") for file in sorted(place.glob("*.onnx"))]
    if networks and find_spec(library) is None:
        raise ValueError(
            f"{choice.source}: a folder is read by {library}, which is not installed. Name the ONNX file in it: "
            f"--encoder {networks[0]}."
        )
    return (timm_images if kind == "images" else sentence_transformer)(choice)


def encode_images(paths: Sequence[str | Path], encoder: str | EncoderChoice | Encoder, verbose: int = 0) -> Floats:
    """Turn images into features.

    Features are kept in the user's cache folder, by the content of the image and the encoder: a second call reads
    them from there. Memory holds the features and one batch of images.

    Parameters
    ----------
    paths : sequence of n paths
    encoder : str, EncoderChoice or Encoder
        An ONNX file, or the name of a model of timm.
    verbose : int
        1: progress on standard error.

    Returns
    -------
    ndarray of float32, shape (n, d)
    """
    return encode(_loaded(encoder, "images"), [Path(path) for path in paths], verbose)[0]


def encode_texts(texts: Sequence[str], encoder: str | EncoderChoice | Encoder, verbose: int = 0) -> Floats:
    """Turn texts into features.

    Features are kept in the user's cache folder, by text and encoder: a second call reads them from there.

    Parameters
    ----------
    texts : sequence of n str
    encoder : str, EncoderChoice or Encoder
        An ONNX file with its tokenizer.json next to it, or the name of a model of sentence-transformers.
    verbose : int
        1: progress on standard error.

    Returns
    -------
    ndarray of float32, shape (n, d)
    """
    return encode(_loaded(encoder, "texts"), texts, verbose)[0]


def _loaded(encoder: str | EncoderChoice | Encoder, kind: Literal["images", "texts"]) -> Encoder:
    if isinstance(encoder, Encoder):
        return encoder
    return load_encoder(encoder if isinstance(encoder, EncoderChoice) else EncoderChoice(str(encoder)), kind)


def encode(
    encoder: Encoder,
    items: Sequence[ImageSource] | Sequence[str],
    verbose: int = 0,
    broken: dict[int, str] | None = None,
) -> tuple[Floats, tuple[str, ...]]:
    """Encode n images or texts in batches: X, (n, d), and notes; without ``broken`` an unreadable one raises.

    ``broken`` collects problems of images by index; their rows are arbitrary, and X has no columns if all are broken.
    """
    n = len(items)
    if n == 0:
        raise ValueError("there must be at least one image or text to encode; found none.")
    X = np.empty((0, 0), dtype=np.float32)
    waiting: dict[bytes, tuple[Content, list[int]]] = {}  # what is to be computed, with the rows that it is for

    def place(rows: list[int], features: Floats) -> None:
        nonlocal X
        X = np.empty((n, features.size), dtype=np.float32) if X.size == 0 else X
        X[rows] = features

    def leave_out(rows: list[int], problem: UnreadableImage) -> None:
        if broken is None:
            raise problem
        broken.update(dict.fromkeys(rows, str(problem)))

    def compute() -> None:
        while waiting:
            try:
                found = _computed(encoder, [content for content, _ in waiting.values()])
            except UnreadableImage as problem:
                key = next(key for key, (content, _) in waiting.items() if content.name == problem.name)
                leave_out(waiting.pop(key)[1], problem)
                continue
            for (key, (_, rows)), features in zip(waiting.items(), found, strict=True):
                cache.add(key, features)
                place(rows, features)
            waiting.clear()

    with closing(FeatureCache(encoder.digest)) as cache, Progress(verbose).stage("encode") as report:
        for i, item in enumerate(items):
            try:
                content = _content(item, i)
            except UnreadableImage as problem:
                leave_out([i], problem)
                continue
            key = hashlib.sha256(content.data).digest()
            features = None if key in waiting else cache.find(key)
            if features is not None and X.size in (0, n * features.size):
                place([i], features)
            else:
                waiting.setdefault(key, (content, []))[1].append(i)
            if len(waiting) == encoder.chunk:
                compute()
            if i % max(1, n // STEPS) == 0:
                report(i / n)
        compute()
    return X, (cache.problem,) if cache.problem else ()


def _content(item: ImageSource | str, i: int) -> Content:
    if isinstance(item, str):
        return Content(f"text {i + 1:,}", item.encode(errors="replace"))
    with image_errors(str(item)):
        return Content(str(item), item.read_bytes())


def _computed(encoder: Encoder, contents: list[Content]) -> Floats:
    X = encoder.run(contents)
    bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
    if bad.size:
        raise ValueError(
            f"{encoder.name}: features must be finite numbers; those of {quoted(contents[bad[0]].name)} are not. Use "
            "another encoder."
        )
    return X
