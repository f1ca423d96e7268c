"""Records: what is published of a row change, as the sink writes it into a versioned table."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal

from onefold.capture.quarantine import Quarantined
from onefold.capture.versioned_table import VersionedTable, table_name
from onefold.changelog.metadata import ChangeMetadata
from onefold.mysql.binlog.events import LogPosition, RowsChanged
from onefold.mysql.binlog.rows import Row
from onefold.ports.publisher import Message
from onefold.schema.diff import SchemaChange, Severity

BINLOG = "BINLOG"
SNAPSHOT = "SNAPSHOT"

Record = dict[str, Any]
"""What JSON holds: `data` by the names of BigQuery's columns, and `metadata`."""


@dataclass(frozen=True)
class Origin:
    """Where rows come from: what the metadata of all of an event's records share."""

    source: str
    database: str
    table: VersionedTable


def change_records(origin: Origin, event: RowsChanged) -> Iterator[Record]:
    """The records of an event's rows, in order. An update that changes the key is a deletion and an insertion."""
    key = _key(origin.table)
    place = event.position.sequence()
    for number, (before, after) in enumerate(zip_longest(event.before, event.after)):
        for kind, row in _changes(key, before, after):
            yield _record(origin, row, BINLOG, kind, f"{place}/{number:X}", event.timestamp)


def snapshot_record(origin: Origin, row: Row, place: LogPosition, timestamp: int) -> Record:
    """A row that was read from the table after the log had come to `place`: below every change from there on."""
    return _record(origin, row, SNAPSHOT, "INSERT", place.sequence(), timestamp)


def tombstone(origin: Origin, key: Mapping[str, Any], place: LogPosition, timestamp: int) -> Record:
    """The deletion of a row that a snapshot did not find, which began at `place` and that time: below all that it found."""
    return {"data": dict(key), "metadata": _metadata(origin, SNAPSHOT, "DELETE", place.sequence(), timestamp)}


def _key(table: VersionedTable) -> tuple[int, ...]:
    """Places of the key's columns; without a key, a row is told by all of them."""
    names = table.source_names
    return tuple(names.index(name) for name in table.primary_key or names)


def _changes(key: tuple[int, ...], before: Row | None, after: Row | None) -> list[tuple[str, Row]]:
    if after is None:
        return [("DELETE", before or ())]
    if before is None:
        return [("INSERT", after)]
    if all(before[place] == after[place] for place in key):
        return [("UPDATE-INSERT", after)]
    return [("UPDATE-DELETE", before), ("UPDATE-INSERT", after)]


def _record(origin: Origin, row: Row, method: str, kind: str, sequence: str, timestamp: int) -> Record:
    return {
        "data": dict(zip(origin.table.source_names, row, strict=True)),
        "metadata": _metadata(origin, method, kind, sequence, timestamp),
    }


def _metadata(origin: Origin, method: str, kind: str, sequence: str, timestamp: int) -> dict[str, Any]:
    table = origin.table
    return {
        "source": origin.source,
        "database_name": origin.database,
        "table_name": table.table,
        "table_version": table.version,
        **ChangeMetadata(method, kind, sequence, timestamp * 1000, table.primary_key).to_json(),
    }


SourceEventKind = Literal["table truncated", "table dropped", "table in quarantine"]


def source_event(
    source: str, dataset: str, database: str, table: str | None, place: LogPosition, kind: SourceEventKind
) -> Message:
    """A message in the form of a view's changes. `id` is the same however often the log is read; without a table, it is
    about all of the database.
    """
    return Message(*_written(_body(source, dataset, database, table, place, kind)))


def quarantine_event(source: str, dataset: str, one: Quarantined) -> Message:
    """A message that says why a table is in quarantine, and what remedies it."""
    body = _body(source, dataset, one.table.database, one.table.table, one.since, "table in quarantine")
    return Message(*_written({**body, "reason": one.problem.reason, "remedy": one.problem.remedy}))


def _body(
    source: str, dataset: str, database: str, table: str | None, place: LogPosition, kind: SourceEventKind
) -> dict[str, Any]:
    change = SchemaChange(kind, "", Severity.CRITICAL)
    text = "\n".join((source, place.sequence(), database, table or "", kind))
    return {
        "id": hashlib.sha256(text.encode()).hexdigest()[:32],
        "dataset": dataset,
        "table": table_name(table) if table else None,
        "source": source,
        "database": database,
        "severity": change.severity.name,
        "changes": [change.as_dict()],
    }


def _written(body: dict[str, Any]) -> tuple[bytes, dict[str, str]]:
    named = {name: body[name] for name in ("severity", "dataset", "table") if body[name]}
    return json.dumps(body).encode(), named
