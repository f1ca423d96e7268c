"""The entries of the ledger of a job that refreshes views."""

from __future__ import annotations

import sys

from onefold.changes.ledger import Ledger
from onefold.core.log import LogSeverity
from onefold.ports.rows import Row, RowInserter
from onefold.refresh.kind import Record
from onefold.settings.environment import Settings
from onefold.views.recorder import Recorder


def ledger_recorder(rows: RowInserter, settings: Settings) -> Record | None:
    """Return what records the changes of a current view before a merge writes it; None where no ledger is set.

    Where the account may not append to the ledger, the view keeps the rows for the next refresh.

    Args:
        rows: appends rows to tables.
        settings: those of the installation.
    """
    dataset = settings.changes_dataset
    if not dataset:
        return None

    def say(severity: LogSeverity, text: str, event: str, row: Row) -> None:  # noqa: ARG001 the driver's log has lines of text
        sys.stderr.write(f"{text}\n")

    # Several tables are merged at a time: each view has a recorder of its own.
    return lambda kind: lambda plan: Recorder(Ledger(rows, dataset), say).record(kind, plan)
