"""Messages that can never be handled: the handler dead-letters them with the reason."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
from support.handler_stage import MESSAGE, SETTINGS, Stage
from support.in_memory import ABC, audit_entry, push_body

from onefold.core.errors import LimitExceeded, OnefoldError, Rejected
from onefold.messages.consumer import MAX_ATTRIBUTE
from onefold.messages.table_created import table_message


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
