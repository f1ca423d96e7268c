"""The BigQuery adapter of base tables: tables, queries and statements that may run for hours."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from google.api_core import exceptions as api
from google.cloud import bigquery
from google.cloud.bigquery.retry import DEFAULT_JOB_RETRY

from onefold.adapters.bigquery.schema import type_string
from onefold.adapters.bigquery.warehouse import BigQueryWarehouse, is_quota, message_of, translated
from onefold.changelog.declared_keys import declared_keys_query
from onefold.core.errors import NotFound, Rejected, TryAgain
from onefold.core.identity import member
from onefold.core.names import TableId
from onefold.ports.warehouse import StoredTable, WriteResult
from onefold.schema.bigquery import add_statement
from onefold.schema.columns import Column
from onefold.schema.types import Array, Range, Struct, parse_type

# BigQuery tries a statement that met another one again by itself, three times; then it says so in these words.
_CONCURRENT = "concurrent update"
_PROBE = "onefold_tmp_check"
"""A table that is never made."""


class BigQueryJobs(BigQueryWarehouse):
    """`onefold.ports.warehouse.BaseWarehouse` over the REST API."""

    def read_table(self, id_: TableId) -> StoredTable | None:
        table = self._get(id_)
        if table is None or table.table_type != "TABLE":
            return None
        clustering = tuple(table.clustering_fields or ())
        return StoredTable(columns_of(table.schema), table.created, clustering, _primary_key(table))

    def declared_keys(self, tables: Sequence[TableId]) -> Mapping[TableId, tuple[str, ...]]:
        by_name = {id_.table: id_ for id_ in tables}
        return {by_name[row["table_name"]]: tuple(row["columns"]) for row in self.fetch(declared_keys_query(tables))}

    def create_table(
        self,
        id_: TableId,
        columns: Sequence[Column],
        clustering: Sequence[str] = (),
        partition: str | None = None,
        primary_key: Sequence[str] = (),
    ) -> None:
        table = bigquery.Table(str(id_), [rest_field(column) for column in columns])
        table.clustering_fields = list(clustering) or None
        table.time_partitioning = bigquery.TimePartitioning(field=partition) if partition else None
        if primary_key:
            key = bigquery.table.PrimaryKey(list(primary_key))
            table.table_constraints = bigquery.table.TableConstraints(key, None)
        with translated(str(id_), not_found=NotFound):
            self._call(self._client.create_table, table, exists_ok=True)

    def add_columns(self, id_: TableId, columns: Sequence[Column]) -> None:
        self.execute(add_statement(id_, columns))

    def fetch(self, sql: str) -> list[dict[str, Any]]:
        return [dict(row.items()) for row in self._run(sql).result()]

    def check_query(self, sql: str) -> None:
        """A dry run: it costs nothing. Raises Rejected where BigQuery refuses the query."""
        config = bigquery.QueryJobConfig(dry_run=True, use_query_cache=False)
        with translated(f"a query on {self.project}", not_found=NotFound):
            self._call(self._client.query, sql, job_config=config)

    @property
    def member(self) -> str:
        """Who asks, as a grant names it. Known at the latest after the first answer."""
        return member(self._client._credentials)

    def dataset_problems(self, dataset: str) -> list[str]:
        """Return what keeps tables from being made in a dataset and looked at, each with its remedy. Makes nothing.

        A dry run of CREATE TABLE is refused as the statement would be, for want of a right too
        (https://github.com/mozilla/bigquery-etl/pull/1805, 2021-02). It takes no right to read the dataset itself.

        Raises:
            TryAgain: trouble that may pass.
            Rejected: any other refusal.
        """
        id_ = TableId(self.project, dataset, _PROBE)
        config = bigquery.QueryJobConfig(dry_run=True, use_query_cache=False)
        name = f"{self.project}.{dataset}"
        with translated(f"dataset {name}"):
            try:
                sql = f"CREATE TABLE IF NOT EXISTS {id_.quoted} (x INT64)"
                self._call(self._client.query, sql, job_config=config, job_retry=None)
                with suppress(api.NotFound):
                    self._call(self._client.get_table, str(id_))
            except api.NotFound:
                made = f"bq --location=LOCATION mk --dataset {self.project}:{dataset}"
                return [f"dataset {name} does not exist; run: {made}"]
            except api.Forbidden as error:
                if is_quota(error):
                    raise
                return [f"dataset {name}: {message_of(error)}; run: {self._grant(error, name)}"]
        return []

    def _grant(self, error: api.Forbidden, dataset: str) -> str:
        if "bigquery.jobs.create" in str(error.message):
            binding = f"gcloud projects add-iam-policy-binding {self.project} --member={self.member}"
            return f"{binding} --role=roles/bigquery.jobUser"
        statement = f'GRANT `roles/bigquery.dataEditor` ON SCHEMA `{dataset}` TO "{self.member}"'
        return f"bq query --project_id={self.project} --nouse_legacy_sql {shlex.quote(statement)}"

    def execute(self, sql: str) -> WriteResult:
        return written(self._run(sql))

    def _run(self, sql: str) -> bigquery.QueryJob:
        """A job that has ended well. The client names it before it asks for it, so a lost answer starts no second one."""
        what = f"a query on {self.project}"
        with translated(what, not_found=NotFound):
            try:
                job: bigquery.QueryJob = self._call(self._client.query, sql, job_retry=DEFAULT_JOB_RETRY)
                job.result()
            except api.BadRequest as error:
                if _CONCURRENT in str(error):
                    raise TryAgain(f"{what} met another one: {message_of(error)}") from error
                raise Rejected(f"{what}: {message_of(error)}") from error
        return job


def written(job: bigquery.QueryJob) -> WriteResult:
    """What a job's statistics tell; the emulator's tell no more than the number of rows."""
    told = job.dml_stats
    if told is None:
        return WriteResult(job.num_dml_affected_rows)
    return WriteResult(job.num_dml_affected_rows, told.inserted_row_count, told.updated_row_count)


def _primary_key(table: bigquery.Table) -> tuple[str, ...]:
    constraints = table.table_constraints
    return tuple(constraints.primary_key.columns) if constraints and constraints.primary_key else ()


def columns_of(schema: Iterable[bigquery.SchemaField]) -> tuple[Column, ...]:
    return tuple(Column(field.name, parse_type(type_string(field))) for field in schema)


def rest_field(column: Column) -> bigquery.SchemaField:
    """A column as the REST API describes it."""
    if isinstance(column.type, Array):
        inner = rest_field(Column(column.name, column.type.element))
        element = inner.range_element_type
        return bigquery.SchemaField(
            column.name, inner.field_type, mode="REPEATED", fields=inner.fields, range_element_type=element
        )
    if isinstance(column.type, Struct):
        fields = [rest_field(Column(field.name, field.type)) for field in column.type.fields]
        return bigquery.SchemaField(column.name, "RECORD", fields=fields)
    if isinstance(column.type, Range):
        return bigquery.SchemaField(column.name, "RANGE", range_element_type=str(column.type.element))
    return bigquery.SchemaField(column.name, str(column.type))
