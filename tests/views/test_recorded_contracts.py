"""Entries of the ledger under a contract: the decision, and what readers do not notice yet."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.contract_views import contracts
from support.functions import RefreshView
from support.ledgers import StoredLedger
from support.merge_shop import CUSTOMER, Shop

from onefold.changelog.metadata import LANDED_AT
from onefold.changes.decided import decided
from onefold.changes.versions import ReportedChange
from onefold.core.names import TableId
from onefold.schema.contract_rules import Contracts, Verdicts
from onefold.schema.table_rules import TableRules

T0 = datetime(2026, 11, 1, tzinfo=UTC)
BY_ID = TableRules(keys=("id",), overlap_minutes=0)
WIDER = {"id": "STRING", "name": "STRING", "zip": "STRING", LANDED_AT: "TIMESTAMP"}
"""A key of another type, and a new column."""


def without(columns: dict[str, str], name: str) -> dict[str, str]:
    return {key: value for key, value in columns.items() if key != name}


def widened(dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch, contracts: Contracts) -> StoredLedger:
    """The ledger after a second version of a table under contracts."""
    stored = StoredLedger(dataset)
    function = RefreshView(dataset, monkeypatch, stored.ledger, rules=BY_ID, contracts=contracts)
    shop = Shop(dataset)
    for version, columns in (("a1", CUSTOMER), ("b2", WIDER)):
        shop.create(version, columns)
        function.deliver(version)
    return stored


@pytest.mark.parametrize(
    ("new_columns", "decision", "of_zip"),
    [
        ("show", "shown", ("new column", "STRING")),
        ("review", "waiting", ("hidden", "waiting")),
        ("hide", "hidden", ("hidden", "hidden")),
    ],
)
def test_a_new_column_is_recorded_as_the_views_have_it(
    dataset: EmulatedDataset,
    monkeypatch: pytest.MonkeyPatch,
    new_columns: str,
    decision: str,
    of_zip: tuple[str, str],
) -> None:
    stored = widened(dataset, monkeypatch, contracts(new_columns, "widen"))
    entry = stored.entries()[-1]
    found = {(one.kind, one.detail) for one in entry.effects if one.path == "zip"}
    assert (entry.decision, found) == (decision, {of_zip})
    view = stored.warehouse.get_view(TableId(stored.warehouse.project, dataset.name, "customer_unified"))
    assert view
    assert {"id", "name"} < {column.name for column in view.columns}
    assert ("zip" in {column.name for column in view.columns}) is (decision == "shown")


def test_the_type_of_a_key_is_shown_whatever_the_contract_says(
    dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = widened(dataset, monkeypatch, contracts("show", "review"))
    entry = stored.entries()[-1]
    assert entry.decision == "shown"
    assert {one.kind for one in entry.effects if one.path == "id"} == {"cast"}


@pytest.mark.parametrize(
    ("versions", "decision"),
    [
        ([CUSTOMER, {**CUSTOMER, "name": "INT64"}], "shown"),
        ([CUSTOMER, without(CUSTOMER, "name"), CUSTOMER | {"zip": "STRING"}], "waiting"),
        ([CUSTOMER, without(CUSTOMER, "name"), {**CUSTOMER, "id": "STRING"}], "shown"),
    ],
    ids=["a type that the view holds", "a new column", "a column that comes back"],
)
def test_what_a_view_shows_already_waits_for_nothing(
    dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch, versions: list[dict[str, str]], decision: str
) -> None:
    stored = StoredLedger(dataset)
    function = RefreshView(dataset, monkeypatch, stored.ledger, rules=BY_ID, contracts=contracts("review", "review"))
    shop = Shop(dataset)
    for number, columns in enumerate(versions):
        shop.create(f"a{number}", columns)
        function.deliver(f"a{number}")
    assert stored.entries()[-1].decision == decision


def test_a_function_with_an_older_file_lifts_a_contract_and_the_ledger_says_so(
    dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = widened(dataset, monkeypatch, contracts("review"))
    RefreshView(dataset, monkeypatch, stored.ledger, rules=BY_ID).deliver()
    entries = decided(stored.entries(), Verdicts())
    assert [one.decision for one in entries if one.version_after == "b2"] == ["shown"]
    lifted = {str(change) for one in entries for change in one.settings}
    assert lifted == {"contract.new_columns: review -> default"}


def test_a_tenant_that_migrates_after_the_contract_came_waits_for_nothing_that_views_show(
    dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored, shop = StoredLedger(dataset), Shop(dataset)
    function = RefreshView(dataset, monkeypatch, stored.ledger, rules=BY_ID)
    for version, columns in (("a", CUSTOMER), ("b", CUSTOMER | {"zip": "STRING"})):
        shop.create(version, columns)
        function.deliver(version)
    function = RefreshView(dataset, monkeypatch, stored.ledger, rules=BY_ID, contracts=contracts("review", "review"))
    function.deliver()
    reported = ReportedChange("capture", "shop_1", "ALTER TABLE customer ADD zip TEXT", T0, "a")
    function.deliver("b", reported=reported)
    (entry,) = (one for one in stored.entries() if one.tenant)
    assert (entry.decision, {one.kind for one in entry.effects}) == ("shown", {"new column"})
    shop.create("c", CUSTOMER | {"zip": "STRING", "city": "STRING"})
    for tenant in ("shop_2", "shop_3"):
        function.deliver("c", reported=ReportedChange("capture", tenant, "ALTER", T0, "b"))
    assert [one.decision for one in stored.entries() if one.version_after == "c"] == ["waiting", "waiting"]


def test_a_column_that_comes_back_is_shown_whoever_reports_it(
    dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored, shop = StoredLedger(dataset), Shop(dataset)
    function = RefreshView(dataset, monkeypatch, stored.ledger, rules=BY_ID, contracts=contracts("review", "review"))
    less = without(CUSTOMER, "name")
    for version, columns in (("a", CUSTOMER), ("b", less), ("c", {**less, "name": "STRING"})):
        shop.create(version, columns)
        function.deliver(version)
    function.deliver("c", reported=ReportedChange("pull"))
    entry = stored.entries()[-1]
    assert (entry.origin, entry.version_after, entry.decision) == ("pull", "c", "shown")
