"""The current view shows the same rows before and after a merge, whatever the merge does with them."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change, land_changes
from support.cli import Run
from support.merge_shop import CUSTOMER, LONG_AGO, KilledError, MortalWarehouse, Shop
from support.sweeps import sweep

from onefold.changelog.metadata import LANDED_AT
from onefold.core.errors import SchemaConflict
from onefold.merge.apply import merge_snapshot
from onefold.merge.base_table import base_table
from onefold.ports.warehouse import WriteResult
from onefold.schema.table_rules import TableRules
from onefold.schema.types import parse_type
from onefold.views.reconcile import reconcile
from onefold_lab.stand_ins.warehouse import EmulatedWarehouse

LAST_YEAR = 1_600_000_000_000


def rows_of(dataset: EmulatedDataset, view: str = "customer_current", columns: str = "*") -> list[tuple[Any, ...]]:
    return sorted(dataset.run(f"SELECT {columns} FROM {dataset.quoted(view)}"), key=str)


def names(rows: list[dict[str, Any]]) -> dict[Any, str]:
    return {row["id"]: row["name"] for row in rows}


# A change table without versions.


def test_target_types_of_a_table_without_versions_are_those_of_its_view(run: Run, dataset: EmulatedDataset) -> None:
    """Of a key that is converted, values that were different become one: 1.2 and 1.4 become 1."""
    columns = {"id": "STRING", "born": "INT64"}
    changes = [change("INSERT", str(number), id=f"{number}", born=1_000 * number) for number in (1, 2)]
    land_changes(dataset, "customer", columns, [*changes, change("UPDATE-INSERT", "9", id="01", born=5_000)])
    types = "{id: INT64, born: {type: TIMESTAMP, from: unix_millis}}"
    Path("onefold.yaml").write_text(f"tables: {{customer: {{keys: [id], version_column: version, types: {types}}}}}")
    shown = []
    for command in ("current", "merge", "current"):
        outcome = run(command, dataset.name, "customer")
        assert outcome.code == 0, outcome.err
        shown.append(rows_of(dataset, columns="id, STRING(born, 'UTC')"))
    assert shown == [[(1, "1970-01-01 00:00:05+00"), (2, "1970-01-01 00:00:02+00")]] * 3


# The window of what was not merged yet.


@pytest.mark.parametrize("other", sweep(["DATE", "DATETIME"]))
def test_a_version_whose_times_of_landing_are_no_timestamps_is_read_whole(dataset: EmulatedDataset, other: str) -> None:
    shop = Shop(dataset)
    shop.create("a", {**CUSTOMER, LANDED_AT: other})
    shop.create("b", CUSTOMER)
    shop.land("a", change("INSERT", "1", id=1, name="old"), at=LONG_AGO[:10])
    shop.merge()
    shop.land("a", change("UPDATE-INSERT", "2", id=1, name="new"), at=LONG_AGO[:10])
    assert names(shop.current()) == {1: "new"}
    shop.merge()
    assert names(shop.current()) == {1: "new"}


def test_a_table_of_a_version_that_was_made_again_is_read_whole(dataset: EmulatedDataset) -> None:
    """A restored table has rows that landed before the last merge, and that no merge has read: no more than there were."""
    shop = Shop(dataset)
    shop.create("a", CUSTOMER)
    shop.land("a", change("INSERT", "1", id=1, name="old"), change("INSERT", "1", id=3, name="c"), at=LONG_AGO)
    shop.merge()
    dataset.run(f"DROP TABLE {dataset.quoted('customer_v_a')}")
    shop.create("a", CUSTOMER)
    shop.land("a", change("UPDATE-INSERT", "2", id=1, name="restored"), change("INSERT", "3", id=2, name="b"), at=LONG_AGO)
    assert names(shop.current()) == {1: "restored", 2: "b", 3: "c"}
    assert shop.merge().changes == 2
    assert names(shop.people_see()) == {1: "restored", 2: "b", 3: "c"}
    assert shop.merge().changes == 0


# A base that is left out.


@pytest.mark.long
def test_a_row_that_was_purged_stays_away_while_the_base_is_left_out(dataset: EmulatedDataset) -> None:
    """The history has lost the deletion, and the base cannot be read in its new types until a merge rebuilds it."""
    shop = Shop(dataset)
    shop.create("a", {**CUSTOMER, "flag": "BOOL"})
    shop.rules = TableRules(overlap_minutes=0, types=(("flag", parse_type("INT64")),))
    people = [change("INSERT", str(number), id=number, name="x", flag=True) for number in (1, 2)]
    shop.land("a", *people, change("DELETE", "5", timestamp=LAST_YEAR, id=1), at=LONG_AGO)
    reconcile(shop.warehouse, shop.table, shop.settings, ["id"], purge_after_days=30)
    dataset.run(f"DELETE FROM {dataset.quoted('customer_v_a')} WHERE flag IS NULL")
    shop.land("a", change("INSERT", "6", id=3, name="z", flag=False))
    shop.rules = TableRules(overlap_minutes=0, types=(("flag", parse_type("STRING")), ("id", parse_type("STRING"))))
    expected = [{"id": "2", "name": "x", "flag": "true"}, {"id": "3", "name": "z", "flag": "false"}]
    assert shop.current() == expected
    reconcile(shop.warehouse, shop.table, shop.settings, ["id"])
    assert shop.current() == expected
    assert [table for table in shop.warehouse.list_tables(dataset.name) if table.startswith("onefold_tmp_")] == []


# A base that people dropped, as errors advise.


@pytest.mark.long
def test_a_base_that_was_dropped_hides_no_row_while_it_is_made_again(dataset: EmulatedDataset) -> None:
    shop = Shop(dataset)
    shop.create("a", CUSTOMER)
    shop.land("a", change("INSERT", "1", id=1, name="x"), at=LONG_AGO)
    shop.merge()
    assert names(shop.current()) == {1: "x"}
    dataset.run(f"DROP TABLE {dataset.quoted('customer_base')}")
    for writes in itertools.count(1):
        mortal = MortalWarehouse(shop.warehouse, writes)
        try:
            reconcile(mortal, shop.table, shop.settings, ["id"])
        except KilledError:
            if shop.warehouse.read_table(base_table(shop.table)) is None:
                continue  # nobody can read the view until the base is there again
            assert names(shop.warehouse.fetch(f"SELECT * FROM {dataset.quoted('customer_current')}")) == {1: "x"}
            continue
        break
    assert names(shop.people_see()) == names(shop.current()) == {1: "x"}


# Values that are read in a time zone.


@pytest.mark.parametrize("retired", sweep([False, True]), ids=["all versions", "a version is gone"])
def test_a_base_has_one_reading_of_its_times(dataset: EmulatedDataset, *, retired: bool) -> None:
    shop = Shop(dataset)
    shop.create("a", {**CUSTOMER, "seen": "DATETIME"})
    shop.create("b", {**CUSTOMER, "seen": "TIMESTAMP"})
    shop.land("a", change("INSERT", "1", id=1, name="x", seen="2024-06-01 12:00:00"), at=LONG_AGO)
    shop.merge()
    if retired:
        dataset.run(f"DELETE FROM {dataset.quoted('customer_v_a')} WHERE TRUE")
    shop.land("a", change("INSERT", "2", id=2, name="y", seen="2024-06-01 12:00:00"))
    shop.rules = TableRules(overlap_minutes=0, time_zone="Europe/Berlin")
    if retired:
        for work in (shop.current, shop.merge):
            with pytest.raises(SchemaConflict, match=r"column seen of .* was read in another time zone than Europe/Berlin"):
                work()
        return
    for _ in range(2):
        assert {row["seen"].isoformat() for row in shop.current()} == {"2024-06-01T10:00:00+00:00"}
        shop.merge()
    assert {row["seen"].isoformat() for row in shop.people_see()} == {"2024-06-01T10:00:00+00:00"}


def test_a_zone_in_which_nothing_is_read_changes_no_base(dataset: EmulatedDataset) -> None:
    shop = Shop(dataset)
    shop.create("a", {**CUSTOMER, "seen": "DATETIME"})
    shop.land("a", change("INSERT", "1", id=1, name="x", seen="2024-06-01 12:00:00"), at=LONG_AGO)
    shop.merge()
    shop.rules = TableRules(overlap_minutes=0, time_zone="Europe/Berlin")
    plan, _ = shop.plan_and_merge()
    assert plan.brought_up is None


class DiesAfterReplacing(EmulatedWarehouse):
    """Dies right after a base was replaced, before the log says so."""

    def execute(self, sql: str) -> WriteResult:
        done = super().execute(sql)
        if sql.startswith("CREATE OR REPLACE TABLE"):
            raise KilledError
        return done


@pytest.mark.long
def test_a_conversion_that_was_killed_before_its_row_tells_its_zone(dataset: EmulatedDataset) -> None:
    shop = Shop(dataset)
    shop.create("a", {**CUSTOMER, "seen": "DATETIME"})
    shop.land("a", change("INSERT", "1", id=1, name="x", seen="2024-06-01 12:00:00"), at=LONG_AGO)
    shop.merge()
    shop.create("b", {**CUSTOMER, "seen": "TIMESTAMP"})
    shop.rules = TableRules(overlap_minutes=0, time_zone="Europe/Berlin")
    with pytest.raises(KilledError):
        shop.merge(warehouse=DiesAfterReplacing(dataset.client))
    shop.rules = TableRules(overlap_minutes=0)
    assert {row["seen"].hour for row in shop.current()} == {12}
    shop.merge()
    assert {row["seen"].hour for row in shop.people_see()} == {12}


@pytest.mark.long
def test_a_zone_in_which_no_value_was_read_is_no_dead_end(dataset: EmulatedDataset) -> None:
    """The base was made in UTC without a value that depends on it, and its history has expired."""
    shop = Shop(dataset)
    shop.create("a", CUSTOMER)
    shop.land("a", change("INSERT", "1", id=1, name="expires"), at=LONG_AGO)
    shop.merge()
    shop.rules = TableRules(overlap_minutes=0, time_zone="Europe/Berlin")
    shop.create("b", {**CUSTOMER, "seen": "DATETIME"})
    shop.create("c", {**CUSTOMER, "seen": "TIMESTAMP"})
    shop.land("b", change("INSERT", "2", id=2, name="x", seen="2024-06-01 12:00:00"))
    shop.merge()
    dataset.run(f"DELETE FROM {dataset.quoted('customer_v_a')} WHERE TRUE")
    shop.merge()
    shop.rules = TableRules(overlap_minutes=0)
    with pytest.raises(SchemaConflict, match="to keep it set `time_zone: Europe/Berlin` for customer in"):
        shop.merge()
    shop.rules = TableRules(overlap_minutes=0, time_zone="Europe/Berlin")
    shop.merge()
    assert [str(row["seen"]) for row in shop.people_see()] == ["None", "2024-06-01 10:00:00+00:00"]


# Copies of the source.


@pytest.mark.parametrize(("order", "at"), sweep([((1, 2), None), ((2, 1), "5")]))
def test_of_two_copies_at_one_position_the_later_one_counts(
    dataset: EmulatedDataset, order: tuple[int, int], at: str | None
) -> None:
    shop = Shop(dataset)
    shop.create("a", CUSTOMER)
    shop.land("a", change("INSERT", at, timestamp=None, id=3, name="change"))
    for number in (1, 2):
        dataset.land(f"copy_{number}", {"id": "INT64", "name": "STRING"}, f"1, 'copy {number}'", f"3, 'copy {number}'")
    plan, _ = shop.plan_and_merge()
    for number in order:
        merge_snapshot(shop.warehouse, plan, shop.table.sibling(f"copy_{number}"), at)
    assert names(shop.people_see()) == {1: "copy 2", 3: "change"}
    shop.land("a", change("UPDATE-INSERT", at, timestamp=None, id=1, name="change"))
    before = shop.current()
    shop.merge()
    assert names(shop.people_see()) == names(before) == {1: "change", 3: "change"}


# Positions with characters and numbers that sources rarely write.


def test_identifiers_and_long_numbers_have_one_order(dataset: EmulatedDataset) -> None:
    shop = Shop(dataset)
    shop.create("a", CUSTOMER)
    with_tab = [change("INSERT", "1", uuid=uuid, id=1, name=repr(uuid)) for uuid in ("x", "x\ty", "x \n")]
    shop.land("a", *with_tab)
    before = shop.current()
    shop.merge()
    assert shop.people_see() == before == shop.current()
    assert names(before) == {1: repr("x\ty")}


# Types of changes that nobody documents.


def test_a_change_of_an_unknown_type_is_an_upsert_that_is_counted(run: Run, dataset: EmulatedDataset) -> None:
    changes = [change(kind, str(number), id=number, name="x") for number, kind in enumerate(("INSERT", "REFRESH", "update"))]
    land_changes(dataset, "customer", {"id": "INT64", "name": "STRING"}, changes)
    assert run("current", f"{dataset.name}.customer", "--keys", "id").code == 0
    assert rows_of(dataset, columns="id") == [(0,), (1,), (2,)]
    outcome = run("merge", f"{dataset.name}.customer", "--keys", "id")
    warning = " ".join(outcome.out.partition("\nWARNING: ")[2].split())
    assert (
        "2 changes with a change_type other than INSERT, UPDATE-INSERT, DELETE, UPDATE-DELETE counted as upserts" in warning
    )
    assert rows_of(dataset, columns="id") == [(0,), (1,), (2,)]
    land_changes(dataset, "supplier", {"id": "INT64", "name": "STRING"}, changes)
    assert run("merge", f"{dataset.name}.supplier", "--keys", "id", "--json").result["unknown_types"] == 2
