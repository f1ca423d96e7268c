"""Capture in a thread of the demo: messages go directly to local functions, and a queue reports events."""

from __future__ import annotations

import contextlib
import io
import json
import queue
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from onefold.adapters.connect import connect
from onefold.adapters.gcs import GcsObjects
from onefold.capture.checkpoint import Checkpoint
from onefold.capture.large_rows import LargeRowsFolder
from onefold.capture.message_batcher import Publishing
from onefold.capture.options import CaptureOptions
from onefold.capture.outbox import Outbox
from onefold.capture.run import Capture
from onefold.capture.source import CapturedSource
from onefold.capture.state import is_before
from onefold.core.errors import TableRefused
from onefold.core.names import versioned_name
from onefold.core.shutdown import Stop
from onefold.landing.announce import Announcer, Destination
from onefold.messages.change_records import (
    change_message,
    parse_change_message,
    parse_change_messages,
    parse_stored_message,
)
from onefold.messages.table_created import TableHint, TableHints, parse_event
from onefold.mysql.binlog.events import LogPosition
from onefold.mysql.catalog import TableName
from onefold.ports.publisher import Message
from onefold_lab.pubsub import Listener, LocalTopics
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT

SOURCE = DATASET = "demo"
TABLE_CREATED, CHANGE_RECORDS = "table-created", "change-records"
Version = tuple[str, str | None]
"""A base name, and a version."""


@dataclass(frozen=True)
class VersionAnnounced:
    """The table of a new version exists, and its view is refreshed."""

    base: str
    version: str


@dataclass(frozen=True)
class RowsLanded:
    """The rows of one message: numbers by database and kind of change."""

    base: str
    versioned: str
    kinds: Mapping[tuple[str, str], int]


@dataclass(frozen=True)
class CopyProgress:
    """The progress of copies: a message, the tables done, and all tables."""

    text: str
    done: int
    total: int


@dataclass(frozen=True)
class LogLine:
    """A line of the log of capture."""

    severity: str
    message: str
    event: str
    fields: Mapping[str, Any]


CaptureEvent = VersionAnnounced | RowsLanded | CopyProgress | LogLine


class InMemoryCheckpoint:
    """A `CheckpointStore` in memory."""

    def __init__(self) -> None:
        self._latest: Checkpoint | None = None

    def load(self) -> Checkpoint | None:
        return self._latest

    def save(self, checkpoint: Checkpoint) -> None:
        self._latest = checkpoint

    def close(self) -> None:
        """Do nothing: no file is locked."""

    def quarantine(self) -> frozenset[TableName]:
        """Return the tables whose rows are not published."""
        return frozenset(one.table for one in (self._latest.quarantine if self._latest else ()) if one.until is None)

    def is_beyond(self, end: LogPosition) -> bool:
        """Return True if the log up to a position has landed, and all copies and searches for deletes are done.

        Args:
            end: a position in the present log of the server; its epoch is ignored.
        """
        now = self._latest
        if now is None or now.reached.position is None:
            return False
        busy = now.copy_requests or now.copies or any(scan.scanned_at is None for scan in now.delete_scans)
        return not busy and not is_before(now.reached.position, replace(end, epoch=now.reached.position.epoch))


@dataclass(frozen=True)
class CaptureThread:
    """A capture that runs in a thread, and the queue of its events."""

    events: queue.SimpleQueue[CaptureEvent]
    _future: Future[None]

    def ended(self) -> bool:
        return self._future.done()

    def check(self) -> None:
        """Raise the error that ended the thread, if there is one."""
        if self._future.done():
            self._future.result()

    def next(self, seconds: float) -> CaptureEvent | None:
        with contextlib.suppress(queue.Empty):
            return self.events.get(timeout=seconds)
        return None


@contextlib.contextmanager
def capture_thread(
    source: CapturedSource, listeners: Mapping[str, Listener], folder: Path, store: InMemoryCheckpoint, once: bool
) -> Iterator[CaptureThread]:
    """Run a capture as `onefold capture --snapshot` does, until the block ends. Lines of its log become events.

    Args:
        source: the source.
        listeners: the functions by topic.
        folder: the folder for rows that are too large for a message.
        store: the checkpoint.
        once: stop at the present end of the log.
    """
    stop, events = Stop(), queue.SimpleQueue[CaptureEvent]()
    topics = LocalTopics(listeners, stop, lambda topic, data: events.put(_event_of(topic, data)))
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.redirect_stdout(_LogLines(events)))
        stack.callback(topics.close)
        worker = stack.enter_context(ThreadPoolExecutor(1, "capture"))
        stack.callback(stop.set)
        capture = _capture(source, _IsolatingTopics(topics, events), folder, store, stop, once)
        capture.on_progress = lambda text, through, tables: events.put(CopyProgress(text, through, tables))
        yield CaptureThread(events, worker.submit(capture.run))


