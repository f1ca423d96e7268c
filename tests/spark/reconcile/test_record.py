"""A batch records in the ledger what it changes of current views, and merges on where it may not."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change
from support.ledgers import StoredLedger
from support.merge_shop import CUSTOMER, Shop

from onefold.batches.arguments import ReconcileArguments
from onefold.schema.table_rules import TableRules
from onefold.settings.environment import Settings
from onefold.spark.io.bigquery_tables import StagingTables
from onefold.spark.reconcile.bigquery import BigQueryBases
from onefold.spark.reconcile.job import reconcile
from onefold.spark.reconcile.record import ledger_recorder
from onefold.views.refresh_current import refresh_current

pytestmark = pytest.mark.heavy


def merge(spark: SparkSession, shop: Shop, changes_dataset: str) -> None:
    settings = Settings(rules=shop.rules, changes_dataset=changes_dataset)
    table = f"bigquery:{shop.dataset.name}.{shop.name}"
    words = ["--changes", table, "--keys=id", f"--base={table}_base"]
    with StagingTables(spark, shop.warehouse.client) as tables:
        bases = BigQueryBases(shop.warehouse, tables, settings, record=ledger_recorder(shop.warehouse, settings))
        reconcile(spark, ReconcileArguments.parse(words), bases)


@pytest.fixture
def shop(dataset: EmulatedDataset) -> Shop:
    """A table with a current view, and a second version that no message was about."""
    shop = Shop(dataset, rules=TableRules(overlap_minutes=0))
    shop.create("a", CUSTOMER)
    refresh_current(shop.warehouse, shop.table, ("id",), shop.settings)
    shop.create("b", CUSTOMER | {"zip": "STRING"})
    shop.land("b", change("INSERT", "1/1", id=1, name="a", zip="z"))
    return shop


def test_a_version_that_a_merge_shows_first_is_recorded(spark: SparkSession, shop: Shop) -> None:
    stored = StoredLedger(shop.dataset)
    merge(spark, shop, stored.name)
    (entry,) = stored.entries()
    assert (entry.version_after, [str(one) for one in entry.operations]) == ("b", ["added zip STRING"])
    assert [(one.view.rpartition(".")[2], one.kind, one.path) for one in entry.effects] == [
        ("customer_current", "new column", "zip")
    ]


def test_without_a_table_of_the_ledger_rows_are_merged_and_the_log_says_what_is_not_recorded(
    spark: SparkSession, shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    merge(spark, shop, shop.dataset.name)
    assert [row["id"] for row in shop.base()] == [1]
    assert f"a change of {shop.dataset.name}.customer is not recorded: there is no table" in capsys.readouterr().err
