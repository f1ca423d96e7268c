"""The formulas beside dry runs of the statements that the library writes: `support.dry_run` says what a dry run counts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest
from support.changelogs import METADATA_TYPE
from support.columns import columns
from support.dry_run import LEAST, PricedTable, dry_run
from support.zetasql_judge import Judge

from onefold.changelog.metadata import LANDED_AT, METADATA
from onefold.core.names import TableId
from onefold.cost.formulas import STATEMENTS, TableUsage, merge_bytes, read_bytes
from onefold.merge.base_table import base_of, merge_statement
from onefold.merge.change_query import changes_query, window_sql
from onefold.merge.change_tables import ChangeTable
from onefold.merge.merge_log import LOG_COLUMNS
from onefold.schema.table_rules import TableRules
from onefold.schema.versions import Version
from onefold.views.current_view import current_query_over_base

MIDNIGHT = datetime(2026, 11, 26, tzinfo=UTC)
TABLE = TableId("my-project", "shop", "customer")
LANDED = {"id": "INT64", "name": "STRING", "text": "STRING", METADATA: METADATA_TYPE, LANDED_AT: "TIMESTAMP"}
COLUMNS = columns(**LANDED)
BASE = base_of(TABLE, COLUMNS, ["id"])
VERSION = TABLE.sibling("customer_v_abc")
SINCE = MIDNIGHT - timedelta(hours=12)
WINDOW = window_sql("r.", SINCE)

BYTES = {"id": 8, "name": 20, "text": 272, METADATA: 300, LANDED_AT: 8, "_position": 128, "_deleted": 1}
KEY = BYTES["id"] + BYTES["_position"]
DAILY, BASE_ROWS = 1e6, 1e7
"""Rows that land a day, and rows of the base."""


def priced(types: Mapping[str, str], rows: float, **more: object) -> PricedTable:
    return PricedTable({name: (type_, BYTES.get(name, 8)) for name, type_ in types.items()}, rows, **more)  # type: ignore[arg-type]


TABLES = {
    "my-project.shop.customer_v_abc": priced(
        LANDED, 90 * DAILY, partition=LANDED_AT, days={MIDNIGHT - timedelta(days=day): DAILY for day in range(90)}
    ),
    "my-project.shop.customer_base": priced(
        {"id": "INT64", "name": "STRING", "text": "STRING", "_position": "STRING", "_deleted": "BOOL"}, BASE_ROWS
    ),
    "my-project.shop.customer_merges": priced({one.name: str(one.type) for one in LOG_COLUMNS}, 30),
}
BASE_BYTES = TABLES["my-project.shop.customer_base"].size()
ROW = sum(BYTES[name] for name in LANDED)
USAGE = TableUsage(
    base_rows=BASE_ROWS, base_bytes=BASE_BYTES, key_bytes=KEY, landed_bytes=DAILY * ROW, landed_rows=DAILY, merges=1, reads=1
)


def view(columns: str) -> str:
    """A query of the current view, with the text of the view in its place."""
    return f"SELECT {columns} FROM (\n{current_query_over_base(BASE, BASE.stored, VERSION, COLUMNS, WINDOW)}\n) AS c"


def test_a_merge_bills_the_base_whole_its_keys_and_positions_again_and_what_landed(judge: Judge) -> None:
    changes = [ChangeTable(VERSION, Version("abc", COLUMNS), SINCE)]
    statement = merge_statement(BASE, changes_query(changes, BASE, TableRules()))
    told = dry_run(judge, statement, TABLES)
    landed = 2 * DAILY * ROW  # the partitions of the day before and of this day
    assert told == pytest.approx(BASE_BYTES + BASE_ROWS * KEY + landed + LEAST, rel=0.01)
    # the formula counts what landed twice, for the count, and the small statements
    assert merge_bytes(USAGE) == pytest.approx(told + landed + (STATEMENTS - 1) * LEAST, rel=0.01)


@pytest.mark.parametrize(("columns", "read"), [("c.id", 0), ("c.id, c.name", 20), ("*", 292)])
def test_a_query_of_the_current_view_reads_its_columns_and_keys_and_positions_and_what_landed(
    judge: Judge, columns: str, read: int
) -> None:
    usage = TableUsage(**{**vars(USAGE), "read_share": read * BASE_ROWS / BASE_BYTES, "landed_bytes": 0})
    told = dry_run(judge, view(columns), TABLES)
    landed = 2 * DAILY * (BYTES["id"] + BYTES[METADATA] + BYTES[LANDED_AT] + read)
    assert told - landed == pytest.approx(read_bytes(usage), rel=0.05)


def test_without_a_bound_a_query_reads_the_whole_history(judge: Judge) -> None:
    whole = current_query_over_base(BASE, BASE.stored, VERSION, COLUMNS, None)
    bounded = current_query_over_base(BASE, BASE.stored, VERSION, COLUMNS, WINDOW)
    without_time = 90 * DAILY * (ROW - BYTES[LANDED_AT])
    assert dry_run(judge, whole, TABLES) - dry_run(judge, bounded, TABLES) == without_time - 2 * DAILY * ROW


def test_a_column_that_is_only_assigned_or_only_passed_through_is_not_read(judge: Judge) -> None:
    tables = {"t": priced({"id": "INT64", "name": "STRING", "text": "STRING"}, BASE_ROWS)}
    inner = "SELECT r.*, ROW_NUMBER() OVER (PARTITION BY r.id ORDER BY r.name) AS n FROM t AS r"
    assert dry_run(judge, f"SELECT w.id FROM ({inner}) AS w", tables) == 28 * BASE_ROWS
    assert dry_run(judge, f"SELECT w.text FROM ({inner}) AS w WHERE w.n = 1", tables) == 300 * BASE_ROWS
    changes = "SELECT 1 AS id, 'x' AS text"
    merge = f"MERGE INTO t AS b USING ({changes}) AS c ON b.id = c.id WHEN MATCHED THEN UPDATE SET text = c.text"
    assert dry_run(judge, merge, tables) == (8 + 300) * BASE_ROWS
