"""Options that take several values: `--noise 0.2 0.4` is `--noise 0.2 --noise 0.4`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from typer.core import TyperCommand

from siis.cli.reproduce import Method
from siis.texts import is_number


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
