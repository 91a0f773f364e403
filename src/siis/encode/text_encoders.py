"""Encoders of texts from ONNX files."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from siis._types import Floats
from siis.encode.encoder import Content, Encoder
from siis.encode.encoder_choice import EncoderChoice
from siis.encode.onnx_file import Network, need, read_network
from siis.texts import quoted, readable

BATCH = 16
CHUNK = 1024  # texts that are cut into tokens at once
LENGTH = 256  # default number of tokens
SHORTEST = 8  # tokens to which a text is filled up
KNOWN = ("input_ids", "attention_mask", "token_type_ids")
BEST = "sentence_embedding"  # what sentence-transformers call it
TOKENIZER = "tokenizer.json"
RULES = 1  # of how a text becomes features


def onnx_texts(choice: EncoderChoice, path: Path) -> Encoder:
    """Load a network for texts from a file, and its tokenizer."""
    network = read_network(path)
    ports = _ports(network)
    batch, length = _fixed(network)
    tokenizer, digest = _tokenizer(choice, path)
    if length is not None and (choice.size or 0) > length:
        raise ValueError(f"{path}: takes {length} tokens; --encoder-size says {choice.size}. Leave it out.")
    own = (tokenizer.truncation or {}).get("max_length")
    longest = choice.size or length or own or LENGTH
    tokenizer.no_padding()
    tokenizer.enable_truncation(longest)
    named = [out.name for out in network.outputs]
    output = BEST if BEST in named else named[0]
    batch = batch or (1 if network.is_joint else BATCH)

    def run(contents: Sequence[Content]) -> Floats:
        tokens = tokenizer.encode_batch([one.data.decode() for one in contents])
        groups: dict[int, list[int]] = {}
        for i, one in enumerate(tokens):
            if one.ids:
                groups.setdefault(length or _filled(len(one.ids), longest, "attention_mask" in ports), []).append(i)
        X: Floats | None = None
        for size, rows in groups.items():
            for first in range(0, len(rows), batch):
                part = rows[first : first + batch]
                ids, mask, types = _arrays([tokens[i] for i in part], batch, size, _padding(tokenizer))
                feed = {
                    ports[name]: array for name, array in zip(KNOWN, (ids, mask, types), strict=True) if name in ports
                }
                kinds = {port.name: port.kind for port in network.inputs}
                found = network.run(output, {name: array.astype(kinds[name]) for name, array in feed.items()})
                features = _means(np.asarray(found, dtype=np.float32), mask, path)[: len(part)]
                X = np.zeros((len(contents), features.shape[1]), dtype=np.float32) if X is None else X
                X[part] = features
        if X is None:
            raise ValueError(f"{path}: the texts must hold something that the tokenizer knows; found nothing.")
        return X

    settings = f"texts {RULES} {network.digest} {digest} {longest} {output}"
    key = hashlib.sha256(settings.encode()).hexdigest()
    return Encoder(path.name, key, CHUNK, run, f"{longest} tokens of each at most")


def _ports(network: Network) -> dict[str, str]:
    """Names of the inputs by their roles."""
    names = [port.name for port in network.inputs]
    are_tokens = all(
        port.kind in ("int64", "int32") and (port.shape is None or len(port.shape) == 2) for port in network.inputs
    )
    ports = {"input_ids": names[0]} if len(names) == 1 else {name: name for name in names}
    if not are_tokens or "input_ids" not in ports or set(ports) - set(KNOWN):
        found = ", ".join(
            f"{quoted(port.name)} ({port.kind or 'something else'}, "
            f"{'any' if port.shape is None else len(port.shape)} dimensions)"
            for port in network.inputs
        )
        raise ValueError(
            f"{network.path}: a network for texts must take whole numbers of 2 dimensions (text, token), called "
            f"{', '.join(KNOWN)}; found {found or 'none'}. For images, name their folder."
        )
    return ports


def _fixed(network: Network) -> tuple[int | None, int | None]:
    """The batch size and number of tokens that the file fixes, or None."""
    shapes = [port.shape for port in network.inputs if port.shape is not None]
    batch = next((shape[0] for shape in shapes if shape[0]), None)
    return batch, next((shape[1] for shape in shapes if shape[1]), None)


def _tokenizer(choice: EncoderChoice, path: Path) -> tuple[Any, str]:
    """The tokenizer, and the digest of its file."""
    need("tokenizers")
    from tokenizers import Tokenizer  # noqa: PLC0415  (an extra)

    places = [path.parent / TOKENIZER]
    if path.parent.name == "onnx":  # where exports of whole models are laid out so
        places.append(path.parent.parent / TOKENIZER)
    file = Path(choice.tokenizer) if choice.tokenizer else next((one for one in places if one.is_file()), places[0])
    if not file.is_file():
        raise ValueError(
            f"{path}: a network for texts needs its tokenizer; there is no file {file}. Put {TOKENIZER} into "
            "the folder of the network, or name it with --tokenizer."
        )
    with readable(file, "a tokenizer", f"Take the {TOKENIZER} of the network."):
        content = file.read_bytes()
        return Tokenizer.from_str(content.decode()), hashlib.sha256(content).hexdigest()


def _padding(tokenizer: Any) -> int:
    found = (tokenizer.token_to_id(name) for name in ("[PAD]", "<pad>"))
    return next((token for token in found if token is not None), 0)


def _filled(n: int, longest: int, is_masked: bool) -> int:
    """The length to which a text of n tokens is padded: it does not depend on the other texts."""
    size = SHORTEST
    while size < n:
        size *= 2
    return min(size, longest) if is_masked else n


def _arrays(tokens: Sequence[Any], batch: int, size: int, padding: int) -> tuple[Any, Any, Any]:
    """Token ids, mask and types, shape (batch, size); the last text fills the batch up."""
    ids = np.full((batch, size), padding, dtype=np.int64)
    mask, types = np.zeros_like(ids), np.zeros_like(ids)
    for row, one in enumerate([*tokens, *[tokens[-1]] * (batch - len(tokens))]):
        n = len(one.ids)
        ids[row, :n], mask[row, :n], types[row, :n] = one.ids, 1, one.type_ids
    return ids, mask, types


def _means(X: Floats, mask: Any, path: Path) -> Floats:
    """One row for each text: the mean over its tokens where the network gives one row for each token."""
    if X.ndim == 3 and X.shape[:2] == mask.shape:
        X = np.einsum("btd,bt->bd", X, mask.astype(np.float32)) / mask.sum(axis=1, keepdims=True).astype(np.float32)
    if X.ndim != 2 or X.shape[0] != mask.shape[0] or X.shape[1] == 0:
        raise ValueError(
            f"{path}: the output must be a row of numbers for each text, or for each of its tokens; found shape "
            f"{X.shape}. Export the network with another output."
        )
    return X
