"""The only place that chooses between BigQuery and its emulator."""

from __future__ import annotations

import os

import google.auth.exceptions
from google.cloud import bigquery

from onefold.adapters.bigquery.jobs import BigQueryJobs
from onefold.adapters.bigquery.warehouse import EMULATOR, translated
from onefold.core.errors import Rejected


def connect(project: str | None) -> BigQueryJobs:
    """Return the warehouse of a project: BigQuery, or its emulator where BIGQUERY_EMULATOR_HOST names one."""
    if os.environ.get(EMULATOR):
        from onefold.adapters.bigquery.emulator import EmulatedWarehouse, emulator_client

        return EmulatedWarehouse(emulator_client(project))
    with translated("the project"):
        try:
            return BigQueryJobs(bigquery.Client(project=project))
        except google.auth.exceptions.DefaultCredentialsError as error:
            raise Rejected(f"no credentials: run `gcloud auth application-default login` ({error})") from error
        except OSError as error:  # the client's way to say that it found no project
            raise Rejected(f"{error}; set ONEFOLD_PROJECT") from error
