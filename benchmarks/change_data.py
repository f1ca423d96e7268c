"""The data of the benchmarks of the Spark job: a base, the same base as a user keeps it, and changes."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import Column as Value
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from onefold.batches.arguments import ReconcileArguments
from onefold.spark.reconcile.job import reconcile

KEY = "id"
COLUMNS = (KEY, "name", "email", "city", "amount", "visits", "active", "created", "note")
ORDER = ("source_timestamp", "change_sequence_number")
"""The columns by which a user orders the changes of a key; the table of the user has both."""
DELETED = "deleted"
"""A column of the table of a user: the row was deleted. The row stays, so that a late change does not restore it."""
START = 1_700_000_000_000
_STEP = 982_451_653
"""A prime: it has no divisor in common with a power of ten, so the keys that change are spread over the base."""


@dataclass(frozen=True)
class Files:
    """The input of a round. base: for the job. table: the same rows in the form of a user. changes: a change log."""

    base: Path
    table: Path
    changes: Path

    def copied(self, folder: Path) -> Files:
        """Return copies in a new folder, so that no cache of an earlier round has the files."""
        folder.mkdir()
        return Files(*(shutil.copytree(path, folder / name) for name, path in vars(self).items()))


def change_rows(ids: DataFrame, first: int, kinds: str) -> DataFrame:
    """Return changes in the form of Datastream; `ids` has `id` and `number`, the position in the log."""
    sequence = sequence_of("number")
    time_ = F.lit(START + first) + F.col("number")
    metadata = F.struct(
        F.hex("number").alias("uuid"), time_.alias("source_timestamp"), sequence.alias("change_sequence_number"),
        F.expr(kinds).alias("change_type"), F.array(time_.cast("string")).alias("sort_keys"),
    )  # fmt: skip
    text = F.hex(F.xxhash64("id", "number"))
    return ids.select(
        "id",
        F.concat(F.lit("name of "), text).alias("name"),
        F.concat(text, F.lit("@example.com")).alias("email"),
        F.concat(F.lit("city "), F.col("id") % 5000).alias("city"),
        (F.col("number") % 1_000_000 / 100).cast("decimal(38,9)").alias("amount"),
        (F.col("number") % 1000).alias("visits"),
        (F.col("id") % 3 == 0).alias("active"),
        F.timestamp_seconds(F.lit(START // 1000) + F.col("id") % 10_000_000).alias("created"),
        F.repeat(text, 3).alias("note"),
        metadata.alias("datastream_metadata"),
    )


def sequence_of(number: str) -> Value:
    return F.format_string("%016X/%016X", (F.col(number) / 4096).cast("bigint"), F.col(number) % 4096)


def make_base(spark: SparkSession, folder: Path, rows: int) -> Path:
    """Write the base by the job itself."""
    ids = spark.range(rows).withColumn("number", F.col("id"))
    change_rows(ids, 0, "'INSERT'").write.parquet(str(folder / "history"))
    words = ["--changes", f"{folder}/history", "--keys", KEY, "--output", f"{folder}/base"]
    reconcile(spark, ReconcileArguments.parse(words))
    shutil.rmtree(folder / "history")
    return folder / "base"


def make_table(spark: SparkSession, folder: Path, base: Path) -> Path:
    """Write the table of a user: the rows of the base with the order of the source instead of a position."""
    path = folder / "table"
    rows = spark.read.parquet(str(base)).select(
        *COLUMNS,
        (F.lit(START) + F.col(KEY)).alias(ORDER[0]),
        sequence_of(KEY).alias(ORDER[1]),
        F.lit(False).alias(DELETED),
    )
    rows.write.parquet(str(path))
    return path


def make_changes(spark: SparkSession, folder: Path, rows: int, count: int) -> Path:
    """Return six changes for each five keys: an insertion, a deletion, and updates of three others, one of them twice."""
    path = folder / f"changes_{count}"
    numbers = spark.range(count).withColumn("number", F.col("id") + rows)
    old = F.pmod(F.floor(F.col("id") * 5 / 6).cast("bigint") * _STEP, F.lit(rows))
    ids = numbers.select(F.when(F.col("id") % 10 == 9, F.col("number")).otherwise(old).alias("id"), "number")
    kinds = "CASE number % 10 WHEN 9 THEN 'INSERT' WHEN 4 THEN 'DELETE' ELSE 'UPDATE-INSERT' END"
    change_rows(ids, rows, kinds).repartition(2).write.parquet(str(path))
    return path
