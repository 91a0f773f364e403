"""A review at work: decisions are kept, the results are fitted anew in the background, the newest decisions first."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Container, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from siis.app.messages import PROBLEMS, error_sentence
from siis.app.report import ReportData, render
from siis.app.report.data import digest, to_json
from siis.decisions import KEPT, UNDONE, Decision, Journal

PAUSE = 1.0  # seconds without a new decision, after which to fit


class Ended(Exception):
    """The review has ended: what was computed is not written any more."""


@dataclass(frozen=True, eq=False)
class Refit:
    """The report of results that are ready to be written."""

    report: ReportData
    write: Callable[[], None]


class Session:
    """State of a review: decisions on ``ids``, report, ``fitted`` verified labels, refits ``pause`` seconds later."""

    def __init__(
        self,
        journal: Journal,
        report: ReportData,
        ids: Container[str],
        fitted: Mapping[str, str],
        refit: Callable[[Mapping[str, str]], Refit],  # with these labels verified, by id
        pause: float = PAUSE,
    ) -> None:
        self.journal = journal
        self._ids, self._refit, self._pause = ids, refit, pause
        self._earlier, self._fitted, self._listed = dict(fitted), dict(fitted), dict(fitted)
        self._given: dict[str, str | None] = {}  # of all that was ever listed: a page may have the list before
        self._failed = ""
        self._failed_for: dict[str, str] | None = None
        self._number = 0
        self._is_ended = False
        self._news = threading.Condition()
        self._writing = threading.Lock()
        self._show(report)
        unknown = next((name for name in journal.made if name not in ids), None)
        if unknown is not None:
            raise ValueError(
                f"{journal.path} must hold decisions on examples of the data; there is no id {unknown!r} in them. "
                "Move the file away, or review the results that it belongs to."
            )

    def start(self) -> None:
        """Fit in the background, from now on, whatever the results do not hold yet."""
        threading.Thread(target=self._work, daemon=True, name="refit").start()

    def decide(self, decision: Decision) -> None:
        """Save a decision on an example of the data; a confirmed label must be the one that the page lists."""
        if decision.id not in self._ids:
            raise ValueError(f"there is no example {decision.id!r} in these results")
        if decision.decision != UNDONE and decision.label not in self._classes:
            raise ValueError(f"there is no class {decision.label!r} in these results")
        with self._news:
            if decision.decision == KEPT and self._given.get(decision.id) != decision.label:
                raise ValueError(f"{decision.id!r} is not listed with a label {decision.label!r} to keep")
            self.journal.add(decision)
            self._changed()

    def state(self) -> dict[str, Any]:
        """What a page polls: the number of the state, the digest of the report, decisions, file, isFitted, failed."""
        with self._news:
            return {
                "number": self._number,
                "report": self._digest,
                "decisions": [[one.id, one.decision, one.label] for one in self.journal.made.values()],
                "file": str(self.journal.path),
                "isFitted": self._verified() == self._listed,
                "failed": self._failed,
            }

    def page(self) -> str:
        """The newest report, as a page that talks to this server."""
        with self._news:
            return self._page

    def end(self) -> bool:
        """Abandon a running fit, or wait while it writes; returns whether the results hold all decisions."""
        with self._news:
            self._is_ended = True
            self._news.notify_all()
        with self._writing, self._news:
            return self._verified() == self._fitted

    def _verified(self) -> dict[str, str]:
        return self.journal.checked(self._earlier)

    def _changed(self) -> None:
        self._number += 1
        self._news.notify_all()

    def _show(self, report: ReportData) -> None:
        self._classes = frozenset(report.classes)
        self._given |= {one.id: one.given for one in report.suspects}
        self._given |= {one.id: one.given for one in report.queries}
        self._digest = digest(to_json(report))
        self._page = render(report, str(self.journal.path))

    def _next(self) -> dict[str, str]:
        """Wait for decisions that the results do not hold, and for a pause after them."""
        with self._news:
            while not self._is_ended:
                verified = self._verified()
                if verified in (self._fitted, self._failed_for):
                    self._news.wait()
                elif not self._news.wait(self._pause):
                    return verified
        raise Ended

    def _work(self) -> None:
        with suppress(Ended):
            while True:
                verified = self._next()
                try:
                    new = self._refit(verified)
                    self._write(new, verified)
                except Ended:
                    raise
                except PROBLEMS as problem:
                    self._fail(error_sentence(problem), verified)
                except Exception:  # a mistake of ours: shown in full
                    traceback.print_exc()
                    self._fail("siis failed unexpectedly; see its terminal.", verified)
                else:
                    with self._news:
                        self._failed, self._failed_for = "", None
                        self._listed = verified
                        self._show(new.report)
                        self._changed()

    def _fail(self, sentence: str, verified: dict[str, str]) -> None:
        with self._news:
            self._failed, self._failed_for = sentence, verified
            self._changed()

    def _write(self, new: Refit, verified: dict[str, str]) -> None:
        with self._writing:
            if self._is_ended:
                raise Ended
            new.write()
            with self._news:
                self._fitted = verified
