"""Options that take several values: `--noise 0.2 0.4` is `--noise 0.2 --noise 0.4`."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand


class ListCommand(TyperCommand):
    """Repeats an option of several values before each further value that fits it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Spread the values, then parse as usual."""
        several = {name: param for param in self.params if getattr(param, "multiple", False) for name in param.opts}
        spread: list[str] = []
        option, fresh = "", False
        for k, text in enumerate(args):
            if text == "--":
                spread += args[k:]
                break
            if option and not fresh and _fits(text, several[option], ctx):
                spread += [option, text]
                continue
            option = text if text in several else option if fresh else ""
            fresh = text in several
            spread.append(text)
        return list(super().parse_args(ctx, spread))


def _fits(text: str, param: Any, ctx: Any) -> bool:
    """Whether the text is a value of the option: of its type, and no option itself."""
    try:
        param.type.convert(text, param, ctx)
    except Exception:  # whatever a type raises, the text is none of its values
        return False
    return not text.startswith("-") or text.lstrip("-")[:1].isdigit()
