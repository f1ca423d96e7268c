"""The Spark job on files: a change log and a base make the new base, whatever the order, and as often as one likes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from spark_oracle import base_of, in_order, live, lowest, read_base, run_job, snapshot, write_lines

from onefold.workload import Options, Workload, make_workload, write_workload

WORKLOADS = {
    "plain": Options(operations=300),
    "unpadded sequences, shuffled": Options(operations=300, unpadded=True, shuffle=True),
    "changes of keys, delivered twice": Options(operations=300, key_changes=0.3, duplicates=0.5, shuffle=True),
    "backfill, one second, versions": Options(operations=300, backfill=True, same_second=True, versions=3, shuffle=True),
    "everything": Options(
        operations=300, key_changes=0.2, duplicates=0.2, shuffle=True, same_second=True, backfill=True, unpadded=True, versions=2
    ),
}  # fmt: skip


def all_changes(workload: Workload) -> list[dict[str, object]]:
    return [row for rows in workload.changes.values() for row in rows]


@pytest.mark.parametrize("options", WORKLOADS.values(), ids=WORKLOADS.keys())
def test_the_job_gives_the_oracles_base_and_the_truth(spark: SparkSession, tmp_path: Path, options: Options) -> None:
    workload = make_workload(options)
    write_workload(workload, tmp_path / "work")
    report = run_job(spark, tmp_path / "work" / "changes", tmp_path / "out", base=tmp_path / "work" / "base.jsonl")
    found = read_base(spark, tmp_path / "out")
    assert found == base_of(all_changes(workload), ["id"], lowest(workload.base))
    assert live(found) == in_order(workload.truth)
    assert (report.changes, report.base_rows) == (len(all_changes(workload)), len(workload.base))
    assert (report.rows, report.live) == (len(found), len(workload.truth))


def test_a_thousand_operations_of_382_insertions_and_194_deletions_leave_188_rows(spark: SparkSession, tmp_path: Path) -> None:
    seed = next(
        seed for seed in range(100_000)
        if make_workload(Options(seed=seed, versions=1)).counts == {"insert": 382, "update": 424, "delete": 194, "key change": 0}
    )  # fmt: skip
    workload = make_workload(Options(seed=seed))
    write_workload(workload, tmp_path / "work")
    report = run_job(spark, tmp_path / "work" / "changes", tmp_path / "out")
    assert (report.changes, report.live, report.tombstones) == (1000, 188, 194)
    assert live(read_base(spark, tmp_path / "out")) == in_order(workload.truth)


def test_batches_lead_where_one_batch_does_and_say_what_they_did(spark: SparkSession, tmp_path: Path) -> None:
    workload = make_workload(Options(operations=300, key_changes=0.2))
    changes = all_changes(workload)
    early, late = write_lines(tmp_path / "1.jsonl", changes[:200]), write_lines(tmp_path / "2.jsonl", changes[150:])
    first = run_job(spark, early, tmp_path / "a")
    second = run_job(spark, late, tmp_path / "b", base=tmp_path / "a")
    again = run_job(spark, early, tmp_path / "c", base=tmp_path / "b")
    assert read_base(spark, tmp_path / "b") == read_base(spark, tmp_path / "c") == base_of(changes, ["id"])
    assert (first.base, first.inserted, first.rows) == ("absent", first.live, first.keys)
    assert second.inserted + second.updated + second.deleted + second.tombstones + second.repeated == second.keys
    assert (second.base_rows, second.live) == (first.rows, len(workload.truth))
    assert second.live == first.live + second.inserted - second.deleted
    assert (again.inserted, again.updated, again.deleted, again.tombstones) == (0, 0, 0, 0)
    assert again.repeated + again.lost == again.keys


def test_a_base_too_large_to_send_meets_changes_too_many_to_send(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workload = make_workload(Options(operations=300, key_changes=0.2, backfill=True))
    write_workload(workload, tmp_path / "work")
    folder, base = tmp_path / "work" / "changes", tmp_path / "work" / "base.jsonl"
    few = run_job(spark, folder, tmp_path / "few", base=base)
    monkeypatch.setattr("onefold.spark.reconciling.FEW_BYTES", 0)
    many = run_job(spark, folder, tmp_path / "many", base=base)
    assert many == few
    assert read_base(spark, tmp_path / "many") == read_base(spark, tmp_path / "few")


def test_the_same_job_again_has_nothing_to_do(spark: SparkSession, tmp_path: Path) -> None:
    changes = write_lines(tmp_path / "changes.jsonl", all_changes(make_workload(Options(operations=20))))
    first = run_job(spark, changes, tmp_path / "out")
    before = snapshot(tmp_path / "out")
    second = run_job(spark, changes, tmp_path / "out")
    assert (first.done, second.done) == (True, False)
    assert second.rows == first.rows
    assert snapshot(tmp_path / "out") == before


def test_a_rebuild_reads_the_changes_alone(spark: SparkSession, tmp_path: Path) -> None:
    workload = make_workload(Options(operations=100))
    changes = write_lines(tmp_path / "changes.jsonl", all_changes(workload))
    base = write_lines(tmp_path / "base.jsonl", [{"id": 9999, "name": "not from these changes"}])
    report = run_job(spark, changes, tmp_path / "out", "--mode", "rebuild", base=base)
    assert report.base == "ignored"
    assert live(read_base(spark, tmp_path / "out")) == in_order(workload.truth)


def test_what_the_files_cannot_say_stands_beside_them(spark: SparkSession, tmp_path: Path) -> None:
    changes = write_lines(tmp_path / "changes.jsonl", all_changes(make_workload(Options(operations=20))))
    report = run_job(spark, changes, tmp_path / "out")
    said = json.loads((tmp_path / "out" / "_onefold.json").read_text())
    assert said["keys"] == ["id"]
    assert said["columns"][0] == {"name": "id", "type": "INT64", "landed": ["INT64"]}
    assert said["arguments"]["changes"] == [str(changes)]
    assert said["report"]["rows"] == report.rows
    assert sorted(said["files"]) == sorted(path.name for path in (tmp_path / "out").glob("part-*"))


def test_columns_stand_in_the_order_in_which_they_first_appear(spark: SparkSession, tmp_path: Path) -> None:
    workload = make_workload(Options(operations=30, versions=2))
    folders = [write_lines(tmp_path / name / "rows.jsonl", rows).parent for name, rows in workload.changes.items()]
    run_job(spark, folders, tmp_path / "out")
    expected = ["id", "name", "amount", "added_1", "_position", "_deleted"]
    assert spark.read.parquet(str(tmp_path / "out")).columns == expected


def test_a_base_that_is_not_there_is_an_empty_one(spark: SparkSession, tmp_path: Path) -> None:
    changes = write_lines(tmp_path / "changes.jsonl", all_changes(make_workload(Options(operations=20))))
    assert run_job(spark, changes, tmp_path / "out", base=tmp_path / "nothing").base == "absent"
