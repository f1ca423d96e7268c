"""The messages of the topic `change-records`: rows of one version of a table, or the address of an object with the rows.

    {"dataset": "shop", "table": {"name": "customer", "version": "5b6ffe5fb"}, "records": [record, ...]}
    {"dataset": "shop", "table": {"name": "customer", "version": "5b6ffe5fb"}, "records_at": "gs://bucket/name"}

The object holds a message of the first form.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from onefold.core.errors import InvalidMessage
from onefold.core.text import shortened, shown_list
from onefold.core.versioned_names import DEFAULT_NAMES, NamesIn, VersionedNames, default_names
from onefold.messages.envelope import json_object, table_problems

_KEYS = frozenset({"dataset", "table", "records", "records_at"})
_MAX_ADDRESS = 1_100
"""Cloud Storage allows 1,024 bytes for the name of an object; the bucket comes before it."""


@dataclass(frozen=True)
class ChangeMessage:
    """A message with either `records`, which are checked one by one, or the address of the object that holds them."""

    dataset: str
    table: str
    version: str
    records: tuple[Any, ...] = ()
    records_at: str | None = None
    names: VersionedNames = field(default=DEFAULT_NAMES, repr=False)

    @property
    def versioned_table(self) -> str:
        """The name of the table of the version."""
        return self.names.name(self.table, self.version)


def parse_change_message(data: bytes, names_in: NamesIn = default_names) -> ChangeMessage:
    """Parse and check a message; only its records are not checked yet.

    Args:
        data: the bytes of the message.
        names_in: the naming of the versioned tables, by dataset.

    Examples:
        >>> parse_change_message(change_message("shop", "customer", "abc", [{}])).versioned_table
        'customer_v_abc'

    Raises:
        InvalidMessage: the message is not valid; the error lists all problems.
    """
    content = json_object(data, "the message")
    problems = [*_table_problems(content), *_records_problems(content)]
    if problems:
        raise InvalidMessage(problems)
    table, names = content["table"], names_in(content["dataset"])
    if names.by_labels:
        raise InvalidMessage(
            f"dataset {content['dataset']} finds versions by labels (version_pattern of onefold.yaml), and rows of "
            "messages land in tables that are named after their version: write them into another dataset"
        )
    if problems := names.problems(table["name"], table["version"]):
        raise InvalidMessage(problems)
    records = tuple(content.get("records", ()))
    return ChangeMessage(content["dataset"], table["name"], table["version"], records, content.get("records_at"), names)


def parse_stored_message(data: bytes, message: ChangeMessage) -> ChangeMessage:
    """Parse and check the object to which a message refers.

    Args:
        data: the content of the object.
        message: the message that names the object.

    Raises:
        InvalidMessage: the object is not a message with records of the same table.
    """
    stored = parse_change_message(data, lambda _: message.names)
    is_same_table = (stored.dataset, stored.table, stored.version) == (message.dataset, message.table, message.version)
    if stored.records_at or not is_same_table:
        raise InvalidMessage(f"{message.records_at} does not hold records of {message.dataset}.{message.versioned_table}")
    return stored


def change_message(dataset: str, table: str, version: str, records: Sequence[Any]) -> bytes:
    """Return a message of records.

    Args:
        dataset: the dataset of the versioned table.
        table: the base name.
        version: the version of all records.
        records: the records, as JSON values.
    """
    content = {"dataset": dataset, "table": {"name": table, "version": version}, "records": list(records)}
    return json.dumps(content, separators=(",", ":")).encode()


def _table_problems(content: Mapping[str, Any]) -> Iterator[str]:
    yield from table_problems(content)
    if "table" not in content:
        yield "the message names no `table`"
    elif isinstance(content["table"], dict) and content["table"].get("version") is None:
        yield "`table` has no `version`"
    if unknown := sorted(content.keys() - _KEYS):
        yield f"{shown_list(map(shortened, unknown))}: not known; a message has {', '.join(sorted(_KEYS))}"


def _records_problems(content: Mapping[str, Any]) -> Iterator[str]:
    if ("records" in content) == ("records_at" in content):
        yield "the message has to hold either `records` or `records_at`"
    elif "records" in content:
        if not isinstance(content["records"], list) or not content["records"]:
            yield "`records` is not a list of records"
    else:
        yield from _address_problems(content["records_at"])


def _address_problems(address: object) -> Iterator[str]:
    if not isinstance(address, str):
        yield "`records_at` is not a text"
    elif not _is_object(address):
        yield "`records_at` is neither gs://bucket/name nor, on a laptop, file:///folder/name"


def _is_object(address: str) -> bool:
    """Return whether an address names an object or a file, without segments that lead out of a folder."""
    scheme, _, rest = address.partition("://")
    bucket, *names = (unquote(rest) if scheme == "file" else rest).split("/")
    is_plain = address.isprintable() and len(address) <= _MAX_ADDRESS and not {"", ".", ".."} & set(names)
    return is_plain and bool(names) and ((scheme == "gs" and bucket != "") or (scheme == "file" and bucket == ""))


MAX_MESSAGE_BYTES = 400_000
"""The size above which capture begins another message."""
_TAIL = b"]}"
# One encoder for all records: json.dumps with options makes a new one at each call.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


def encode_record(record: Mapping[str, Any]) -> bytes:
    """Return a record in the form in which messages hold it.

    Examples:
        >>> encode_record({"id": 1})
        b'{"id":1}'
    """
    return _encode(record).encode()


def message_head(dataset: str, table: str, version: str) -> bytes:
    """Return the beginning of every message of a version, up to its first record.

    Args:
        dataset: the dataset of the versioned table.
        table: the base name.
        version: the version.

    Examples:
        >>> message_head("shop", "customer", "abc")
        b'{"dataset":"shop","table":{"name":"customer","version":"abc"},"records":['
    """
    # Messages are put together from encoded records, so that no record is encoded twice.
    body = {"dataset": dataset, "table": {"name": table, "version": version}}
    return encode_record(body)[:-1] + b',"records":['


def reference_message(head: bytes, address: str) -> bytes:
    """Return the message that takes the place of one that is too large for Pub/Sub.

    Args:
        head: the head of the large message, as `message_head` returns it.
        address: the address at which the large message is stored.
    """
    return head.removesuffix(b'"records":[') + b'"records_at":' + _encode(address).encode() + b"}"
