"""The BigQuery adapter: all that touches google-cloud-bigquery."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import google.auth.exceptions
import requests.exceptions
from google.api_core import exceptions as api
from google.cloud import bigquery
from google.cloud.bigquery.retry import DEFAULT_JOB_RETRY, DEFAULT_RETRY

from onefold.errors import NothingFound, OnefoldError, Rejected, TryAgain, ViewChanged
from onefold.names import TableId, fold_case, quote, quote_text, split_versioned_name, versions_pattern
from onefold.types import parse_type
from onefold.versions import Column, Version
from onefold.warehouse import StoredView, ViewDraft, Warehouse

# The client would retry for ten minutes by itself, longer than a message waits for its answer.
_TIMEOUT = 30.0
_RETRY = DEFAULT_RETRY.with_timeout(_TIMEOUT)
_QUERY_RETRY = DEFAULT_JOB_RETRY.with_timeout(2 * _TIMEOUT)
_RESTORE_TRIES = 5

# Besides 5xx, 429, timeouts and broken connections. A 403 right after a grant passes, and so does a quota.
_PASSING_REASONS = frozenset({"rateLimitExceeded", "quotaExceeded", "jobRateLimitExceeded", "backendError", "accessDenied"})
_PASSING = (
    api.ServerError,
    api.TooManyRequests,
    api.RetryError,
    ConnectionError,
    TimeoutError,
    requests.exceptions.ConnectionError,
    requests.exceptions.Timeout,
    requests.exceptions.ChunkedEncodingError,
    google.auth.exceptions.TransportError,
)


def connect(project: str | None) -> Warehouse:
    """The warehouse of a project: BigQuery, or its emulator where BIGQUERY_EMULATOR_HOST names one."""
    if os.environ.get("BIGQUERY_EMULATOR_HOST"):
        from onefold.local.emulator import EmulatedWarehouse, emulator_client

        return EmulatedWarehouse(emulator_client(project))
    with _translated("the project"):
        try:
            return BigQueryWarehouse(bigquery.Client(project=project))
        except google.auth.exceptions.DefaultCredentialsError as error:
            raise Rejected(f"no credentials: run `gcloud auth application-default login` ({error})") from error
        except OSError as error:  # the client's way to say that it found no project
            raise Rejected(f"{error}; set ONEFOLD_PROJECT") from error


class BigQueryWarehouse:
    """`onefold.warehouse.Warehouse` over the REST API."""

    def __init__(self, client: bigquery.Client) -> None:
        self._client = client
        self._calls = 0
        self.project: str = client.project

    @property
    def calls(self) -> int:
        return self._calls

    def get_view(self, id_: TableId) -> StoredView | None:
        table = self._get(id_)
        return self._stored(id_, table) if table else None

    def read_versions(self, base: TableId) -> tuple[Version, ...]:
        with _translated(f"dataset {base.dataset}", not_found=NothingFound):
            return versions_from_rows(self._query(_columns_query(base)))

    def has_table(self, id_: TableId) -> bool:
        table = self._get(id_)
        return table is not None and table.table_type == "TABLE"

    def list_bases(self, dataset: str) -> tuple[str, ...]:
        names = (split_versioned_name(item.table_id) for item in self._list(dataset) if item.table_type == "TABLE")
        return tuple(dict.fromkeys(name[0] for name in names if name))

    def list_views(self, dataset: str) -> tuple[str, ...]:
        return tuple(item.table_id for item in self._list(dataset) if item.table_type == "VIEW")

    def create_view(self, id_: TableId, draft: ViewDraft) -> None:
        table = bigquery.Table(str(id_))
        _fill(table, draft)
        with _translated(str(id_), not_found=_missing_on_write):
            self._call(self._client.create_table, table)

    def update_view(self, stored: StoredView, draft: ViewDraft) -> None:
        # The client sends If-Match with the etag of the object that it is given.
        table = bigquery.Table.from_api_repr({"tableReference": _reference(stored.id), "etag": stored.etag})
        _fill(table, draft)
        with _translated(str(stored.id), not_found=_missing_on_write):
            written = self._call(self._client.update_table, table, ["view_query", "description", "labels"])
        if any(_is_annotated(field) for field in stored.schema):
            self._restore_annotations(stored, written)

    def _restore_annotations(self, stored: StoredView, written: bigquery.Table) -> None:
        """Put back what the change of the query dropped. Only we know it now, so a conflict is tried again here."""
        for _ in range(_RESTORE_TRIES):
            written.schema = _with_annotations(written.schema, stored.schema)
            try:
                with _translated(str(stored.id), not_found=ViewChanged):
                    self._call(self._client.update_table, written, ["schema"])
                return
            except ViewChanged:
                present = self._get(stored.id)
                if present is None:
                    return
                written = present
        raise TryAgain(f"{stored.id}: the descriptions of its columns could not be put back, others keep writing it")

    def delete_view(self, id_: TableId) -> None:
        with _translated(str(id_)):
            self._call(self._client.delete_table, str(id_), not_found_ok=True)

    def _stored(self, id_: TableId, table: bigquery.Table) -> StoredView:
        schema = list(table.schema)
        return StoredView(
            id=id_,
            is_view=table.table_type == "VIEW",
            query=table.view_query or "",
            columns=tuple(Column(field.name, parse_type(type_string(field))) for field in schema),
            description=table.description or "",
            labels=dict(table.labels),
            etag=table.etag,
            schema=tuple(schema),
        )

    def _get(self, id_: TableId) -> bigquery.Table | None:
        with _translated(str(id_)):
            try:
                table: bigquery.Table = self._call(self._client.get_table, str(id_))
                return table
            except api.NotFound:
                return None

    def _list(self, dataset: str) -> list[Any]:
        with _translated(f"dataset {dataset}", not_found=NothingFound):
            return list(self._call(self._client.list_tables, f"{self.project}.{dataset}"))

    def _query(self, sql: str) -> Iterator[dict[str, Any]]:
        self._calls += 1
        rows = self._client.query_and_wait(
            sql, api_timeout=_TIMEOUT, wait_timeout=2 * _TIMEOUT, retry=_RETRY, job_retry=_QUERY_RETRY
        )
        return (dict(row.items()) for row in rows)

    def _call(self, method: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        self._calls += 1
        return method(*arguments, retry=_RETRY, timeout=_TIMEOUT, **options)


def versions_from_rows(rows: Iterable[Mapping[str, Any]]) -> tuple[Version, ...]:
    """Versions from rows of INFORMATION_SCHEMA.COLUMNS, each with its table's creation time; in the order of the rows."""
    columns: dict[str, list[Column]] = {}
    created: dict[str, Any] = {}
    for row in sorted(rows, key=lambda row: int(row["ordinal_position"])):
        split = split_versioned_name(row["table_name"])
        if split:
            columns.setdefault(split[1], []).append(Column(row["column_name"], parse_type(row["data_type"])))
            created[split[1]] = row["creation_time"]
    return tuple(Version(version, tuple(found), created[version]) for version, found in columns.items())


