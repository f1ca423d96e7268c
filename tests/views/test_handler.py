"""What happens with a message: returning acknowledges it, raising has it delivered again."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest
from support.in_memory import ABC, MemoryPublisher, MemoryWarehouse, audit_entry, push_body, shop

from onefold.core.errors import LimitExceeded, OnefoldError, Rejected, TryAgain, ViewChanged
from onefold.core.names import TableId
from onefold.core.retry import Backoff
from onefold.messages.consumer import MAX_ATTRIBUTE
from onefold.messages.table_created import table_message
from onefold.ports.publisher import Message
from onefold.refresh.handler import MAX_LOGGED_CHANGES, TableCreatedHandler
from onefold.settings.environment import Settings

VIEW = TableId("my-project", "shop", "customer_unified")
MESSAGE = push_body(table_message("shop", "customer", "abc"))
SETTINGS = Settings(
    datasets=frozenset({"shop"}),
    topic_table_created="table-created",
    topic_schema_changes="schema-changes",
    topic_dead_letter="dead-letter",
)


class Stage:
    """A receiver between a warehouse and a publisher in memory, and the log lines that it wrote."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.warehouse = shop()
        self.publisher = MemoryPublisher()
        self.settings = SETTINGS
        self._capsys = capsys

    def handle(self, body: bytes) -> None:
        TableCreatedHandler(self.settings, self.warehouse, self.publisher).handle(body)

    def published(self, topic: str) -> list[Message]:
        return self.publisher.topics.get(topic, [])

    def lines(self) -> list[dict[str, Any]]:
        found = map(json.loads, self._capsys.readouterr().out.splitlines())
        # No table here has a key. tests/refresh has the tests of the current view.
        return [line for line in found if line["event"] != "no_current"]

    def line(self) -> dict[str, Any]:
        (line,) = self.lines()
        return line


@pytest.fixture
def stage(capsys: pytest.CaptureFixture[str]) -> Stage:
    return Stage(capsys)


# What is acknowledged.


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


# What is delivered again.


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


# Dead letters


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"rubbish", "the message is not JSON: JSONDecodeError"),
        (b'{"dataset": "crm"}', "dataset crm is not among ONEFOLD_DATASETS"),
        (table_message("crm", "customer", "abc"), "dataset crm is not among ONEFOLD_DATASETS"),
        (
            audit_entry("customer_v_abc", project="other"),
            "project other is not my-project, which this function serves",
        ),
    ],
)
def test_a_message_that_can_never_be_handled_is_kept_with_its_reason(stage: Stage, data: bytes, reason: str) -> None:
    stage.handle(push_body(data))
    (kept,) = stage.published("dead-letter")
    assert kept.data == data
    assert kept.attributes == {
        "reason": reason,
        "kind": "InvalidMessage",
        "message_id": "1234",
        "sha256": hashlib.sha256(data).hexdigest(),
        "part": "1/1",
    }
    line = stage.line()
    assert (line["severity"], line["event"], line["reason"], line["bytes"]) == ("ERROR", "put_aside", reason, len(data))
    assert not stage.warehouse.calls


@pytest.mark.parametrize("body", [b"", b"\xff\x00", b'{"message": {"attributes": {"dataset": "shop"}}}'])
def test_a_body_without_a_message_is_kept_whole(stage: Stage, body: bytes) -> None:
    stage.handle(body)
    (kept,) = stage.published("dead-letter")
    assert kept.data == body


@pytest.mark.parametrize("error", [Rejected("invalidQuery"), LimitExceeded("too many"), OnefoldError("no")])
def test_a_message_for_an_impossible_view_is_dead_lettered(stage: Stage, error: OnefoldError) -> None:
    stage.warehouse.trouble = error
    stage.handle(MESSAGE)
    (kept,) = stage.published("dead-letter")
    assert (kept.attributes["kind"], kept.attributes["reason"]) == (type(error).__name__, str(error))


def test_a_message_is_dead_lettered_if_a_table_has_the_name_of_the_view(stage: Stage) -> None:
    stage.warehouse.land("shop", "customer_unified", ABC)
    stage.handle(MESSAGE)
    assert stage.published("dead-letter")[0].attributes["kind"] == "ViewNameTaken"


