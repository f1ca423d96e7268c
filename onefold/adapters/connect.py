"""The choice between BigQuery and its emulator, which is made nowhere else but for rows (`storage_write.landing_in`)."""

from __future__ import annotations

import os

from google.cloud import bigquery

from onefold.adapters.bigquery.errors import EMULATOR, translated
from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.core.errors import Rejected


def connect(project: str | None) -> BigQueryWarehouse:
    """Return the warehouse of a project: BigQuery, or its emulator where BIGQUERY_EMULATOR_HOST names one.

    Raises:
        Rejected: there are no credentials, or there is no project.
    """
    if os.environ.get(EMULATOR):
        from onefold.adapters.bigquery.emulator import EmulatedWarehouse, emulator_client

        return EmulatedWarehouse(emulator_client(project))
    with translated("the project"):
        try:
            return BigQueryWarehouse(bigquery.Client(project=project))
        except OSError as error:  # the client's error where it finds no project
            raise Rejected(f"{error}; set ONEFOLD_PROJECT") from error
