"""A fake of BigQuery's REST API at the transport: what `google.cloud.bigquery.Client(_http=...)` sends requests through.

It honours:

- tables.get, insert, patch, delete and list (in pages, with labels), with etags: If-Match that does not fit is 412, an
  insert where the name is taken 409, what is missing 404, in BigQuery's form of an error;
- patch as a merge: null removes, labels are merged key by key, what is not named stays;
- a view that reads a missing table is refused, when it is written, with 404;
- a view's schema cannot be given together with its query; every patch of the query drops the descriptions and policy
  tags of the columns; a patch of the schema may change these and nothing else;
- a patch of the schema that sets or removes a policy tag, or leaves one as it is, takes both rights: on the table
  (`bigquery.tables.setCategory`) and on the taxonomy (`datacatalog.taxonomies.get`); `lacks` names those that the account
  does not have, `closed` the taxonomies that it may not read, and 403 (`accessDenied`) is the answer then. A change of
  the query takes neither;
- tables.testIamPermissions knows rights on tables, and with `fails_open` says yes to each;
- a dry run of `CREATE TABLE` takes `bigquery.jobs.create` in the project and `bigquery.tables.create` in a dataset that is
  there; reading a table takes `bigquery.tables.get`, which is asked for before the table is looked for;
- datasets.list, in one page;
- jobs.query for the two queries of INFORMATION_SCHEMA that the library sends (versions, and the types of one column), in
  pages where `rows_per_page` says so;
- tables that the metadata do not show yet (`hidden`), faults to answer with (`fail`), and a hook around each request.

A view that reads nothing has the columns that its text names as `CAST(NULL AS type) AS name`.

It does not: check SQL, evaluate a query, know a view's real types (unless `schema_of` tells them, a view has the columns
of all that it reads, each with the type first found), enforce quotas or other permissions, or know of anything but tables.
Requests are atomic, one after the other.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import requests
from google.auth.credentials import AnonymousCredentials
from google.cloud import bigquery

from onefold.schema.types import Array, Range, Scalar, Struct, Type, parse_landed_type

PROJECT = "my-project"

_PERMISSIONS = re.compile(
    r"/bigquery/v2/projects/[^/]+/datasets/(?P<dataset>[^/]+)/tables/(?P<table>[^/:]+):testIamPermissions"
)
_TABLES = re.compile(r"/bigquery/v2/projects/[^/]+/datasets/(?P<dataset>[^/]+)/tables(?:/(?P<table>[^/]+))?")
_DATASETS = re.compile(r"/bigquery/v2/projects/[^/]+/datasets")
_QUERIES = re.compile(r"/bigquery/v2/projects/[^/]+/queries(?:/(?P<job>[^/]+))?")
_INSERT = re.compile(r"/bigquery/v2/projects/[^/]+/jobs")
_MADE = re.compile(r"CREATE TABLE IF NOT EXISTS `[^.`]+\.(?P<dataset>\w+)\.\w+` \(x INT64\)")
_JOBS = re.compile(r"/bigquery/v2/projects/[^/]+/jobs/(?P<job>[^/]+)")
_METADATA = re.compile(
    r"SELECT t\.table_name, t\.creation_time, "
    r"STRING_AGG\(TO_JSON_STRING\(\[c\.column_name, c\.data_type\]\), ',' ORDER BY c\.ordinal_position\) AS columns\n"
    r"FROM `[^.`]+\.(?P<dataset>\w+)`\.INFORMATION_SCHEMA\.TABLES AS t "
    r"JOIN `[^.`]+\.(?P=dataset)`\.INFORMATION_SCHEMA\.COLUMNS AS c ON c\.table_name = t\.table_name\n"
    r"WHERE t\.table_type = 'BASE TABLE' AND REGEXP_CONTAINS\(t\.table_name, '(?P<pattern>[^']*)'\)\n"
    r"AND c\.ordinal_position IS NOT NULL AND c\.is_hidden = 'NO'\n"
    r"GROUP BY t\.table_name, t\.creation_time"
)
_COLUMN = re.compile(
    r"SELECT c\.table_name, c\.data_type\n"
    r"FROM `[^.`]+\.(?P<dataset>\w+)`\.INFORMATION_SCHEMA\.TABLES AS t "
    r"JOIN `[^.`]+\.(?P=dataset)`\.INFORMATION_SCHEMA\.COLUMNS AS c ON c\.table_name = t\.table_name\n"
    r"WHERE t\.table_type = 'BASE TABLE' AND LOWER\(c\.column_name\) = '(?P<column>\w+)'"
)
_READS = re.compile(r"\bFROM `[^.`]+\.(?P<dataset>[^.`]+)\.(?P<table>[^`]+)`")
_NULLS = re.compile(r"\bCAST\(NULL AS (\w+)\) AS (\w+)")
_ROW = (("table_name", "STRING"), ("creation_time", "TIMESTAMP"), ("columns", "STRING"))
_COLUMN_ROW = (("table_name", "STRING"), ("data_type", "STRING"))
_REST_NAMES = {"INT64": "INTEGER", "FLOAT64": "FLOAT", "BOOL": "BOOLEAN"}
_FIRST_CREATION = 1_700_000_000

Resource = dict[str, Any]


class Crash(Exception):
    """The process dies here."""


@dataclass(frozen=True)
class Request:
    """One request: `kind` is the method of the API, `name` the table, `job`, or empty."""

    kind: str
    name: str = ""


@dataclass
class _Error(Exception):
    status: int
    reason: str
    message: str


@dataclass
class _Call:
    """A request as it came."""

    dataset: str
    table: str
    body: Resource
    query: Mapping[str, list[str]]
    etag: str | None


@dataclass
class FakeBigQuery:
    """One project; also the session that a client sends its requests through."""

    schema_of: Callable[[str], list[Resource]] | None = None
    rows_per_page: int | None = None
    tables_per_page: int = 1_000
    hidden: set[str] = field(default_factory=set)
    lacks: set[str] = field(default_factory=set)
    closed: set[str] = field(default_factory=set)
    fails_open: bool = False
    log: list[Request] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)
    before: Callable[[Request], None] = lambda _: None
    after: Callable[[Request], None] = lambda _: None
    datasets: dict[str, dict[str, Resource]] = field(default_factory=lambda: {"shop": {}})
    is_mtls: bool = False

    def __post_init__(self) -> None:
        self._lock = threading.RLock()
        self._numbers = itertools.count(1)
        self._problems: list[tuple[str, _Error | Exception]] = []
        self._results: dict[str, list[Resource]] = {}
        self._shapes: dict[str, tuple[tuple[str, str], ...]] = {}

    # What a test says and asks

    def client(self) -> bigquery.Client:
        return bigquery.Client(
            project=PROJECT,
            credentials=AnonymousCredentials(),  # type: ignore[no-untyped-call]
            _http=cast(requests.Session, self),
        )

    def create_table(self, name: str, *columns: str, dataset: str = "shop", kind: str = "TABLE") -> None:
        """A table of columns such as `id INT64`."""
        with self._lock:
            types = [tuple(column.split(" ", 1)) for column in columns]
            schema = {"fields": [rest_field(column, parse_landed_type(type_)) for column, type_ in types]}
            self.datasets.setdefault(dataset, {})
            resource = self._new(dataset, name, kind, {"schema": schema})
            self.datasets[dataset][name] = {**resource, "_types": types}

    def land(self, name: str, columns: Mapping[str, str], dataset: str = "shop") -> None:
        """A table of columns and their types."""
        self.create_table(name, *(f"{column} {type_}" for column, type_ in columns.items()), dataset=dataset)

    def drop(self, name: str, dataset: str = "shop") -> None:
        with self._lock:
            del self.datasets[dataset][name]

    def change(self, name: str, change: Callable[[Resource], None], dataset: str = "shop") -> None:
        """Somebody else changes a table or view."""
        with self._lock:
            change(self.datasets[dataset][name])
            self._touch(self.datasets[dataset][name])

    def resource(self, name: str, dataset: str = "shop") -> Resource:
        with self._lock:
            return copy.deepcopy(self.datasets[dataset][name])

    def names(self, kind: str, dataset: str = "shop") -> list[str]:
        with self._lock:
            return sorted(name for name, resource in self.datasets[dataset].items() if resource["type"] == kind)

    def missing(self, query: str) -> list[str]:
        """What a view's text reads and is not there."""
        with self._lock:
            return [name for dataset, name in _read_by(query) if name not in self.datasets.get(dataset, {})]

    def fail(self, kind: str, status: int, reason: str = "", message: str = "as the test wanted", times: int = 1) -> None:
        """Answer the next requests of a kind with an error."""
        self._problems += [(kind, _Error(status, reason, message))] * times

    def break_off(self, kind: str, error: Exception, times: int = 1) -> None:
        """Let the connection fail at the next requests of a kind."""
        self._problems += [(kind, error)] * times

    @contextlib.contextmanager
    def counted(self) -> Iterator[list[Request]]:
        """The requests that are made in the block."""
        made: list[Request] = []
        start = len(self.log)
        yield made
        made += self.log[start:]

    # The session

    def request(
        self, method: str, url: str, data: str | None = None, headers: Mapping[str, str] | None = None, **_: object
    ) -> requests.Response:
        parts = urlsplit(url)
        request, handler, call = self._route(method, parts.path, parse_qs(parts.query), data, headers or {})
        self.before(request)
        with self._lock:
            self.log.append(request)
            try:
                self._raise_problem(request.kind)
                status, body = handler(call)
            except _Error as error:
                details = {"reason": error.reason, "message": error.message, "domain": "global"}
                status, body = (
                    error.status,
                    {"error": {"code": error.status, "message": error.message, "errors": [details]}},
                )
        self.after(request)
        return _response(method, url, status, body)

    def close(self) -> None:
        pass

    def _route(
        self, method: str, path: str, query: Mapping[str, list[str]], data: str | None, headers: Mapping[str, str]
    ) -> tuple[Request, Callable[[_Call], tuple[int, Any]], _Call]:
        body = json.loads(data) if data else {}
        if match := _PERMISSIONS.fullmatch(path):
            call = _Call(match["dataset"], match["table"], body, query, None)
            return Request("permissions", match["table"]), self._permissions, call
        if match := _TABLES.fullmatch(path):
            name = match["table"] or body.get("tableReference", {}).get("tableId", "")
            call = _Call(match["dataset"], name, body, query, headers.get("If-Match"))
            kind = {"GET": "get" if match["table"] else "list", "POST": "insert", "PATCH": "patch", "DELETE": "delete"}[
                method
            ]
            handlers = {
                "get": self._get,
                "list": self._list,
                "insert": self._insert,
                "patch": self._patch,
                "delete": self._delete,
            }
            return Request(kind, name), handlers[kind], call
        if _DATASETS.fullmatch(path):
            return Request("datasets"), self._list_datasets, _Call("", "", body, query, None)
        if (match := _QUERIES.fullmatch(path)) and method == "POST":
            return Request("query"), self._query, _Call("", "", body, query, None)
        if match:
            return Request("results", "job"), self._query_results, _Call("", match["job"], body, query, None)
        if _INSERT.fullmatch(path):
            return Request("dry run"), self._dry_run, _Call("", "", body, query, None)
        if match := _JOBS.fullmatch(path):
            return Request("job", "job"), self._job, _Call("", match["job"], body, query, None)
        raise AssertionError(f"the fake does not know {method} {path}")

    def _raise_problem(self, kind: str) -> None:
        for index, (wanted, error) in enumerate(self._problems):
            if wanted == kind:
                del self._problems[index]
                raise error

    # Tables

    def _get(self, call: _Call) -> tuple[int, Any]:
        self._check_right("bigquery.tables.get", f"Table {PROJECT}:{call.dataset}.{call.table}")
        return 200, _public(self._find(call.dataset, call.table))

    def _list(self, call: _Call) -> tuple[int, Any]:
        known = sorted(self._dataset(call.dataset).values(), key=lambda resource: resource["tableReference"]["tableId"])
        start = int(call.query.get("pageToken", ["0"])[0])
        stop = start + min(self.tables_per_page, int(call.query.get("maxResults", ["50"])[0]))
        items = [
            {key: resource[key] for key in ("tableReference", "type", "labels") if key in resource}
            for resource in known[start:stop]
        ]
        return 200, {"tables": items, **({"nextPageToken": str(stop)} if stop < len(known) else {})}

    def _list_datasets(self, _: _Call) -> tuple[int, Any]:
        references = ({"projectId": PROJECT, "datasetId": name} for name in self.datasets)
        return 200, {"datasets": [{"id": f"{PROJECT}:{one['datasetId']}", "datasetReference": one} for one in references]}

    def _insert(self, call: _Call) -> tuple[int, Any]:
        tables = self._dataset(call.dataset)
        if call.table in tables:
            raise _Error(409, "duplicate", f"Already Exists: Table {PROJECT}:{call.dataset}.{call.table}")
        if "view" not in call.body:
            tables[call.table] = self._new(call.dataset, call.table, "TABLE", call.body)
            return 200, _public(tables[call.table])
        if "schema" in call.body:
            raise _Error(400, "invalid", "Schema field shouldn't be used as input with a view")
        content = {key: call.body[key] for key in ("view", "description", "labels") if call.body.get(key) is not None}
        content["schema"] = {"fields": self._schema(content["view"]["query"])}
        tables[call.table] = self._new(call.dataset, call.table, "VIEW", content)
        return 200, _public(tables[call.table])

    def _patch(self, call: _Call) -> tuple[int, Any]:
        resource = self._find(call.dataset, call.table)
        if call.etag is not None and call.etag != resource["etag"]:
            raise _Error(412, "conditionNotMet", "Precondition Failed")
        if "view" in call.body and "schema" in call.body:
            raise _Error(400, "invalid", "Schema field shouldn't be used as input with a view")
        changed = copy.deepcopy(resource)
        if "view" in call.body:
            changed["view"] = call.body["view"]
            changed["schema"] = {"fields": self._schema(call.body["view"]["query"])}
        if "schema" in call.body:
            if _bare(call.body["schema"]["fields"]) != _bare(resource["schema"]["fields"]):
                raise _Error(400, "invalid", "Provided Schema does not match Table")
            if _tags(resource["schema"]["fields"]) or _tags(call.body["schema"]["fields"]):
                self._check_tags(call)
            changed["schema"] = call.body["schema"]
        if "description" in call.body:
            changed["description"] = call.body["description"]
        labels = {**resource.get("labels", {}), **call.body.get("labels", {})}
        changed["labels"] = {key: value for key, value in labels.items() if value is not None}
        self._touch(changed)
        self.datasets[call.dataset][call.table] = changed
        return 200, _public(changed)

    def _permissions(self, call: _Call) -> tuple[int, Any]:
        granted = [one for one in call.body["permissions"] if self.fails_open or one not in self.lacks]
        return 200, {"permissions": granted} if granted else {}

    def _dry_run(self, call: _Call) -> tuple[int, Any]:
        configuration = call.body["configuration"]
        match = _MADE.fullmatch(configuration["query"]["query"])
        assert configuration["dryRun"], call.body
        assert match, call.body
        self._check_right("bigquery.jobs.create", f"Project {PROJECT}")
        self._dataset(match["dataset"])
        self._check_right("bigquery.tables.create", f"Dataset {PROJECT}:{match['dataset']}")
        statistics = {"query": {"statementType": "CREATE_TABLE"}}
        return 200, {**call.body, "status": {"state": "DONE"}, "statistics": statistics}

    def _check_right(self, right: str, on: str) -> None:
        if right in self.lacks:
            raise _Error(403, "accessDenied", f"Access Denied: {on}: Permission {right} denied on it (or it may not exist).")

    def _check_tags(self, call: _Call) -> None:
        if "bigquery.tables.setCategory" in self.lacks:
            what = f"Table {PROJECT}:{call.dataset}.{call.table}: User does not have bigquery.tables.setCategory permission"
            raise _Error(403, "accessDenied", f"Access Denied: {what}")
        if "datacatalog.taxonomies.get" in self.lacks:
            raise _Error(403, "accessDenied", "Access Denied: User does not have permission to get taxonomy 1.")
        for name in _tags(call.body["schema"]["fields"]):
            taxonomy = name.partition("/policyTags/")[0]
            if taxonomy in self.closed:
                raise _Error(
                    403, "accessDenied", f"Access Denied: User does not have permission to get taxonomy {taxonomy}."
                )

    def _delete(self, call: _Call) -> tuple[int, Any]:
        self._find(call.dataset, call.table)
        del self.datasets[call.dataset][call.table]
        return 204, None

    def _dataset(self, dataset: str) -> dict[str, Resource]:
        if dataset not in self.datasets:
            raise _Error(404, "notFound", f"Not found: Dataset {PROJECT}:{dataset}")
        return self.datasets[dataset]

    def _find(self, dataset: str, table: str) -> Resource:
        tables = self._dataset(dataset)
        if table not in tables:
            raise _Error(404, "notFound", f"Not found: Table {PROJECT}:{dataset}.{table}")
        return tables[table]

    def _schema(self, query: str) -> list[Resource]:
        read = [self._find(dataset, table) for dataset, table in _read_by(query)]
        if not read and (named := _NULLS.findall(query)):
            return [rest_field(name, parse_landed_type(type_)) for type_, name in named]
        if self.schema_of:
            return self.schema_of(query)
        fields: dict[str, Resource] = {}
        for resource in read:
            for column in _bare(resource["schema"]["fields"]):
                fields.setdefault(column["name"].lower(), column)
        return list(fields.values())

    def _new(self, dataset: str, name: str, kind: str, content: Resource) -> Resource:
        reference = {"projectId": PROJECT, "datasetId": dataset, "tableId": name}
        number = next(self._numbers)
        created = _FIRST_CREATION + number
        content = {**content, "creationTime": str(created * 1_000)}
        resource = {**content, "tableReference": reference, "type": kind, "_created": created}
        self._touch(resource)
        return resource

    def _touch(self, resource: Resource) -> None:
        resource["etag"] = f"etag-{next(self._numbers)}"

    # The query of the metadata

    def _query(self, call: _Call) -> tuple[int, Any]:
        self.queries.append(call.body["query"])
        match, column = _METADATA.fullmatch(call.body["query"]), _COLUMN.fullmatch(call.body["query"])
        if not (match or column) or call.body["useLegacySql"]:
            raise _Error(400, "invalidQuery", "Syntax error: the fake knows two queries only")
        job = f"job-{next(self._numbers)}"
        if match:
            rows = list(self._metadata_rows(match["dataset"], match["pattern"].replace("\\\\", "\\")))
        else:
            assert column
            rows = list(self._column_rows(column["dataset"], column["column"]))
            self._shapes[job] = _COLUMN_ROW
        self._results[job] = rows
        return 200, self._page(job, 0, call.body.get("maxResults"))

    def _query_results(self, call: _Call) -> tuple[int, Any]:
        if call.query.get("maxResults") == ["0"]:
            return 200, {**self._page(call.table, 0), "rows": [], "pageToken": "0"}
        return 200, self._page(call.table, *(call.query.get(name, [0])[0] for name in ("pageToken", "maxResults")))

    def _job(self, call: _Call) -> tuple[int, Any]:
        return 200, self._described(call.table, {"status": {"state": "DONE"}, "configuration": {"query": {}}})

    def _page(self, job: str, start: str | int, most: str | int | None = None) -> Resource:
        rows, start = self._results[job], int(start)
        stop = start + min(self.rows_per_page or len(rows), int(most or 0) or len(rows))
        more = {"pageToken": str(stop)} if stop < len(rows) else {}
        schema = {"fields": [{"name": name, "type": kind, "mode": "NULLABLE"} for name, kind in self._shapes.get(job, _ROW)]}
        page = {"jobComplete": True, "schema": schema, "totalRows": str(len(rows)), "rows": rows[start:stop]}
        return self._described(job, {**page, **more})

    def _described(self, job: str, content: Resource) -> Resource:
        return {**content, "jobReference": {"projectId": PROJECT, "jobId": job, "location": "EU"}}

    def _metadata_rows(self, dataset: str, pattern: str) -> Iterator[Resource]:
        for name, resource in self._dataset(dataset).items():
            if resource["type"] != "TABLE" or name in self.hidden or not re.search(pattern, name):
                continue
            columns = ",".join(json.dumps(column, ensure_ascii=False) for column in resource["_types"])
            cells = (name, str(resource["_created"] * 1_000_000), columns)
            yield {"f": [{"v": cell} for cell in cells]}

    def _column_rows(self, dataset: str, column: str) -> Iterator[Resource]:
        for name, resource in self._dataset(dataset).items():
            for named, type_ in resource.get("_types", ()):
                if resource["type"] == "TABLE" and name not in self.hidden and named.lower() == column:
                    yield {"f": [{"v": name}, {"v": type_}]}


