"""The embedded BigQuery (`bqemulator`): a client for it, and what it answers differently."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from google.api_core import exceptions as api
from google.auth.credentials import AnonymousCredentials
from google.auth.transport.requests import AuthorizedSession
from google.cloud import bigquery
from google.cloud.bigquery.retry import DEFAULT_RETRY

from onefold.adapters.bigquery.jobs import BigQueryJobs, columns_of, rest_field
from onefold.adapters.bigquery.row_values import RowValues
from onefold.adapters.bigquery.schema import type_string
from onefold.adapters.bigquery.warehouse import columns_text, message_of, translated, versions_from_rows
from onefold.core.errors import InvalidRecord, Rejected
from onefold.core.names import TableId
from onefold.core.versioned_names import DEFAULT_NAMES, VersionedNames
from onefold.ports.warehouse import StoredView, ViewDraft
from onefold.schema.bigquery import absent_columns
from onefold.schema.columns import Column
from onefold.schema.types import Scalar, parse_type
from onefold.schema.versions import Version

DEFAULT_PROJECT = "local"
_TIMEOUT = 30.0
# The client would retry for ten minutes by itself.
_RETRY = DEFAULT_RETRY.with_timeout(_TIMEOUT)
_REMEDY = "set another type for the column under `types` of its table in onefold.yaml, or use BigQuery itself"


def emulator_client(project: str | None) -> bigquery.Client:
    """A client for the emulator at BIGQUERY_EMULATOR_HOST, without credentials."""
    host = os.environ["BIGQUERY_EMULATOR_HOST"]
    endpoint = host if "://" in host else f"http://{host}"
    credentials = AnonymousCredentials()  # type: ignore[no-untyped-call]
    session = AuthorizedSession(credentials)  # type: ignore[no-untyped-call]
    session.trust_env = False  # a proxy of the environment would not find this machine
    return bigquery.Client(
        project=project or DEFAULT_PROJECT,
        credentials=credentials,
        client_options={"api_endpoint": endpoint},
        _http=session,
    )


class EmulatedWarehouse(BigQueryJobs):
    """`tables.get` of the emulator tells neither a view's query nor its columns.

    So both are kept a second time as the view's friendly name, which it does tell. The columns are asked for right before
    the write: once a table that the view reads was dropped, the view cannot be asked any more, and a query that the
    emulator cannot run is refused before anything is written. A column that is added by a statement can
    be queried, but `tables.get` does not tell of it; one that is added by `tables.update` is told, but cannot be queried.
    INFORMATION_SCHEMA is written out into the query's text, which takes seconds to parse where tables are many: so they are
    asked one by one, and count as the one call that BigQuery needs.
    """

    def read_versions(self, base: TableId, names: VersionedNames = DEFAULT_NAMES) -> tuple[Version, ...]:
        self._calls.count += 1
        listed = list(self._client.list_tables(f"{base.project}.{base.dataset}"))
        tables = (self._client.get_table(item) for item in listed if _is_version(base, item, names))
        return versions_from_rows(map(_version_row, tables), base, names)

    def declared_keys(self, tables: Sequence[TableId]) -> Mapping[TableId, tuple[str, ...]]:
        """INFORMATION_SCHEMA of the emulator has no constraints; `tables.get` tells them where this project started it."""
        self._calls.count += 1
        found = {id_: self._client.get_table(str(id_)).table_constraints for id_ in tables}
        return {id_: tuple(one.primary_key.columns) for id_, one in found.items() if one and one.primary_key}

    def add_columns(self, id_: TableId, columns: Sequence[Column]) -> None:
        for column in columns:
            super().add_columns(id_, [column])
        table = self._client.get_table(str(id_))
        table.schema = [*table.schema, *(rest_field(column) for column in absent_columns(columns_of(table.schema), columns))]
        self._client.update_table(table, ["schema"])

    def create_view(self, id_: TableId, draft: ViewDraft) -> None:
        columns = self._readable_columns(str(id_), draft.query)
        super().create_view(id_, draft)
        self._keep(id_, draft, columns)

    def update_view(self, stored: StoredView, draft: ViewDraft) -> None:
        columns = self._readable_columns(str(stored.id), draft.query)
        super().update_view(stored, draft)
        self._keep(stored.id, draft, columns)

    def dataset_problems(self, dataset: str) -> list[str]:
        """The emulator has no rights, and its dry run does not look for the dataset."""
        with translated(f"dataset {dataset}"):
            try:
                self._call(self._client.get_dataset, dataset)
            except api.NotFound:
                return [f"dataset {self.project}.{dataset} does not exist at BIGQUERY_EMULATOR_HOST: create it there"]
        return []

    def check_query(self, sql: str) -> None:
        """Raise Rejected where the emulator cannot run a query: its dry run does not ask DuckDB."""
        self._readable_columns(f"a query on {self.project}", sql)

    def _keep(self, id_: TableId, draft: ViewDraft, found: Sequence[Column]) -> None:
        columns = [(column.name, str(column.type)) for column in found]
        table = bigquery.Table(str(id_))
        table.friendly_name = json.dumps({"query": draft.query, "columns": columns, "unannounced": draft.unannounced})
        self._client.update_table(table, ["friendly_name"])

    def _stored(self, id_: TableId, table: bigquery.Table) -> StoredView:
        stored = super()._stored(id_, table)
        if not stored.is_view:
            return stored
        kept = _kept(table.friendly_name)
        columns = tuple(Column(name, parse_type(type_)) for name, type_ in kept.get("columns", ()))
        unannounced = tuple(kept.get("unannounced", ())) if stored.unannounced else ()
        return replace(stored, query=kept.get("query", ""), columns=columns or self._columns(id_), unannounced=unannounced)

    def _columns(self, id_: TableId) -> tuple[Column, ...]:
        """The columns of a view; none where a table that it reads was dropped, since then it cannot be asked."""
        try:
            return self._columns_of(f"SELECT * FROM {id_.quoted}")
        except (api.NotFound, api.BadRequest):
            return ()

    def _readable_columns(self, what: str, query: str) -> tuple[Column, ...]:
        """Return the columns of a query that is about to be written; none where a table that it reads was dropped.

        Raises:
            Rejected: the emulator cannot run it, so nothing may be written that depends on it.
        """
        try:
            return self._columns_of(f"SELECT * FROM (\n{query}\n)")
        except api.NotFound:
            return ()
        except api.BadRequest as error:
            raise Rejected(f"{what}: the embedded BigQuery cannot run its SQL ({message_of(error)}): {_REMEDY}") from error

    def _columns_of(self, query: str) -> tuple[Column, ...]:
        schema = self._client.query(f"{query} LIMIT 0").result().schema
        return tuple(Column(field.name, parse_type(type_string(field))) for field in schema)

    def _query(self, sql: str, page_size: int | None = None) -> Iterator[dict[str, Any]]:
        """As a job: `jobs.query` of an emulator that this project did not start gives no rows where it fails."""
        self._calls.count += 1
        return (dict(row.items()) for row in self._client.query(sql).result(page_size=page_size))


class EmulatedRowWriter:
    """`onefold.sink.handler.Landing` by `tabledata.insertAll`, which takes JSON as it is.

    The emulator has the Storage Write API, too, but leaves out the fields of structs. Whether a row fits is decided as for
    that API; only what BigQuery itself would refuse comes to light nowhere but there.
    """

    def __init__(self, warehouse: BigQueryJobs) -> None:
        self.project = warehouse.project
        self._warehouse = warehouse

    @property
    def calls(self) -> int:
        return self._warehouse.calls

    def open(self, id_: TableId) -> EmulatedTableWriter | None:
        columns = self._warehouse.read_columns(id_)
        return EmulatedTableWriter(id_, columns, self._warehouse.client) if columns else None


class EmulatedTableWriter:
    """An `TableWriter`. In an interval with years and days, the emulator takes a sign for the hours' alone."""

    def __init__(self, id_: TableId, columns: tuple[Column, ...], client: bigquery.Client) -> None:
        self.columns = columns
        self._id = id_
        self._client = client
        self._values = RowValues({column.name: column.type for column in columns})
        self._intervals = [column.name for column in columns if column.type == Scalar("INTERVAL")]

    def append(self, rows: Sequence[Mapping[str, Any]]) -> dict[int, str]:
        fitting: list[Mapping[str, Any]] = []
        refused: dict[int, str] = {}
        for place, row in enumerate(rows):
            try:
                self._values.convert(row)
            except InvalidRecord as error:
                refused[place] = str(error)
            else:
                times = {name: row[name].removeprefix("0-0 0 ") for name in self._intervals if row.get(name)}
                fitting.append({**row, **times})
        if fitting and (errors := self._client.insert_rows_json(str(self._id), fitting, retry=_RETRY, timeout=_TIMEOUT)):
            raise Rejected(f"{self._id}: the emulator refuses rows: {errors}")
        return refused


def _is_version(base: TableId, item: Any, names: VersionedNames) -> bool:
    return item.table_type == "TABLE" and names.version_of(base.table, item.table_id) is not None


def _version_row(table: bigquery.Table) -> dict[str, Any]:
    """As the query of the versions would give it."""
    columns = columns_text((field.name, type_string(field)) for field in table.schema)
    return {"table_name": table.table_id, "creation_time": table.created, "columns": columns}


def _kept(friendly_name: str | None) -> dict[str, Any]:
    """What was kept; nothing for a view that somebody else made."""
    try:
        kept = json.loads(friendly_name or "{}")
    except ValueError:
        return {}
    return kept if isinstance(kept, dict) else {}
