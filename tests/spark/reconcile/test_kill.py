"""The real job, killed and run again: nothing is lost, nothing is doubled, the old base is whole.

One round of kills at random moments of each stage; TEST_KILLS asks for more rounds.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from support.spark_oracle import Typed, base_of, run_job, snapshot, texts, without_positions
from support.spark_process import KILLS, Job

from onefold.changelog.generator import Row, WorkloadOptions, make_workload, type_of
from onefold.changelog.generator_files import parquet_rows
from onefold.schema.types import parse_type

pytestmark = pytest.mark.long

STORED = 9_000
"""Rows of the first base, in a few files; the job copies those that the changes do not replace."""


class Files:
    """A base that an earlier job wrote, changes with columns of every type, and what has to come out."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.job = Job(folder, ["--changes", "changes", "--base", "base", "--keys", "id", "--output", "out"])
        self.folder, self.output = folder, folder / "out"
        workload = make_workload(WorkloadOptions(operations=150, key_changes=0.2, duplicates=0.2, shuffle=True))
        (changes,) = workload.changes.values()
        stored = [_stored(changes[0], number) for number in range(STORED)]
        self._write("stored", stored)
        run_job(spark, folder / "stored", folder / "base")
        self._write("changes", changes)
        self._typed = Typed(workload.types)
        everything = [self._typed.held(change) for change in (*stored, *changes)]
        self.expected = texts(base_of(everything, ["id"], (), self._typed.types))

    def _write(self, name: str, rows: list[Row]) -> None:
        (self.folder / name).mkdir()
        parquet_rows(rows, {name: parse_type(type_of(name)) for name in rows[0]}, self.folder / name / "rows.parquet")

    def found(self) -> list[str]:
        return texts(without_positions(self._typed.read(self.output)))

    def is_whole(self) -> bool:
        return (self.output / "_SUCCESS").exists()

    def begun(self) -> set[Any]:
        """What shows that a run has begun to write, another thing for each run."""
        manifest = self.output / "_onefold.json"
        return {manifest.stat().st_mtime_ns} if manifest.exists() else set()

    def copies(self) -> set[Any]:
        """Copies that are under way. What Spark writes itself is in a folder with the name of a number."""
        return {path for path in self.output.glob("_temporary/*/part-*") if len(path.parent.name) == 32}

    def kill(self, shown: Callable[[], set[Any]], after: float) -> None:
        """Kill a run some seconds after it has shown something new."""
        before = shown()
        self.job.kill(after, lambda: shown is set or bool(shown() - before))

    def read_only(self) -> dict[str, bytes]:
        """All that the job may not touch."""
        return {name: content for name, content in snapshot(self.folder).items() if not name.startswith("out/")}


def _stored(like: Row, number: int) -> Row:
    """A row with NULL in most columns, older than any change."""
    metadata = {**like["datastream_metadata"], "change_sequence_number": None, "change_type": "INSERT", "sort_keys": []}
    return {**dict.fromkeys(like), "id": number, "name": f"row {number} é", "datastream_metadata": metadata}


@pytest.fixture
def files(spark: SparkSession, tmp_path: Path) -> Files:
    parts = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "4")
    try:
        return Files(spark, tmp_path)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", str(parts))


def test_a_killed_job_runs_again_and_gives_the_whole_base(files: Files, chance: random.Random) -> None:
    untouched = files.read_only()
    stages: list[tuple[Callable[[], set[Any]], float]] = [
        (files.copies, 0.0), (set, 12.0), (files.begun, 0.6), (files.copies, 0.1),
    ]  # fmt: skip
    unfinished, copying = 0, 0
    for shown, longest in stages * KILLS:
        if files.is_whole():
            shutil.rmtree(files.output)
        files.kill(shown, chance.uniform(0, longest))
        unfinished += files.output.exists() and not files.is_whole()
        copying += bool(files.copies())
        assert not files.is_whole() or files.found() == files.expected
        assert files.read_only() == untouched
    assert unfinished >= copying > 0
    if files.is_whole():
        shutil.rmtree(files.output)
    report = files.job.run()
    assert files.found() == files.expected
    assert report["rows"] == len(files.expected)
    assert files.job.run() == {**report, "already": True}
