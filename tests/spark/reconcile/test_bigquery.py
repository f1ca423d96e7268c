"""The Spark job on tables of BigQuery: the very base that the MERGE alone gives, and no more read than there is to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change
from support.merge_shop import CUSTOMER, LONG_AGO, Shop, another_shop
from support.sweeps import sweep
from support.tenants import ONE, create, land, row
from support.typed_shop import base_name, held_types, land_workload, people_see, shown, truth

from onefold.batches.arguments import ReconcileArguments
from onefold.changelog.generator import WorkloadOptions, make_workload
from onefold.changelog.metadata import LANDED_AT
from onefold.core.errors import InvalidInput, NotFound, SchemaConflict, TryAgain
from onefold.merge.apply import purge
from onefold.merge.plan import plan_merge
from onefold.refresh.plan import ViewPlan
from onefold.schema.table_rules import TableRules
from onefold.schema.types import parse_type
from onefold.settings.environment import Settings
from onefold.spark.io.bigquery_tables import StagingTables
from onefold.spark.reconcile.bigquery import BigQueryBases
from onefold.spark.reconcile.job import reconcile
from onefold.spark.reconcile.report import JobReport
from onefold.views.refresh_current import refresh_current

pytestmark = pytest.mark.heavy

WITH_MAIL = {"id": "STRING", "mail": "STRING", "name": "STRING", LANDED_AT: "TIMESTAMP"}
FIRST = [
    change("INSERT", "1", id=1, name="a"),
    change("INSERT", "2", id=2, name="b"),
    change("UPDATE-DELETE", "4", id=2, name="b"),
    change("UPDATE-INSERT", "4", id=3, name="b"),
    change("INSERT", None, id=None, name="nobody"),
]
SECOND = [
    change("UPDATE-INSERT", "A", id="1", mail="m", name="c"),
    change("DELETE", "9", id="3", mail=None, name="b"),
    change("INSERT", "B", id="x", mail=None, name=None),
    change("UPDATE-INSERT", "B", id="x", mail="other content at the same position", name=None),
]


@pytest.fixture
def shop(dataset: EmulatedDataset) -> Shop:
    return another_shop(dataset)


def run(spark: SparkSession, shop: Shop, *more: str, base: bool = True) -> JobReport:
    table = f"bigquery:{shop.dataset.name}.{shop.name}"
    words = ["--changes", table, f"--keys={','.join(shop.keys)}", *([f"--base={table}_base"] if base else []), *more]
    with StagingTables(spark, shop.warehouse.client) as tables:
        return reconcile(spark, ReconcileArguments.parse(words), BigQueryBases(shop.warehouse, tables, shop.settings))


def both_ways(spark: SparkSession, shop: Shop) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The base as the Spark job makes it, and then as the MERGE makes it from nothing."""
    run(spark, shop)
    by_spark = shop.base()
    shop.dataset.run(f"DROP TABLE {shop.dataset.quoted(f'{shop.name}_base')}")
    shop.merge()
    return by_spark, shop.base()


def test_it_makes_the_base_that_the_merge_makes_positions_and_tombstones_too(spark: SparkSession, shop: Shop) -> None:
    land_two_versions(shop)
    by_spark, by_merge = both_ways(spark, shop)
    assert by_spark == by_merge
    assert [row["id"] for row in by_spark if row["_deleted"]] == ["2", "3"]
    assert [row["id"] for row in shop.people_see()] == [None, "1", "x"]


def test_a_second_run_reads_only_what_has_landed_since_and_changes_nothing(spark: SparkSession, shop: Shop) -> None:
    shop.create("1a", CUSTOMER)
    shop.land("1a", *FIRST, at=LONG_AGO)
    assert run(spark, shop).changes == len(FIRST)
    before = shop.base()
    assert (run(spark, shop).changes, shop.base()) == (0, before)
    shop.land("1a", change("DELETE", "7", id=1))
    report = run(spark, shop)
    assert (report.changes, report.keys) == (1, 1)
    assert [row["id"] for row in shop.people_see()] == [None, 3]


@pytest.mark.long
def test_a_window_of_sequences_is_merged_and_the_next_run_reads_everything(spark: SparkSession, shop: Shop) -> None:
    shop.create("1a", CUSTOMER)
    shop.land("1a", *FIRST, at=LONG_AGO)
    assert run(spark, shop, "--from=2", "--to=4").changes == 1
    assert [row["id"] for row in shop.people_see()] == [2]
    assert run(spark, shop).changes == len(FIRST)
    assert shop.people_see() == shop.expected("id", "name")


@pytest.mark.parametrize("type_", sweep(["TIMESTAMP", "DATETIME"]))
def test_a_window_of_landing_times_is_read(spark: SparkSession, shop: Shop, type_: str) -> None:
    shop.create("1a", {**CUSTOMER, LANDED_AT: type_})
    shop.land("1a", FIRST[0], at="2024-05-01 11:00:00")
    shop.land("1a", FIRST[1], at="2024-05-01 12:00:00")
    assert run(spark, shop, "--from=2024-05-01T11:30:00", "--to=2024-05-02").changes == 1
    assert [row["id"] for row in shop.people_see()] == [2]


