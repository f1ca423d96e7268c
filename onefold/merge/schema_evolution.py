"""How a base gets the unified schema: which columns it lacks, and which have another type by now.

A stored value may be converted again where the result is the same as converting its landed value in one step. Otherwise the
base is rebuilt from the change tables.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from textwrap import indent
from typing import Literal

from onefold.changelog.packed_position import packed_sql, unpacked_sql
from onefold.core.names import fold_case, quote
from onefold.merge.base_table import DELETED, PACKED, POSITION, BaseTable, free_name, ranked
from onefold.merge.merge_log import floor_sql
from onefold.schema.bigquery import absent_columns, cluster_by
from onefold.schema.casts import UTC, conversion_problems, convert, losses, typed_null
from onefold.schema.columns import Column, Schema
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
    """What gives a base the unified schema.

    added: columns that the base lacks.
    retyped: columns whose type has changed.
    dropped: columns that the unified schema no longer has; they stay, and become NULL in each row that is written.
    rezoned: columns with DATETIMEs that were read in another time zone than the one that the settings name by now.
    migration: `convert` the stored values, `rebuild` the base from the change tables, or `none`.
    packs: whether positions that are text become bytes meanwhile.
    """

    added: tuple[Column, ...] = ()
    retyped: tuple[TypeChange, ...] = ()
    dropped: tuple[str, ...] = ()
    rezoned: tuple[str, ...] = ()
    migration: Literal["none", "convert", "rebuild"] = "none"
    packs: bool = False


def plan_schema(
    base: BaseTable,
    stored: Sequence[Column],
    versions: Iterable[Version],
    merged: Collection[str],
    zone: str = UTC,
    unknown_rows: bool = False,
    zones: Collection[tuple[str, str]] = (),
) -> SchemaPlan:
    """Compare a base table as it is with what it has to be.

    Args:
        base: the base table as it has to be.
        stored: the columns of the base table as it is.
        versions: all versions that exist.
        merged: the identifiers of those whose rows are in the base by its log. Rows of another version can be in the base
            only where their type fitted.
        zone: the time zone in which a DATETIME is read.
        unknown_rows: whether the base may hold rows of no known type: of versions that are gone, or of a snapshot.
        zones: columns of the base, without their case, and the time zones in which their values were read.

    Examples:
        >>> from onefold.core.names import TableId
        >>> base = BaseTable(TableId("p", "d", "customer"), (Column("id", Scalar("STRING")),), ("id",))
        >>> stored = (Column("id", Scalar("INT64")), Column("age", Scalar("INT64")), *base.stored[1:])
        >>> plan_schema(base, stored, [Version("a", stored[:1])], ["a"])  # doctest: +NORMALIZE_WHITESPACE
        SchemaPlan(added=(), retyped=(TypeChange(name='id', old=Scalar(name='INT64'), new=Scalar(name='STRING')),),
                   dropped=('age',), rezoned=(), migration='convert', packs=False)
    """
    known, versions = Schema(stored), list(versions)
    kept = [TypeChange(column.name, old.type, column.type) for column in base.stored if (old := known.get(column.name))]
    landed = {change.name: _landed_types(change, versions, merged, unknown_rows) for change in kept}
    retyped = tuple(change for change in kept if change.old != change.new)
    can_convert = all(
        _keeps_values(landed[change.name], change, zone)
        # Where two keys become equal, two rows have to become one, which only a rebuild does.
        and not (base.is_key(change.name) and losses(change.old, change.new, zone))
        for change in retyped
    )
    others = {name for name, read in zones if read != zone}
    rezoned = tuple(change.name for change in kept if fold_case(change.name) in others)
    migration: Literal["none", "convert", "rebuild"] = "convert" if retyped else "none"
    if rezoned or not can_convert:
        migration = "rebuild"
    dropped = tuple(column.name for column in absent_columns(base.stored, stored))
    return SchemaPlan(tuple(absent_columns(stored, base.stored)), retyped, dropped, rezoned, migration)


def convert_statement(base: BaseTable, stored: Sequence[Column], clustering: Sequence[str], zone: str = UTC) -> str:
    """Return a statement that writes the base anew, each value converted from its stored type to its unified type.

    Columns that the unified schema no longer has stay as they are. Positions get the form of `base`.

    Args:
        base: the base table as it has to be.
        stored: the columns of the base table as it is.
        clustering: the columns by which the table is clustered.
        zone: the time zone in which a DATETIME is read.
    """
    known = Schema(stored)
    items = [converted(column, known, zone) for column in base.stored]
    items += [f"b.{quote(column.name)}" for column in absent_columns((*base.stored, *base.merged), stored)]
    rows = f"SELECT\n  {(',' + chr(10) + '  ').join(items)}\nFROM {base.id.quoted} AS b"
    return f"CREATE OR REPLACE TABLE {base.id.quoted}{cluster_by(clustering)}\nAS\n{rows}"


def rebuild_statement(
    base: BaseTable, stored: Sequence[Column], clustering: Sequence[str], history: str, zone: str = UTC
) -> str:
    """Return a statement that writes the base anew from its whole history.

    The statement fails where a row of the old base is not in the history, because that row would be lost. Keys whose
    tombstone was purged do not come back: the history may hold a late change of such a key, at or below the floor, without
    its deletion.

    Args:
        base: the base table as it has to be.
        stored: the columns of the base table as it is.
        clustering: the columns by which the table is clustered.
        history: a query of all changes, in the columns of `base.merged`.
        zone: the time zone in which a DATETIME is read.
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
    """Return a query that counts the rows that a rebuild would lose.

    Such a row has a position above those of all changes of its key in the history.

    Args:
        base: the base table as it has to be.
        stored: the columns of the base table as it is.
        history: a query of all changes; of the source's columns the keys are enough.
        zone: the time zone in which a DATETIME is read.
    """
    base = replace(base, columns=base.key_columns)
    lost, rank = free_name("_lost", base.columns), free_name("_rank", base.columns)
    rows = _history_and_base(base, stored, history, lost, zone)
    return f"SELECT COUNT(*) AS found\n{ranked(base.keys, rows, rank, f', r.{lost}')}\nWHERE w.{rank} = 1 AND w.{lost}"


