"""From a real MariaDB to the views in the embedded BigQuery: everything in between is real but Pub/Sub.

In its place is a courier who hands the messages to the handlers of both functions: late, many of them twice, some once more
long after, and in an order that a seed decides. So what people see in the end shows that neither matters.
"""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.capture import SOURCE, Bench
from support.current_state import read_view
from support.database_servers import DatabaseServer
from support.in_memory import MemoryPublisher, push_body
from support.source_database import SourceDatabase, end_of_log
from support.source_values import SHAPES, kind_of, selected

from onefold.adapters.gcs import GcsObjects
from onefold.capture.checkpoint import Progress
from onefold.changelog.metadata import DATABASE_NAME, LANDED_AT, METADATA, SOURCE_NAME
from onefold.compare.findings import findings
from onefold.compare.rows import compare_rows
from onefold.compare.values import text_of
from onefold.core.names import TableId
from onefold.core.versioned_names import DEFAULT_NAMES, VersionedNames
from onefold.landing.row_writer import NO_RULES, LandingRules
from onefold.messages.change_records import MAX_MESSAGE_BYTES
from onefold.mysql.connection import connect, query
from onefold.mysql.table_filter import TableFilter
from onefold.ports.publisher import Message
from onefold.schema.versions import Version
from onefold.settings.environment import Settings
from onefold.sink.handler import RecordHandler
from onefold.views.handler import TableCreatedHandler
from onefold.views.refresh_current import refresh_current
from onefold_lab.stand_ins.rows import EmulatedRowWriter
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, EmulatedWarehouse, emulator_client

TABLE_CREATED, CHANGE_RECORDS, DEAD_LETTER = "table-created", "change-records", "dead-letter"
SCHEMA_CHANGES = "schema-changes"

Row = dict[str, Any]
Image = frozenset[tuple[str, str | None]]
"""A row as it was at some time: its values that are not NULL as text, by column in lower case."""


class Courier:
    """Pub/Sub at its worst: what is published is confirmed at once, and handed over when it likes."""

    def __init__(
        self, handlers: Mapping[str, Callable[[bytes], str | None]], others: MemoryPublisher, seed: int
    ) -> None:  # fmt: skip
        self._handlers, self._others = handlers, others
        self._random = random.Random(seed)
        self._waiting: deque[tuple[str, bytes]] = deque()
        self._past: list[tuple[str, bytes]] = []

    def publish(self, topic: str, messages: Iterable[Message]) -> list[str]:
        if topic not in self._handlers:
            return self._others.publish(topic, messages)
        numbered = [(topic, message.data) for message in messages]
        self._waiting.extend(numbered)
        return [str(number) for number, _ in enumerate(numbered)]

    def publish_soon(self, topic: str, message: Message, done: Callable[[Exception | None], None]) -> None:
        self.publish(topic, [message])
        done(None)

    @property
    def past(self) -> list[bytes]:
        """The content of all messages that were delivered."""
        return [data for _, data in self._past]

    def forget(self) -> None:
        """From now on, nothing that was delivered comes again."""
        self._past.clear()

    def deliver(self) -> None:
        """All that waits, in any order; every third message twice, and a few of long ago."""
        new = []
        while self._waiting:
            new.append(self._waiting.popleft())
        twice, old = len(new) // 3, min(2, len(self._past)) if new else 0
        messages = [*new, *self._random.sample(new, twice), *self._random.sample(self._past, old)]
        self._random.shuffle(messages)
        for topic, data in messages:
            self._handlers[topic](push_body(data))
        self._past += new


class LandedByThen(EmulatedWarehouse):
    """A warehouse in which the rows of a copy have landed before its delete scan reads them."""

    def __init__(self, warehouse: EmulatedWarehouse, courier: Courier) -> None:
        super().__init__(warehouse.client)
        self._courier = courier

    def read_versions(self, base: TableId, names: VersionedNames = DEFAULT_NAMES) -> tuple[Version, ...]:
        self._courier.deliver()
        return super().read_versions(base, names)


