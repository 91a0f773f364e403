"""What the commands share: how options are declared, lists of values, values from a TOML file, names of results."""

from __future__ import annotations

import re
import reprlib
import tomllib
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand

from siis.files import settle
from siis.results import MODEL
from siis.texts import did_you_mean, is_number

if TYPE_CHECKING:
    from siis.encode import EncoderChoice

RESULTS = Path("siis-results")


class Method(StrEnum):
    """Methods that ``siis reproduce`` compares."""

    svm = "svm"
    gfhf = "gfhf"
    robust = "robust"
    lssc = "lssc"
    gtf = "gtf"
    spmr = "spmr"
    siis = "siis"
    siis_tuned = "siis-tuned"


def option(help: str, metavar: str | None = None, *, default: Any = None, **more: Any) -> Any:
    """Declare an option with a value."""
    return typer.Option(default, help=help, metavar=metavar, **more)


def flag(*names: str, help: str) -> Any:
    """Declare an option without a value."""
    return typer.Option(False, *names, help=help)


ENCODING = option("Encoding of text files.", default="utf-8")
SHEET = option("Sheet of an XLSX file. (default: the first)", "NAME")
HEADER_ROW = option("Row of the column names in CSV or XLSX. (default: found)", "N", min=1)
IMAGE_FOLDER = option("Folder of the files that it names. (default: that of the table)", "DIR")
OVERWRITE = flag("--overwrite", help="Replace results of another table in the output folder.")
QUIET = flag("--quiet", "-q", help="Print errors only.")
SUMMARY_AS_JSON = flag("--json", help="Print the summary as JSON.")


def out_folder(name: str | Path) -> Path:
    """Read the name of the folder of the results; without a name, they would go into the current folder."""
    if not str(name).strip():
        raise typer.BadParameter("must name a folder; found an empty name. For the current folder, write --out .")
    return Path(name)


def model_file(path: Path) -> Path:
    """The model in a folder, or the file itself."""
    found = path / MODEL if path.is_dir() else path
    settle(found.parent)
    if not found.is_file():
        raise ValueError(
            f"{found} must be a model of siis fit; there is no such file. Name the folder of the results "
            "(--results DIR for explain and corrections), or fit first: siis fit DATA."
        )
    return found


def chosen_encoder(
    source: str | None,
    size: int | None = None,
    mean: list[float] | None = None,
    std: list[float] | None = None,
    tokenizer: Path | None = None,
) -> EncoderChoice | None:
    """The encoder and its options; None without an encoder."""
    from siis.encode import EncoderChoice  # noqa: PLC0415  (heavy)

    if source is None:
        given = {"--encoder-size": size, "--encoder-mean": mean, "--encoder-std": std, "--tokenizer": tokenizer}
        lonely = [name for name, value in given.items() if value not in (None, [])]
        if lonely:
            raise ValueError(f"{lonely[0]} goes with an encoder; found none. Name one with --encoder.")
        return None
    less, over = (tuple(numbers) if numbers else None for numbers in (mean, std))
    return EncoderChoice(source, size, less, over, None if tokenizer is None else str(tokenizer))


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
        if is_list:
            defaults[name] = [str(item) for item in (value if isinstance(value, list) else [value])]
        else:
            defaults[name] = value if is_flag else str(value)  # as on the command line
    ctx.default_map = {**(ctx.default_map or {}), **defaults}
    return path


class ListCommand(TyperCommand):
    """Repeats an option of several values before each further value that fits it."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Name arguments as the help does, without Typer's braces."""
        pieces = (piece.replace("}", "").replace("{", "") for piece in super().collect_usage_pieces(ctx))
        return [re.sub(r"(\.\.\.)+$", "...", piece) for piece in pieces]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Spread the values, then parse as usual."""
        several = {name for param in self.params if getattr(param, "multiple", False) for name in param.opts}
        spread: list[str] = []
        option, fresh = "", False
        for k, text in enumerate(args):
            if text == "--":
                spread += args[k:]
                break
            if option and not fresh and FITS.get(option, _is_word)(text):
                spread += [option, text]
                continue
            option = text if text in several else option if fresh else ""
            fresh = text in several
            spread.append(text)
        return list(super().parse_args(ctx, spread))


def _is_word(text: str) -> bool:
    return not text.startswith("-")


def _is_no_option(text: str) -> bool:
    return not re.match("--?[A-Za-z]", text)  # - and -1 may be labels


FITS: dict[str, Callable[[str], bool]] = {
    "--encoder-mean": is_number,
    "--encoder-std": is_number,
    "--noise": is_number,
    "--methods": lambda text: text in set(Method),
    "--unlabelled": _is_no_option,
}
