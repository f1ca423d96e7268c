"""A base follows the unified schema, and survives a death at any point of it."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change
from support.merge_shop import CUSTOMER, LONG_AGO, KilledError, MortalWarehouse, Shop

from onefold.core.errors import SchemaConflict
from onefold.merge.apply import purge
from onefold.merge.statements import statements
from onefold.schema.table_rules import TableRules
from onefold.schema.types import Scalar
from onefold.views.reconcile import reconcile

pytestmark = pytest.mark.long


def test_a_new_column_is_added_and_a_column_without_a_version_is_emptied_with_its_row(dataset: EmulatedDataset) -> None:
    shop = Shop(dataset)
    shop.create("a", {**CUSTOMER, "secret": "STRING"})
    shop.land("a", change("INSERT", "1", id=1, name="a", secret="s"), change("INSERT", "2", id=2, name="b", secret="t"))
    shop.merge()
    shop.create("b", {**CUSTOMER, "born": "DATE"})
    dataset.run(f"DROP TABLE {dataset.quoted('customer_v_a')}")
    shop.land(
        "b", change("DELETE", "3", id=1, name="a", born=None), change("INSERT", "4", id=3, name="c", born="2020-01-01")
    )
    assert shop.plan_and_merge()[0].brought_up == "extended"
    first, second, third = shop.base()
    assert (first["_deleted"], first["name"], first["secret"]) == (True, None, None)
    assert (second["secret"], second["born"]) == ("t", None)
    assert (third["secret"], str(third["born"])) == (None, "2020-01-01")


def test_stored_values_are_converted_where_that_is_as_good_as_one_step(dataset: EmulatedDataset) -> None:
    """DATE to DATETIME: what the first merge read is not read again."""
    shop = Shop(dataset)
    shop.create("a", {**CUSTOMER, "seen": "DATE"})
    shop.land("a", change("INSERT", "1", id=1, name="a", seen="2020-01-01"), at=LONG_AGO)
    shop.merge()
    shop.create("b", {**CUSTOMER, "seen": "DATETIME"})
    shop.land("b", change("INSERT", "2", id=2, name="b", seen="2020-01-02 03:04:05"))
    plan, counts = shop.plan_and_merge()
    assert (plan.brought_up, counts.changes) == ("converted", 1)
    assert [str(row["seen"]) for row in shop.people_see()] == ["2020-01-01 00:00:00", "2020-01-02 03:04:05"]
    assert [row["finished_as"] for row in shop.log()] == ["create", "merge", "converting", "convert", "merge"]


def test_values_that_two_steps_would_change_come_from_the_change_tables_again(dataset: EmulatedDataset) -> None:
    """BOOL was stored as INT64; as text it is `true` and not `1`."""
    shop = Shop(dataset)
    shop.create("a", {**CUSTOMER, "flag": "BOOL"})
    shop.create("b", {**CUSTOMER, "flag": "INT64"})
    shop.land("a", change("INSERT", "1", id=1, name="a", flag=True), change("DELETE", "9", id=3, name="gone", flag=False))
    shop.land("b", change("INSERT", "2", id=2, name="b", flag=7))
    shop.merge()
    assert [row["flag"] for row in shop.people_see()] == [1, 7]
    shop.create("c", {**CUSTOMER, "flag": "STRING"})
    assert shop.plan_and_merge()[0].brought_up == "rebuilt"
    assert [row["flag"] for row in shop.base()] == ["true", "7", None]
    assert [row["finished_as"] for row in shop.log()] == ["create", "merge", "rebuilding", "rebuild", "merge"]


def test_a_base_that_would_lose_rows_or_values_is_left_as_it_is(dataset: EmulatedDataset) -> None:
    shop = Shop(dataset)
    shop.create("a", {**CUSTOMER, "flag": "BOOL"})
    shop.create("b", {**CUSTOMER, "flag": "INT64"})
    shop.land("a", change("INSERT", "1", id=1, name="expires", flag=True), change("INSERT", "2", id=2, name="b", flag=False))
    shop.merge()
    before = shop.base()
    dataset.run(f"DELETE FROM {dataset.quoted('customer_v_a')} WHERE id = 1")
    shop.create("c", {**CUSTOMER, "flag": "STRING"})
    with pytest.raises(SchemaConflict) as raised:
        shop.merge()
    text = str(raised.value)
    assert all(
        word in text for word in ("column flag is INT64", "STRING by now", "lose 1 row that", "`types`", "--from-snapshot")
    )
    with pytest.raises(SchemaConflict, match="lose 1 row that"):
        shop.current()
    assert shop.base() == before
    shop.rules = TableRules(overlap_minutes=0, types=(("flag", Scalar("INT64")),))
    shop.merge()
    assert [row["flag"] for row in shop.people_see()] == [1, 0]


def test_a_rebuild_on_demand_mends_a_base_and_keeps_what_people_see(dataset: EmulatedDataset) -> None:
    shop = Shop(dataset)
    shop.create("a", CUSTOMER)
    shop.land("a", change("INSERT", "1", id=1, name="a"), change("DELETE", "2", id=2, name="b"), at=LONG_AGO)
    shop.merge()
    before = shop.base()
    dataset.run(f"UPDATE {dataset.quoted('customer_base')} SET name = 'spoilt' WHERE id = 1")
    plan, counts = shop.plan_and_merge()
    assert (plan.brought_up, counts.written) == (None, 0)
    plan, counts = shop.plan_and_merge(rebuild=True)
    assert (plan.brought_up, counts.changes) == ("rebuilt", 0)
    assert shop.base() == before


def test_what_a_merge_would_run_can_be_shown_first(dataset: EmulatedDataset) -> None:
    shop = Shop(dataset)
    shop.create("a", CUSTOMER)
    shown = statements(shop.warehouse, shop.table, shop.settings, shop.keys)
    assert [text.split("`")[0].strip() for text in shown] == [*["CREATE TABLE IF NOT EXISTS"] * 2, "MERGE INTO"]
    assert not [item for item in dataset.client.list_tables(dataset.name) if item.table_id != "customer_v_a"]
    shop.merge()
    shop.create("b", {**CUSTOMER, "born": "DATE"})
    shown = statements(shop.warehouse, shop.table, shop.settings, shop.keys)
    assert [text.split("`")[0].strip() for text in shown] == ["ALTER TABLE", "MERGE INTO"]


@pytest.mark.parametrize(
    "second", [{"born": "DATE"}, {"seen": "DATETIME"}, {"flag": "STRING"}], ids=["add", "convert", "rebuild"]
)
def test_a_merge_that_is_killed_after_any_write_and_run_again_ends_the_same(
    dataset: EmulatedDataset, second: dict[str, str]
) -> None:
    """Each run gets one write further than the one before, until one gets through."""
    shop = Shop(dataset)
    shop.create("a", {**CUSTOMER, "seen": "DATE", "flag": "BOOL"})
    shop.create("b", {**CUSTOMER, "flag": "INT64"})
    first = [
        change("INSERT", "1", id=1, name="a", seen="2020-01-01", flag=True),
        change("DELETE", "4", timestamp=1000, id=2, name="b", seen=None, flag=None),
    ]
    shop.land("a", *first, at=LONG_AGO)
    if "born" in second:  # the base is made alike each time
        assert run_until_it_gets_through(shop) > 3
    else:
        shop.merge()
    shop.create("c", {**CUSTOMER, **second})
    others: dict[str, Any] = dict.fromkeys(second)
    shop.land("c", change("UPDATE-INSERT", "3", id=1, name="new", **others), at=LONG_AGO)
    shop.land("a", change("INSERT", "2", id=2, name="late", seen=None, flag=None))
    assert run_until_it_gets_through(shop) > 1
    assert [(row["id"], row["name"]) for row in shop.people_see()] == [(1, "new")]
    assert [(row["id"], row["_deleted"]) for row in shop.base()] == [(1, False), (2, True)]


def test_a_purge_that_is_killed_between_its_floor_and_its_deletion_has_done_no_harm(dataset: EmulatedDataset) -> None:
    shop = Shop(dataset)
    shop.create("a", CUSTOMER)
    shop.land("a", change("DELETE", "9", timestamp=1000, id=1, name="a"))
    plan, _ = shop.plan_and_merge()
    with pytest.raises(KilledError):
        purge(MortalWarehouse(shop.warehouse, 1), plan, 1)
    shop.land("a", change("UPDATE-INSERT", "8", id=1, name="late"), change("INSERT", "10", id=2, name="b"))
    shop.merge()
    assert [(row["id"], row["_deleted"]) for row in shop.base()] == [(1, True), (2, False)]
    plan, _ = shop.plan_and_merge()
    assert purge(shop.warehouse, plan, 1) == 1


def run_until_it_gets_through(shop: Shop) -> int:
    for writes in itertools.count(1):
        mortal: Any = MortalWarehouse(shop.warehouse, writes)
        try:
            reconcile(mortal, shop.table, shop.settings, shop.keys)
        except KilledError:
            continue
        return writes
    raise AssertionError


def test_a_merge_that_was_killed_after_it_converted_a_base_does_not_forget_a_version_that_is_gone(
    dataset: EmulatedDataset,
) -> None:
    """BOOL was stored as INT64, and its version was dropped: as text it is `true`, which nothing can tell any more."""
    shop = Shop(dataset)
    shop.create("a", {**CUSTOMER, "flag": "BOOL", "seen": "DATE"})
    shop.create("b", {**CUSTOMER, "flag": "INT64", "seen": "DATE"})
    shop.land("a", change("INSERT", "1", id=1, name="a", flag=True, seen="2020-01-01"))
    shop.merge()
    dataset.run(f"DROP TABLE {dataset.quoted('customer_v_a')}")
    shop.create("c", {**CUSTOMER, "flag": "INT64", "seen": "DATETIME"})
    with pytest.raises(KilledError):
        shop.merge(warehouse=MortalWarehouse(shop.warehouse, 3))
    assert shop.log()[-1]["finished_as"] == "converting"
    assert [str(row["seen"]) for row in shop.people_see()] == ["2020-01-01 00:00:00"]
    shop.merge()
    shop.create("d", {**CUSTOMER, "flag": "STRING", "seen": "DATETIME"})
    with pytest.raises(SchemaConflict, match=r"column flag is INT64 .* a rebuild would lose 1 row"):
        shop.merge()
    assert [row["flag"] for row in shop.people_see()] == [1]
