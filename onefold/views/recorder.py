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
    _has_reported: bool = field(default=False, init=False)

    def record(self, kind: ViewKind, plan: ViewPlan) -> tuple[str, ...]:
        """Append what a plan changes, and rows that could not be appended before.

        So each change is recorded at least once, even where the process dies in between: its identifier is the same when the
        message comes again, and the view of the ledger lists it once. Rows that are refused are logged, and kept with the
        view until the next refresh; the view is written all the same.

        Returns:
            What the view has to keep, as `ViewPlan.unannounced`.

        Raises:
            TryAgain: an error of the ledger that may pass; the view has to wait.
        """
        found = entries_of_plan(kind, plan, self.reported, self.now()) if self._may_change(plan) else ()
        entries = [one for one in found if one.id not in self._recorded]
        rows = [*kept_rows(plan.unannounced), *map(row_of, entries)]
        if rows:
            try:
                self.ledger.append(rows)
            except TryAgain:
                raise
            except OnefoldError as error:
                self._log_refused(rows, error)
                kept = () if plan.action == "remove" else tuple(map(_fitting, rows))
                return (*without_rows(plan.unannounced), *kept)
        self._recorded |= {entry.id for entry in entries}
        self._has_reported = True
        return without_rows(plan.unannounced)

    def _may_change(self, plan: ViewPlan) -> bool:
        """Return whether a plan may have entries: after a shortcut only for what a message reports, once."""
        return not plan.shortcut or (self.reported is not None and not self._has_reported)

    def _log_refused(self, rows: Sequence[Row], error: OnefoldError) -> None:
        for row in rows:
            self.say("ERROR", f"a change of {row['dataset']}.{row['table']} is not recorded: {error}", "unrecorded", row)


def _fitting(row: Row) -> str:
    """Return a row as a view keeps it: without its details where it is long, because the log has all of them."""
    text = kept_row(row)
    return text if len(text) <= MAX_KEPT else kept_row({**row, "operations": [], "effects": [], "settings": []})
