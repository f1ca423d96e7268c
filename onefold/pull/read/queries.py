"""The SELECT of one key range: the values of a row, and after them its watermark as a number and as a date.

Rows of a table that is loaded full have the number of all rows of the range behind that.
"""

from __future__ import annotations

from collections.abc import Sequence

from onefold.mysql.catalog import TableName
from onefold.mysql.connection import quoted
from onefold.mysql.grants import table_sql
from onefold.mysql.snapshot.renderings import landed, selected
from onefold.pull.read.key_ranges import range_condition
from onefold.pull.read.plan import KeyRange, TablePlan

READING, SHOWN, COUNTED = "_onefold_reading", "_onefold_shown", "_onefold_counted"


def python_query(plan: TablePlan, part: KeyRange) -> str:
    """Return the query of the reader for laptops."""
    return _query(plan, part, [selected(column) for column in plan.structure.columns])


def python_key_query(plan: TablePlan, condition: str) -> str:
    """Return the query of the rows for which a condition on the key is true.

    Args:
        plan: of the pull.
        condition: a condition of SQL.
    """
    return _select(plan, [selected(column) for column in plan.structure.columns], condition)


def jdbc_query(plan: TablePlan, part: KeyRange) -> str:
    """Return the query whose values land as they are; its columns are named c0, c1 and so on, READING and SHOWN."""
    columns = [f"{landed(column)} AS c{number}" for number, column in enumerate(plan.structure.columns)]
    return _query(plan, part, columns)


def count_query(plan: TablePlan, part: KeyRange) -> str:
    """Return the query of the number of rows of a key range."""
    return f"SELECT COUNT(*) FROM {_table(plan)} WHERE {_condition(plan, part)}"


def _query(plan: TablePlan, part: KeyRange, columns: list[str]) -> str:
    # In the same statement, because one statement reads one state of the table.
    counted = [f"({count_query(plan, part)}) AS {quoted(COUNTED)}"] if plan.is_counted else []
    return _select(plan, columns, _condition(plan, part), counted)


def _condition(plan: TablePlan, part: KeyRange) -> str:
    rows = plan.range.condition(plan.watermark) if plan.watermark else "TRUE"
    return f"{rows} AND {range_condition(part)}"


def _table(plan: TablePlan) -> str:
    return table_sql(TableName(plan.request.database, plan.structure.table))


def _select(plan: TablePlan, columns: list[str], condition: str, counted: Sequence[str] = ()) -> str:
    mark = plan.watermark
    reading, shown = (mark.sql, mark.day_sql) if mark else ("CAST(NULL AS SIGNED)", "CAST(NULL AS CHAR)")
    items = [*columns, f"{reading} AS {quoted(READING)}", f"{shown} AS {quoted(SHOWN)}", *counted]
    return f"SELECT {', '.join(items)} FROM {_table(plan)} WHERE {condition}"