def _columns_query(base: TableId) -> str:
    """All columns of all versions, in one query. Pseudo-columns have no position; views are no base tables."""
    schema = f"{quote(f'{base.project}.{base.dataset}')}.INFORMATION_SCHEMA"
    return (
        "SELECT t.table_name, t.creation_time, c.column_name, c.ordinal_position, c.data_type\n"
        f"FROM {schema}.TABLES AS t JOIN {schema}.COLUMNS AS c ON c.table_name = t.table_name\n"
        f"WHERE t.table_type = 'BASE TABLE' AND REGEXP_CONTAINS(t.table_name, {quote_text(versions_pattern(base.table))})\n"
        "AND c.ordinal_position IS NOT NULL AND c.is_hidden = 'NO'"
    )


def _missing_on_write(message: str) -> OnefoldError:
    """A dataset that is not there is final; a table or a leaf that has just gone is a change like any other."""
    return NothingFound(message) if "dataset" in message.lower() else ViewChanged(message)


def _reference(id_: TableId) -> dict[str, str | None]:
    return {"projectId": id_.project, "datasetId": id_.dataset, "tableId": id_.table}


def _fill(table: bigquery.Table, draft: ViewDraft) -> None:
    table.view_query = draft.query
    table.description = draft.description or None
    table.labels = dict(draft.labels)


def type_string(field: bigquery.SchemaField) -> str:
    """A field of a schema as the type string that INFORMATION_SCHEMA would give."""
    if field.field_type in ("RECORD", "STRUCT"):
        inner = ", ".join(f"{quote(part.name)} {type_string(part)}" for part in field.fields)
        type_ = f"STRUCT<{inner}>"
    elif field.field_type == "RANGE":
        type_ = f"RANGE<{field.range_element_type.element_type}>"
    else:
        type_ = field.field_type
    return f"ARRAY<{type_}>" if field.mode == "REPEATED" else type_


def _is_annotated(field: bigquery.SchemaField) -> bool:
    return bool(field.description or field.policy_tags) or any(_is_annotated(part) for part in field.fields)


def _with_annotations(
    schema: Iterable[bigquery.SchemaField], annotated: Iterable[bigquery.SchemaField]
) -> list[bigquery.SchemaField]:
    """The schema with what people had put on columns of the same name, nested ones too."""
    known = {fold_case(field.name): field for field in annotated}
    result = []
    for field in schema:
        old = known.get(fold_case(field.name))
        resource = field.to_api_repr()
        if old:
            kept = {key: value for key, value in old.to_api_repr().items() if key in ("description", "policyTags") and value}
            resource = {**resource, **kept}
            if field.fields:
                resource["fields"] = [part.to_api_repr() for part in _with_annotations(field.fields, old.fields)]
        result.append(bigquery.SchemaField.from_api_repr(resource))
    return result


@contextlib.contextmanager
def _translated(what: str, not_found: Callable[[str], OnefoldError] | None = None) -> Iterator[None]:
    """Errors of the client as errors of ours; 404 is left alone unless the caller names what it means."""
    try:
        yield
    except (api.PreconditionFailed, api.Conflict) as error:
        raise ViewChanged(f"{what} was changed by somebody else") from error
    except api.NotFound as error:
        if not_found is None:
            raise
        raise not_found(f"{what}: {error.message}") from error
    except _PASSING as error:
        raise TryAgain(f"{what}: {error}") from error
    except api.GoogleAPICallError as error:
        kind = TryAgain if _reasons(error) & _PASSING_REASONS else Rejected
        raise kind(f"{what}: {error.message}") from error


def _reasons(error: api.GoogleAPICallError) -> set[str]:
    return {detail.get("reason", "") for detail in error.errors if isinstance(detail, Mapping)}
