"""Encoders of images from ONNX files."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from siis._types import Floats
from siis.encode.encoder import Content, Encoder, EncoderChoice, pooled
from siis.encode.image_files import centre
from siis.encode.onnx_file import BATCH, Network, read_network
from siis.engine.threads import in_threads
from siis.texts import quoted

Scaling: TypeAlias = tuple[tuple[float, ...], tuple[float, ...]]  # mean, standard deviation
IMAGENET: Scaling = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
GREY: Scaling = ((0.449,), (0.226,))  # the same, of grey images
RANGES: dict[str, Scaling] = {  # of ONNX's metadata "Image.NominalPixelRange"
    "NominalRange_0_255": ((0.0,), (1 / 255,)),
    "Normalized_0_1": ((0.0,), (1.0,)),
    "Normalized_1_1": ((0.5,), (0.5,)),
}
FORMATS = {"Gray8": 1, "Rgb8": 3, "Bgr8": 3}  # of ONNX's metadata "Image.BitmapPixelFormat": colours
RULES = 1  # of how an image becomes numbers: another number for other features


@dataclass(frozen=True)
class Preprocessing:
    """How images become the input of a network."""

    width: int
    height: int
    colours: int  # 1 or 3
    mean: tuple[float, ...]
    std: tuple[float, ...]
    channels_first: bool = True  # colours come before rows and columns
    is_bgr: bool = False  # blue, green, red
    kind: str = "float32"  # "float32", "float16", or "uint8": 0 to 255, not scaled

    def batch(self, contents: Sequence[Content]) -> Any:
        """Preprocess b images; returns (b, colours, height, width) or (b, height, width, colours)."""
        mode = "RGB" if self.colours == 3 else "L"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # large images and odd metadata are no concern of the user here
            read = in_threads(lambda one: centre(one.name, one.data, mode, self.width, self.height), contents)
        pixels = np.stack(read)
        if self.is_bgr:
            pixels = pixels[..., ::-1]
        if self.kind != "uint8":
            mean, std = (np.array(numbers, dtype=np.float32) for numbers in (self.mean, self.std))
            pixels = ((pixels.astype(np.float32) / 255 - mean) / std).astype(self.kind)
        return np.ascontiguousarray(np.moveaxis(pixels, 3, 1) if self.channels_first else pixels)

    def describe(self) -> str:
        """The settings in words."""
        size = f"the middle of each made {self.width} x {self.height} pixels"
        if self.kind == "uint8":
            return f"{size}, 0 to 255"
        if (self.mean, self.std) in (IMAGENET, GREY):
            return f"{size}, scaled as ImageNet's are"
        numbers = [" ".join(f"{x:.4g}" for x in values) for values in (self.mean, self.std)]
        return f"{size}, less {numbers[0]}, over {numbers[1]}"


def image_encoder(
    name: str, digest: str, preprocessing: Preprocessing, batch: int, compute: Callable[[Any], Any]
) -> Encoder:
    """Combine preprocessing and a network; full batches only, so that features do not depend on the other images."""

    def run(contents: Sequence[Content]) -> Floats:
        found = []
        for first in range(0, len(contents), batch):
            part = list(contents[first : first + batch])
            pixels = preprocessing.batch(part)
            full = np.concatenate([pixels, np.repeat(pixels[-1:], batch - len(part), axis=0)])
            found.append(pooled(compute(full), batch, name)[: len(part)])
        return np.concatenate(found)

    key = hashlib.sha256(f"images {RULES} {digest} {preprocessing!r}".encode()).hexdigest()
    return Encoder(name, key, batch, run, preprocessing.describe())


def onnx_images(choice: EncoderChoice, path: Path) -> Encoder:
    """Load a network for images from a file."""
    network = read_network(path)
    if len(network.inputs) != 1:
        names = ", ".join(quoted(port.name) for port in network.inputs) or "none"
        raise ValueError(
            f"{path}: a network for images must have one input; found {names}. Export the part for images alone."
        )
    port = network.inputs[0]
    shape = port.shape
    if shape is None or len(shape) != 4 or port.kind not in ("float32", "float16", "uint8"):
        found = "of any shape" if shape is None else f"of {len(shape)} dimensions"
        raise ValueError(
            f"{path}: a network for images must take numbers of 4 dimensions (image, colour, row, column); found "
            f"{port.kind or 'something else'} {found}. For texts, name their column with --text."
        )
    colours, first = _colours(network, shape)
    height, width = (_side(network, side, choice.size) for side in (shape[2:] if first else shape[1:3]))
    is_bgr = network.metadata.get("Image.BitmapPixelFormat") == "Bgr8"
    scaling = _scaling(network, choice, colours)
    preprocessing = Preprocessing(width, height, colours, *scaling, first, is_bgr, port.kind)
    batch = shape[0] or (1 if network.is_joint else BATCH)
    rows = [out for out in network.outputs if out.shape is not None and len(out.shape) == 2]
    output = (rows or network.outputs)[0].name

    def compute(pixels: Any) -> Any:
        return network.run(output, {port.name: pixels})

    return image_encoder(path.name, network.digest, preprocessing, batch, compute)


def _colours(network: Network, shape: tuple[int | None, ...]) -> tuple[int, bool]:
    """Number of colours, and whether they are the first dimension."""
    stated = network.metadata.get("Image.BitmapPixelFormat")
    wanted = (FORMATS[stated],) if stated in FORMATS else (3, 1)
    for colours in wanted:
        if shape[1] == colours:
            return colours, True
        if shape[3] == colours:
            return colours, False
    if shape[1] is None and stated in FORMATS:
        return wanted[0], True
    sizes = " x ".join("?" if size is None else str(size) for size in shape)
    raise ValueError(
        f"{network.path}: a network for images must say where its 3 colours (or 1) are; found input {sizes}. Export "
        "it with a fixed number of colours."
    )


def _side(network: Network, side: int | None, wanted: int | None) -> int:
    stated = network.metadata.get("size", "")
    if side is None and wanted is None and stated.isdecimal():
        wanted = int(stated)
    if side is not None and wanted is not None and side != wanted:
        raise ValueError(
            f"{network.path}: takes images of {side} pixels; --encoder-size says {wanted}. Leave it out."
        )
    size = side or wanted
    if size is None:
        raise ValueError(
            f"{network.path}: takes images of any size, and does not say which it was trained with. Say so with "
            "--encoder-size, as in --encoder-size 224."
        )
    return EncoderChoice(str(network.path), size).size or size


def _scaling(network: Network, choice: EncoderChoice, colours: int) -> Scaling:
    """Mean and standard deviation of pixels: the user's, else the file's, else those of ImageNet."""
    mean, std = IMAGENET if colours == 3 else GREY
    mean, std = RANGES.get(network.metadata.get("Image.NominalPixelRange", ""), (mean, std))
    try:
        stored = {name: json.loads(network.metadata[name]) for name in ("mean", "std") if name in network.metadata}
        numbers = {name: tuple(map(float, x if isinstance(x, list) else [x])) for name, x in stored.items()}
        stated = EncoderChoice(str(network.path), None, numbers.get("mean"), numbers.get("std"))
    except (ValueError, TypeError, RecursionError):
        raise ValueError(
            f"{network.path}: its metadata mean and std must be one number or three, as in [0.5, 0.5, 0.5]; they are "
            "not. Write them again."
        ) from None
    mean, std = choice.mean or stated.mean or mean, choice.std or stated.std or std
    if colours == 1 and 3 in (len(mean), len(std)):
        raise ValueError(f"{network.path}: takes grey images, of one mean and one deviation; found three.")
    return mean, std
