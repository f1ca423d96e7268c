"""The SELECT of one key range: the values of a row, and after them its watermark as a number and as a date.

Rows of a table that is loaded full have the number of all rows of the range behind that.
"""

from __future__ import annotations

from onefold.mysql.catalog import TableName
from onefold.mysql.grants import table_sql
from onefold.mysql.snapshot.renderings import selected
from onefold.pull.read.key_ranges import range_condition
from onefold.pull.read.plan import KeyRange, TablePlan


def python_query(plan: TablePlan, part: KeyRange) -> str:
    """Return the query whose values Python converts."""
    columns = [*_selected(plan), *added_columns(plan, part)]
    return select(plan, columns, condition_of(plan, part))


def python_key_query(plan: TablePlan, condition: str) -> str:
    """Return the query of the rows for which a condition on the key is true.

    Args:
        plan: of the pull.
        condition: a condition of SQL.
    """
    return select(plan, [*_selected(plan), *_watermark_columns(plan)], condition)


def count_query(plan: TablePlan, part: KeyRange) -> str:
    """Return the query of the number of rows of a key range."""
    return select(plan, ["COUNT(*)"], condition_of(plan, part))


def added_columns(plan: TablePlan, part: KeyRange) -> list[str]:
    """Return SQL of what follows the values of a row: its watermark as a number and as a date, and the rows of the range."""
    # In the same statement, because one statement reads one state of the table.
    counted = [f"({count_query(plan, part)})"] if plan.is_counted else []
    return [*_watermark_columns(plan), *counted]


def condition_of(plan: TablePlan, part: KeyRange) -> str:
    """Return the condition of SQL for the rows of a key range."""
    rows = plan.range.condition(plan.watermark) if plan.watermark else "TRUE"
    return f"{rows} AND {range_condition(part)}"


def select(plan: TablePlan, columns: list[str], condition: str) -> str:
    """Return a query of the table of a plan."""
    table = table_sql(TableName(plan.request.database, plan.structure.table))
    return f"SELECT {', '.join(columns)} FROM {table} WHERE {condition}"


def _selected(plan: TablePlan) -> list[str]:
    return [selected(column) for column in plan.structure.columns]


def _watermark_columns(plan: TablePlan) -> list[str]:
    mark = plan.watermark
    return [mark.sql, mark.day_sql] if mark else ["CAST(NULL AS SIGNED)", "CAST(NULL AS CHAR)"]
