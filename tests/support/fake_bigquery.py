"""A fake of BigQuery's REST API at the transport: what `google.cloud.bigquery.Client(_http=...)` sends requests through.

It honours:

- tables.get, insert, patch, delete and list (in pages, with labels), with etags: If-Match that does not fit is 412, an
  insert where the name is taken 409, what is missing 404, in BigQuery's form of an error;
- patch as a merge: null removes, labels are merged key by key, what is not named stays;
- a view that reads a missing table is refused, when it is written, with 404;
- a view's schema cannot be given together with its query; a patch may where `together` says so: then what is on the
  columns is `kept`, or `dropped` nevertheless. Every other patch of the query drops the descriptions and policy
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
- jobs that run the statements of `fake_statements`: queries whose rows a test gives, and copies of a table;
- tables that the metadata do not show yet (`hidden`), faults to answer with (`fail`), and a hook around each request.

A view that reads nothing has the columns that its text names as `CAST(NULL AS type) AS name`.

It does not: check SQL, evaluate a query, know a view's real types (unless `schema_of` tells them, a view has the columns
of all that it reads, each with the type first found), enforce quotas or other permissions, or know of anything but tables.
Requests are atomic, one after the other.
"""

from __future__ import annotations

import contextlib
import copy
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from support.fake_metadata import Metadata, described
from support.fake_statements import FakeStatements
from support.fake_tables import FakeTables, public
from support.rest import PROJECT, Answer, HttpRequest, Resource, RestError, RestSession, error, page_of
from support.rest_fields import bare, policy_tags

_PERMISSIONS = re.compile(
    r"/bigquery/v2/projects/[^/]+/datasets/(?P<dataset>[^/]+)/tables/(?P<table>[^/:]+):testIamPermissions"
)
_TABLES = re.compile(r"/bigquery/v2/projects/[^/]+/datasets/(?P<dataset>[^/]+)/tables(?:/(?P<table>[^/]+))?")
_DATASETS = re.compile(r"/bigquery/v2/projects/[^/]+/datasets")
_QUERIES = re.compile(r"/bigquery/v2/projects/[^/]+/queries(?:/(?P<job>[^/]+))?")
_INSERT = re.compile(r"/bigquery/v2/projects/[^/]+/jobs")
_MADE = re.compile(r"CREATE TABLE IF NOT EXISTS `[^.`]+\.(?P<dataset>\w+)\.\w+` \(x INT64\)")
_JOBS = re.compile(r"/bigquery/v2/projects/[^/]+/jobs/(?P<job>[^/]+)")


class Crash(Exception):
    """The process dies here."""


@dataclass(frozen=True)
class Request:
    """One request: `kind` is the method of the API, `name` the table, `job`, or empty."""

    kind: str
    name: str = ""


@dataclass
class _Call:
    """A request, and the table or the job that its path names."""

    request: HttpRequest
    dataset: str = ""
    table: str = ""

    def __post_init__(self) -> None:
        self.body: Resource = self.request.json


