"""Changes are recorded in the ledger before a view shows them, each once however often and by whom a message is handled."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.functions import SCHEMA_CHANGES, RefreshView
from support.ledgers import Dying, StoredLedger
from support.merge_shop import CUSTOMER, Shop
from support.sweeps import sweep
from support.turns import at_once

from onefold.changelog.metadata import LANDED_AT
from onefold.changes.digest import digests
from onefold.changes.entry import SettingChange
from onefold.changes.ids import version_change_id
from onefold.changes.ledger import Ledger
from onefold.changes.reader_counts import NOBODY
from onefold.changes.versions import ReportedChange
from onefold.core.errors import AccessDenied, OnefoldError, TryAgain
from onefold.core.names import TableId
from onefold.ports.rows import Row
from onefold.schema.columns import Column
from onefold.schema.table_rules import TableRules
from onefold.schema.types import parse_type
from onefold.settings.owners import Owner, Owners

BY_ID = TableRules(keys=("id",), overlap_minutes=0)
WIDER = {**CUSTOMER, "zip": "STRING"}
RETYPED = {"id": "STRING", "zip": "STRING", LANDED_AT: "TIMESTAMP"}


@pytest.fixture
def stored(dataset: EmulatedDataset) -> StoredLedger:
    return StoredLedger(dataset)


@pytest.fixture
def function(dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch, stored: StoredLedger) -> RefreshView:
    return RefreshView(dataset, monkeypatch, stored.ledger, rules=BY_ID)


@pytest.fixture
def shop(dataset: EmulatedDataset, function: RefreshView) -> Shop:
    """A table of one version with its views."""
    shop = Shop(dataset)
    shop.create("a1", CUSTOMER)
    function.deliver("a1")
    return shop


def reported(number: int) -> ReportedChange:
    moment = datetime(2026, 1, 1, 0, number, tzinfo=UTC)
    return ReportedChange("capture", f"shop_{number}", "ALTER TABLE customer ADD zip text DEFAULT ?", moment, "a1")


def test_a_new_version_is_one_entry_with_what_each_view_makes_of_it(
    function: RefreshView, shop: Shop, stored: StoredLedger
) -> None:
    shop.create("b2", RETYPED)
    function.deliver("b2")
    first, second = stored.entries()
    assert (first.version_before, first.version_after, first.effects) == ("", "a1", ())
    assert (second.version_before, second.version_after, second.origin) == ("a1", "b2", "discovered")
    assert second.change == version_change_id(TableId(stored.warehouse.project, shop.dataset.name, "customer"), "a1", "b2")
    found = [(one.view.rpartition(".")[2], one.kind, one.path, one.detail) for one in second.effects]
    assert found == [
        (view, kind, path, detail)
        for view in ("customer_unified", "customer_current")
        for kind, path, detail in [
            ("null", "name", "STRING"),
            ("cast", "id", "INT64 -> STRING"),
            ("new column", "zip", "STRING"),
        ]
    ]
    assert second.severity.name == "WARNING"


def test_a_message_that_comes_twice_records_nothing_more(function: RefreshView, shop: Shop, stored: StoredLedger) -> None:
    shop.create("b2", WIDER)
    for _ in range(3):
        function.deliver("b2")
    function.deliver()
    assert [one.version_after for one in stored.entries()] == ["a1", "b2"]
    assert stored.count() == 2


def test_each_tenant_of_a_migration_has_its_entry_and_the_discovery_is_left_out(
    function: RefreshView, shop: Shop, stored: StoredLedger
) -> None:
    shop.create("b2", WIDER)
    function.deliver("b2")
    assert [one.tenant for one in stored.entries()] == ["", ""]
    for number in (1, 2, 1, 3):
        function.deliver("b2", reported=reported(number))
    _, *tenants = stored.entries()
    assert [one.tenant for one in tenants] == ["shop_1", "shop_2", "shop_3"]
    assert len({one.change for one in tenants}) == 1
    assert {one.statement for one in tenants} == {reported(1).statement}
    assert [one.changed_at for one in tenants] == [reported(number).changed_at for number in (1, 2, 3)]
    assert len({(one.operations, one.effects) for one in tenants}) == 1
    assert [one.path for one in tenants[0].effects] == ["zip", "zip"]


@pytest.mark.parametrize("count", sweep([30, 300]))
def test_a_migration_of_many_tenants_is_an_entry_of_each_and_one_change_of_a_digest(
    function: RefreshView, shop: Shop, stored: StoredLedger, count: int
) -> None:
    shop.create("b2", WIDER)
    for number in range(count):
        function.deliver("b2", reported=replace(reported(0), tenant=f"shop_{number}"))
    _, *tenants = stored.entries()
    assert sorted(one.tenant for one in tenants) == sorted(f"shop_{number}" for number in range(count))
    assert len({one.id for one in tenants}) == count
    (digest,) = digests(tenants, frozenset(), Owners((Owner("*", "env:HOOK", "slack"),)))
    (change,) = digest.changes
    assert change.title == f"{shop.dataset.name}.customer (capture: {count} tenants)"
    assert sorted(digest.ids) == sorted(one.id for one in tenants)
    assert len(digest.lines(NOBODY)) == 1


def test_a_row_with_a_statement_comes_before_an_earlier_one_without(
    function: RefreshView, shop: Shop, stored: StoredLedger
) -> None:
    shop.create("b2", WIDER)
    function.deliver("b2", reported=replace(reported(1), statement=""))
    function.deliver("b2", reported=reported(1))
    _, entry = stored.entries()
    assert (entry.statement, stored.count()) == (reported(1).statement, 3)


@pytest.mark.parametrize("after", [False, True], ids=["before the rows", "after the rows"])
def test_a_change_is_listed_once_where_a_process_is_killed(
    dataset: EmulatedDataset,
    monkeypatch: pytest.MonkeyPatch,
    function: RefreshView,
    shop: Shop,
    stored: StoredLedger,
    after: bool,
) -> None:
    shop.create("b2", WIDER)
    dying = Ledger(Dying(stored.ledger, after), stored.name)
    with pytest.raises(KeyboardInterrupt):
        RefreshView(dataset, monkeypatch, dying, rules=BY_ID).deliver("b2")
    assert "zip" not in function.query_of("customer_unified")
    RefreshView(dataset, monkeypatch, stored.ledger, rules=BY_ID).deliver("b2")
    assert "zip" in function.query_of("customer_unified")
    assert [one.version_after for one in stored.entries()] == ["a1", "b2"]


def test_two_functions_at_once_list_each_change_once(function: RefreshView, shop: Shop, stored: StoredLedger) -> None:
    for name in ("b2", "c3", "d4"):
        shop.create(name, {**WIDER, name: "STRING"})
    answers: list[int] = []

    def deliver(name: str) -> None:
        status = 500
        while status == 500:  # as Pub/Sub delivers it again
            status = function.answer(name, reported=replace(reported(1), version_before="")).status_code
        answers.append(status)

    at_once(*(partial(deliver, name) for name in ("b2", "c3", "d4")))
    assert answers == [204] * 3
    _, *entries = stored.entries()
    assert sorted((one.version_before, one.version_after, one.tenant) for one in entries) == [
        ("a1", "b2", "shop_1"),
        ("b2", "c3", "shop_1"),
        ("c3", "d4", "shop_1"),
    ]


class Unwilling:
    """A table that cannot be written, for the time being or for want of a right."""

    def __init__(self, ledger: Ledger, error: OnefoldError) -> None:
        self.project, self._error = ledger.rows.project, error

    def insert_rows(self, id_: TableId, rows: Sequence[Row]) -> None:  # noqa: ARG002
        raise self._error


def test_a_view_waits_for_a_ledger_that_is_away_for_a_moment(
    dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch, function: RefreshView, shop: Shop, stored: StoredLedger
) -> None:
    shop.create("b2", WIDER)
    away = Ledger(Unwilling(stored.ledger, TryAgain("the service is unavailable")), stored.name)
    assert RefreshView(dataset, monkeypatch, away, rules=BY_ID).answer("b2").status_code == 500
    assert "zip" not in function.query_of("customer_unified")


def test_a_ledger_without_a_table_is_logged_and_what_it_lacks_is_recorded_later(
    dataset: EmulatedDataset,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    function: RefreshView,
    shop: Shop,
    stored: StoredLedger,
) -> None:
    shop.create("b2", WIDER)
    RefreshView(dataset, monkeypatch, Ledger(stored.ledger.rows, "nowhere"), rules=BY_ID).deliver("b2")
    lines = [line for line in map(json.loads, capsys.readouterr().out.splitlines()) if line["event"] == "unrecorded"]
    assert {line["entry"]["version_after"] for line in lines} == {"b2"}
    assert "nowhere.schema_changes" in lines[0]["message"]
    assert "zip" in function.query_of("customer_unified")
    assert len(stored.entries()) == 1
    RefreshView(dataset, monkeypatch, stored.ledger, rules=BY_ID).deliver("b2")
    (entry,) = stored.entries()[1:]
    assert (entry.version_after, [one.path for one in entry.effects]) == ("b2", ["zip", "zip"])
    assert function.announced("customer_unified") == [("view created", "INFO")]


def test_a_missing_right_does_not_keep_the_view_from_being_written(
    dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch, function: RefreshView, shop: Shop, stored: StoredLedger
) -> None:
    shop.create("b2", WIDER)
    denied = Ledger(Unwilling(stored.ledger, AccessDenied("Access Denied: Table t")), stored.name)
    RefreshView(dataset, monkeypatch, denied, rules=BY_ID).deliver("b2")
    assert "zip" in function.query_of("customer_unified")
    RefreshView(dataset, monkeypatch, stored.ledger, rules=BY_ID).deliver("b2")
    assert [one.version_after for one in stored.entries()] == ["a1", "b2"]


def test_rows_that_wait_are_no_announcements(
    dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch, shop: Shop, stored: StoredLedger
) -> None:
    shop.create("b2", WIDER)
    RefreshView(dataset, monkeypatch, Ledger(stored.ledger.rows, "nowhere"), rules=BY_ID).deliver("b2")
    later = RefreshView(dataset, monkeypatch, rules=BY_ID)
    later.deliver("b2")
    assert later.publisher.topics.get(SCHEMA_CHANGES, []) == []
    again = RefreshView(dataset, monkeypatch, stored.ledger, rules=BY_ID)
    again.deliver("b2")
    assert (again.publisher.topics.get(SCHEMA_CHANGES, []), len(stored.entries())) == ([], 2)


@pytest.mark.usefixtures("shop")
def test_a_setting_that_changed_is_an_entry_of_each_view(
    dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch, stored: StoredLedger
) -> None:
    text = replace(BY_ID, types=(("id", parse_type("STRING")),))
    for _ in range(2):
        RefreshView(dataset, monkeypatch, stored.ledger, rules=text).deliver("a1")
    _, *entries = stored.entries()
    assert [one.origin for one in entries] == ["settings"] * 2
    assert {one.settings for one in entries} == {(SettingChange("types.id", None, "STRING"),)}
    found = [(effect.view.rpartition(".")[2], effect.kind, effect.path) for one in entries for effect in one.effects]
    assert found == [("customer_unified", "cast", "id"), ("customer_current", "cast", "id")]
    assert {one.severity.name for one in entries} == {"WARNING"}


@pytest.mark.usefixtures("shop")
def test_a_setting_that_comes_back_is_a_change_of_its_own(
    dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch, stored: StoredLedger
) -> None:
    text = replace(BY_ID, types=(("id", parse_type("STRING")),))
    for rules in (text, BY_ID, text):
        RefreshView(dataset, monkeypatch, stored.ledger, rules=rules).deliver("a1")
    unified = [one for one in stored.entries() if one.effects and one.effects[0].view.endswith("customer_unified")]
    assert [one.settings[0].after for one in unified] == ["STRING", None, "STRING"]


@pytest.mark.usefixtures("shop")
def test_a_target_type_that_loses_values_is_critical(
    dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch, stored: StoredLedger
) -> None:
    narrow = replace(BY_ID, types=(("name", parse_type("INT64")),))
    RefreshView(dataset, monkeypatch, stored.ledger, rules=narrow).deliver("a1")
    _, entry, _ = stored.entries()
    assert (entry.effects[0].kind, entry.severity.name) == ("lossy cast", "CRITICAL")


def test_a_version_that_gains_a_column_in_place_is_discovered(
    function: RefreshView, shop: Shop, stored: StoredLedger
) -> None:
    table = TableId(stored.warehouse.project, shop.dataset.name, "customer_v_a1")
    stored.warehouse.add_columns(table, [Column("zip", parse_type("STRING"))])
    for _ in range(2):
        function.deliver()
    _, *entries = stored.entries()
    assert [(one.origin, one.effects[0].kind, one.effects[0].path) for one in entries] == [
        ("discovered", "new column", "zip")
    ] * 2
    assert [[str(operation) for operation in one.operations] for one in entries] == [["added zip STRING"]] * 2