@dataclass
class Flow:
    """Databases of one server, captured into one dataset, and every row that they ever had."""

    source: SourceDatabase
    dataset: EmulatedDataset
    folder: Path
    databases: tuple[str, ...]
    tables: tuple[str, ...] = ("*",)
    limit: int = MAX_MESSAGE_BYTES
    """Bytes of a message: few, for there to be many."""
    rules: LandingRules = NO_RULES
    """Which columns do not land as they are."""
    written: dict[str, set[Image]] = field(default_factory=dict)
    """Return every row as it was written, by table."""
    had: dict[str, set[Image]] = field(default_factory=dict)
    """By table, every row as it was at some time: also after what alters rows without writing them."""
    present: dict[tuple[str, str], list[Row]] = field(default_factory=dict)
    """By database and table. Of a table that is gone, the rows that it had."""
    keys: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By table."""
    warehouse: EmulatedWarehouse = field(init=False)
    publisher: MemoryPublisher = field(default_factory=MemoryPublisher)

    def __post_init__(self) -> None:
        self.warehouse = EmulatedWarehouse(self.dataset.client)
        settings = Settings(
            datasets=frozenset({self.dataset.name}), topic_dead_letter=DEAD_LETTER, topic_schema_changes=SCHEMA_CHANGES,
            large_records=(self.folder / "large").resolve().as_uri(),
        )  # fmt: skip
        sink = RecordHandler(settings, EmulatedRowWriter(self.warehouse), GcsObjects(), self.publisher)
        receiver = TableCreatedHandler(settings, self.warehouse, self.publisher)
        self._courier = Courier({CHANGE_RECORDS: sink.handle, TABLE_CREATED: receiver.handle}, self.publisher, seed=7)

    def run(self, *statements: str) -> None:
        """Run each statement as a transaction, and record the rows of the source's tables after it."""
        for statement in statements:
            self.source.run(statement)
            for database in self.databases:
                for (table,) in self.source.rows(f"SHOW TABLES FROM `{database}`"):
                    self.note(database, table, statement)

    def note(self, database: str, table: str, statement: str) -> None:
        """The rows that a table has after a statement. What an ALTER makes of them is in no log."""
        columns = self.source.rows(f"SHOW COLUMNS FROM `{database}`.`{table}`")
        types = {name: type_ for name, type_, *_ in columns}
        found = rows_of(self.source, f"`{database}`.`{table}`", types)
        rows = [{SOURCE_NAME: SOURCE, DATABASE_NAME: database, **row} for row in found]
        before, now = (set(map(image_of, some)) for some in (self.present.get((database, table), []), rows))
        if statement.startswith(("INSERT", "REPLACE", "UPDATE")):
            self.written.setdefault(table, set()).update(now - before)
        self.had.setdefault(table, set()).update(now)
        self.present[(database, table)] = rows
        self.keys[table] = (SOURCE_NAME, DATABASE_NAME, *(name for name, _, _, key, *_ in columns if key == "PRI"))

    def capture(self, start: Progress | None = None, snapshot: bool = False, follow_gtids: bool = False) -> None:
        """Run a process to the end of the log, with all copies and delete scans, and hand over all messages."""
        patterns = TableFilter(tuple(f"{database}.{table}" for database in self.databases for table in self.tables))
        to: tuple[Any, Any] = (self._courier, LandedByThen(self.warehouse, self._courier))
        bench = Bench(self.source.server, self.folder, patterns, *to, self.dataset.name, time.time)
        options: dict[str, Any] = {"start": start, "snapshot": snapshot, "follow_gtids": follow_gtids, "rules": self.rules}
        bench.capture(limit=self.limit, once=True, **options).run()
        self._courier.deliver()
        assert not {DEAD_LETTER, CHANGE_RECORDS} & self.publisher.topics.keys(), "dead letters, or rows that did not land"

    def forget(self) -> None:
        """Deliver no message of the past again."""
        self._courier.forget()

    def published(self) -> bytes:
        """Return all messages that capture has published."""
        return b"\n".join(self._courier.past)

    def check(self, table: str) -> None:
        """What people see of a table is what its databases have, and all that they ever had."""
        self.check_unified(table)
        self.check_current(table)

    def check_unified(self, table: str) -> None:
        _, rows = self.read(f"{table}_unified")
        self.check_landed(table, {image_of(row) for row in rows if not _is_swept(row)})

    def check_landed(self, table: str, landed: set[Image]) -> None:
        """Every row that was written is there, and none that never was."""
        lost, wrong = self.written[table] - landed, landed - self.had[table]
        assert not lost, ["lost", *map(sorted, lost), "instead", *map(sorted, wrong)][:20]
        assert not wrong, ["never written", *map(sorted, wrong)][:20]

    def check_current(self, table: str) -> None:
        view = refresh_current(self.warehouse, TableId(DEFAULT_PROJECT, self.dataset.name, table), (), Settings())
        columns, rows = self.read(view.id.table)
        spelling = {column.lower(): column for column in columns}
        expected = [
            # Columns that a database does not have (any more, or yet) are NULL.
            {**dict.fromkeys(columns), **{spelling[name.lower()]: value for name, value in row.items()}}
            for (_, of), present in self.present.items()
            if of == table
            for row in present
        ]
        found = compare_rows(expected, rows, self.keys[table])
        assert found.same, list(findings(found, self.keys[table]))

    def read(self, view: str) -> tuple[list[str], list[Row]]:
        """Columns and rows."""
        return read_view(self.dataset, view)