def _landed_types(change: TypeChange, versions: Iterable[Version], merged: Collection[str], unknown: bool) -> set[Type]:
    """Return the types in which the stored values of a column may have landed."""
    known = {
        column.type
        for version in versions
        if (column := version.schema.get(change.name))
        if version.id in merged or is_at_or_below(column.type, change.old)
    }
    return {*known, *(_all_below(change.old) if unknown else ())}


def _keeps_values(landed: Iterable[Type], change: TypeChange, zone: str) -> bool:
    return all(keeps_values(type_, change.old, change.new, zone) for type_ in landed)


def is_zoned(landed: Type, stored: Type) -> bool:
    """Return whether values of one type are other values of the other type in another time zone.

    Examples:
        >>> is_zoned(Scalar("DATETIME"), Scalar("TIMESTAMP")), is_zoned(Scalar("DATE"), Scalar("DATETIME"))
        (True, False)
    """
    if conversion_problems(landed, stored):
        return False
    return convert("x", landed, stored) != convert("x", landed, stored, "Etc/GMT")


def zones_of(base: BaseTable, landed: Iterable[Schema], zone: str) -> frozenset[tuple[str, str]]:
    """Return the columns of a base, without their case, whose values depend on the zone in which they are read, with it.

    Args:
        base: the base table as it has to be.
        landed: the columns of tables whose rows are read.
        zone: the time zone in which a DATETIME is read.
    """
    read = ((column, found) for one in landed for column in base.columns if (found := one.get(column.name)))
    return frozenset((fold_case(column.name), zone) for column, found in read if is_zoned(found.type, column.type))


def _all_below(type_: Type) -> set[Type]:
    """Return every type whose values may have been converted to this one.

    Of a nested type that is unknown, so the result is a type whose values can never be converted a second time.
    """
    if not isinstance(type_, Scalar):
        return {Scalar("GEOGRAPHY")}
    return {type_, *(Scalar(name) for name in PARENTS if is_at_or_below(Scalar(name), type_))}


def converted(column: Column, stored: Schema, zone: str) -> str:
    """Return an item of a SELECT over the base table `b`: a column in its unified type.

    Args:
        column: the column as it has to be.
        stored: the columns of the base table as it is; the item is NULL where the column is not among them.
        zone: the time zone in which a DATETIME is read.

    Examples:
        >>> converted(Column("Id", Scalar("STRING")), Schema([Column("id", Scalar("INT64"))]), UTC)
        'CAST(b.`id` AS STRING) AS `Id`'
    """
    found = stored.get(column.name)
    if found and (found.name, found.type) == (column.name, column.type):
        return f"b.{quote(column.name)}"
    if column.name == PACKED:
        return f"{packed_sql(f'b.{POSITION}')} AS {PACKED}"
    if column.name == POSITION:
        return f"{unpacked_sql(f'b.{PACKED}')} AS {POSITION}"
    value = convert(f"b.{quote(found.name)}", found.type, column.type, zone) if found else typed_null(column.type)
    return f"{value} AS {quote(column.name)}"


def _history_and_base(base: BaseTable, stored: Sequence[Column], history: str, lost: str, zone: str) -> str:
    """Return a query of the changes, and of the base's rows with a flag; of those it takes only key, position, deletion.

    Among rows with one key and one position the change is ranked first, so a row of the base comes first only if it is lost.
    """
    names = ", ".join(f"h.{quote(column.name)}" for column in base.merged)
    known = Schema(stored)
    items = [
        converted(column, known, zone)
        if base.is_key(column.name) or column.name in (POSITION, DELETED)
        else f"{typed_null(column.type)} AS {quote(column.name)}"
        for column in base.merged
    ]
    return (
        f"SELECT {names}, FALSE AS {lost}\nFROM (\n{indent(history, '  ')}\n) AS h\n"
        f"UNION ALL\nSELECT {', '.join(items)}, TRUE AS {lost}\nFROM {base.id.quoted} AS b"
    )


def _rebuilt(base: BaseTable, column: Column, lost: str) -> str:
    name = quote(column.name)
    if column.name == base.position:
        position = packed_sql(f"w.{POSITION}") if base.packed else f"w.{name}"
        return f"IF(w.{lost}, ERROR('a row of the base is not in its history'), {position}) AS {name}"
    if base.is_key(column.name) or column.name == DELETED:
        return f"w.{name}"
    return f"IF(w.{DELETED}, NULL, w.{name}) AS {name}"
