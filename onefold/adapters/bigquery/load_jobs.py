"""Load jobs of BigQuery, whose identifiers make a retry harmless, and the one method that replaces rows.

BigQuery keeps the identifier of a job for ever in a project (REST reference, `jobs.insert`, `jobReference.jobId`,
https://cloud.google.com/bigquery/docs/reference/rest/v2/jobs/insert, 2026-11): a job that is sent a second time is answered
by 409, and then the first one tells what became of it. A job outlives the table and the log that it was made for, so that it
counts only if both are still there: a table that was made anew has other identifiers, a job from before the log is passed
over, and the table has to have as many rows as the job wrote.
"""

from __future__ import annotations

import copy
import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, Self, cast

from google.api_core import exceptions as api
from google.cloud import bigquery

from onefold.adapters.bigquery.client import TIMEOUT
from onefold.adapters.bigquery.errors import message_of, translated
from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.adapters.google_errors import BIGQUERY
from onefold.core.errors import OnefoldError, Rejected, TryAgain
from onefold.core.names import TEMPORARY_PREFIX, TableId, quote
from onefold.core.retry import Backoff
from onefold.ports.load_jobs import PULLED_LABEL, LoadedJob, LoadFile, NotPulled

APPEND, REPLACE, REPLACE_DATA = "WRITE_APPEND", "WRITE_TRUNCATE", "WRITE_TRUNCATE_DATA"
"""WRITE_TRUNCATE_DATA keeps the schema and the declared key of a table (REST reference, `writeDisposition`, 2026-11)."""
MAX_ATTEMPTS = 20
"""Attempts of one load: each failed one has used up an identifier."""
_OWN_TRIES = 3
_BACKOFF = Backoff(first=1.0, longest=30.0, jitter=True)
_SHOWN_ERRORS = 5


Wait = Callable[[], float | None]


def as_long_as_it_takes() -> float | None:
    """Return the time to wait for a job, without an end."""
    return None


@dataclass(frozen=True)
class Load:
    """A load to be done.

    Attributes:
        destination: the table, with `$YYYYMMDD` behind it for one partition.
        disposition: what becomes of the rows that are there.
        files: the files, in any order.
        table_created: when the table was created; None where that does not matter.
    """

    destination: str
    disposition: str
    files: tuple[LoadFile, ...]
    table_created: datetime | None = None

    @property
    def rows(self) -> int:
        """The rows of all files."""
        return sum(file.rows for file in self.files)

    def job_id(self, attempt: int) -> str:
        """Return the identifier of an attempt: a digest of all that the load depends on, and the number.

        Args:
            attempt: 1 for the first.
        """
        files = sorted((file.name, file.checksum) for file in self.files)
        created = self.table_created and self.table_created.isoformat()
        text = json.dumps([self.destination, created, self.disposition, files])
        return f"onefold_load_{hashlib.sha256(text.encode()).hexdigest()[:40]}_{attempt}"


