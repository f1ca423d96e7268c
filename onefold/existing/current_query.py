"""The query of the current rows of a table that another tool wrote, as a view in a dataset of your own would show them."""

from __future__ import annotations

from onefold.changelog.digest import digest_sql
from onefold.core.names import TableId, quote
from onefold.existing.table import ROW, ExistingTable, Recognised, column
from onefold.schema.casts import convert
from onefold.schema.common_type import join_all

RANK = "_onefold_rank"
"""The column of `latest_rows` that is 1 in the last row of a key."""


def current_query(id_: TableId, table: ExistingTable, found: Recognised) -> str | None:
    """Return a query of the current rows, without the columns of the tool; None where a key or an order is not known.

    Of a history it shows the last row of each key, unless that is a deletion; of equal rows, that with the greatest digest.

    Args:
        id_: the full name of the table.
        table: the table.
        found: what it is.
    """
    if found.rows == "own":
        return None
    if found.active:
        return _select(id_, table, found, found.active)
    if found.rows == "current":
        return _select(id_, table, found, f"NOT ({found.deleted})" if found.deleted else "")
    if not found.key or not found.order:
        return None
    return _latest(id_, table, found)


def only_newest(id_: TableId, found: Recognised) -> str:
    """Return the condition of the rows that no later version of the whole table has replaced; empty where all count."""
    if not found.newest:
        return ""
    place = quote(found.newest)
    return f"{ROW}.{place} IS NOT DISTINCT FROM (SELECT MAX(m.{place}) FROM {id_.quoted} AS m)"


def _select(id_: TableId, table: ExistingTable, found: Recognised, condition: str) -> str:
    conditions = [part for part in (only_newest(id_, found), condition) if part]
    where = f"\nWHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT {_columns(table, found)}\nFROM {id_.quoted} AS {ROW}{where}"


def latest_rows(id_: TableId, found: Recognised, tie_break: str = "") -> str:
    """Return an item of FROM with all rows `r` of a history; `_onefold_rank` is 1 in the last row of each key.

    Args:
        id_: the full name of the table.
        found: what it is, with a key and an order.
        tie_break: the last value of the order; without it, which of equal changes is the last one is not said.
    """
    by_key = ", ".join(map(found.key_sql, found.key))
    # Of equal changes a deletion is the earlier one, as everywhere in Onefold.
    parts = [*(term.sql for term in found.order), f"NOT ({found.deleted})" if found.deleted else "", tie_break]
    order = ",\n      ".join(f"{part} DESC" for part in parts if part)
    newest = only_newest(id_, found)
    # The outer row has the same alias, so that conditions on a row hold for it as they are.
    return (
        "(\n"
        f"  SELECT {ROW}.*, ROW_NUMBER() OVER (\n    PARTITION BY {by_key}\n    ORDER BY\n      {order}\n  ) AS {RANK}\n"
        f"  FROM {id_.quoted} AS {ROW}\n" + (f"  WHERE {newest}\n" if newest else "") + f") AS {ROW}"
    )


def _latest(id_: TableId, table: ExistingTable, found: Recognised) -> str:
    is_deleted = f" AND NOT ({found.deleted})" if found.deleted else ""
    rows = latest_rows(id_, found, _tie_break(table, found))
    return f"SELECT {_columns(table, found, RANK)}\nFROM {rows}\nWHERE {ROW}.{RANK} = 1{is_deleted}"


def _tie_break(table: ExistingTable, found: Recognised) -> str:
    """Return a digest, so that every query shows the same one of equal changes."""
    return digest_sql(ROW, table.columns if found.image else table.columns.minus(found.metadata))


def _columns(table: ExistingTable, found: Recognised, *added: str) -> str:
    if found.image:
        return ", ".join(f"{found.image}.{quote(name)} AS {quote(name)}" for name in found.fields)
    left_out = [*table.present(*found.metadata), *(name for names in found.variants.values() for name in names), *added]
    united = [f"{_united(table, name, others)} AS {quote(name)}" for name, others in found.variants.items()]
    except_ = f" EXCEPT ({', '.join(map(quote, left_out))})" if left_out else ""
    return f"{ROW}.*{except_}" + (f" REPLACE ({', '.join(united)})" if united else "")


def _united(table: ExistingTable, name: str, others: tuple[str, ...]) -> str:
    """Return a column and its variants as one column of their least common type."""
    parts = table.columns.only((name, *others))
    target = join_all(part.type for part in parts)
    return f"COALESCE({', '.join(convert(column(part.name), part.type, target) for part in parts)})"
