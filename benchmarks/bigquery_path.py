"""Spark's work where the base is in BigQuery, beside a base ten times larger and the same changes.

What BigQuery does for the merge itself, whose price follows the base, is left out: reading, folding and staging count.
The time is the least of the rounds, which alternate.

Run: `python -m benchmarks.bigquery_path`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from google.cloud import bigquery
from pyspark.sql import SparkSession

from onefold.base import base_of
from onefold.changelog import METADATA
from onefold.jobs import parse_reconcile
from onefold.local.emulator import DEFAULT_PROJECT, EmulatedWarehouse, emulator_client
from onefold.local.stack import bigquery_emulator
from onefold.names import TableId
from onefold.position import Position
from onefold.settings import Settings
from onefold.spark.reconciling import reconcile
from onefold.spark.session import prepared
from onefold.spark.tables import Tables
from onefold.spark.warehouse import BigQueryTables
from onefold.types import parse_type
from onefold.versions import Column
from onefold.warehouse import Written

DATASET = "bench"
CHANGES = 20_000
BASES = (100_000, 1_000_000)
ROUNDS = 5
METADATA_TYPE = (
    "STRUCT<uuid STRING, source_timestamp INT64, change_sequence_number STRING, change_type STRING, sort_keys ARRAY<STRING>>"
)


class TimedWarehouse(EmulatedWarehouse):
    """Tells how long its own statements took."""

    seconds = 0.0

    def execute(self, sql: str) -> Written:
        with self._timed():
            return super().execute(sql)

    def fetch(self, sql: str) -> list[dict[str, Any]]:
        with self._timed():
            return super().fetch(sql)

    @contextmanager
    def _timed(self) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.seconds += time.perf_counter() - started


@dataclass(frozen=True)
class Case:
    client: bigquery.Client
    rows: int

    @property
    def table(self) -> TableId:
        return TableId(DEFAULT_PROJECT, DATASET, f"account{self.rows}")

    def prepare(self) -> None:
        """A change table, and a base that has every key."""
        columns = [Column("id", parse_type("INT64")), Column("name", parse_type("STRING"))]
        base = base_of(self.table, [*columns, Column(METADATA, parse_type(METADATA_TYPE))], ["id"])
        self._run(
            f"CREATE TABLE {self.table.quoted} AS SELECT id, CONCAT('name ', CAST(id AS STRING)) AS name, STRUCT("
            "'u' AS uuid, id AS source_timestamp, TO_HEX(CAST(CAST(id AS STRING) AS BYTES)) AS change_sequence_number, "
            f"'UPDATE-INSERT' AS change_type, ['1'] AS sort_keys) AS {METADATA} "
            f"FROM UNNEST(GENERATE_ARRAY(1, {CHANGES})) AS id"
        )
        self._run(
            f"CREATE TABLE {base.id.quoted} AS SELECT id, 'old' AS name, '{Position()}' AS _position, FALSE AS _deleted "
            f"FROM UNNEST(GENERATE_ARRAY(1, {self.rows})) AS id"
        )

    def seconds(self, spark: SparkSession) -> float:
        """Of one batch, without BigQuery's own statements."""
        warehouse = TimedWarehouse(self.client)
        name = f"bigquery:{DATASET}.{self.table.table}"
        arguments = parse_reconcile(["--changes", name, "--base", f"{name}_base", "--keys", "id"])
        started = time.perf_counter()
        with Tables(spark, self.client) as tables:
            reconcile(spark, arguments, BigQueryTables(warehouse, tables, Settings()))
        return time.perf_counter() - started - warehouse.seconds

    def _run(self, sql: str) -> Any:
        return self.client.query(sql).result()


def main() -> None:
    with bigquery_emulator() as host:
        os.environ["BIGQUERY_EMULATOR_HOST"] = host
        client = emulator_client(DEFAULT_PROJECT)
        client.create_dataset(DATASET)
        cases = [Case(client, rows) for rows in BASES]
        for case in cases:
            case.prepare()
        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        spark = prepared(builder.config("spark.sql.shuffle.partitions", "2").getOrCreate())
        spark.sparkContext.setLogLevel("ERROR")
        measured: dict[int, list[float]] = {rows: [] for rows in BASES}
        # One by one in turns, so that whatever else the machine does falls on both; the first round warms up.
        for number in range(ROUNDS + 1):
            for case in cases:
                seconds = case.seconds(spark)
                if number:
                    measured[case.rows].append(seconds)
        spark.stop()
    small, large = (min(measured[rows]) for rows in BASES)
    print(f"Spark's work on {CHANGES:,} changes, the least of {ROUNDS} rounds")
    for rows in BASES:
        print(f"  base of {rows:>9,} rows  {min(measured[rows]):6.2f} s")
    print(f"  ratio {large / small:.2f} (aim: under 1.15)")


if __name__ == "__main__":
    main()
