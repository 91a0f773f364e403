"""`siis review`: the report in the browser, with every decision saved at once and fitted in the background."""

from __future__ import annotations

import errno
import os
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from siis.app.cli.interrupts import set_interrupt_message, sigint_raises
from siis.app.cli.parsing import RESULTS, model_file, option
from siis.app.cli.terminal import (
    announce_reading,
    in_background,
    print_line,
    printable,
    report_errors,
)
from siis.results import REPORT_DATA

if TYPE_CHECKING:
    from siis.app.review import ReviewServer, Session

TAKEN = (errno.EADDRINUSE, errno.EACCES)
POLL = 0.2  # seconds until Ctrl-C takes effect


def review(
    results: Path = typer.Argument(RESULTS, metavar="RESULTS", show_default=False, help="Results folder to review."),
    port: int = option("Port of the page. (default: any free port)", default=0, min=0, max=65535),
    by: str | None = option("Reviewer, kept with each decision. (default: your user name)", "NAME"),
    opened: bool | None = typer.Option(
        None, "--open/--no-open", help="Open the browser. (default: if this is a terminal on a desktop)"
    ),
) -> None:
    """Review labels in the browser; each decision is saved and fitted.

    Prints a link that works on this machine only. Each decision is written to RESULTS/decisions.jsonl at once. One
    second after the last decision, the model is refitted in the background, as by siis corrections: the files in
    RESULTS and the list in the browser are updated. Ctrl-C ends the review; siis review continues it later. Run it in
    the folder in which siis fit was run.

    \b
    Examples:
      siis review results
      siis review results --no-open --port 8800
    """
    with report_errors(f"Files in {results} are as they were."):
        announce_reading(results, False)
        from siis.app.report import read_report  # noqa: PLC0415
        from siis.app.review import Session  # noqa: PLC0415
        from siis.app.rounds import Rounds, former_round, options_of  # noqa: PLC0415  (heavy)
        from siis.decisions import Journal, user_name  # noqa: PLC0415

        _, table = options_of(results, "siis review")
        report = read_report(results / REPORT_DATA)
        with Journal(results, table, user_name() if by is None else by) as journal:
            for note in filter(None, (journal.note, journal.others())):
                print_line(f"{note}.")
            former = in_background(lambda: former_round(results, model_file(results), "siis review"))
            rounds = in_background(lambda: Rounds(former, results, journal))

            session = Session(journal, report, rounds.ids, former.checked, rounds.run)
            with _served(session, port) as server:
                if journal.made:
                    print_line(f"{_saved(session)} from before.")
                session.start()
                _print_link(server, opened)
                _serve(server, session)


def _served(session: Session, port: int) -> ReviewServer:
    from siis.app.review import ReviewServer  # noqa: PLC0415

    try:
        return ReviewServer(session, port)
    except OSError as problem:
        if problem.errno not in TAKEN:
            raise
        raise ValueError(
            f"--port must be one that is free, and that you may use; {port} is not: {problem.strerror}. Choose "
            "another, or none: then a free one is taken."
        ) from problem


def _print_link(server: ReviewServer, opened: bool | None) -> None:
    print_line("Open this link to review; Ctrl-C ends it, and nothing is lost.")
    typer.echo(server.link)
    sys.stdout.flush()
    if is_desktop() if opened is None else opened:
        webbrowser.open(server.link)


def is_desktop() -> bool:
    """Whether this is a local terminal of a desktop, which has a browser."""
    if not (sys.stdout.isatty() and sys.stderr.isatty()) or "SSH_CONNECTION" in os.environ:
        return False
    return sys.platform in ("darwin", "win32") or bool({"DISPLAY", "WAYLAND_DISPLAY"} & set(os.environ))


def _serve(server: ReviewServer, session: Session) -> None:
    try:
        with sigint_raises():
            server.serve_forever(POLL)
    except KeyboardInterrupt:
        is_fitted = session.end()
        where = printable(str(session.journal.path.parent))
        more = "The results hold them all." if is_fitted else f"siis review {where} will fit those that are new."
        set_interrupt_message(f"{_saved(session)}. {more}" if session.journal.made else "Nothing was decided.")
        raise


def _saved(session: Session) -> str:
    count, path = len(session.journal.made), printable(str(session.journal.path))
    return f"{count:,} {'decision is' if count == 1 else 'decisions are'} saved in {path}"
