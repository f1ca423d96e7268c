"""The messages of the topic `table-created`: a table or a dataset of which versions may have changed.

Pure functions from bytes to values. A message of another form raises InvalidMessage with all problems. Every name in a value
is safe in SQL.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from onefold.changes.versions import ReportedChange
from onefold.core.errors import InvalidMessage
from onefold.core.names import LEAF_PREFIX, TEMPORARY_PREFIX, problems_of_name
from onefold.core.versioned_names import NamesIn, VersionedNames, default_names
from onefold.messages.envelope import json_object, table_problems
from onefold.messages.reported_change import change_content, reported_change

MAX_TABLES = 20
"""Tables of one message: to write the views of a table takes some seconds, and a call ends after five minutes."""
_RESOURCE = re.compile(r"projects/(?P<project>[^/]+)/datasets/(?P<dataset>[^/]+)/tables/(?P<table>[^/]{1,1024})")


@dataclass(frozen=True)
class TableHint:
    """A change of the versions of a table, or of one version where `version` names it."""

    dataset: str
    table: str
    version: str | None = None
    project: str | None = None
    """The project of the table; None except in audit log entries."""
    reported: ReportedChange | None = None
    """What the message reports of the change that led to the version, if anything."""


@dataclass(frozen=True)
class TableHints:
    """Versions of several tables that are new; each of them is a message of its own (`parts`)."""

    dataset: str
    parts: tuple[bytes, ...]


@dataclass(frozen=True)
class DatasetHint:
    """A request to check all tables of a dataset."""

    dataset: str
    project: str | None = None
    """As in `TableHint`."""


@dataclass(frozen=True)
class PlainHint:
    """A table that is no version was created, changed or deleted.

    It may be a plain change table, which its columns tell, or one of those of which a table is united.
    """

    dataset: str
    table: str
    project: str | None = None
    """As in `TableHint`."""
    is_gone: bool = False
    """Whether the table was deleted."""


@dataclass(frozen=True)
class OtherTable:
    """A view, or a table of Onefold's own: there is nothing to do."""

    resource: str


Event = TableHint | TableHints | DatasetHint | PlainHint | OtherTable


def parse_event(data: bytes, names_in: NamesIn = default_names) -> Event:
    """Parse and check a message.

    The published form is `{"dataset": "shop", "table": {"name": "customer", "version": "abc"}}`; `version` may be
    absent, and so may `table`, or it is a list of such objects. `table` may have a `change` (`reported_change`). The other
    form is an audit log entry of BigQuery for a created, changed or deleted table.

    Args:
        data: the bytes of the message.
        names_in: the naming of the versioned tables, by dataset. A table that its `include` and `exclude` leave out is
            returned as OtherTable.

    Examples:
        >>> parse_event(b'{"dataset": "shop", "table": {"name": "customer"}}')
        TableHint(dataset='shop', table='customer', version=None, project=None, reported=None)

    Raises:
        InvalidMessage: the message is not valid; the error lists all problems.
    """
    content = json_object(data, "the message")
    if "protoPayload" in content:
        return _audit_entry(content["protoPayload"], names_in)
    if isinstance(content.get("table"), list):
        return _hints(content)
    problems = list(table_problems(content))
    if problems:
        raise InvalidMessage(problems)
    if "table" not in content:
        return DatasetHint(content["dataset"])
    return _table_hint(content["dataset"], content["table"], names_in(content["dataset"]))


def table_message(dataset: str, table: str, version: str | None = None, reported: ReportedChange | None = None) -> bytes:
    """Return the published form of a message.

    Args:
        dataset: the dataset.
        table: the base name.
        version: the version that is new; None where several versions may have changed.
        reported: what is known of the change that led to the version; None where nothing is.

    Examples:
        >>> table_message("shop", "customer", "abc")
        b'{"dataset": "shop", "table": {"name": "customer", "version": "abc"}}'
    """
    return json.dumps({"dataset": dataset, "table": _table_content(table, version, reported)}).encode()


def _table_content(table: str, version: str | None, reported: ReportedChange | None) -> dict[str, Any]:
    version_content = {"version": version} if version else {}
    return {"name": table, **version_content, **({"change": change_content(reported)} if reported else {})}


def tables_messages(dataset: str, versions: Sequence[tuple[str, str, ReportedChange | None]]) -> list[bytes]:
    """Return messages about new versions of tables, each about as many as one call of the function refreshes in time.

    Args:
        dataset: the dataset.
        versions: base names, each with its new version, and what is known of the change.

    Examples:
        >>> tables_messages("shop", [("customer", "abc", None), ("orders", "def", None)])
        [b'{"dataset": "shop", "table": [{"name": "customer", "version": "abc"}, {"name": "orders", "version": "def"}]}']
    """
    parts = [versions[start : start + MAX_TABLES] for start in range(0, len(versions), MAX_TABLES)]
    return [_tables_message(dataset, part) if len(part) > 1 else table_message(dataset, *part[0]) for part in parts]


