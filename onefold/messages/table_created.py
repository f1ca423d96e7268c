"""What may come in: an HTTP request that carries a Pub/Sub message, and what the message says.

Pure functions from bytes to values. Whatever is not one of the known forms raises InvalidMessage with every fault;
nothing that comes out of here holds a name that may not meet SQL.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from onefold.core.errors import InvalidMessage
from onefold.core.names import problems_of_name
from onefold.core.versioned_names import NamesIn, VersionedNames, default_names
from onefold.messages.envelope import json_object, table_problems

_RESOURCE = re.compile(r"projects/(?P<project>[^/]+)/datasets/(?P<dataset>[^/]+)/tables/(?P<table>[^/]{1,1024})")


@dataclass(frozen=True)
class TableHint:
    """Something happened to the versions of a table: to the one named, where one is."""

    dataset: str
    table: str
    version: str | None = None
    project: str | None = None
    """Only audit log entries name one."""


@dataclass(frozen=True)
class DatasetHint:
    """All tables of a dataset are to be checked."""

    dataset: str


@dataclass(frozen=True)
class OtherTable:
    """An audit log entry about a view, or about a table that is not a versioned one: nothing to do."""

    resource: str


Event = TableHint | DatasetHint | OtherTable


def parse_event(data: bytes, names_in: NamesIn = default_names) -> Event:
    """What a message says.

    Args:
        names_in: how versioned tables are named in a dataset. What its `include` and `exclude` leave out is another table.

    The published form is `{"dataset": "shop", "table": {"name": "customer", "version": "abc"}}`; `version` may be
    absent, and so may `table`. BigQuery's audit log entries for created, changed and deleted tables are understood too.

    Raises:
        InvalidMessage: every fault of it.
    """
    content = json_object(data, "the message")
    if "protoPayload" in content:
        return _audit_entry(content["protoPayload"], names_in)
    problems = list(table_problems(content))
    if problems:
        raise InvalidMessage(problems)
    if "table" not in content:
        return DatasetHint(content["dataset"])
    return _table_hint(content["dataset"], content["table"], names_in(content["dataset"]))


def table_message(dataset: str, table: str, version: str | None = None) -> bytes:
    """The published form of a message."""
    body = {"name": table, "version": version} if version else {"name": table}
    return json.dumps({"dataset": dataset, "table": body}).encode()


def _table_hint(dataset: str, table: Mapping[str, str], names: VersionedNames) -> Event:
    base, version = table["name"], table.get("version")
    if version is not None and (problems := names.problems(base, version)):
        raise InvalidMessage(problems)
    named = names.name(base, version) if version is not None else None
    left_out = names.exclusion_reason(base, named)
    return OtherTable(named or base) if left_out else TableHint(dataset, base, version)


def _audit_entry(payload: Any, names_in: NamesIn) -> Event:
    """BigQueryAuditMetadata: `metadata` says what happened, `resourceName` to which table."""
    metadata = payload.get("metadata") if isinstance(payload, dict) else None
    if not isinstance(metadata, dict) or not metadata.keys() & {"tableCreation", "tableChange", "tableDeletion"}:
        raise InvalidMessage("the audit log entry is not about a table that was created, changed or deleted")
    resource = payload.get("resourceName")
    match = _RESOURCE.fullmatch(resource) if isinstance(resource, str) else None
    if not match:
        raise InvalidMessage("the audit log entry's resourceName is not projects/P/datasets/D/tables/T")
    split = names_in(match["dataset"]).split(match["table"])
    if not split or _is_view(metadata):
        return OtherTable(match["table"])
    base, version = split
    named = (("project", match["project"]), ("dataset", match["dataset"]), ("table", base), ("version", version))
    problems = [problem for kind, name in named for problem in problems_of_name(kind, name)]
    if problems:
        raise InvalidMessage(problems)
    # A version is named only where a view that covers it is up to date: not after ALTER TABLE, nor after DROP TABLE.
    return TableHint(match["dataset"], base, version if "tableCreation" in metadata else None, match["project"])


def _is_view(metadata: Mapping[str, Any]) -> bool:
    """A creation and a change say so, by the view's query; a deletion costs a look at the versions that are left."""
    written = metadata.get("tableCreation", metadata.get("tableChange"))
    table = written.get("table") if isinstance(written, dict) else None
    return isinstance(table, dict) and bool(table.get("view") or table.get("materializedView"))
