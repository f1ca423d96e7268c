"""The Spark job on files beside its peers: the same data, the same machine, one run.

Run: `python -m benchmarks.reconcile [--rows 4000000] [--shares 0.001,0.01,0.25] [--repeat 3] [--folder DIR]`. delta-rs takes
part where it is installed (`pip install deltalake`).

A base of so many rows, written by the job itself, and changes of a share of it: updates, one insertion in ten, one deletion
in ten, one key in five changed twice. Peers:

- ROW_NUMBER: base and changes together, numbered by key and position, in the same Spark session with the same positions;
- DuckDB: its best form of the same, which joins the base with the winners among the changes;
- delta-rs: MERGE of the winners, found by DuckDB, into a Delta table that holds the base.

All write the new base (delta-rs: the files that it has to replace), and all results are compared by count and sum.
The time is the least of the repetitions, which alternate.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812
from rich.console import Console
from rich.table import Table

from onefold.changelog import source_columns
from onefold.jobs import parse_reconcile
from onefold.spark.changes import Datastream, rows_of
from onefold.spark.files import read_folder
from onefold.spark.reconciling import reconcile
from onefold.spark.session import prepared

KEY = "id"
COLUMNS = (KEY, "name", "email", "city", "amount", "visits", "active", "created", "note")
START = 1_700_000_000_000


def change_rows(ids: DataFrame, first: int, kinds: str) -> DataFrame:
    """Changes in Datastream's form; `ids` has `id` and `number`, the place in the log."""
    sequence = F.format_string("%016X/%016X", (F.col("number") / 4096).cast("bigint"), F.col("number") % 4096)
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


def make_base(spark: SparkSession, folder: Path, rows: int) -> Path:
    ids = spark.range(rows).withColumn("number", F.col("id"))
    change_rows(ids, 0, "'INSERT'").write.parquet(str(folder / "history"))
    words = ["--changes", f"{folder}/history", "--keys", KEY, "--output", f"{folder}/base"]
    reconcile(spark, parse_reconcile(words))
    shutil.rmtree(folder / "history")
    return folder / "base"


def make_changes(spark: SparkSession, folder: Path, rows: int, share: float) -> Path:
    """Five keys in a row of six changes: an insertion, a deletion, an update of four others, one of which comes twice."""
    path = folder / f"changes_{share}"
    numbers = spark.range(int(rows * share)).withColumn("number", F.col("id") + rows)
    # A step that has no divisor in common with a power of ten spreads the keys over the base.
    old = F.pmod(F.floor(F.col("id") * 5 / 6).cast("bigint") * 982_451_653, F.lit(rows))
    ids = numbers.select(F.when(F.col("id") % 10 == 9, F.col("number")).otherwise(old).alias("id"), "number")
    kinds = "CASE number % 10 WHEN 9 THEN 'INSERT' WHEN 4 THEN 'DELETE' ELSE 'UPDATE-INSERT' END"
    change_rows(ids, rows, kinds).repartition(2).write.parquet(str(path))
    return path


@dataclass
class Contest:
    """One share of changes: everybody's times, and what everybody's result adds up to."""

    spark: SparkSession
    base: Path
    changes: Path
    folder: Path
    times: dict[str, list[float]] = field(default_factory=dict)
    sums: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def run(self, name: str, work: Callable[[Path], None], total: Callable[[Path], tuple[int, ...]]) -> None:
        output = self.folder / f"output_{name.replace(' ', '_')}"
        shutil.rmtree(output, ignore_errors=True)
        started = time.perf_counter()
        work(output)
        self.times.setdefault(name, []).append(time.perf_counter() - started)
        self.sums[name] = total(output)
        shutil.rmtree(output)

    def onefold(self, output: Path) -> None:
        words = ["--changes", str(self.changes), "--base", str(self.base), "--keys", KEY, "--output", str(output)]
        reconcile(self.spark, parse_reconcile(words))

    def row_number(self, output: Path) -> None:
        landed = read_folder(self.spark, str(self.changes))
        columns = source_columns(landed.columns)
        (part,) = Datastream().parts(landed, parse_reconcile(["--changes", "x", "--keys", KEY, "--output", "y"]), columns)
        everything = rows_of(part, columns, [KEY]).unionByName(self.spark.read.parquet(str(self.base)))
        newest = Window.partitionBy(KEY).orderBy(F.col("_position").desc())
        ranked = everything.withColumn("rank", F.row_number().over(newest)).where("rank = 1").drop("rank")
        ranked.write.parquet(str(output))

    def duckdb(self, output: Path) -> None:
        output.mkdir()
        with duckdb.connect() as connection:
            connection.execute(
                f"COPY (WITH winners AS ({self._winners_sql()}), base AS ({self._base_sql()}), applied AS ("
                "  SELECT w.* FROM winners w LEFT JOIN base b ON w.id IS NOT DISTINCT FROM b.id"
                "  WHERE b._position IS NULL OR w._position > b._position)"
                " SELECT * FROM base b WHERE NOT EXISTS (FROM applied a WHERE a.id IS NOT DISTINCT FROM b.id)"
                f" UNION ALL BY NAME SELECT * FROM applied) TO '{output}/rows.parquet' (FORMAT parquet)"
            )

    def delta(self, output: Path) -> None:
        """Onto a copy of the Delta table, which is not timed: MERGE changes it in place."""
        with duckdb.connect() as connection:
            winners = connection.execute(self._winners_sql()).to_arrow_table()
        merging = _deltalake().DeltaTable(str(output)).merge(winners, "b.id = w.id", source_alias="w", target_alias="b")
        merging.when_matched_update_all("w._position > b._position").when_not_matched_insert_all().execute()

    def _winners_sql(self) -> str:
        """With positions that sort as ours do, and no digest, which a peer has no use for."""
        gone = "datastream_metadata.change_type IN ('DELETE', 'UPDATE-DELETE')"
        kept = ", ".join(f"CASE WHEN NOT {gone} THEN {name} END AS {name}" for name in COLUMNS[1:])
        m = "datastream_metadata"
        position = f"'2' || {m}.change_sequence_number || ' 1' || lpad({m}.source_timestamp::VARCHAR, 19, '0')"
        return (
            f"SELECT id, {kept}, {position} AS _position, {gone} AS _deleted FROM '{self.changes}/*.parquet' "
            "QUALIFY row_number() OVER (PARTITION BY id ORDER BY _position DESC) = 1"
        )

    def _base_sql(self) -> str:
        return f"SELECT * FROM '{self.base}/*.parquet'"


