"""Messages about plain change tables: their current views are kept as those of versioned tables are."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Literal

import pytest
from support.clean_shop import policies
from support.in_memory import ABC, audit_entry, push_body
from support.memory_handler import SETTINGS, MemoryHandler
from support.rest_fields import rest_field

from onefold.changelog.metadata import METADATA, METADATA_FIELDS, metadata_type
from onefold.messages.table_created import table_message
from onefold.schema.table_rules import TableRules
from onefold.schema.types import STRING

CHANGES = {"id": "INT64", "name": "STRING", METADATA: str(metadata_type(METADATA_FIELDS))}
OWN = "shop__onefold"
KEYS = {"shop.orders": TableRules(keys=("id",))}


@pytest.fixture
def plain(handler: MemoryHandler) -> MemoryHandler:
    """A handler for a shop with a plain change table, whose key onefold.yaml declares."""
    handler.cloud.land("orders", CHANGES)
    handler.cloud.datasets[OWN] = {}
    handler.settings = replace(SETTINGS, tables=KEYS)
    return handler


@pytest.mark.parametrize(
    "message", [table_message("shop", "orders"), audit_entry("orders"), audit_entry("orders", "tableChange")]
)
def test_a_message_about_a_plain_table_writes_its_current_view(plain: MemoryHandler, message: bytes) -> None:
    plain.handle(push_body(message))
    line = plain.line()
    assert (line["event"], line["action"]) == ("current_refreshed", "create")
    assert plain.cloud.names("VIEW", OWN) == ["orders_current"]
    assert plain.cloud.names("VIEW") == []
    plain.handle(push_body(message))
    assert plain.line()["action"] == "none"


@pytest.mark.parametrize("message", [table_message("shop", "events"), audit_entry("events")])
def test_a_message_about_a_table_of_a_tool_writes_its_current_and_its_unified_view(
    plain: MemoryHandler, message: bytes
) -> None:
    dlt = {"id": "INT64", "v": "INT64", "v__v_text": "STRING", "_dlt_id": "STRING", "_dlt_load_id": "STRING"}
    plain.cloud.land("events", dlt)
    rules = {"shop.events": TableRules(keys=("id",), tool="dlt", rows="history")}
    plain.settings = replace(SETTINGS, tables=rules)
    plain.handle(push_body(message))
    assert plain.cloud.names("VIEW", OWN) == ["events_current", "events_unified"]
    assert plain.cloud.names("VIEW") == []
    plain.lines()
    plain.handle(push_body(message))
    assert [line["action"] for line in plain.lines()] == ["none", "none"]


def test_a_column_that_is_new_comes_into_the_view(plain: MemoryHandler) -> None:
    plain.handle(push_body(audit_entry("orders")))
    plain.cloud.change("orders", lambda table: table["schema"]["fields"].append(rest_field("email", STRING)))
    plain.handle(push_body(audit_entry("orders", "tableChange")))
    line = plain.lines()[-1]
    assert line["action"] == "update"
    assert "email" in [change["path"] for change in line["changes"]]


def test_a_message_about_the_dataset_fans_out_to_plain_tables_too(plain: MemoryHandler) -> None:
    plain.cloud.land("notes", ABC)
    plain.handle(push_body(b'{"dataset": "shop"}'))
    found = [json.loads(message.data)["table"]["name"] for message in plain.published("table-created")]
    assert found == ["customer", "orders"]


def test_a_dataset_without_versioned_tables_is_no_error(plain: MemoryHandler) -> None:
    for name in ("customer_v_abc", "customer_v_def"):
        plain.cloud.drop(name)
    plain.handle(push_body(b'{"dataset": "shop"}'))
    assert plain.line()["tables"] == 1


@pytest.mark.parametrize(
    "message",
    [
        audit_entry("orders", "tableDeletion"),
        audit_entry("orders", view=True),
        audit_entry("notes"),
        audit_entry("orders_base", dataset=OWN),
        audit_entry("onefold_tmp_copy_orders_base"),
        audit_entry("orders", project="another-project"),
    ],
)
def test_an_entry_about_any_other_table_is_ignored(plain: MemoryHandler, message: bytes) -> None:
    plain.cloud.land("notes", ABC)
    plain.handle(push_body(message))
    assert plain.line()["event"] == "ignored"
    assert not plain.published("dead-letter")
    assert not plain.cloud.names("VIEW", OWN)


def test_a_table_whose_key_is_unknown_gets_no_view_and_the_log_has_the_line_to_add(
    plain: MemoryHandler, capsys: pytest.CaptureFixture[str]
) -> None:
    plain.settings = SETTINGS
    plain.handle(push_body(audit_entry("orders")))
    (line,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert (line["severity"], line["event"]) == ("WARNING", "no_current")
    assert "tables: {shop.orders: {keys: [COLUMN]}}" in line["message"]


def test_the_key_that_the_table_declares_is_its_key(plain: MemoryHandler) -> None:
    plain.settings = SETTINGS
    plain.cloud.change("orders", lambda table: table.update(tableConstraints={"primaryKey": {"columns": ["id"]}}))
    plain.handle(push_body(audit_entry("orders")))
    assert '-- keys: ["id"]' in plain.cloud.resource("orders_current", OWN)["view"]["query"]


def test_without_a_dataset_for_it_there_is_no_view_and_the_log_says_how_to_create_the_dataset(
    plain: MemoryHandler, capsys: pytest.CaptureFixture[str]
) -> None:
    del plain.cloud.datasets[OWN]
    plain.handle(push_body(audit_entry("orders")))
    (line,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert line["event"] == "no_current"
    assert f"mk --dataset my-project:{OWN}" in line["message"]


@pytest.mark.parametrize("name", ["orders", "stock"])
def test_policies_give_a_plain_table_a_clean_view_over_its_current_view(plain: MemoryHandler, name: str) -> None:
    plain.cloud.land("stock", {"id": "INT64", "name": "STRING", METADATA: "STRUCT<uuid STRING, source_timestamp INT64>"})
    plain.cloud.datasets["shop__views_clean"] = {}
    plain.settings = replace(plain.settings, policies=policies(id="clear", name="drop"))
    plain.handle(push_body(audit_entry(name)))
    assert [line["event"] for line in plain.lines()] == ["current_refreshed", "clean_refreshed"]
    query = plain.cloud.resource(name, "shop__views_clean")["view"]["query"]
    assert f"FROM `my-project.{OWN}.{name}_current`" in query
    assert "`name`" not in query


def test_a_table_of_the_merge_mode_is_shown_without_its_metadata(plain: MemoryHandler) -> None:
    plain.cloud.land("stock", {"id": "INT64", METADATA: "STRUCT<uuid STRING, source_timestamp INT64>"})
    plain.handle(push_body(audit_entry("stock")))
    query = plain.cloud.resource("stock_current", OWN)["view"]["query"]
    assert query.endswith("SELECT r.* EXCEPT (`datastream_metadata`)\nFROM `my-project.shop.stock` AS r")


def test_a_table_of_the_merge_mode_without_a_key_gets_no_view(
    plain: MemoryHandler, capsys: pytest.CaptureFixture[str]
) -> None:
    plain.cloud.land("log", {"id": "INT64", METADATA: "STRUCT<uuid STRING, source_timestamp INT64, is_deleted BOOL>"})
    plain.handle(push_body(audit_entry("log")))
    (line,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert line["event"] == "no_current"
    assert "has no key at the source" in line["message"]


def test_the_nightly_check_names_the_view_of_a_table_that_is_gone(plain: MemoryHandler) -> None:
    plain.handle(push_body(audit_entry("orders")))
    plain.cloud.drop("orders")
    plain.handle(push_body(b'{"dataset": "shop"}'))
    (left,) = [line for line in plain.lines() if line["event"] == "views_left_over"]
    assert left["views"] == [f"my-project.{OWN}.orders_current"]


def test_a_view_beside_its_table_is_named_once(plain: MemoryHandler) -> None:
    plain.settings = replace(plain.settings, plain_dataset="{dataset}")
    plain.handle(push_body(audit_entry("orders")))
    plain.cloud.drop("orders")
    plain.lines()
    plain.handle(push_body(b'{"dataset": "shop"}'))
    (left,) = [line for line in plain.lines() if line["event"] == "views_left_over"]
    assert left["views"] == ["my-project.shop.orders_current"]


@pytest.mark.parametrize("rows", ["history", "current"])
def test_without_the_dataset_of_its_views_a_table_of_a_tool_gets_none(
    plain: MemoryHandler, rows: Literal["history", "current"], capsys: pytest.CaptureFixture[str]
) -> None:
    """The dataset of the tool is never written to."""
    plain.cloud.land("events", {"id": "INT64", "v": "INT64", "v__v_text": "STRING", "_dlt_id": "STRING"})
    plain.settings = replace(SETTINGS, tables={"shop.events": TableRules(keys=("id",), tool="dlt", rows=rows)})
    del plain.cloud.datasets[OWN]
    plain.handle(push_body(table_message("shop", "events")))
    lines = list(map(json.loads, capsys.readouterr().out.splitlines()))
    assert plain.cloud.names("VIEW") == []
    assert any(f"bq --location=LOCATION mk --dataset my-project:{OWN}" in line["message"] for line in lines)


def test_a_table_that_its_tool_did_not_write_is_named_in_the_error(plain: MemoryHandler) -> None:
    plain.cloud.land("events", {"id": "INT64"})
    plain.settings = replace(SETTINGS, tables={"shop.events": TableRules(keys=("id",), tool="dlt", rows="current")})
    plain.handle(push_body(table_message("shop", "events")))
    (letter,) = plain.published("dead-letter")
    assert "my-project.shop.events" in letter.attributes["reason"]
    assert "its columns are not those of dlt" in letter.attributes["reason"]
