"""The work of Spark with a base in BigQuery: the same changes, with a base and with one ten times larger.

Run: `python -m benchmarks.bigquery_path [--changes 20000] [--bases 100000,1000000] [--repeat 5]`.

What BigQuery does for the merge itself, whose price follows the base, is left out: reading, folding and staging count. The
rounds alternate, and the first one, which warms up, is not counted. Each run has a change table and a base of its own, made
for it and dropped after it, and begins with an empty cache: tables of equal rows would else share what an earlier run has
cached. `rows shuffled` are the rows that went from part to part: the changes, anew in each run, and no row of the base.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from google.cloud import bigquery
from pyspark.sql import SparkSession

from benchmarks.quiet import Rounds, described
from benchmarks.report import add_options, machine, markdown, publish, ratio, spread, versions
from benchmarks.spark_session import RowCounter, forget, open_spark
from onefold.batches.arguments import ReconcileArguments
from onefold.changelog.metadata import METADATA
from onefold.changelog.position import Position
from onefold.core.names import TableId
from onefold.merge.base_table import base_of
from onefold.ports.warehouse import WriteResult
from onefold.schema.columns import Column
from onefold.schema.types import parse_type
from onefold.settings.environment import Settings
from onefold.spark.io.bigquery_tables import StagingTables
from onefold.spark.reconcile.bigquery import BigQueryBases
from onefold.spark.reconcile.job import reconcile
from onefold_lab.processes import bigquery_emulator
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, EmulatedWarehouse, emulator_client

HEADING = "Spark's work where the base is in BigQuery"
HEADER = ("base, rows", "seconds", "ratio", "rows shuffled")
DATASET = "bench"
METADATA_TYPE = (
    "STRUCT<uuid STRING, source_timestamp INT64, change_sequence_number STRING, change_type STRING, sort_keys ARRAY<STRING>>"
)


class TimedWarehouse(EmulatedWarehouse):
    """A warehouse that measures the time of its own statements."""

    seconds = 0.0

    def execute(self, sql: str) -> WriteResult:
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
    """One run, with its own change table and base."""

    client: bigquery.Client
    rows: int
    changes: int
    round: int

    @property
    def table(self) -> TableId:
        return TableId(DEFAULT_PROJECT, DATASET, f"account{self.rows}r{self.round}")

    def prepare(self) -> None:
        """Create a change table, and a base with every key."""
        columns = [Column("id", parse_type("INT64")), Column("name", parse_type("STRING"))]
        base = base_of(self.table, [*columns, Column(METADATA, parse_type(METADATA_TYPE))], ["id"])
        self._run(
            f"CREATE TABLE {self.table.quoted} AS SELECT id, CONCAT('name ', CAST(id AS STRING)) AS name, STRUCT("
            "'u' AS uuid, id AS source_timestamp, TO_HEX(CAST(CAST(id AS STRING) AS BYTES)) AS change_sequence_number, "
            f"'UPDATE-INSERT' AS change_type, ['1'] AS sort_keys) AS {METADATA} "
            f"FROM UNNEST(GENERATE_ARRAY(1, {self.changes})) AS id"
        )
        self._run(
            f"CREATE TABLE {base.id.quoted} AS SELECT id, 'old' AS name, '{Position()}' AS _position, FALSE AS _deleted "
            f"FROM UNNEST(GENERATE_ARRAY(1, {self.rows})) AS id"
        )

    def run(self, spark: SparkSession) -> Run:
        """Return the seconds of one batch without those of BigQuery's statements."""
        warehouse = TimedWarehouse(self.client)
        name = f"bigquery:{DATASET}.{self.table.table}"
        arguments = ReconcileArguments.parse(["--changes", name, "--base", f"{name}_base", "--keys", "id"])
        forget(spark)
        counter = RowCounter(spark)
        started = time.perf_counter()
        with StagingTables(spark, self.client) as tables:
            reconcile(spark, arguments, BigQueryBases(warehouse, tables, Settings()))
        return Run(time.perf_counter() - started - warehouse.seconds, counter.take().shuffled)

    def remove(self) -> None:
        for item in list(self.client.list_tables(DATASET)):
            self.client.delete_table(item)

    def _run(self, sql: str) -> Any:
        return self.client.query(sql).result()


@dataclass(frozen=True)
class Run:
    seconds: float
    shuffled: int


def measure(client: bigquery.Client, spark: SparkSession, bases: Sequence[int], changes: int, rounds: Rounds[Run]) -> None:
    """Note the run of each size of the base in each round."""
    for number in rounds:
        for rows in bases if number % 2 else reversed(bases):
            case = Case(client, rows, changes, number)
            case.prepare()
            rounds.note(f"{rows:,}", case.run(spark))
            case.remove()


def lines(bases: Sequence[int], rounds: Rounds[Run]) -> Iterator[tuple[str, ...]]:
    """Return one line for each base; ratios are relative to the first, the smallest."""
    runs = {f"{rows:,}": rounds.figures[f"{rows:,}"] for rows in bases}
    seconds = {rows: [run.seconds for run in found] for rows, found in runs.items()}
    first = next(iter(seconds.values()))
    for rows, found in runs.items():
        read = "-".join(f"{count:,}" for count in sorted({run.shuffled for run in found}))
        yield rows, spread(seconds[rows]).text(), ratio(seconds[rows], first).text(), read


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Spark's work where the base is in BigQuery.")
    parser.add_argument("--changes", type=int, default=20_000)
    parser.add_argument("--bases", default="100000,1000000")
    parser.add_argument("--repeat", type=int, default=5)
    add_options(parser)
    options = parser.parse_args(argv)
    with bigquery_emulator() as host:
        os.environ["BIGQUERY_EMULATOR_HOST"] = host
        client = emulator_client(DEFAULT_PROJECT)
        client.create_dataset(DATASET)
        spark = open_spark("1g", [])
        bases = [int(rows) for rows in options.bases.split(",")]
        rounds = Rounds[Run](options.repeat, again=bool(options.page))
        measure(client, spark, bases, options.changes, rounds)
        spark.stop()
    sizes = f"{options.changes:,} changes, {described([rounds])}"
    table = markdown(HEADER, list(lines(bases, rounds)))
    publish(options, HEADING, machine(sizes, versions(Spark="pyspark", bqemulator="bqemulator")), table, (), [rounds])


if __name__ == "__main__":
    main()