def _capture(
    source: CapturedSource,
    topics: _IsolatingTopics,
    folder: Path,
    store: InMemoryCheckpoint,
    stop: Stop,
    once: bool,
) -> Capture:
    warehouse = connect(DEFAULT_PROJECT)
    announcer = Announcer(Destination(warehouse, topics, DATASET, TABLE_CREATED), stop)
    publishing = Publishing(SOURCE, DATASET, announcer, Outbox(topics, CHANGE_RECORDS, stop), LargeRowsFolder(folder), stop)
    # All confirmed rows have landed, so the search for deletes need not wait.
    options = CaptureOptions(SOURCE, DATASET, snapshot=True, once=once, delete_scan_delay=0)
    return Capture(source, store, publishing, warehouse, _ignore, options)


def _ignore(_: Message) -> None:
    """Ignore a message about a schema change: the log of capture reports it as well."""


def _event_of(topic: str, data: bytes) -> CaptureEvent:
    hint = parse_event(data) if topic == TABLE_CREATED else None
    if isinstance(hint, TableHint):
        return VersionAnnounced(hint.table, hint.version or "")
    message = parse_change_message(data)
    if message.records_at:
        message = parse_stored_message(GcsObjects().read(message.records_at), message)
    metadata = (record["metadata"] for record in message.records)
    kinds = Counter((change["database_name"], change["change_type"]) for change in metadata)
    return RowsLanded(message.table, versioned_name(message.table, message.version), kinds)


class _IsolatingTopics:
    """Publishes to local functions one table a message: a table that its function refuses is left out, all others go on."""

    def __init__(self, topics: LocalTopics, events: queue.SimpleQueue[CaptureEvent]) -> None:
        self._topics = topics
        self._events = events
        self._refused: set[Version] = set()

    def publish(self, topic: str, messages: Iterable[Message]) -> list[str]:
        """Announce versions."""
        published: list[str] = []
        for data in (part for message in messages for part in _announcements(message.data)):
            try:
                published += self._topics.publish(topic, [Message(data)])
            except TableRefused as error:
                hint = parse_event(data)
                if isinstance(hint, TableHint):
                    self._leave_out((hint.table, hint.version), error)
        return published

    def publish_soon(self, topic: str, message: Message, done: Callable[[Exception | None], None]) -> None:
        """Publish rows."""
        parts = {version: data for version, data in _by_version(message.data).items() if version not in self._refused}
        outcome = _LastOutcome(len(parts), done)
        for version, data in parts.items():
            self._topics.publish_soon(topic, Message(data), partial(self._published, version, outcome))

    def _published(self, version: Version, outcome: _LastOutcome, error: Exception | None) -> None:
        if isinstance(error, TableRefused):
            self._leave_out(version, error)
        outcome.take(None if isinstance(error, TableRefused) else error)

    def _leave_out(self, version: Version, error: TableRefused) -> None:
        self._refused.add(version)
        text = f"rows of {version[0]} are left out from here on: {error.reason}"
        self._events.put(LogLine("ERROR", text, "rows_left_out", {"base": version[0]}))


class _LastOutcome:
    """Reports the outcome of a message once, when all of its parts have one: the first error, or None."""

    def __init__(self, parts: int, done: Callable[[Exception | None], None]) -> None:
        self._left = parts
        self._done = done
        self._error: Exception | None = None
        self._lock = threading.Lock()
        if not parts:
            done(None)

    def take(self, error: Exception | None) -> None:
        with self._lock:
            self._left -= 1
            self._error = self._error or error
            is_last = self._left == 0
        if is_last:
            self._done(self._error)


def _announcements(data: bytes) -> tuple[bytes, ...]:
    hint = parse_event(data)
    return hint.parts if isinstance(hint, TableHints) else (data,)


def _by_version(data: bytes) -> dict[Version, bytes]:
    """Return a message for each table and version that a message has rows of."""
    tables = parse_change_messages(data).tables
    if tables[0].records_at:
        return {(tables[0].table, tables[0].version): data}
    return {(one.table, one.version): change_message(one.dataset, one.table, one.version, one.records) for one in tables}


class _LogLines(io.TextIOBase):
    """A replacement of standard output that turns the lines of capture's log, one JSON object each, into events."""

    def __init__(self, events: queue.SimpleQueue[CaptureEvent]) -> None:
        self._events = events

    def write(self, text: str) -> int:
        for line in text.splitlines():
            if line.startswith("{"):
                fields = json.loads(line)
                severity, message, event = (fields.pop(name, "") for name in ("severity", "message", "event"))
                self._events.put(LogLine(severity, message, event, fields))
        return len(text)


def table_of(logged: LogLine) -> TableName | None:
    """Return the table that a line of the log is about."""
    database, table = logged.fields.get("database"), logged.fields.get("table")
    return TableName(database, table) if database and table else None
