"""Helpers of the tests of capture: a publisher and a warehouse in memory, and a process over a real server."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from support.database_servers import DatabaseServer
from support.in_memory import MemoryPublisher
from support.oracle import DELETIONS, Order, sequence_order
from support.source_database import SourceDatabase, end_of_log

from onefold.capture.checkpoint import Progress
from onefold.capture.checkpoint_store import FolderStore
from onefold.capture.copy_mailbox import FolderMailbox
from onefold.capture.large_rows import LargeRowsFolder
from onefold.capture.message_batcher import Publishing
from onefold.capture.options import CaptureOptions
from onefold.capture.outbox import Outbox
from onefold.capture.requirements import Requirement
from onefold.capture.run import Capture
from onefold.capture.source import CapturedSource
from onefold.core.errors import TryAgain
from onefold.core.names import TableId
from onefold.core.shutdown import Stop
from onefold.landing.announce import Announcer, Destination
from onefold.mysql.table_filter import TableFilter
from onefold.ports.publisher import Message
from onefold.ports.warehouse import BaseWarehouse, StoredTable
from onefold.schema.columns import Column
from onefold.schema.versions import Version

SOURCE, DATASET = "shop-db", "shop"
CREATE = "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(30))"
WAIT_SECONDS = 300
_server_ids = itertools.count(20_000)


class RecordingPublisher(MemoryPublisher):
    """Keeps the published messages by topic. While it is `down`, it takes none."""

    def __init__(self) -> None:
        super().__init__()
        self.down = False
        self._lock = threading.Lock()

    def publish(self, topic: str, messages: Iterable[Message]) -> list[str]:
        if self.down:
            raise TryAgain("503")
        with self._lock:
            return super().publish(topic, messages)

    def publish_soon(self, topic: str, message: Message, done: Callable[[Exception | None], None]) -> None:
        try:
            self.publish(topic, [message])
        except TryAgain as error:
            done(error)
        else:
            done(None)

    def bodies(self, topic: str) -> list[dict[str, Any]]:
        return [json.loads(message.data) for message in self.topics.get(topic, [])]

    def records(self) -> list[dict[str, Any]]:
        return [record for body in self.bodies("change-records") for record in body.get("records", [])]

    def count(self) -> int:
        return len(self.records())


class MemoryTables:
    """A warehouse that has tables, and no rows."""

    project = "my-project"

    def __init__(self) -> None:
        self.tables: dict[str, StoredTable] = {}
        self.partitions: dict[str, str | None] = {}

    def read_table(self, id_: TableId) -> StoredTable | None:
        return self.tables.get(id_.table)

    def create_table(
        self,
        id_: TableId,
        columns: Sequence[Column],
        clustering: Sequence[str] = (),
        partition: str | None = None,
        primary_key: Sequence[str] = (),
        labels: Mapping[str, str] | None = None,  # capture sets none
    ) -> None:
        table = StoredTable(tuple(columns), datetime.now(UTC), tuple(clustering), tuple(primary_key))
        self.tables.setdefault(id_.table, table)
        self.partitions[id_.table] = partition

    def read_versions(self, base: TableId) -> tuple[Version, ...]:
        """Return no versions: a delete scan finds no landed rows."""
        assert base.dataset == DATASET
        return ()


def latest(records: Iterable[dict[str, Any]]) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return the row with the greatest position of each key, without deleted keys, as the current view does."""
    best: dict[tuple[Any, ...], tuple[Order, dict[str, Any]]] = {}
    for record in records:
        metadata, data = record["metadata"], record["data"]
        deleted = metadata["change_type"] in DELETIONS
        position = (sequence_order(metadata["change_sequence_number"]), metadata["source_timestamp"], not deleted)
        key = (metadata["database_name"], metadata["table_name"], *(data[name] for name in metadata["primary_key"]))
        if key not in best or position >= best[key][0]:
            best[key] = (position, {} if deleted else data)
    return {key: data for key, (_, data) in best.items() if data}


