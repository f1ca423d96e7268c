"""A fake of the access lists of BigQuery's datasets, over HTTP.

It honours:

- datasets.get and datasets.patch with etags: each write gives another one, If-Match that does not fit is 412, an unknown
  dataset 404; `access` is replaced as a whole, every other field stays;
- `accessPolicyVersion=3`: without it, get returns an entry with a condition under the role `..._withcond_...` and without
  the condition, and patch of a dataset that has one is refused with 400;
- roles/bigquery.dataOwner, dataEditor and dataViewer come back as OWNER, WRITER and READER, addresses in lower case;
- a list without an unconditional OWNER is refused with 400;
- tables.list in pages of two, tables.getIamPolicy, projects.getIamPolicy (v3) and roles.get;
- a hook before each request (`before`), answers lost after the write (`lose_answers`), a process that dies after so many
  writes (`dies_after`), and 403 for what is in `denied`.
"""

from __future__ import annotations

import copy
import itertools
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from support.rest import Answer, HttpRequest, error, page_of

Entry = dict[str, Any]
_DATASET = re.compile(r"/bigquery/v2/projects/my-project/datasets/(\w+)")
_TABLES = re.compile(r"/bigquery/v2/projects/my-project/datasets/(\w+)/tables")
_TABLE_POLICY = re.compile(r"/bigquery/v2/projects/my-project/datasets/(\w+)/tables/([\w-]+):getIamPolicy")
_NAMES = {"roles/bigquery.dataOwner": "OWNER", "roles/bigquery.dataEditor": "WRITER", "roles/bigquery.dataViewer": "READER"}


@dataclass
class FakeDatasets:
    datasets: dict[str, dict[str, Any]] = field(default_factory=dict)
    tables: dict[str, dict[str, list[Entry]]] = field(default_factory=dict)
    """The bindings of each table, by dataset and table."""
    project_bindings: list[Entry] = field(default_factory=list)
    roles: dict[str, list[str]] = field(default_factory=dict)
    denied: set[str] = field(default_factory=set)
    before: Callable[[str, str], None] = lambda *_: None
    lose_answers: int = 0
    writes: int = 0

    def __post_init__(self) -> None:
        self._numbers = itertools.count(1)
        self._lock = threading.RLock()

    def put(self, name: str, *entries: Entry) -> None:
        """Somebody else writes a dataset, new or not."""
        with self._lock:
            former = self.datasets.get(name, {"description": "kept"})
            self.datasets[name] = {**former, "access": list(entries), "etag": f"etag-{next(self._numbers)}"}

    def entries(self, name: str) -> list[Entry]:
        return copy.deepcopy(list(self.datasets[name]["access"]))

    def add(self, name: str, *entries: Entry) -> None:
        """Somebody else adds entries."""
        with self._lock:
            self.put(name, *self.entries(name), *entries)

    def answer(self, request: HttpRequest) -> Answer:
        path = request.path
        self.before(request.method, path)
        if path.rpartition("/")[2] in self.denied:
            return error(403, "forbidden", "Access Denied")
        with self._lock:
            if found := _DATASET.fullmatch(path):
                return self._dataset(request, found[1])
            if found := _TABLES.fullmatch(path):
                return self._list(found[1], request)
            if found := _TABLE_POLICY.fullmatch(path):
                bindings = self.tables[found[1]].get(found[2])
                return (200, {"bindings": bindings}) if bindings is not None else error(404, "notFound", "no table")
        if path == "/v3/projects/my-project:getIamPolicy":
            return 200, {"bindings": self.project_bindings}
        if path.removeprefix("/v1/") in self.roles:
            return 200, {"includedPermissions": self.roles[path.removeprefix("/v1/")]}
        return error(404, "notFound", f"{request.method} {path} is not here")

    def _dataset(self, request: HttpRequest, name: str) -> Answer:
        if name not in self.datasets:
            return error(404, "notFound", f"Not found: Dataset my-project:{name}")
        stored = self.datasets[name]
        conditions = request.query.get("accessPolicyVersion") == "3"
        if request.method == "PATCH":
            if request.headers.get("If-Match", stored["etag"]) != stored["etag"]:
                return error(412, "conditionNotMet", "Precondition check failed.")
            if not conditions and any("condition" in entry for entry in stored["access"]):
                return error(400, "invalid", "accessPolicyVersion 3 is required")
            if not any(map(_owns, request.json["access"])):
                return error(400, "invalid", "a dataset needs an owner")
            self.put(name, *map(normal, request.json["access"]))
            self.writes += 1
            if self.lose_answers:
                self.lose_answers -= 1
                return error(503, "backendError", "try again")
        shown = copy.deepcopy(self.datasets[name])
        shown["access"] = [entry if conditions else _without_condition(entry) for entry in shown["access"]]
        return 200, shown

    def _list(self, dataset: str, request: HttpRequest) -> Answer:
        names, more = page_of(list(self.tables.get(dataset, {})), request.query)
        return 200, {"tables": [{"tableReference": {"tableId": name}} for name in names], **more}


def normal(entry: Entry) -> Entry:
    """Return an entry as the API returns it."""
    lowered = {key: value.lower() for key, value in entry.items() if key in ("userByEmail", "groupByEmail", "domain")}
    role = {"role": _NAMES.get(entry["role"], entry["role"])} if "role" in entry else {}
    return {**entry, **lowered, **role}


def _owns(entry: Entry) -> bool:
    return normal(entry).get("role") == "OWNER" and "condition" not in entry


def _without_condition(entry: Entry) -> Entry:
    if "condition" not in entry:
        return entry
    rest = {key: value for key, value in entry.items() if key != "condition"}
    return {**rest, "role": f"{entry['role']}_withcond_0a1b"}
