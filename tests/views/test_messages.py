"""The handler of messages about new tables: returning acknowledges a message, raising has it delivered again."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from support.in_memory import ABC, audit_entry, push_body
from support.memory_handler import MESSAGE, SETTINGS, MemoryHandler

from onefold.core.errors import TryAgain, ViewChanged
from onefold.core.retry import Backoff
from onefold.messages.table_created import table_message

VIEW = "customer_unified"


def test_a_new_version_creates_the_view_and_logs_one_line(handler: MemoryHandler) -> None:
    handler.handle(MESSAGE)
    assert handler.cloud.resource(VIEW)["view"]["query"].count("UNION ALL") == 1
    line = handler.line()
    milliseconds = line.pop("milliseconds")
    assert isinstance(milliseconds, int)
    assert line == {
        "severity": "NOTICE",
        "message": "shop.customer: view created",
        "event": "refreshed",
        "message_id": "1234",
        "dataset": "shop",
        "table": "customer",
        "version": "abc",
        "action": "create",
        "shortcut": False,
        "versions": 2,
        "form": "spelled",
        "changes": [{"kind": "view created", "path": "", "severity": "INFO", "old": None, "new": None}],
        "changes_count": 1,
        "changes_severity": "INFO",
        "warnings": [],
        "calls": 3,
    }


def test_a_message_that_comes_twice_costs_two_calls(handler: MemoryHandler) -> None:
    handler.handle(MESSAGE)
    handler.lines()
    handler.handle(MESSAGE)
    line = handler.line()
    assert (line["severity"], line["shortcut"], line["calls"]) == ("INFO", True, 2)
    assert "changes_severity" not in line, "nothing changed"


def test_without_a_version_the_view_is_computed_without_the_shortcut(handler: MemoryHandler) -> None:
    handler.handle(MESSAGE)
    handler.lines()
    handler.handle(push_body(table_message("shop", "customer")))
    line = handler.line()
    assert (line["action"], line["shortcut"], line["calls"]) == ("none", False, 2)


@pytest.mark.parametrize(
    ("data", "event"),
    [
        (table_message("shop", "customer", "0dd"), "refreshed"),
        (table_message("shop", "supplier", "abc"), "nothing_found"),
        (audit_entry("customer_v_abc"), "refreshed"),
        (audit_entry("customer_v_01d", "tableDeletion"), "refreshed"),
        (audit_entry("supplier_v_01d", "tableDeletion"), "nothing_found"),
        (audit_entry("customer_v_abc", view=True), "ignored"),
        (audit_entry("customer_unified"), "ignored"),
    ],
)
def test_a_message_that_needs_no_work_is_acknowledged_and_not_dead_lettered(
    handler: MemoryHandler, data: bytes, event: str
) -> None:
    handler.handle(push_body(data))
    assert handler.line()["event"] == event
    assert not handler.published("dead-letter")


def test_a_missing_dataset_is_final(handler: MemoryHandler) -> None:
    handler.settings = replace(SETTINGS, datasets=None)
    handler.handle(push_body(table_message("nowhere", "customer", "abc")))
    assert handler.line()["event"] == "nothing_found"


@pytest.mark.parametrize("topic", ["schema-changes", "dead-letter", "table-created"])
def test_a_temporary_error_of_a_topic_is_raised(handler: MemoryHandler, topic: str) -> None:
    handler.publisher.errors[topic] = TryAgain("unavailable")
    bodies = {"schema-changes": MESSAGE, "dead-letter": b"rubbish", "table-created": push_body(b'{"dataset": "shop"}')}
    with pytest.raises(TryAgain):
        handler.handle(bodies[topic])
    assert handler.lines()[-1]["event"] == "try_again"


def test_a_temporary_error_of_the_warehouse_is_raised_and_logged(handler: MemoryHandler) -> None:
    handler.cloud.break_off("get", TryAgain("rateLimitExceeded"))
    with pytest.raises(TryAgain):
        handler.handle(MESSAGE)
    line = handler.line()
    assert (line["severity"], line["event"], line["reason"]) == ("WARNING", "try_again", "rateLimitExceeded")
    assert not handler.published("dead-letter")


def test_a_table_that_the_metadata_do_not_show_yet_raises(handler: MemoryHandler) -> None:
    handler.cloud.hidden.add("customer_v_abc")
    with pytest.raises(TryAgain, match="do not show it yet"):
        handler.handle(MESSAGE)


def test_a_view_that_others_write_during_every_try_raises(handler: MemoryHandler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    monkeypatch.setattr("onefold.core.retry.CONFLICT_BACKOFF", Backoff(first=0.0, longest=0.0))
    handler.cloud.break_off("get", ViewChanged("again"), times=100)
    with pytest.raises(TryAgain, match="others wrote it"):
        handler.handle(MESSAGE)


def test_a_bug_raises_and_logs_one_line_with_the_traceback(handler: MemoryHandler) -> None:
    handler.cloud.break_off("get", ZeroDivisionError("a bug"))
    with pytest.raises(ZeroDivisionError):
        handler.handle(MESSAGE)
    line = handler.line()
    assert (line["severity"], line["event"]) == ("CRITICAL", "failed")
    assert line["stack_trace"].startswith("Traceback")


def test_a_message_about_a_dataset_becomes_one_message_per_table(handler: MemoryHandler) -> None:
    for name in ("supplier_v_1", "supplier_v_2", "customer_v_backup_old", "plain"):
        handler.cloud.land(name, ABC)
    handler.cloud.land("person_v_1", ABC, "crm")
    handler.handle(push_body(b'{"dataset": "shop"}'))
    assert [json.loads(message.data) for message in handler.published("table-created")] == [
        {"dataset": "shop", "table": {"name": "customer"}},
        {"dataset": "shop", "table": {"name": "supplier"}},
    ]
    line = handler.line()
    assert (line["event"], line["dataset"], line["tables"]) == ("fan_out", "shop", 2)


def test_a_message_about_a_dataset_needs_a_topic_to_fan_out_to(handler: MemoryHandler) -> None:
    handler.settings = replace(SETTINGS, topic_table_created=None)
    handler.handle(push_body(b'{"dataset": "shop"}'))
    assert "ONEFOLD_TOPIC_TABLE_CREATED" in handler.line()["reason"]
