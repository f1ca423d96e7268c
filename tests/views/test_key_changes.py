"""Messages about tables whose key changes, is known later than their versions, or cannot be a key."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change
from support.functions import RefreshView
from support.merge_shop import CUSTOMER, Shop
from support.sweeps import sweep
from support.tenants import CODE, ID, NAME, ONE, TENANT, TWO, create, customer, land, row, version

from onefold.changelog.metadata import LANDED_AT
from onefold.landing.table import VersionedTable
from onefold.mysql.table import SourceColumn, SourceType
from onefold.schema.table_rules import TableRules
from onefold.schema.types import parse_type
from onefold.views.current_text import remembered_keys
from onefold.views.reconcile import reconcile
from onefold_lab.stand_ins.warehouse import EmulatedWarehouse

BY_ID = TableRules(keys=("id",), overlap_minutes=0)
WITHOUT_KEY = {"mail": "STRING", LANDED_AT: "TIMESTAMP"}


@pytest.fixture
def keyless(dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch) -> RefreshView:
    """The function without a key in onefold.yaml."""
    return RefreshView(dataset, monkeypatch)


@pytest.fixture
def shop(dataset: EmulatedDataset) -> Shop:
    """A version with two rows, and a version without the key with two more."""
    shop = Shop(dataset)
    shop.create("a1", CUSTOMER)
    shop.land("a1", change("INSERT", "1", id=1, name="x"), change("INSERT", "2", id=2, name="y"))
    shop.create("b2", WITHOUT_KEY)
    shop.land("b2", change("INSERT", "3", mail="m"), change("INSERT", "4", mail="n"))
    return shop


def lines(capsys: pytest.CaptureFixture[str], event: str) -> list[dict[str, Any]]:
    found = map(json.loads, capsys.readouterr().out.splitlines())
    return [line for line in found if line["event"] == event]


def declare(dataset: EmulatedDataset, table: VersionedTable, *key: str) -> None:
    id_ = customer(dataset).sibling(table.name)
    EmulatedWarehouse(dataset.client).create_table(id_, table.columns, primary_key=(*TENANT, *key))


# A version without the key.


@pytest.mark.usefixtures("shop")
def test_a_version_without_the_key_is_an_error_that_names_the_version(
    dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    function = RefreshView(dataset, monkeypatch, rules=BY_ID)
    function.deliver("b2")
    (reason,) = function.dead_letters()
    assert "customer_v_b2 has no column id for the key; `retire` the version in onefold.yaml" in reason
    assert EmulatedWarehouse(dataset.client).list_views(dataset.name) == ("customer_unified",)


@pytest.mark.usefixtures("shop")
def test_a_retired_version_needs_no_key(dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    function = RefreshView(dataset, monkeypatch, rules=TableRules(keys=("id",), retired=frozenset({"b2"})))
    function.deliver("a1")
    assert dataset.rows("customer_current") == [(1, "x"), (2, "y")]


def test_a_captured_table_whose_key_gets_a_column_has_a_view_of_all_versions(
    keyless: RefreshView, dataset: EmulatedDataset
) -> None:
    """The key's new column is in no earlier version. Capture copies the table, and deletes the rows of the former key."""
    old, new = version(ID, NAME), version(ID, CODE, NAME)
    declare(dataset, old, "id")
    land(dataset, old, *(row("s/a", str(number), id=number, name="x") for number in (1, 2)))
    keyless.deliver(old.version)
    declare(dataset, new, "id", "code")
    key = ("id", "code")
    land(dataset, new, *(row("s/a", f"1{number}", key, id=number, code=number, name="y") for number in (1, 2)))
    land(dataset, new, *(row("s/a", f"2{number}", key, kind="DELETE", id=number) for number in (1, 2)))
    keyless.deliver(new.version)
    assert not keyless.dead_letters()
    assert remembered_keys(keyless.query_of()) == (*TENANT, *key)
    rows = dataset.run(f"SELECT id, code, name FROM {dataset.quoted('customer_current')} ORDER BY id")
    assert rows == [(1, 1, "y"), (2, 2, "y")]


def test_a_key_that_is_widened_while_the_columns_stay_is_found_by_the_nightly_check(
    keyless: RefreshView, dataset: EmulatedDataset
) -> None:
    declare(dataset, ONE, "id")
    land(dataset, ONE, row("s/a", "1", id=1, code=1, name="x"))
    keyless.deliver(ONE.version)
    land(dataset, ONE, *(row("s/a", str(code), ("id", "code"), id=1, code=code, name="y") for code in (2, 3)))
    assert len(dataset.rows("customer_current")) == 1
    keyless.deliver()
    assert len(dataset.rows("customer_current")) == 3
    assert not keyless.dead_letters()


# A message before the rows.


