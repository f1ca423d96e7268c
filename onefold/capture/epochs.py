"""Epochs: the first section of each position. An epoch rises when the log is another one or has lost its position."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from onefold.capture.checkpoint import Checkpoint, CopyRequest, Progress
from onefold.capture.source import LogLost
from onefold.capture.state import lowest
from onefold.core.log import log
from onefold.mysql.catalog import TableName
from onefold.mysql.gtid import GtidSet

_MAX_SHOWN_GTIDS = 2_000
"""Characters of a GTID set in a log line: a set of another server may have a megabyte."""


def next_epoch(last: int, now: float) -> int:
    """Return an epoch that was never used before.

    Rows wait for days in topics and dead letters, so that an epoch must not be used twice. The time avoids that where the
    checkpoint was lost; the last epoch avoids it where the clock went backwards, or has not moved.

    Args:
        last: the epoch of the checkpoint; 0 without a checkpoint.
        now: seconds since 1970.

    Examples:
        >>> next_epoch(3, 1_700_000_000.5), next_epoch(1_700_000_000, 1_700_000_000.9), next_epoch(1_700_000_000, 5.0)
        (1700000000, 1700000001, 1700000001)
    """
    return max(last + 1, int(now))


def epoch_with_copies(found: Checkpoint, epoch: int, reached: Progress, tables: Iterable[TableName]) -> Checkpoint:
    """Return a checkpoint of a new epoch in which tables are copied again.

    Copies and delete scans of the last epoch are dropped: whatever they would publish ranks below the new copies.

    Args:
        found: the last checkpoint.
        epoch: the new epoch.
        reached: where reading goes on, with a position of any epoch.
        tables: the tables to copy.
    """
    position = reached.position and replace(reached.position, epoch=epoch)
    requests = tuple(CopyRequest(table, position) for table in tables) if position else ()
    return replace(
        found, epoch=epoch, reached=replace(reached, position=position), copy_requests=requests, copies=(), delete_scans=(),
        copied=True,
    )  # fmt: skip


def epoch_by_gtids(found: Checkpoint, epoch: int) -> Checkpoint:
    """Return a checkpoint of a new epoch that reads on behind the executed transactions. Running copies start again."""
    tables = {
        *(request.table for request in found.copy_requests),
        *(TableName(copy.database, copy.table) for copy in found.copies),
    }
    requests = tuple(CopyRequest(table, lowest(epoch)) for table in sorted(tables))
    reached = Progress(None, found.reached.executed, prepared=found.reached.prepared)
    return replace(found, epoch=epoch, reached=reached, copy_requests=requests, copies=())


def log_new_epoch(new: Checkpoint, error: LogLost, by_gtids: bool, lost: GtidSet) -> None:
    """Log that an epoch begins.

    Args:
        new: the first checkpoint of the epoch.
        error: why the log cannot be read on from the last position.
        by_gtids: whether the log is read on behind the executed transactions, without copies.
        lost: captured transactions that the server does not have.
    """
    then = "the log is read on by GTIDs" if by_gtids else f"{len(new.copy_requests)} tables are copied again"
    shown = str(lost)[:_MAX_SHOWN_GTIDS]
    without = f"; transactions were captured that this server does not have: {shown}" if lost else ""
    log(
        "WARNING" if by_gtids else "ERROR", f"{error}{without}; epoch {new.epoch} begins, {then}",
        event="epoch_raised", epoch=new.epoch, reason=str(error), by_gtid=by_gtids, tables=len(new.copy_requests),
        lost_gtids=shown or None,
    )  # fmt: skip
