"""An entry about a version is one however often a message about it comes, whatever became of the versions before."""

from __future__ import annotations

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.functions import RefreshView
from support.ledgers import StoredLedger
from support.merge_shop import CUSTOMER, Shop

from onefold.changes.versions import ReportedChange
from onefold.schema.table_rules import TableRules

RETYPED = CUSTOMER | {"id": "STRING", "zip": "STRING"}


@pytest.fixture
def stored(dataset: EmulatedDataset) -> StoredLedger:
    return StoredLedger(dataset)


@pytest.fixture
def function(dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch, stored: StoredLedger) -> RefreshView:
    return RefreshView(dataset, monkeypatch, stored.ledger, rules=TableRules(keys=("id",), overlap_minutes=0))


@pytest.fixture
def shop(dataset: EmulatedDataset, function: RefreshView) -> Shop:
    """A table of one version with its views."""
    shop = Shop(dataset)
    shop.create("a1", CUSTOMER)
    function.deliver("a1")
    return shop


def test_a_message_that_comes_again_once_the_version_before_is_dropped_is_no_second_entry(
    function: RefreshView, shop: Shop, stored: StoredLedger
) -> None:
    for version, columns in (("b2", CUSTOMER | {"zip": "STRING"}), ("c3", RETYPED)):
        shop.create(version, columns)
        function.deliver(version, reported=ReportedChange("pull", version_before="a1"))
    before = [(one.id, one.version_before, one.operations) for one in stored.entries()]
    shop.dataset.run(f"DROP TABLE {shop.dataset.quoted('customer_v_b2')}")
    function.deliver("c3", reported=ReportedChange("pull", version_before="b2"))
    shop.dataset.run(f"DROP TABLE {shop.dataset.quoted('customer_v_a1')}")
    function.deliver("c3", reported=ReportedChange("pull"))
    versions = [one for one in stored.entries() if one.version_after]
    assert [(one.id, one.version_before, one.operations) for one in versions] == before


def test_a_version_that_was_dropped_and_came_again_is_a_second_entry(
    function: RefreshView, shop: Shop, stored: StoredLedger
) -> None:
    for _ in range(2):
        shop.create("b2", RETYPED)
        function.deliver("b2")
        shop.dataset.run(f"DROP TABLE {shop.dataset.quoted('customer_v_b2')}")
        function.deliver()
    assert [one.version_after for one in stored.entries() if one.version_after] == ["a1", "b2", "b2"]
