"""Records changes in the ledger before a view shows them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from onefold.changes.ledger import Ledger
from onefold.changes.table import row_of
from onefold.changes.versions import ReportedChange
from onefold.core.errors import OnefoldError, TryAgain
from onefold.core.log import LogSeverity
from onefold.core.text import counted
from onefold.ports.rows import Row
from onefold.refresh.announce import MAX_KEPT, kept_row, kept_rows, without_rows
from onefold.refresh.kind import ViewKind
from onefold.refresh.plan import ViewPlan
from onefold.views.ledger_entries import entries_of_plan

Say = Callable[[LogSeverity, str, str, Row], None]
"""Called with the severity, the text and the event of a line of the log, and a row that could not be appended."""


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass
class Recorder:
    """Records the changes of the views of one table, for one message or command.

    Attributes:
        ledger: where entries are appended.
        say: logs what could not be appended.
        reported: the version that a message names and what it reports of it.
        now: returns the present time.
    """

    ledger: Ledger
    say: Say
    reported: tuple[str, ReportedChange] | None = None
    now: Callable[[], datetime] = _now
    _recorded: set[str] = field(default_factory=set, init=False)
    _logged: set[str] = field(default_factory=set, init=False)
    _has_reported: bool = field(default=False, init=False)

    def record(self, kind: ViewKind, plan: ViewPlan) -> tuple[str, ...]:
        """Append what a plan changes, and rows that could not be appended before.

        So each change is recorded at least once, even where the process dies in between: its identifier is the same when the
        message comes again, and the view of the ledger lists it once. Rows that are refused are logged, each by the message
        that brought it, and kept with the view until the next refresh; the view is written all the same.

        Returns:
            What the view has to keep, as `ViewPlan.unannounced`.

        Raises:
            TryAgain: an error of the ledger that may pass; the view has to wait.
        """
        found = entries_of_plan(kind, plan, self.reported, self.now()) if self._may_change(plan) else ()
        entries = [one for one in found if one.id not in self._recorded]
        before, own = list(kept_rows(plan.unannounced)), list(map(row_of, entries))
        rows = [*before, *own]
        if rows:
            try:
                self.ledger.append(rows)
            except TryAgain:
                raise
            except OnefoldError as error:
                self._log_refused(before, own, error)
                kept = () if plan.action == "remove" else tuple(map(_fitting, rows))
                return (*without_rows(plan.unannounced), *kept)
        self._recorded |= {entry.id for entry in entries}
        self._has_reported = True
        return without_rows(plan.unannounced)

    def _may_change(self, plan: ViewPlan) -> bool:
        """Return whether a plan may have entries: after a shortcut only for what a message reports, once."""
        return not plan.shortcut or (self.reported is not None and not self._has_reported)

    def _log_refused(self, before: Sequence[Row], own: Sequence[Row], error: OnefoldError) -> None:
        """Log the rows of this message, each once however many views it has, and the number of those before it."""
        for row in self._not_logged(own):
            self.say("ERROR", f"a change of {row['dataset']}.{row['table']} is not recorded: {error}", "unrecorded", row)
        if rest := self._not_logged(before):
            text = f"{counted(len(rest), 'change')} that earlier messages logged are still not recorded"
            self.say("ERROR", f"{text}: {error}", "unrecorded", {"earlier": len(rest)})

    def _not_logged(self, rows: Sequence[Row]) -> list[Row]:
        found = [row for row in rows if row.get("id") not in self._logged]
        self._logged |= {str(row.get("id")) for row in found}
        return found


def _fitting(row: Row) -> str:
    """Return a row as a view keeps it: without its details where it is long, because the log has all of them."""
    text = kept_row(row)
    return text if len(text) <= MAX_KEPT else kept_row({**row, "operations": [], "effects": [], "settings": []})
