"""Change records, which the sink writes into versioned tables, and events about tables of a source."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from json.encoder import encode_basestring as _quoted
from operator import itemgetter
from typing import Any, Literal

from onefold.capture.quarantine import Quarantined
from onefold.changelog.metadata import ChangeMetadata
from onefold.core.names import table_name
from onefold.landing.row_writer import Landing
from onefold.landing.table import VersionedTable
from onefold.messages.change_records import message_json
from onefold.mysql.binlog.events import LogPosition, RowsChanged
from onefold.mysql.binlog.rows import Row
from onefold.mysql.catalog import TableName
from onefold.ports.publisher import Message
from onefold.schema.diff import SchemaChange, Severity

BINLOG = "BINLOG"
SNAPSHOT = "SNAPSHOT"

_HOLE = "\0"
"""Stands in a template for what differs from record to record: no name of a source, a database or a table has it."""

Record = dict[str, Any]
"""A record as JSON: `data` by the names of BigQuery's columns, and `metadata`."""


@dataclass(frozen=True)
class Origin:
    """The source, database and versioned table that all records of an event share."""

    source: str
    database: str
    table: VersionedTable
    landing: Landing | None = None
    """How rows of the source land; None where they land as they are."""

    def landed(self, rows: Iterable[Row]) -> Iterable[Row]:
        """Return what lands of rows of the source."""
        return self.landing.rows(rows) if self.landing else rows

    @cached_property
    def key(self) -> Callable[[Row], Any]:
        """The function from a row to its key; without a key, all columns identify a row."""
        names = self.table.source_names
        return itemgetter(*(names.index(name) for name in self.table.primary_key or names))

    @cached_property
    def template(self) -> str:
        """A record as JSON, with `%s` for each value, the method, the kind, the sequence and the milliseconds."""
        metadata = message_json(_metadata(self, _HOLE, _HOLE, _HOLE, _HOLE)).replace("%", "%%")
        places = metadata.replace(message_json(_HOLE), '"%s"', 3).replace(message_json(_HOLE), "%d")
        values = ",".join(f"{message_json(name)}:%s" for name in self.table.source_names)
        return f'{{"data":{{{values}}},"metadata":{places}}}'


def change_records(origin: Origin, event: RowsChanged) -> Iterator[bytes]:
    """Yield the records of an event's rows in order. An update of the key becomes a deletion and an insertion."""
    sequence, time = event.position.sequence(), event.timestamp
    before, after = origin.landed(event.before), origin.landed(event.after)
    if event.before and event.after:
        for number, (old, new) in enumerate(zip(before, after, strict=True)):
            if origin.key(old) != origin.key(new):
                yield _record(origin, old, BINLOG, "UPDATE-DELETE", f"{sequence}/{number:X}", time)
            yield _record(origin, new, BINLOG, "UPDATE-INSERT", f"{sequence}/{number:X}", time)
        return
    kind, rows = ("DELETE", before) if event.before else ("INSERT", after)
    for number, row in enumerate(rows):
        yield _record(origin, row, BINLOG, kind, f"{sequence}/{number:X}", time)


def snapshot_records(origin: Origin, rows: Iterable[Row], position: LogPosition, timestamp: int) -> Iterator[bytes]:
    """Yield the records of rows of a snapshot. They rank below every change of the log from the position on.

    Args:
        origin: of the rows.
        rows: their values at the source, in the order of the structure's columns.
        position: how far the log had come when the rows were read from the table.
        timestamp: when the rows were read, in seconds since 1970.
    """
    sequence = position.sequence()
    for row in origin.landed(rows):
        yield _record(origin, row, SNAPSHOT, "INSERT", sequence, timestamp)


def tombstone(origin: Origin, key: Mapping[str, Any], position: LogPosition, timestamp: int) -> Record:
    """Return the deletion of a key that a snapshot did not contain. It ranks below every row of the snapshot.

    Args:
        origin: of the deleted row.
        key: the values of the key's columns by name.
        position: where the snapshot began.
        timestamp: when the snapshot began, in seconds since 1970.
    """
    return {"data": dict(key), "metadata": _metadata(origin, SNAPSHOT, "DELETE", position.sequence(), timestamp * 1000)}


def _record(origin: Origin, row: Row, method: str, kind: str, sequence: str, timestamp: int) -> bytes:
    """Return the bytes that `encode_record` returns of the same record, without a dictionary for each row."""
    values = [
        _quoted(value) if value.__class__ is str
        else "null" if value is None
        else value if value.__class__ is int or (value.__class__ is float and value - value == 0)
        else message_json(value)
        for value in row
    ]  # fmt: skip
    return (origin.template % (*values, method, kind, sequence, timestamp * 1000)).encode()


def _metadata(origin: Origin, method: str, kind: str, sequence: str, milliseconds: Any) -> dict[str, Any]:
    table = origin.table
    return {
        "source": origin.source,
        "database_name": origin.database,
        "table_name": table.table,
        "table_version": table.version,
        **ChangeMetadata(method, kind, sequence, milliseconds, table.primary_key).to_json(),
    }


SourceEventKind = Literal["table truncated", "table dropped", "table renamed", "table in quarantine"]


def source_event(
    source: str, dataset: str, database: str, table: str | None, position: LogPosition, kind: SourceEventKind,
    new: TableName | None = None,
) -> Message:  # fmt: skip
    """Return a message about a table of the source, in the form of the changes of a view.

    Its `id` is the same each time the log is read.

    Args:
        source: the name of the source.
        dataset: of the versioned tables.
        database: the tenant.
        table: the name at the source; None if the event concerns the whole database.
        position: of the event in the log.
        kind: what happened.
        new: the new name of a renamed table.
    """
    return Message(*_data_and_attributes(_body(source, dataset, database, table, position, kind, new)))


def quarantine_event(source: str, dataset: str, entry: Quarantined) -> Message:
    """Return a message that says why a table is in quarantine and what to do.

    Args:
        source: the name of the source.
        dataset: of the versioned tables.
        entry: the table with its problem.
    """
    body = _body(source, dataset, entry.table.database, entry.table.table, entry.since, "table in quarantine")
    problem = entry.problem
    return Message(*_data_and_attributes({**body, "reason": problem.reason, "remedy": problem.remedy}))


def _body(
    source: str, dataset: str, database: str, table: str | None, position: LogPosition, kind: SourceEventKind,
    new: TableName | None = None,
) -> dict[str, Any]:  # fmt: skip
    names = (f"{database}.{table}", str(new)) if new else (None, None)
    change = SchemaChange(kind, "", Severity.CRITICAL, *names)
    text = "\n".join((source, position.sequence(), database, table or "", kind))
    return {
        "id": hashlib.sha256(text.encode()).hexdigest()[:32],
        "dataset": dataset,
        "table": table_name(table) if table else None,
        "source": source,
        "database": database,
        "severity": change.severity.name,
        "changes": [change.as_dict()],
    }


def _data_and_attributes(body: dict[str, Any]) -> tuple[bytes, dict[str, str]]:
    attributes = {name: body[name] for name in ("severity", "dataset", "table") if body[name]}
    return json.dumps(body).encode(), attributes
