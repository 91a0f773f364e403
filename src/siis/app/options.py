"""The options of a fit, as the summary keeps them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from siis.plain_data import from_plain, to_plain
from siis.results import CLEANLAB, OWN, QUERIES
from siis.tables import Roles


@dataclass(frozen=True)
class FitOptions:
    """The options of a fit."""

    data: str  # path of the file or folder
    roles: Roles = field(default_factory=Roles)
    corrections: tuple[str, ...] = ()  # paths
    title: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)  # of SIISClassifier; others have their defaults
    queries: int = QUERIES  # examples to label next, at most
    issue_columns: str = OWN  # columns of label_issues.csv: "siis" or "cleanlab"
    more: tuple[str, ...] = ()  # paths of further files with the same columns
    demo: bool = False  # the digits of ``siis demo``, drawn by ``random_state``; ``data`` is then a name
    write_table: str = ""  # path of a copy of the table with the predictions as columns, or ""
    issues: int = 0  # label issues to list; 0: as many as are estimated to be wrong

    def __post_init__(self) -> None:
        if self.issue_columns not in (OWN, CLEANLAB):
            raise ValueError(f"issue_columns must be {OWN!r} or {CLEANLAB!r}; found {self.issue_columns!r}")
        for name, value in self.parameters.items():
            items = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else [value]
            if not all(isinstance(item, str | float | int | None) for item in items):
                raise ValueError(
                    f"{name} must be a text, a number, None, or several of them in a list or a dict; found {value!r}"
                )
        if self.demo and not isinstance(self.parameters.get("random_state"), int):
            raise ValueError("the demo must have an integer as random_state")

    @property
    def files(self) -> tuple[str, ...]:
        """The paths of all files."""
        return (self.data, *self.more)

    def to_plain(self) -> dict[str, Any]:
        """The options as values for JSON."""
        return to_plain(self)[0]

    @classmethod
    def from_plain(cls, found: Any) -> FitOptions:
        """Rebuild options; ValueError where it is something else."""
        options: FitOptions = from_plain(cls, found, {})
        return options
