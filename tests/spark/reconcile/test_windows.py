"""Changes that the Spark job must not lose: events without their row, rows without a landing time, a newer copy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from support.changelogs import change
from support.spark_oracle import Row, live, read_base, run_job, write_lines
from support.sweeps import sweep

from onefold.core.errors import InvalidInput

ROW = {"id": 1, "name": "a"}
PULLS = ("--format", "modify_time", "--position", "changed")


def event(op: str, before: Row | None, after: Row | None, lsn: int) -> Row:
    return {"op": op, "before": before, "after": after, "source": {"lsn": lsn, "ts_ms": lsn}, "ts_ms": lsn}


@pytest.mark.parametrize("wrapped", sweep([False, True]), ids=["bare", "with payload"])
@pytest.mark.parametrize(
    ("good", "bad", "side"),
    [
        (event("c", None, ROW, 1), event("d", None, None, 2), "before"),
        (event("d", ROW, None, 1), event("u", ROW, None, 2), "after"),
        (event("d", ROW, None, 1), event("c", None, None, 2), "after"),
    ],
    ids=["deletion", "update", "creation"],
)
def test_an_event_without_its_row_is_refused_where_no_other_has_one_either(
    spark: SparkSession, tmp_path: Path, good: Row, bad: Row, side: str, wrapped: bool
) -> None:
    events = [{"payload": one} for one in (good, bad)] if wrapped else [good, bad]
    with pytest.raises(InvalidInput, match=f"no row in {side}"):
        run_job(spark, write_lines(tmp_path / "events.jsonl", events), tmp_path / "out", "--format", "debezium")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("events", "expected"),
    sweep(
        [
            ([event("c", None, ROW, 1), event("u", None, {**ROW, "name": "b"}, 2)], [{**ROW, "name": "b"}]),
            ([event("d", ROW, None, 1)], []),
        ]
    ),
    ids=["no row before", "no row after"],
)
def test_events_that_need_one_side_alone_are_read_without_the_other(
    spark: SparkSession, tmp_path: Path, events: list[Row], expected: list[Row]
) -> None:
    run_job(spark, write_lines(tmp_path / "events.jsonl", events), tmp_path / "out", "--format", "debezium")
    assert live(read_base(spark, tmp_path / "out")) == expected


@pytest.mark.parametrize(
    ("window", "ids"),
    sweep([(("--from", "2024-02-01"), [1, 3]), (("--to", "2024-02-01"), [1, 2])]),
    ids=["from", "to"],
)
@pytest.mark.parametrize("format_", sweep(["datastream", "debezium"]))
def test_rows_without_a_landing_time_are_in_every_window(
    spark: SparkSession, tmp_path: Path, format_: str, window: tuple[str, str], ids: list[int]
) -> None:
    landed = {1: None, 2: "2024-01-01T00:00:00Z", 3: "2024-03-01T00:00:00Z"}
    rows = [
        {
            **(change("INSERT", "1", id=id_) if format_ == "datastream" else event("c", None, {"id": id_}, 1)),
            "_landed_at": time,
        }
        for id_, time in landed.items()
    ]
    run_job(spark, write_lines(tmp_path / "changes.jsonl", rows), tmp_path / "out", "--format", format_, *window)
    assert sorted(row["id"] for row in read_base(spark, tmp_path / "out")) == ids


@pytest.mark.parametrize(
    ("pulled", "stays"),
    sweep([(9, "copy"), (12, "pull"), (13, "pull")]),
    ids=["an older pull", "a pull of that time", "a newer pull"],
)
def test_a_row_of_a_copy_is_ordered_by_its_position(spark: SparkSession, tmp_path: Path, pulled: int, stays: str) -> None:
    copy = write_lines(tmp_path / "copy.jsonl", [{"id": 1, "changed": 12, "from": "copy"}])
    pull = write_lines(tmp_path / "pull.jsonl", [{"id": 1, "changed": pulled, "from": "pull"}])
    run_job(spark, pull, tmp_path / "out", *PULLS, base=copy)
    assert [row["from"] for row in live(read_base(spark, tmp_path / "out"))] == [stays]


@pytest.mark.parametrize("known", sweep([{}, {"changed": None}]), ids=["no such column", "no value"])
def test_a_row_of_a_copy_without_that_position_is_older_than_any_pull(
    spark: SparkSession, tmp_path: Path, known: dict[str, Any]
) -> None:
    copy = write_lines(tmp_path / "copy.jsonl", [{"id": 1, "from": "copy", **known}, {"id": 2, "from": "copy"}])
    pull = write_lines(tmp_path / "pull.jsonl", [{"id": 1, "changed": -5, "from": "pull"}])
    run_job(spark, pull, tmp_path / "out", *PULLS, base=copy)
    assert [row["from"] for row in live(read_base(spark, tmp_path / "out"))] == ["pull", "copy"]


@pytest.mark.parametrize("place", sweep(["folders", "a copy", "a base"]))
def test_positions_of_different_kinds_are_refused_by_name(spark: SparkSession, tmp_path: Path, place: str) -> None:
    text = write_lines(tmp_path / "text.jsonl", [{"id": 1, "changed": "10"}])
    number = write_lines(tmp_path / "number.jsonl", [{"id": 1, "changed": 9}])
    if place == "a base":
        run_job(spark, text, tmp_path / "base", *PULLS)
    pulls = [number, text] if place == "folders" else [number]
    base = {"folders": None, "a copy": text, "a base": tmp_path / "base"}[place]
    name = text if place == "folders" else "the base"
    with pytest.raises(InvalidInput, match=f"the position changed, got INT64 in {number}, STRING in {name}, which cannot"):
        run_job(spark, pulls, tmp_path / "out", *PULLS, base=base)
    assert not (tmp_path / "out").exists()


def test_times_of_several_types_are_of_one_kind(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql("SELECT 1 AS id, DATE '2024-01-02' AS changed").write.parquet(str(tmp_path / "dates"))
    spark.sql("SELECT 1 AS id, TIMESTAMP '2024-01-01 23:00:00' AS changed, 1 AS n").write.parquet(str(tmp_path / "times"))
    run_job(spark, [tmp_path / "dates", tmp_path / "times"], tmp_path / "out", *PULLS)
    (row,) = read_base(spark, tmp_path / "out")
    assert "n" not in row
