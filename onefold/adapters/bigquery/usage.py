"""What a project bills for, by two queries of a region's metadata: what tables store, and the log of jobs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from onefold.adapters.bigquery.errors import translated
from onefold.adapters.bigquery.tables import BigQueryTables
from onefold.core.names import quote, quote_text
from onefold.ports.usage import JOB_LABEL, LoggedJobs, StoredBytes

NAMES = "`"
"""Separates names in one text: no name of a table has it."""


class BigQueryUsage(BigQueryTables):
    """`onefold.ports.usage.UsageWarehouse` over INFORMATION_SCHEMA."""

    def list_stored(self, dataset: str) -> Mapping[str, StoredBytes]:
        with translated(f"the sizes of dataset {self.project}.{dataset}"):
            found = self._call(self._client.get_dataset, f"{self.project}.{dataset}")
            rows = self._in_region(str(found.location), stored_query(self.project, str(found.location), dataset))
        is_physical = found.storage_billing_model == "PHYSICAL"
        return {str(row.pop("table_name")): StoredBytes(**row, is_physical=is_physical) for row in rows}

    def list_jobs(self, datasets: Collection[str], days: int) -> Sequence[LoggedJobs]:
        first, *_ = datasets
        with translated(f"the log of jobs of {self.project}"):
            location = str(self._call(self._client.get_dataset, f"{self.project}.{first}").location)
            rows = self._in_region(location, jobs_query(self.project, location, datasets, days))
        return tuple(LoggedJobs(**{**row, "read": frozenset((row["read"] or "").split(NAMES)) - {""}}) for row in rows)

    def _in_region(self, location: str, query: str) -> list[dict[str, Any]]:
        """Run a query of a region's metadata there: its text does not tell the service which region it is."""
        job = self._call(self._client.query, query, location=location)
        return [dict(row.items()) for row in job.result()]


def stored_query(project: str, location: str, dataset: str) -> str:
    """Return the query for what all tables of a dataset store.

    Physical bytes have those of time travel in them, as the bill has; the fail-safe ones are billed as well
    (https://cloud.google.com/bigquery/docs/information-schema-table-storage, 2026-11).
    """
    return (
        "SELECT s.table_name, s.total_rows AS `rows`, s.active_logical_bytes AS active, "
        "s.long_term_logical_bytes AS long_term, s.active_physical_bytes + s.fail_safe_physical_bytes AS active_physical, "
        "s.long_term_physical_bytes AS long_term_physical, s.creation_time AS created\n"
        f"FROM {region_schema(project, location)}.TABLE_STORAGE AS s\n"
        f"WHERE s.table_schema = {quote_text(dataset)} AND NOT s.deleted"
    )


def jobs_query(project: str, location: str, datasets: Collection[str], days: int) -> str:
    """Return the query for the log of jobs about some datasets: a row for jobs of one kind that read and write the same.

    A script has the bytes of its statements, which are jobs of their own, so it is left out; the bytes of a job in a
    reservation are not billed; a result that is only for who asked is in a hidden dataset
    (https://cloud.google.com/bigquery/docs/information-schema-jobs, 2026-11).
    """
    named = ", ".join(map(quote_text, datasets))
    name = "CONCAT(r.dataset_id, '.', r.table_id)"
    written = "IF(STARTS_WITH(j.destination_table.dataset_id, '_'), NULL, j.destination_table)"
    return (
        "SELECT j.kind, j.statement, j.written, j.`read`, j.own, COUNT(*) AS jobs, COUNTIF(j.is_reserved) AS reserved, "
        "SUM(IF(j.is_reserved, 0, j.billed)) AS billed\nFROM (\n"
        "  SELECT j.job_type AS kind, IFNULL(j.statement_type, '') AS statement, "
        f"IFNULL(CONCAT({written}.dataset_id, '.', {written}.table_id), '') AS written, "
        f"(SELECT STRING_AGG(DISTINCT {name}, '{NAMES}' ORDER BY {name}) FROM UNNEST(j.referenced_tables) AS r "
        f"WHERE r.dataset_id IN ({named})) AS `read`, "
        f"EXISTS (SELECT 1 FROM UNNEST(j.labels) AS l WHERE l.key = {quote_text(JOB_LABEL)}) AS own, "
        "j.reservation_id IS NOT NULL AS is_reserved, IFNULL(j.total_bytes_billed, 0) AS billed\n"
        f"  FROM {region_schema(project, location)}.JOBS AS j\n"
        f"  WHERE j.creation_time >= TIMESTAMP_SUB(CURRENT_TIMESTAMP(), INTERVAL {days} DAY) AND j.job_type IS NOT NULL\n"
        "    AND IFNULL(j.statement_type, '') != 'SCRIPT'\n"
        f"    AND (j.destination_table.dataset_id IN ({named})\n"
        f"      OR EXISTS (SELECT 1 FROM UNNEST(j.referenced_tables) AS r WHERE r.dataset_id IN ({named})))\n"
        ") AS j\nGROUP BY j.kind, j.statement, j.written, j.`read`, j.own"
    )


def region_schema(project: str, location: str) -> str:
    """Return the schema with the metadata of a region."""
    return f"{quote(project)}.{quote(f'region-{location.lower()}')}.INFORMATION_SCHEMA"
