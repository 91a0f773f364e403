"""ONNX files as networks that can compute and do nothing else.

A file is refused if it could reach beyond itself: external weights, or operators outside the ONNX standard. The
runtime is given a file that is written anew from what was checked (docs/decisions/0027-encoders.md).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from siis.engine.threads import n_threads
from siis.texts import one_line, quoted, readable

BATCH = 16  # examples that are computed at once
STANDARD = ("", "ai.onnx", "ai.onnx.ml")  # domains of operators that compute and nothing else
TOGETHER = "DynamicQuantizeLinear"  # rounds by the largest number of the whole batch
ONE_FILE = "Save it as one file: onnx.save(onnx.load(FILE), NEW)"
SILENT = 4  # what the runtime logs: fatal errors alone
KINDS = {1: "float32", 2: "uint8", 6: "int32", 7: "int64", 10: "float16"}  # of ONNX's element types


@dataclass(frozen=True)
class Port:
    """An input or output of a network."""

    name: str
    kind: str  # type of its numbers; empty for types that are not supported
    shape: tuple[int | None, ...] | None  # None for a free size, or a free number of dimensions


@dataclass(frozen=True, eq=False)
class Network:
    """A checked network."""

    path: Path
    digest: str  # SHA-256 of the file
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    metadata: dict[str, str]
    is_joint: bool  # features depend on the other examples of the batch
    session: Any

    def run(self, output: str, feed: Mapping[str, Any]) -> Any:
        """Compute one output from inputs by name."""
        try:
            return self.session.run([output], dict(feed))[0]
        except Exception as problem:
            shapes = ", ".join(f"{name} of shape {array.shape}" for name, array in feed.items())
            raise ValueError(
                f"{self.path}: the network must take {shapes}; it fails ({one_line(str(problem))}). Another size may "
                "suit it (--encoder-size), or export it again."
            ) from None


def read_network(path: Path) -> Network:
    """Read, check and load a network."""
    need("onnx", "onnxruntime")
    import onnx  # noqa: PLC0415  (an extra)

    if not path.is_file():
        raise ValueError(f"{path}: the encoder must be an ONNX file; there is no such file. Check --encoder.")
    with readable(path, "an ONNX model", "Export it again."):
        content = path.read_bytes()
        model = onnx.load_model_from_string(content)
        model.DiscardUnknownFields()
        if not model.graph.node:
            raise TypeError("it holds no network")
    parts = list(_parts(model))
    _refuse_far_weights(path, parts)
    _refuse_odd_operators(path, model, parts)
    metadata = {entry.key: entry.value for entry in model.metadata_props}
    model.ClearField("metadata_props")  # the runtime could take settings from there
    given = {tensor.name for tensor in model.graph.initializer}
    return Network(
        path,
        hashlib.sha256(content).hexdigest(),
        tuple(_port(value) for value in model.graph.input if value.name not in given),
        tuple(map(_port, model.graph.output)),
        metadata,
        any(part.DESCRIPTOR.name == "NodeProto" and part.op_type == TOGETHER for part in parts),
        _session(path, model),
    )


def need(*names: str, extra: str = "siis[encode]") -> None:
    """Refuse to go on if packages are missing; ``extra`` installs them."""
    missing = [name for name in names if find_spec(name) is None]
    if missing:
        raise ModuleNotFoundError(
            f"this encoder needs {' and '.join(missing)}, which is not installed. Install it with "
            f"`pip install '{extra}'`, or leave --encoder out."
        )


def _parts(message: Any) -> Iterator[Any]:
    """A message and all messages in it: graphs, branches of If, functions, tensors of attributes."""
    yield message
    for field, value in message.ListFields():
        if field.message_type is not None:
            for part in (value,) if hasattr(value, "ListFields") else value:
                yield from _parts(part)


def _refuse_far_weights(path: Path, parts: list[Any]) -> None:
    for part in parts:
        if part.DESCRIPTOR.name == "TensorProto" and (part.data_location or part.external_data):
            where = next((entry.value for entry in part.external_data if entry.key == "location"), "elsewhere")
            raise ValueError(
                f"{path}: a network must hold all its weights; those of {quoted(part.name)} are to be read from "
                f"{quoted(where)}. {ONE_FILE}."
            )


def _refuse_odd_operators(path: Path, model: Any, parts: list[Any]) -> None:
    own = {(function.domain, function.name) for function in model.functions}
    for part in parts:
        if part.DESCRIPTOR.name != "NodeProto" or part.domain in STANDARD or (part.domain, part.op_type) in own:
            continue
        raise ValueError(
            f"{path}: a network must be made of operators of the ONNX standard; found {quoted(part.op_type)} of "
            f"{quoted(part.domain)}. Export it without optimisation for a runtime."
        )


def _port(value: Any) -> Port:
    tensor = value.type.tensor_type
    shape = None
    if tensor.HasField("shape"):
        sizes = tensor.shape.dim
        shape = tuple(size.dim_value if size.HasField("dim_value") and size.dim_value > 0 else None for size in sizes)
    return Port(value.name, KINDS.get(tensor.elem_type, ""), shape)


def _session(path: Path, model: Any) -> Any:
    import onnxruntime  # noqa: PLC0415  (an extra)

    options = onnxruntime.SessionOptions()
    options.log_severity_level = SILENT
    options.intra_op_num_threads = n_threads()
    options.add_session_config_entry("session.load_model_format", "ONNX")  # never the runtime's own, unchecked
    with readable(path, "a network that runs", "Export it again, for a version of ONNX that is not newer."):
        content = model.SerializeToString()
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
