"""The merge job takes the plain change tables of a dataset, and reads only what is new of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import SparkSession
from support.appended_tables import PlainShop
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change

from onefold.batches.arguments import DatasetArguments
from onefold.spark.reconcile.dataset import DatasetReport, reconcile_dataset


@pytest.mark.parametrize("travel", [timedelta(days=7), None], ids=["appends", "source_timestamp"])
def test_a_dataset_without_versioned_tables_is_merged_by_what_is_new(
    spark: SparkSession, dataset: EmulatedDataset, travel: timedelta | None
) -> None:
    shop, now = PlainShop(dataset, travel), datetime.now(UTC)

    def at(time: datetime) -> int:
        return int(time.timestamp() * 1000)

    def run() -> DatasetReport:
        return reconcile_dataset(spark, shop.warehouse, shop.settings, DatasetArguments(dataset.name))

    before = now - timedelta(days=3)
    shop.land([change("INSERT", f"{number:X}", timestamp=at(before), id=number, name="a") for number in range(20)], before)
    (first,) = run().tables
    assert (first.outcome, first.reasons, first.report and first.report.changes) == ("merged", (), 20)
    assert shop.base() == shop.expected()
    later = [
        change("DELETE", "20", timestamp=at(now), id=3),
        change("UPDATE-INSERT", "21", timestamp=at(now), id=4, name="b"),
    ]
    shop.land(later, now)
    (second,) = run().tables
    assert (second.outcome, second.report and second.report.changes) == ("merged", 2)
    assert shop.base() == shop.expected()
