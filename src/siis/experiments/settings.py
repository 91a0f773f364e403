"""What the command line hands to an experiment."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

T = TypeVar("T")
Track = Callable[[Iterable[Any], int, str], Iterable[Any]]


@dataclass(frozen=True)
class Options:
    """Settings of a reproduction."""

    out: Path
    runs: int  # contaminations (or random problems)
    noise: tuple[float, ...]
    methods: tuple[str, ...] | None
    data: Path | None
    jobs: int  # number of processes
    track: Track  # wraps (iterable, length, title) to show progress

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
            results: Iterable[T] = (_alone(function, *call) for call in calls)
        else:
            parallel = Parallel(self.jobs, return_as="generator_unordered", pre_dispatch=2 * self.jobs)
            results = parallel(delayed(_alone)(function, *call) for call in calls)
        yield from self.track(results, len(calls), title)


def _alone(function: Callable[..., T], *call: Any) -> T:
    """Run with one thread for linear algebra: processes share the cores, and their number changes no result."""
    with threadpool_limits(1, user_api="blas"):
        return function(*call)
