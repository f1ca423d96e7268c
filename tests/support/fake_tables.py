"""The tables and views of `fake_bigquery`: what a test creates, changes and looks at, and what requests find."""

from __future__ import annotations

import copy
import itertools
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from support.rest import PROJECT, Resource, RestError
from support.rest_fields import bare, rest_field

from onefold.schema.types import parse_landed_type

_READS = re.compile(r"\bFROM `[^.`]+\.(?P<dataset>[^.`]+)\.(?P<table>[^`]+)`")
_NULLS = re.compile(r"\bCAST\(NULL AS (\w+)\) AS (\w+)")
_FIRST_CREATION = 1_700_000_000


@dataclass
class FakeTables:
    """Datasets by name, and their tables."""

    schema_of: Callable[[str], list[Resource]] | None = None
    datasets: dict[str, dict[str, Resource]] = field(default_factory=lambda: {"shop": {}})
    lock: threading.RLock = field(default_factory=threading.RLock, repr=False)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1), repr=False)

    def create_table(self, name: str, *columns: str, dataset: str = "shop", kind: str = "TABLE") -> None:
        """A table of columns such as `id INT64`."""
        with self.lock:
            types = [tuple(column.split(" ", 1)) for column in columns]
            schema = {"fields": [rest_field(column, parse_landed_type(type_)) for column, type_ in types]}
            self.datasets.setdefault(dataset, {})
            resource = self.new(dataset, name, kind, {"schema": schema})
            self.datasets[dataset][name] = {**resource, "_types": types}

    def land(self, name: str, columns: Mapping[str, str], dataset: str = "shop") -> None:
        """A table of columns and their types."""
        self.create_table(name, *(f"{column} {type_}" for column, type_ in columns.items()), dataset=dataset)

    def drop(self, name: str, dataset: str = "shop") -> None:
        with self.lock:
            del self.datasets[dataset][name]

    def change(self, name: str, change: Callable[[Resource], None], dataset: str = "shop") -> None:
        """Somebody else changes a table or view."""
        with self.lock:
            change(self.datasets[dataset][name])
            self.touch(self.datasets[dataset][name])

    def resource(self, name: str, dataset: str = "shop") -> Resource:
        with self.lock:
            return copy.deepcopy(self.datasets[dataset][name])

    def names(self, kind: str, dataset: str = "shop") -> list[str]:
        with self.lock:
            return sorted(name for name, resource in self.datasets[dataset].items() if resource["type"] == kind)

    def missing(self, query: str) -> list[str]:
        """What a view's text reads and is not there."""
        with self.lock:
            return [name for dataset, name in _read_by(query) if name not in self.datasets.get(dataset, {})]

    # What requests find

    def dataset(self, dataset: str) -> dict[str, Resource]:
        if dataset not in self.datasets:
            raise RestError(404, "notFound", f"Not found: Dataset {PROJECT}:{dataset}")
        return self.datasets[dataset]

    def find(self, dataset: str, table: str) -> Resource:
        tables = self.dataset(dataset)
        if table not in tables:
            raise RestError(404, "notFound", f"Not found: Table {PROJECT}:{dataset}.{table}")
        return tables[table]

    def view_schema(self, query: str) -> list[Resource]:
        read = [self.find(dataset, table) for dataset, table in _read_by(query)]
        if not read and (named := _NULLS.findall(query)):
            return [rest_field(name, parse_landed_type(type_)) for type_, name in named]
        if self.schema_of:
            return self.schema_of(query)
        fields: dict[str, Resource] = {}
        for resource in read:
            for column in bare(resource["schema"]["fields"]):
                fields.setdefault(column["name"].lower(), column)
        return list(fields.values())

    def new(self, dataset: str, name: str, kind: str, content: Resource) -> Resource:
        reference = {"projectId": PROJECT, "datasetId": dataset, "tableId": name}
        number = next(self._numbers)
        created = _FIRST_CREATION + number
        content = {**content, "creationTime": str(created * 1_000)}
        resource = {**content, "tableReference": reference, "type": kind, "_created": created}
        self.touch(resource)
        return resource

    def touch(self, resource: Resource) -> None:
        resource["etag"] = f"etag-{next(self._numbers)}"


def _read_by(query: str) -> list[tuple[str, str]]:
    code = "\n".join(line for line in query.splitlines() if not line.startswith("--"))
    return [(match["dataset"], match["table"]) for match in _READS.finditer(code)]


def public(resource: Resource) -> Resource:
    return copy.deepcopy({key: value for key, value in resource.items() if not key.startswith("_")})
