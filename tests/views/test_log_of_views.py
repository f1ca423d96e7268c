"""What the log says of the three views of a table: docs/reference/log-events.md."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from support.in_memory import audit_entry, push_body
from support.memory_handler import SETTINGS, MemoryHandler
from support.merged_table import TAIL
from support.rest import PROJECT

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.messages.table_created import table_message
from onefold.refresh.labels import TABLE_LABEL
from onefold.schema.column_policy import Action, ColumnPolicies, PolicyRule
from onefold.schema.table_rules import TableRules
from onefold.views.handler import TableCreatedHandler

CLEAR_ID = ColumnPolicies((PolicyRule("*", "id", Action.CLEAR),))


class Logged:
    """One instance of the function, whose lines of the log are read by event."""

    def __init__(self, made: MemoryHandler, capsys: pytest.CaptureFixture[str]) -> None:
        self.cloud, self.publisher, self.settings, self._capsys = made.cloud, made.publisher, made.settings, capsys
        self.start()

    def start(self) -> None:
        """Start the instance, with the settings as they are."""
        self._handler = TableCreatedHandler(self.settings, BigQueryWarehouse(self.cloud.client()), self.publisher)

    def deliver(self, version: str | None = "abc") -> dict[str, dict[str, Any]]:
        self._handler.handle(push_body(table_message("shop", "customer", version)))
        return {line["event"]: line for line in map(json.loads, self._capsys.readouterr().out.splitlines())}


@pytest.fixture
def function(handler: MemoryHandler, capsys: pytest.CaptureFixture[str]) -> Logged:
    """An instance for a table with a key and policies; its clean view shows one column, and two wait."""
    for version, columns in {"abc": {"name": "STRING"}, "def": {"mail": "STRING"}}.items():
        handler.cloud.land(f"customer_v_{version}", {"id": "INT64", **columns, **TAIL})
    handler.cloud.datasets["shop__views_clean"] = {}
    rules = {"customer": TableRules(keys=("id",))}
    handler.settings = replace(SETTINGS, tables=rules, policies=CLEAR_ID)
    return Logged(handler, capsys)


def test_each_view_has_a_line_of_its_own_that_says_what_became_of_it(function: Logged) -> None:
    created = function.deliver()
    assert {event: (line["severity"], line["message"]) for event, line in created.items()} == {
        "refreshed": ("NOTICE", "shop.customer: view created"),
        "current_refreshed": ("NOTICE", "shop.customer: current view created"),
        "clean_refreshed": ("NOTICE", "shop.customer: clean view created"),
    }
    assert "waiting" not in created["refreshed"]
    assert "waiting" not in created["current_refreshed"]
    assert {"name", "mail"} <= {*created["clean_refreshed"]["waiting"]}
    again = function.deliver()
    assert {line["message"] for line in again.values()} == {
        f"shop.customer: {kind}the view needs no change for this version" for kind in ("", "current ", "clean ")
    }
    assert {line["severity"] for line in again.values()} == {"INFO"}


def test_a_view_that_gets_a_column_is_updated(function: Logged) -> None:
    function.deliver()
    function.cloud.land("customer_v_fed", {"id": "INT64", "born": "DATE", **TAIL})
    assert function.deliver("fed")["refreshed"]["message"] == "shop.customer: view updated"


def test_without_policies_the_line_names_the_clean_view_that_is_masked(function: Logged) -> None:
    function.deliver()
    function.settings = replace(function.settings, policies=None)
    function.start()
    line = function.deliver()["no_policies"]
    view = f"{PROJECT}.shop__views_clean.customer"
    assert (line["severity"], line["view"]) == ("WARNING", view)
    assert f"every column of {view} is masked" in line["message"]


def test_why_there_is_no_clean_view_is_logged_once_by_an_instance_and_again_after_it_was_there(function: Logged) -> None:
    del function.cloud.datasets["shop__views_clean"]
    line = function.deliver(None)["no_clean"]
    assert (line["severity"], line["message"]) == ("WARNING", line["reason"])
    assert "dataset shop__views_clean does not exist" in line["reason"]
    assert "no_clean" not in function.deliver(None)
    function.cloud.datasets["shop__views_clean"] = {}
    assert function.deliver(None)["clean_refreshed"]["action"] == "create"
    del function.cloud.datasets["shop__views_clean"]
    assert "no_clean" in function.deliver(None)


def test_why_there_is_no_current_view_is_logged_once_by_an_instance(function: Logged) -> None:
    function.settings = replace(function.settings, tables={"customer": TableRules(current=False)})
    function.start()
    line = function.deliver()["no_current"]
    reason = "onefold.yaml sets `current: false`; a view that exists is not written any more"
    assert (line["severity"], line["reason"]) == ("WARNING", reason)
    assert line["message"] == f"shop.customer gets no current view: {reason}"
    assert "no_current" not in function.deliver()


def test_of_two_views_that_fail_the_log_names_both_and_the_dead_letter_one(function: Logged) -> None:
    for view in ("customer_unified", "customer_current"):
        function.cloud.create_table(view, "id INT64", kind="VIEW")
        function.cloud.change(view, lambda found: found.update(labels={TABLE_LABEL: "theirs"}))
    lines = function.deliver(None)
    (letter,) = function.publisher.topics["dead-letter"]
    assert "customer_unified" in letter.attributes["reason"]
    assert lines["both_failed"]["severity"] == "ERROR"
    assert "customer_current was not written by" in lines["both_failed"]["reason"]
    assert lines["both_failed"]["message"] == (
        f"shop.customer: several views were not written: {lines['both_failed']['reason']}"
    )


def test_an_error_that_both_views_have_is_logged_once(function: Logged) -> None:
    function.settings = replace(function.settings, tables={"customer": TableRules(keys=("id",), types=())}, policies=None)
    function.start()
    function.cloud.land("customer_v_abc", {"id": "INT64", "name": "STRING", **TAIL})
    function.cloud.fail("query", 400, "invalidQuery", "no such thing", times=2)
    lines = function.deliver(None)
    assert "both_failed" not in lines
    assert "no such thing" in lines["put_aside"]["reason"]


def test_a_view_of_somebody_else_is_ignored_and_named(handler: MemoryHandler) -> None:
    handler.handle(push_body(audit_entry("a_view", view=True)))
    line = handler.line()
    assert (line["severity"], line["event"]) == ("DEBUG", "ignored")
    assert (line["table"], line["message"]) == ("a_view", "a_view is no change table")