@dataclass
class Bench:
    """The surroundings of capture processes, which outlive a process, so that the next one goes on."""

    server: DatabaseServer
    folder: Path
    patterns: TableFilter
    publisher: RecordingPublisher = field(default_factory=RecordingPublisher)
    warehouse: MemoryTables = field(default_factory=MemoryTables)
    dataset: str = DATASET
    now: Callable[[], float] = lambda: 0.0
    """Seconds since 1970. By default the clock stands still, so that epochs are counted from 1."""
    requirements: tuple[Requirement, ...] = ()

    def capture(self, stop: Stop | None = None, limit: int = 400_000, **options: Any) -> Capture:
        stop = stop or Stop()
        target = Destination(cast("BaseWarehouse", self.warehouse), self.publisher, self.dataset, "table-created")
        outbox = Outbox(self.publisher, "change-records", stop)
        large = LargeRowsFolder(self.folder / "large")
        publishing = Publishing(SOURCE, self.dataset, Announcer(target, stop), outbox, large, stop, limit)
        return Capture(
            CapturedSource(self.server.reader, self.patterns, next(_server_ids)),
            FolderStore(self.folder / "checkpoint"),
            publishing,
            self.warehouse,
            lambda message: self.publisher.publish("schema-changes", [message]),
            CaptureOptions(SOURCE, self.dataset, **options),
            now=self.now,
            requirements=self.requirements,
            mailbox=FolderMailbox(self.folder / "checkpoint"),
        )

    def once(self, **options: Any) -> list[dict[str, Any]]:
        """Read up to the end of the log, and return all records published so far."""
        self.capture(once=True, **options).run()
        return self.publisher.records()

    @contextmanager
    def running(self, **options: Any) -> Iterator[Capture]:
        """Run a process during the block, and end it as SIGTERM does. An error of the process fails the test."""
        capture = self.capture(**options)
        failures: list[BaseException] = []

        def run() -> None:
            try:
                capture.run()
            except BaseException as error:  # noqa: BLE001 raised by the test
                failures.append(error)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        try:
            yield capture
        finally:
            capture.publishing.stop.set()
            thread.join(WAIT_SECONDS)
        assert not failures, failures
        assert not thread.is_alive()

    def checkpoint(self) -> dict[str, Any]:
        body: dict[str, Any] = json.loads((self.folder / "checkpoint" / "checkpoint.json").read_bytes())
        return body


def bench_of(source: SourceDatabase, folder: Path, *include: str) -> Bench:
    return Bench(source.server, folder, TableFilter(include or (f"{source.name}.*",)))


def eventually(condition: Callable[[], Any]) -> Any:
    """Wait until the condition returns something true, and return that."""
    done = threading.Event()
    for _ in range(WAIT_SECONDS * 20):
        if result := condition():
            return result
        done.wait(0.05)
    raise AssertionError(f"the condition was not met within {WAIT_SECONDS} seconds")


def begin(source: SourceDatabase) -> Progress:
    return Progress(end_of_log(source.connection))


def shown(source: SourceDatabase, *tables: str) -> dict[tuple[object, ...], dict[str, object]]:
    """Return the rows of the source, as records have them, by database, table and first column, the key."""
    found: dict[tuple[object, ...], dict[str, object]] = {}
    for table in tables:
        names = [row[0] for row in source.rows(f"SHOW COLUMNS FROM {table}")]
        for row in source.rows(f"SELECT * FROM {table}"):
            found[(source.name, table, row[0])] = dict(zip(names, row, strict=True))
    return found


def purge(source: SourceDatabase) -> None:
    """Delete all files of the log but the last one, as soon as nobody reads them any more."""
    last = end_of_log(source.connection).file

    def purged() -> bool:
        source.run(f"PURGE BINARY LOGS TO '{last}'")
        return [file for file, *_ in source.rows("SHOW BINARY LOGS")] == [last]

    eventually(purged)
