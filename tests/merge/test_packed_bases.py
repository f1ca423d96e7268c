"""A base of an earlier release keeps its positions as text until its rows are written anew, and can be read meanwhile."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change
from support.merge_shop import CUSTOMER, LONG_AGO, KilledError, MortalWarehouse, Shop

from onefold.core.errors import SchemaConflict
from onefold.merge.base_table import PACKED, POSITION, base_table
from onefold.merge.statements import statements
from onefold.merge.stored_base import copy_of
from onefold.schema.columns import Schema
from onefold.schema.types import Scalar
from onefold.views.reconcile import reconcile

pytestmark = pytest.mark.heavy

ROWS = {1: "a", 2: "b"}
LATE = change("UPDATE-INSERT", "1", id=2, name="late")


def an_old_shop(dataset: EmulatedDataset) -> Shop:
    """A base whose positions are text, with all rows merged, and a current view over it."""
    shop = Shop(dataset)
    shop.create("a", CUSTOMER)
    columns = {"id": "INT64", "name": "STRING", POSITION: "STRING", "_deleted": "BOOL"}
    dataset.land("customer_base", columns)
    some = [change("INSERT", str(number + 1), id=key, name=name) for number, (key, name) in enumerate(ROWS.items(), 1)]
    shop.land("a", *some, change("DELETE", "9", id=3), at=LONG_AGO)
    shop.merge()
    assert shop.current() == [{"id": key, "name": name} for key, name in ROWS.items()]
    return shop


def positions_of(shop: Shop) -> str:
    stored = shop.warehouse.read_table(base_table(shop.table))
    assert stored is not None
    return ", ".join(Schema(stored.columns).only((POSITION, PACKED)).names)


def people_see(shop: Shop) -> dict[Any, Any]:
    rows = shop.warehouse.fetch(f"SELECT * FROM {shop.dataset.quoted('customer_current')}")
    return {row["id"]: row["name"] for row in rows}


def test_a_new_base_has_packed_positions(dataset: EmulatedDataset) -> None:
    shop = Shop(dataset)
    shop.create("a", CUSTOMER)
    shop.land("a", change("INSERT", "2", id=1, name="a"))
    shop.merge()
    assert positions_of(shop) == PACKED
    shop.land("a", change("UPDATE-INSERT", "1", id=1, name="late"), change("UPDATE-INSERT", "10", id=2, name="b"))
    assert (shop.merge().written, shop.people_see()) == (1, [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}])


def test_a_base_of_an_earlier_release_is_merged_into_as_it_is_and_packed_by_a_rebuild(dataset: EmulatedDataset) -> None:
    shop = an_old_shop(dataset)
    shop.land("a", LATE)
    assert (shop.merge().written, positions_of(shop)) == (0, POSITION)
    before, shown = shop.base(), people_see(shop)
    texts = statements(shop.warehouse, shop.table, shop.settings, ["id"], rebuild=True)
    assert [PACKED in text for text in texts] == [True, True]
    assert shop.plan_and_merge(rebuild=True)[0].brought_up == "rebuilt"
    assert positions_of(shop) == PACKED
    assert (shop.base(), people_see(shop)) == (before, shown) == (before, ROWS)
    shop.land("a", LATE, change("UPDATE-INSERT", "A", id=3, name="c"))
    assert {row["id"]: row["name"] for row in shop.current()} == {**ROWS, 3: "c"}
    assert shop.merge().written == 1
    assert people_see(shop) == {**ROWS, 3: "c"}


@pytest.mark.long
def test_a_base_that_gets_another_type_is_packed_too(dataset: EmulatedDataset) -> None:
    shop = an_old_shop(dataset)
    before = shop.base()
    shop.create("b", {**CUSTOMER, "id": "NUMERIC"})
    plan, _ = shop.plan_and_merge()
    assert (plan.brought_up, positions_of(shop)) == ("converted", PACKED)
    assert shop.base() == before
    assert {column.type for column in plan.base.key_columns} == {Scalar("NUMERIC")}
    assert people_see(shop) == ROWS


@pytest.mark.long
def test_a_base_that_would_lose_rows_is_not_packed(dataset: EmulatedDataset) -> None:
    shop = an_old_shop(dataset)
    dataset.run(f"DELETE FROM {dataset.quoted('customer_v_a')} WHERE id = 1")
    with pytest.raises(SchemaConflict, match="would lose 1 row"):
        shop.merge(rebuild=True)
    assert (positions_of(shop), people_see(shop)) == (POSITION, ROWS)
    assert shop.warehouse.read_table(copy_of(shop.table)) is None


@pytest.mark.long
def test_a_rebuild_that_was_killed_leaves_a_view_that_is_right_and_the_next_merge_goes_on(dataset: EmulatedDataset) -> None:
    shop = an_old_shop(dataset)
    packed_by_the_next = 0
    for writes in itertools.count(1):
        mortal = MortalWarehouse(shop.warehouse, writes)
        try:
            reconcile(mortal, shop.table, shop.settings, ["id"], rebuild=True)
        except KilledError:
            assert people_see(shop) == ROWS, writes
            was_copied = shop.warehouse.read_table(copy_of(shop.table)) is not None and positions_of(shop) == POSITION
            shop.merge()
            assert people_see(shop) == ROWS, writes
            assert positions_of(shop) == PACKED or not was_copied
            packed_by_the_next += was_copied
            if positions_of(shop) == PACKED:
                as_text(shop)
            continue
        break
    assert positions_of(shop) == PACKED
    assert packed_by_the_next > 0
    assert [table for table in shop.warehouse.list_tables(dataset.name) if table.startswith("onefold_tmp_")] == []


def as_text(shop: Shop) -> None:
    """Give the shop a base of an earlier release again."""
    shop.dataset.run(f"DROP TABLE {shop.dataset.quoted('customer_base')}")
    columns = {"id": "INT64", "name": "STRING", POSITION: "STRING", "_deleted": "BOOL"}
    shop.dataset.land("customer_base", columns)
    shop.merge()
    shop.current()
