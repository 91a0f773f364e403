"""Options of a fit, in plain values for the summary."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from siis.encode import EncoderChoice
from siis.results import CLEANLAB, OWN, QUERIES
from siis.tables import Roles

PATHS = ("embeddings", "graph", "labels_file", "image_folder")
LISTS = ("features", "text", "annotators", "unlabelled")
FLAGS = ("text_only", "merge_classes")
ROLES = {"label", "id", "encoding", "encoder", "sheet", "header_row", "image", *LISTS, *FLAGS, *PATHS}
DEFAULT_ROLES: dict[str, Any] = {  # the roles that a summary leaves out
    **dict.fromkeys(ROLES),
    **{name: [] for name in LISTS if name != "features"},
    **dict.fromkeys(FLAGS, False),
    "encoding": "utf-8",
}


def _is_plain(value: Any) -> bool:
    """Whether a value of a parameter is one that ``siis fit`` gives: a text, a number, None or a list of texts."""
    if isinstance(value, list):
        return all(isinstance(item, str) for item in value)
    return isinstance(value, str | float | int | None)


@dataclass(frozen=True)
class FitOptions:
    """The options of a fit."""

    data: str  # path of the file or folder
    # fields of siis.tables.Roles, paths as text, the encoder as a dict; others have their defaults
    roles: dict[str, Any] = field(default_factory=dict)
    corrections: tuple[str, ...] = ()  # paths
    title: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    queries: int = QUERIES  # examples to label next, at most
    issue_columns: str = OWN  # columns of label_issues.csv: "siis" or "cleanlab"
    more: tuple[str, ...] = ()  # paths of further files with the same columns
    # the digits of ``siis demo``, drawn by ``random_state``; ``data`` is then a name
    demo: bool = False
    write_table: str = ""  # path of a copy of the table with the predictions as columns, or ""
    issues: int = 0  # label issues to list; 0: as many as are estimated to be wrong

    @property
    def files(self) -> tuple[str, ...]:
        """The paths of all files."""
        return (self.data, *self.more)

    @classmethod
    def from_plain(cls, found: Any) -> FitOptions:
        """The options that ``asdict`` and JSON made plain; ValueError where it is something else."""
        kinds = {
            **{"data": str, "roles": dict, "corrections": list, "title": str, "parameters": dict, "queries": int},
            **{"issue_columns": str, "more": list, "demo": bool, "write_table": str, "issues": int},
        }
        if not isinstance(found, dict) or {name: type(value) for name, value in found.items()} != kinds:
            raise ValueError("these are no options of siis fit")
        roles, parameters = {**DEFAULT_ROLES, **found["roles"]}, found["parameters"]
        lists = [found["corrections"], found["more"], *(roles.get(name) or [] for name in LISTS)]
        texts = [value for name, value in roles.items() if name not in (*LISTS, *FLAGS, "encoder", "header_row")]
        if not (
            found["issue_columns"] in (OWN, CLEANLAB)
            and set(roles) == ROLES
            and all(isinstance(value, str | None) for value in texts)
            and type(roles["header_row"]) in (int, type(None))
            and all(isinstance(roles[name], bool) for name in FLAGS)
            and all(isinstance(items, list) and all(isinstance(item, str) for item in items) for items in lists)
            and all(_is_plain(value) for value in parameters.values())
            and (isinstance(parameters.get("random_state"), int) or not found["demo"])
        ):
            raise ValueError("these are no values of options of siis fit")
        if roles["encoder"] is not None:
            EncoderChoice.from_plain(roles["encoder"])
        lists_of = {name: tuple(found[name]) for name in ("corrections", "more")}
        return cls(**{**found, "roles": roles, **lists_of})

    def to_roles(self) -> Roles:
        """The roles, with paths as paths and lists as tuples."""
        roles = self.roles
        return Roles(
            **{
                **roles,
                **{name: Path(path) for name in PATHS if (path := roles.get(name)) is not None},
                **{name: tuple(roles.get(name) or ()) for name in LISTS},
                "encoder": None if roles.get("encoder") is None else EncoderChoice.from_plain(roles["encoder"]),
                **{name: tuple(roles[name]) if roles.get(name) else None for name in ("features", "text")},
            }
        )
