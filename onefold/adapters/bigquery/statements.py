"""Queries and statements that may run for hours, and dry runs, which show what would be refused."""

from __future__ import annotations

import shlex
from contextlib import suppress
from typing import Any

from google.api_core import exceptions as api
from google.cloud import bigquery
from google.cloud.bigquery.retry import DEFAULT_JOB_RETRY

from onefold.adapters.bigquery.client import BigQueryClient
from onefold.adapters.bigquery.errors import is_quota, message_of, translated
from onefold.core.errors import Rejected, TryAgain
from onefold.core.names import TableId
from onefold.ports.usage import JOB_LABEL
from onefold.ports.warehouse import WriteResult

# BigQuery repeats a statement that conflicts with another one by itself, three times; then it answers with these words.
_CONCURRENT = "concurrent update"
_PROBE = "onefold_tmp_check"
"""A table that is never created."""


class BigQueryStatements(BigQueryClient):
    """Queries and statements of a project, as jobs."""

    def fetch(self, sql: str) -> list[dict[str, Any]]:
        return [dict(row.items()) for row in self._run(sql).result()]

    def execute(self, sql: str) -> WriteResult:
        return write_result(self._run(sql))

    def check_query(self, sql: str) -> int | None:
        """Check a query by a dry run, which costs nothing, and return the bytes that it would process.

        Raises:
            Rejected: BigQuery refuses the query.
            NotFound: the query names a table that does not exist.
        """
        with translated(f"a query on {self.project}"):
            job: bigquery.QueryJob = self._call(self._client.query, sql, job_config=dry_run_config())
            size: int | None = job.total_bytes_processed
            return size

    def dataset_problems(self, dataset: str) -> list[str]:
        """Return what keeps tables from being created in a dataset and read, each with its remedy. Creates nothing.

        A dry run of CREATE TABLE is refused as the statement would be, for a missing right too
        (https://github.com/mozilla/bigquery-etl/pull/1805, 2021-02). It takes no right to read the dataset itself.

        Raises:
            TryAgain: BigQuery failed, and may answer later.
            Rejected: BigQuery refused for another reason.
        """
        id_ = TableId(self.project, dataset, _PROBE)
        name = f"{self.project}.{dataset}"
        with translated(f"dataset {name}"):
            try:
                sql = f"CREATE TABLE IF NOT EXISTS {id_.quoted} (x INT64)"
                self._call(self._client.query, sql, job_config=dry_run_config(), job_retry=None)
                with suppress(api.NotFound):
                    self._call(self._client.get_table, str(id_))
            except api.NotFound:
                command = f"bq --location=LOCATION mk --dataset {self.project}:{dataset}"
                return [f"dataset {name} does not exist; run: {command}"]
            except api.Forbidden as error:
                if is_quota(error):
                    raise TryAgain(f"dataset {name}: {message_of(error)}") from error
                return [f"dataset {name}: {message_of(error)}; run: {self._grant(error, name)}"]
        return []

    def _grant(self, error: api.Forbidden, dataset: str) -> str:
        """Return the command that grants the right which the error says is missing."""
        if "bigquery.jobs.create" in str(error.message):
            binding = f"gcloud projects add-iam-policy-binding {self.project} --member={self.member}"
            return f"{binding} --role=roles/bigquery.jobUser"
        statement = f'GRANT `roles/bigquery.dataEditor` ON SCHEMA `{dataset}` TO "{self.member}"'
        return f"bq query --project_id={self.project} --nouse_legacy_sql {shlex.quote(statement)}"

    def _run(self, sql: str) -> bigquery.QueryJob:
        """Return a job that has succeeded. The client names the job before it sends it, so no retry starts a second one.

        Raises:
            TryAgain: another statement was writing to the same table, or BigQuery failed, and may answer later.
            Rejected: BigQuery refused the statement.
        """
        subject = f"a query on {self.project}"
        with translated(subject):
            try:
                job: bigquery.QueryJob = self._call(
                    self._client.query, sql, job_config=labelled_config(), job_retry=DEFAULT_JOB_RETRY
                )
                job.result()
            except api.BadRequest as error:
                if _CONCURRENT in str(error):
                    raise TryAgain(f"{subject} conflicts with another one: {message_of(error)}") from error
                raise Rejected(f"{subject}: {message_of(error)}") from error
        return job


def write_result(job: bigquery.QueryJob) -> WriteResult:
    """Return how many rows a job wrote; the emulator's statistics have no more than their number."""
    statistics = job.dml_stats
    if statistics is None:
        return WriteResult(job.num_dml_affected_rows, bytes=job.total_bytes_processed)
    inserted, updated = statistics.inserted_row_count, statistics.updated_row_count
    return WriteResult(job.num_dml_affected_rows, inserted, updated, job.total_bytes_processed)


def labelled_config() -> bigquery.QueryJobConfig:
    """Return the configuration of a job that the library starts for itself: its label tells it from queries of people."""
    config = bigquery.QueryJobConfig()
    config.labels = {JOB_LABEL: "job"}
    return config


def dry_run_config() -> bigquery.QueryJobConfig:
    """Return the configuration of a job that is checked and not run."""
    return bigquery.QueryJobConfig(dry_run=True, use_query_cache=False)
