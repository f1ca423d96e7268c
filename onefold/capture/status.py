"""The log line that says once a minute how far capture has come."""

from __future__ import annotations

from onefold.capture.message_batcher import MessageBatcher
from onefold.capture.state import CaptureState
from onefold.core.log import LogSeverity, log

_MAX_SHOWN_TABLES = 100
"""Tables in quarantine that the line names; their number is always in the line."""


def log_status(
    severity: LogSeverity, source: str, state: CaptureState, changes: MessageBatcher, copies: MessageBatcher,
    seconds_since_last_change: int | None,
) -> None:  # fmt: skip
    """Log the confirmed position, the numbers of rows and of copies, losses, and the tables in quarantine.

    Args:
        severity: of the line.
        source: the name of the source.
        state: of the capture.
        changes: the batcher of rows of the log.
        copies: the batcher of rows of copies.
        seconds_since_last_change: the age of the last transaction; None before the first one.
    """
    position = state.log.reached.position
    waiting, copying = state.counts()
    names = [str(entry.table) for entry in state.quarantine.quarantined()]
    in_quarantine = f"; in quarantine: {', '.join(names[:_MAX_SHOWN_TABLES])}" if names else ""
    log(
        severity, f"{source}: confirmed up to {position and f'{position.file}, {position.offset}'}{in_quarantine}",
        event="captured", source=source, position=position and position.sequence(),
        rows=changes.rows, copied_rows=copies.rows, seconds_since_last_change=seconds_since_last_change,
        tables_waiting=waiting, tables_copying=copying, losses=dict(changes.losses + copies.losses) or None,
        tables_in_quarantine=len(names), quarantine=names[:_MAX_SHOWN_TABLES] or None,
    )  # fmt: skip