def _tables_message(dataset: str, versions: Sequence[tuple[str, str, ReportedChange | None]]) -> bytes:
    return json.dumps({"dataset": dataset, "table": [_table_content(*one) for one in versions]}).encode()


def dataset_message(dataset: str) -> bytes:
    """Return the published form of a message for all tables of a dataset.

    Examples:
        >>> dataset_message("shop")
        b'{"dataset": "shop"}'
    """
    return json.dumps({"dataset": dataset}).encode()


def _hints(content: Mapping[str, Any]) -> TableHints:
    """Return the hints of a message about several tables. What is wrong with one of them is that table's own problem.

    Raises:
        InvalidMessage: the dataset is not named, or there is no table.
    """
    problems = list(table_problems({name: content[name] for name in ("dataset",) if name in content}))
    if not content["table"] or any(isinstance(table, list) for table in content["table"]):
        problems.append("`table` is not a list of objects with a `name`")
    if problems:
        raise InvalidMessage(problems)
    parts = (json.dumps({"dataset": content["dataset"], "table": table}).encode() for table in content["table"])
    return TableHints(content["dataset"], tuple(parts))


def _table_hint(dataset: str, table: Mapping[str, Any], names: VersionedNames) -> Event:
    base, version = table["name"], table.get("version")
    if version is not None and (problems := names.problems(base, version)):
        raise InvalidMessage(problems)
    named = names.name(base, version) if version is not None and not names.by_labels else None
    excluded = names.exclusion_reason(base, named)
    reported = reported_change(table["change"]) if version is not None and "change" in table else None
    return OtherTable(named or base) if excluded else TableHint(dataset, base, version, reported=reported)


def _audit_entry(payload: Any, names_in: NamesIn) -> Event:
    # BigQueryAuditMetadata: `metadata` has a key for the kind of the change, `resourceName` names the table.
    metadata = payload.get("metadata") if isinstance(payload, dict) else None
    if not isinstance(metadata, dict) or not metadata.keys() & {"tableCreation", "tableChange", "tableDeletion"}:
        raise InvalidMessage("the audit log entry is not about a table that was created, changed or deleted")
    resource = payload.get("resourceName")
    match = _RESOURCE.fullmatch(resource) if isinstance(resource, str) else None
    if not match:
        raise InvalidMessage("the audit log entry's resourceName is not projects/P/datasets/D/tables/T")
    names = names_in(match["dataset"])
    if names.by_labels and "tableDeletion" in metadata and not match["table"].startswith(LEAF_PREFIX):
        # The entry of a deletion has no labels, so that it does not tell whose version the table was.
        return DatasetHint(match["dataset"], match["project"])
    split = names.resolved({match["table"]: _labels(metadata)}).split(match["table"])
    if _is_view(metadata) or match["table"].startswith((TEMPORARY_PREFIX, LEAF_PREFIX)):
        return OtherTable(match["table"])
    if not split:
        return _plain_hint(match, is_deletion="tableDeletion" in metadata)
    base, version = split
    named = (("project", match["project"]), ("dataset", match["dataset"]), ("table", base), ("version", version))
    problems = [problem for kind, name in named for problem in problems_of_name(kind, name)]
    if problems:
        raise InvalidMessage(problems)
    # The hint names a version only for a new table: a view that already reads the version is up to date then, but not after
    # ALTER TABLE or DROP TABLE.
    return TableHint(match["dataset"], base, version if "tableCreation" in metadata else None, match["project"])


def _plain_hint(resource: re.Match[str], is_deletion: bool) -> Event:
    """Return a hint about a table that is no version; no hint about one whose name SQL does not take."""
    project, dataset, table = resource["project"], resource["dataset"], resource["table"]
    is_usable = not problems_of_name("dataset", dataset) and not problems_of_name("table", table)
    return PlainHint(dataset, table, project, is_deletion) if is_usable else OtherTable(table)


def _labels(metadata: Mapping[str, Any]) -> Mapping[str, str]:
    # BigQueryAuditMetadata.Table has the labels in `tableInfo`.
    written = metadata.get("tableCreation", metadata.get("tableChange"))
    table = written.get("table") if isinstance(written, dict) else None
    info = table.get("tableInfo") if isinstance(table, dict) else None
    labels = info.get("labels") if isinstance(info, dict) else None
    return {key: value for key, value in labels.items() if isinstance(value, str)} if isinstance(labels, dict) else {}


def _is_view(metadata: Mapping[str, Any]) -> bool:
    # The entry of a creation or a change has the query of a view. The entry of a deletion does not, so after the deletion of
    # a view the versions are read in vain.
    written = metadata.get("tableCreation", metadata.get("tableChange"))
    table = written.get("table") if isinstance(written, dict) else None
    return isinstance(table, dict) and bool(table.get("view") or table.get("materializedView"))
