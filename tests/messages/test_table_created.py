"""A message has one of the known forms, or is refused with all problems."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from support.in_memory import audit_entry, event_body, push_body

from onefold.core.errors import InvalidMessage
from onefold.messages.envelope import read_delivery
from onefold.messages.table_created import DatasetHint, Event, OtherTable, PlainHint, TableHint, parse_event, table_message

MESSAGE = table_message("shop", "customer", "abc")


def event_in_base64(data: bytes) -> bytes:
    return event_body(data, in_base64=True)


@pytest.mark.parametrize("envelope", [push_body, event_body, event_in_base64])
@pytest.mark.parametrize("data", [MESSAGE, b"\x00\xff not text", "grün".encode()])
def test_every_envelope_gives_the_bytes_that_were_published(envelope: Callable[[bytes], bytes], data: bytes) -> None:
    delivery = read_delivery(envelope(data))
    assert (delivery.data, delivery.id) == (data, "1234")


@pytest.mark.parametrize("identifier", [None, 5, "", "x" * 10_000, "a b", "\ud800", ["1"]])
def test_an_invalid_identifier_is_left_out(identifier: object) -> None:
    body = json.dumps({"message": {"data": "YQ==", "messageId": identifier}}).encode()
    assert read_delivery(body).id is None


@pytest.mark.parametrize(
    ("text", "published"),
    [
        ("2026-01-02T03:04:05.678Z", datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)),
        ("2026-01-02T03:04:05+01:00", datetime(2026, 1, 2, 2, 4, 5, tzinfo=UTC)),
        ("2026-01-02T03:04:05", None),
        ("yesterday", None),
        (5, None),
        (None, None),
    ],
)
def test_a_message_tells_when_it_was_published(text: object, published: datetime | None) -> None:
    body = json.dumps({"message": {"data": "YQ==", "messageId": "1", "publishTime": text}}).encode()
    assert read_delivery(body).published == published


def structured(**content: Any) -> bytes:
    return json.dumps({"specversion": "1.0", **content}).encode()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "the request's body is not JSON, or nested too deep"),
        (b"hello", "the request's body is not JSON, or nested too deep"),
        (b"\xff\xfe\xfd", "the request's body is not JSON, or nested too deep"),
        (b"[" * 100_000, "the request's body is not JSON, or nested too deep"),
        (b"9" * 5_000, "the request's body is not JSON, or nested too deep"),
        (b"[]", "the request's body is not a JSON object"),
        (b"null", "the request's body is not a JSON object"),
        (b"{}", "the request holds no Pub/Sub message: a JSON object `message` is missing"),
        (b'{"message": "text"}', "the request holds no Pub/Sub message: a JSON object `message` is missing"),
        (b'{"message": {}}', "the Pub/Sub message has no data"),
        (b'{"message": {"attributes": {"dataset": "shop"}}}', "the Pub/Sub message has no data"),
        (b'{"message": {"data": ""}}', "the Pub/Sub message has no data"),
        (b'{"message": {"data": 5}}', "the Pub/Sub message has no data"),
        (b'{"message": {"data": "not base64!"}}', "the data of the message is not base64"),
        (b'{"message": {"data": "YWI"}}', "the data of the message is not base64"),
        ('{"message": {"data": "grün"}}'.encode(), "the data of the message is not base64"),
        (structured(), "the CloudEvent's data is not a JSON object"),
        (structured(data="text"), "the CloudEvent's data is not a JSON object"),
        (structured(data_base64="!"), "the data of the message is not base64"),
        (structured(data_base64="YWI="), "the CloudEvent's data is not JSON, or nested too deep"),
        (structured(data={}), "the request holds no Pub/Sub message: a JSON object `message` is missing"),
    ],
)
def test_a_body_without_a_message_is_refused_with_the_reason(body: bytes, reason: str) -> None:
    with pytest.raises(InvalidMessage) as refused:
        read_delivery(body)
    assert refused.value.problems == (reason,)


@pytest.mark.parametrize(
    ("content", "event"),
    [
        ({"dataset": "shop", "table": {"name": "customer", "version": "abc"}}, TableHint("shop", "customer", "abc")),
        ({"dataset": "shop", "table": {"name": "customer", "version": None}}, TableHint("shop", "customer")),
        ({"dataset": "shop", "table": {"name": "customer"}}, TableHint("shop", "customer")),
        ({"dataset": "shop", "table": {"name": "customer"}, "by": "a capture"}, TableHint("shop", "customer")),
        ({"dataset": "shop", "table": {"name": "größe-2"}}, TableHint("shop", "größe-2")),
        ({"dataset": "shop"}, DatasetHint("shop")),
    ],
)
def test_the_published_form_is_parsed(content: dict[str, Any], event: Event) -> None:
    assert parse_event(json.dumps(content).encode()) == event


@pytest.mark.parametrize("version", ["abc", None])
def test_a_written_message_is_parsed_to_the_same_hint(version: str | None) -> None:
    assert parse_event(table_message("shop", "customer", version)) == TableHint("shop", "customer", version)


@pytest.mark.parametrize(
    ("entry", "event"),
    [
        (audit_entry("customer_v_abc"), TableHint("shop", "customer", "abc", "my-project")),
        (audit_entry("customer_v_abc", project="other"), TableHint("shop", "customer", "abc", "other")),
        (audit_entry("customer_v_abc", "tableDeletion"), TableHint("shop", "customer", None, "my-project")),
        (audit_entry("customer_v_abc", "tableChange"), TableHint("shop", "customer", None, "my-project")),
        (audit_entry("customer_v_abc", "tableChange", view=True), OtherTable("customer_v_abc")),
        (audit_entry("orders", "tableChange"), PlainHint("shop", "orders", "my-project")),
        (audit_entry("orders", project="other"), PlainHint("shop", "orders", "other")),
        (audit_entry("orders", "tableDeletion"), PlainHint("shop", "orders", "my-project", is_gone=True)),
        (audit_entry("orders", view=True), OtherTable("orders")),
        (audit_entry("onefold_tmp_copy_orders_base"), OtherTable("onefold_tmp_copy_orders_base")),
        (audit_entry("customer_vip_v_abc"), TableHint("shop", "customer_vip", "abc", "my-project")),
        (audit_entry("customer_v_abc", view=True), OtherTable("customer_v_abc")),
        (audit_entry("customer_v_backup_old"), PlainHint("shop", "customer_v_backup_old", "my-project")),
        (audit_entry("a table with spaces"), OtherTable("a table with spaces")),
        (audit_entry("a table with spaces", "tableDeletion"), OtherTable("a table with spaces")),
    ],
)
def test_audit_log_entries_are_parsed(entry: bytes, event: Event) -> None:
    assert parse_event(entry) == event


NO_NAME = "is not a valid name: use letters, digits and underscores"
NO_TABLE_NAME = "is not a valid name: use letters, digits, underscores and hyphens"
NO_VERSION = "is not a valid name: use letters, digits, underscores and hyphens"


@pytest.mark.parametrize(
    ("data", "problems"),
    [
        (b"", ["the message is not JSON, or nested too deep"]),
        (b'{"dataset": "shop"', ["the message is not JSON, or nested too deep"]),
        (b'"shop"', ["the message is not a JSON object"]),
        (b"{}", ["the message names no `dataset`"]),
        (b'{"dataset": null}', ["the dataset is not a text"]),
        (b'{"dataset": ""}', [f"dataset '' {NO_NAME}"]),
        (b'{"dataset": "shop.crm"}', [f"dataset 'shop.crm' {NO_NAME}"]),
        (b'{"dataset": "shop", "table": null}', ["`table` is not an object with a `name`"]),
        (b'{"dataset": "shop", "table": "customer"}', ["`table` is not an object with a `name`"]),
        (b'{"dataset": "shop", "table": {}}', ["`table` has no `name`"]),
        (b'{"dataset": "shop", "table": {"name": NaN}}', ["the table is not a text"]),
        (b'{"dataset": "shop", "table": {"name": "a", "version": 123}}', ["the version is not a text"]),
        (b'{"dataset": "shop", "table": {"name": "a", "version": ""}}', [f"version '' {NO_VERSION}"]),
        (b'{"dataset": "shop", "table": {"name": "a", "version": "a.b"}}', [f"version 'a.b' {NO_VERSION}"]),
        (b'{"dataset": "shop", "table": {"name": "a", "version": "a\\n"}}', [rf"version 'a\n' {NO_VERSION}"]),
        (
            b'{"dataset": "../shop", "table": {"name": "a`; DROP TABLE b", "version": "\'"}}',
            [f"dataset '../shop' {NO_NAME}", f"table 'a`; DROP TABLE b' {NO_TABLE_NAME}", f'version "\'" {NO_VERSION}'],
        ),
        (
            b'{"table": {"version": []}}',
            ["the message names no `dataset`", "`table` has no `name`", "the version is not a text"],
        ),
        (b'{"protoPayload": null}', ["the audit log entry is not about a table that was created, changed or deleted"]),
        (
            b'{"protoPayload": {"metadata": {"jobChange": {}}}}',
            ["the audit log entry is not about a table that was created, changed or deleted"],
        ),
        (
            b'{"protoPayload": {"metadata": {"tableCreation": {}}}}',
            ["the audit log entry's resourceName is not projects/P/datasets/D/tables/T"],
        ),
        (
            b'{"protoPayload": {"metadata": {"tableCreation": 1}, "resourceName": "projects/A/datasets/b`/tables/c_v_d"}}',
            ["project 'A' is not a valid name: use lower-case letters, digits and hyphens", f"dataset 'b`' {NO_NAME}"],
        ),
        (audit_entry("a" * 1_025), ["the audit log entry's resourceName is not projects/P/datasets/D/tables/T"]),
    ],
)
def test_an_invalid_message_is_refused_with_all_problems(data: bytes, problems: list[str]) -> None:
    with pytest.raises(InvalidMessage) as refused:
        parse_event(data)
    assert list(refused.value.problems) == problems


@pytest.mark.parametrize("depth", [10, 200, *range(900, 1000, 3)])
def test_deep_nesting_is_refused_and_exhausts_no_stack(depth: int) -> None:
    nested = "[" * depth + "]" * depth
    for form in ('{"dataset": %s}', '{"dataset": "shop", "table": {"name": %s}}', '{"protoPayload": {"metadata": %s}}'):
        with pytest.raises(InvalidMessage):
            parse_event((form % nested).encode())


def test_a_hostile_name_does_not_flood_the_log() -> None:
    with pytest.raises(InvalidMessage) as refused:
        parse_event(json.dumps({"dataset": "`" * 1_000_000}).encode())
    assert len(str(refused.value)) < 200


def test_the_last_of_duplicate_keys_is_used_and_checked() -> None:
    assert parse_event(b'{"dataset": "a`", "dataset": "shop"}') == DatasetHint("shop")
    with pytest.raises(InvalidMessage):
        parse_event(b'{"dataset": "shop", "dataset": "a`"}')


def test_base64_of_a_message_at_the_size_limit_is_read() -> None:
    data = b"x" * 10_000_000
    body = b'{"message": {"data": "' + base64.b64encode(data) + b'"}}'
    assert read_delivery(body).data == data
