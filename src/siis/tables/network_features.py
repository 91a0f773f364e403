"""Features of images and texts by a network, which a digest identifies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal, Self

import numpy as np

from siis._types import Floats
from siis.encode import Encoder, EncoderChoice, load_encoder
from siis.encode.encode import encode
from siis.encode.image_files import ImageSource
from siis.plain_data import check
from siis.tables.examples import Encoded
from siis.texts import plural, quoted

MOST_FEATURES = 1_000_000


@dataclass(frozen=True)
class Reference:
    """The encoder that a recipe needs."""

    choice: EncoderChoice  # by the user when the recipe was learned
    digest: str
    n_features: int

    def __post_init__(self) -> None:
        check(re.fullmatch("[0-9a-f]{64}", self.digest) is not None, "the digest of an encoder")
        check(0 < self.n_features <= MOST_FEATURES, f"1 to {MOST_FEATURES:,} features")

    def load(self, kind: Literal["images", "texts"], located: EncoderChoice | None) -> Encoder:
        """Load the encoder from its path; a library's model is named again: a stranger's recipe could name any."""
        name = quoted(Path(self.choice.source).name)
        if located is None and not self.choice.source.lower().endswith(".onnx"):
            problem = f"the model was fitted with the encoder {quoted(self.choice.source)} of a library."
            raise ValueError(f"{problem} Name it again, with --encoder.")
        choice = self.choice
        if located is not None:
            choice = replace(choice, source=located.source, tokenizer=located.tokenizer or choice.tokenizer)
        if choice.is_file and not Path(choice.source).is_file():
            problem = f"the model was fitted with the encoder {name}, which must be at hand;"
            raise ValueError(f"{problem} there is no file {choice.source}. Say where it is with --encoder.")
        encoder = load_encoder(choice, kind)
        if encoder.digest != self.digest:
            problem = f"the encoder must be the one that the model was fitted with, {name};"
            problem = f"{problem} {choice.source} or its tokenizer is another one."
            raise ValueError(f"{problem} Name that one with --encoder (and --tokenizer), or fit again.")
        return encoder


@dataclass(frozen=True, eq=False)
class NetworkImages:
    """Encodes images by a network."""

    kind: ClassVar[str] = "encoded images"
    encoder: Reference

    @property
    def n_features(self) -> int:
        """Number of features, d."""
        return self.encoder.n_features

    @classmethod
    def learn(cls, choice: EncoderChoice, paths: Sequence[ImageSource], broken: dict[int, str]) -> Encoded:
        """Encode n images; ``broken`` collects unreadable images by index."""
        encoder = load_encoder(choice, "images")
        X, notes = encode(encoder, paths, broken=broken)
        summary = f"{plural(X.shape[1], 'feature')} of {quoted(encoder.name)}"
        about = f"encoder {quoted(encoder.name)}: {encoder.settings}"
        return Encoded(cls(Reference(choice, encoder.digest, X.shape[1])), X, summary, (about, *notes))

    def encode(
        self, paths: Sequence[ImageSource], broken: dict[int, str], located: EncoderChoice | None = None
    ) -> tuple[Floats, tuple[str, ...]]:
        """Encode more images, as in ``learn``; returns X of shape (n, d) and notes."""
        return encode(self.encoder.load("images", located), paths, broken=broken)


@dataclass(frozen=True, eq=False)
class NetworkTexts:
    """Encodes texts by a network, as rows of unit length."""

    kind: ClassVar[str] = "encoded text"
    column: str  # of the texts
    encoder: Reference

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(f"{self.column}: {k}" for k in range(self.encoder.n_features))

    @classmethod
    def learn(
        cls, column: str, choice: EncoderChoice, encoder: Encoder, texts: Sequence[str]
    ) -> tuple[Self, Floats, list[str]]:
        """Encode n texts by the loaded encoder; returns the encoder, X of shape (n, d), and notes."""
        X, notes = encode(encoder, texts)
        about = f"encoder {quoted(encoder.name)}: {encoder.settings}"
        return cls(column, Reference(choice, encoder.digest, X.shape[1])), _unit(X), [about, *notes]

    def encode(self, texts: Sequence[str], encoder: Encoder | None) -> tuple[Floats, list[str]]:
        """Encode more texts; returns X of shape (n, d) and notes."""
        assert encoder is not None
        X, notes = encode(encoder, texts)
        return _unit(X), list(notes)

    def summary(self) -> str:
        """What the texts become."""
        return f"texts as {self.remark()} of {quoted(Path(self.encoder.choice.source).name)}"

    def remark(self) -> str:
        """What one text becomes."""
        return plural(self.encoder.n_features, "feature")


def _unit(X: Floats) -> Floats:
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(lengths > 0, lengths, 1).astype(X.dtype)
