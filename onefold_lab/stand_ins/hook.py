"""The stand-ins that `onefold.adapters.connect` takes, found by the entry point `stand_ins` of the group `onefold.lab`."""

from __future__ import annotations

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.ports.load_jobs import LoadJobs
from onefold.ports.rows import RowWriter
from onefold_lab.stand_ins.load_jobs import EmulatedLoadJobs
from onefold_lab.stand_ins.rows import EmulatedRowWriter
from onefold_lab.stand_ins.warehouse import EmulatedWarehouse, emulator_client


def warehouse(project: str | None) -> BigQueryWarehouse:
    """Return the embedded BigQuery, with a default project."""
    return EmulatedWarehouse(emulator_client(project))


def row_writer(warehouse: BigQueryWarehouse) -> RowWriter:
    """Return the writer of rows into the embedded BigQuery."""
    return EmulatedRowWriter(warehouse)


def load_jobs(warehouse: BigQueryWarehouse) -> LoadJobs:
    """Return the load jobs of the embedded BigQuery."""
    return EmulatedLoadJobs(warehouse)
