"""From rows to messages: one batcher for the rows of the log, and one for the rows of copies."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from onefold.capture.large_rows import LargeRows, object_name
from onefold.capture.outbox import ConfirmationTracker, Outbox, PendingMessage
from onefold.capture.records import Origin, change_records
from onefold.capture.running_rules import RunningRules
from onefold.core.retry import retry_until_stopped
from onefold.core.shutdown import Stop
from onefold.landing.announce import Announcer
from onefold.messages.change_records import (
    MAX_MESSAGE_BYTES,
    TAIL,
    VERSION_FIELDS,
    head_of_tables,
    message_head,
    reference_message,
)
from onefold.mysql.binlog.events import RowsChanged
from onefold.mysql.table import Structure

_MAX_ORIGINS = 100_000


@dataclass(frozen=True)
class Publishing:
    """Where messages go; both batchers share it."""

    source: str
    dataset: str
    announcer: Announcer
    outbox: Outbox
    large_rows: LargeRows
    stop: Stop
    limit: int = MAX_MESSAGE_BYTES
    """Bytes of a message."""


@dataclass(frozen=True)
class _OpenMessage:
    """A message that has begun and is not sent."""

    builder: MessageBuilder
    pending: PendingMessage
    tracker: ConfirmationTracker[Any]


class MessageBatcher:
    """Packs the records of one thread into messages, whatever their tables. Another thread may call `flush`."""

    def __init__(self, publishing: Publishing, rules: RunningRules | None = None) -> None:
        self._publishing = publishing
        self._running = rules or RunningRules()
        self._rules = self._running.current
        self._lock = threading.RLock()
        self._origins: dict[tuple[str, Structure], Origin] = {}
        self._open: _OpenMessage | None = None
        self.rows = 0
        self.losses: Counter[str] = Counter()
        """Values that BigQuery cannot hold, by table, column and kind."""

    def origin(self, database: str, structure: Structure) -> Origin:
        """Return the origin of rows. When this returns, their versioned table is created; it is announced before them."""
        if self._rules is not self._running.current:  # a rule has followed a name since
            self._rules = self._running.current
            self._origins.clear()
        known = self._origins.get((database, structure))
        if known is None:
            if len(self._origins) >= _MAX_ORIGINS:
                self._origins.clear()
            source, landing = self._publishing.source, self._rules.landing(database, structure)
            table = self._publishing.announcer.tenant_table(source, database, landing.structure)
            known = Origin(source, database, table, landing)
            self._origins[(database, structure)] = known
        return known

    def changes(self, event: RowsChanged, tracker: ConfirmationTracker[Any]) -> None:
        """Pack the records of an event of the log; see `records`."""
        self.records(change_records(self.origin(event.database, event.structure), event), tracker)
        self.note_losses(event.structure.table, event.losses)

    def records(self, records: Iterable[bytes], tracker: ConfirmationTracker[Any]) -> None:
        """Pack records, and send the messages that are full.

        Args:
            records: encoded rows of any tables.
            tracker: learns when the messages are confirmed.

        Raises:
            Stopped: the process ends.
            Rejected: a row is too large for a message, and there is no folder for large rows.
        """
        with self._lock:
            for record in records:
                self._add(record, tracker)

    def note_losses(self, table: str, losses: Iterable[tuple[tuple[str, str], int]]) -> None:
        for (column, kind), count in losses:
            self.losses[f"{table}.{column}: {kind}"] += count

    def flush(self) -> None:
        """Announce new versions, and send the message that has begun."""
        with self._lock:
            message, self._open = self._open, None
            if message:
                self._send(message.builder.data(), message.pending, message.tracker)
            else:
                self._publishing.announcer.publish()

    def _add(self, data: bytes, tracker: ConfirmationTracker[Any]) -> None:
        message = self._open
        if message and not (message.builder.has_room(data) and message.tracker is tracker):
            self.flush()
            message = None
        if message is None:
            builder = MessageBuilder(head_of_tables(self._publishing.dataset), self._publishing.limit)
            message = _OpenMessage(builder, tracker.begin(), tracker)
        message.builder.add(data)
        self.rows += 1
        if message.builder.too_large:
            self._send(self._store_large_row(data), message.pending, tracker)
        else:
            self._open = message

    def _send(self, data: bytes, pending: PendingMessage, tracker: ConfirmationTracker[Any]) -> None:
        # The tracker has known the message since it began: if sending fails here, the message never counts as confirmed.
        self._publishing.announcer.publish()
        self._publishing.outbox.send(data, partial(tracker.confirm, pending))

    def _store_large_row(self, data: bytes) -> bytes:
        """Write a row too large for a message as an object, and return a message that refers to the object."""
        record = json.loads(data)
        head = message_head(self._publishing.dataset, *(record["metadata"][name] for name in VERSION_FIELDS))
        content = head + data + TAIL
        put = partial(self._publishing.large_rows.put, object_name(record, content), content)
        return reference_message(head, retry_until_stopped(put, self._publishing.stop))


@dataclass
class MessageBuilder:
    """A message while records are added to it. The first record always has room, however large it is."""

    head: bytes
    limit: int = MAX_MESSAGE_BYTES
    """Bytes of the message."""
    records: list[bytes] = field(default_factory=list)
    size: int = 0

    def __post_init__(self) -> None:
        self.size = len(self.head) + len(TAIL)

    def has_room(self, record: bytes) -> bool:
        """Return whether a record and its comma fit into the message."""
        return not self.records or self.size + len(record) + 1 <= self.limit

    def add(self, record: bytes) -> None:
        # All records but the first have a comma in front.
        self.size += len(record) + bool(self.records)
        self.records.append(record)

    @property
    def too_large(self) -> bool:
        return self.size > self.limit

    def data(self) -> bytes:
        return self.head + b",".join(self.records) + TAIL
