"""The fixed cost of the Spark job on files: a batch of 300 changes, with few columns and with columns of many types.

Run: `python -m benchmarks.fixed_cost [--changes 300] [--repeat 3] [--folder DIR]`.

The narrow table has a key and a name; the wide one has the key and ten columns of mixed types. Each has a base of as many
keys. `new process` is the whole command, the start of Spark included; `warm` is one more batch in a session that has run
both before. The rounds alternate, each writes new files, and the warm ones begin with an empty cache and new copies of what
is read.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from benchmarks.change_data import START, sequence_of
from benchmarks.quiet import Rounds, described
from benchmarks.report import add_options, machine, markdown, publish, ratio, spread, versions
from benchmarks.spark_session import forget, open_spark
from onefold.batches.arguments import ReconcileArguments
from onefold.spark.reconcile.job import reconcile

HEADING = "The fixed cost of a small batch"
HEADER = ("", "id and name, seconds", "id and ten columns of mixed types, seconds", "ratio")
ROOT = Path(__file__).resolve().parents[1]
SHAPES = {
    "narrow": {"name": "concat('name of ', id)"},
    "wide": {
        "share": "CAST(number AS DOUBLE) / 7",  # FLOAT64
        "amount": "CAST(number % 1000000 AS DECIMAL(38, 9)) / 100",  # NUMERIC
        "total": "CAST(number AS DECIMAL(38, 20)) / 3",  # BIGNUMERIC, which the base holds as text
        "created": "timestamp_seconds(1700000000 + number)",  # TIMESTAMP
        "born": "date_add(DATE'2000-01-01', CAST(number % 9000 AS INT))",  # DATE
        "raw": "encode(concat('raw ', id), 'UTF-8')",  # BYTES
        "place": "struct(CAST(number AS DOUBLE) / 3 AS latitude, concat('city ', id) AS city)",  # STRUCT
        "scores": "array(number, number + 1)",  # ARRAY
        "document": "to_json(struct(id, number))",  # JSON comes as text
        "active": "number % 3 = 0",  # BOOL
    },
}


def make_changes(spark: SparkSession, path: Path, shape: str, count: int, first: int) -> None:
    """Return a change log of a number of keys, whose sequences begin with `first`."""
    metadata = F.struct(
        F.hex("number").alias("uuid"), (F.lit(START) + F.col("number")).alias("source_timestamp"),
        sequence_of("number").alias("change_sequence_number"), F.lit("UPDATE-INSERT").alias("change_type"),
        F.array(F.lit("1")).alias("sort_keys"),
    )  # fmt: skip
    values = (F.expr(text).alias(name) for name, text in SHAPES[shape].items())
    numbers = spark.range(count).withColumn("number", F.col("id") + first)
    numbers.select("id", *values, metadata.alias("datastream_metadata")).coalesce(1).write.parquet(str(path))


def make_data(spark: SparkSession, folder: Path, shape: str, count: int) -> Path:
    """Write a base, and changes of all its keys."""
    data = folder / shape
    make_changes(spark, data / "history", shape, count, 0)
    reconcile(spark, ReconcileArguments.parse(["--changes", f"{data}/history", "--keys", "id", "--output", f"{data}/base"]))
    shutil.rmtree(data / "history")
    make_changes(spark, data / "changes", shape, count, count)
    return data


def words(data: Path) -> list[str]:
    return ["--changes", f"{data}/changes", "--base", f"{data}/base", "--keys", "id", "--output", f"{data}/output"]


def as_a_process(data: Path) -> float:
    command = [sys.executable, str(ROOT / "spark_jobs" / "reconcile.py"), *words(data)]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    started = time.perf_counter()
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"the job ended with {done.returncode}: {done.stderr[-2000:]}")
    return time.perf_counter() - started


def measure(folder: Path, shapes: dict[str, Path], rounds: Rounds[float], run: Callable[[Path], float]) -> None:
    """Note the seconds of each shape in each round; the shapes alternate."""
    for number in rounds:
        for shape in sorted(shapes, reverse=bool(number % 2)):
            data = Path(shutil.copytree(shapes[shape], folder / f"{shape}_{number}"))
            rounds.note(shape, run(data))
            shutil.rmtree(data)


def in_session(spark: SparkSession) -> Callable[[Path], float]:
    def run(data: Path) -> float:
        forget(spark)
        started = time.perf_counter()
        reconcile(spark, ReconcileArguments.parse(words(data)))
        return time.perf_counter() - started

    return run


def line(title: str, rounds: Rounds[float]) -> tuple[str, ...]:
    narrow, wide = rounds.figures["narrow"], rounds.figures["wide"]
    return title, spread(narrow).text(1), spread(wide).text(1), ratio(wide, narrow).text()


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="The fixed cost of the Spark job on files.")
    parser.add_argument("--changes", type=int, default=300)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where the data go; a temporary folder by default")
    add_options(parser)
    options = parser.parse_args(argv)
    folder = Path(tempfile.mkdtemp(dir=options.folder))
    try:
        spark = open_spark("1g", [])
        shapes = {shape: make_data(spark, folder, shape, options.changes) for shape in SHAPES}
        warm, new = (Rounds[float](options.repeat, again=bool(options.page)) for _ in range(2))
        measure(folder, shapes, warm, in_session(spark))
        spark.stop()
        measure(folder, shapes, new, as_a_process)
    finally:
        shutil.rmtree(folder)
    sizes = f"{options.changes} changes of a base of {options.changes} rows, {described([new, warm])}"
    lines = [line("new process", new), line("warm", warm)]
    publish(options, HEADING, machine(sizes, versions(Spark="pyspark")), markdown(HEADER, lines), (), [new, warm])


if __name__ == "__main__":
    main()
