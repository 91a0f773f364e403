"""Features from the cache where they are known, computed in batches otherwise."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Literal

import numpy as np

from siis._types import Floats
from siis.encode.encoder import Content, Encoder, load_encoder
from siis.encode.encoder_choice import EncoderChoice
from siis.encode.feature_cache import FeatureCache
from siis.encode.image_files import ImageSource, UnreadableImage, image_errors
from siis.progress import Progress
from siis.texts import quoted

STEPS = 200  # reports of progress


def encode_images(paths: Sequence[str | Path], encoder: str | EncoderChoice | Encoder, verbose: int = 0) -> Floats:
    """Turn images into features.

    Features are kept in the user's cache folder, by the content of the image and the encoder: a second call reads
    them from there. Memory is bounded by a batch of images, besides the features.

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
    """Load an encoder unless it is one."""
    if isinstance(encoder, Encoder):
        return encoder
    choice = encoder if isinstance(encoder, EncoderChoice) else EncoderChoice(str(encoder))
    return load_encoder(choice, kind)


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
    waiting: dict[bytes, Content] = {}
    rows: dict[bytes, list[int]] = {}

    def place(at: list[int], row: Floats) -> None:
        nonlocal X
        X = np.empty((n, row.size), dtype=np.float32) if X.size == 0 else X
        X[at] = row

    def leave_out(at: list[int], problem: UnreadableImage) -> None:
        if broken is None:
            raise problem
        broken.update(dict.fromkeys(at, str(problem)))

    def compute(cache: FeatureCache) -> None:
        while waiting:
            try:
                found = _checked(encoder, list(waiting.values()))
            except UnreadableImage as problem:
                key = next(key for key, one in waiting.items() if one.name == problem.name)
                del waiting[key]
                leave_out(rows.pop(key), problem)
                continue
            for key, row in zip(waiting, found, strict=True):
                cache.add(key, row)
                place(rows[key], row)
            waiting.clear()
            rows.clear()

    with closing(FeatureCache(encoder.digest)) as cache, Progress(verbose).stage("encode") as report:
        for i in range(n):
            try:
                one = _content(items[i], i)
            except UnreadableImage as problem:
                leave_out([i], problem)
                continue
            key = hashlib.sha256(one.data).digest()
            row = None if key in waiting else cache.find(key)
            if row is not None and X.size in (0, n * row.size):
                place([i], row)
            else:
                waiting[key] = one
                rows.setdefault(key, []).append(i)
            if len(waiting) == encoder.chunk:
                compute(cache)
            if i % max(1, n // STEPS) == 0:
                report(i / n)
        compute(cache)
    return X, (cache.problem,) if cache.problem else ()


def _content(item: ImageSource | str, i: int) -> Content:
    if isinstance(item, str):
        return Content(f"text {i + 1:,}", item.encode(errors="replace"))
    with image_errors(str(item)):
        return Content(str(item), item.read_bytes())


def _checked(encoder: Encoder, contents: list[Content]) -> Floats:
    X = encoder.run(contents)
    bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
    if bad.size:
        raise ValueError(
            f"{encoder.name}: features must be finite numbers; those of {quoted(contents[bad[0]].name)} are not. Use "
            "another encoder."
        )
    return X
