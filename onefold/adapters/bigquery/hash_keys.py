"""The tables of the keys of clean views, in BigQuery.

A key is written by a load job, from the body of a request. A statement that inserts the key, or a parameter of one, would
stay in the history of jobs, which more people can read than the table.
"""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime

from google.api_core import exceptions as api
from google.cloud import bigquery

from onefold.adapters.bigquery.client import TIMEOUT
from onefold.adapters.bigquery.errors import translated
from onefold.adapters.bigquery.schema import rest_field
from onefold.core.errors import InvalidInput, NotFound, Rejected
from onefold.core.hash_key import HashKey
from onefold.core.names import TableId
from onefold.ports.hash_keys import KEY_COLUMNS


class BigQueryHashKeys:
    """`onefold.ports.hash_keys.HashKeys` over the REST API."""

    def __init__(self, client: bigquery.Client) -> None:
        self._client = client

    def created(self, table: TableId) -> datetime | None:
        self._check_dataset(table)
        with translated(str(table)):
            try:
                self._client.get_table(str(table), timeout=TIMEOUT)
            except api.NotFound:
                return None
            # The number of rows in the metadata of a table is late.
            rows = self._client.query_and_wait(f"SELECT MAX(created) AS created FROM {table.quoted}", api_timeout=TIMEOUT)
            created: datetime | None = next(iter(rows))["created"]
        return created

    def read(self, table: TableId) -> HashKey | None:
        # Rows are listed: the result of a query would be stored once more.
        with translated(str(table)):
            try:
                found = self._client.get_table(str(table), timeout=TIMEOUT)
                rows = list(self._client.list_rows(found, max_results=2, timeout=TIMEOUT))
            except api.NotFound:
                return None
        if len(rows) > 1:
            raise InvalidInput(f"{table}: expected one key, got several rows: run `onefold policies key --rotate`")
        return HashKey.from_pads(str(rows[0]["ipad"]), str(rows[0]["opad"]), str(table)) if rows else None

    def write(self, table: TableId, key: HashKey, *, replace: bool) -> None:
        if replace:
            self._check_dataset(table)
        elif self.created(table):
            raise Rejected(_exists(table))
        inner, outer = key.pads
        row = {"ipad": inner, "opad": outer, "created": datetime.now(UTC).isoformat()}
        # WRITE_EMPTY: of two commands that create the key at one time, one fails.
        config = bigquery.LoadJobConfig(
            schema=[rest_field(column) for column in KEY_COLUMNS],
            source_format="NEWLINE_DELIMITED_JSON",
            write_disposition="WRITE_TRUNCATE" if replace else "WRITE_EMPTY",
        )
        with translated(str(table)):
            try:
                file = io.BytesIO(json.dumps(row).encode() + b"\n")
                self._client.load_table_from_file(file, str(table), job_config=config, timeout=TIMEOUT).result()
            except api.Conflict as error:
                raise Rejected(_exists(table)) from error

    def _check_dataset(self, table: TableId) -> None:
        """Check that there is a dataset for the key.

        Raises:
            NotFound: there is none.
        """
        name = f"{table.project}.{table.dataset}"
        advice = "create it with the variable clean_views of infra/, or by `bq mk`, in the location of the tables"
        with translated(name, not_found=lambda _: NotFound(f"dataset {name} does not exist: {advice}")):
            self._client.get_dataset(name, timeout=TIMEOUT)


def _exists(table: TableId) -> str:
    return f"{table} has a key: replace it with --rotate, which gives every value another hash"
