"""Columns, partitions and declared keys of all tables of a dataset, by one query of INFORMATION_SCHEMA each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from onefold.adapters.bigquery.errors import translated
from onefold.adapters.bigquery.tables import BigQueryTables
from onefold.changelog.declared_keys import dataset_keys_query
from onefold.core.names import quote
from onefold.ports.existing import StoredLayout
from onefold.schema.columns import Column
from onefold.schema.types import parse_landed_type


class BigQueryLayouts(BigQueryTables):
    """The part of `onefold.ports.existing.ExistingWarehouse` that no other class has."""

    def list_layouts(self, dataset: str) -> Mapping[str, StoredLayout]:
        with translated(f"dataset {self.project}.{dataset}"):
            return layouts(self._query(layouts_query(self.project, dataset)))

    def list_keys(self, dataset: str) -> Mapping[str, tuple[str, ...]]:
        with translated(f"the keys of dataset {self.project}.{dataset}"):
            rows = self._query(dataset_keys_query(self.project, dataset))
            return {row["table_name"]: tuple(row["columns"]) for row in rows}


def layouts_query(project: str, dataset: str) -> str:
    """Return the query for the columns of all tables of a dataset: one row for each.

    A pseudo-column such as `_PARTITIONTIME` has no position (Google Cloud, "COLUMNS view",
    https://cloud.google.com/bigquery/docs/information-schema-columns, 2026-11).
    """
    schema = f"{quote(f'{project}.{dataset}')}.INFORMATION_SCHEMA"
    return (
        "SELECT c.table_name, c.column_name, c.data_type, c.ordinal_position, "
        "c.is_partitioning_column, c.clustering_ordinal_position\n"
        f"FROM {schema}.COLUMNS AS c JOIN {schema}.TABLES AS t ON t.table_name = c.table_name\n"
        "WHERE t.table_type = 'BASE TABLE'\nORDER BY c.table_name, c.ordinal_position"
    )


def layouts(rows: Iterable[Mapping[str, Any]]) -> dict[str, StoredLayout]:
    """Return the layouts from the rows of `layouts_query`.

    Examples:
        >>> row = {"table_name": "t", "column_name": "id", "data_type": "INT64", "ordinal_position": 1}
        >>> list(layouts([{**row, "is_partitioning_column": "NO", "clustering_ordinal_position": None}]))
        ['t']
    """
    by_table: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_table.setdefault(row["table_name"], []).append(row)
    return {name: _layout(found) for name, found in by_table.items()}


def _layout(rows: list[Mapping[str, Any]]) -> StoredLayout:
    clustered = [row for row in rows if row["clustering_ordinal_position"] is not None]
    partition = next((row["column_name"] for row in rows if row["is_partitioning_column"] == "YES"), "")
    return StoredLayout(
        tuple(Column(row["column_name"], parse_landed_type(row["data_type"])) for row in rows if row["ordinal_position"]),
        partition,
        tuple(row["column_name"] for row in sorted(clustered, key=lambda row: int(row["clustering_ordinal_position"]))),
    )
