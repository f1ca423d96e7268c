"""The latest state of what a process of capture published, as people read it, against the rows that its source has.

Messages land by the real sink in the embedded BigQuery, the product makes the current view over them, and SQL reads it.
Nothing here knows positions, tombstones or versions: of two changes of one row, it is the view that decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Any

from google.cloud import bigquery
from support.bigquery_emulator import EmulatedDataset
from support.capture_receiver import RECORDS, Receiver
from support.database_servers import DatabaseServer
from support.in_memory import MemoryPublisher, push_body
from support.sink import MemoryObjects

from onefold.adapters.connect import connect as connect_warehouse
from onefold.core.names import TableId
from onefold.mysql.connection import connect, query
from onefold.settings.environment import Settings
from onefold.sink.handler import RecordHandler
from onefold.views.refresh_current import refresh_current
from onefold_lab.stand_ins.rows import EmulatedRowWriter
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, EmulatedWarehouse

DEAD_LETTER = "dead-letter"
SOURCE_COLUMNS = ("source_name", "database_name")
"""The fields that identify a tenant: docs/reference/change-record.md."""
_GIVEN_BY_THE_SERVER = ("type", "creationTime", "etag")

Row = dict[str, Any]
Key = tuple[Any, ...]


@dataclass(frozen=True)
class Table:
    """The rows of one side: columns in lower case, the same in every row."""

    columns: frozenset[str]
    rows: Sequence[Row]


@dataclass
class LandedMessages:
    """A dataset in which everything lands that a receiver takes, in the order in which it came."""

    dataset: EmulatedDataset
    receiver: Receiver
    _landed: int = 0
    _publisher: MemoryPublisher = field(default_factory=MemoryPublisher)
    _sink: RecordHandler = field(init=False)

    def __post_init__(self) -> None:
        landing = EmulatedRowWriter(connect_warehouse(DEFAULT_PROJECT))
        settings = Settings(datasets=frozenset({self.dataset.name}), topic_dead_letter=DEAD_LETTER)
        self._sink = RecordHandler(settings, landing, MemoryObjects(), self._publisher)

    def land(self) -> None:
        """Everything that has arrived since the last time."""
        new = self.receiver.arrived[self._landed :]
        self._landed += len(new)
        for kind, data in new:
            if kind == "table":
                self._create(data)
            elif kind == RECORDS:
                self._sink.handle(push_body(data))
        assert not self._publisher.topics, "dead letters, or rows that did not land"

    def _create(self, name: str) -> None:
        """The table that a process made at the receiver, in its place."""
        _, body = self.receiver.get_table(name)
        asked = {word: value for word, value in body.items() if word not in _GIVEN_BY_THE_SERVER}
        self.dataset.client.create_table(bigquery.Table.from_api_repr(asked))

    def check(self, server: DatabaseServer, databases: Sequence[str], source: str) -> None:
        """Each current view has the rows and columns that the source has, in all of its databases.

        Raises:
            AssertionError: with the first differences of each table.
        """
        self.land()
        tables = source_tables(server, databases, source)
        assert tables
        wrong = {name: found for name, table in tables.items() if (found := differences(*table, self.current(name)))}
        assert not wrong, wrong

    def current(self, table: str) -> Table:
        return current_rows(self.dataset, table)


def current_rows(dataset: EmulatedDataset, table: str) -> Table:
    """Make the current view of a table by the product, and read it by SQL."""
    view = refresh_current(EmulatedWarehouse(dataset.client), TableId(DEFAULT_PROJECT, dataset.name, table), (), Settings())
    columns, rows = read_view(dataset, view.id.table)
    return Table(_lower(columns), [{name.lower(): value for name, value in row.items()} for row in rows])


def read_view(dataset: EmulatedDataset, view: str) -> tuple[list[str], list[Row]]:
    """Columns and rows. An INTERVAL comes as text: the client makes relative dates of it."""
    result = _select(dataset, "*", view)
    times = [column.name for column in result.schema if column.field_type == "INTERVAL"]
    if times:
        texts = ", ".join(f"CAST(`{name}` AS STRING) AS `{name}`" for name in times)
        result = _select(dataset, f"* REPLACE ({texts})", view)
    rows = ({**row, **{name: duration(row[name]) for name in times}} for row in map(dict, result))
    return [column.name for column in result.schema], list(rows)


def _select(dataset: EmulatedDataset, items: str, view: str) -> Any:
    return dataset.client.query(f"SELECT {items} FROM {dataset.quoted(view)}").result()


def duration(text: str | None) -> timedelta | None:
    """An INTERVAL without months and days, which no TIME of a source has."""
    if text is None:
        return None
    clock = text.rpartition(" ")[2]
    hours, minutes, seconds = clock.lstrip("-").split(":")
    found = timedelta(hours=int(hours), minutes=int(minutes), microseconds=int(Decimal(seconds) * 1_000_000))
    return -found if clock.startswith("-") else found


def source_tables(
    server: DatabaseServer, databases: Sequence[str], source: str
) -> Mapping[str, tuple[tuple[str, ...], Table]]:
    """By table, the names of its key and the rows of all databases: one without a column has NULL there."""
    keys: dict[str, tuple[str, ...]] = {}
    columns: dict[str, frozenset[str]] = {}
    rows: dict[str, list[Row]] = {}
    with connect(server.address) as connection:
        for database in databases:
            for (table,) in query(connection, f"SHOW TABLES FROM `{database}`"):
                described = query(connection, f"SHOW COLUMNS FROM `{database}`.`{table}`")
                names = [name for name, *_ in described]
                keys[table] = (*SOURCE_COLUMNS, *(name.lower() for name, _, _, index, *_ in described if index == "PRI"))
                columns[table] = columns.get(table, frozenset()) | _lower((*SOURCE_COLUMNS, *names))
                found = query(connection, f"SELECT * FROM `{database}`.`{table}`")
                tenant = dict(zip(SOURCE_COLUMNS, (source, database), strict=True))
                rows.setdefault(table, []).extend(
                    {**tenant, **dict(zip(map(str.lower, names), values, strict=True))} for values in found
                )
    return {
        table: (key, Table(columns[table], [{**dict.fromkeys(columns[table]), **row} for row in rows[table]]))
        for table, key in keys.items()
    }


def differences(key: Sequence[str], wanted: Table, found: Table, most: int = 5) -> list[str]:
    """What two sides do not have in common: columns, rows that come more than once, and values by their Python types."""
    if wanted.columns != found.columns:
        return [f"columns: expected {sorted(wanted.columns)}, got {sorted(found.columns)}"]
    one, other = _by_key(key, wanted.rows), _by_key(key, found.rows)
    wrong = sorted((place for place in one.keys() | other.keys() if one.get(place) != other.get(place)), key=str)
    shown = [f"{place}: expected {one.get(place)}, got {other.get(place)}" for place in wrong[:most]]
    return [f"{len(wrong)} keys differ", *shown] if wrong else []


def _by_key(key: Sequence[str], rows: Iterable[Row]) -> dict[Key, list[dict[str, tuple[str, Any]]]]:
    """All rows of each key. A type goes with its value: 1 and TRUE are two things, and NULL is no text."""
    found: dict[Key, list[dict[str, tuple[str, Any]]]] = {}
    for row in rows:
        typed = {name: (type(value).__name__, value) for name, value in row.items()}
        found.setdefault(tuple(row[name] for name in key), []).append(typed)
    return found


def _lower(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name.lower() for name in names)
