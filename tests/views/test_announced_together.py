"""A message about several new tables: each of them is refreshed as by a message of its own."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.fake_bigquery import Request
from support.in_memory import ABC, push_body
from support.memory_handler import MemoryHandler

from onefold.core.errors import TryAgain
from onefold.messages.table_created import table_message, tables_messages

TABLES = ("customer", "orders", "items")


def together(*versions: Any) -> bytes:
    """Return a message about these tables: pairs of name and version, or any values of JSON."""
    tables = [{"name": one[0], "version": one[1]} if isinstance(one, tuple) else one for one in versions]
    return push_body(json.dumps({"dataset": "shop", "table": tables}).encode())


ALL = together(*((name, "abc") for name in TABLES))


@pytest.fixture
def handler(capsys: pytest.CaptureFixture[str]) -> MemoryHandler:
    handler = MemoryHandler(capsys)
    for name in ("orders", "items"):
        handler.cloud.land(f"{name}_v_abc", ABC)
    return handler


def fail(handler: MemoryHandler, error: Exception, *tables: str) -> None:
    """Let BigQuery fail once when the unified view of each of these tables is to be created."""
    left = {f"{name}_unified" for name in tables}

    def before(request: Request) -> None:
        if request.kind == "insert" and request.name in left:
            left.remove(request.name)
            raise error

    handler.cloud.before = before


def views(handler: MemoryHandler) -> set[str]:
    return {name.removesuffix("_unified") for name in handler.cloud.names("VIEW")}


def again(handler: MemoryHandler) -> list[bytes]:
    return [message.data for message in handler.published("table-created")]


def test_the_views_of_all_tables_are_refreshed_and_each_is_logged(handler: MemoryHandler) -> None:
    handler.handle(ALL)
    assert views(handler) == set(TABLES)
    found = [(line["event"], line["table"], line["version"], line["message_id"]) for line in handler.lines()]
    assert found == [("refreshed", name, "abc", "1234") for name in TABLES]
    assert again(handler) == []


def test_what_capture_publishes_is_what_the_function_reads(handler: MemoryHandler) -> None:
    (message,) = tables_messages("shop", [(name, "abc", None) for name in TABLES])
    handler.handle(push_body(message))
    assert views(handler) == set(TABLES)


@pytest.mark.parametrize("bad", range(3))
def test_a_table_that_is_to_be_tried_again_becomes_a_message_of_its_own(handler: MemoryHandler, bad: int) -> None:
    fail(handler, TryAgain("503"), TABLES[bad])
    handler.handle(ALL)
    assert views(handler) == set(TABLES) - {TABLES[bad]}
    assert again(handler) == [table_message("shop", TABLES[bad], "abc")]
    handler.handle(push_body(again(handler)[0]))
    assert views(handler) == set(TABLES)


def test_a_bug_that_one_table_meets_does_not_stop_the_others(handler: MemoryHandler) -> None:
    fail(handler, ZeroDivisionError("a bug"), "orders")
    handler.handle(ALL)
    assert views(handler) == {"customer", "items"}
    assert again(handler) == [table_message("shop", "orders", "abc")]
    (line,) = (line for line in handler.lines() if line["severity"] == "CRITICAL")
    assert (line["event"], line["table"], line["reason"]) == ("failed", "orders", "ZeroDivisionError: a bug")


def test_a_table_without_a_version_is_nothing_to_do_and_the_others_are_refreshed(handler: MemoryHandler) -> None:
    handler.handle(together(("customer", "abc"), ("gone", "abc"), ("items", "abc")))
    assert views(handler) == {"customer", "items"}
    assert [line["event"] for line in handler.lines()] == ["refreshed", "nothing_found", "refreshed"]
    assert handler.published("dead-letter") == []


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (("a`b", "abc"), "table 'a`b' is not a valid name"),
        (("orders", "1 OR 1"), "version '1 OR 1' is not a valid name"),
        ({"version": "abc"}, "`table` has no `name`"),
        (5, "`table` is not an object with a `name`"),
        (None, "`table` is not an object with a `name`"),
    ],
)
def test_a_table_that_is_invalid_is_dead_lettered_alone(handler: MemoryHandler, bad: Any, reason: str) -> None:
    handler.handle(together(("customer", "abc"), bad, ("items", "abc")))
    assert views(handler) == {"customer", "items"}
    (letter,) = handler.published("dead-letter")
    assert reason in letter.attributes["reason"]
    named = {"name": bad[0], "version": bad[1]} if isinstance(bad, tuple) else bad
    assert json.loads(letter.data) == {"dataset": "shop", "table": named}


def test_while_the_topic_of_dead_letters_takes_no_message_only_what_is_invalid_is_tried_again(
    handler: MemoryHandler,
) -> None:
    handler.publisher.errors["dead-letter"] = TryAgain("503")
    handler.handle(together(("a`b", "abc"), ("customer", "abc"), ("items", "abc")))
    assert views(handler) == {"customer", "items"}
    assert again(handler) == [table_message("shop", "a`b", "abc")]


def test_while_no_table_can_be_refreshed_the_whole_message_is_delivered_again(handler: MemoryHandler) -> None:
    fail(handler, TryAgain("503"), *TABLES)
    with pytest.raises(TryAgain, match="3 of 3 parts"):
        handler.handle(ALL)
    assert again(handler) == []
    handler.handle(ALL)
    assert views(handler) == set(TABLES)


def test_while_the_topic_takes_no_message_the_whole_message_is_delivered_again(handler: MemoryHandler) -> None:
    fail(handler, TryAgain("503"), "items")
    handler.publisher.errors["table-created"] = TryAgain("503")
    with pytest.raises(TryAgain):
        handler.handle(ALL)
    handler.publisher.errors.clear()
    handler.handle(ALL)
    assert views(handler) == set(TABLES)


@pytest.mark.parametrize("table", [[], [[]], [{"name": "customer"}, []]])
def test_a_list_that_names_no_table_is_dead_lettered_whole(handler: MemoryHandler, table: list[Any]) -> None:
    handler.handle(push_body(json.dumps({"dataset": "shop", "table": table}).encode()))
    (letter,) = handler.published("dead-letter")
    assert "`table` is not a list of objects" in letter.attributes["reason"]
    assert views(handler) == set()


def test_a_message_is_about_no_more_tables_than_are_refreshed_in_time() -> None:
    messages = tables_messages("shop", [(f"t{number}", "abc", None) for number in range(41)])
    counts = [len(table) if isinstance(table := json.loads(message)["table"], list) else 1 for message in messages]
    assert counts == [20, 20, 1]
    assert tables_messages("shop", []) == []
