"""Encoders of timm and sentence-transformers, by the name of the model."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from siis._types import Floats
from siis.encode.encoder import Content, Encoder, EncoderChoice
from siis.encode.image_encoders import Preprocessing, image_encoder
from siis.encode.onnx_file import BATCH, need
from siis.encode.text_encoders import CHUNK
from siis.texts import one_line, quoted


def timm_images(choice: EncoderChoice) -> Encoder:
    """Load a model of timm, without its last layer."""
    need("timm", "torch", extra="timm")
    import timm  # noqa: PLC0415  (what the user has)
    import torch  # noqa: PLC0415

    try:
        model = timm.create_model(choice.source, pretrained=True, num_classes=0).eval()
    except Exception as problem:  # unknown names, no network, damaged folders
        raise _unknown(choice, "timm", problem) from None
    config = timm.data.resolve_model_data_config(model)
    colours, height, width = config["input_size"]
    side = choice.size
    preprocessing = Preprocessing(
        side or width, side or height, colours, choice.mean or config["mean"], choice.std or config["std"]
    )

    def compute(pixels: Any) -> Any:
        with torch.inference_mode():
            return model(torch.from_numpy(pixels)).numpy()

    return image_encoder(choice.source, _digest(model), preprocessing, BATCH, compute)


def sentence_transformer(choice: EncoderChoice) -> Encoder:
    """Load a model of sentence-transformers."""
    need("sentence_transformers", extra="sentence-transformers")
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415  (what the user has)

    try:
        model = SentenceTransformer(choice.source, device="cpu")
    except Exception as problem:
        raise _unknown(choice, "sentence-transformers", problem) from None
    if choice.size is not None:
        model.max_seq_length = choice.size

    def run(contents: Sequence[Content]) -> Floats:
        texts = [one.data.decode() for one in contents]
        return np.asarray(model.encode(texts, show_progress_bar=False), dtype=np.float32)

    key = hashlib.sha256(f"sentences {_digest(model)} {model.max_seq_length} {model!r}".encode()).hexdigest()
    return Encoder(choice.source, key, CHUNK, run, f"{model.max_seq_length} tokens of each at most")


def _unknown(choice: EncoderChoice, library: str, problem: Exception) -> ValueError:
    return ValueError(
        f"the encoder must be an ONNX file or a model of {library}; {quoted(choice.source)} cannot be loaded "
        f"({one_line(str(problem)) or type(problem).__name__}). Check the name, and that its weights can be fetched."
    )


def _digest(model: Any) -> str:
    """SHA-256 of all weights, by name."""
    found = hashlib.sha256()
    for name, weights in sorted(model.state_dict().items()):
        array = weights.detach().cpu().float().numpy()
        found.update(f"{name}\0{array.shape}\0".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()
