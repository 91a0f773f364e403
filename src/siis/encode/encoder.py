"""An encoder: contents to features, identified by a digest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from siis._types import Floats
from siis.encode.encoder_choice import EncoderChoice


@dataclass(frozen=True)
class Content:
    """An image or a text, as bytes."""

    name: str  # for messages
    data: bytes  # a file, or a text in UTF-8


@dataclass(frozen=True, eq=False)
class Encoder:
    """A network with all that its input needs.

    Attributes
    ----------
    name : str
    digest : str
        Of the weights and of every setting: the same digest and content give the same features, to rounding.
    chunk : int
        How many contents are best handed over at once.
    run : callable
        Contents -> ndarray of float32, shape (n, d).
    settings : str
        Its settings, in words.
    """

    name: str
    digest: str
    chunk: int
    run: Callable[[Sequence[Content]], Floats]
    settings: str


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
    from siis.encode.image_encoders import onnx_images  # noqa: PLC0415  (they need what is above)
    from siis.encode.libraries import sentence_transformer, timm_images  # noqa: PLC0415
    from siis.encode.text_encoders import onnx_texts  # noqa: PLC0415

    if kind == "images" and choice.tokenizer is not None:
        raise ValueError("a tokenizer is for texts; the examples are images. Leave --tokenizer out.")
    if kind == "texts" and (choice.mean is not None or choice.std is not None):
        raise ValueError(
            "means and standard deviations of pixels are for images; the examples are texts. Leave --encoder-mean "
            "and --encoder-std out."
        )
    if choice.is_file:
        return (onnx_images if kind == "images" else onnx_texts)(choice, Path(choice.source))
    if choice.tokenizer is not None:
        raise ValueError("a model of a library brings its own tokenizer. Leave --tokenizer out.")
    library = "timm" if kind == "images" else "sentence_transformers"
    if (file := _network_in(Path(choice.source))) is not None and find_spec(library) is None:
        raise ValueError(
            f"{choice.source}: a folder is read by {library}, which is not installed. Name the ONNX file in it: "
            f"--encoder {file}."
        )
    return (timm_images if kind == "images" else sentence_transformer)(choice)


def _network_in(folder: Path) -> Path | None:
    """The ONNX file of a folder, at the places where exports of whole models put it."""
    return next((file for place in (folder, folder / "onnx") for file in sorted(place.glob("*.onnx"))), None)
