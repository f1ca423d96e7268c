"""From rows to messages on their way: one stream for the log, and one for the copies of tables."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from onefold.capture.announce import Announcer
from onefold.capture.large_rows import LargeRows, object_name
from onefold.capture.outbox import ConfirmationTracker, Outbox, PendingMessage
from onefold.capture.records import Origin, Record, change_records
from onefold.core.retry import retry_until_stopped
from onefold.core.shutdown import Stop
from onefold.messages.change_records import _TAIL, MAX_MESSAGE_BYTES, encode_record, message_head, reference_message
from onefold.mysql.binlog.events import RowsChanged
from onefold.mysql.table import Structure

OPEN = 8_000_000
"""The most bytes of messages that a stream has begun and not sent: of many tables, each has one."""
_KNOWN_ORIGINS = 100_000


@dataclass(frozen=True)
class Publishing:
    """What the streams share."""

    source: str
    dataset: str
    announcer: Announcer
    outbox: Outbox
    large_rows: LargeRows
    stop: Stop
    limit: int = MAX_MESSAGE_BYTES


@dataclass
class _Open:
    """A message that is begun."""

    parcel: MessageBuilder
    ticket: PendingMessage
    track: ConfirmationTracker[Any]
    large: Record | None = field(default=None, repr=False)


class MessageBatcher:
    """Packs the records of one thread. `flush` may be called by another one."""

    def __init__(self, way: Publishing) -> None:
        self._way = way
        self._lock = threading.RLock()
        self._origins: dict[tuple[str, Structure], Origin] = {}
        self._heads: dict[str, bytes] = {}
        self._open: dict[str, _Open] = {}
        self._bytes = 0
        self.rows = 0
        self.losses: Counter[str] = Counter()
        """Values that BigQuery cannot hold, by table, column and kind."""

    def origin(self, database: str, structure: Structure) -> Origin:
        """Where rows come from; their table is there, and announced."""
        known = self._origins.get((database, structure))
        if known is None:
            if len(self._origins) >= _KNOWN_ORIGINS:
                self._origins.clear()
            table = self._way.announcer.tenant_table(self._way.source, database, structure)
            known = Origin(self._way.source, database, table)
            self._origins[(database, structure)] = known
        return known

    def changes(self, event: RowsChanged, track: ConfirmationTracker[Any]) -> None:
        """The records of an event of the log."""
        self.records(change_records(self.origin(event.database, event.structure), event), track)
        self.note_losses(event.structure.table, event.losses)

    def records(self, records: Iterable[Record], track: ConfirmationTracker[Any]) -> None:
        """Pack records, and send the messages that are full.

        Raises:
            Stopped, Rejected.
        """
        with self._lock:
            for record in records:
                self._add(record, track)
            if self._bytes > OPEN:
                self.flush()

    def note_losses(self, table: str, found: Iterable[tuple[tuple[str, str], int]]) -> None:
        for (column, kind), count in found:
            self.losses[f"{table}.{column}: {kind}"] += count

    def flush(self) -> None:
        """Send all that is packed."""
        with self._lock:
            for name in list(self._open):
                self._send(name)

    def _add(self, record: Record, track: ConfirmationTracker[Any]) -> None:
        metadata = record["metadata"]
        name = f"{metadata['table_name']}_v_{metadata['table_version']}"
        data = encode_record(record)
        open_ = self._open.get(name)
        if open_ and not (open_.parcel.takes(data) and open_.track is track):
            self._send(name)
            open_ = None
        if open_ is None:
            open_ = self._open[name] = _Open(
                MessageBuilder(self._head(name, metadata), self._way.limit), track.begin(), track
            )
        open_.parcel.add(data)
        self._bytes += len(data)
        self.rows += 1
        if open_.parcel.too_large:
            open_.large = record
            self._send(name)

    def _head(self, name: str, metadata: Record) -> bytes:
        head = self._heads.get(name)
        if head is None:
            head = self._heads[name] = message_head(self._way.dataset, metadata["table_name"], metadata["table_version"])
        return head

    def _send(self, name: str) -> None:
        """The ticket was taken when the message was begun: what breaks off here is never taken for confirmed."""
        open_ = self._open.pop(name)
        self._bytes -= sum(map(len, open_.parcel.records))
        data = open_.parcel.data()
        if open_.large is not None:
            data = self._put_aside(open_.large, open_.parcel.head, data)
        self._way.outbox.send(data, partial(open_.track.confirm, open_.ticket))

    def _put_aside(self, record: Record, head: bytes, data: bytes) -> bytes:
        """A row too large for a message lies in the bucket before the message that refers to it is sent."""
        put = partial(self._way.large_rows.put, object_name(record, data), data)
        return reference_message(head, retry_until_stopped(put, self._way.stop))


@dataclass
class MessageBuilder:
    """A message while it is packed. One record always has room, however large it is."""

    head: bytes
    limit: int = MAX_MESSAGE_BYTES
    records: list[bytes] = field(default_factory=list)
    size: int = 0

    def __post_init__(self) -> None:
        self.size = len(self.head) + len(_TAIL)

    def takes(self, record: bytes) -> bool:
        """Whether a record has room beside the others."""
        return not self.records or self.size + len(record) + 1 <= self.limit

    def add(self, record: bytes) -> None:
        self.size += len(record) + bool(self.records)
        self.records.append(record)

    @property
    def too_large(self) -> bool:
        return self.size > self.limit

    def data(self) -> bytes:
        return self.head + b",".join(self.records) + _TAIL
