"""The two queries of all tables of a dataset, judged by Google's analyzer and evaluator."""

from __future__ import annotations

from datetime import UTC, datetime

from support.region import Region
from support.zetasql_judge import Judge

from onefold.adapters.bigquery.listing import dataset_query, listed, read_labels, sizes_query
from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.core.names import quote_text
from onefold.ports.listing import StoredSize
from onefold.refresh.tables_read import noted_versions, tables_read

METADATA = {
    "tables": [("table_name", "STRING"), ("table_type", "STRING"), ("creation_time", "TIMESTAMP")],
    "options": [("table_name", "STRING"), ("option_name", "STRING"), ("option_value", "STRING")],
    "views": [("table_name", "STRING"), ("view_definition", "STRING")],
    "storage": [
        ("table_schema", "STRING"), ("table_name", "STRING"), ("total_rows", "INT64"), ("total_logical_bytes", "INT64"),
        ("storage_last_modified_time", "TIMESTAMP"), ("deleted", "BOOL"),
    ],
}  # fmt: skip
NAMES = ("table_name", "table_type", "creation_time", "labels", "reads", "notes")
NOTHING: frozenset[str] = frozenset()
TEXT = "-- versions: b2 c3\nSELECT `x` FROM `p.shop.a_v_1` AS v\nUNION ALL\nSELECT 1 FROM `onefold_leaf_0`"
ROWS = {
    "tables": "SELECT name AS table_name, type AS table_type, TIMESTAMP '2026-01-01 00:00:00+00' AS creation_time "
    "FROM UNNEST([STRUCT('a_v_1' AS name, 'BASE TABLE' AS type), ('a_unified', 'VIEW')])",
    "options": "SELECT 'a_unified' AS table_name, name AS option_name, value AS option_value "
    """FROM UNNEST([STRUCT('labels' AS name, '[STRUCT("team", "web")]' AS value), ('description', '"x"')])""",
    "views": f"SELECT 'a_unified' AS table_name, {quote_text(TEXT)} AS view_definition",
    "storage": "SELECT dataset AS table_schema, name AS table_name, 3 AS total_rows, 30 AS total_logical_bytes, "
    "TIMESTAMP '2026-01-01 00:00:00+00' AS storage_last_modified_time, deleted "
    "FROM UNNEST([STRUCT('shop' AS dataset, 'a_v_1' AS name, FALSE AS deleted), ('shop', 'gone', TRUE), "
    "('other', 'a_v_1', FALSE)])",
}


def test_the_query_of_a_dataset_returns_labels_and_what_views_read(judge: Judge) -> None:
    query = dataset_query("p", "shop")
    for name, known in (("TABLES", "tables"), ("TABLE_OPTIONS", "options"), ("VIEWS", "views")):
        query = query.replace(f"`p.shop`.INFORMATION_SCHEMA.{name} ", f"{known} ")
    found = (dict(zip(NAMES, row, strict=True)) for row in judge.rows(query, METADATA, ROWS))
    table, view = sorted(map(listed, found), key=lambda one: one.is_view)
    assert (table.name, table.is_view, dict(table.labels)) == ("a_v_1", False, {})
    assert (table.reads, table.notes) == (NOTHING, NOTHING)
    assert (view.name, view.is_view, dict(view.labels)) == ("a_unified", True, {"team": "web"})
    assert (view.reads, view.notes) == (tables_read(TEXT), noted_versions(TEXT))
    assert (view.reads, view.notes) == (frozenset({"a_v_1", "onefold_leaf_0"}), frozenset({"b2", "c3"}))


def test_the_query_of_sizes_leaves_out_what_was_dropped_and_other_datasets(judge: Judge) -> None:
    query = sizes_query("p", "EU", "shop").replace("`p`.`region-eu`.INFORMATION_SCHEMA.TABLE_STORAGE", "storage")
    assert [row[:3] for row in judge.rows(query, METADATA, ROWS)] == [("a_v_1", 3, 30)]


def test_labels_are_read_from_the_text_of_sql() -> None:
    assert read_labels(None) == {}
    assert read_labels('[STRUCT("a", "b"), STRUCT("c", "")]') == {"a": "b", "c": ""}


def test_sizes_are_asked_for_in_the_region_of_the_dataset_by_two_calls_however_many_tables() -> None:
    rows = [
        {"table_name": f"t{number}", "row_count": "3", "size": "30", "written_at": "1767225600000000"}
        for number in range(50)
    ]
    columns = {"table_name": "STRING", "row_count": "INTEGER", "size": "INTEGER", "written_at": "TIMESTAMP"}
    region = Region(rows, columns)
    warehouse = BigQueryWarehouse(region.client())
    sizes = warehouse.list_sizes("shop")
    assert sizes["t49"] == StoredSize(3, 30, datetime(2026, 1, 1, tzinfo=UTC))
    assert (len(sizes), region.places, warehouse.calls) == (50, ["EU"], 2)


def test_a_dataset_is_listed_by_one_call_however_many_tables() -> None:
    row = {"table_type": "BASE TABLE", "creation_time": "1767225600000000", "labels": None, "reads": None, "notes": None}
    columns = dict.fromkeys(NAMES, "STRING") | {"creation_time": "TIMESTAMP"}
    region = Region([{"table_name": f"t{number}", **row} for number in range(50)], columns)
    warehouse = BigQueryWarehouse(region.client())
    assert [table.name for table in warehouse.list_dataset("shop")] == [f"t{number}" for number in range(50)]
    assert (warehouse.calls, region.made) == (1, [("POST", "queries")])