@dataclass
class FakeBigQuery(FakeTables, RestSession):
    """One project; also the session that a client sends its requests through."""

    rows_per_page: int | None = None
    tables_per_page: int = 1_000
    hidden: set[str] = field(default_factory=set)
    lacks: set[str] = field(default_factory=set)
    closed: set[str] = field(default_factory=set)
    fails_open: bool = False
    together: Literal["refused", "dropped", "kept"] = "refused"
    log: list[Request] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)
    before: Callable[[Request], None] = lambda _: None
    after: Callable[[Request], None] = lambda _: None

    def __post_init__(self) -> None:
        self._problems: list[tuple[str, RestError | Exception]] = []
        self._metadata = Metadata(self._shown)
        self.statements = FakeStatements(self)

    # What a test says and asks

    def fail(self, kind: str, status: int, reason: str = "", message: str = "as the test wanted", times: int = 1) -> None:
        """Answer the next requests of a kind with an error."""
        self._problems += [(kind, RestError(status, reason, message))] * times

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

    def answer(self, request: HttpRequest) -> Answer:
        made, handler, call = self._route(request)
        self.before(made)
        with self.lock:
            self.log.append(made)
            try:
                self._raise_problem(made.kind)
                answered = handler(call)
            except RestError as problem:
                answered = error(problem.status, problem.reason, problem.message)
        self.after(made)
        return answered

    def _route(self, request: HttpRequest) -> tuple[Request, Callable[[_Call], Answer], _Call]:
        path = request.path
        if match := _PERMISSIONS.fullmatch(path):
            return Request("permissions", match["table"]), self._permissions, _Call(request)
        if match := _TABLES.fullmatch(path):
            name = match["table"] or request.json.get("tableReference", {}).get("tableId", "")
            kinds = {"GET": "get" if match["table"] else "list", "POST": "insert", "PATCH": "patch", "DELETE": "delete"}
            kind = kinds[request.method]
            return Request(kind, name), getattr(self, f"_{kind}"), _Call(request, match["dataset"], name)
        if _DATASETS.fullmatch(path):
            return Request("datasets"), self._list_datasets, _Call(request)
        if (match := _QUERIES.fullmatch(path)) and request.method == "POST":
            return Request("query"), self._query, _Call(request)
        if match:
            return Request("results", "job"), self._query_results, _Call(request, table=match["job"])
        if _INSERT.fullmatch(path):
            is_dry = request.json["configuration"].get("dryRun")
            return Request("dry run" if is_dry else "statement"), self._dry_run if is_dry else self._run, _Call(request)
        if match := _JOBS.fullmatch(path):
            return Request("job", "job"), self._job, _Call(request, table=match["job"])
        raise AssertionError(f"the fake does not know {request.method} {path}")

    def _raise_problem(self, kind: str) -> None:
        for index, (wanted, problem) in enumerate(self._problems):
            if wanted == kind:
                del self._problems[index]
                raise problem

    # Tables

    def _get(self, call: _Call) -> Answer:
        self._check_right("bigquery.tables.get", f"Table {PROJECT}:{call.dataset}.{call.table}")
        return 200, public(self.find(call.dataset, call.table))

    def _list(self, call: _Call) -> Answer:
        known = sorted(self.dataset(call.dataset).values(), key=lambda resource: resource["tableReference"]["tableId"])
        size = min(self.tables_per_page, int(call.request.query.get("maxResults", 50)))
        page, more = page_of(known, call.request.query, size)
        shown = ("tableReference", "type", "labels")
        return 200, {"tables": [{key: one[key] for key in shown if key in one} for one in page], **more}

    def _list_datasets(self, _: _Call) -> Answer:
        references = ({"projectId": PROJECT, "datasetId": name} for name in self.datasets)
        return 200, {"datasets": [{"id": f"{PROJECT}:{one['datasetId']}", "datasetReference": one} for one in references]}

    def _insert(self, call: _Call) -> Answer:
        tables = self.dataset(call.dataset)
        if call.table in tables:
            raise RestError(409, "duplicate", f"Already Exists: Table {PROJECT}:{call.dataset}.{call.table}")
        if "view" not in call.body:
            tables[call.table] = self.new(call.dataset, call.table, "TABLE", call.body)
            return 200, public(tables[call.table])
        if "schema" in call.body:
            raise RestError(400, "invalid", "Schema field shouldn't be used as input with a view")
        content = {key: call.body[key] for key in ("view", "description", "labels") if call.body.get(key) is not None}
        content["schema"] = {"fields": self.view_schema(content["view"]["query"])}
        tables[call.table] = self.new(call.dataset, call.table, "VIEW", content)
        return 200, public(tables[call.table])

    def _patch(self, call: _Call) -> Answer:
        resource = self.find(call.dataset, call.table)
        if call.request.headers.get("If-Match", resource["etag"]) != resource["etag"]:
            raise RestError(412, "conditionNotMet", "Precondition Failed")
        if "view" in call.body and "schema" in call.body and self.together == "refused":
            raise RestError(400, "invalid", "Schema field shouldn't be used as input with a view")
        changed = copy.deepcopy(resource)
        if "view" in call.body:
            changed["view"] = call.body["view"]
            changed["schema"] = {"fields": self.view_schema(call.body["view"]["query"])}
        if "schema" in call.body:
            if bare(call.body["schema"]["fields"]) != bare(changed["schema"]["fields"]):
                raise RestError(400, "invalid", "Provided Schema does not match Table")
            if policy_tags(resource["schema"]["fields"]) or policy_tags(call.body["schema"]["fields"]):
                self._check_tags(call)
            if "view" not in call.body or self.together == "kept":
                changed["schema"] = call.body["schema"]
        if "description" in call.body:
            changed["description"] = call.body["description"]
        labels = {**resource.get("labels", {}), **call.body.get("labels", {})}
        changed["labels"] = {key: value for key, value in labels.items() if value is not None}
        self.touch(changed)
        self.datasets[call.dataset][call.table] = changed
        return 200, public(changed)

    def _permissions(self, call: _Call) -> Answer:
        granted = [one for one in call.body["permissions"] if self.fails_open or one not in self.lacks]
        return 200, {"permissions": granted} if granted else {}

    def _dry_run(self, call: _Call) -> Answer:
        configuration = call.body["configuration"]
        match = _MADE.fullmatch(configuration["query"]["query"])
        assert match, call.body
        self._check_right("bigquery.jobs.create", f"Project {PROJECT}")
        self.dataset(match["dataset"])
        self._check_right("bigquery.tables.create", f"Dataset {PROJECT}:{match['dataset']}")
        statistics = {"query": {"statementType": "CREATE_TABLE"}}
        return 200, {**call.body, "status": {"state": "DONE"}, "statistics": statistics}

    def _check_right(self, right: str, on: str) -> None:
        if right in self.lacks:
            message = f"Access Denied: {on}: Permission {right} denied on it (or it may not exist)."
            raise RestError(403, "accessDenied", message)

    def _check_tags(self, call: _Call) -> None:
        self._check_right("bigquery.tables.setCategory", f"Table {PROJECT}:{call.dataset}.{call.table}")
        closed = {name.partition("/policyTags/")[0] for name in policy_tags(call.body["schema"]["fields"])} & self.closed
        if "datacatalog.taxonomies.get" in self.lacks or closed:
            which = min(closed, default="1")
            raise RestError(403, "accessDenied", f"Access Denied: User does not have permission to get taxonomy {which}.")

    def _delete(self, call: _Call) -> Answer:
        self.find(call.dataset, call.table)
        del self.datasets[call.dataset][call.table]
        return 204, None

    # Queries

    def _shown(self, dataset: str) -> dict[str, Resource]:
        found = self.dataset(dataset).items()
        return {name: one for name, one in found if one["type"] == "TABLE" and name not in self.hidden}

    def _query(self, call: _Call) -> Answer:
        self.queries.append(call.body["query"])
        job = None if call.body["useLegacySql"] else self._metadata.query(call.body["query"])
        if job is None:
            raise RestError(400, "invalidQuery", "Syntax error: the fake knows two queries only")
        return 200, self._page(job, 0, call.body.get("maxResults"))

    def _run(self, call: _Call) -> Answer:
        job = call.body["jobReference"]["jobId"]
        self._metadata.keep(job, *self.statements.run(call.body["configuration"]["query"]["query"]))
        return 200, described(job, {"status": {"state": "DONE"}, "configuration": call.body["configuration"]})

    def _query_results(self, call: _Call) -> Answer:
        asked = call.request.query
        if asked.get("maxResults") == "0":
            return 200, {**self._page(call.table, 0), "rows": [], "pageToken": "0"}
        return 200, self._page(call.table, int(asked.get("pageToken", 0)), asked.get("maxResults"))

    def _job(self, call: _Call) -> Answer:
        return 200, described(call.table, {"status": {"state": "DONE"}, "configuration": {"query": {}}})

    def _page(self, job: str, start: int, most: str | int | None = None) -> Resource:
        return self._metadata.page(job, start, min(filter(None, (self.rows_per_page, int(most or 0))), default=0))