def rows_of(source: SourceDatabase, table: str, types: Mapping[str, str]) -> list[Row]:
    """What a table holds, by its client, in Python's types of what lands."""
    expressions = ", ".join(selected(f"`{name}`", type_) for name, type_ in types.items())
    return [
        {name: _landed(type_, value) for (name, type_), value in zip(types.items(), row, strict=True)}
        for row in source.rows(f"SELECT {expressions} FROM {table}")
    ]


def _landed(type_: str, value: Any) -> Any:
    """A value of PyMySQL as BigQuery is to show it."""
    match kind_of(type_), value:
        case "multipoint", str():
            return f"MULTIPOINT(({value.removeprefix('MULTIPOINT(').removesuffix(')').replace(',', '), (')}))"
        case kind, str() if kind in SHAPES:
            return value.replace(",", ", ")
        case "bit", bytes():
            return int.from_bytes(value)
        case "timestamp", datetime():
            return value.replace(tzinfo=UTC)
        case (("date" | "datetime" | "timestamp"), str()):
            return None  # PyMySQL leaves as text what is no date
        case "uuid", str():
            return UUID(value).bytes
        case (("inet4" | "inet6"), str()):
            return ip_address(value).packed
    return value


def image_of(row: Mapping[str, Any]) -> Image:
    shown = ((name.lower(), text_of(value)) for name, value in row.items() if name not in (LANDED_AT, METADATA))
    return frozenset((name, text) for name, text in shown if text is not None)


def _is_swept(row: Mapping[str, Any]) -> bool:
    """Tell whether a row is the deletion of a key that a copy did not contain: it has no other columns."""
    metadata = row[METADATA]
    return (metadata["ingestion_method"], metadata["change_type"]) == ("SNAPSHOT", "DELETE")


def new_dataset(host: str, name: str) -> EmulatedDataset:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BIGQUERY_EMULATOR_HOST", host)
        client = emulator_client(DEFAULT_PROJECT)
    client.create_dataset(name)
    return EmulatedDataset(host, client, name)


@contextmanager
def new_source(server: DatabaseServer, name: str, *others: str) -> Iterator[SourceDatabase]:
    """Empty databases, with a connection to the first."""
    with closing(connect(server.address)) as connection:
        for database in (name, *others):
            query(connection, f"CREATE DATABASE `{database}`")
        connection.select_db(name)
        yield SourceDatabase(server, connection, name, end_of_log(connection))
