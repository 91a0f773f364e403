"""The command line: parses, calls, prints."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from siis.cli.app import app

__all__ = ["app"]


def __getattr__(name: str) -> Any:
    """Import the program when it is first used, so that `siis.cli.interrupts` is there before everything heavy."""
    if name != "app":
        raise AttributeError(f"module 'siis.cli' has no attribute {name!r}")
    from siis.cli.app import app as program  # noqa: PLC0415

    globals()["app"] = program  # not the module of that name
    return program
