"""Which engine a fit runs on."""

from __future__ import annotations

import ctypes
from importlib.util import find_spec

from siis.engine.base import Engine
from siis.engine.numpy import NUMPY
from siis.errors import Message

ENGINES = ("auto", "numpy", "torch")
WORTH_A_GPU = 20_000  # examples, below which "auto" does not look for one: PyTorch alone takes seconds to load
DRIVERS = ("libcuda.so.1", "nvcuda.dll", "libamdhip64.so")
MOST_CHARACTERS = 80  # of PyTorch's message about a device
NEEDS_TORCH = (
    "{engine:{name}} with {device:{found}} needs PyTorch, which is not installed. Install it with "
    "`pip install 'siis[gpu]'`, or use {engine:numpy}."
)


def has_driver() -> bool:
    """Whether there is a driver of a GPU: without one, loading PyTorch, which takes seconds, is of no use."""
    for library in DRIVERS:
        try:
            ctypes.CDLL(library)
        except OSError:
            continue
        return True
    return False


def choose_engine(name: str, device: str, n: int) -> tuple[Engine, str]:
    """Choose the engine of a fit, and say in one line what it runs on, empty where there was no choice.

    "auto": PyTorch for many examples where a GPU answers, else NumPy. device: "auto" (the GPU, if any) or PyTorch's
    name.
    """
    if name == "numpy" and device != "auto":
        raise ValueError(
            Message("{engine:numpy} has no devices; found {device:{found}}. Use {engine:torch}.", found=device)
        )
    if name == "numpy" or (name == "auto" and n < WORTH_A_GPU and device == "auto"):
        return NUMPY, ""
    if find_spec("torch") is None or find_spec("array_api_compat") is None:
        if name == "auto" and device == "auto":
            return NUMPY, ""
        raise ValueError(Message(NEEDS_TORCH, name=name, found=device))
    if name == "auto" and device == "auto" and not has_driver():
        return NUMPY, "on the CPU: there is no driver of a GPU here"
    from siis.engine.torch import TorchEngine, gpu_problem  # noqa: PLC0415  (an extra, slow to import)

    problem = gpu_problem()
    if device == "auto":
        if name == "auto" and problem:
            return NUMPY, f"on the CPU: {problem}"
        device = "cpu" if problem else "cuda"
    if device.startswith("cuda") and problem:
        raise ValueError(
            Message("{device:{found}} needs a GPU; {problem}. Use {engine:numpy}.", found=device, problem=problem)
        )
    try:
        engine = TorchEngine(device)
    except (RuntimeError, AssertionError) as wrong:
        why = (str(wrong).strip() or type(wrong).__name__).splitlines()[0][:MOST_CHARACTERS]
        raise ValueError(
            Message(
                "{device:{name}} cannot be used here ({why}). Use {device:cpu} or {device:cuda}.",
                name=device,
                why=why,
            )
        ) from None
    return engine, f"on {engine.name}"
