"""The tables of a dataset of the embedded BigQuery, whose INFORMATION_SCHEMA has neither sizes nor texts of views."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from google.cloud import bigquery

from onefold.adapters.bigquery.errors import translated
from onefold.adapters.bigquery.layouts import BigQueryLayouts
from onefold.adapters.bigquery.listing import BigQueryListing
from onefold.adapters.bigquery.schema import columns_of
from onefold.changelog.metadata import LANDED_AT
from onefold.core.errors import NotFound
from onefold.core.names import TableId, quote_text
from onefold.ports.existing import StoredLayout
from onefold.ports.listing import ListedTable, StoredSize
from onefold.ports.usage import LoggedJobs, StoredBytes
from onefold.refresh.tables_read import noted_versions, tables_read
from onefold.schema.columns import Column, Schema
from onefold.schema.types import Scalar
from onefold_lab.stand_ins.definitions import definition_of

_TIMES = (Column(LANDED_AT, Scalar("TIMESTAMP")), Column("started_at", Scalar("TIMESTAMP")))
"""The columns of versioned tables, and of logs of merges, that tell when rows came."""


class EmulatedListing(BigQueryListing, BigQueryLayouts):
    """The listings of a dataset in the emulator: the tables one by one, and their rows counted.

    Each method counts as the one query that BigQuery needs.
    """

    def list_dataset(self, dataset: str) -> tuple[ListedTable, ...]:
        return tuple(map(_listed, self._tables(dataset)))

    def list_sizes(self, dataset: str) -> Mapping[str, StoredSize]:
        tables = [table for table in self._tables(dataset) if table.table_type == "TABLE"]
        if not tables:
            return {}
        rows = self._client.query("\nUNION ALL\n".join(map(_size_query, tables))).result()
        return {row["name"]: StoredSize(row["row_count"], None, row["written_at"]) for row in rows}

    def list_layouts(self, dataset: str) -> Mapping[str, StoredLayout]:
        self._calls.add()
        return {table.table_id: _layout(table) for table in self._tables(dataset) if table.table_type == "TABLE"}

    def list_keys(self, dataset: str) -> Mapping[str, tuple[str, ...]]:
        self._calls.add()
        constraints = {table.table_id: table.table_constraints for table in self._tables(dataset)}
        return {name: tuple(one.primary_key.columns) for name, one in constraints.items() if one and one.primary_key}

    def list_stored(self, dataset: str) -> Mapping[str, StoredBytes]:
        """Return the bytes of the rows as JSON: the emulator knows none that BigQuery would bill."""
        tables = [table for table in self._tables(dataset) if table.table_type == "TABLE"]
        if not tables:
            return {}
        rows = self._client.query("\nUNION ALL\n".join(map(_bytes_query, tables))).result()
        created = {table.table_id: table.created for table in tables}
        return {row["name"]: StoredBytes(row["row_count"], row["size"], created=created[row["name"]]) for row in rows}

    def list_jobs(self, datasets: Collection[str], days: int) -> Sequence[LoggedJobs]:  # noqa: ARG002 as the port says
        """Return nothing.

        Raises:
            NotFound: the emulator keeps no log of jobs.
        """
        raise NotFound("the embedded BigQuery keeps none")

    def _tables(self, dataset: str) -> list[bigquery.Table]:
        with translated(f"dataset {self.project}.{dataset}"):
            return [self._client.get_table(item) for item in self._list(dataset)]


def _layout(table: bigquery.Table) -> StoredLayout:
    partition = (table.time_partitioning.field or "_PARTITIONTIME") if table.time_partitioning else ""
    return StoredLayout(columns_of(table.schema), partition, tuple(table.clustering_fields or ()))


def _listed(table: bigquery.Table) -> ListedTable:
    text = str(definition_of(table.friendly_name).get("query", "")) if table.table_type == "VIEW" else ""
    is_view = table.table_type == "VIEW"
    return ListedTable(table.table_id, is_view, table.created, dict(table.labels), tables_read(text), noted_versions(text))


def _size_query(table: bigquery.Table) -> str:
    columns = Schema(columns_of(table.schema))
    time = next((one.name for one in _TIMES if columns.get(one.name) == one), None)
    written = f"MAX({time})" if time else "CAST(NULL AS TIMESTAMP)"
    id_ = TableId(table.project, table.dataset_id, table.table_id)
    return f"SELECT {quote_text(id_.table)} AS name, COUNT(*) AS row_count, {written} AS written_at FROM {id_.quoted}"


def _bytes_query(table: bigquery.Table) -> str:
    id_ = TableId(table.project, table.dataset_id, table.table_id)
    size = "IFNULL(SUM(LENGTH(TO_JSON_STRING(t))), 0)"
    return f"SELECT {quote_text(id_.table)} AS name, COUNT(*) AS row_count, {size} AS size FROM {id_.quoted} AS t"
