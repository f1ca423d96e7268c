"""Statements that create and extend tables, as BigQuery takes them."""

from __future__ import annotations

import pytest

from onefold.core.names import TableId
from onefold.schema.bigquery import add_statement, change_statement, create_statement
from onefold.schema.columns import Column
from onefold.schema.diff import SchemaChange, Severity
from onefold.schema.types import parse_type

TABLE = TableId("p", "shop", "base")
COLUMNS = [Column("id", parse_type("INT64")), Column("at", parse_type("TIMESTAMP"))]


def test_a_table_is_created_with_its_partitions_clusters_and_description() -> None:
    assert create_statement(TABLE, COLUMNS, ["id", "at"], "at", "What's sold.") == (
        "CREATE TABLE IF NOT EXISTS `p.shop.base` (\n  `id` INT64,\n  `at` TIMESTAMP\n)\n"
        "PARTITION BY TIMESTAMP_TRUNC(`at`, DAY)\n"
        "CLUSTER BY `id`, `at`\n"
        "OPTIONS (description = 'What\\'s sold.')"
    )
    assert create_statement(TABLE, COLUMNS[:1]) == "CREATE TABLE IF NOT EXISTS `p.shop.base` (\n  `id` INT64\n)"


def test_columns_are_added_by_one_statement() -> None:
    added = "ADD COLUMN IF NOT EXISTS"
    assert add_statement(TABLE, COLUMNS) == f"ALTER TABLE `p.shop.base`\n  {added} `id` INT64,\n  {added} `at` TIMESTAMP"


@pytest.mark.parametrize(
    ("change", "statement"),
    [
        (
            SchemaChange("added", "at", Severity.INFO, new="TIMESTAMP"),
            "ALTER TABLE `p.shop.base`\n  ADD COLUMN IF NOT EXISTS `at` TIMESTAMP",
        ),
        (SchemaChange("added", "at", Severity.INFO), None),
        (SchemaChange("removed", "at", Severity.INFO, new="TIMESTAMP"), None),
    ],
)
def test_only_an_added_column_needs_a_statement(change: SchemaChange, statement: str | None) -> None:
    assert change_statement(change, TABLE) == statement
