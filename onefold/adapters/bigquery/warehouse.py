"""The BigQuery adapter: all that touches google-cloud-bigquery."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import google.auth.exceptions
import requests.exceptions
from google.api_core import exceptions as api
from google.cloud import bigquery
from google.cloud.bigquery.retry import DEFAULT_JOB_RETRY, DEFAULT_RETRY

from onefold.adapters.bigquery.schema import (
    UNANNOUNCED,
    UNFINISHED,
    Resource,
    carried_tags,
    gone_fields,
    noted_fields,
    notes_size,
    split_notes,
    tag_conflicts,
    tagged_columns,
    tags_only,
    type_string,
    with_annotations,
    with_notes,
)
from onefold.core.errors import (
    InvalidColumns,
    InvalidType,
    LimitExceeded,
    NotFound,
    OnefoldError,
    PolicyTagsDenied,
    Rejected,
    SchemaConflict,
    TryAgain,
    ViewChanged,
)
from onefold.core.names import TableId, leaf_name, quote, quote_text
from onefold.core.versioned_names import DEFAULT_NAMES, VersionedNames
from onefold.ports.warehouse import StoredView, ViewDraft, ViewExists
from onefold.schema.columns import Column
from onefold.schema.types import parse_type
from onefold.schema.versions import Version

# The client would retry for ten minutes by itself, longer than a message waits for its answer.
_TIMEOUT = 30.0
_RETRY = DEFAULT_RETRY.with_timeout(_TIMEOUT)
_QUERY_RETRY = DEFAULT_JOB_RETRY.with_timeout(2 * _TIMEOUT)
_PAGE = 1_000
"""Tables listed in one call; the default is 50."""
_VERSIONS_PAGE = 250
"""Versions read in one call. BigQuery would answer with up to 10 MB, and several copies of an answer are in memory while
it is parsed (REST reference, `jobs.query`, https://cloud.google.com/bigquery/docs/reference/rest/v2/jobs/query, 2025-11)."""

# Besides 5xx, 429, timeouts and broken connections. A 403 right after a grant passes, and so does a quota.
_PASSING_REASONS = frozenset(
    {
        "rateLimitExceeded",
        "quotaExceeded",
        "accessDenied",
        "backendError",
        "internalError",
        "jobBackendError",
        "jobInternalError",
        "jobRateLimitExceeded",
    }
)
_QUOTA_REASONS = frozenset({"rateLimitExceeded", "quotaExceeded"})
_REQUEST_TIMEOUT = 408
_NOT_FOUND = re.compile(r"Not found: (\w+)")
SET_TAGS = "bigquery.tables.setCategory"
GET_TAXONOMY = "datacatalog.taxonomies.get"
"""The two rights that it takes to put a policy tag on a column: on the table, and on the tag's taxonomy."""
_PASSING = (
    api.ServerError,
    api.TooManyRequests,
    api.Unauthorized,  # a token that has just expired
    api.RetryError,
    ConnectionError,
    TimeoutError,
    requests.exceptions.ConnectionError,
    requests.exceptions.Timeout,
    requests.exceptions.ChunkedEncodingError,
    google.auth.exceptions.TransportError,
    google.auth.exceptions.RefreshError,  # what the metadata server's troubles become
)
_NO_ANSWER = (ConnectionError, TimeoutError, requests.exceptions.ConnectionError, requests.exceptions.Timeout)
EMULATOR = "BIGQUERY_EMULATOR_HOST"


class _Calls(threading.local):
    """A count for each thread: the requests of one instance run side by side, and each tells its own."""

    count = 0


class BigQueryWarehouse:
    """`onefold.ports.warehouse.Warehouse` over the REST API."""

    def __init__(self, client: bigquery.Client) -> None:
        self._client = client
        self._calls = _Calls()
        self.project: str = client.project

    @property
    def calls(self) -> int:
        return self._calls.count

    @property
    def client(self) -> bigquery.Client:
        """For what reads and writes rows in bulk."""
        return self._client

    def get_view(self, id_: TableId) -> StoredView | None:
        table = self._get(id_)
        return self._stored(id_, table) if table else None

    def read_versions(self, base: TableId, names: VersionedNames = DEFAULT_NAMES) -> tuple[Version, ...]:
        with translated(f"dataset {base.dataset}", not_found=NotFound):
            return versions_from_rows(self._query(_columns_query(base, names), _VERSIONS_PAGE), base, names)

    def has_table(self, id_: TableId) -> bool:
        return self.table_created(id_) is not None

    def table_created(self, id_: TableId) -> datetime | None:
        table = self._get(id_)
        # A clone is a table here, but none to INFORMATION_SCHEMA: it would be waited for in vain.
        is_table = table is not None and table.table_type == "TABLE" and table.clone_definition is None
        return table.created if table is not None and is_table and table.schema else None

    def read_columns(self, id_: TableId) -> tuple[Column, ...] | None:
        table = self._get(id_)
        if table is None or table.table_type != "TABLE":
            return None
        return tuple(Column(field.name, parse_type(type_string(field))) for field in table.schema)

    def read_rows(self, id_: TableId) -> Iterator[Mapping[str, Any]]:
        """The rows of a table or a view, when they are asked for. Raises NotFound without it."""
        if self._get(id_) is None:
            raise NotFound(no_table(id_))
        with translated(str(id_), not_found=NotFound):
            yield from self._query(f"SELECT * FROM {id_.quoted}")

    def check_new(self, id_: TableId) -> None:
        """Raises Rejected where there is something of that name, and nothing may be overwritten."""
        if self._get(id_):
            raise Rejected(f"{id_} exists already, and nothing is overwritten: name a new table")

    def write_new_table(self, id_: TableId, columns: Iterable[str], rows: Iterable[Mapping[str, str | None]]) -> None:
        """A new table of text, without an expiry, whole or not at all. Raises Rejected where it exists."""
        self.check_new(id_)
        schema = [bigquery.SchemaField(name, "STRING") for name in columns]
        lines = "".join(json.dumps(dict(row)) + "\n" for row in rows)
        with translated(str(id_), not_found=Rejected):
            if not lines:  # a load without a row would make no table
                self._call(self._client.create_table, bigquery.Table(str(id_), schema))
                return
            self._calls.count += 1
            config = bigquery.LoadJobConfig(
                schema=schema, source_format="NEWLINE_DELIMITED_JSON", write_disposition="WRITE_EMPTY"
            )
            file = io.BytesIO(lines.encode())
            self._client.load_table_from_file(file, str(id_), job_config=config, timeout=_TIMEOUT).result()

    def list_bases(self, dataset: str, names: VersionedNames = DEFAULT_NAMES) -> tuple[str, ...]:
        found = (names.split(table) for table in self.list_tables(dataset))
        return tuple(dict.fromkeys(split[0] for split in found if split))

    def list_tables(self, dataset: str) -> tuple[str, ...]:
        return tuple(item.table_id for item in self._list(dataset) if item.table_type == "TABLE")

    def list_views(self, dataset: str) -> tuple[str, ...]:
        return tuple(item.table_id for item in self._list(dataset) if item.table_type == "VIEW")

    def create_view(self, id_: TableId, draft: ViewDraft) -> None:
        table = bigquery.Table(str(id_))
        _fill(table, draft)
        with translated(str(id_), not_found=_missing_on_write):
            try:
                self._call(self._client.create_table, table)
            except api.Conflict as error:
                raise ViewExists(f"{id_} was created by somebody else") from error

    def check_tags(self, stored: StoredView, draft: ViewDraft) -> StoredView:
        noted = noted_fields(stored.schema, stored.gone)
        checked = replace(stored, tags_checked=True)
        if draft.query == stored.query:
            return checked
        _check_carried(stored.id, noted, draft)
        if not (tags := carried_tags(draft.columns, noted)):
            return checked
        with translated(str(stored.id), not_found=_missing_on_write):
            allowed = self._call(self._client.test_iam_permissions, str(stored.id), [SET_TAGS])
            if SET_TAGS not in allowed.get("permissions", ()):
                raise self._denied(stored, noted, f"it lacks {SET_TAGS}")
            return replace(checked, etag=self._prove_tags(stored, noted, tags))

    def _prove_tags(self, stored: StoredView, noted: Sequence[Resource], tags: set[str]) -> str | None:
        """Write the columns as they are, tags included: this takes the rights on their taxonomies, and changes nothing.

        What `tables.testIamPermissions` answers is no proof: it knows nothing of taxonomies, and may "fail open". Tags that
        come back have no column yet, so a scratch view carries them.
        """
        present = carried_tags(None, noted_fields(stored.schema, ()))
        with self._tags_denied(stored, noted):
            if returning := sorted(tags - present):
                self._prove_on_scratch_view(stored.id, returning)
            if not present:
                return stored.etag
            table = _table_to_update(stored, ViewDraft(stored.query))
            table.schema = list(stored.schema)
            etag: str | None = self._call(self._client.update_table, table, ["schema"]).etag
            return etag

    def _prove_on_scratch_view(self, view: TableId, tags: Sequence[str]) -> None:
        """Put the tags on the columns of a view that reads nothing, and delete the view.

        Its name is that of a leaf view, which the account may delete, and a digest of the tags: what a process that died
        has left behind is used, and deleted, by the next delivery.
        """
        id_ = view.sibling(leaf_name(view, "\n".join(["scratch", *tags])))
        table = bigquery.Table(str(id_))
        table.view_query = "SELECT " + ", ".join(f"CAST(NULL AS STRING) AS c{number}" for number in range(len(tags)))
        with contextlib.suppress(api.Conflict):
            self._call(self._client.create_table, table)
        try:
            table = bigquery.Table(str(id_))
            table.schema = [
                bigquery.SchemaField(f"c{number}", "STRING", policy_tags=bigquery.PolicyTagList([tag]))
                for number, tag in enumerate(tags)
            ]
            self._call(self._client.update_table, table, ["schema"])
        finally:
            self._call(self._client.delete_table, str(id_), not_found_ok=True)

    def update_view(self, stored: StoredView, draft: ViewDraft) -> None:
        checked = stored if stored.tags_checked else self.check_tags(stored, draft)
        with translated(str(stored.id), not_found=_missing_on_write):
            if draft.query == stored.query:
                self._update_around_query(checked, draft)
            else:
                self._update_query(checked, draft)

    def _update_around_query(self, stored: StoredView, draft: ViewDraft) -> None:
        table = _table_to_update(stored, draft)
        if not stored.unfinished:
            self._call(self._client.update_table, table, ["description", "labels"])
            return
        table.schema = list(stored.schema)
        noted = noted_fields(stored.schema, ())
        with self._tags_denied(stored, noted):
            self._call(self._client.update_table, table, ["description", "labels", "schema"])

    def _update_query(self, stored: StoredView, draft: ViewDraft) -> None:
        table = _table_to_update(stored, draft)
        noted = noted_fields(stored.schema, stored.gone)
        table.view_query = _with_room(stored.id, draft.query, noted, draft.unannounced)
        if noted:
            table.labels = {**table.labels, UNFINISHED: "yes"}
        written = self._call(self._client.update_table, table, ["view_query", "description", "labels"])
        if noted:
            written.schema = with_annotations(written.schema, noted)
            written.labels = {UNFINISHED: None}
            self._call(self._client.update_table, written, ["schema", "labels"])

    @contextlib.contextmanager
    def _tags_denied(self, stored: StoredView, noted: Sequence[Resource]) -> Iterator[None]:
        """Say what to grant where a write of columns with policy tags is denied: no later delivery would fare better."""
        try:
            yield
        except api.Forbidden as error:
            if not tagged_columns(noted) or _reasons(error) & _QUOTA_REASONS:
                raise
            raise self._denied(stored, noted, f"BigQuery answers: {message_of(error)}") from error

    def _denied(self, stored: StoredView, noted: Sequence[Resource], reason: str) -> PolicyTagsDenied:
        view, columns = stored.id, tagged_columns(noted)
        state = "Until then, people read these columns without them." if stored.unfinished else "Nothing was written."
        taxonomies = sorted({tag.partition("/policyTags/")[0] for tags in columns.values() for tag in tags})
        account = getattr(self._client._credentials, "service_account_email", None) or "the account of this process"
        return PolicyTagsDenied(
            f"{view}: {account} may not set the policy tags of the columns {', '.join(columns)}, which a change of the view "
            f"drops ({reason}). {state} Grant it {SET_TAGS} on the dataset {view.project}.{view.dataset} (Terraform: "
            f"restore_policy_tags = true) and {GET_TAXONOMY} on {', '.join(taxonomies)}, then send the message again"
        )

    def copy_tags(self, stored: StoredView, leaf: TableId) -> None:
        noted = tags_only(noted_fields(stored.schema, stored.gone))
        if not noted:
            return
        with translated(str(leaf), not_found=_missing_on_write):
            table = self._call(self._client.get_table, str(leaf))
            schema = with_annotations(table.schema, noted)
            if schema != table.schema:
                table.schema = schema
                with self._tags_denied(stored, noted):
                    self._call(self._client.update_table, table, ["schema"])

    def delete_view(self, id_: TableId) -> None:
        with translated(str(id_)):
            self._call(self._client.delete_table, str(id_), not_found_ok=True)

    def _stored(self, id_: TableId, table: bigquery.Table) -> StoredView:
        labels = {key: value for key, value in table.labels.items() if key not in (UNFINISHED, UNANNOUNCED)}
        is_view = table.table_type == "VIEW"
        query, notes, unannounced = split_notes(table.view_query or "")
        unfinished = UNFINISHED in table.labels
        schema = with_annotations(table.schema, notes) if unfinished else table.schema
        gone = gone_fields(table.schema, notes)
        if UNANNOUNCED not in table.labels:
            unannounced = ()  # published since: the text is not written again for that
        return StoredView(
            id=id_,
            is_view=is_view,
            query=query,
            columns=tuple(Column(field.name, parse_type(type_string(field))) for field in schema) if is_view else (),
            description=table.description or "",
            labels=labels,
            etag=table.etag,
            unfinished=unfinished,
            schema=tuple(schema),
            gone=gone,
            reserved=notes_size(noted_fields(schema, gone)),
            unannounced=unannounced or (("{}",) if UNANNOUNCED in table.labels else ()),
        )

    def _get(self, id_: TableId) -> bigquery.Table | None:
        with translated(str(id_)):
            try:
                table: bigquery.Table = self._call(self._client.get_table, str(id_))
                return table
            except api.NotFound:
                return None

    def _list(self, dataset: str) -> list[Any]:
        with translated(f"dataset {dataset}", not_found=NotFound):
            listed = self._client.list_tables(f"{self.project}.{dataset}", page_size=_PAGE, retry=_RETRY, timeout=_TIMEOUT)
            items: list[Any] = []
            for page in listed.pages:
                self._calls.count += 1
                items += page
            return items

    def _query(self, sql: str, page_size: int | None = None) -> Iterator[dict[str, Any]]:
        self._calls.count += 1
        rows = self._client.query_and_wait(
            sql, api_timeout=_TIMEOUT, wait_timeout=2 * _TIMEOUT, retry=_RETRY, job_retry=_QUERY_RETRY, page_size=page_size
        )
        return (dict(row.items()) for row in rows)

    def _call(self, method: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        self._calls.count += 1
        return method(*arguments, retry=_RETRY, timeout=_TIMEOUT, **options)


def versions_from_rows(
    rows: Iterable[Mapping[str, Any]], base: TableId, names: VersionedNames = DEFAULT_NAMES
) -> tuple[Version, ...]:
    """Return the versions of `base`, in the order of the rows; other tables that the query caught are left out.

    Columns of one name and type are one object, whatever their version, and a row is let go of before the next is read: a
    thousand versions of hundreds of columns take little more memory than one of them.

    Args:
        rows: one for each table: `table_name`, `creation_time`, and `columns` as `columns_text` writes them.
    Raises:
        InvalidColumns: all columns of a type that is not known.
    """
    known: dict[tuple[str, str], Column] = {}
    versions, problems = [], []
    for row in rows:
        version = names.version_of(base.table, row["table_name"])
        if version is None:
            continue
        columns = []
        for name, type_ in json.loads(f"[{row['columns']}]"):
            try:
                columns.append(_shared_column(name, type_, known))
            except InvalidType as error:
                problems.append(f"table {row['table_name']}, column {name}: {error}")
        versions.append(Version(version, tuple(columns), row["creation_time"]))
    if problems:
        raise InvalidColumns(problems)
    return tuple(versions)


def columns_text(columns: Iterable[tuple[str, str]]) -> str:
    """Return names and types in their order as the query of the versions gives them: JSON arrays, separated by commas.

    >>> columns_text([("id", "INT64"), ("name", "STRING")])
    '["id", "INT64"],["name", "STRING"]'
    """
    return ",".join(json.dumps(column, ensure_ascii=False) for column in columns)


def _shared_column(name: str, type_: str, known: dict[tuple[str, str], Column]) -> Column:
    column = known.get((name, type_))
    if column is None:
        column = known[name, type_] = Column(name, parse_type(type_))
    return column


def no_table(id_: TableId) -> str:
    """What to say where there is nothing of that name."""
    return f"there is no table or view {id_}; of a versioned table, name the unified or the current view"


def _columns_query(base: TableId, names: VersionedNames) -> str:
    """One row per version. Pseudo-columns have no position; views are no base tables.

    The columns are one text: as an array of structs, each of them would be five objects of JSON in the answer.
    """
    schema = f"{quote(f'{base.project}.{base.dataset}')}.INFORMATION_SCHEMA"
    return (
        "SELECT t.table_name, t.creation_time, "
        "STRING_AGG(TO_JSON_STRING([c.column_name, c.data_type]), ',' ORDER BY c.ordinal_position) AS columns\n"
        f"FROM {schema}.TABLES AS t JOIN {schema}.COLUMNS AS c ON c.table_name = t.table_name\n"
        "WHERE t.table_type = 'BASE TABLE' "
        f"AND REGEXP_CONTAINS(t.table_name, {quote_text(names.versions_pattern(base.table))})\n"
        "AND c.ordinal_position IS NOT NULL AND c.is_hidden = 'NO'\n"
        "GROUP BY t.table_name, t.creation_time"
    )


def _missing_on_write(message: str) -> OnefoldError:
    """Return the error for what a write did not find.

    A dataset for views that is not there is a wrong setting, and a policy tag or anything else is for people to look at. A
    table or leaf that has gone is a change like any other, and so is what BigQuery does not name.
    """
    # Not any "dataset": the client puts the address, which has `/datasets/` in it, before BigQuery's own words.
    found = _NOT_FOUND.search(message)
    if found is None or found[1] in ("Table", "View"):
        return ViewChanged(message)
    if found[1] == "Dataset":
        advice = "create the dataset for views, in the location of the tables, or set ONEFOLD_VIEW_DATASET"
    else:
        advice = (
            "restore it; if it is a policy tag that was deleted, take it off the column, or out of the last line of the "
            "view's text, where Onefold keeps the tags of former columns and of a write that broke off"
        )
    return Rejected(f"{message}; {advice}")


def _check_carried(view: TableId, noted: Sequence[Resource], draft: ViewDraft) -> None:
    """Check without a call that the new columns, and meanwhile the view's text, can carry the policy tags."""
    if conflicts := tag_conflicts(draft.columns or (), noted):
        raise SchemaConflict([f"{view}: {conflict}" for conflict in conflicts])
    _with_room(view, draft.query, noted, ())


def _with_room(view: TableId, query: str, noted: Sequence[Resource], unannounced: Sequence[str]) -> str:
    """Return the query with its notes. Raises LimitExceeded where there is no room for the policy tags."""
    text = with_notes(query, noted, unannounced)
    if text is None:
        raise LimitExceeded(
            f"{view}: its text leaves no room for the policy tags of the columns {', '.join(tagged_columns(noted))}, which "
            "have to be noted in it while it is written, or as long as they are not in the view: set `retire` for old "
            "versions in onefold.yaml"
        )
    return text


def _table_to_update(stored: StoredView, draft: ViewDraft) -> bigquery.Table:
    """The client sends If-Match with the etag of the object that it is given. A label set to None is removed."""
    reference = {"projectId": stored.id.project, "datasetId": stored.id.dataset, "tableId": stored.id.table}
    table = bigquery.Table.from_api_repr({"tableReference": reference, "etag": stored.etag})
    _fill(table, draft)
    former = [*stored.labels, *([UNFINISHED] if stored.unfinished else []), *([UNANNOUNCED] if stored.unannounced else [])]
    table.labels = {**dict.fromkeys(former), **table.labels}
    return table


def _fill(table: bigquery.Table, draft: ViewDraft) -> None:
    table.view_query = with_notes(draft.query, (), draft.unannounced) or draft.query
    table.description = draft.description or None
    waiting = {UNANNOUNCED: str(len(draft.unannounced))} if draft.unannounced else {}
    table.labels = {**draft.labels, **waiting}


@contextlib.contextmanager
def translated(what: str, not_found: Callable[[str], OnefoldError] | None = None) -> Iterator[None]:
    """Errors of the client as errors of ours; 404 is left alone unless the caller names what it means."""
    try:
        yield
    except (api.PreconditionFailed, api.Conflict) as error:
        raise ViewChanged(f"{what} was changed by somebody else") from error
    except api.NotFound as error:
        if not_found is None:
            raise
        raise not_found(f"{what}: {message_of(error)}") from error
    except _PASSING as error:
        raise TryAgain(f"{what}: {_trouble(error)}") from error
    except api.GoogleAPICallError as error:
        passing = error.code == _REQUEST_TIMEOUT or _reasons(error) & _PASSING_REASONS
        kind = TryAgain if passing else Rejected
        raise kind(f"{what}: {message_of(error)}") from error


def message_of(error: api.GoogleAPICallError) -> str:
    """What BigQuery says, on one line: of a job the client adds the place and the name, on lines of their own."""
    return ", ".join(line for line in str(error.message).splitlines() if line.strip())


def _trouble(error: Exception) -> str:
    """An emulator that is not there is a mistake of the environment, and would be looked for in vain in the error."""
    cause, host = error.cause if isinstance(error, api.RetryError) else error, os.environ.get(EMULATOR)
    if host and isinstance(cause, _NO_ANSWER):
        return f"no answer from {host} ({type(cause).__name__}): start BigQuery's emulator there, or unset {EMULATOR}"
    return str(error)


def is_quota(error: api.GoogleAPICallError) -> bool:
    """Whether a 403 is about how often something was asked, and not about a right."""
    return bool(_reasons(error) & _QUOTA_REASONS)


def _reasons(error: api.GoogleAPICallError) -> set[str]:
    return {detail.get("reason", "") for detail in error.errors if isinstance(detail, Mapping)}
