"""Decisions that cannot be read: rows land and are merged as ever, views stay as they are, and the log names the table."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change
from support.contract_views import contracts
from support.functions import RefreshView
from support.merge_shop import CUSTOMER, Shop, merge

from onefold.changes.decisions import create_decisions
from onefold.schema.table_rules import TableRules

BY_ID = TableRules(keys=("id",), overlap_minutes=0)
REVIEW = contracts("review", "review")


@pytest.fixture
def shop(dataset: EmulatedDataset) -> Shop:
    shop = Shop(dataset, rules=BY_ID, contracts=REVIEW)
    shop.create("a", CUSTOMER)
    shop.land("a", change("INSERT", "1/1", id=1, name="a"))
    return shop


@pytest.fixture
def function(dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch, shop: Shop) -> RefreshView:
    """The function, after a second version brought a column that waits, and while the decisions cannot be read."""
    function = RefreshView(dataset, monkeypatch, rules=BY_ID, contracts=REVIEW, changes_dataset=dataset.name)
    merge(shop.warehouse, shop.table, shop.settings, ("id",))
    function.deliver("a")
    shop.create("b", CUSTOMER | {"zip": "STRING"})
    function.deliver("b")
    dataset.land("schema_change_decisions", {"change": "STRING", "verdict": "STRING"})
    return function


def shown(shop: Shop, view: str) -> list[object]:
    return [id_ for (id_,) in shop.dataset.run(f"SELECT id FROM {shop.dataset.quoted(view)} ORDER BY id")]


def test_a_new_version_changes_no_view_and_the_message_is_dead_lettered_with_the_name_of_the_table(
    shop: Shop, function: RefreshView
) -> None:
    before = [function.query_of(view) for view in ("customer_unified", "customer_current")]
    shop.create("c", CUSTOMER | {"zip": "STRING", "fax": "STRING"})
    function.deliver("c")
    assert [function.query_of(view) for view in ("customer_unified", "customer_current")] == before
    (reason,) = function.dead_letters()
    assert "schema_change_decisions: " in reason
    assert "expected the columns decided_at TIMESTAMP, change STRING, path STRING, verdict STRING" in reason


def test_rows_land_and_are_shown_those_of_a_new_version_once_the_decisions_can_be_read(
    shop: Shop, function: RefreshView
) -> None:
    shop.land("b", change("INSERT", "1/2", id=2, name="b", zip="z"))
    shop.create("c", CUSTOMER | {"zip": "STRING", "fax": "STRING"})
    shop.land("c", change("INSERT", "1/3", id=3, name="c", zip="z", fax="f"))
    function.deliver("c")
    assert [shown(shop, view) for view in ("customer_unified", "customer_current")] == [[1, 2], [1, 2]]
    shop.dataset.run(f"DROP TABLE {shop.dataset.quoted('schema_change_decisions')}")
    create_decisions(shop.warehouse, shop.dataset.name)
    function.deliver()
    assert [shown(shop, view) for view in ("customer_unified", "customer_current")] == [[1, 2, 3], [1, 2, 3]]


@pytest.mark.usefixtures("function")
def test_a_merge_brings_all_rows_into_the_base(shop: Shop) -> None:
    shop.create("c", CUSTOMER | {"zip": "STRING", "fax": "STRING"})
    shop.land("c", change("INSERT", "1/3", id=3, name="c", zip="z", fax="f"))
    merge(shop.warehouse, shop.table, replace(shop.settings, changes_dataset=shop.dataset.name), ("id",))
    assert [row["id"] for row in shop.base()] == [1, 3]
