"""What may come in: an HTTP request that carries a Pub/Sub message, and what the message says.

Pure functions from bytes to values. Whatever is not one of the known forms raises InvalidMessage with every fault;
nothing that comes out of here holds a name that may not meet SQL.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from onefold.batches.arguments import PARSERS, command_line
from onefold.core.errors import InvalidInput, InvalidMessage
from onefold.core.names import faults_of_name
from onefold.core.versioned_names import NamesIn, VersionedNames, default_names

_RESOURCE = re.compile(r"projects/(?P<project>[^/]+)/datasets/(?P<dataset>[^/]+)/tables/(?P<table>[^/]{1,1024})")
MESSAGE_ID = re.compile(r"[A-Za-z0-9_-]{1,200}")
_MAX_REQUEST = 50_000
"""A request for a batch is short: what it says is told in logs, labels and an address of Dataproc's."""


@dataclass(frozen=True)
class Delivery:
    """A Pub/Sub message as it was delivered: its bytes, and the identifier that a redelivery shares."""

    data: bytes
    id: str | None = None


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


@dataclass(frozen=True)
class BatchRequest:
    """A Spark job is to run for a table, with these words as its arguments."""

    job: str
    dataset: str
    table: str
    words: tuple[str, ...] = ()


def read_delivery(body: bytes) -> Delivery:
    """The message in a request's body: a CloudEvent (binary or structured) or a plain Pub/Sub push.

    Raises:
        InvalidMessage: it is none of these.
    """
    envelope = json_object(body, "the request's body")
    if "specversion" in envelope:
        envelope = _structured_data(envelope)
    message = envelope.get("message")
    if not isinstance(message, dict):
        raise InvalidMessage("the request holds no Pub/Sub message: a JSON object `message` is missing")
    data = message.get("data")
    if not isinstance(data, str) or not data:
        raise InvalidMessage("the Pub/Sub message has no data")
    identifier = message.get("messageId")
    known = isinstance(identifier, str) and MESSAGE_ID.fullmatch(identifier)
    return Delivery(_base64(data), identifier if known else None)


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
    faults = list(table_faults(content))
    if faults:
        raise InvalidMessage(faults)
    if "table" not in content:
        return DatasetHint(content["dataset"])
    return _table_hint(content["dataset"], content["table"], names_in(content["dataset"]))


def parse_batch_request(data: bytes) -> BatchRequest:
    """What a message for `launch_batch` says: `{"job": "reconcile", "dataset": "shop", "table": {"name": "customer"},
    "arguments": {"keys": ["id"]}}`.

    Raises:
        InvalidMessage: every fault of it.
    """
    if len(data) > _MAX_REQUEST:
        raise InvalidMessage(f"a request for a batch of {len(data)} bytes is no request: it may have {_MAX_REQUEST}")
    content = json_object(data, "the message")
    faults = [*_job_faults(content.get("job")), *table_faults(content)]
    if "table" not in content:
        faults.append("the message names no `table`")
    words = _words(content.get("arguments", {}), faults)
    if faults:
        raise InvalidMessage(faults)
    return BatchRequest(content["job"], content["dataset"], content["table"]["name"], words)


def batch_message(job: str, dataset: str, table: str, arguments: Mapping[str, Any]) -> bytes:
    """A message for `launch_batch`."""
    body = {"job": job, "dataset": dataset, "table": {"name": table}, "arguments": dict(arguments)}
    return json.dumps(body).encode()


def table_message(dataset: str, table: str, version: str | None = None) -> bytes:
    """The published form of a message."""
    body = {"name": table, "version": version} if version else {"name": table}
    return json.dumps({"dataset": dataset, "table": body}).encode()


def _structured_data(envelope: dict[str, Any]) -> dict[str, Any]:
    if isinstance(envelope.get("data_base64"), str):
        return json_object(_base64(envelope["data_base64"]), "the CloudEvent's data")
    data = envelope.get("data")
    if not isinstance(data, dict):
        raise InvalidMessage("the CloudEvent's data is not a JSON object")
    return data


def table_faults(content: Mapping[str, Any]) -> Iterator[str]:
    if "dataset" not in content:
        yield "the message names no `dataset`"
    else:
        yield from _name_faults("dataset", content["dataset"])
    if "table" not in content:
        return
    table = content["table"]
    if not isinstance(table, dict):
        yield "`table` is not an object with a `name`"
        return
    yield from _name_faults("table", table["name"]) if "name" in table else ["`table` has no `name`"]
    if table.get("version") is not None:
        yield from _name_faults("version", table["version"])


def _job_faults(job: object) -> list[str]:
    known = isinstance(job, str) and job in PARSERS
    return [] if known else [f"`job` must be one of {', '.join(PARSERS)}"]


def _words(arguments: object, faults: list[str]) -> tuple[str, ...]:
    if not isinstance(arguments, dict):
        faults.append("`arguments` is not an object")
        return ()
    try:
        return tuple(command_line(arguments))
    except InvalidInput as error:
        faults += error.faults
        return ()


def _name_faults(kind: str, name: object) -> list[str]:
    # What is no text is not even shown: nested as deeply as JSON may be, it would exhaust the stack.
    return faults_of_name(kind, name) if isinstance(name, str) else [f"the {kind} is not a text"]


def _table_hint(dataset: str, table: Mapping[str, str], names: VersionedNames) -> Event:
    base, version = table["name"], table.get("version")
    if version is not None and (faults := names.faults(base, version)):
        raise InvalidMessage(faults)
    named = names.name(base, version) if version is not None else None
    left_out = names.why_left_out(base, named)
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
    faults = [fault for kind, name in named for fault in faults_of_name(kind, name)]
    if faults:
        raise InvalidMessage(faults)
    # A version is named only where a view that covers it is up to date: not after ALTER TABLE, nor after DROP TABLE.
    return TableHint(match["dataset"], base, version if "tableCreation" in metadata else None, match["project"])


def _is_view(metadata: Mapping[str, Any]) -> bool:
    """A creation and a change say so, by the view's query; a deletion costs a look at the versions that are left."""
    written = metadata.get("tableCreation", metadata.get("tableChange"))
    table = written.get("table") if isinstance(written, dict) else None
    return isinstance(table, dict) and bool(table.get("view") or table.get("materializedView"))


def json_object(data: bytes, what: str) -> dict[str, Any]:
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InvalidMessage(f"{what} is not JSON: {type(error).__name__}") from error
    if not isinstance(content, dict):
        raise InvalidMessage(f"{what} is not a JSON object")
    return content


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidMessage("the data of the message is not base64") from error
