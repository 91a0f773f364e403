"""Images and texts -> features, by a network that the recipe names and knows by its digest."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np

from siis._types import Floats
from siis.encode import Encoder, EncoderChoice, load_encoder
from siis.encode.pictures import Picture
from siis.encode.run import encoded, of_images, of_texts
from siis.tables.encoders import Plain, only_keys, refused, text, whole_number
from siis.texts import plural, quoted

MOST_FEATURES = 1_000_000


@dataclass(frozen=True)
class Reference:
    """Which encoder a recipe needs.

    Attributes
    ----------
    choice : EncoderChoice
        As it was named when the recipe was learned.
    digest : str
    n_features : int
    """

    choice: EncoderChoice
    digest: str
    n_features: int

    def load(self, kind: Literal["images", "texts"], located: EncoderChoice | None) -> Encoder:
        """Load the same encoder again.

        Parameters
        ----------
        kind : {"images", "texts"}
        located : EncoderChoice, optional
            Where it is now. Without it a file is looked for where it was; a model of a library is not, since a recipe
            from a stranger could name any.

        Returns
        -------
        Encoder
        """
        name = quoted(Path(self.choice.source).name)
        if located is None and not self.choice.source.lower().endswith(".onnx"):
            raise ValueError(
                f"the model was fitted with the encoder {quoted(self.choice.source)} of a library. Name it again, "
                "with --encoder."
            )
        choice = self.choice
        if located is not None:
            choice = replace(choice, source=located.source, tokenizer=located.tokenizer or choice.tokenizer)
        if choice.is_file and not Path(choice.source).is_file():
            raise ValueError(
                f"the model was fitted with the encoder {name}, which must be at hand; there is no file "
                f"{choice.source}. Say where it is with --encoder."
            )
        encoder = load_encoder(choice, kind)
        if encoder.digest != self.digest:
            raise ValueError(
                f"the encoder must be the one that the model was fitted with, {name}; {choice.source} or its "
                "tokenizer is another one. Name that one with --encoder (and --tokenizer), or fit again."
            )
        return encoder

    def to_plain(self) -> dict[str, Any]:
        """Give the reference as values for JSON.

        Returns
        -------
        dict
        """
        return {"choice": self.choice.to_plain(), "digest": self.digest, "n_features": self.n_features}

    @classmethod
    def from_plain(cls, found: Any) -> Self:
        """Rebuild a reference, refusing anything that is not one.

        Parameters
        ----------
        found : dict

        Returns
        -------
        Reference
        """
        found = only_keys(found, ("choice", "digest", "n_features"), "encoder")
        try:
            choice = EncoderChoice.from_plain(found["choice"])
        except (ValueError, OverflowError):
            raise refused("the choice of an encoder") from None
        if not re.fullmatch("[0-9a-f]{64}", text(found["digest"])):
            raise refused("the digest of an encoder")
        return cls(choice, found["digest"], whole_number(found["n_features"], "number of features", MOST_FEATURES))


@dataclass(frozen=True, eq=False)
class Pictures:
    """Turns images into the features of a network.

    Attributes
    ----------
    reference : Reference
    """

    kind: ClassVar[str] = "encoded images"
    reference: Reference

    @property
    def n_features(self) -> int:
        """Number of features, d."""
        return self.reference.n_features

    @classmethod
    def learn(
        cls, choice: EncoderChoice, paths: Sequence[Picture], broken: dict[int, str]
    ) -> tuple[Self, Floats, str, tuple[str, ...]]:
        """Encode images, and remember by what.

        Parameters
        ----------
        choice : EncoderChoice
        paths : sequence of n Path or Embedded
        broken : dict of int to str
            Takes the index of each image that cannot be read, and what is wrong with it.

        Returns
        -------
        pictures : Pictures
        X : ndarray of float32, shape (n, d)
        summary : str
        notes : tuple of str
        """
        encoder = load_encoder(choice, "images")
        X, notes = encoded(encoder, *of_images(paths), broken=broken)
        summary = f"{plural(X.shape[1], 'feature')} of {quoted(encoder.name)}"
        said = f"encoder {quoted(encoder.name)}: {encoder.said}"
        return cls(Reference(choice, encoder.digest, X.shape[1])), X, summary, (said, *notes)

    def encode(
        self, paths: Sequence[Picture], broken: dict[int, str], located: EncoderChoice | None = None
    ) -> tuple[Floats, tuple[str, ...]]:
        """Encode more images.

        Parameters
        ----------
        paths : sequence of n Path or Embedded
        broken : dict of int to str
            As in ``learn``.
        located : EncoderChoice, optional
            Where the encoder is now.

        Returns
        -------
        X : ndarray of float32, shape (n, d)
        notes : tuple of str
        """
        return encoded(self.reference.load("images", located), *of_images(paths), broken=broken)

    def to_plain(self) -> Plain:
        """Give the encoder as plain data.

        Returns
        -------
        settings : dict, JSON-able
        arrays : dict of str to ndarray
        """
        return {"encoder": self.reference.to_plain()}, {}

    @classmethod
    def from_plain(cls, settings: Any, arrays: Any) -> Self:
        """Rebuild an encoder, refusing anything that is not one.

        Parameters
        ----------
        settings : dict
        arrays : dict of str to ndarray

        Returns
        -------
        Pictures
        """
        only_keys(arrays, (), "arrays")
        return cls(Reference.from_plain(only_keys(settings, ("encoder",), "settings")["encoder"]))


@dataclass(frozen=True, eq=False)
class Sentences:
    """Turns texts into the features of a network, rows of unit length.

    Attributes
    ----------
    column : str
        Where the texts stand.
    reference : Reference
    """

    kind: ClassVar[str] = "encoded text"
    column: str
    reference: Reference

    @property
    def n_features(self) -> int:
        """Number of features, d."""
        return self.reference.n_features

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(f"{self.column}: {k}" for k in range(self.n_features))

    @classmethod
    def learn(
        cls, column: str, choice: EncoderChoice, encoder: Encoder, texts: Sequence[str]
    ) -> tuple[Self, Floats, tuple[str, ...]]:
        """Encode texts, and remember by what.

        Parameters
        ----------
        column : str
        choice : EncoderChoice
        encoder : Encoder
            The choice, loaded.
        texts : sequence of n str

        Returns
        -------
        sentences : Sentences
        X : ndarray of float32, shape (n, d)
        notes : tuple of str
        """
        X, notes = encoded(encoder, *of_texts(texts))
        said = f"encoder {quoted(encoder.name)}: {encoder.said}"
        return cls(column, Reference(choice, encoder.digest, X.shape[1])), _unit(X), (said, *notes)

    def encode(self, texts: Sequence[str], encoder: Encoder) -> tuple[Floats, list[str]]:
        """Encode more texts.

        Parameters
        ----------
        texts : sequence of n str
        encoder : Encoder
            As ``reference`` loads it.

        Returns
        -------
        X : ndarray of float32, shape (n, d)
        notes : list of str
        """
        X, notes = encoded(encoder, *of_texts(texts))
        return _unit(X), list(notes)

    def summary(self) -> str:
        """Say what texts become.

        Returns
        -------
        str
        """
        return f"texts as {plural(self.n_features, 'feature')} of {quoted(Path(self.reference.choice.source).name)}"

    def remark(self) -> str:
        """Say what one text becomes.

        Returns
        -------
        str
        """
        return plural(self.n_features, "feature")

    def to_plain(self) -> Plain:
        """Give the encoder as plain data.

        Returns
        -------
        settings : dict, JSON-able
        arrays : dict of str to ndarray
        """
        return {"column": self.column, "encoder": self.reference.to_plain()}, {}

    @classmethod
    def from_plain(cls, settings: Any, arrays: Any) -> Self:
        """Rebuild an encoder, refusing anything that is not one.

        Parameters
        ----------
        settings : dict
        arrays : dict of str to ndarray

        Returns
        -------
        Sentences
        """
        only_keys(arrays, (), "arrays")
        settings = only_keys(settings, ("column", "encoder"), "settings")
        return cls(text(settings["column"]), Reference.from_plain(settings["encoder"]))


def _unit(X: Floats) -> Floats:
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(lengths > 0, lengths, 1).astype(X.dtype)
