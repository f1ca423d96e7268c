"""The embedded BigQuery (`bqemulator`): a client for it, and a warehouse that works around what it answers differently."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from google.api_core import exceptions as api
from google.auth.credentials import AnonymousCredentials
from google.auth.transport.requests import AuthorizedSession
from google.cloud import bigquery
from requests import PreparedRequest, Response
from requests.adapters import HTTPAdapter

from onefold.adapters.bigquery.errors import EMULATOR, message_of, translated
from onefold.adapters.bigquery.schema import columns_of, rest_field
from onefold.adapters.bigquery.tables import is_plain_table
from onefold.adapters.bigquery.versions import version_row, versions_from_rows
from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.changelog.metadata import LANDED_AT
from onefold.core.errors import NameNotFound, NotFound, Rejected
from onefold.core.names import TableId, quote, quote_text
from onefold.core.united_names import UnitedTable
from onefold.core.version_labels import LabelledNames
from onefold.core.versioned_names import DEFAULT_NAMES, VersionedNames
from onefold.ports.listing import StoredSize
from onefold.ports.queries import QueryEstimate, QueryResult
from onefold.ports.warehouse import StoredView, ViewDraft
from onefold.schema.bigquery import absent_columns
from onefold.schema.columns import Column, Schema
from onefold.schema.types import Scalar, Type, parse_type
from onefold.schema.versions import Version
from onefold.settings.variables import LAB_PROJECT
from onefold_lab.query_places import placed
from onefold_lab.stand_ins.definitions import definition_of
from onefold_lab.stand_ins.listing import EmulatedListing

DEFAULT_PROJECT = LAB_PROJECT
PATIENCE = 600.0
"""Seconds for an answer: the emulator shares a laptop with all else, and a request that is sent again makes it later."""
ONE_TRY: dict[str, Any] = {"retry": None}
"""Arguments of a request that is an error at once where nothing answers. The client would repeat it for ten minutes."""
_REMEDY = "set another type for the column under `types` of its table in onefold.yaml, or use BigQuery itself"


class _PatientAdapter(HTTPAdapter):
    """Waits for an answer of the emulator as long as it takes a busy machine, whatever a request allows for BigQuery."""

    def send(
        self, request: PreparedRequest, stream: bool = False, timeout: Any = None, verify: Any = True, cert: Any = None,
        proxies: Any = None,
    ) -> Response:  # fmt: skip
        allowed = None if timeout is None else PATIENCE
        return super().send(request, stream, allowed, verify, cert, proxies)


def emulator_client(project: str | None, host: str | None = None) -> bigquery.Client:
    """Return a client for the emulator at `host`, by default BIGQUERY_EMULATOR_HOST, without credentials."""
    host = host or os.environ[EMULATOR]
    endpoint = host if "://" in host else f"http://{host}"
    credentials = AnonymousCredentials()  # type: ignore[no-untyped-call]
    session = AuthorizedSession(credentials)  # type: ignore[no-untyped-call]
    session.mount("http://", _PatientAdapter())
    session.trust_env = False  # a proxy of the environment would not reach this machine
    return bigquery.Client(
        project=project or DEFAULT_PROJECT,
        credentials=credentials,
        client_options={"api_endpoint": endpoint},
        _http=session,
    )


class EmulatedWarehouse(EmulatedListing, BigQueryWarehouse):
    """A warehouse in the emulator, whose answers lack some of what BigQuery's have.

    - `tables.get` returns neither a view's query nor its columns. Both are stored a second time as the view's friendly name;
      the text of a view that others wrote is in INFORMATION_SCHEMA.
      The columns are read right before the write: once a table that the view reads was dropped, the view cannot be queried
      any more, and a query that the emulator cannot run is refused before anything is written.
    - A column that a statement adds can be queried, but `tables.get` does not return it; a column that `tables.update` adds
      is returned, but cannot be queried. So both add it.
    - INFORMATION_SCHEMA is written out into the query's text, which takes seconds to parse where there are many tables. So
      the tables are read one by one, and count as the one call that BigQuery needs.
    """

    patience = PATIENCE

    def read_versions(self, base: TableId, names: VersionedNames = DEFAULT_NAMES) -> tuple[Version, ...]:
        if isinstance(names, LabelledNames) or base.table in names.united:
            return super().read_versions(base, names)
        tables = (self._client.get_table(item) for item in self._list(str(base.dataset)) if _is_version(base, item, names))
        return versions_from_rows(map(version_row, tables), base, names)

    def _united_rows(self, one: UnitedTable, names: VersionedNames) -> Iterator[Mapping[str, Any]]:  # noqa: ARG002
        self._calls.add()
        for dataset in sorted(filter(one.reads, self.list_datasets())):
            for item in self._list(dataset):
                if item.table_id == one.table and item.table_type == "TABLE":
                    yield {**version_row(self._client.get_table(item)), "dataset": dataset}

    def column_types(self, dataset: str, column: str) -> Mapping[str, Type]:
        self._calls.add()
        tables = (self._client.get_table(item) for item in self._client.list_tables(f"{self.project}.{dataset}"))
        found = {one.table_id: Schema(columns_of(one.schema)).get(column) for one in tables if is_plain_table(one)}
        return {name: one.type for name, one in found.items() if one}

    def written_at(self, id_: TableId) -> datetime | None:
        """Return when the newest row landed, because the emulator never changes a table's time of modification."""
        columns = Schema(self.read_columns(id_) or ())
        if columns.get(LANDED_AT) != Column(LANDED_AT, Scalar("TIMESTAMP")):
            return None
        newest: datetime | None = self.fetch(f"SELECT MAX({LANDED_AT}) AS newest FROM {id_.quoted}")[0]["newest"]
        return newest or self.table_created(id_)

    def table_size(self, id_: TableId) -> StoredSize | None:
        """Return the number of rows, each of 100 bytes, because the emulator does not tell the sizes of tables."""
        if not self.has_table(id_):
            return None
        rows = int(self.fetch(f"SELECT COUNT(*) AS found FROM {id_.quoted}")[0]["found"])
        return StoredSize(rows, 100 * rows)

    def time_travel(self, dataset: str) -> timedelta | None:  # noqa: ARG002
        """Return None: the emulator knows neither APPENDS nor what was appended when."""
        return None

    def declared_keys(self, tables: Sequence[TableId]) -> Mapping[TableId, tuple[str, ...]]:
        """Return the declared keys from `tables.get`, because the emulator's INFORMATION_SCHEMA has no constraints.

        Only an emulator that Onefold started returns them.
        """
        self._calls.add()
        constraints = {id_: self._client.get_table(str(id_)).table_constraints for id_ in tables}
        return {id_: tuple(one.primary_key.columns) for id_, one in constraints.items() if one and one.primary_key}

    def add_columns(self, id_: TableId, columns: Sequence[Column]) -> None:
        for column in columns:
            super().add_columns(id_, [column])
        table = self._client.get_table(str(id_))
        table.schema = [*table.schema, *(rest_field(column) for column in absent_columns(columns_of(table.schema), columns))]
        self._client.update_table(table, ["schema"])

    def create_view(self, id_: TableId, draft: ViewDraft) -> None:
        columns = self._readable_columns(str(id_), draft.query)
        super().create_view(id_, draft)
        self._store_definition(id_, draft, columns)

    def update_view(self, stored: StoredView, draft: ViewDraft) -> None:
        columns = self._readable_columns(str(stored.id), draft.query)
        super().update_view(stored, draft)
        self._store_definition(stored.id, draft, columns)

    def dataset_problems(self, dataset: str) -> list[str]:
        """Return that a dataset does not exist, where that is so.

        The emulator has no rights, and its dry run does not look for the dataset.
        """
        missing = self._missing(dataset)
        return [str(missing)] if missing else []

    def _missing(self, dataset: str) -> NameNotFound | None:
        """Return the error about a dataset that does not exist, with the command that creates it; None where it exists."""
        with translated(f"dataset {dataset}"):
            try:
                self._call(self._client.get_dataset, dataset)
            except api.NotFound:
                command = f"onefold local query --allow-write {shlex.quote(f'CREATE SCHEMA {quote(dataset)}')}"
                text = f"dataset {self.project}.{dataset} does not exist at {EMULATOR}"
                return NameNotFound(text, dataset, command=command)
        return None

    def check_query(self, sql: str) -> int | None:
        """Check a query by running it without rows, because the emulator's dry run does not ask DuckDB.

        Raises:
            Rejected: the emulator cannot run the query.
        """
        self._readable_columns(f"a query on {self.project}", sql)
        return None

    def estimate(self, sql: str) -> QueryEstimate:
        with _placing(sql):
            return super().estimate(sql)

    def read_query(self, sql: str, most: int | None) -> QueryResult:
        with _placing(sql):
            return super().read_query(sql, most)

    def create_table(self, id_: TableId, *arguments: Any, **options: Any) -> None:
        with self._naming(str(id_.dataset)):
            super().create_table(id_, *arguments, **options)

    def _list(self, dataset: str) -> list[Any]:
        with self._naming(dataset):
            return super()._list(dataset)

    @contextmanager
    def _naming(self, dataset: str) -> Iterator[None]:
        """Give the error about a missing dataset the command that creates it.

        Raises:
            NotFound: the dataset does not exist, or something else.
        """
        try:
            yield
        except NotFound as error:
            raise self._missing(dataset) or error from error

    def _store_definition(self, id_: TableId, draft: ViewDraft, found: Sequence[Column]) -> None:
        columns = [(column.name, str(column.type)) for column in found]
        table = bigquery.Table(str(id_))
        table.friendly_name = json.dumps({"query": draft.query, "columns": columns, "unannounced": draft.unannounced})
        self._client.update_table(table, ["friendly_name"])

    def _stored(self, id_: TableId, table: bigquery.Table) -> StoredView:
        stored = super()._stored(id_, table)
        if not stored.is_view:
            return stored
        definition = definition_of(table.friendly_name)
        columns = Schema(Column(name, parse_type(type_)) for name, type_ in definition.get("columns", ()))
        return replace(
            stored,
            query=definition.get("query") or self._text(id_),
            columns=columns or self._columns(id_),
            unannounced=tuple(definition.get("unannounced", ())) if stored.unannounced else (),
        )

    def _text(self, id_: TableId) -> str:
        """Return the text of a view that Onefold did not write."""
        dataset = quote(f"{id_.project}.{id_.dataset}")
        sql = f"SELECT view_definition FROM {dataset}.INFORMATION_SCHEMA.VIEWS WHERE table_name = {quote_text(id_.table)}"
        return "".join(str(row["view_definition"]) for row in self.fetch(sql))

    def _columns(self, id_: TableId) -> tuple[Column, ...]:
        """Return the columns of a view; none where a table that it reads was dropped, so that it cannot be queried."""
        try:
            return self._columns_of(f"SELECT * FROM {id_.quoted}")
        except (api.NotFound, api.BadRequest):
            return ()

    def _readable_columns(self, subject: str, query: str) -> tuple[Column, ...]:
        """Return the columns of a query that is about to be written; none where a table that it reads was dropped.

        Args:
            subject: what the query is of, for the error.
            query: the query.

        Raises:
            Rejected: the emulator cannot run the query, so nothing may be written that depends on it.
        """
        try:
            return self._columns_of(f"SELECT * FROM (\n{query}\n)")
        except api.NotFound:
            return ()
        except api.BadRequest as error:
            message = message_of(error)
            raise Rejected(f"{subject}: the embedded BigQuery cannot run its SQL ({message}): {_REMEDY}") from error

    def _columns_of(self, query: str) -> Schema:
        return columns_of(self._client.query(f"{query} LIMIT 0").result().schema)

    def _query(self, sql: str, page_size: int | None = None) -> Iterator[dict[str, Any]]:
        """Run a query as a job: where `jobs.query` fails, an emulator that Onefold did not start returns no rows."""
        self._calls.add()
        return (dict(row.items()) for row in self._client.query(sql).result(page_size=page_size))


@contextmanager
def _placing(sql: str) -> Iterator[None]:
    """Give the error about a query the place of the name that it is about.

    Raises:
        Rejected: the query is refused.
    """
    try:
        yield
    except Rejected as error:
        raise Rejected(placed(str(error), sql)) from error


def _is_version(base: TableId, item: Any, names: VersionedNames) -> bool:
    return item.table_type == "TABLE" and names.version_of(base.table, item.table_id) is not None
