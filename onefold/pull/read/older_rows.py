"""Rows that landed with an older structure: what they lack, and whether rows that are read now are above them."""

from __future__ import annotations

from collections.abc import Sequence

import pymysql

from onefold.mysql.catalog import TableName
from onefold.mysql.connection import query, quoted
from onefold.mysql.grants import table_sql
from onefold.mysql.table import Structure
from onefold.pull.read.plan import LoadState
from onefold.pull.read.table_settings import find_column
from onefold.pull.read.watermark import PullRange, Watermark


def is_reordered(
    watermark: Watermark,
    read_at: int,
    state: LoadState,
    structure: Structure,
    older: Sequence[Structure | None],
    *,
    first: bool,
) -> bool:
    """Return whether rows of a read of the whole table may be below those that landed, which views would go on showing.

    Rows are ordered by their watermark and the source's time before the read. Both may have fallen, although the rows are
    newer: the watermark is another column or has another type, or the clock of the source was set back.

    Args:
        watermark: of the table.
        read_at: the source's time before the read, in microseconds since 1970.
        state: what the log of loads knows.
        structure: the present one.
        older: the other structures with which rows may have landed last; None for one that is not known any more.
        first: whether the whole table is read.
    """
    if state.watermark_column not in (None, watermark.column):
        return True
    if not first:
        return False
    if state.latest_read_at is not None and read_at <= state.latest_read_at:
        return True
    present = find_column(structure, watermark.column)
    return any(one is None or find_column(one, watermark.column) != present for one in older)


def has_filled(
    connection: pymysql.Connection,
    name: TableName,
    watermark: Watermark,
    range_: PullRange,
    structure: Structure,
    older: Sequence[Structure | None],
) -> bool:
    """Return whether a row that a range leaves out has a value in a column that an older structure lacks.

    Where a column was added with a default, and has lost the default since, its description does not tell of the values.

    Args:
        connection: to the source.
        name: the table.
        watermark: of the table.
        range_: the rows that are read.
        structure: the present one.
        older: the other structures with which rows may have landed last.
    """
    known = [{column.name for column in one.columns} if one else set() for one in older]
    added = [column.name for column in structure.columns if any(column.name not in names for names in known)]
    if not added or range_.low is None:
        return False
    filled = " OR ".join(f"{quoted(column)} IS NOT NULL" for column in added)
    condition = f"NOT ({range_.condition(watermark)}) AND ({filled})"
    return bool(query(connection, f"SELECT 1 FROM {table_sql(name)} WHERE {condition} LIMIT 1"))
