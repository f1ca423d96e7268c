"""The queries of a table that another tool wrote, as views in a dataset of your own show it: its current rows, or all."""

from __future__ import annotations

from collections.abc import Sequence

from onefold.changelog.digest import digest_sql
from onefold.core.names import TableId, quote
from onefold.existing.table import ROW, ExistingTable, Recognised, column
from onefold.schema.casts import convert
from onefold.schema.columns import Column, Schema
from onefold.schema.table_rules import TableRules
from onefold.schema.target_types import landed_type
from onefold.schema.versions import Version, fold

RANK = "_onefold_rank"
"""The column of `latest_rows` that is 1 in the last row of a key."""
_DEFAULTS = TableRules()


def landed_versions(table: ExistingTable, found: Recognised) -> tuple[Version, ...]:
    """Return the columns that people read, as they landed: a version for the table, and one more for each variant.

    So a column and its variants get the type that a column of several versions gets.

    Args:
        table: the table.
        found: what it is.

    Examples:
        >>> from onefold.schema.types import parse_type
        >>> columns = Schema(Column(name, parse_type(type_)) for name, type_ in [("n", "INT64"), ("n__v_text", "STRING")])
        >>> found = Recognised("dlt", "append", "history", "certain", "", variants={"n": ("n__v_text",)})
        >>> [(one.id, one.schema.names) for one in landed_versions(ExistingTable("t", columns), found)]
        [('', ('n',)), ('n__v_text', ('n',))]
    """
    variants = [(name, other) for name, others in found.variants.items() for other in table.columns.only(others)]
    others = (Version(other.name, (Column(name, other.type),)) for name, other in variants)
    return (Version("", tuple(_source_columns(table, found))), *others)


def _source_columns(table: ExistingTable, found: Recognised) -> Schema:
    if found.image:
        return Schema(found.fields)
    hidden = [name for name in found.metadata if name not in found.joined]
    return table.columns.minus((*hidden, *(name for names in found.variants.values() for name in names)))


def current_query(
    id_: TableId,
    table: ExistingTable,
    found: Recognised,
    columns: Sequence[Column] | None = None,
    rules: TableRules = _DEFAULTS,
) -> str | None:
    """Return a query of the current rows, without the columns of the tool; None where a key or an order is not known.

    Of a history it shows the last row of each key, unless that is a deletion; of equal rows, that with the greatest digest.
    It names each column, so it goes on reading the same ones when the table gains another.

    Args:
        id_: the full name of the table.
        table: the table.
        found: what it is.
        columns: the columns of the result, as `fold` returns them of `landed_versions`; by default all of these.
        rules: the settings of the table.
    """
    if found.rows == "own":
        return None
    versions = landed_versions(table, found)
    columns = fold(versions, rules) if columns is None else columns
    items = _items(found, versions, columns, rules)
    if found.active:
        return _select(id_, found, items, found.active)
    if found.rows == "current":
        return _select(id_, found, items, f"NOT ({found.deleted})" if found.deleted else "")
    if not found.key or not found.order:
        return None
    is_deleted = f" AND NOT ({found.deleted})" if found.deleted else ""
    by_key = [_value(found, versions, target, rules) for target in Schema(columns).only(found.key)]
    rows = latest_rows(id_, found, _tie_break(table, found), by_key)
    return f"SELECT\n  {items}\nFROM {rows}\nWHERE {ROW}.{RANK} = 1{is_deleted}"


def all_rows_query(
    id_: TableId, table: ExistingTable, found: Recognised, columns: Sequence[Column], rules: TableRules = _DEFAULTS
) -> str:
    """Return a query of all rows, in which a column and its variants are one column.

    Args:
        id_: the full name of the table.
        table: the table.
        found: what it is; the columns that it calls metadata are left out.
        columns: as for `current_query`.
        rules: the settings of the table.
    """
    return f"SELECT\n  {_items(found, landed_versions(table, found), columns, rules)}\nFROM {id_.quoted} AS {ROW}"


def only_newest(id_: TableId, found: Recognised) -> str:
    """Return the condition of the rows that no later version of the whole table has replaced; empty where all count."""
    if not found.newest:
        return ""
    place = quote(found.newest)
    return f"{ROW}.{place} IS NOT DISTINCT FROM (SELECT MAX(m.{place}) FROM {id_.quoted} AS m)"


def _select(id_: TableId, found: Recognised, items: str, condition: str) -> str:
    conditions = [part for part in (only_newest(id_, found), condition) if part]
    where = f"\nWHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT\n  {items}\nFROM {id_.quoted} AS {ROW}{where}"


def latest_rows(id_: TableId, found: Recognised, tie_break: str = "", by_key: Sequence[str] = ()) -> str:
    """Return an item of FROM with all rows `r` of a history; `_onefold_rank` is 1 in the last row of each key.

    Args:
        id_: the full name of the table.
        found: what it is, with a key and an order.
        tie_break: the last value of the order; without it, which of equal changes is the last one is not said.
        by_key: the values of the key; by default as they landed.
    """
    keys = ", ".join(by_key or map(found.key_sql, found.key))
    # Of equal changes a deletion is the earlier one, as everywhere in Onefold.
    parts = [*(term.sql for term in found.order), f"NOT ({found.deleted})" if found.deleted else "", tie_break]
    order = ",\n      ".join(f"{part} DESC" for part in parts if part)
    newest = only_newest(id_, found)
    # The outer row has the same alias, so that conditions on a row hold for it as they are.
    return (
        "(\n"
        f"  SELECT {ROW}.*, ROW_NUMBER() OVER (\n    PARTITION BY {keys}\n    ORDER BY\n      {order}\n  ) AS {RANK}\n"
        f"  FROM {id_.quoted} AS {ROW}\n" + (f"  WHERE {newest}\n" if newest else "") + f") AS {ROW}"
    )


def _tie_break(table: ExistingTable, found: Recognised) -> str:
    """Return a digest, so that every query shows the same one of equal changes."""
    return digest_sql(ROW, table.columns if found.image else table.columns.minus(found.metadata))


def _items(found: Recognised, versions: Sequence[Version], columns: Sequence[Column], rules: TableRules) -> str:
    """Return the items of SELECT for the columns of a view, each converted from the type in which it landed in one step."""
    values = ((target, _value(found, versions, target, rules)) for target in columns)
    return ",\n  ".join(
        value if value == column(target.name) else f"{value} AS {quote(target.name)}" for target, value in values
    )


def _value(found: Recognised, versions: Sequence[Version], target: Column, rules: TableRules) -> str:
    parts = []
    for version in versions:
        if landed := version.schema.get(target.name):
            # A version of a variant holds the variant's values, which are in the column of that name.
            place = f"{found.image or ROW}.{quote(version.id or landed.name)}"
            parts.append(convert(place, landed_type(landed, rules), target.type, rules.time_zone, pinned=True))
    return parts[0] if len(parts) == 1 else f"COALESCE({', '.join(parts)})"