@pytest.mark.parametrize("size", [8_999_999, 9_000_000, 9_000_001, 10_000_000])
def test_a_message_at_the_size_limit_is_kept_in_parts_and_nothing_is_lost(stage: Stage, size: int) -> None:
    data = bytes(range(256)) * (size // 256 + 1)
    stage.handle(push_body(data[:size]))
    kept = stage.published("dead-letter")
    assert b"".join(part.data for part in kept) == data[:size]
    assert [part.attributes["part"] for part in kept] == [f"{n}/{len(kept)}" for n in range(1, len(kept) + 1)]
    assert {part.attributes["sha256"] for part in kept} == {hashlib.sha256(data[:size]).hexdigest()}
    for part in kept:
        assert len(part.data) + sum(len(key) + len(value.encode()) for key, value in part.attributes.items()) < 10_000_000


@pytest.mark.parametrize("reason", ["x" * 5_000, "ü" * 5_000, "\ud800" * 5_000])
def test_a_reason_is_cut_to_what_an_attribute_holds(stage: Stage, reason: str) -> None:
    stage.warehouse.trouble = Rejected(reason)
    stage.handle(MESSAGE)
    cut = stage.published("dead-letter")[0].attributes["reason"]
    assert MAX_ATTRIBUTE - 4 < len(cut.encode()) <= MAX_ATTRIBUTE
    assert stage.line()["reason"] == reason


def test_without_a_topic_for_it_the_reason_is_logged_and_the_message_acknowledged(stage: Stage) -> None:
    stage.settings = replace(SETTINGS, topic_dead_letter=None)
    stage.handle(b"rubbish")
    assert stage.line()["event"] == "put_aside"


def test_where_the_topic_for_it_refuses_for_good_the_message_does_not_come_back(stage: Stage) -> None:
    stage.publisher.trouble["dead-letter"] = Rejected("topic not found")
    stage.handle(b"rubbish")
    assert [line["event"] for line in stage.lines()] == ["put_aside", "not_kept"]


# A whole dataset.


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


# Changes of the schema.


def changes(stage: Stage) -> list[dict[str, Any]]:
    return [json.loads(message.data) for message in stage.published("schema-changes")]


def test_every_change_of_a_schema_is_published_with_its_severity(stage: Stage) -> None:
    stage.warehouse = MemoryWarehouse()
    stage.warehouse.land("shop", "customer_v_abc", {"id": "INT64", "name": "STRING"})
    stage.handle(MESSAGE)
    stage.warehouse.land("shop", "customer_v_def", {"id": "STRING", "email": "STRING"})
    stage.handle(push_body(table_message("shop", "customer", "def")))
    first, second = changes(stage)
    assert (first["severity"], first["changes"][0]["kind"]) == ("INFO", "view created")
    assert (second["dataset"], second["table"], second["severity"]) == ("shop", "customer", "CRITICAL")
    assert (second["view"], second["versions"]) == ("my-project.shop.customer_unified", ["abc", "def"])
    assert second["changes"] == [
        {"kind": "retyped", "path": "id", "severity": "CRITICAL", "old": "INT64", "new": "STRING"},
        {"kind": "added", "path": "email", "severity": "INFO", "old": None, "new": "STRING"},
    ]
    attributes = [message.attributes for message in stage.published("schema-changes")]
    assert attributes[1] == {"severity": "CRITICAL", "dataset": "shop", "table": "customer"}


def test_a_version_that_changes_no_column_is_no_change_of_the_schema(stage: Stage) -> None:
    stage.handle(MESSAGE)
    stage.warehouse.land("shop", "customer_v_fed", ABC)
    stage.handle(push_body(table_message("shop", "customer", "fed")))
    assert len(changes(stage)) == 1


def test_a_change_that_is_announced_again_has_the_same_identifier(stage: Stage) -> None:
    """The process dies between the announcement and the write: the change is announced at least once."""
    for _ in range(2):
        stage.handle(MESSAGE)
        stage.warehouse.views.clear()
    assert len({change["id"] for change in changes(stage)}) == 1


def test_a_change_there_and_back_has_two_identifiers(stage: Stage) -> None:
    stage.handle(MESSAGE)
    table = TableId("my-project", "shop", "customer_v_def")
    version = stage.warehouse.tables.pop(table)
    stage.handle(push_body(table_message("shop", "customer")))
    stage.warehouse.tables[table] = version
    stage.handle(push_body(table_message("shop", "customer")))
    assert len({change["id"] for change in changes(stage)}) == 3


def test_a_line_stays_within_what_cloud_logging_takes(stage: Stage) -> None:
    stage.handle(MESSAGE)
    stage.lines()
    stage.warehouse.land("shop", "customer_v_a1de", {f"{'column' * 17}_{n}": "STRING" for n in range(1_000)})
    stage.handle(push_body(table_message("shop", "customer", "a1de")))
    line = stage.line()
    assert (line["changes_count"], line["changes_severity"]) == (1_000, "INFO")
    assert len(json.dumps(line)) < 256_000
    assert len(line["changes"]) == MAX_LOGGED_CHANGES
    assert len(changes(stage)[1]["changes"]) == 1_000


def test_the_highest_severity_is_that_of_all_changes_and_not_of_those_that_are_logged(stage: Stage) -> None:
    """Changes come in the order of the columns: the one that breaks may be the last."""
    stage.warehouse = MemoryWarehouse()
    columns = {f"c{n:03}": "INT64" for n in range(MAX_LOGGED_CHANGES + 1)}
    stage.warehouse.land("shop", "customer_v_abc", columns)
    stage.handle(MESSAGE)
    stage.lines()
    last = max(columns)
    stage.warehouse.land("shop", "customer_v_def", {**dict.fromkeys(columns, "NUMERIC"), last: "STRING"})
    stage.handle(push_body(table_message("shop", "customer", "def")))
    line = stage.line()
    assert {change["severity"] for change in line["changes"]} == {"WARNING"}
    assert line["changes_severity"] == changes(stage)[1]["severity"] == "CRITICAL"