def test_while_versions_declare_other_keys_the_same_message_looks_at_the_key_again(
    keyless: RefreshView, dataset: EmulatedDataset
) -> None:
    declare(dataset, ONE, "id")
    land(dataset, ONE, row("s/a", "1", id=1, code=1, name="x"))
    keyless.deliver(ONE.version)
    declare(dataset, TWO, "id", "code")
    keyless.deliver(TWO.version)
    assert remembered_keys(keyless.query_of()) == (*TENANT, "id")
    land(dataset, TWO, *(row("s/a", str(code), ("id", "code"), id=1, code=code, name="y") for code in (2, 3)))
    keyless.deliver(TWO.version)
    assert remembered_keys(keyless.query_of()) == (*TENANT, "id", "code")
    assert len(dataset.rows("customer_current")) == 3


def test_where_all_versions_declare_the_key_the_same_message_reads_nothing_again(
    keyless: RefreshView, dataset: EmulatedDataset, capsys: pytest.CaptureFixture[str]
) -> None:
    declare(dataset, ONE, "id")
    declare(dataset, TWO, "ID")
    keyless.deliver(TWO.version)
    (first,) = lines(capsys, "current_refreshed")
    keyless.deliver(TWO.version)
    (line,) = lines(capsys, "current_refreshed")
    assert (first["shortcut"], line["shortcut"], line["calls"]) == (False, True, 4)


def test_versions_that_agree_again_end_the_second_look(
    keyless: RefreshView, dataset: EmulatedDataset, capsys: pytest.CaptureFixture[str]
) -> None:
    declare(dataset, ONE, "id")
    declare(dataset, TWO, "code")
    land(dataset, TWO, row("s/a", "1", ("code",), id=1, code=1, name="x"))
    for _ in range(2):
        keyless.deliver(TWO.version)
    assert [line["shortcut"] for line in lines(capsys, "current_refreshed")] == [False, False]
    dataset.run(f"DROP TABLE {dataset.quoted(ONE.name)}")
    for _ in range(2):
        keyless.deliver(TWO.version)
    assert [line["shortcut"] for line in lines(capsys, "current_refreshed")] == [False, True]


@pytest.mark.long
def test_a_merge_writes_the_same_text_while_versions_declare_other_keys(
    keyless: RefreshView, dataset: EmulatedDataset
) -> None:
    declare(dataset, ONE, "id")
    land(dataset, ONE, row("s/a", "1", id=1, code=1, name="x"))
    warehouse = EmulatedWarehouse(dataset.client)
    reconcile(warehouse, customer(dataset), keyless.settings)
    declare(dataset, TWO, "id", "code")
    keyless.deliver(TWO.version)
    reconcile(warehouse, customer(dataset), keyless.settings)
    text = keyless.query_of()
    keyless.deliver()
    assert keyless.query_of() == text


def test_a_table_whose_key_only_rows_tell_gets_its_view_when_the_same_message_comes_after_the_rows(
    keyless: RefreshView, dataset: EmulatedDataset, capsys: pytest.CaptureFixture[str]
) -> None:
    create(dataset, ONE)
    for _ in range(2):
        keyless.deliver(ONE.version)
    (line,) = lines(capsys, "no_current")
    assert "no row has landed yet" in line["reason"]
    land(dataset, ONE, row("s/a", "1", id=1, code=1, name="x"))
    keyless.deliver(ONE.version)
    assert dataset.run(f"SELECT id, name FROM {dataset.quoted('customer_current')}") == [(1, "x")]


# A key without equality.


def test_a_floating_point_key_is_skipped_and_the_log_says_so_once(
    keyless: RefreshView, dataset: EmulatedDataset, capsys: pytest.CaptureFixture[str]
) -> None:
    table = version(SourceColumn("price", SourceType("double")), NAME)
    create(dataset, table)
    land(dataset, table, row("s/a", "1", ("price",), price=0.5, name="x"))
    for asked in (table.version, table.version, None):
        keyless.deliver(asked)
    (line,) = lines(capsys, "no_current")
    assert "the key price is FLOAT64, which has no equality" in line["reason"]
    assert not keyless.dead_letters()


def test_a_key_that_becomes_floating_point_is_an_error_and_the_view_stays(
    dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    Shop(dataset).create("a1", CUSTOMER)
    RefreshView(dataset, monkeypatch, rules=BY_ID).deliver("a1")
    function = RefreshView(dataset, monkeypatch, rules=replace(BY_ID, types=(("id", parse_type("FLOAT64")),)))
    before = function.query_of()
    function.deliver("a1")
    assert "the key id is FLOAT64" in "".join(function.dead_letters())
    assert function.query_of() == before


# A table of the base name.


@pytest.mark.parametrize("columns", sweep(["id INT64, note STRING", "id INT64, _position STRING, _deleted BOOL"]))
def test_a_table_that_holds_no_changes_does_not_hide_the_versions(
    dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    shop = Shop(dataset)
    shop.create("a1", CUSTOMER)
    shop.land("a1", change("INSERT", "1", id=1, name="x"))
    dataset.run(f"CREATE TABLE {dataset.quoted('customer')} ({columns})")
    function = RefreshView(dataset, monkeypatch, rules=BY_ID)
    function.deliver("a1")
    assert not function.dead_letters()
    assert dataset.rows("customer_current") == [(1, "x")]
    reconcile(shop.warehouse, shop.table, function.settings)
    assert len(shop.base()) == 1
