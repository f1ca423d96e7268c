"""Two Spark jobs on one output: no job finishes a folder that the other one changed, and no job removes finished work."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from support.changelogs import change
from support.spark_oracle import read_base, run_job, snapshot, write_lines
from support.sweeps import sweep

from onefold.core.errors import InvalidInput, OnefoldError, TryAgain
from onefold.spark.io.base_output import open_output
from onefold.spark.io.filesystem import Folder
from onefold.spark.io.manifest import OutputManifest, read_manifest
from onefold.spark.reconcile import job
from onefold.spark.reconcile.plan import JobPlan, make_plan

TASKS = 8
FIRST, SECOND = OutputManifest({"job": 1}, ("id",)), OutputManifest({"job": 2}, ("id",))


def write_base(spark: SparkSession, uri: str, rows: DataFrame) -> None:
    with open_output(spark, uri, FIRST) as output:
        output.finish(FIRST, output.write(rows))


def rows_while(spark: SparkSession, output: Path, what: str) -> DataFrame:
    """Return rows; while Spark computes the last one, another job interferes, and the tasks before it are committed."""

    def interfere(number: int) -> int:
        if number == TASKS - 1:
            if what == "clears the folder":
                for task in (output / "_temporary" / "0").glob("task_*"):
                    shutil.rmtree(task)
            else:
                (output / "_onefold.json").write_text(SECOND.to_json())
                (output / "._onefold.json.crc").unlink()
        return number

    return spark.range(0, TASKS, 1, TASKS).select(F.udf(interfere, "bigint")("id").alias("id"))


@pytest.mark.parametrize("what", sweep(["clears the folder", "begins to write"]))
def test_a_job_whose_folder_another_one_takes_leaves_it_unfinished(spark: SparkSession, tmp_path: Path, what: str) -> None:
    with pytest.raises(TryAgain, match="another job writes"):
        write_base(spark, str(tmp_path / "out"), rows_while(spark, tmp_path / "out", what))
    with pytest.raises(InvalidInput, match="is unfinished"):
        read_manifest(Folder(spark, str(tmp_path / "out")))


def overtaken(spark: SparkSession, output: str, rows: int) -> None:
    """Write with one job, run the same job elsewhere from beginning to end, then finish the first one."""
    with open_output(spark, output, FIRST) as slow:
        count = slow.write(spark.range(TASKS))
        write_base(spark, output, spark.range(rows))
        slow.finish(FIRST, count)


@pytest.mark.parametrize("rows", sweep([TASKS, 3]))
def test_a_base_that_the_same_job_finished_elsewhere_stays(spark: SparkSession, tmp_path: Path, rows: int) -> None:
    with pytest.raises(TryAgain, match="another job writes"):
        overtaken(spark, str(tmp_path / "out"), rows)
    assert [row["id"] for row in read_base(spark, tmp_path / "out")] == list(range(rows))


def test_the_job_run_again_writes_all_rows(spark: SparkSession, tmp_path: Path) -> None:
    output = str(tmp_path / "out")
    with pytest.raises(TryAgain):
        write_base(spark, output, rows_while(spark, tmp_path / "out", "clears the folder"))
    write_base(spark, output, spark.range(TASKS))
    assert [row["id"] for row in read_base(spark, tmp_path / "out")] == list(range(TASKS))


def test_an_output_without_rows_is_finished_too(spark: SparkSession, tmp_path: Path) -> None:
    output = str(tmp_path / "out")
    write_base(spark, output, spark.range(0))
    assert read_base(spark, tmp_path / "out") == []


@pytest.mark.parametrize(
    ("other", "error", "words"),
    sweep([(("--to", "5"), InvalidInput, "from other arguments"), ((), TryAgain, "another job has written")]),
    ids=["another job", "the same job"],
)
def test_the_output_that_another_job_finished_meanwhile_stays(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    other: tuple[str, ...],
    error: type[OnefoldError],
    words: str,
) -> None:
    changes = write_lines(tmp_path / "changes.jsonl", [change("INSERT", "1", id=1)])
    finished: dict[str, bytes] = {}

    def plan_while_another_finishes(*arguments: object) -> JobPlan:
        monkeypatch.setattr(job, "make_plan", make_plan)
        run_job(spark, changes, tmp_path / "out", *other)
        finished.update(snapshot(tmp_path / "out"))
        return make_plan(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(job, "make_plan", plan_while_another_finishes)
    with pytest.raises(error, match=words):
        run_job(spark, changes, tmp_path / "out")
    assert finished
    assert snapshot(tmp_path / "out") == finished


def test_an_error_of_the_file_system_is_one_line(spark: SparkSession) -> None:
    """To Hadoop, HTTP is a file system whose folders cannot be listed."""
    with pytest.raises(InvalidInput, match=r"^http://127\.0\.0\.1:9/rows cannot be read: .+$"):
        Folder(spark, "http://127.0.0.1:9/rows").files()
