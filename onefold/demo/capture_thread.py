"""Capture within the demo's own process: its messages go straight to the functions, and what happens is told as values."""

from __future__ import annotations

import contextlib
import io
import json
import queue
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from onefold.adapters.bigquery.emulator import DEFAULT_PROJECT
from onefold.adapters.connect import connect
from onefold.adapters.gcs import GcsObjects
from onefold.capture.announce import Announcer, Destination
from onefold.capture.checkpoint import Checkpoint
from onefold.capture.large_rows import LargeRowsFolder
from onefold.capture.message_batcher import Publishing
from onefold.capture.options import CaptureOptions
from onefold.capture.outbox import Outbox
from onefold.capture.run import Capture
from onefold.capture.source import Source
from onefold.capture.state import is_before
from onefold.core.errors import TableRefused
from onefold.core.names import versioned_name
from onefold.core.shutdown import Stop
from onefold.local.pubsub import Listener, LocalTopics
from onefold.messages.change_records import parse_change_message, parse_stored_message
from onefold.messages.table_created import TableHint, parse_event
from onefold.mysql.binlog.events import LogPosition
from onefold.mysql.catalog import TableName
from onefold.ports.publisher import Message

SOURCE = DATASET = "demo"
TABLE_CREATED, CHANGE_RECORDS = "table-created", "change-records"


@dataclass(frozen=True)
class VersionAnnounced:
    """A new version's table is there, and its view."""

    base: str
    version: str


@dataclass(frozen=True)
class RowsLanded:
    """The rows of one message: how many of which kind, by database."""

    base: str
    versioned: str
    kinds: Mapping[tuple[str, str], int]


@dataclass(frozen=True)
class CopyProgress:
    text: str
    through: int
    tables: int


@dataclass(frozen=True)
class LogLine:
    """A line of capture's log."""

    severity: str
    message: str
    event: str
    fields: Mapping[str, Any]


Tiding = VersionAnnounced | RowsLanded | CopyProgress | LogLine


class InMemoryCheckpoint:
    """`CheckpointStore` for as long as the demo lasts."""

    def __init__(self) -> None:
        self._latest: Checkpoint | None = None

    def load(self) -> Checkpoint | None:
        return self._latest

    def save(self, checkpoint: Checkpoint) -> None:
        self._latest = checkpoint

    def close(self) -> None:
        """Nothing is held."""

    def quarantine(self) -> frozenset[TableName]:
        """The tables whose rows are not published."""
        return frozenset(one.table for one in (self._latest.quarantine if self._latest else ()) if one.until is None)

    def is_beyond(self, end: LogPosition) -> bool:
        """Whether all of the log up to there has landed, with all copies and sweeps that it called for.

        Args:
            end: a place in the log that the server has now, whatever its epoch.
        """
        now = self._latest
        if now is None or now.reached.position is None:
            return False
        busy = now.copy_requests or now.copies or any(scan.scanned_at is None for scan in now.delete_scans)
        return not busy and not is_before(now.reached.position, replace(end, epoch=now.reached.position.epoch))


@dataclass(frozen=True)
class CaptureThread:
    """A capture in a thread of its own."""

    tidings: queue.SimpleQueue[Tiding]
    _future: Future[None]

    def ended(self) -> bool:
        return self._future.done()

    def check(self) -> None:
        """Raises what ended it, if it has ended."""
        if self._future.done():
            self._future.result()

    def next(self, seconds: float) -> Tiding | None:
        with contextlib.suppress(queue.Empty):
            return self.tidings.get(timeout=seconds)
        return None


@contextlib.contextmanager
def capturing(
    source: Source, listeners: Mapping[str, Listener], folder: Path, store: InMemoryCheckpoint, once: bool
) -> Iterator[CaptureThread]:
    """Capture as `onefold capture --snapshot` does it, ended with the block; its log is told and not printed.

    Args:
        listeners: the functions by topic.
        folder: for rows too large for a message.
    """
    stop, tidings = Stop(), queue.SimpleQueue[Tiding]()
    topics = LocalTopics(listeners, stop, lambda topic, data: tidings.put(_taken(topic, data)))
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.redirect_stdout(_LogLines(tidings)))
        stack.callback(topics.close)
        worker = stack.enter_context(ThreadPoolExecutor(1, "capture"))
        stack.callback(stop.set)
        capture = _capture(source, topics, _Isolating(topics, tidings), folder, store, stop, once)
        capture.on_progress = lambda text, through, tables: tidings.put(CopyProgress(text, through, tables))
        yield CaptureThread(tidings, worker.submit(capture.run))


def _capture(
    source: Source, topics: LocalTopics, sender: _Isolating, folder: Path, store: InMemoryCheckpoint, stop: Stop, once: bool
) -> Capture:
    warehouse = connect(DEFAULT_PROJECT)
    announcer = Announcer(Destination(warehouse, topics, DATASET, TABLE_CREATED), stop)
    publishing = Publishing(SOURCE, DATASET, announcer, Outbox(sender, CHANGE_RECORDS, stop), LargeRowsFolder(folder), stop)
    # What is confirmed here has landed: so a sweep has nothing to wait for.
    options = CaptureOptions(SOURCE, DATASET, snapshot=True, once=once, delete_scan_delay=0)
    return Capture(source, store, publishing, warehouse, _not_told_twice, options)


def _not_told_twice(_: Message) -> None:
    """What befalls a table at the source is in the log, too."""


def _taken(topic: str, data: bytes) -> Tiding:
    hint = parse_event(data) if topic == TABLE_CREATED else None
    if isinstance(hint, TableHint):
        return VersionAnnounced(hint.table, hint.version or "")
    message = parse_change_message(data)
    if message.records_at:
        message = parse_stored_message(GcsObjects().read(message.records_at), message)
    said = (record["metadata"] for record in message.records)
    kinds = Counter((one["database_name"], one["change_type"]) for one in said)
    return RowsLanded(message.table, versioned_name(message.table, message.version), kinds)


class _Isolating:
    """`Sender`: rows that their function does not take are left out and told, and those of other tables go on."""

    def __init__(self, topics: LocalTopics, tidings: queue.SimpleQueue[Tiding]) -> None:
        self._topics = topics
        self._tidings = tidings
        self._refused: set[tuple[str, str | None]] = set()

    def publish_soon(self, topic: str, message: Message, done: Callable[[Exception | None], None]) -> None:
        head = parse_change_message(message.data)
        table = head.table, head.version
        if table in self._refused:
            done(None)
            return

        def outcome(error: Exception | None) -> None:
            if isinstance(error, TableRefused):
                self._refused.add(table)
                text = f"rows of {head.table} are left out from here on: {error.reason}"
                self._tidings.put(LogLine("ERROR", text, "rows_left_out", {"base": head.table}))
            done(None if isinstance(error, TableRefused) else error)

        self._topics.publish_soon(topic, message, outcome)


class _LogLines(io.TextIOBase):
    """What is printed meanwhile: capture logs one JSON object a line."""

    def __init__(self, tidings: queue.SimpleQueue[Tiding]) -> None:
        self._tidings = tidings

    def write(self, text: str) -> int:
        for line in text.splitlines():
            if line.startswith("{"):
                fields = json.loads(line)
                severity, message, event = (fields.pop(name, "") for name in ("severity", "message", "event"))
                self._tidings.put(LogLine(severity, message, event, fields))
        return len(text)


def table_of(logged: LogLine) -> TableName | None:
    """The table that a line is about."""
    database, table = logged.fields.get("database"), logged.fields.get("table")
    return TableName(database, table) if database and table else None
