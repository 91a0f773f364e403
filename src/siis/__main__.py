"""The program `siis`, also `python -m siis`."""

import traceback
from typing import Any

from siis.app.cli.interrupts import end, install_sigint_handler


def main() -> None:
    """Run a command; Ctrl-C works before anything heavy is imported."""
    install_sigint_handler()
    code: Any = 0
    try:
        from siis.app.cli.program import app  # noqa: PLC0415  (heavy)

        app()
    except SystemExit as problem:
        code = problem.code
    except Exception:  # a mistake of ours: shown in full
        traceback.print_exc()
        code = 1
    end(code)


if __name__ == "__main__":
    main()
