"""Queries of people: the type of a statement and its bytes before it runs, and its first rows."""

from __future__ import annotations

from typing import Any

from google.cloud import bigquery

from onefold.adapters.bigquery.errors import translated
from onefold.adapters.bigquery.schema import type_string
from onefold.adapters.bigquery.statements import BigQueryStatements, dry_run_config
from onefold.ports.queries import QueryEstimate, QueryResult


class BigQueryQueries(BigQueryStatements):
    """`onefold.ports.queries.QueryWarehouse`."""

    def estimate(self, sql: str) -> QueryEstimate:
        with translated("the query"):
            job = self._call(self._client.query, sql, job_config=dry_run_config(), job_retry=None)
        return QueryEstimate(str(job.statement_type or ""), int(job.total_bytes_processed or 0))

    def read_query(self, sql: str, most: int | None) -> QueryResult:
        with translated("the query"):
            job: bigquery.QueryJob = self._call(self._client.query, sql, job_retry=None)
            rows = job.result(max_results=most)
            found: list[tuple[Any, ...]] = [row.values() for row in rows]
            # The number of rows of the whole result is in the answer that has the first of them, however many are read.
            count = rows.total_rows if rows.total_rows is not None else len(found)
            columns = tuple((field.name, type_string(field)) for field in rows.schema)
        processed, billed = int(job.total_bytes_processed or 0), int(job.total_bytes_billed or 0)
        return QueryResult(columns, tuple(found), count, processed, billed)
