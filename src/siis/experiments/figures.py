"""Figures as SVG and PNG, the same bytes for the same input."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

STYLE = {
    "svm": ("SVM", "#7f7f7f", "v"),
    "gfhf": ("GFHF", "#1f77b4", "o"),
    "lssc": ("LSSC", "#2ca02c", "s"),
    "gtf": ("GTF", "#ff7f0e", "^"),
    "spmr": ("SPMR", "#9467bd", "D"),
    "robust": ("robust Laplacian", "#17becf", "P"),
    "siis": ("SIIS", "#d62728", "*"),
    "siis-tuned": ("SIIS, other graph", "#8c1515", "X"),
}


def draw(path: Path, size: tuple[float, float], paint: Callable[[Any, Any], None]) -> None:
    """Save the figure that ``paint(pyplot, figure)`` draws, as .svg and .png; size in inches."""
    import matplotlib as mpl  # noqa: PLC0415 - heavy, and only figures need it

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    with plt.rc_context(
        {"svg.hashsalt": "siis", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    ):
        figure = plt.figure(figsize=size, layout="constrained")
        paint(plt, figure)
        figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
        figure.savefig(path.with_suffix(".png"), dpi=130)
        plt.close(figure)