class BigQueryLoadJobs:
    """`onefold.ports.load_jobs.LoadJobs` of BigQuery."""

    def __init__(self, warehouse: BigQueryWarehouse, sleep: Callable[[float], None] = time.sleep) -> None:
        self._warehouse = warehouse
        self._client = warehouse.client
        self._sleep = sleep
        self._locations: dict[str, str] = {}
        self._since: datetime | None = None

    def since(self, at: datetime) -> Self:
        later = copy.copy(self)
        later._since = at
        return later

    def append(self, table: TableId, files: Sequence[LoadFile]) -> LoadedJob:
        return self._load(table, Load(str(table), APPEND, tuple(files)))

    def replace(self, table: TableId, files: Sequence[LoadFile], day: date | None = None) -> LoadedJob | None:
        """Replace a partition or a whole table, as the protocol says.

        Raises:
            NotPulled: the table does not have the label of pulled tables.
        """
        with translated(str(table)):
            labels = self._client.get_table(str(table), timeout=TIMEOUT).labels
        if PULLED_LABEL not in labels:
            raise NotPulled(
                f"{table} does not have the label {PULLED_LABEL}, so its rows are never replaced: "
                "pull into another dataset, or rename the table"
            )
        return self._replace(table, tuple(files), day)

    def load_keys(self, table: TableId, files: Sequence[LoadFile]) -> None:
        self._check_temporary(table)
        self._load(table, Load(str(table), REPLACE_DATA, tuple(files)), ignore_unknown_values=True)

    def _check_temporary(self, table: TableId) -> None:
        """Check that a table is a temporary one, whose rows may go.

        Raises:
            Rejected: the table has another name.
        """
        if not table.table.startswith(TEMPORARY_PREFIX):
            raise Rejected(f"{table}: expected the name of a temporary table, {TEMPORARY_PREFIX}...")

    def _replace(self, table: TableId, files: tuple[LoadFile, ...], day: date | None) -> LoadedJob | None:
        if not files:
            self._warehouse.execute(empty_statement(table, day))
            return None
        partition = f"{table}${partition_id(day)}" if day else str(table)
        return self._load(table, Load(partition, REPLACE if day else REPLACE_DATA, files))

    def _load(self, table: TableId, load: Load, wait: Wait = as_long_as_it_takes, **options: Any) -> LoadedJob:
        """Run attempts until one has succeeded.

        Args:
            table: the table.
            load: the load.
            wait: returns the seconds for which a job that runs is waited for.
            options: more options of the jobs.

        Raises:
            TryAgain: an error that may pass, or a job still runs.
            Rejected: BigQuery refuses the files, too many attempts have failed, or a job wrote another number of rows.
        """
        load = replace(load, table_created=self._created(table))
        pauses = _BACKOFF.pauses()
        tries, attempt = 0, 1
        for _ in range(MAX_ATTEMPTS):
            job, is_own = self._insert(table, load, load.job_id(attempt), options)
            failed = self._failure(job, wait())
            if failed is None and (is_own or self._counts(table, job)):
                return _loaded(load, job)
            tries += is_own
            if failed and is_own and not (isinstance(failed, TryAgain) and tries < _OWN_TRIES):
                raise failed
            if is_own:
                self._sleep(next(pauses))
            attempt = self._following(table, load, attempt)
        raise Rejected(
            f"{load.destination}: {MAX_ATTEMPTS} attempts of this load have failed: see its jobs, `bq ls "
            "-j -a`, and correct the cause"
        )

    def _counts(self, table: TableId, job: bigquery.LoadJob) -> bool:
        """Return whether the rows of a job that was run before are still in the table, as far as that can be known."""
        if self._since and job.created < self._since.replace(microsecond=self._since.microsecond // 1000 * 1000):
            return False
        return bool(self._warehouse.fetch(f"SELECT COUNT(*) AS n FROM {table.quoted}")[0]["n"] >= (job.output_rows or 0))

    def _created(self, table: TableId) -> datetime:
        """Return when a table was created.

        Raises:
            NotFound: there is no such table.
        """
        with translated(str(table)):
            return cast(datetime, self._client.get_table(str(table), timeout=TIMEOUT).created)

    def _following(self, table: TableId, load: Load, attempt: int) -> int:  # noqa: ARG002 a subclass asks
        """Return the number of the attempt that is looked at after one that has failed, or does not count any more."""
        return attempt + 1

    def _insert(self, table: TableId, load: Load, id_: str, options: Any) -> tuple[bigquery.LoadJob, bool]:
        """Send a job; return it, or the job that has the identifier already, and whether it is the one that was sent."""
        config = bigquery.LoadJobConfig(
            write_disposition=load.disposition,
            create_disposition="CREATE_NEVER",
            max_bad_records=0,
            **{"source_format": "NEWLINE_DELIMITED_JSON", **options},
        )
        location = self._location(table)
        with translated(load.destination):
            try:
                uris = sorted(file.name for file in load.files)
                job = self._client.load_table_from_uri(
                    uris, load.destination, job_id=id_, location=location, job_config=config, timeout=TIMEOUT
                )
            except api.Conflict:
                return cast(bigquery.LoadJob, self._client.get_job(id_, location=location, timeout=TIMEOUT)), False
            return job, True

    def _failure(self, job: bigquery.LoadJob, wait: float | None) -> OnefoldError | None:
        """Wait until a job is done; return why it has failed, None where it has succeeded.

        Args:
            job: the job.
            wait: the seconds after which it is left to go on; None for as long as it takes.

        Raises:
            TryAgain: the job still runs.
            GoogleAPICallError: the state of the job could not be read; the error is translated.
        """
        subject = f"load job {job.job_id} into {job.destination.table_id}"
        with translated(subject):
            try:
                job.result(timeout=wait)
            except TimeoutError as error:
                raise TryAgain(f"{subject} still runs: load again to wait for it") from error
            except api.GoogleAPICallError as error:
                if not job.error_result:
                    raise
                if isinstance(error, api.NotFound):
                    return Rejected(f"{subject}: {_description(job, error)}")
                return BIGQUERY.translate(subject, type(error)(_description(job, error), errors=error.errors))
        return None

    def _location(self, table: TableId) -> str:
        dataset = f"{table.project}.{table.dataset}"
        if dataset not in self._locations:
            with translated(f"dataset {dataset}"):
                self._locations[dataset] = self._client.get_dataset(dataset, timeout=TIMEOUT).location
        return self._locations[dataset]


def _loaded(load: Load, job: bigquery.LoadJob) -> LoadedJob:
    """Return a job that has succeeded.

    Raises:
        Rejected: it wrote another number of rows than the files have.
    """
    if job.output_rows not in (None, load.rows):
        raise Rejected(
            f"load job {job.job_id} into {load.destination}: expected {load.rows:,} rows, as the files were counted, got "
            f"{job.output_rows:,}: the files were changed after they were written; remove the rows of this load, and write "
            "its files again"
        )
    return LoadedJob(job.job_id, job.output_rows)


def partition_id(day: date) -> str:
    """Return the name of the partition of a day, with leading zeros, which `strftime` leaves out of a year.

    Examples:
        >>> partition_id(date(1, 1, 1))
        '00010101'
    """
    return day.isoformat().replace("-", "")


def empty_statement(table: TableId, day: date | None) -> str:
    """Return the statement that deletes the rows of a partition, or of a whole table, which costs nothing.

    "Deleting a partition" (https://cloud.google.com/bigquery/docs/using-dml-with-partitioned-tables, 2026-11): where a
    DELETE covers all rows of a partition, BigQuery removes the partition without scanning it.
    """
    condition = f"{quote('_day')} = DATE '{day.isoformat()}'" if day else "TRUE"
    return f"DELETE FROM {table.quoted} WHERE {condition}"


def _description(job: bigquery.LoadJob, error: api.GoogleAPICallError) -> str:
    """Return the message of a failed job with the first of its errors, which name file and position."""
    details = [str(one.get("message", "")) for one in (job.errors or [])[:_SHOWN_ERRORS]]
    return "; ".join(dict.fromkeys(filter(None, details))) or message_of(error)
