"""Target types in a batch: BigQuery makes the conversions that Spark does not, with the bytes that the MERGE gives."""

from __future__ import annotations

from pyspark.sql import SparkSession
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change
from support.merge_shop import another_shop

from onefold.batches.arguments import ReconcileArguments
from onefold.changelog.metadata import LANDED_AT
from onefold.schema.table_rules import TableRules
from onefold.schema.types import parse_type
from onefold.spark.io.bigquery_tables import StagingTables
from onefold.spark.reconcile.bigquery import BigQueryBases
from onefold.spark.reconcile.job import reconcile

RULES = TableRules(
    types=(("born", parse_type("TIMESTAMP")),),
    units=(("born", "unix_millis"),),
    mixed_numbers="FLOAT64",
    overlap_minutes=0,
)


def test_numbers_become_times_and_mixed_numbers_floats_as_in_a_merge(spark: SparkSession, dataset: EmulatedDataset) -> None:
    shop = another_shop(dataset, rules=RULES)
    columns = {"id": "INT64", "born": "INT64", "price": "INT64", LANDED_AT: "TIMESTAMP"}
    shop.create("1a", columns)
    shop.create("2b", {**columns, "price": "FLOAT64"})
    shop.land("1a", change("INSERT", "1", id=1, born=1_700_000_000_250, price=2**53 + 1))
    shop.land("2b", change("INSERT", "2", id=2, born=2**63 - 1, price=0.5))
    table = f"bigquery:{dataset.name}.{shop.name}"
    arguments = ReconcileArguments.parse(["--changes", table, f"--keys={','.join(shop.keys)}", f"--base={table}_base"])
    with StagingTables(spark, shop.warehouse.client) as tables:
        reconcile(spark, arguments, BigQueryBases(shop.warehouse, tables, shop.settings))
    by_spark = shop.base()
    dataset.run(f"DROP TABLE {dataset.quoted(f'{shop.name}_base')}")
    shop.merge()
    assert by_spark == shop.base()
    first, second = by_spark
    assert (first["price"], second["price"]) == (float(2**53), 0.5)
    assert (first["born"].timestamp(), second["born"]) == (1_700_000_000.25, None)