def test_an_empty_window_that_was_asked_for_is_an_error_and_nothing_is_written(spark: SparkSession, shop: Shop) -> None:
    shop.create("1a", CUSTOMER)
    shop.land("1a", *FIRST)
    with pytest.raises(NotFound, match="no change in the window: nothing was written"):
        run(spark, shop, "--from=FFFF")
    assert shop.warehouse.read_table(shop.table.sibling(f"{shop.name}_base")) is None


def test_what_spark_cannot_convert_bigquery_converts(spark: SparkSession, dataset: EmulatedDataset) -> None:
    rules = TableRules(types=(("amount", parse_type("INT64")),), version_column="version", overlap_minutes=0)
    shop = another_shop(dataset, rules=rules)
    shop.create("1a", {"id": "INT64", "amount": "STRING", LANDED_AT: "TIMESTAMP"})
    shop.land("1a", change("INSERT", "1", id=1, amount="12"), change("INSERT", "2", id=2, amount="twelve"))
    by_spark, by_merge = both_ways(spark, shop)
    assert by_spark == by_merge
    assert [(row["version"], row["amount"]) for row in by_spark] == [("1a", 12), ("1a", None)]


@pytest.mark.long
def test_a_rebuild_is_made_of_the_whole_history(spark: SparkSession, shop: Shop) -> None:
    land_two_versions(shop)
    assert run(spark, shop).brought_up == "created"
    before = shop.base()
    report = run(spark, shop, "--mode=rebuild")
    assert (shop.base(), report.changes, report.brought_up) == (before, len(FIRST) + len(SECOND), "rebuilt")


@pytest.mark.long
def test_a_rebuild_that_would_lose_a_row_is_refused(spark: SparkSession, shop: Shop) -> None:
    land_two_versions(shop)
    run(spark, shop)
    before = shop.base()
    shop.dataset.run(f"DELETE FROM {shop.dataset.quoted(f'{shop.name}_v_2b')} WHERE id = 'x'")
    with pytest.raises(SchemaConflict, match="the change tables do not hold any more"):
        run(spark, shop, "--mode=rebuild")
    assert shop.base() == before


@pytest.mark.long
def test_a_base_that_is_dropped_while_its_changes_are_read_is_not_made_of_them_alone(
    spark: SparkSession, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.create("1a", CUSTOMER)
    shop.land("1a", *FIRST, at=LONG_AGO)
    run(spark, shop)
    shop.land("1a", change("INSERT", "8", id=8, name="new"))
    prepared = BigQueryBases._prepared

    def drop_first(self: BigQueryBases, *arguments: Any) -> Any:
        monkeypatch.undo()
        shop.dataset.run(f"DROP TABLE {shop.dataset.quoted(f'{shop.name}_base')}")
        return prepared(self, *arguments)

    monkeypatch.setattr(BigQueryBases, "_prepared", drop_first)
    with pytest.raises(TryAgain, match="was replaced while its changes were read"):
        run(spark, shop)
    run(spark, shop)
    assert [row["id"] for row in shop.people_see()] == [None, 1, 3, 8]


@pytest.mark.long
def test_what_is_below_the_floor_of_a_purge_is_not_inserted_and_is_counted(spark: SparkSession, shop: Shop) -> None:
    shop.create("1a", CUSTOMER)
    shop.land("1a", *FIRST)
    run(spark, shop)
    plan = plan_merge(shop.warehouse, shop.table, shop.settings, shop.keys)
    assert purge(shop.warehouse, plan, days=0)
    shop.land("1a", FIRST[1])
    assert run(spark, shop).below_floor == 1
    assert [row["id"] for row in shop.people_see()] == [None, 1, 3]


@pytest.mark.long
def test_changes_in_tables_make_a_base_in_a_folder(spark: SparkSession, shop: Shop, tmp_path: Path) -> None:
    land_two_versions(shop)
    report = run(spark, shop, f"--output={tmp_path / 'out'}", base=False)
    found = spark.read.parquet(str(tmp_path / "out"))
    by_folder = sorted((row.asDict() for row in found.collect()), key=lambda row: (row["id"] is not None, row["id"]))
    run(spark, shop)
    assert by_folder == shop.base()
    assert report.rows == len(by_folder)


@pytest.mark.parametrize(
    "options",
    [
        WorkloadOptions(
            operations=100, key_changes=0.2, duplicates=0.2, shuffle=True, versions=3, backfill=True, same_second=True
        )
    ],
)
def test_a_workload_becomes_its_truth(spark: SparkSession, shop: Shop, options: WorkloadOptions) -> None:
    workload, part = make_workload(options), 7
    land_workload(shop, workload, part)
    types = held_types(workload, part)
    own = {**types, "_packed_position": "BYTES", "_deleted": "BOOL"}
    run(spark, shop)
    by_spark = shown(shop, base_name(shop), own)
    shop.dataset.run(f"DROP TABLE {base_name(shop)}")
    shop.merge()
    assert by_spark == shown(shop, base_name(shop), own)
    assert people_see(shop, types) == truth(workload, part)


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (["--keys=number"], "has no column number for the key"),
        (["--base=bigquery:other.base"], "name local.*_base, the base of"),
        (["--format=debezium"], "takes changes in the format datastream"),
        (["--mode=rebuild", "--from=1"], "of the whole history: leave out --from and --to"),
    ],
)
def test_wrong_arguments_are_an_error_and_nothing_is_written(
    spark: SparkSession, shop: Shop, more: Sequence[str], problem: str
) -> None:
    shop.create("1a", CUSTOMER)
    shop.land("1a", *FIRST)
    with pytest.raises((InvalidInput, SchemaConflict), match=problem):
        run(spark, shop, *more)
    assert shop.warehouse.read_table(shop.table.sibling(f"{shop.name}_base")) is None


