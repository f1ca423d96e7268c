"""What the tests of snapshots stand on: a table read to its end, and folded with the changes since."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from support.changelogs import oracle
from support.source_database import SourceDatabase

from onefold.capture.records import Origin, Record, change_records, snapshot_records
from onefold.changelog.metadata import METADATA
from onefold.landing.table import versioned_table
from onefold.mysql.binlog.events import RowsChanged
from onefold.mysql.catalog import TableName, structure_of
from onefold.mysql.snapshot import consistent_read
from onefold.mysql.snapshot.chunks import Chunk, TableSnapshot, next_chunk
from onefold.mysql.snapshot.select_list import read_selected, select_list
from onefold.mysql.table import Structure

_BY_VIEWS, _BY_LOCKS = "by views", "by locks"


@pytest.fixture(params=[_BY_VIEWS, _BY_LOCKS])
def read_method(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Read by views, as each server allows it, and by locks, as where MySQL never stops committing."""
    if request.param == _BY_LOCKS:
        monkeypatch.setattr(consistent_read, "has_view_positions", lambda _: False)
        monkeypatch.setattr(consistent_read, "tables_show_log", lambda _: False)
    return str(request.param)


def fresh(source: SourceDatabase, table: str = "t") -> TableSnapshot:
    return TableSnapshot(source.name, table)


def after_restart(progress: TableSnapshot) -> TableSnapshot:
    """As a checkpoint gives it back."""
    return TableSnapshot.from_json(json.loads(json.dumps(progress.to_json())))


def chunks(
    source: SourceDatabase, rows: int = 1, table: str = "t", between: Callable[[int], None] = lambda _: None
) -> Iterator[Chunk]:
    """All chunks to the end; `between` is called after each."""
    progress, number = fresh(source, table), 0
    while not progress.finished:
        chunk = next_chunk(source.connection, progress, 1, rows)
        assert chunk is not None
        yield chunk
        between(number)
        progress, number = after_restart(chunk.progress), number + 1


def rows_of(read: Sequence[Chunk]) -> list[tuple[Any, ...]]:
    return [row for chunk in read for row in chunk.rows]


def everything(source: SourceDatabase, table: str = "t", order: str = "") -> list[tuple[Any, ...]]:
    """What one SELECT gives."""
    structure = structure_of(source.connection, TableName(source.name, table))
    assert structure
    selected = source.rows(f"SELECT {select_list(structure)} FROM `{table}` {order}")
    return list(read_selected(structure, selected).rows)


def fold(source: SourceDatabase, read: Sequence[Chunk], changes: Sequence[RowsChanged], keys: Sequence[str]) -> list[Any]:
    """The latest row of each key, of a snapshot and the changes from its start on, as the current view has it."""
    start = read[-1].progress.start
    assert start
    assert {change.position.file for change in changes} == {start.file}
    found = [record for chunk in read for record in _snapshot_records(source, chunk)]
    for change in changes:
        if change.position.offset >= start.offset:
            found += map(json.loads, change_records(_origin(source, change.structure), change))
    latest = oracle([_landed(record) for record in found], keys)
    return sorted((tuple(row.values()) for row in latest), key=repr)


def _snapshot_records(source: SourceDatabase, chunk: Chunk) -> Iterator[Record]:
    origin = _origin(source, chunk.structure)
    return map(json.loads, snapshot_records(origin, chunk.rows, chunk.position, chunk.timestamp))


def _origin(source: SourceDatabase, structure: Structure) -> Origin:
    return Origin("shop-db", source.name, versioned_table(structure))


def _landed(record: Record) -> dict[str, Any]:
    return {**record["data"], METADATA: {**record["metadata"], "uuid": None, "sort_keys": []}}