def total(output: Path) -> tuple[int, ...]:
    """Rows, tombstones, and sums that no two of the results should share by chance."""
    query = "SELECT count(*), count_if(_deleted), sum(id), sum(visits), sum(hash(name) % 1000003) FROM"
    row = duckdb.sql(f"{query} '{output}/*.parquet'").fetchone()
    return tuple(int(value) for value in row or ())


def total_of_delta(output: Path) -> tuple[int, ...]:
    files = ", ".join(f"'{path}'" for path in _deltalake().DeltaTable(str(output)).file_uris())
    query = "SELECT count(*), count_if(_deleted), sum(id), sum(visits), sum(hash(name) % 1000003) FROM"
    row = duckdb.sql(f"{query} read_parquet([{files}])").fetchone()
    return tuple(int(value) for value in row or ())


def compete(spark: SparkSession, folder: Path, base: Path, changes: Path, repeat: int) -> Contest:
    contest = Contest(spark, base, changes, folder)
    for _ in range(repeat):
        contest.run("onefold", contest.onefold, total)
        contest.run("ROW_NUMBER", contest.row_number, total)
        contest.run("DuckDB", contest.duckdb, total)
        if importlib.util.find_spec("deltalake"):
            _run_delta(contest)
    if len(set(contest.sums.values())) != 1:
        raise SystemExit(f"the results differ: {contest.sums}")
    return contest


def _run_delta(contest: Contest) -> None:
    table = contest.folder / "delta"
    if not table.exists():
        _deltalake().write_deltalake(str(table), duckdb.sql(f"SELECT * FROM '{contest.base}/*.parquet'").to_arrow_table())
    copy = contest.folder / "delta_copy"
    shutil.copytree(table, copy)

    def work(output: Path) -> None:
        copy.rename(output)
        contest.delta(output)

    contest.run("delta-rs", work, total_of_delta)


def _deltalake() -> Any:
    """No dependency of the project."""
    return importlib.import_module("deltalake")


def open_spark(memory: str) -> SparkSession:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").appName("benchmark")
    options: Mapping[str, str] = {
        "spark.driver.memory": memory,
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "8",
        "spark.ui.showConsoleProgress": "false",
    }
    for name, value in options.items():
        builder = builder.config(name, value)
    spark = prepared(builder.getOrCreate())
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="The Spark job on files beside its peers.")
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--shares", default="0.001,0.01,0.25")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--memory", default="4g")
    parser.add_argument("--folder", type=Path, help="where the data go; a temporary folder by default")
    options = parser.parse_args(argv)
    folder = Path(tempfile.mkdtemp(dir=options.folder))
    table = Table("changes", "of the base", "peer", "seconds", "ratio to onefold")
    try:
        spark = open_spark(options.memory)
        base = make_base(spark, folder, options.rows)
        for share in map(float, options.shares.split(",")):
            contest = compete(spark, folder, base, make_changes(spark, folder, options.rows, share), options.repeat)
            best = {name: min(times) for name, times in contest.times.items()}
            for name, seconds in best.items():
                count = f"{int(options.rows * share):,}"
                table.add_row(count, f"{share:.1%}", name, f"{seconds:.1f}", f"{seconds / best['onefold']:.2f}")
    finally:
        shutil.rmtree(folder)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
