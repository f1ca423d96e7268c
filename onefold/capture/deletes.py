"""The delete scan after a snapshot: deletions for the keys that landed before the snapshot and are not in it.

A scan keeps no state, and its result may be wrong for a while, because it reads what has landed by then. A row of the
snapshot that lands late ranks above its deletion, whose position is the snapshot's start. A change from before the snapshot
that lands late is found by the next scan: scans go on until no message from before the snapshot can land any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from onefold.capture.landed_tables import LandedTables, RowsToDelete, landed_rows
from onefold.capture.records import Origin, Record, tombstone
from onefold.changelog.base_columns import DELETED, PACKED, POSITION
from onefold.changelog.key_columns import key_problems
from onefold.changelog.metadata import (
    DATABASE_NAME,
    SOURCE_NAME,
    is_deletion,
    metadata_sql,
)
from onefold.changelog.packed_position import unpacked_sql
from onefold.changelog.position import Position, position_sql
from onefold.core.names import TableId, quote, quote_text, versioned_name
from onefold.landing.key_values import key_text, landing_value
from onefold.landing.table import VersionedTable, versioned_table
from onefold.mysql.snapshot.chunks import TableSnapshot
from onefold.mysql.table import Structure
from onefold.schema.casts import convert, typed_null
from onefold.schema.columns import Column, Schema
from onefold.schema.types import STRING, Type

RETENTION_SECONDS = 7 * 24 * 3600
"""How long Pub/Sub keeps an undelivered message of `change-records`: by then each message has landed, or never will."""
_FIRST_PAUSE_SECONDS = 600
_PAGE = 50_000
"""Keys per query."""
_NO_KEYS = "CAST([] AS ARRAY<STRING>)"


class LandedRowsWarehouse(LandedTables, Protocol):
    """What a delete scan needs of a warehouse."""

    @property
    def project(self) -> str: ...

    def fetch(self, sql: str) -> list[dict[str, Any]]: ...


def missing_keys(
    warehouse: LandedRowsWarehouse, dataset: str, source: str, finished: TableSnapshot, structure: Structure | None
) -> Iterator[tuple[VersionedTable, Record]]:
    """Yield a deletion for each landed key that a finished snapshot does not contain; none for a table without a key.

    Args:
        warehouse: where the rows have landed.
        dataset: of the versioned tables.
        source: the name of the source.
        finished: the snapshot, complete.
        structure: the present structure of the table as it lands; None if the table was dropped: its landed rows stay.

    Yields:
        The versioned table that takes the deletion, and the record.

    Raises:
        NotFound: the dataset does not exist.
        SchemaConflict: BigQuery cannot hold the structure.
        TryAgain: an error that may pass.
    """
    if structure is None or finished.start is None:
        return
    present = versioned_table(structure)
    base = TableId(warehouse.project, dataset, present.table)
    keys, landed = landed_rows(warehouse, base, present)
    if len(keys) < len(present.primary_key) or list(key_problems(str(base), keys, present.primary_key)):
        return
    rows = _last_changes(base, list(landed.values()), keys, source, finished.database)
    start = str(Position(finished.start.sequence(), finished.began * 1000, deleted=True))
    for row in _pages(warehouse, rows, start, len(keys)):
        target = landed[row["version"]].target
        key = {name: landing_value(type_, row[f"v{number}"]) for number, name, type_ in _written(target, keys)}
        yield target, tombstone(Origin(source, finished.database, target), key, finished.start, finished.began)


def next_delete_scan(finished_at: int, scanned_at: int | None) -> int | None:
    """Return when a table is to be scanned next, in seconds since 1970; None after the last scan.

    The first scan comes at once, the others after growing pauses: 10 minutes, then twice the age of the snapshot.

    Args:
        finished_at: when the snapshot was complete and the log read beyond its start: nothing older is published later.
        scanned_at: when the last scan ended; None before the first one.

    Examples:
        >>> next_delete_scan(1000, None), next_delete_scan(1000, 1000), next_delete_scan(1000, 6000)
        (1000, 1600, 11000)
    """
    if scanned_at is None:
        return finished_at
    age = scanned_at - finished_at
    return None if age >= RETENTION_SECONDS else finished_at + min(max(_FIRST_PAUSE_SECONDS, 2 * age), RETENTION_SECONDS)


def _written(target: VersionedTable, keys: Sequence[Column]) -> Iterator[tuple[int, str, Type]]:
    """Yield the key's columns that the table has: number within the key, name and type."""
    schema = Schema(target.columns)
    for number, key in enumerate(keys):
        if column := schema.get(key.name):
            yield number, column.name, column.type


