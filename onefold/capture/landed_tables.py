"""The tables in which the rows of a captured table have landed, each with the version that takes deletions of its rows.

They are the versioned tables, and the base: partitions of versioned tables may expire once their rows are in the base.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from onefold.changelog.base_columns import DELETED, PACKED, POSITION, base_table
from onefold.changelog.metadata import DATABASE_NAME, LANDED_AT, METADATA, SOURCE_NAME
from onefold.core.names import TableId, quote
from onefold.landing.table import VersionedTable
from onefold.ports.warehouse import StoredTable
from onefold.schema.casts import convert, typed_null
from onefold.schema.columns import Column, Schema
from onefold.schema.common_type import join_all
from onefold.schema.recast import keeps_values
from onefold.schema.types import STRING, Type
from onefold.schema.versions import Version

_ADDED = (SOURCE_NAME, DATABASE_NAME, LANDED_AT, METADATA)
_OF_BASE = (SOURCE_NAME, DATABASE_NAME, DELETED)
_HASH = "r'^[0-9a-f]{64}$'"


class LandedTables(Protocol):
    """What is needed of a warehouse."""

    def read_versions(self, base: TableId) -> tuple[Version, ...]: ...

    def read_table(self, id_: TableId) -> StoredTable | None: ...


@dataclass(frozen=True)
class RowsToDelete:
    """Rows that have landed, and the versioned table that takes their deletions.

    Attributes:
        version: the versioned table of the rows, or the base in the form of one.
        target: the versioned table that takes their deletions.
        is_base: whether the rows are those of the base, which have their position in a column.
        condition: which rows of the table `v` are meant; empty for all.
    """

    version: Version
    target: VersionedTable
    is_base: bool = False
    condition: str = ""


def landed_rows(
    warehouse: LandedTables, base: TableId, present: VersionedTable
) -> tuple[list[Column], dict[str, RowsToDelete]]:
    """Return the columns of the key that have landed, with their least common types, and where rows have landed.

    Args:
        warehouse: where the rows have landed.
        base: the id of the table without a version.
        present: the version of the present structure of the source.

    Raises:
        NotFound: the dataset does not exist.
        TryAgain: an error that may pass.
    """
    versions = [version for version in warehouse.read_versions(base) if _is_captured(version)]
    present = present.among([version.id for version in versions])
    stored = _read_base(warehouse, base)
    keys = [Column(key, join_all(types)) for key in present.primary_key if (types := _types([*versions, *stored], key))]
    rows = [RowsToDelete(version, _target(version, present, versions, keys)) for version in versions]
    rows += [one for found in stored for one in _rows_of_base(found, present, versions, keys)]
    return keys, {one.version.id: one for one in rows}


def _read_base(warehouse: LandedTables, base: TableId) -> tuple[Version, ...]:
    """Return the base, in the form of a version; none where there is no base of captured rows."""
    id_ = base_table(base)
    stored = warehouse.read_table(id_)
    columns = Schema(stored.columns if stored else ())
    if stored is None or not all(map(columns.has, _OF_BASE)) or not columns.only((POSITION, PACKED)):
        return ()
    return (Version("base", stored.columns, table=id_.table),)


def _is_captured(version: Version) -> bool:
    return all(version.schema.has(name) for name in _ADDED)


def _types(versions: Iterable[Version], key: str) -> list[Type]:
    return [column.type for version in versions if (column := version.schema.get(key))]


def _target(
    version: Version, present: VersionedTable, versions: Sequence[Version], keys: Sequence[Column]
) -> VersionedTable:
    """Return the present version if its key keeps every value of the key; else the version in which the row landed.

    Args:
        version: the version in which rows have landed.
        present: the version of the present structure of the source.
        versions: all versions of the table that exist.
        keys: the key's columns, with their least common types over all versions.
    """
    if any(other.id == present.version for other in versions) and all(_keeps(version, present, key) for key in keys):
        return present
    names = version.schema.only(key.name for key in keys).names
    return VersionedTable(present.table, version.id, version.columns, names)


def _rows_of_base(
    stored: Version, present: VersionedTable, versions: Sequence[Version], keys: Sequence[Column]
) -> Iterator[RowsToDelete]:
    """Yield the rows of the base with the version that takes their deletions: one whose key keeps every value.

    The base does not tell in which version a row landed. A value that was not hashed must not get into a version with
    hashes.
    """
    tables = [VersionedTable(present.table, one.id, one.columns, tuple(key.name for key in keys)) for one in versions]
    tables.sort(key=lambda one: one.version != present.version)
    hashes = " AND ".join(_is_hash(stored, key) for key in keys if key.name in present.hashed)
    parts = [("", tables, hashes)]
    if hashes:
        parts.append(("clear", [one for one in tables if one.version != present.version], f"NOT ({hashes})"))
    for name, others, condition in parts:
        target = next((one for one in others if all(_keeps(stored, one, key) for key in keys)), None)
        if target:
            yield RowsToDelete(replace(stored, id=f"{stored.id} {name}"), target, is_base=True, condition=condition)


def _is_hash(stored: Version, key: Column) -> str:
    """Return a condition on the rows `v` of the base: the key is a hash."""
    column = stored.schema.get(key.name)
    text = convert(f"v.{quote(column.name)}", column.type, STRING) if column else typed_null(STRING)
    return f"IFNULL(REGEXP_CONTAINS({text}, {_HASH}), FALSE)"


def _keeps(version: Version, present: VersionedTable, key: Column) -> bool:
    if key.name in present.hashed and version.id != present.version:
        return False  # the value may have landed before it was hashed
    landed, now = version.schema.get(key.name), Schema(present.columns).get(key.name)
    return landed is None or (now is not None and keeps_values(landed.type, now.type, key.type))
