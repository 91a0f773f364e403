"""What the classifier says of its parameters and attributes, in the words of the command line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

OPTIONS = {
    "alpha": "--alpha",
    "bandwidth": "--bandwidth",
    "beta": "--beta",
    "client": "--cluster",
    "connectivity": "--connectivity",
    "device": "--device",
    "engine": "--engine",
    "laplacian": "--laplacian",
    "max_iter": "--max-iter",
    "method": "--method",
    "metric": "--metric",
    "n_components": "--n-components",
    "n_neighbors": "--n-neighbors",
    "neighbor_search": "--neighbor-search",
    "random_state": "--seed",
    "solver": "--solver",
    "tol": "--tol",
}
PHRASES = {  # attributes, methods and arguments, which the command line shows elsewhere
    "is_reached_ is False there and": "there",
    "(graph_score_ = ": "(graph score ",
    " (class_noise_rates_)": "",
    "label_issues() lists": "label_issues.csv lists",
    "affinity='precomputed'": "--graph",
    "alpha (times sample_weight)": "--alpha",
    "alpha or sample_weight": "--alpha",
    "scale X (as a dense array)": "scale the features",
    "needs a dense X; this one is sparse": "needs dense features; these are sparse",
    "rescale X": "rescale the features",
    "Rescale X": "Rescale the features",
    "y must hold": "the labels must hold",
    "y holds": "the labels hold",
    "y contains": "the labels contain",
}
NAMES = "|".join(OPTIONS)
OWNED = re.compile(rf"\b({NAMES}) of SIISClassifier\b")
SET = re.compile(rf"\b({NAMES})=('[^']*'|[\w.+-]*\w)")
TURNED = re.compile(r"\b([Rr]aise|[Ll]ower|or) (alpha|beta|tol)\b")  # elsewhere, these may be classes
LONG = re.compile(rf"\b({'|'.join(name for name in OPTIONS if '_' in name)})\b")  # no word of English


def in_options(message: str) -> str:
    """Replace parameters and attributes in a message by options and files."""
    for phrase, words in PHRASES.items():
        message = message.replace(phrase, words)
    message = OWNED.sub(lambda found: OPTIONS[found[1]], message)
    message = SET.sub(lambda found: f"{OPTIONS[found[1]]} {_value(found[2])}", message)
    message = TURNED.sub(lambda found: f"{found[1]} {OPTIONS[found[2]]}", message)
    return LONG.sub(lambda found: OPTIONS[found[1]], message)


@contextmanager
def said_in_options() -> Iterator[None]:
    """Name options in the errors of the classifier; those about files speak of options already."""
    try:
        yield
    except ValueError as problem:
        raise ValueError(in_options(str(problem))) from problem
    except RuntimeError as problem:
        raise RuntimeError(in_options(str(problem))) from problem


def _value(text: str) -> str:
    return text.strip("'")
