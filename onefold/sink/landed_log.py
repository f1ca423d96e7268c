"""The log of the rows that landed: one line for a message, and one more for each table with a problem."""

from __future__ import annotations

from collections.abc import Sequence

from onefold.core.errors import TryAgain
from onefold.core.text import counted
from onefold.messages.change_records import ChangeMessages
from onefold.messages.consumer import MessageLog
from onefold.sink.appends import LandingResult

# A log line holds the first reasons why rows of a message were refused. The dead letters hold the reason for each row.
_MAX_LOGGED_REASONS = 5


def log_landed(message_log: MessageLog, messages: ChangeMessages, landed: Sequence[LandingResult]) -> None:
    """Log what became of the rows of a message.

    Args:
        message_log: the log of the message.
        messages: the message.
        landed: what became of the rows of each of its tables.
    """
    for one in landed:
        if one.error:
            _log_failed(message_log, one)
    refused = [*(reason for one in landed for reason in one.refused.values()), *(why for _, why in messages.unnamed)]
    rows = sum(one.rows for one in landed)
    is_one = len(landed) == 1
    tables = f".{landed[0].message.versioned_table}" if is_one else ""
    text = f"{messages.dataset}{tables}: {rows} rows landed" + ("" if is_one else f" in {counted(len(landed), 'table')}")
    message_log.log(
        "ERROR" if refused else "INFO",
        f"{text}, {len(refused)} do not fit and are dead-lettered" if refused else text,
        "landed",
        rows=rows,
        refused=len(refused),
        reasons=list(dict.fromkeys(refused))[:_MAX_LOGGED_REASONS] or None,
        **({} if is_one else {"tables": len(landed)}),
    )


def _log_failed(message_log: MessageLog, landed: LandingResult) -> None:
    message, error = landed.message, str(landed.error)
    is_again = isinstance(landed.error, TryAgain)
    message_log.log(
        "WARNING" if is_again else "ERROR",
        f"to be delivered again alone: {error}" if is_again else f"dead-lettered: {error}",
        "try_again" if is_again else "put_aside",
        reason=error,
        table=message.table,
        version=message.version,
        rows=len(message.records),
    )
