"""Messages that can never be handled: the handler dead-letters them with the reason."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
from support.in_memory import ABC, audit_entry, push_body
from support.memory_handler import MESSAGE, SETTINGS, MemoryHandler

from onefold.core.errors import LimitExceeded, OnefoldError, Rejected
from onefold.messages.consumer import MAX_ATTRIBUTE
from onefold.messages.table_created import table_message


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"rubbish", "the message is not JSON, or nested too deep"),
        (b'{"dataset": "crm"}', "dataset crm is not among ONEFOLD_DATASETS: add it there"),
        (
            table_message("crm", "customer", "abc"),
            "dataset crm is not among ONEFOLD_DATASETS: add it there",
        ),
        (
            audit_entry("customer_v_abc", project="other"),
            "project other is not my-project, which this function serves",
        ),
    ],
)
def test_a_message_that_can_never_be_handled_is_dead_lettered_with_its_reason(
    handler: MemoryHandler, data: bytes, reason: str
) -> None:
    handler.handle(push_body(data))
    (letter,) = handler.published("dead-letter")
    assert letter.data == data
    assert letter.attributes == {
        "reason": reason,
        "kind": "InvalidMessage",
        "message_id": "1234",
        "sha256": hashlib.sha256(data).hexdigest(),
        "part": "1/1",
    }
    line = handler.line()
    assert (line["severity"], line["event"], line["reason"], line["bytes"]) == ("ERROR", "put_aside", reason, len(data))
    assert not handler.cloud.log


def test_an_entry_of_the_audit_log_about_a_dataset_that_is_not_served_is_ignored(handler: MemoryHandler) -> None:
    handler.handle(push_body(audit_entry("customer_v_abc", dataset="crm")))
    assert not handler.published("dead-letter")
    assert handler.line()["event"] == "ignored"
    assert not handler.cloud.log


@pytest.mark.parametrize("body", [b"", b"\xff\x00", b'{"message": {"attributes": {"dataset": "shop"}}}'])
def test_a_body_without_a_message_is_dead_lettered_whole(handler: MemoryHandler, body: bytes) -> None:
    handler.handle(body)
    (letter,) = handler.published("dead-letter")
    assert letter.data == body


@pytest.mark.parametrize("error", [Rejected("invalidQuery"), LimitExceeded("too many"), OnefoldError("no")])
def test_a_message_for_an_impossible_view_is_dead_lettered(handler: MemoryHandler, error: OnefoldError) -> None:
    handler.cloud.break_off("get", error)
    handler.handle(MESSAGE)
    (letter,) = handler.published("dead-letter")
    assert (letter.attributes["kind"], letter.attributes["reason"]) == (type(error).__name__, str(error))


def test_a_message_is_dead_lettered_if_a_table_has_the_name_of_the_view(handler: MemoryHandler) -> None:
    handler.cloud.land("customer_unified", ABC)
    handler.handle(MESSAGE)
    assert handler.published("dead-letter")[0].attributes["kind"] == "ViewNameTaken"


@pytest.mark.parametrize("size", [8_999_999, 9_000_000, 9_000_001, 10_000_000])
def test_a_message_at_the_size_limit_is_dead_lettered_in_parts_without_loss(handler: MemoryHandler, size: int) -> None:
    data = bytes(range(256)) * (size // 256 + 1)
    handler.handle(push_body(data[:size]))
    letters = handler.published("dead-letter")
    assert b"".join(part.data for part in letters) == data[:size]
    assert [part.attributes["part"] for part in letters] == [f"{n}/{len(letters)}" for n in range(1, len(letters) + 1)]
    assert {part.attributes["sha256"] for part in letters} == {hashlib.sha256(data[:size]).hexdigest()}
    for part in letters:
        assert len(part.data) + sum(len(key) + len(value.encode()) for key, value in part.attributes.items()) < 10_000_000


@pytest.mark.parametrize("reason", ["x" * 5_000, "ü" * 5_000, "\ud800" * 5_000])
def test_a_reason_is_cut_to_the_size_of_an_attribute(handler: MemoryHandler, reason: str) -> None:
    handler.cloud.break_off("get", Rejected(reason))
    handler.handle(MESSAGE)
    cut = handler.published("dead-letter")[0].attributes["reason"]
    assert MAX_ATTRIBUTE - 4 < len(cut.encode()) <= MAX_ATTRIBUTE
    assert handler.line()["reason"] == reason


def test_without_a_dead_letter_topic_the_reason_is_logged_and_the_message_acknowledged(handler: MemoryHandler) -> None:
    handler.settings = replace(SETTINGS, topic_dead_letter=None)
    handler.handle(b"rubbish")
    assert handler.line()["event"] == "put_aside"


def test_the_message_is_acknowledged_if_the_dead_letter_topic_refuses_it(handler: MemoryHandler) -> None:
    handler.publisher.errors["dead-letter"] = Rejected("topic not found")
    handler.handle(b"rubbish")
    assert [line["event"] for line in handler.lines()] == ["put_aside", "not_kept"]
