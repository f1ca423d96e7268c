"""Changes of a schema: the handler publishes each with its severity, and logs a part of a long list."""

from __future__ import annotations

import json
from typing import Any

from support.fake_bigquery import FakeBigQuery
from support.in_memory import ABC, DEF, push_body
from support.memory_handler import MESSAGE, MemoryHandler

from onefold.messages.table_created import table_message
from onefold.views.handler_log import MAX_LOGGED_CHANGES


def changes(handler: MemoryHandler) -> list[dict[str, Any]]:
    return [json.loads(message.data) for message in handler.published("schema-changes")]


def test_every_change_of_a_schema_is_published_with_its_severity(handler: MemoryHandler) -> None:
    handler.cloud = FakeBigQuery()
    handler.cloud.land("customer_v_abc", {"id": "INT64", "name": "STRING"})
    handler.handle(MESSAGE)
    handler.cloud.land("customer_v_def", {"id": "STRING", "email": "STRING"})
    handler.handle(push_body(table_message("shop", "customer", "def")))
    first, second = changes(handler)
    assert (first["severity"], first["changes"][0]["kind"]) == ("INFO", "view created")
    assert (second["dataset"], second["table"], second["severity"]) == ("shop", "customer", "CRITICAL")
    assert (second["view"], second["versions"]) == ("my-project.shop.customer_unified", ["abc", "def"])
    assert second["changes"] == [
        {"kind": "retyped", "path": "id", "severity": "CRITICAL", "old": "INT64", "new": "STRING"},
        {"kind": "added", "path": "email", "severity": "INFO", "old": None, "new": "STRING"},
    ]
    attributes = [message.attributes for message in handler.published("schema-changes")]
    assert attributes[1] == {"severity": "CRITICAL", "dataset": "shop", "table": "customer"}


def test_a_version_that_changes_no_column_is_no_change_of_the_schema(handler: MemoryHandler) -> None:
    handler.cloud.drop("customer_v_def")
    handler.handle(MESSAGE)
    handler.cloud.land("customer_v_fed", ABC)
    handler.handle(push_body(table_message("shop", "customer", "fed")))
    assert len(changes(handler)) == 1


def test_a_change_that_is_announced_again_has_the_same_identifier(handler: MemoryHandler) -> None:
    """The process dies between the announcement and the write: the change is announced at least once."""
    for _ in range(2):
        handler.handle(MESSAGE)
        handler.cloud.drop("customer_unified")
    assert len({change["id"] for change in changes(handler)}) == 1


def test_a_change_and_its_reversal_have_different_identifiers(handler: MemoryHandler) -> None:
    handler.handle(MESSAGE)
    handler.cloud.drop("customer_v_def")
    handler.handle(push_body(table_message("shop", "customer")))
    handler.cloud.land("customer_v_def", DEF)
    handler.handle(push_body(table_message("shop", "customer")))
    assert len({change["id"] for change in changes(handler)}) == 3


def test_a_log_line_stays_within_the_limit_of_cloud_logging(handler: MemoryHandler) -> None:
    handler.cloud.drop("customer_v_def")
    handler.handle(MESSAGE)
    handler.lines()
    handler.cloud.land("customer_v_a1de", {f"{'column' * 17}_{n}": "STRING" for n in range(1_000)})
    handler.handle(push_body(table_message("shop", "customer", "a1de")))
    line = handler.line()
    assert (line["changes_count"], line["changes_severity"]) == (1_000, "INFO")
    assert len(json.dumps(line)) < 256_000
    assert len(line["changes"]) == MAX_LOGGED_CHANGES
    assert len(changes(handler)[1]["changes"]) == 1_000


def test_the_highest_severity_is_that_of_all_changes_and_not_of_those_that_are_logged(handler: MemoryHandler) -> None:
    """Changes come in the order of the columns: the one that breaks may be the last."""
    handler.cloud = FakeBigQuery()
    columns = {f"c{n:03}": "INT64" for n in range(MAX_LOGGED_CHANGES + 1)}
    handler.cloud.land("customer_v_abc", columns)
    handler.handle(MESSAGE)
    handler.lines()
    last = max(columns)
    handler.cloud.land("customer_v_def", {**dict.fromkeys(columns, "NUMERIC"), last: "STRING"})
    handler.handle(push_body(table_message("shop", "customer", "def")))
    line = handler.line()
    assert {change["severity"] for change in line["changes"]} == {"WARNING"}
    assert line["changes_severity"] == changes(handler)[1]["severity"] == "CRITICAL"