def _last_changes(base: TableId, landed: Sequence[RowsToDelete], keys: Sequence[Column], source: str, database: str) -> str:
    """Return a query for all changes of one database, numbered per key by `_rank`: the last change of a key has rank 1.

    Its columns are `version`, `position`, `deleted`, `k0`, `k1`, ... (the key in the types of the unified view) and
    `v0`, `v1`, ... (the key as text, in the types of the table that takes the deletion). A row of the base is the last
    change of its key that was merged.

    Args:
        base: the id of the table without a version.
        landed: its versions and its base.
        keys: the key's columns, with their least common types.
        source: the name of the source.
        database: the tenant.
    """
    tenant = f"v.{SOURCE_NAME} = {quote_text(source)} AND v.{DATABASE_NAME} = {quote_text(database)}"
    changes = "\nUNION ALL\n".join(
        f"{_branch(base, table, keys)}\nWHERE {tenant}" + (f" AND {table.condition}" if table.condition else "")
        for table in landed
    )
    position = position_sql("u.sequence", "u.happened_at", _NO_KEYS, "u.deleted")
    by_key = ", ".join(f"r.k{number}" for number in range(len(keys)))
    return (
        f"SELECT r.*, ROW_NUMBER() OVER (PARTITION BY {by_key} ORDER BY r.position DESC) AS _rank\n"
        f"FROM (\nSELECT u.*, IFNULL(u.stored, {position}) AS position\nFROM (\n{changes}\n) AS u\n) AS r"
    )


def _branch(base: TableId, landed: RowsToDelete, keys: Sequence[Column]) -> str:
    """Return a query for the changes of one version, or the rows of the base.

    Its columns are what positions are made of, and the key of `_last_changes`.
    """
    version = landed.version
    items = [
        f"{quote_text(version.id)} AS version",
        *(_place_in_base(version.schema) if landed.is_base else _place()),
    ]
    target_schema = Schema(landed.target.columns)
    for number, key in enumerate(keys):
        # A version from before the column was added has NULL in its place, as in the unified view.
        column, target = version.schema.get(key.name), target_schema.get(key.name)
        x = f"v.{quote(column.name)}" if column else ""
        items.append(f"{convert(x, column.type, key.type) if column else typed_null(key.type)} AS k{number}")
        items.append(f"{key_text(x, column.type, target.type) if column and target else typed_null(STRING)} AS v{number}")
    table = base.sibling(version.table or versioned_name(base.table, version.id))
    return f"SELECT {', '.join(items)}\nFROM {table.quoted} AS v"


def _place_in_base(columns: Schema) -> tuple[str, ...]:
    """Return the items of a base about the position of a row, as text."""
    return (
        "CAST(NULL AS STRING) AS sequence",
        "CAST(NULL AS INT64) AS happened_at",
        f"v.{DELETED} AS deleted",
        f"{unpacked_sql(f'v.{PACKED}') if columns.has(PACKED) else f'v.{POSITION}'} AS stored",
    )


def _place() -> tuple[str, ...]:
    """Return the items of a versioned table about the position of a row."""
    return (
        f"{metadata_sql('v', 'change_sequence_number')} AS sequence",
        f"{metadata_sql('v', 'source_timestamp')} AS happened_at",
        f"{is_deletion('v')} AS deleted",
        "CAST(NULL AS STRING) AS stored",
    )


def _pages(warehouse: LandedRowsWarehouse, rows: str, start: str, keys: int) -> Iterator[Mapping[str, Any]]:
    """Yield the keys to delete, read in pages: a table that was emptied may have had very many rows.

    Args:
        warehouse: runs the queries.
        rows: the query of `_last_changes`.
        start: the position of the snapshot's start: later changes are not deleted.
        keys: how many columns the key has.
    """
    after = ""
    while True:
        page = warehouse.fetch(_page_query(rows, start, after, keys))
        yield from page
        if len(page) < _PAGE:
            return
        after = page[-1]["mark"]


def _page_query(rows: str, start: str, after: str, keys: int) -> str:
    """Return the query for one page, ordered by a mark: the digest of version and key.

    The mark orders keys of any type and number of columns, and stays the same from query to query, so that the next page
    begins behind the last mark. Each value has its length in front, so that no two keys have one text.
    """
    values = [f"w.v{number}" for number in range(keys)]
    texts = ", ".join(f"IFNULL(CONCAT(CAST(LENGTH({value}) AS STRING), ':', {value}), '-')" for value in values)
    deleted = (
        f"SELECT w.version, {', '.join(values)}, TO_HEX(SHA256(CONCAT(w.version, ' ', {texts}))) AS mark\n"
        f"FROM (\n{rows}\n) AS w\nWHERE w._rank = 1 AND NOT w.deleted AND w.position < {quote_text(start)}"
    )
    return f"SELECT d.*\nFROM (\n{deleted}\n) AS d\nWHERE d.mark > {quote_text(after)}\nORDER BY d.mark\nLIMIT {_PAGE}"
