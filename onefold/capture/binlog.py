"""The adapter over `mysql-replication`: a server's binary log as rows, statements and ends of transactions.

The library connects and takes the log apart into events. Their bodies are read by `table_map` and `row_image`: its own
reading loses or refuses values (docs/capture.md, "Faults of servers and of the library").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pymysql
from pymysqlreplication import BinLogStreamReader
from pymysqlreplication import event as other_events
from pymysqlreplication import row_event as row_events

from onefold.capture.log_decoder import LogDecoder, RawEvent
from onefold.capture.log_events import LogEvent, Place
from onefold.capture.patterns import Patterns
from onefold.capture.server import Address, connect, dialect
from onefold.errors import NothingFound, Rejected, TryAgain

_NO_SUCH_PLACE = 1236
_DENIED = (1044, 1045, 1142, 1227)
_HEARTBEAT_SECONDS = 1
_CONNECTIONS = 2
"""What one reader opens: for the log, and for questions."""
_EVENTS = (
    other_events.FormatDescriptionEvent, other_events.RotateEvent, other_events.QueryEvent, other_events.XidEvent,
    other_events.XAPrepareEvent, other_events.GtidEvent, other_events.MariadbGtidEvent, other_events.ExecuteLoadQueryEvent,
    other_events.HeartbeatLogEvent, other_events.NotImplementedEvent, row_events.TableMapEvent, row_events.WriteRowsEvent,
    row_events.UpdateRowsEvent, row_events.DeleteRowsEvent, row_events.PartialUpdateRowsEvent,
)  # fmt: skip


@dataclass(frozen=True)
class Gtid:
    """A place in the log by what has been executed, in the server's own form."""

    epoch: int
    executed: str


def follow(
    address: Address, start: Place | Gtid, patterns: Patterns, server_id: int, blocking: bool = True
) -> Iterator[LogEvent]:
    """What the log holds from a place on; forever, or with `blocking=False` up to its present end.

    Args:
        server_id: a number that no other replica of the server has.

    Raises:
        NothingFound: the log does not have that place (any more).
        TryAgain: the connection was lost; whoever starts again has to look at the server first.
        InvalidInput, Rejected: an event cannot be read.
    """
    try:
        with connect(address) as connection:
            decoder = LogDecoder(dialect(connection), patterns, start.epoch)
        with closing(_reader(address, start, server_id, blocking, decoder.dialect.mariadb)) as reader:
            for event in reader:
                if isinstance(event, other_events.RotateEvent):
                    reader.table_map.clear()
                yield from decoder.read(_raw(event))
    except pymysql.err.MySQLError as error:
        raise _told(error) from error


def _reader(address: Address, start: Place | Gtid, server_id: int, blocking: bool, mariadb: bool) -> BinLogStreamReader:
    return BinLogStreamReader(
        address.settings(),
        server_id,
        blocking=blocking,
        resume_stream=True,
        # A table map whose number is known is not read again: until it restarts, which begins a new file, a server gives
        # a table another number whenever its structure changes.
        freeze_schema=True,
        **_from(start, mariadb),
        only_events=_EVENTS,
        filter_non_implemented_events=False,
        slave_heartbeat=_HEARTBEAT_SECONDS,
        pymysql_wrapper=_limited(pymysql.connect),
        enable_logging=False,
    )


def _from(start: Place | Gtid, mariadb: bool) -> dict[str, Any]:
    if isinstance(start, Gtid):
        return {"auto_position": start.executed, "is_mariadb": mariadb}
    # Told that it is MariaDB's, the library leaves out file and position, and reads the log from its very beginning.
    return {"log_file": start.file, "log_pos": start.offset}


def _limited(connect_: Callable[..., Any]) -> Callable[..., Any]:
    """The library connects again by itself: to whichever server answers by then, whose log may be another one."""
    left = _CONNECTIONS

    def wrapper(**settings: Any) -> Any:
        nonlocal left
        if not left:
            raise TryAgain("the connection to the source's log was lost")
        left -= 1
        return connect_(**settings)

    return wrapper


def _raw(event: Any) -> RawEvent:
    header = event.packet
    return RawEvent(
        header.event_type,
        header.timestamp,
        header.log_pos,
        header.event_size,
        header.flags,
        header.packet.get_all_data(),
        event,
    )


def _told(error: pymysql.err.MySQLError) -> Exception:
    code, text = (*error.args, "")[:2]
    if code == _NO_SUCH_PLACE:
        return NothingFound(f"the source's log does not have the place where reading was to start: {text}")
    if code in _DENIED:
        return Rejected(
            f"the source refuses its log: {text}; run for the user of capture: GRANT REPLICATION SLAVE, REPLICATION CLIENT, "
            "SELECT ON *.* TO ..."
        )
    return TryAgain(f"the source's log cannot be read: {error}")
