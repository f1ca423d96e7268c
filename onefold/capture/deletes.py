"""The sweep after a snapshot: deletions for the keys that landed before it began, and that it did not find.

Nothing is remembered between two sweeps, and one may be wrong for a while: it looks at what has landed by then. A row of the
snapshot that lands late ranks above the deletion, whose position is the snapshot's start. A change from before the snapshot
that lands late is found by the next sweep: they go on until nothing can be on its way any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from onefold.capture.records import Origin, Record, tombstone
from onefold.capture.versioned_table import VersionedTable, versioned_table
from onefold.changelog.metadata import (
    DATABASE_NAME,
    LANDED_AT,
    METADATA,
    SOURCE_NAME,
    is_deletion,
    key_problems,
    metadata_sql,
)
from onefold.changelog.position import Position, position_sql
from onefold.core.names import TableId, fold_case, quote, quote_text, versioned_name
from onefold.mysql.snapshot.chunks import TableSnapshot
from onefold.mysql.table import Structure
from onefold.schema.casts import convert, typed_null
from onefold.schema.columns import Column
from onefold.schema.common_type import join_all
from onefold.schema.recast import keeps_values
from onefold.schema.types import STRING, Scalar, Type
from onefold.schema.versions import Version

RETENTION_SECONDS = 7 * 24 * 3600
"""How long a message of `change-records` may be on its way."""
_FIRST_PAUSE_SECONDS = 600
_PAGE = 50_000
_ADDED = (SOURCE_NAME, DATABASE_NAME, LANDED_AT, METADATA)
_NO_KEYS = "CAST([] AS ARRAY<STRING>)"


class LandedRowsWarehouse(Protocol):
    """What a sweep needs of a warehouse."""

    @property
    def project(self) -> str: ...

    def read_versions(self, base: TableId) -> tuple[Version, ...]: ...

    def fetch(self, sql: str) -> list[dict[str, Any]]: ...


def missing_keys(
    warehouse: LandedRowsWarehouse, dataset: str, source: str, finished: TableSnapshot, structure: Structure | None
) -> Iterator[tuple[VersionedTable, Record]]:
    """Deletions for what has landed of a table and is not in it any more; none for a table without a key.

    Args:
        finished: a snapshot that is through.
        structure: the table's present one. None where the table is gone: what has landed of it stays.

    Raises:
        NotFound: there is no such dataset.
        SchemaConflict: the structure is none that lands.
        TryAgain: trouble that may pass.
    """
    if structure is None or finished.start is None:
        return
    present = versioned_table(structure)
    base = TableId(warehouse.project, dataset, present.table)
    versions = [version for version in warehouse.read_versions(base) if _is_captured(version)]
    keys = [Column(key, join_all(types)) for key in present.primary_key if (types := _types(versions, key))]
    if len(keys) < len(present.primary_key) or list(key_problems(str(base), keys, present.primary_key)):
        return
    landed = {version.id: _Version(version, _target(version, present, versions, keys)) for version in versions}
    rows = _last_changes(base, list(landed.values()), keys, source, finished.database)
    start = str(Position(finished.start.sequence(), finished.began * 1000, deleted=True))
    for row in _pages(warehouse, rows, start, len(keys)):
        target = landed[row["version"]].target
        key = {name: _landing(type_, row[f"v{number}"]) for number, name, type_ in _written(target, keys)}
        yield target, tombstone(Origin(source, finished.database, target), key, finished.start, finished.began)


def next_sweep(finished_at: int, swept_at: int | None) -> int | None:
    """When a table is to be swept next, in seconds: right away, then at growing pauses; None where it is done with.

    Args:
        finished_at: when the snapshot was through, and the log read beyond the snapshot's start: from then on nothing older
            is published.
        swept_at: when it was swept last.
    """
    if swept_at is None:
        return finished_at
    age = swept_at - finished_at
    return None if age >= RETENTION_SECONDS else finished_at + min(max(_FIRST_PAUSE_SECONDS, 2 * age), RETENTION_SECONDS)


@dataclass(frozen=True)
class _Version:
    """A versioned table, and the one into which deletions of its rows go."""

    version: Version
    target: VersionedTable


def _is_captured(version: Version) -> bool:
    return {*_ADDED} <= {fold_case(column.name) for column in version.columns}


def _types(versions: Iterable[Version], key: str) -> list[Type]:
    return [column.type for version in versions if (column := _find(version.columns, key))]


def _find(columns: Iterable[Column], name: str) -> Column | None:
    return next((column for column in columns if fold_case(column.name) == fold_case(name)), None)


def _target(
    version: Version, present: VersionedTable, versions: Sequence[Version], keys: Sequence[Column]
) -> VersionedTable:
    """The present version where its key says the same of every value; else the version in which the row has landed."""
    if any(other.id == present.version for other in versions) and all(_keeps(version, present, key) for key in keys):
        return present
    names = tuple(column.name for key in keys if (column := _find(version.columns, key.name)))
    return VersionedTable(present.table, version.id, version.columns, names)


def _keeps(version: Version, present: VersionedTable, key: Column) -> bool:
    landed, now = _find(version.columns, key.name), _find(present.columns, key.name)
    return landed is None or (now is not None and keeps_values(landed.type, now.type, key.type))


def _written(target: VersionedTable, keys: Sequence[Column]) -> Iterator[tuple[int, str, Type]]:
    """The columns of the key that the table has, each with the number of its value."""
    for number, key in enumerate(keys):
        if column := _find(target.columns, key.name):
            yield number, column.name, column.type


def _last_changes(base: TableId, landed: Sequence[_Version], keys: Sequence[Column], source: str, database: str) -> str:
    """Of each key the last change: `version`, `position`, `deleted`, and the key as it is written, `v0`, `v1`, ..."""
    tenant = f"v.{SOURCE_NAME} = {quote_text(source)} AND v.{DATABASE_NAME} = {quote_text(database)}"
    changes = "\nUNION ALL\n".join(f"{_branch(base, table, keys)}\nWHERE {tenant}" for table in landed)
    position = position_sql("u.sequence", "u.happened_at", _NO_KEYS, "u.deleted")
    by_key = ", ".join(f"r.k{number}" for number in range(len(keys)))
    return (
        f"SELECT r.*, ROW_NUMBER() OVER (PARTITION BY {by_key} ORDER BY r.position DESC) AS _rank\n"
        f"FROM (\nSELECT u.*, {position} AS position\nFROM (\n{changes}\n) AS u\n) AS r"
    )


def _branch(base: TableId, landed: _Version, keys: Sequence[Column]) -> str:
    """The changes of one version: their keys as the unified view has them, and as they are written."""
    version = landed.version
    items = [
        f"{quote_text(version.id)} AS version",
        f"{metadata_sql('v', 'change_sequence_number')} AS sequence",
        f"{metadata_sql('v', 'source_timestamp')} AS happened_at",
        f"{is_deletion('v')} AS deleted",
    ]
    for number, key in enumerate(keys):
        column, target = _find(version.columns, key.name), _find(landed.target.columns, key.name)
        x = f"v.{quote(column.name)}" if column else ""
        items.append(f"{convert(x, column.type, key.type) if column else typed_null(key.type)} AS k{number}")
        items.append(f"{_text(x, column.type, target.type) if column and target else typed_null(STRING)} AS v{number}")
    return f"SELECT {', '.join(items)}\nFROM {base.sibling(versioned_name(base.table, version.id)).quoted} AS v"


def _pages(warehouse: LandedRowsWarehouse, rows: str, start: str, keys: int) -> Iterator[Mapping[str, Any]]:
    """The keys to be deleted, some at a time: a table that was emptied may have had very many."""
    after = ""
    while True:
        page = warehouse.fetch(_page_query(rows, start, after, keys))
        yield from page
        if len(page) < _PAGE:
            return
        after = page[-1]["mark"]


def _page_query(rows: str, start: str, after: str, keys: int) -> str:
    values = [f"w.v{number}" for number in range(keys)]
    texts = ", ".join(f"IFNULL(CONCAT(CAST(LENGTH({value}) AS STRING), ':', {value}), '-')" for value in values)
    doomed = (
        f"SELECT w.version, {', '.join(values)}, TO_HEX(SHA256(CONCAT(w.version, ' ', {texts}))) AS mark\n"
        f"FROM (\n{rows}\n) AS w\nWHERE w._rank = 1 AND NOT w.deleted AND w.position < {quote_text(start)}"
    )
    return f"SELECT d.*\nFROM (\n{doomed}\n) AS d\nWHERE d.mark > {quote_text(after)}\nORDER BY d.mark\nLIMIT {_PAGE}"


def _text(x: str, landed: Type, target: Type) -> str:
    """The value in the target's type, as text that JSON can hold."""
    value = convert(x, landed, target)
    return f"TO_BASE64({value})" if target == Scalar("BYTES") else convert(value, target, STRING)


def _landing(type_: Type, text: str | None) -> Any:
    """The value as a record has it."""
    if text is None:
        return None
    if type_ == Scalar("INT64"):
        return int(text)
    if str(type_) in ("NUMERIC", "BIGNUMERIC") and "." in text:
        return text.rstrip("0").rstrip(".")
    return f"{text.removesuffix('+00')}+00:00" if type_ == Scalar("TIMESTAMP") else text
