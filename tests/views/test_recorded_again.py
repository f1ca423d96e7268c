"""An entry about a version is one however often a message about it comes, whatever became of the versions before.

And a change of a view that is of no new version has an entry of its own.
"""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.contract_views import contracts
from support.functions import RefreshView
from support.ledgers import Dying, StoredLedger
from support.merge_shop import CUSTOMER, Shop

from onefold.changes.ledger import Ledger
from onefold.changes.versions import ReportedChange
from onefold.core.names import TableId
from onefold.schema.columns import Column
from onefold.schema.contract_rules import NewColumns
from onefold.schema.table_rules import TableRules
from onefold.schema.types import parse_type

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


@pytest.mark.parametrize("gone", [True, False], ids=["a version is dropped", "a column comes in place"])
def test_what_else_a_view_takes_up_with_a_new_version_has_its_entry(
    function: RefreshView, shop: Shop, stored: StoredLedger, gone: bool
) -> None:
    shop.create("b2", CUSTOMER | {"old": "STRING"})
    function.deliver("b2")
    table = TableId(stored.warehouse.project, shop.dataset.name, "customer_v_b2")
    if gone:
        shop.dataset.run(f"DROP TABLE {shop.dataset.quoted(table.table)}")
    else:
        stored.warehouse.add_columns(table, [Column("p", parse_type("STRING"))])
    shop.create("c3", CUSTOMER | {"q": "STRING"})
    function.deliver("c3")
    function.deliver("c3")
    found: list[tuple[str, str]] = [
        (one.kind, one.path) for entry in stored.entries() for one in entry.effects if one.view.endswith("_unified")
    ]
    effect = ("removed", "old") if gone else ("new column", "p")
    assert (found.count(effect), found.count(("new column", "q"))) == (1, 1)


@pytest.mark.parametrize("new_columns", ["show", "review"])
def test_a_change_in_place_is_listed_once_where_another_comes_before_the_view_is_written(
    dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch, shop: Shop, stored: StoredLedger, new_columns: NewColumns
) -> None:
    table = TableId(stored.warehouse.project, shop.dataset.name, "customer_v_a1")
    for name, ledger in (("p", Ledger(Dying(stored.ledger, after=True), stored.name)), ("q", stored.ledger)):
        stored.warehouse.add_columns(table, [Column(name, parse_type("STRING"))])
        function = RefreshView(
            dataset, monkeypatch, ledger, rules=TableRules(keys=("id",)), contracts=contracts(new_columns)
        )
        with pytest.raises(KeyboardInterrupt) if name == "p" else nullcontext():
            function.deliver()
    found = [one.path for entry in stored.entries() for one in entry.effects if one.view.endswith("_unified")]
    assert (found.count("p"), found.count("q")) == (1, 1)
