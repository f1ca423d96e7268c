"""The status of a running capture, and the log line that says it once a minute."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from onefold.capture.message_batcher import MessageBatcher
from onefold.capture.state import CaptureState
from onefold.core.log import LogSeverity, log
from onefold.core.text import shown_list
from onefold.mysql.binlog.events import LogPosition

_MAX_SHOWN_TABLES = 100
"""Tables in quarantine that the line names; their number is always in the line."""


@dataclass(frozen=True)
class CaptureStatus:
    """How far a capture has come, and what it has published since it started."""

    source: str
    position: LogPosition | None
    """Everything before it is confirmed."""
    lag_seconds: int | None
    """The age of the newest change that may be missing; None while it is unknown."""
    seconds_since_last_change: int | None
    """The age of the last transaction that was read; None before the first one."""
    rows: int
    copied_rows: int
    tables_waiting: int
    """For a copy."""
    tables_copying: int
    losses: Mapping[str, int]
    """The number of values that BigQuery cannot hold, by table, column and kind of loss."""
    quarantine: tuple[str, ...]
    """Tables whose rows are not published."""


def lag_seconds(as_of: int | None, now: float) -> int | None:
    """Return how old the data is that is complete as of a time; None if the time is unknown.

    Args:
        as_of: everything that was committed by then is confirmed. Seconds since 1970.
        now: the present time.

    Examples:
        >>> lag_seconds(1_000, 1_007.9), lag_seconds(1_010, 1_000), lag_seconds(None, 1_000)
        (7, 0, None)
    """
    return None if as_of is None else max(0, int(now) - as_of)


def status_of(
    source: str, state: CaptureState, changes: MessageBatcher, copies: MessageBatcher, timestamp: int, now: float
) -> CaptureStatus:
    """Return the present status.

    Args:
        source: the name of the source.
        state: of the capture.
        changes: the batcher of rows of the log.
        copies: the batcher of rows of copies.
        timestamp: of the last transaction that was read; 0 before the first one.
        now: seconds since 1970.
    """
    reached = state.log.reached
    waiting, copying = state.counts()
    # Other threads count meanwhile: `dict` copies a Counter at once, while its own `+` would fail at a new entry.
    losses = dict(Counter(dict(changes.losses)) + Counter(dict(copies.losses)))
    return CaptureStatus(
        source, reached.position, lag_seconds(reached.as_of, now), lag_seconds(timestamp or None, now), changes.rows,
        copies.rows, waiting, copying, losses,
        tuple(str(entry.table) for entry in state.quarantine.quarantined()),
    )  # fmt: skip


def log_status(severity: LogSeverity, status: CaptureStatus) -> None:
    """Log the confirmed position, the lag, the numbers of rows and of copies, losses, and the tables in quarantine."""
    position, shown = status.position, status.quarantine[:_MAX_SHOWN_TABLES]
    place = position and f"{position.file}, {position.offset}"
    behind = "" if status.lag_seconds is None else f", {status.lag_seconds:,} s behind the source"
    in_quarantine = f"; in quarantine: {shown_list(status.quarantine, _MAX_SHOWN_TABLES)}" if shown else ""
    log(
        severity, f"{status.source}: confirmed up to {place}{behind}{in_quarantine}",
        event="captured", source=status.source, position=position and position.sequence(), lag_seconds=status.lag_seconds,
        rows=status.rows, copied_rows=status.copied_rows, seconds_since_last_change=status.seconds_since_last_change,
        tables_waiting=status.tables_waiting, tables_copying=status.tables_copying, losses=status.losses or None,
        tables_in_quarantine=len(status.quarantine), quarantine=list(shown) or None,
    )  # fmt: skip
