"""Classify many examples from few, partly wrong labels, and find the wrong labels."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from siis.estimators.classifier import SIISClassifier
    from siis.estimators.multilabel import SIISMultilabelClassifier
    from siis.saved import load, save

__version__ = "0.2.0.dev0"

__all__ = ["SIISClassifier", "SIISMultilabelClassifier", "__version__", "load", "save"]

_HOMES = {
    "SIISClassifier": "siis.estimators.classifier",
    "SIISMultilabelClassifier": "siis.estimators.multilabel",
    "load": "siis.saved",
    "save": "siis.saved",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used: `import siis` itself costs nothing."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'siis' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
