"""Tables of BigQuery: what there is, which columns it has, and new tables. No method drops a table or its rows."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from google.cloud import bigquery

from onefold.adapters.bigquery.client import TIMEOUT
from onefold.adapters.bigquery.errors import no_table, translated
from onefold.adapters.bigquery.schema import columns_of, rest_field
from onefold.adapters.bigquery.statements import BigQueryStatements
from onefold.changelog.declared_keys import declared_keys_query
from onefold.core.errors import NameNotFound, Rejected
from onefold.core.names import TEMPORARY_PREFIX, TableId, quote, quote_text
from onefold.core.versioned_names import DEFAULT_NAMES, VersionedNames
from onefold.ports.listing import StoredSize
from onefold.ports.warehouse import StoredTable
from onefold.schema.bigquery import add_statement
from onefold.schema.columns import Column
from onefold.schema.types import Type, parse_landed_type

TEMPORARY_FOR = timedelta(hours=24)
"""A temporary table of a process that is killed is gone after this time."""
# BigQuery, "Time travel", https://cloud.google.com/bigquery/docs/time-travel, 2026-11.
DEFAULT_TRAVEL_HOURS = 168


class BigQueryTables(BigQueryStatements):
    """The tables of a project."""

    def has_table(self, id_: TableId) -> bool:
        return self.table_created(id_) is not None

    def table_created(self, id_: TableId) -> datetime | None:
        table = self._get(id_)
        return table.created if table is not None and is_plain_table(table) and table.schema else None

    def read_columns(self, id_: TableId) -> tuple[Column, ...] | None:
        table = self._get(id_)
        return columns_of(table.schema) if table is not None and table.table_type == "TABLE" else None

    def read_table(self, id_: TableId) -> StoredTable | None:
        table = self._get(id_)
        if table is None or table.table_type != "TABLE":
            return None
        clustering = tuple(table.clustering_fields or ())
        described = tuple((column.name, column.description) for column in table.schema if column.description)
        own = columns_of(table.schema), table.created, clustering, _primary_key(table)
        return StoredTable(*own, _ingestion_partition(table), described)

    def time_travel(self, dataset: str) -> timedelta | None:
        with translated(f"dataset {dataset}"):
            found: bigquery.Dataset = self._call(self._client.get_dataset, dataset)
        return timedelta(hours=int(found.max_time_travel_hours or DEFAULT_TRAVEL_HOURS))

    def written_at(self, id_: TableId) -> datetime | None:
        table = self._get(id_)
        # Rows in the streaming buffer can be read, but the time of modification does not count them: it rises when BigQuery
        # has moved them to storage. https://cloud.google.com/bigquery/docs/streaming-data-into-bigquery, 2026-11.
        return None if table is None or table.streaming_buffer else table.modified

    def table_size(self, id_: TableId) -> StoredSize | None:
        table = self._get(id_)
        if table is None or table.num_rows is None:
            return None
        buffer = table.streaming_buffer
        streamed = (buffer.estimated_rows or 0, buffer.estimated_bytes or 0) if buffer else (0, 0)
        expires = bool(table.time_partitioning and table.time_partitioning.expiration_ms)
        return StoredSize(table.num_rows + streamed[0], (table.num_bytes or 0) + streamed[1], table.modified, expires)

    def read_rows(self, id_: TableId) -> Iterator[Mapping[str, Any]]:
        """Yield the rows of a table or a view.

        Raises:
            NameNotFound: there is no such table or view.
        """
        if self._get(id_) is None:
            raise NameNotFound(no_table(id_), str(id_.dataset), id_.table)
        with translated(str(id_)):
            yield from self._query(f"SELECT * FROM {id_.quoted}")

    def declared_keys(self, tables: Sequence[TableId]) -> Mapping[TableId, tuple[str, ...]]:
        by_name = {id_.table: id_ for id_ in tables}
        return {by_name[row["table_name"]]: tuple(row["columns"]) for row in self.fetch(declared_keys_query(tables))}

    def column_types(self, dataset: str, column: str) -> Mapping[str, Type]:
        with translated(f"dataset {dataset}"):
            rows = self._query(column_types_query(self.project, dataset, column))
            return {row["table_name"]: parse_landed_type(row["data_type"]) for row in rows}

    def list_bases(self, dataset: str, names: VersionedNames = DEFAULT_NAMES) -> tuple[str, ...]:
        labels = self.list_labels(dataset)
        known = names.resolved(labels)
        found = (known.split(table) for table in labels)
        return tuple(dict.fromkeys(split[0] for split in found if split))

    def list_datasets(self) -> tuple[str, ...]:
        """Return the names of the project's datasets.

        Raises:
            OnefoldError: no answer, or a refusal.
        """
        with translated(f"project {self.project}"):
            return tuple(one.dataset_id for one in self._call(self._client.list_datasets))

    def list_tables(self, dataset: str) -> tuple[str, ...]:
        return tuple(self.list_labels(dataset))

    def list_labels(self, dataset: str) -> Mapping[str, Mapping[str, str]]:
        return {item.table_id: item.labels for item in self._list(dataset) if item.table_type == "TABLE"}

    def create_table(
        self,
        id_: TableId,
        columns: Sequence[Column],
        clustering: Sequence[str] = (),
        partition: str | None = None,
        primary_key: Sequence[str] = (),
        labels: Mapping[str, str] | None = None,
    ) -> None:
        """Create an empty table; a table that exists already stays as it is. One with the name of a temporary table expires.

        Args:
            id_: the table.
            columns: its columns.
            clustering: the columns to cluster by, in this order.
            partition: the column of dates or times by whose day the table is partitioned.
            primary_key: the key to declare, which BigQuery does not check; none by default.
            labels: the labels of the table; none by default.
        """
        table = bigquery.Table(str(id_), [rest_field(column) for column in columns])
        table.clustering_fields = list(clustering) or None
        table.time_partitioning = bigquery.TimePartitioning(field=partition) if partition else None
        table.expires = datetime.now(UTC) + TEMPORARY_FOR if id_.table.startswith(TEMPORARY_PREFIX) else None
        if labels:
            table.labels = dict(labels)
        if primary_key:
            key = bigquery.table.PrimaryKey(list(primary_key))
            table.table_constraints = bigquery.table.TableConstraints(key, None)
        with translated(str(id_)):
            self._call(self._client.create_table, table, exists_ok=True)

    def add_columns(self, id_: TableId, columns: Sequence[Column]) -> None:
        self.execute(add_statement(id_, columns))

    def check_new(self, id_: TableId) -> None:
        """Check that nothing has a name that a new table is to get.

        Raises:
            Rejected: something has that name.
        """
        if self._get(id_):
            raise Rejected(f"{id_} exists already, and nothing is overwritten: name a new table")

    def write_new_table(self, id_: TableId, columns: Iterable[str], rows: Iterable[Mapping[str, str | None]]) -> None:
        """Write a new table of STRING columns, without an expiry, whole or not at all.

        Args:
            id_: the new table.
            columns: the names of its columns.
            rows: its rows, by name of column.

        Raises:
            Rejected: the table exists already.
        """
        self.check_new(id_)
        schema = [bigquery.SchemaField(name, "STRING") for name in columns]
        lines = "".join(json.dumps(dict(row)) + "\n" for row in rows)
        with translated(str(id_), not_found=Rejected):
            if not lines:  # a load job without a row creates no table
                self._call(self._client.create_table, bigquery.Table(str(id_), schema))
                return
            self._calls.add()
            config = bigquery.LoadJobConfig(
                schema=schema, source_format="NEWLINE_DELIMITED_JSON", write_disposition="WRITE_EMPTY"
            )
            file = io.BytesIO(lines.encode())
            self._client.load_table_from_file(file, str(id_), job_config=config, timeout=TIMEOUT).result()


def column_types_query(project: str, dataset: str, column: str) -> str:
    """Return the query for the type of a column in each table of a dataset that has it: `table_name` and `data_type`.

    Args:
        project: the project of the dataset.
        dataset: the dataset.
        column: the name of the column in lower case.
    """
    schema = f"{quote(f'{project}.{dataset}')}.INFORMATION_SCHEMA"
    return (
        "SELECT c.table_name, c.data_type\n"
        f"FROM {schema}.TABLES AS t JOIN {schema}.COLUMNS AS c ON c.table_name = t.table_name\n"
        f"WHERE t.table_type = 'BASE TABLE' AND LOWER(c.column_name) = {quote_text(column)}"
    )


def _ingestion_partition(table: bigquery.Table) -> str | None:
    """Return the length of ingestion-time partitions: those that name no column."""
    partitioning = table.time_partitioning
    return str(partitioning.type_) if partitioning and not partitioning.field else None


def _primary_key(table: bigquery.Table) -> tuple[str, ...]:
    constraints = table.table_constraints
    return tuple(constraints.primary_key.columns) if constraints and constraints.primary_key else ()


def is_plain_table(table: bigquery.Table) -> bool:
    """Return whether a table may be a version.

    A clone is a table to the API, but INFORMATION_SCHEMA lists it as something else: no view would ever contain it.
    """
    return table.table_type == "TABLE" and table.clone_definition is None
