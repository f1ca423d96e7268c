"""The embedded BigQuery (`bqemulator`): a client for it, and what it answers differently."""

from __future__ import annotations

import os

from google.auth.credentials import AnonymousCredentials
from google.cloud import bigquery

from onefold.bigquery import BigQueryWarehouse
from onefold.names import TableId, quote, quote_text
from onefold.types import parse_type
from onefold.versions import Column
from onefold.warehouse import StoredView

DEFAULT_PROJECT = "local"


def emulator_client(project: str | None) -> bigquery.Client:
    """A client for the emulator at BIGQUERY_EMULATOR_HOST, without credentials."""
    host = os.environ["BIGQUERY_EMULATOR_HOST"]
    endpoint = host if "://" in host else f"http://{host}"
    return bigquery.Client(
        project=project or DEFAULT_PROJECT,
        credentials=AnonymousCredentials(),  # type: ignore[no-untyped-call]
        client_options={"api_endpoint": endpoint},
    )


class EmulatedWarehouse(BigQueryWarehouse):
    """`tables.get` of the emulator tells neither a view's query nor its columns; INFORMATION_SCHEMA does."""

    def _stored(self, id_: TableId, table: bigquery.Table) -> StoredView:
        stored = super()._stored(id_, table)
        if not stored.is_view:
            return stored
        schema = f"{quote(f'{id_.project}.{id_.dataset}')}.INFORMATION_SCHEMA"
        name = quote_text(id_.table)
        views = self._query(f"SELECT view_definition FROM {schema}.VIEWS WHERE table_name = {name}")
        columns = self._query(
            f"SELECT column_name, data_type FROM {schema}.COLUMNS WHERE table_name = {name} ORDER BY ordinal_position"
        )
        return StoredView(
            id=id_,
            is_view=True,
            query=next((row["view_definition"] for row in views), ""),
            columns=tuple(Column(row["column_name"], parse_type(row["data_type"])) for row in columns),
            description=stored.description,
            labels=stored.labels,
            etag=stored.etag,
        )
