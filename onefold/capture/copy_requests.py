"""Requests for copies of tables whose rows changed in a way that the log does not show."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from onefold.capture.state import CaptureState
from onefold.core.log import LogSeverity, log
from onefold.mysql.binlog.events import LogPosition
from onefold.mysql.catalog import TableName


def request_copies(
    state: CaptureState, tables: Iterable[TableName], since: LogPosition, reason: str, severity: LogSeverity = "NOTICE"
) -> None:
    """Request copies of tables, and log each request that is new.

    Args:
        state: of the capture.
        tables: the tables to copy. A table in quarantine is skipped: it is copied when it leaves.
        since: each copy has to be read at this position or later.
        reason: why the log is not enough, for the log line.
        severity: of the log line.
    """
    for table in state.request_copies(tables, since):
        log(
            severity, f"{table} is to be copied again: {reason}", event="copy_wanted", database=table.database,
            table=table.table, reason=reason, position=since.sequence(),
        )  # fmt: skip


@dataclass
class TransactionCopies:
    """The copies that the present transaction of the log has requested.

    An XA transaction that is prepared needs them again when it is committed.
    """

    state: CaptureState
    tables: set[TableName] = field(default_factory=set)

    def request(self, tables: Iterable[TableName], since: LogPosition, reason: str) -> None:
        """Request copies of tables that the transaction has changed.

        Args:
            tables: the tables to copy.
            since: each copy has to be read at this position or later.
            reason: why the log is not enough, for the log line.
        """
        requested = sorted(tables)
        self.tables.update(requested)
        request_copies(self.state, requested, since, reason)
