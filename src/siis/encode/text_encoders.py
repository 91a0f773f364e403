"""Encoders of texts from ONNX files."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from siis._types import Floats
from siis.encode.encoder import Content, Encoder, EncoderChoice, pooled
from siis.encode.onnx_file import BATCH, Network, Port, need, read_network
from siis.texts import quoted, readable

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
    shapes = [port.shape for port in ports.values() if port.shape is not None]
    fixed_batch, length = (next((shape[k] for shape in shapes if shape[k]), None) for k in (0, 1))
    tokenizer, digest = _tokenizer(choice, path)
    if length is not None and (choice.size or 0) > length:
        raise ValueError(f"{path}: takes {length} tokens; --encoder-size says {choice.size}. Leave it out.")
    longest = choice.size or length or (tokenizer.truncation or {}).get("max_length") or LENGTH
    tokenizer.no_padding()
    tokenizer.enable_truncation(longest)
    padding = next((token for name in ("[PAD]", "<pad>") if (token := tokenizer.token_to_id(name)) is not None), 0)
    named = [out.name for out in network.outputs]
    output = BEST if BEST in named else named[0]
    batch = fixed_batch or (1 if network.is_joint else BATCH)

    def padded_length(n: int) -> int:
        """The length to which a text of n tokens is padded: it does not depend on the other texts."""
        if length is not None or "attention_mask" not in ports:
            return length or n
        size = SHORTEST
        while size < n:
            size *= 2
        return min(size, longest)

    def run(contents: Sequence[Content]) -> Floats:
        tokens = tokenizer.encode_batch([one.data.decode() for one in contents])
        by_length: dict[int, list[int]] = {}
        for i, one in enumerate(tokens):
            if one.ids:
                by_length.setdefault(padded_length(len(one.ids)), []).append(i)
        if not by_length:
            raise ValueError(f"{path}: the texts must hold something that the tokenizer knows; found nothing.")
        found: dict[int, Floats] = {}
        for size, rows in by_length.items():
            for first in range(0, len(rows), batch):
                part = rows[first : first + batch]
                arrays = _arrays([tokens[i] for i in part], batch, size, padding)
                feed = {port.name: arrays[role].astype(port.kind) for role, port in ports.items()}
                mask = arrays["attention_mask"]
                features = pooled(network.run(output, feed), batch, str(path), mask)
                found.update(zip(part, features, strict=False))  # the last rows fill the batch up
        X = np.zeros((len(contents), next(iter(found.values())).size), dtype=np.float32)
        X[list(found)] = list(found.values())
        return X

    settings = f"texts {RULES} {network.digest} {digest} {longest} {output}"
    key = hashlib.sha256(settings.encode()).hexdigest()
    return Encoder(path.name, key, CHUNK, run, f"{longest} tokens of each at most")


def _ports(network: Network) -> dict[str, Port]:
    """Inputs by their roles."""
    inputs = network.inputs
    ports = {"input_ids": inputs[0]} if len(inputs) == 1 else {port.name: port for port in inputs}
    are_tokens = all(
        port.kind in ("int64", "int32") and (port.shape is None or len(port.shape) == 2) for port in inputs
    )
    if not are_tokens or "input_ids" not in ports or set(ports) - set(KNOWN):
        found = ", ".join(
            f"{quoted(port.name)} ({port.kind or 'something else'}, "
            f"{'any' if port.shape is None else len(port.shape)} dimensions)"
            for port in inputs
        )
        raise ValueError(
            f"{network.path}: a network for texts must take whole numbers of 2 dimensions (text, token), called "
            f"{', '.join(KNOWN)}; found {found or 'none'}. For images, name their folder."
        )
    return ports


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


def _arrays(tokens: Sequence[Any], batch: int, size: int, padding: int) -> dict[str, Any]:
    """Token ids, mask and types, each (batch, size); the last text fills the batch up."""
    ids = np.full((batch, size), padding, dtype=np.int64)
    mask, types = np.zeros_like(ids), np.zeros_like(ids)
    for row, one in enumerate([*tokens, *[tokens[-1]] * (batch - len(tokens))]):
        n = len(one.ids)
        ids[row, :n], mask[row, :n], types[row, :n] = one.ids, 1, one.type_ids
    return dict(zip(KNOWN, (ids, mask, types), strict=True))