def test_where_nobody_names_the_keys_a_captured_table_tells_them(spark: SparkSession, shop: Shop, tmp_path: Path) -> None:
    tenants = ("eu/a", "eu/b", "us/a")
    create(shop.dataset, ONE)
    land(shop.dataset, ONE, *(row(tenant, "1", id=1, name=tenant) for tenant in tenants))
    table = f"bigquery:{shop.dataset.name}.customer"
    with StagingTables(spark, shop.warehouse.client) as tables:
        warehouse = BigQueryBases(shop.warehouse, tables, Settings())
        for place in (f"--base={table}_base", f"--output={tmp_path / 'out'}"):
            assert reconcile(spark, ReconcileArguments.parse(["--changes", table, place]), warehouse).keys == len(tenants)
    by_folder = spark.read.parquet(str(tmp_path / "out")).collect()
    by_merge = shop.warehouse.fetch(f"SELECT * FROM {shop.dataset.quoted('customer_base')}")
    for rows in (by_folder, by_merge):
        assert sorted((f"{found['source_name']}/{found['database_name']}", found["name"]) for found in rows) == [
            (tenant, tenant) for tenant in tenants
        ]


def test_where_nobody_names_the_keys_and_no_table_tells_them_nothing_is_written(
    spark: SparkSession, shop: Shop, tmp_path: Path
) -> None:
    shop.create("1a", CUSTOMER)
    shop.land("1a", *FIRST)
    table = f"bigquery:{shop.dataset.name}.{shop.name}"
    with StagingTables(spark, shop.warehouse.client) as tables:
        warehouse = BigQueryBases(shop.warehouse, tables, shop.settings)
        for place in (f"--base={table}_base", f"--output={tmp_path / 'out'}"):
            with pytest.raises(InvalidInput, match="name the columns of the key with --keys"):
                reconcile(spark, ReconcileArguments.parse(["--changes", table, place]), warehouse)
    assert not (tmp_path / "out").exists()
    assert shop.warehouse.read_table(shop.table.sibling(f"{shop.name}_base")) is None


def test_staging_tables_are_gone_when_the_job_ends(spark: SparkSession, shop: Shop) -> None:
    shop.create("1a", CUSTOMER)
    shop.land("1a", *FIRST)
    run(spark, shop)
    tables = {item.table_id for item in shop.warehouse.client.list_tables(shop.dataset.name)}
    assert not [name for name in tables if "_staged_" in name or "_read_" in name]


def land_two_versions(shop: Shop) -> None:
    shop.create("1a", CUSTOMER)
    shop.create("2b", WITH_MAIL)
    shop.land("1a", *FIRST)
    shop.land("2b", *SECOND)


def test_a_change_of_the_unified_view_is_announced(spark: SparkSession, shop: Shop) -> None:
    """A job after whose merge the views are brought up to date says so, as the function does."""
    shop.create("1a", CUSTOMER)
    shop.land("1a", *FIRST)
    refresh_current(shop.warehouse, shop.table, shop.keys, shop.settings)
    shop.create("2b", WITH_MAIL)
    shop.land("2b", *SECOND)
    announced: list[ViewPlan] = []

    def announce(plan: ViewPlan) -> tuple[str, ...]:
        announced.append(plan)
        return ()

    table = f"bigquery:{shop.dataset.name}.{shop.name}"
    words = ["--changes", table, f"--keys={','.join(shop.keys)}", f"--base={table}_base"]
    with StagingTables(spark, shop.warehouse.client) as tables:
        reconcile(spark, ReconcileArguments.parse(words), BigQueryBases(shop.warehouse, tables, shop.settings, announce))
    assert [(bool(plan.changes), plan.base) for plan in announced] == [(True, shop.table)]
