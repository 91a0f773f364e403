"""Options from a TOML file; the command line takes precedence."""

from __future__ import annotations

import reprlib
import tomllib
from pathlib import Path
from typing import Any

import typer

from siis.texts import did_you_mean


def read_config(ctx: typer.Context, path: Path | None) -> Path | None:
    """Make the values of a TOML file the defaults of the options."""
    if path is None:
        return None
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise typer.BadParameter(f"{path} must be a TOML file: {problem}") from None
    except RecursionError:
        raise typer.BadParameter(
            f"{path} must be a TOML file of options; its brackets are nested too deeply."
        ) from None
    options = {param.name: param for param in ctx.command.params if param.name not in ("config", "help")}
    defaults: dict[str, Any] = {}
    for key, value in found.items():
        name = "as_json" if key == "json" else key.replace("-", "_")
        if name not in options:
            known = sorted(str(option).replace("as_", "").replace("_", "-") for option in options)
            hint = did_you_mean(key.replace("_", "-"), known) or f"Known are {', '.join(known)}."
            raise typer.BadParameter(f"{path} sets {key!r}, which is no option of siis {ctx.info_name}. {hint}")
        is_list = getattr(options[name], "multiple", False) or options[name].nargs < 0
        is_flag = getattr(options[name], "is_flag", False)
        if is_flag != isinstance(value, bool):
            expected = "true or false" if is_flag else "a text or a number"
            raise typer.BadParameter(f"{path} must give {key!r} {expected}; found {reprlib.repr(value)}.")
        if isinstance(value, dict) or (isinstance(value, list) and not is_list):
            raise typer.BadParameter(f"{path} must give {key!r} one value; found {reprlib.repr(value)}.")
        defaults[name] = value if isinstance(value, bool) else _texts(value, is_list)
    ctx.default_map = {**(ctx.default_map or {}), **defaults}
    return path


def _texts(value: Any, is_list: bool) -> Any:
    """Values as on the command line."""
    if is_list:
        return [str(item) for item in (value if isinstance(value, list) else [value])]
    return str(value)
