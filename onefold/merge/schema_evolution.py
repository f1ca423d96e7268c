"""A base follows the unified schema: which columns it lacks, which have another type by now, and how to get there.

A stored value may be converted again where that gives what its landed value, converted in one step, would give. Else the
base is rebuilt from the change tables.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import indent
from typing import Literal

from onefold.core.names import fold_case, quote
from onefold.merge.base_table import DELETED, POSITION, BaseTable, free_name, ranked
from onefold.merge.merge_log import floor_sql
from onefold.schema.bigquery import absent_columns, cluster_by
from onefold.schema.casts import UTC, convert, losses, typed_null
from onefold.schema.columns import Column
from onefold.schema.common_type import PARENTS, is_at_or_below
from onefold.schema.recast import keeps_values
from onefold.schema.types import Scalar, Type
from onefold.schema.versions import Version


@dataclass(frozen=True)
class TypeChange:
    """A column of the base whose unified type is another one by now."""

    name: str
    old: Type
    new: Type


@dataclass(frozen=True)
class SchemaPlan:
    """What brings a base up to the unified schema.

    spare: columns that the unified schema no longer has; they stay, and are emptied row by row.
    way: `convert` the stored values, `rebuild` the base from the change tables, or neither.
    """

    added: tuple[Column, ...] = ()
    retyped: tuple[TypeChange, ...] = ()
    spare: tuple[str, ...] = ()
    way: Literal["none", "convert", "rebuild"] = "none"


def follow(
    base: BaseTable,
    stored: Sequence[Column],
    versions: Iterable[Version],
    merged: Collection[str],
    zone: str = UTC,
    unknown_rows: bool = False,
) -> SchemaPlan:
    """Compare a base table with what it is to be.

    Args:
        stored: the columns of the table as it is.
        versions: all that are there.
        merged: those of them that the log says are in the base. Of another one a row can be in it only where it fitted.
        unknown_rows: whether there may be rows of others in it: of versions that are gone, or of a snapshot.
    """
    known = {fold_case(column.name): column.type for column in stored}
    retyped = tuple(
        TypeChange(column.name, known[fold_case(column.name)], column.type)
        for column in base.stored
        if known.get(fold_case(column.name), column.type) != column.type
    )
    versions = list(versions)
    same = all(
        _keeps_values(_landed_types(change, versions, merged), change, zone, unknown_rows)
        # Two keys that become one are two rows, and only a rebuild folds rows.
        and not (_is_key(base, change) and losses(change.old, change.new, zone))
        for change in retyped
    )
    way: Literal["none", "convert", "rebuild"] = ("convert" if same else "rebuild") if retyped else "none"
    spare = tuple(column.name for column in absent_columns(base.stored, stored))
    return SchemaPlan(tuple(absent_columns(stored, base.stored)), retyped, spare, way)


def _is_key(base: BaseTable, change: TypeChange) -> bool:
    return fold_case(change.name) in {fold_case(key) for key in base.keys}


def convert_statement(base: BaseTable, stored: Sequence[Column], clustering: Sequence[str], zone: str = UTC) -> str:
    """The base written anew, each value converted from the type that it is stored in; spare columns stay as they are."""
    known = _by_name(stored)
    items = [converted(column, known, zone) for column in base.stored]
    items += [f"b.{quote(column.name)}" for column in absent_columns(base.stored, stored)]
    rows = f"SELECT\n  {(',' + chr(10) + '  ').join(items)}\nFROM {base.id.quoted} AS b"
    return f"CREATE OR REPLACE TABLE {base.id.quoted}{cluster_by(clustering)}\nAS\n{rows}"


def rebuild_statement(
    base: BaseTable, stored: Sequence[Column], clustering: Sequence[str], history: str, zone: str = UTC
) -> str:
    """The base written anew from its whole history. It fails rather than lose a row of the old base that is not in it.

    What a purge made unknown stays so: the history may have kept a late change of a key whose deletion has expired.
    """
    lost, rank, known = (free_name(name, base.columns) for name in ("_lost", "_rank", "_known"))
    items = ",\n  ".join(_rebuilt(base, column, lost) for column in base.stored)
    rows = _history_and_base(base, stored, history, lost, zone)
    return (
        f"CREATE OR REPLACE TABLE {base.id.quoted}{cluster_by(clustering)}\nAS\nSELECT\n  {items}\n"
        f"{ranked(base.keys, rows, rank, f', r.{lost}', f'LOGICAL_OR(r.{lost}) OVER ({{key}}) AS {known}')}\n"
        f"WHERE w.{rank} = 1 AND (w.{known} OR w.{DELETED} OR w.{POSITION} > IFNULL({floor_sql(base.log)}, ''))"
    )


def lost_rows_query(base: BaseTable, stored: Sequence[Column], history: str, zone: str = UTC) -> str:
    """How many rows of the base would be lost: the history has no change of their key at or above their position.

    Args:
        history: needs no columns of the source but the key.
    """
    base = replace(base, columns=base.key_columns)
    lost, rank = free_name("_lost", base.columns), free_name("_rank", base.columns)
    rows = _history_and_base(base, stored, history, lost, zone)
    return f"SELECT COUNT(*) AS found\n{ranked(base.keys, rows, rank, f', r.{lost}')}\nWHERE w.{rank} = 1 AND w.{lost}"


def _landed_types(change: TypeChange, versions: Iterable[Version], merged: Collection[str]) -> set[Type]:
    return {
        column.type
        for version in versions
        for column in version.columns
        if fold_case(column.name) == fold_case(change.name)
        if version.id in merged or is_at_or_below(column.type, change.old)
    }


def _keeps_values(landed: Iterable[Type], change: TypeChange, zone: str, unknown: bool) -> bool:
    types = {*landed, *(_all_below(change.old) if unknown else ())}
    return all(keeps_values(type_, change.old, change.new, zone) for type_ in types)


def _all_below(type_: Type) -> set[Type]:
    """Every type whose values may have become this one. Of a nested one they cannot be told: a type that never fits."""
    if not isinstance(type_, Scalar):
        return {Scalar("GEOGRAPHY")}
    return {type_, *(Scalar(name) for name in PARENTS if is_at_or_below(Scalar(name), type_))}


def _by_name(columns: Iterable[Column]) -> dict[str, Column]:
    return {fold_case(column.name): column for column in columns}


def converted(column: Column, stored: Mapping[str, Column], zone: str) -> str:
    """A column of the base table `b` in the type of its schema; NULL where the table does not have it yet."""
    found = stored.get(fold_case(column.name))
    if found and (found.name, found.type) == (column.name, column.type):
        return f"b.{quote(column.name)}"
    value = convert(f"b.{quote(found.name)}", found.type, column.type, zone) if found else typed_null(column.type)
    return f"{value} AS {quote(column.name)}"


def _history_and_base(base: BaseTable, stored: Sequence[Column], history: str, lost: str, zone: str) -> str:
    """The changes, and of the base what tells whether a row is among them: of two with one place the change comes first."""
    names = ", ".join(f"h.{quote(column.name)}" for column in base.stored)
    known = _by_name(stored)
    kept = [
        converted(column, known, zone)
        if base.is_key(column) or column.name in (POSITION, DELETED)
        else f"{typed_null(column.type)} AS {quote(column.name)}"
        for column in base.stored
    ]
    return (
        f"SELECT {names}, FALSE AS {lost}\nFROM (\n{indent(history, '  ')}\n) AS h\n"
        f"UNION ALL\nSELECT {', '.join(kept)}, TRUE AS {lost}\nFROM {base.id.quoted} AS b"
    )


def _rebuilt(base: BaseTable, column: Column, lost: str) -> str:
    name = quote(column.name)
    if column.name == POSITION:
        return f"IF(w.{lost}, ERROR('a row of the base is not in its history'), w.{name}) AS {name}"
    if base.is_key(column) or column.name == DELETED:
        return f"w.{name}"
    return f"IF(w.{DELETED}, NULL, w.{name}) AS {name}"
