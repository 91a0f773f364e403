"""The paper's data sets, and contamination of labels."""

from siis.datasets.real import Dataset, load_coil20, load_isolet, load_rcv1_4class
from siis.datasets.synthetic import (
    contaminate,
    draw_labelled,
    make_noisy_chain,
    make_noisy_double_moon,
)

__all__ = [
    "Dataset",
    "contaminate",
    "draw_labelled",
    "load_coil20",
    "load_isolet",
    "load_rcv1_4class",
    "make_noisy_chain",
    "make_noisy_double_moon",
]
