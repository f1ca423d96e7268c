"""The Spark job on files: a change log and a base make the new base, whatever the order, and as often as one likes."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from support.changelogs import change
from support.spark_oracle import (
    Typed,
    base_of,
    in_order,
    live,
    positions_sort_as,
    read_base,
    run_job,
    snapshot,
    texts,
    without_positions,
    write_lines,
)
from support.sweeps import sweep

from onefold.changelog.generator import Workload, WorkloadOptions, make_workload, type_of
from onefold.changelog.generator_files import parquet_rows, write_workload
from onefold.core.errors import InvalidInput
from onefold.schema.types import parse_type
from onefold.spark.io.files import read_folder
from onefold.spark.reconcile.report import JobReport
from spark_jobs.reconcile import main

WORKLOADS = {
    "plain": WorkloadOptions(operations=100),
    "unpadded sequences, shuffled": WorkloadOptions(operations=100, unpadded=True, shuffle=True),
    "changes of keys, delivered twice": WorkloadOptions(operations=100, key_changes=0.3, duplicates=0.5, shuffle=True),
    "backfill, one second, versions": WorkloadOptions(
        operations=100, backfill=True, same_second=True, versions=3, shuffle=True,
    ),
    "everything": WorkloadOptions(
        operations=100, key_changes=0.2, duplicates=0.2, shuffle=True, same_second=True, backfill=True, unpadded=True,
        versions=2,
    ),
}  # fmt: skip
KEYS = ["workload", "id"]


def all_changes(workload: Workload) -> list[dict[str, object]]:
    return [row for rows in workload.changes.values() for row in rows]


@dataclass(frozen=True)
class Together:
    """All workloads, told apart by a column of the key, and what one job made of them: a run of Spark takes seconds."""

    workloads: dict[str, Workload]
    types: dict[str, str]
    report: JobReport
    rows: list[dict[str, Any]]

    def base_of(self, name: str) -> list[dict[str, Any]]:
        return [row for row in self.rows if row["workload"] == name]


@pytest.fixture(scope="module")
def together(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Together:
    folder = tmp_path_factory.mktemp("together")
    workloads = {name: make_workload(options) for name, options in WORKLOADS.items()}
    base = folder / "base.parquet"
    write_parquet(base, [named(name, row) for name, made in workloads.items() for row in made.base])
    versions = sorted({version for made in workloads.values() for version in made.changes})
    changes = [folder / version for version in versions]
    for path in changes:
        path.mkdir()
        rows = [named(name, row) for name, made in workloads.items() for row in made.changes.get(path.name, ())]
        write_parquet(path / "rows.parquet", rows)
    report = run_job(spark, changes, folder / "out", keys=",".join(KEYS), base=base)
    types = {"workload": "STRING", **{name: type_ for made in workloads.values() for name, type_ in made.types.items()}}
    return Together(workloads, types, report, Typed(types).read(folder / "out"))


def named(name: str, row: dict[str, Any]) -> dict[str, Any]:
    return {"workload": name, **row}


def write_parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    parquet_rows(rows, {name: parse_type(type_of(name)) for row in rows for name in row}, path)


@pytest.mark.parametrize("name", sweep(tuple(WORKLOADS)))
def test_the_job_gives_the_oracles_base_and_the_truth(together: Together, name: str) -> None:
    workload, found, typed = together.workloads[name], together.base_of(name), Typed(together.types)
    changes = [typed.held(named(name, change)) for change in all_changes(workload)]
    base = [typed.held(named(name, row)) for row in workload.base]
    assert texts(without_positions(found)) == texts(base_of(changes, KEYS, base, typed.types))
    assert positions_sort_as(found, changes, KEYS, typed.types)
    assert texts(live(found)) == texts(typed.held(named(name, row)) for row in workload.truth)


def test_the_job_counts_what_it_read_and_what_it_wrote(together: Together) -> None:
    made, report = together.workloads.values(), together.report
    assert (report.changes, report.base_rows) == (
        sum(len(all_changes(one)) for one in made),
        sum(len(one.base) for one in made),
    )
    assert (report.rows, report.live) == (len(together.rows), sum(len(one.truth) for one in made))


@pytest.mark.long
def test_the_articles_thousand_operations_leave_188_rows(spark: SparkSession, tmp_path: Path) -> None:
    """382 insertions and 194 deletions among them, shuffled, in two batches of which the second overlaps the first."""
    kinds = ["INSERT"] * 382 + ["DELETE"] * 194 + ["UPDATE-INSERT"] * 424
    keys = [place + 1 if place < 382 else (place - 382) % 194 + 1 if place < 576 else 300 for place in range(1000)]
    rows = [
        change(kind, f"{place:X}", id=key, value=place) for place, (kind, key) in enumerate(zip(kinds, keys, strict=True))
    ]
    random.Random(7).shuffle(rows)
    first, second = write_lines(tmp_path / "1.jsonl", rows[:600]), write_lines(tmp_path / "2.jsonl", rows[500:])
    run_job(spark, first, tmp_path / "a")
    report = run_job(spark, second, tmp_path / "b", base=tmp_path / "a")
    found = read_base(spark, tmp_path / "b")
    assert (report.rows, report.live) == (382, 382 - 194) == (len(found), len(live(found)))
    assert [row["value"] for row in found if row["id"] == 300] == [999]


def test_batches_lead_where_one_batch_does_and_say_what_they_did(spark: SparkSession, tmp_path: Path) -> None:
    workload = make_workload(WorkloadOptions(operations=300, key_changes=0.2, every_type=False))
    changes = all_changes(workload)
    early, late = write_lines(tmp_path / "1.jsonl", changes[:200]), write_lines(tmp_path / "2.jsonl", changes[150:])
    first = run_job(spark, early, tmp_path / "a")
    second = run_job(spark, late, tmp_path / "b", base=tmp_path / "a")
    again = run_job(spark, early, tmp_path / "c", base=tmp_path / "b")
    assert read_base(spark, tmp_path / "b") == read_base(spark, tmp_path / "c")
    assert without_positions(read_base(spark, tmp_path / "b")) == base_of(changes, ["id"])
    assert (first.base, first.inserted, first.rows) == ("absent", first.live, first.keys)
    assert second.inserted + second.updated + second.deleted + second.tombstones + second.repeated == second.keys
    assert (second.base_rows, second.live) == (first.rows, len(workload.truth))
    assert second.live == first.live + second.inserted - second.deleted
    assert (again.inserted, again.updated, again.deleted, again.tombstones) == (0, 0, 0, 0)
    assert again.repeated + again.lost == again.keys


@pytest.mark.long
@pytest.mark.usefixtures("in_parts")
def test_a_base_too_large_to_send_meets_changes_too_many_to_send(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workload = make_workload(WorkloadOptions(operations=300, key_changes=0.2, backfill=True, every_type=False))
    write_workload(workload, tmp_path / "work")
    folder, base = tmp_path / "work" / "changes", tmp_path / "work" / "base.jsonl"
    few = run_job(spark, folder, tmp_path / "few", base=base)
    monkeypatch.setattr("onefold.spark.reconcile.job.SHARE_OF_MEMORY", 0)
    many = run_job(spark, folder, tmp_path / "many", base=base)
    assert many == few
    assert read_base(spark, tmp_path / "many") == read_base(spark, tmp_path / "few")


def test_the_same_job_again_has_nothing_to_do(spark: SparkSession, tmp_path: Path) -> None:
    changes = write_lines(
        tmp_path / "changes.jsonl", all_changes(make_workload(WorkloadOptions(operations=20, every_type=False)))
    )
    first = run_job(spark, changes, tmp_path / "out")
    before = snapshot(tmp_path / "out")
    second = run_job(spark, changes, tmp_path / "out")
    assert (first.already, second.already) == (False, True)
    assert second.rows == first.rows
    assert snapshot(tmp_path / "out") == before


def test_a_rebuild_reads_the_changes_alone(spark: SparkSession, tmp_path: Path) -> None:
    workload = make_workload(WorkloadOptions(operations=100, every_type=False))
    changes = write_lines(tmp_path / "changes.jsonl", all_changes(workload))
    base = write_lines(tmp_path / "base.jsonl", [{"id": 9999, "name": "not from these changes"}])
    report = run_job(spark, changes, tmp_path / "out", "--mode", "rebuild", base=base)
    assert report.base == "ignored"
    assert live(read_base(spark, tmp_path / "out")) == in_order(workload.truth)


def test_what_the_files_cannot_say_stands_beside_them(spark: SparkSession, tmp_path: Path) -> None:
    changes = write_lines(
        tmp_path / "changes.jsonl", all_changes(make_workload(WorkloadOptions(operations=20, every_type=False)))
    )
    report = run_job(spark, changes, tmp_path / "out")
    said = json.loads((tmp_path / "out" / "_onefold.json").read_text())
    assert said["keys"] == ["id"]
    assert said["columns"][0] == {"name": "id", "type": "INT64", "landed": ["INT64"]}
    assert said["arguments"]["changes"] == [str(changes)]
    assert said["report"]["rows"] == report.rows
    assert sorted(said["files"]) == sorted(path.name for path in (tmp_path / "out").glob("part-*"))


def test_columns_stand_in_the_order_in_which_they_first_appear(spark: SparkSession, tmp_path: Path) -> None:
    workload = make_workload(WorkloadOptions(operations=30, versions=2, every_type=False))
    folders = [write_lines(tmp_path / name / "rows.jsonl", rows).parent for name, rows in workload.changes.items()]
    run_job(spark, folders, tmp_path / "out")
    expected = ["id", "name", "amount", "added_1", "_position", "_deleted"]
    assert spark.read.parquet(str(tmp_path / "out")).columns == expected


def test_a_base_that_is_not_there_is_an_empty_one(spark: SparkSession, tmp_path: Path) -> None:
    changes = write_lines(
        tmp_path / "changes.jsonl", all_changes(make_workload(WorkloadOptions(operations=20, every_type=False)))
    )
    assert run_job(spark, changes, tmp_path / "out", base=tmp_path / "nothing").base == "missing"


def test_numbers_of_json_are_exact_and_its_text_stays_text(spark: SparkSession, tmp_path: Path) -> None:
    lines = ['{"id":1,"zip":"01234","price":1.10}', '{"id":2,"zip":"5","price":12345678901234567.123456789}']
    (tmp_path / "base.jsonl").write_text("\n".join(lines))
    (tmp_path / "large.jsonl").write_text('{"id":1,"price":1e20}\n')
    exact, large = (read_folder(spark, str(tmp_path / name)) for name in ("base.jsonl", "large.jsonl"))
    assert [str(column.type) for column in exact.columns] == ["INT64", "STRING", "NUMERIC"]
    assert exact.rows.collect() == [(1, "01234", Decimal("1.1")), (2, "5", Decimal("12345678901234567.123456789"))]
    assert [str(column.type) for column in large.columns] == ["INT64", "FLOAT64"]


def test_a_file_of_another_kind_than_its_name_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "rows.parquet").write_bytes(b"no parquet at all, but long enough to have a footer")
    with pytest.raises(InvalidInput, match=r"rows\.parquet cannot be read: \[FAILED_READ_FILE"):
        run_job(spark, tmp_path / "rows.parquet", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("spark")
def test_an_error_in_a_row_is_the_last_line_and_no_page_of_java(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changes = write_lines(tmp_path / "1.jsonl", [change("INSERT", "1", timestamp="2024-01-01", id=1)])  # type: ignore[arg-type]
    assert main(["--changes", str(changes), "--output", str(tmp_path / "out"), "--keys", "id"]) == 1
    reported = capsys.readouterr().err.splitlines()
    assert (len(reported), "The value '2024-01-01' of the type" in reported[-1]) == (1, True)
