"""Load jobs of the Parquet files of runs: one job for a run and a table, as long as both are there, whoever sends it."""

from __future__ import annotations

from dataclasses import dataclass

from google.api_core import exceptions as api
from google.cloud import bigquery

from onefold.adapters.bigquery.client import TIMEOUT
from onefold.adapters.bigquery.errors import translated
from onefold.adapters.bigquery.load_jobs import APPEND, BigQueryLoadJobs, Load, Wait
from onefold.adapters.bigquery.schema import rest_field
from onefold.core.errors import Rejected
from onefold.core.names import TableId
from onefold.ports.event_tables import EventTableLoad
from onefold.schema.columns import Column
from onefold.schema.types import parse_type

MAX_FILES = 10_000
"""Addresses in one load job (BigQuery, "Quotas and limits", load jobs, maximum number of source URIs, 2026-11)."""


@dataclass(frozen=True)
class _File:
    """A file as `Load` knows it. Files of a run are never written again: rows and size do for a checksum."""

    name: str
    checksum: str
    rows: int


class EventLoadJobs(BigQueryLoadJobs):
    """Load jobs of the tables of runs.

    An attempt that has failed, or does not count any more, has used up its identifier. A table that waits for somebody to
    repair it sees one more with each message. So the last attempt is found by halving, and their number has no limit.
    """

    def append_parquet(self, table: TableId, load: EventTableLoad, wait: Wait) -> str:
        """Append the rows of a run to a table, once, and return the identifier of the job.

        The job names the columns of the files: those that the table has beyond them stay NULL. A schema with some of the
        columns is what Google's own client sends for a data frame without the others (`Client.load_table_from_dataframe`
        of google-cloud-bigquery 3).

        Args:
            table: the table.
            load: the rows.
            wait: returns the seconds for which a job that runs is waited for.

        Raises:
            TryAgain: the job still runs, or an error that may pass.
            Rejected: BigQuery refuses the files.
        """
        if len(load.files) > MAX_FILES:
            raise Rejected(
                f"{load.run}: {len(load.files):,} files for {table}, and a job takes {MAX_FILES:,}: shred it again"
            )
        parquet = bigquery.ParquetOptions()  # type: ignore[no-untyped-call]
        parquet.enable_list_inference = True
        files = tuple(_File(file.address, f"{file.rows}/{file.bytes}", file.rows) for file in load.files)
        job = self._load(
            table,
            Load(str(table), APPEND, files),
            wait,
            source_format="PARQUET",
            parquet_options=parquet,
            schema=[rest_field(Column(name, parse_type(type_))) for name, type_ in load.columns],
        )
        return job.id

    def _following(self, table: TableId, load: Load, attempt: int) -> int:
        step = 1
        while self._is_used(table, load.job_id(attempt + step)):
            step *= 2
        low, high = attempt + step // 2, attempt + step
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._is_used(table, load.job_id(middle)) else (low, middle)
        return max(low, attempt + 1)

    def _is_used(self, table: TableId, id_: str) -> bool:
        with translated(f"load job {id_}"):
            try:
                self._client.get_job(id_, location=self._location(table), timeout=TIMEOUT)
            except api.NotFound:
                return False
        return True
