"""The messages of the topic `change-records`: rows of many tables, of one table, or the address of an object with the rows.

    {"dataset": "shop", "records": [record, ...]}
    {"dataset": "shop", "table": {"name": "customer", "version": "5b6ffe5fb"}, "records": [record, ...]}
    {"dataset": "shop", "table": {"name": "customer", "version": "5b6ffe5fb"}, "records_at": "gs://bucket/name"}

In the first form the metadata of each record name its table and version. The object holds a message of the second form.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from onefold.core.errors import InvalidMessage
from onefold.core.text import shortened, shown_list
from onefold.core.versioned_names import DEFAULT_NAMES, NamesIn, VersionedNames, default_names
from onefold.messages.envelope import json_object, table_problems

TOPIC = "change-records"
"""The topic where ONEFOLD_TOPIC_CHANGE_RECORDS names no other one."""
_KEYS = frozenset({"dataset", "table", "records", "records_at"})
VERSION_FIELDS = ("table_name", "table_version")
"""The fields of a record's metadata that name its table and its version."""
_MAX_ADDRESS = 1_100
"""Cloud Storage allows 1,024 bytes for the name of an object; the bucket comes before it."""


@dataclass(frozen=True)
class ChangeMessage:
    """Rows of one version: either `records`, which are checked one by one, or the address of the object that holds them."""

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


@dataclass(frozen=True)
class ChangeMessages:
    """What one message of the topic holds.

    Attributes:
        dataset: the dataset of all its tables.
        tables: its rows by version, in the order in which they come first.
        unnamed: records that name no version, and why not.
    """

    dataset: str
    tables: tuple[ChangeMessage, ...] = ()
    unnamed: tuple[tuple[Any, str], ...] = ()


def parse_change_messages(data: bytes, names_in: NamesIn = default_names) -> ChangeMessages:
    """Parse and check a message of any form; only its records are not checked yet.

    Args:
        data: the bytes of the message.
        names_in: the naming of the versioned tables, by dataset.

    Examples:
        >>> records = [{"metadata": {"table_name": name, "table_version": "abc"}} for name in ("customer", "orders")]
        >>> found = parse_change_messages(message_of_tables("shop", map(encode_record, records)))
        >>> [table.versioned_table for table in found.tables]
        ['customer_v_abc', 'orders_v_abc']

    Raises:
        InvalidMessage: the message is not valid; the error lists all problems.
    """
    content = json_object(data, "the message")
    if "table" in content or "records_at" in content:
        message = parse_change_message(data, names_in)
        return ChangeMessages(message.dataset, (message,))
    problems = [*table_problems(content), *_unknown_keys(content), *_records_problems(content)]
    if problems:
        raise InvalidMessage(problems)
    return _by_version(content["dataset"], content["records"], _usable_names(content["dataset"], names_in))


def _by_version(dataset: str, records: Sequence[Any], names: VersionedNames) -> ChangeMessages:
    groups: dict[tuple[str, str] | None, list[Any]] = {}
    for record in records:
        groups.setdefault(_version_of(record), []).append(record)
    tables: list[ChangeMessage] = []
    unnamed: list[tuple[Any, str]] = []
    for version, some in groups.items():
        problem = _version_problem(dataset, version, names)
        if version is None or problem:
            unnamed += [(record, problem) for record in some]
        else:
            tables.append(ChangeMessage(dataset, *version, records=tuple(some), names=names))
    return ChangeMessages(dataset, tuple(tables), tuple(unnamed))


def _version_of(record: Any) -> tuple[str, str] | None:
    """Return the table and the version that a record names; None where it does not name both."""
    metadata = record.get("metadata") if isinstance(record, dict) else None
    table, version = (metadata.get(name) if isinstance(metadata, dict) else None for name in VERSION_FIELDS)
    return (table, version) if isinstance(table, str) and isinstance(version, str) else None


def _version_problem(dataset: str, version: tuple[str, str] | None, names: VersionedNames) -> str:
    if version is None:
        return f"metadata: expected texts as {' and '.join(VERSION_FIELDS)}, which name the table of the record"
    named = {"dataset": dataset, "table": {"name": version[0], "version": version[1]}}
    return "; ".join(table_problems(named)) or "; ".join(names.problems(*version))


def _usable_names(dataset: str, names_in: NamesIn) -> VersionedNames:
    """Return the naming of a dataset.

    Raises:
        InvalidMessage: names do not tell the versions of the dataset.
    """
    names = names_in(dataset)
    if names.by_labels:
        raise InvalidMessage(
            f"dataset {dataset} finds versions by labels (version_pattern of onefold.yaml), and rows of "
            "messages land in tables that are named after their version: write them into another dataset"
        )
    return names


def parse_change_message(data: bytes, names_in: NamesIn = default_names) -> ChangeMessage:
    """Parse and check a message about one table; only its records are not checked yet.

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
    table, names = content["table"], _usable_names(content["dataset"], names_in)
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
    """Return a message of records of one table.

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
    yield from _unknown_keys(content)


def _unknown_keys(content: Mapping[str, Any]) -> Iterator[str]:
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
_RECORDS = b',"records":['
TAIL = b"]}"
"""The end of every message of records."""
# One encoder for all records: json.dumps with options makes a new one at each call.
message_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode
"""Returns a value as the JSON text of messages."""


def encode_record(record: Mapping[str, Any]) -> bytes:
    """Return a record in the form in which messages hold it.

    Examples:
        >>> encode_record({"id": 1})
        b'{"id":1}'
    """
    return message_json(record).encode()


def head_of_tables(dataset: str) -> bytes:
    """Return the beginning of every message with rows of many tables, up to its first record.

    Examples:
        >>> head_of_tables("shop")
        b'{"dataset":"shop","records":['
    """
    # Messages are put together from encoded records, so that no record is encoded twice.
    return encode_record({"dataset": dataset})[:-1] + _RECORDS


def message_of_tables(dataset: str, records: Iterable[bytes]) -> bytes:
    """Return a message with rows of many tables.

    Args:
        dataset: the dataset of their versioned tables.
        records: encoded records, each of which names its table and version.
    """
    return head_of_tables(dataset) + b",".join(records) + TAIL


def message_head(dataset: str, table: str, version: str) -> bytes:
    """Return the beginning of every message with rows of one version, up to its first record.

    Args:
        dataset: the dataset of the versioned table.
        table: the base name.
        version: the version.

    Examples:
        >>> message_head("shop", "customer", "abc")
        b'{"dataset":"shop","table":{"name":"customer","version":"abc"},"records":['
    """
    body = {"dataset": dataset, "table": {"name": table, "version": version}}
    return encode_record(body)[:-1] + _RECORDS


def reference_message(head: bytes, address: str) -> bytes:
    """Return the message that takes the place of one that is too large for Pub/Sub.

    Args:
        head: the head of the large message, as `message_head` returns it.
        address: the address at which the large message is stored.
    """
    return head.removesuffix(_RECORDS[1:]) + b'"records_at":' + message_json(address).encode() + b"}"
