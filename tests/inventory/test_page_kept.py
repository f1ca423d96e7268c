"""What a page takes of the ledger and of contracts: real views and a real ledger in the embedded BigQuery."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.contract_views import contracts
from support.functions import RefreshView
from support.ledgers import StoredLedger
from support.merge_shop import CUSTOMER, Shop

from onefold.changes.decisions import create_decisions, decide
from onefold.changes.page.dataset import PageTable
from onefold.changes.versions import ReportedChange
from onefold.inventory.page_source import read_kept, read_page
from onefold.schema.table_rules import TableRules
from onefold.settings.environment import Settings
from onefold_lab.stand_ins.warehouse import EmulatedWarehouse

WIDER = {**CUSTOMER, "zip": "STRING"}
REPORTED = ReportedChange(
    "capture", "shop_1", "ALTER TABLE customer ADD zip text DEFAULT ?", datetime(2026, 1, 1, tzinfo=UTC), "a1"
)


@pytest.fixture
def stored(dataset: EmulatedDataset) -> StoredLedger:
    return StoredLedger(dataset)


@pytest.fixture
def read(dataset: EmulatedDataset, stored: StoredLedger, monkeypatch: pytest.MonkeyPatch) -> Callable[[], PageTable]:
    """Reads a table with a column that waits, which a capture reported."""
    rules = TableRules(keys=("id",), overlap_minutes=0)
    function = RefreshView(dataset, monkeypatch, stored.ledger, rules=rules, contracts=contracts("review"))
    shop = Shop(dataset)
    shop.create("a1", CUSTOMER)
    function.deliver("a1")
    shop.create("b2", WIDER)
    function.deliver("b2", reported=REPORTED)
    settings = replace(function.settings, changes_dataset=stored.name)
    warehouse = EmulatedWarehouse(dataset.client)

    def read() -> PageTable:
        (table,) = read_page(warehouse, dataset.name, settings, read_kept(warehouse, dataset.name, settings)).tables
        return table

    return read


@pytest.fixture
def page_table(read: Callable[[], PageTable]) -> PageTable:
    return read()


def test_the_page_has_the_statement_and_the_decision_of_the_ledger(page_table: PageTable) -> None:
    (change,) = (one for one in page_table.changes if one.after == "b2")
    assert (change.statement, change.tenant, change.decision) == (REPORTED.statement, "shop_1", "waiting")


def test_the_page_says_what_was_decided_and_when(read: Callable[[], PageTable], stored: StoredLedger) -> None:
    (waiting,) = (one for one in read().changes if one.after == "b2")
    create_decisions(stored.warehouse, stored.name)
    decide(stored.warehouse, stored.name, [(waiting.id, "")], "reject")
    (change,) = (one for one in read().changes if one.after == "b2")
    assert (waiting.decided_at, change.decision) == (None, "rejected")
    assert change.decided_at


def test_a_column_that_waits_has_a_cell_that_names_the_change(page_table: PageTable) -> None:
    (column,) = (one for one in page_table.columns if one.name == "zip")
    assert [column.kind(place) for place in range(2)] == ["absent", "waiting"]


def test_a_ledger_that_is_missing_is_a_warning_of_the_page(dataset: EmulatedDataset) -> None:
    kept = read_kept(EmulatedWarehouse(dataset.client), dataset.name, Settings(changes_dataset="nowhere"))
    (warning,) = kept.warnings
    assert "onefold changes create" in warning
