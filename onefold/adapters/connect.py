"""The choice between BigQuery and the embedded one of the lab, which is made nowhere else."""

from __future__ import annotations

import os
from typing import Any

from google.cloud import bigquery

from onefold.adapters.bigquery.errors import EMULATOR, translated
from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.core.errors import Rejected
from onefold.core.extras import from_lab
from onefold.core.text import reason_of
from onefold.ports.load_jobs import LoadJobs, RowAppender
from onefold.ports.rows import RowWriter


def connect(project: str | None) -> BigQueryWarehouse:
    """Return the warehouse of a project: BigQuery, or the embedded one where BIGQUERY_EMULATOR_HOST names it.

    Raises:
        Rejected: there are no credentials, there is no project, or the lab is not installed.
    """
    if stand_ins := _stand_ins():
        found: BigQueryWarehouse = stand_ins.warehouse(project)
        return found
    with translated("the project"):
        try:
            return BigQueryWarehouse(bigquery.Client(project=project))
        except OSError as error:  # the client's error where it finds no project
            raise Rejected(f"no project ({reason_of(error)}): give --project, or set ONEFOLD_PROJECT") from error


def row_writer_for(warehouse: BigQueryWarehouse) -> RowWriter:
    """Return the writer of rows into the tables of a warehouse.

    Raises:
        Rejected: the lab is not installed.
    """
    if stand_ins := _stand_ins():
        found: RowWriter = stand_ins.row_writer(warehouse)
        return found
    from onefold.adapters.bigquery.storage_write import open_storage_write

    return open_storage_write(warehouse)


def row_appender_for(warehouse: BigQueryWarehouse) -> RowAppender | None:
    """Return what appends few rows to the tables of a warehouse at one moment; None for the embedded one, which cannot.

    Raises:
        Rejected: the lab is not installed.
    """
    if _stand_ins():
        return None
    from google.cloud.bigquery_storage_v1 import BigQueryWriteClient

    from onefold.adapters.bigquery.pending_rows import PendingRows

    return PendingRows(warehouse, BigQueryWriteClient())  # type: ignore[no-untyped-call]


def load_jobs_for(warehouse: BigQueryWarehouse) -> LoadJobs:
    """Return the load jobs of a warehouse.

    Raises:
        Rejected: the lab is not installed.
    """
    if stand_ins := _stand_ins():
        found: LoadJobs = stand_ins.load_jobs(warehouse)
        return found
    from onefold.adapters.bigquery.load_jobs import BigQueryLoadJobs

    return BigQueryLoadJobs(warehouse)


def _stand_ins() -> Any:
    """Return the module of the lab that makes the stand-ins; None where BigQuery itself is meant.

    Raises:
        Rejected: the lab is not installed.
    """
    return from_lab("stand_ins") if os.environ.get(EMULATOR) else None
