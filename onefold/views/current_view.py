"""The latest state of a change table as SQL: the second of the two joins, rows with rows.

Of the changes of a key the one with the greatest position wins. A deletion is a change like any other; the view leaves out
the keys whose winner is a deletion. Where there is a base, the view reads it, and of the changes only those that it may
lack.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from textwrap import indent

from onefold.changelog.key_columns import check_change_table
from onefold.changelog.metadata import LANDED_AT, METADATA, is_deletion, position_of
from onefold.changelog.packed_position import packed_sql
from onefold.core.names import TableId, quote
from onefold.merge.base_table import DELETED, PACKED, POSITION, BaseTable, base_of, free_name, is_newer, ranked, same_key
from onefold.merge.merge_log import floor_sql
from onefold.merge.schema_evolution import converted
from onefold.merge.stored_base import is_packed
from onefold.schema.casts import UTC
from onefold.schema.columns import Column, Schema

_CHANGES = "\0"
"""The place of the changes in a text that is still indented: no name and no literal has this character."""


def current_query(changes: TableId | str, columns: Sequence[Column], keys: Sequence[str]) -> str:
    """Return a query of the latest row of each key, in the source's columns. Keys that are NULL are one key, as in GROUP BY.

    Args:
        changes: a change table, or a query of all changes, such as the text of the unified view.
        columns: its columns, metadata included.
        keys: the columns whose values identify a row of the source.

    Raises:
        SchemaConflict: everything that keeps the table from having a latest state.
    """
    check_change_table(str(changes) if isinstance(changes, TableId) else "the versions", columns, keys)
    by_key = ", ".join(f"c.{quote(key)}" for key in keys)
    rank = quote(free_name("_rank", columns))
    landed = map(quote, Schema(columns).only([LANDED_AT]).names)
    left_out = ", ".join([quote(METADATA), *landed, rank])
    return (
        f"SELECT w.* EXCEPT ({left_out})\n"
        "FROM (\n"
        f"  SELECT c.*, ROW_NUMBER() OVER (PARTITION BY {by_key} ORDER BY {position_of('c', columns)} DESC) AS {rank}\n"
        f"  FROM {_item(changes)} AS c\n"
        ") AS w\n"
        f"WHERE w.{rank} = 1 AND NOT {is_deletion('w')}"
    )


def current_query_over_base(
    base: BaseTable,
    stored: Sequence[Column],
    changes: TableId | str,
    columns: Sequence[Column],
    window: str | None,
    zone: str = UTC,
    read_from: TableId | None = None,
) -> str:
    """Return a query of the same rows as `current_query`, from a base and the changes that it may lack.

    The position of a change has no digest here, because a digest would make every query read every column. So the position
    is a prefix of the one that the base holds for the same change, and lower: a change never wins over itself.

    Args:
        base: the base table as it has to be.
        stored: the columns of the base table as it is.
        changes: a change table, or a query of all changes, such as the text of the unified view.
        columns: the columns of `changes`, metadata included.
        window: the condition on the changes `r` that are read; None for all changes.
        zone: the time zone in which a DATETIME is read.
        read_from: a copy of the base that is read in its place; None for the base itself.
    """
    # A union goes by position, so the base gets the order and the spelling of the changes, fields of structs included.
    base = replace(base_of(base.table, columns, base.keys, base.dataset), packed=is_packed(stored))
    newest = indent(_newest(base, _CHANGES, columns, window), "  ").replace(_CHANGES, _item(changes))
    names, newer = [quote(column.name) for column in base.columns], is_newer("c", "b", base.position)
    rows = f"(\n{indent(_base_rows(read_from or base.id, base, stored, zone), '  ')}\n)"
    # Both joins have the few new changes on one side. The base is never sorted, and a filter on the view reaches its table.
    return (
        f"WITH newest AS (\n{newest}\n)\n"
        f"SELECT\n  {_list(f'c.{name}' for name in names)}\nFROM newest AS c\n"
        f"LEFT JOIN {rows} AS b ON {same_key(base, 'b', 'c')}\n"
        f"WHERE NOT c.{DELETED}\n"
        f"AND IF(b.{DELETED} IS NULL, c.{POSITION} > IFNULL({floor_sql(base.log)}, ''), {newer})\n"
        "UNION ALL\n"
        f"SELECT\n  {_list(f'b.{name}' for name in names)}\nFROM {rows} AS b\n"
        f"LEFT JOIN newest AS c ON {same_key(base, 'b', 'c')}\n"
        f"WHERE NOT b.{DELETED} AND (c.{POSITION} IS NULL OR NOT {newer})"
    )


def current_query_above_floor(
    base: BaseTable,
    stored: Sequence[Column],
    changes: TableId | str,
    columns: Sequence[Column],
    zone: str,
    read_from: TableId,
) -> str:
    """Return a query of the same rows as `current_query`, without the keys that a rebuild of the base would leave out.

    These are the keys whose tombstones were purged: the base does not have them, and the history may hold a late change of
    them, at or below the floor, without their deletion. Only the keys of the base are read.

    Args:
        base: the base table as it has to be.
        stored: the columns of the base table as it is.
        changes: a change table, or a query of all changes, such as the text of the unified view.
        columns: the columns of `changes`, metadata included.
        zone: the time zone in which a DATETIME is read.
        read_from: the base itself, or a copy of it.
    """
    base = base_of(base.table, columns, base.keys, base.dataset)
    newest = indent(_newest(base, _CHANGES, columns, None), "  ").replace(_CHANGES, _item(changes))
    known = free_name("_known", base.columns)
    keys = ", ".join(converted(column, Schema(stored), zone) for column in base.key_columns)
    names = _list(f"c.{quote(column.name)}" for column in base.columns)
    # Two keys of the base may be one key in their new type.
    rows = f"(SELECT DISTINCT {keys}, TRUE AS {known} FROM {read_from.quoted} AS b)"
    return (
        f"SELECT\n  {names}\nFROM (\n{newest}\n) AS c\n"
        f"LEFT JOIN {rows} AS b ON {same_key(base, 'b', 'c')}\n"
        f"WHERE NOT c.{DELETED} AND (b.{known} OR c.{POSITION} > IFNULL({floor_sql(base.log)}, ''))"
    )


def _newest(base: BaseTable, changes: str, columns: Sequence[Column], window: str | None) -> str:
    rank = free_name("_rank", base.columns)
    names = [f"r.{quote(column.name)}" for column in base.columns]
    rows = (
        f"SELECT {', '.join(names)}, {position_of('r', columns)} AS {POSITION}, {is_deletion('r')} AS {DELETED}\n"
        f"FROM {changes} AS r" + (f"\nWHERE {window}" if window else "")
    )
    packed = f", {packed_sql(f'w.{POSITION}')} AS {PACKED}" if base.packed else ""
    return f"SELECT w.* EXCEPT ({rank}){packed}\n{ranked(base.keys, rows, rank)}\nWHERE w.{rank} = 1"


def _base_rows(read_from: TableId, base: BaseTable, stored: Sequence[Column], zone: str) -> str:
    """Return a query of the base in the unified types, which the next merge will give it."""
    known = Schema(stored)
    items = _list(converted(column, known, zone) for column in base.stored)
    return f"SELECT\n  {items}\nFROM {read_from.quoted} AS b"


def _item(changes: TableId | str) -> str:
    """Return changes as an item of a FROM clause. A query stays as it is, because comments in it begin a line."""
    return changes.quoted if isinstance(changes, TableId) else f"(\n{changes}\n)"


def _list(items: Iterable[str]) -> str:
    return ",\n  ".join(items)
