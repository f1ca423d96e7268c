"""The queries of the columns and the keys of a dataset, evaluated by Google's analyzer."""

from __future__ import annotations

from support.zetasql_judge import Judge

from onefold.adapters.bigquery.layouts import layouts, layouts_query
from onefold.changelog.declared_keys import dataset_keys_query
from onefold.ports.existing import StoredLayout
from onefold.schema.columns import Column
from onefold.schema.types import parse_type

NAMES = (
    "table_name", "column_name", "data_type", "ordinal_position", "is_partitioning_column", "clustering_ordinal_position",
)  # fmt: skip
TYPES = {
    "columns_view": [(name, "INT64" if "ordinal" in name else "STRING") for name in NAMES],
    "tables_view": [("table_name", "STRING"), ("table_type", "STRING")],
    "constraints": [("table_name", "STRING"), ("constraint_name", "STRING"), ("constraint_type", "STRING")],
    "usage": [
        ("table_name", "STRING"), ("constraint_name", "STRING"), ("column_name", "STRING"), ("ordinal_position", "INT64"),
    ],
}  # fmt: skip
COLUMNS = (
    "SELECT * FROM UNNEST([STRUCT('t' AS table_name, 'name' AS column_name, 'STRING' AS data_type, 2 AS ordinal_position, "
    "'NO' AS is_partitioning_column, 1 AS clustering_ordinal_position), ('t', 'id', 'STRUCT<a INT64>', 1, 'NO', 2), "
    "('t', '_PARTITIONTIME', 'TIMESTAMP', NULL, 'YES', NULL), ('v', 'id', 'INT64', 1, 'NO', NULL)])"
)
TABLES = "SELECT * FROM UNNEST([STRUCT('t' AS table_name, 'BASE TABLE' AS table_type), ('v', 'VIEW')])"
CONSTRAINTS = (
    "SELECT * FROM UNNEST([STRUCT('t' AS table_name, 'pk' AS constraint_name, 'PRIMARY KEY' AS constraint_type), "
    "('t', 'fk', 'FOREIGN KEY')])"
)
USAGE = (
    "SELECT * FROM UNNEST([STRUCT('t' AS table_name, 'pk' AS constraint_name, 'b' AS column_name, 2 AS ordinal_position), "
    "('t', 'pk', 'a', 1), ('t', 'fk', 'c', 1)])"
)


def test_a_layout_has_the_columns_in_their_order_and_the_time_of_ingestion_as_partition(judge: Judge) -> None:
    query = layouts_query("p", "shop")
    for view, name in (("COLUMNS", "columns_view"), ("TABLES", "tables_view")):
        query = query.replace(f"`p.shop`.INFORMATION_SCHEMA.{view}", name)
    rows = judge.rows(query, TYPES, {"columns_view": COLUMNS, "tables_view": TABLES})
    expected = (Column("id", parse_type("STRUCT<a INT64>")), Column("name", parse_type("STRING")))
    assert layouts(dict(zip(NAMES, row, strict=True)) for row in rows) == {
        "t": StoredLayout(expected, "_PARTITIONTIME", ("name", "id"))
    }


def test_the_key_of_a_table_has_its_columns_in_the_order_of_the_key(judge: Judge) -> None:
    query = dataset_keys_query("p", "shop")
    for view, name in (("TABLE_CONSTRAINTS", "constraints"), ("KEY_COLUMN_USAGE", "usage")):
        query = query.replace(f"`p.shop`.INFORMATION_SCHEMA.{view}", name)
    assert judge.rows(query, TYPES, {"constraints": CONSTRAINTS, "usage": USAGE}) == [("t", ["a", "b"])]
