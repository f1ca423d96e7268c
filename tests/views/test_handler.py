"""The handler of messages about new tables: returning acknowledges a message, raising has it delivered again."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from support.handler_stage import MESSAGE, SETTINGS, Stage
from support.in_memory import ABC, audit_entry, push_body

from onefold.core.errors import TryAgain, ViewChanged
from onefold.core.names import TableId
from onefold.core.retry import Backoff
from onefold.messages.table_created import table_message

VIEW = TableId("my-project", "shop", "customer_unified")


def test_a_new_version_makes_the_view_and_one_line_says_so(stage: Stage) -> None:
    stage.handle(MESSAGE)
    assert stage.warehouse.views[VIEW].query.count("UNION ALL") == 1
    line = stage.line()
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


def test_a_message_that_comes_twice_costs_two_calls(stage: Stage) -> None:
    stage.handle(MESSAGE)
    stage.lines()
    stage.handle(MESSAGE)
    line = stage.line()
    assert (line["severity"], line["shortcut"], line["calls"]) == ("INFO", True, 2)
    assert "changes_severity" not in line, "nothing changed"


def test_without_a_version_the_view_is_computed_and_not_just_looked_at(stage: Stage) -> None:
    stage.handle(MESSAGE)
    stage.lines()
    stage.handle(push_body(table_message("shop", "customer")))
    line = stage.line()
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
def test_a_message_that_needs_no_work_is_acknowledged_and_not_dead_lettered(stage: Stage, data: bytes, event: str) -> None:
    stage.handle(push_body(data))
    assert stage.line()["event"] == event
    assert not stage.published("dead-letter")


def test_a_dataset_that_is_not_there_is_final(stage: Stage) -> None:
    stage.settings = replace(SETTINGS, datasets=None)
    stage.handle(push_body(table_message("nowhere", "customer", "abc")))
    assert stage.line()["event"] == "nothing_found"


@pytest.mark.parametrize("topic", ["schema-changes", "dead-letter", "table-created"])
def test_an_error_of_a_topic_that_may_pass_is_raised(stage: Stage, topic: str) -> None:
    stage.publisher.trouble[topic] = TryAgain("unavailable")
    bodies = {"schema-changes": MESSAGE, "dead-letter": b"rubbish", "table-created": push_body(b'{"dataset": "shop"}')}
    with pytest.raises(TryAgain):
        stage.handle(bodies[topic])
    assert stage.lines()[-1]["event"] == "try_again"


def test_an_error_of_the_warehouse_that_may_pass_is_raised_and_logged(stage: Stage) -> None:
    stage.warehouse.trouble = TryAgain("rateLimitExceeded")
    with pytest.raises(TryAgain):
        stage.handle(MESSAGE)
    line = stage.line()
    assert (line["severity"], line["event"], line["reason"]) == ("WARNING", "try_again", "rateLimitExceeded")
    assert not stage.published("dead-letter")


def test_a_table_that_the_metadata_do_not_show_yet_raises(stage: Stage) -> None:
    stage.warehouse.unseen.add(TableId("my-project", "shop", "customer_v_abc"))
    with pytest.raises(TryAgain, match="do not show it yet"):
        stage.handle(MESSAGE)


def test_a_view_that_others_write_through_all_tries_raises(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    monkeypatch.setattr("onefold.core.retry.CONFLICT_BACKOFF", Backoff(first=0.0, longest=0.0))
    stage.warehouse.trouble = ViewChanged("again")
    with pytest.raises(TryAgain, match="others wrote it"):
        stage.handle(MESSAGE)


def test_a_bug_raises_with_one_line_that_holds_the_traceback(stage: Stage) -> None:
    stage.warehouse.trouble = ZeroDivisionError("a bug")
    with pytest.raises(ZeroDivisionError):
        stage.handle(MESSAGE)
    line = stage.line()
    assert (line["severity"], line["event"]) == ("CRITICAL", "failed")
    assert line["stack_trace"].startswith("Traceback")


def test_a_dataset_alone_becomes_one_message_per_table_without_a_version(stage: Stage) -> None:
    for name in ("supplier_v_1", "supplier_v_2", "customer_v_backup_old", "plain"):
        stage.warehouse.land("shop", name, ABC)
    stage.warehouse.land("crm", "person_v_1", ABC)
    stage.handle(push_body(b'{"dataset": "shop"}'))
    assert [json.loads(message.data) for message in stage.published("table-created")] == [
        {"dataset": "shop", "table": {"name": "customer"}},
        {"dataset": "shop", "table": {"name": "supplier"}},
    ]
    line = stage.line()
    assert (line["event"], line["dataset"], line["tables"]) == ("fan_out", "shop", 2)


def test_a_dataset_alone_needs_the_topic_to_fan_out_on(stage: Stage) -> None:
    stage.settings = replace(SETTINGS, topic_table_created=None)
    stage.handle(push_body(b'{"dataset": "shop"}'))
    assert "ONEFOLD_TOPIC_TABLE_CREATED" in stage.line()["reason"]
