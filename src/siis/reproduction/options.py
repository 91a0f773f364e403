"""What the experiments share: options, runs in parallel, and figures."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

T = TypeVar("T")
STYLE = {
    "svm": ("SVM", "#7f7f7f", "v"),
    "gfhf": ("GFHF", "#1f77b4", "o"),
    "lssc": ("LSSC", "#2ca02c", "s"),
    "gtf": ("GTF", "#ff7f0e", "^"),
    "spmr": ("SPMR", "#9467bd", "D"),
    "robust": ("robust Laplacian", "#17becf", "P"),
    "siis": ("SIIS", "#d62728", "*"),
    "siis-tuned": ("SIIS, other graph", "#8c1515", "X"),
}  # name, colour and marker of each method


@dataclass(frozen=True)
class Options:
    """Settings of a reproduction, as the command line gives them."""

    out: Path
    runs: int  # contaminations (or random problems)
    noise: tuple[float, ...]
    methods: tuple[str, ...] | None
    data: Path | None
    jobs: int  # number of processes
    track: Callable[[Iterable[Any], int, str], Iterable[Any]]  # wraps (iterable, length, title) to show progress

    def chosen(self, known: Iterable[str]) -> list[str]:
        """The chosen methods of an experiment."""
        known = list(known)
        found = [name for name in known if self.methods is None or name in self.methods]
        if not found:
            raise ValueError(
                f"this experiment knows the methods {', '.join(known)}; found {', '.join(self.methods or ())}"
            )
        return found

    def each(self, function: Callable[..., T], calls: list[tuple[Any, ...]], title: str) -> Iterator[T]:
        """Run a function on many argument tuples, in parallel, as they finish."""
        if self.jobs == 1:
            results: Iterable[T] = (_on_one_thread(function, *call) for call in calls)
        else:
            parallel = Parallel(self.jobs, return_as="generator_unordered", pre_dispatch=2 * self.jobs)
            results = parallel(delayed(_on_one_thread)(function, *call) for call in calls)
        yield from self.track(results, len(calls), title)


def _on_one_thread(function: Callable[..., T], *call: Any) -> T:
    """Run with one thread for linear algebra: processes share the cores, and their number changes no result."""
    with threadpool_limits(1, user_api="blas"):
        return function(*call)


def draw(path: Path, size: tuple[float, float], paint: Callable[[Any], None]) -> None:
    """Save what ``paint(figure)`` draws as .svg and .png, the same bytes for the same input; size in inches."""
    import matplotlib as mpl  # noqa: PLC0415 - heavy, and only figures need it

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    with plt.rc_context(
        {"svg.hashsalt": "siis", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    ):
        figure = plt.figure(figsize=size, layout="constrained")
        paint(figure)
        figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
        figure.savefig(path.with_suffix(".png"), dpi=130)
        plt.close(figure)