def rest_field(name: str, type_: Type) -> Resource:
    """A field of a schema as the REST API has it."""
    match type_:
        case Array(element):
            return {**rest_field(name, element), "mode": "REPEATED"}
        case Struct(fields):
            return {
                "name": name,
                "type": "RECORD",
                "mode": "NULLABLE",
                "fields": [rest_field(part.name, part.type) for part in fields],
            }
        case Range(element):
            return {"name": name, "type": "RANGE", "mode": "NULLABLE", "rangeElementType": {"type": element.name}}
        case Scalar(scalar):
            return {"name": name, "type": _REST_NAMES.get(scalar, scalar), "mode": "NULLABLE"}


def _read_by(query: str) -> list[tuple[str, str]]:
    code = "\n".join(line for line in query.splitlines() if not line.startswith("--"))
    return [(match["dataset"], match["table"]) for match in _READS.finditer(code)]


def _bare(fields: list[Resource]) -> list[Resource]:
    """A schema without what people put on it."""
    kept = [{key: value for key, value in one.items() if key not in ("description", "policyTags")} for one in fields]
    return [{**one, "fields": _bare(one["fields"])} if "fields" in one else one for one in kept]


def _tags(fields: list[Resource]) -> list[str]:
    """All policy tags of a schema, nested ones too."""
    own = [name for one in fields for name in (one.get("policyTags") or {}).get("names", ())]
    return own + [name for one in fields for name in _tags(one.get("fields", []))]


def _public(resource: Resource) -> Resource:
    return copy.deepcopy({key: value for key, value in resource.items() if not key.startswith("_")})


def _response(method: str, url: str, status: int, body: Any) -> requests.Response:
    response = requests.Response()
    response.status_code = status
    response._content = b"" if body is None else json.dumps(body).encode()
    response.headers["Content-Type"] = "application/json"
    response.request = requests.PreparedRequest()
    response.request.method, response.request.url = method, url
    return response
