"""One message about a version keeps both views of a table, where the key of the table is known."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change
from support.functions import RefreshView
from support.merge_shop import CUSTOMER, Shop
from support.tenants import ONE, TWO, create, land, row

from onefold.changelog.metadata import LANDED_AT
from onefold.core.errors import TryAgain
from onefold.core.names import TableId
from onefold.landing.table import VersionedTable
from onefold.ports.warehouse import ViewDraft
from onefold.schema.table_rules import TableRules
from onefold.schema.types import parse_type
from onefold.views.current_text import remembered_keys
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, EmulatedWarehouse

BY_ID = TableRules(keys=("id",), overlap_minutes=0)


@pytest.fixture
def function(dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch) -> RefreshView:
    """The function with a key in onefold.yaml."""
    return RefreshView(dataset, monkeypatch, rules=BY_ID)


@pytest.fixture
def keyless(dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch) -> RefreshView:
    """The function without a key in onefold.yaml."""
    return RefreshView(dataset, monkeypatch)


@pytest.fixture
def shop(dataset: EmulatedDataset) -> Shop:
    """A version with two changes of one row."""
    shop = Shop(dataset)
    shop.create("a1", CUSTOMER)
    shop.land("a1", change("INSERT", "1", id=1, name="old"), change("UPDATE-INSERT", "2", id=1, name="new"))
    return shop


def lines(capsys: pytest.CaptureFixture[str], event: str) -> list[dict[str, Any]]:
    found = map(json.loads, capsys.readouterr().out.splitlines())
    return [line for line in found if line["event"] == event]


@pytest.mark.usefixtures("shop")
def test_a_message_writes_both_views(function: RefreshView, dataset: EmulatedDataset) -> None:
    function.deliver("a1")
    assert dataset.run(f"SELECT COUNT(*) FROM {dataset.quoted('customer_unified')}") == [(2,)]
    assert dataset.rows("customer_current") == [(1, "new")]
    assert function.announced("customer_unified") == function.announced() == [("view created", "INFO")]


def test_the_current_view_follows_a_new_version_and_does_not_name_the_unified_view(
    function: RefreshView, dataset: EmulatedDataset, shop: Shop
) -> None:
    function.deliver("a1")
    shop.create("b2", {"id": "STRING", "mail": "STRING", LANDED_AT: "TIMESTAMP"})
    shop.land("b2", change("INSERT", "3", id="2", mail="m"))
    assert dataset.rows("customer_current") == [(1, "new")]
    function.deliver("b2")
    assert dataset.rows("customer_current") == [("1", "new", None), ("2", None, "m")]
    assert "customer_unified" not in function.query_of()
    assert function.announced()[1:] == [("retyped id", "CRITICAL"), ("added mail", "INFO")]


def test_a_view_that_has_got_a_column_is_not_written_again(
    function: RefreshView, shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    function.deliver("a1")
    shop.create("b2", {"id": "INT64", "mail": "STRING", LANDED_AT: "TIMESTAMP"})
    function.deliver("b2")
    lines(capsys, "current_refreshed")
    function.deliver()
    assert [line["action"] for line in lines(capsys, "current_refreshed")] == ["none"]


@pytest.mark.usefixtures("shop")
def test_a_message_that_comes_twice_changes_and_announces_nothing(
    function: RefreshView, dataset: EmulatedDataset, capsys: pytest.CaptureFixture[str]
) -> None:
    function.deliver("a1")
    before = dataset.client.get_table(f"{DEFAULT_PROJECT}.{dataset.name}.customer_current").etag
    lines(capsys, "refreshed")
    function.deliver("a1")
    function.deliver()
    assert [line["action"] for line in lines(capsys, "current_refreshed")] == ["none", "none"]
    assert dataset.client.get_table(f"{DEFAULT_PROJECT}.{dataset.name}.customer_current").etag == before
    assert len(function.announced()) == 1


@pytest.mark.usefixtures("shop")
def test_the_current_view_lies_where_views_live(dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset.client.create_dataset(f"{dataset.name}_views")
    RefreshView(dataset, monkeypatch, rules=BY_ID, view_dataset="{dataset}_views").deliver("a1")
    assert dataset.run(f"SELECT name FROM `{DEFAULT_PROJECT}.{dataset.name}_views.customer_current`") == [("new",)]


def test_both_views_keep_order_and_spelling_when_the_oldest_version_is_dropped(
    function: RefreshView, dataset: EmulatedDataset, shop: Shop
) -> None:
    shop.create("b2", {"mail": "STRING", "NAME": "STRING", "Id": "INT64", LANDED_AT: "TIMESTAMP"})
    shop.land("b2", change("INSERT", "3", Id=2, NAME="n", mail="m"))
    function.deliver("b2")
    announced = len(function.announced())
    dataset.run(f"DROP TABLE {dataset.quoted('customer_v_a1')}")
    function.deliver()
    view = EmulatedWarehouse(dataset.client).get_view(TableId(DEFAULT_PROJECT, dataset.name, "customer_current"))
    assert view is not None
    assert [column.name for column in view.columns] == ["id", "name", "mail"]
    assert dataset.rows("customer_current") == [(2, "n", "m")]
    assert len(function.announced()) == announced


# The settings.


@pytest.mark.usefixtures("shop")
def test_settings_of_the_current_view_that_differ_are_logged_and_written(
    dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = replace(BY_ID, types=(("id", parse_type("STRING")),))
    RefreshView(dataset, monkeypatch, rules=text).deliver("a1")
    assert dataset.rows("customer_current") == [("1", "new")]
    RefreshView(dataset, monkeypatch, rules=BY_ID).deliver("a1")
    assert dataset.rows("customer_current") == [(1, "new")]
    messages = [line["message"] for line in lines(capsys, "settings_changed")]
    assert [message.partition(" had other settings: ")[2] for message in messages] == ["types.id: STRING -> default"] * 2
    assert "customer_current" in messages[1]


# The key.


def create_with_key(dataset: EmulatedDataset, table: VersionedTable, *columns: str) -> None:
    id_ = TableId(DEFAULT_PROJECT, dataset.name, table.name)
    EmulatedWarehouse(dataset.client).create_table(id_, table.columns, primary_key=columns)


def test_a_captured_table_is_read_by_the_key_that_it_declares(keyless: RefreshView, dataset: EmulatedDataset) -> None:
    create_with_key(dataset, ONE, "source_name", "database_name", "id")
    keyless.deliver(ONE.version)
    assert dataset.rows("customer_current") == []
    land(dataset, ONE, row("s/a", "1", id=1, code=1, name="x"), row("s/b", "1", id=1, code=1, name="y"))
    assert len(dataset.rows("customer_current")) == 2


def test_a_key_that_only_rows_tell_is_that_of_the_latest_rows(keyless: RefreshView, dataset: EmulatedDataset) -> None:
    create(dataset, ONE)
    keyless.deliver(ONE.version)
    assert "customer_current" not in EmulatedWarehouse(dataset.client).list_views(dataset.name)
    land(dataset, ONE, row("s/a", "1", id=1, code=1, name="x"))
    keyless.deliver()
    assert dataset.run(f"SELECT id, name FROM {dataset.quoted('customer_current')}") == [(1, "x")]
    land(dataset, ONE, *(row("s/a", str(code), ("id", "code"), id=1, code=code, name="y") for code in (2, 3)))
    create(dataset, TWO)
    keyless.deliver(TWO.version)
    assert "mail" in keyless.query_of()
    assert dataset.run(f"SELECT code FROM {dataset.quoted('customer_current')} ORDER BY code") == [(1,), (2,), (3,)]


def test_a_version_that_declares_another_key_has_the_key_looked_for_again(
    keyless: RefreshView, dataset: EmulatedDataset
) -> None:
    create(dataset, ONE)
    land(dataset, ONE, row("s/a", "1", id=1, code=1, name="x"))
    keyless.deliver(ONE.version)
    create_with_key(dataset, TWO, "source_name", "database_name", "code")
    land(dataset, TWO, row("s/a", "2", key=("code",), id=2, code=1, name="y", mail="m"))
    keyless.deliver(TWO.version)
    assert remembered_keys(keyless.query_of()) == ("source_name", "database_name", "code")
    assert len(dataset.rows("customer_current")) == 1


@pytest.mark.usefixtures("shop")
def test_a_table_without_a_known_key_is_skipped_and_the_log_says_so_once(
    keyless: RefreshView, dataset: EmulatedDataset, capsys: pytest.CaptureFixture[str]
) -> None:
    for version in ("a1", "a1", None):
        keyless.deliver(version)
    (line,) = lines(capsys, "no_current")
    assert "name the columns of the key" in line["reason"]
    assert line["severity"] == "WARNING"
    assert not keyless.dead_letters()
    assert EmulatedWarehouse(dataset.client).list_views(dataset.name) == ("customer_unified",)


def test_tenants_that_do_not_agree_are_skipped_with_the_reason(
    keyless: RefreshView, dataset: EmulatedDataset, capsys: pytest.CaptureFixture[str]
) -> None:
    create(dataset, ONE)
    land(dataset, ONE, row("s/a", "1", id=1, code=1), row("s/b", "1", key=("code",), id=1, code=1))
    keyless.deliver(ONE.version)
    (line,) = lines(capsys, "no_current")
    assert "code in s/b" in line["reason"]


def test_a_view_made_by_hand_with_keys_is_kept_by_messages(
    keyless: RefreshView, dataset: EmulatedDataset, shop: Shop
) -> None:
    shop.current()
    shop.create("b2", {"id": "INT64", "mail": "STRING", LANDED_AT: "TIMESTAMP"})
    keyless.deliver("b2")
    assert dataset.rows("customer_current") == [(1, "new", None)]


def test_current_false_excludes_a_table_and_leaves_its_view_alone(
    dataset: EmulatedDataset, shop: Shop, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shop.current()
    function = RefreshView(dataset, monkeypatch, rules=TableRules(keys=("id",), current=False))
    shop.create("b2", {"id": "INT64", "mail": "STRING", LANDED_AT: "TIMESTAMP"})
    function.deliver("b2")
    function.deliver()
    assert dataset.rows("customer_current") == [(1, "new")]
    (line,) = lines(capsys, "no_current")
    assert "`current: false`" in line["reason"]


# What fails.


def take_name(dataset: EmulatedDataset, view: str) -> None:
    """Create a view that somebody else owns."""
    EmulatedWarehouse(dataset.client).create_view(TableId(DEFAULT_PROJECT, dataset.name, view), ViewDraft("SELECT 1 AS one"))


@pytest.mark.usefixtures("shop")
def test_a_view_of_that_name_that_somebody_else_made_stays_and_the_message_is_a_dead_letter(
    function: RefreshView, dataset: EmulatedDataset
) -> None:
    take_name(dataset, "customer_current")
    function.deliver("a1")
    assert dataset.rows("customer_current") == [(1,)]
    assert dataset.run(f"SELECT COUNT(*) FROM {dataset.quoted('customer_unified')}") == [(2,)]
    (reason,) = function.dead_letters()
    assert "customer_current was not written by `onefold current`" in reason


@pytest.mark.usefixtures("shop")
def test_a_unified_view_that_fails_does_not_keep_the_current_view_from_being_written(
    function: RefreshView, dataset: EmulatedDataset, capsys: pytest.CaptureFixture[str]
) -> None:
    take_name(dataset, "customer_unified")
    function.deliver("a1")
    assert dataset.rows("customer_current") == [(1, "new")]
    (reason,) = function.dead_letters()
    assert "customer_unified" in reason
    assert [line["action"] for line in lines(capsys, "current_refreshed")] == ["create"]


@pytest.mark.usefixtures("shop")
def test_where_both_views_fail_the_log_names_both(
    function: RefreshView, dataset: EmulatedDataset, capsys: pytest.CaptureFixture[str]
) -> None:
    take_name(dataset, "customer_unified")
    take_name(dataset, "customer_current")
    function.deliver("a1")
    (reason,) = function.dead_letters()
    (line,) = lines(capsys, "both_failed")
    assert "customer_unified" in reason
    assert "customer_current" in line["reason"]


@pytest.mark.usefixtures("shop")
def test_an_error_that_may_pass_has_the_message_delivered_again_whichever_view_it_is_of(
    function: RefreshView, dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_name(dataset, "customer_unified")
    create_view = EmulatedWarehouse.create_view

    def fails_once(*_: object) -> None:
        monkeypatch.setattr(EmulatedWarehouse, "create_view", create_view)
        raise TryAgain("the quota of writes is used up")

    monkeypatch.setattr(EmulatedWarehouse, "create_view", fails_once)
    assert function.answer("a1").status_code == 500
    assert not function.dead_letters()
    function.deliver("a1")
    assert dataset.rows("customer_current") == [(1, "new")]
    assert len(function.dead_letters()) == 1
