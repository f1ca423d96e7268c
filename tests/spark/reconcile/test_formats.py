"""Formats of change logs: events of Debezium, periodic pulls, and their windows."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession
from support.changelogs import change
from support.spark_oracle import live, read_base, run_job, write_lines
from support.sweeps import sweep

from onefold.changelog.digest import digest
from onefold.changelog.position import Position
from onefold.core.errors import InvalidInput

pytestmark = pytest.mark.heavy

Row = dict[str, Any]

# Debezium.


def event(op: str, before: Row | None, after: Row | None, ts_ms: int = 1, **source: Any) -> Row:
    return {"op": op, "before": before, "after": after, "source": source, "ts_ms": ts_ms}


MYSQL = [
    event("r", None, {"id": 1, "name": "snapshot"}, ts_ms=99, file="bin.000009", pos=10, row=0),
    event("c", None, {"id": 1, "name": "created"}, file="bin.000009", pos=10, row=0),
    event("u", {"id": 1, "name": "created"}, {"id": 1, "name": "updated"}, file="bin.000009", pos=9, row=1),
    event("u", {"id": 2, "name": "x"}, {"id": 3, "name": "moved"}, file="bin.000010", pos=4, row=0),
    event("c", None, {"id": 4, "name": "gone"}, file="bin.000009", pos=20, row=0),
    event("d", {"id": 4, "name": "gone"}, None, file="bin.000010", pos=4, row=3),
    event("m", None, None, file="bin.000010", pos=5, row=0),
]


@pytest.mark.parametrize("wrapped", sweep([False, True]), ids=["bare", "with payload"])
def test_events_of_debezium_come_in_the_order_of_the_log(spark: SparkSession, tmp_path: Path, wrapped: bool) -> None:
    events = [{"schema": None, "payload": one} for one in (*MYSQL, None)] if wrapped else MYSQL
    path = write_lines(tmp_path / "events.jsonl", events)
    path.write_text(f"{path.read_text()}null\n")  # as Kafka's tombstones are written
    report = run_job(spark, path, tmp_path / "out", "--format", "debezium")
    found = read_base(spark, tmp_path / "out")
    assert live(found) == [{"id": 1, "name": "created"}, {"id": 3, "name": "moved"}]
    assert [row["id"] for row in found if row["_deleted"]] == [2, 4]
    assert (report.changes, report.without_sequence) == (7, 0)
    assert spark.read.parquet(str(tmp_path / "out")).columns == ["id", "name", "_position", "_deleted"]


@pytest.fixture
def wide_from_one_field(spark: SparkSession) -> Iterator[None]:
    """Every table is a wide one: with more fields than these, 100 by default, Spark compiles no whole stage."""
    spark.conf.set("spark.sql.codegen.maxFields", "1")
    yield
    spark.conf.unset("spark.sql.codegen.maxFields")


@pytest.mark.usefixtures("wide_from_one_field")
def test_a_tombstone_is_no_event_of_a_wide_table(spark: SparkSession, tmp_path: Path) -> None:
    """Where Spark compiles no whole stage, it computes what two filters share before it filters."""
    path = write_lines(tmp_path / "events.jsonl", [{"payload": event("c", None, {"id": 1})}, {"payload": None}])
    run_job(spark, path, tmp_path / "out", "--format", "debezium")
    assert [row["id"] for row in read_base(spark, tmp_path / "out")] == [1]


def test_the_position_in_mysqls_log_is_the_sequence(spark: SparkSession, tmp_path: Path) -> None:
    run_job(spark, write_lines(tmp_path / "e.jsonl", MYSQL[1:2]), tmp_path / "out", "--format", "debezium")
    (row,) = read_base(spark, tmp_path / "out")
    content = digest({"id": "1", "name": "created"})
    assert row["_position"] == str(Position("bin.000009/10/0", 1, tie_break=f" {content}"))


GAP = {
    "MySQL": ({"file": "bin.000009", "pos": 9, "row": 0}, {"file": "bin.000009", "pos": 10, "row": 0}),
    "PostgreSQL": ({"lsn": 255}, {"lsn": 4096}),
    "SQL Server": (
        {"commit_lsn": "00000027:00000ac0:0002", "change_lsn": "00000027:00000ab0:000a", "event_serial_no": 2},
        {"commit_lsn": "00000027:00000ac0:0003", "change_lsn": None, "event_serial_no": None},
    ),
    "Oracle": ({"scn": "999", "rs_id": "0x000124.00001234.0010", "ssn": 1}, {"scn": "1000", "rs_id": None, "ssn": None}),
}
"""Two places in the log of each source, the first of a change and the second as a snapshot names it."""


@pytest.mark.parametrize(("lower", "higher"), sweep(GAP))
def test_a_row_of_a_snapshot_repairs_a_gap_below_its_place_and_nothing_above(
    spark: SparkSession, tmp_path: Path, lower: Row, higher: Row
) -> None:
    """Row 1 missed a change below the snapshot, row 2 was changed at its very place, row 3 above it was read too early."""
    full: Row = {**lower, **{name: value for name, value in higher.items() if value is not None}}
    events = [
        event("c", None, {"id": 1, "v": "stale"}, ts_ms=100, **lower),
        event("r", None, {"id": 1, "v": "repaired"}, ts_ms=1, **higher),
        event("r", None, {"id": 2, "v": "read"}, ts_ms=100, **higher),
        event("u", None, {"id": 2, "v": "changed"}, ts_ms=1, **full),
        event("r", None, {"id": 3, "v": "read"}, ts_ms=100, **lower),
        event("u", None, {"id": 3, "v": "changed"}, ts_ms=1, **higher),
        event("r", None, {"id": 4, "v": "read"}, ts_ms=100, **higher),
        event("d", {"id": 4, "v": "read"}, None, ts_ms=1, **full),
    ]
    run_job(spark, write_lines(tmp_path / "e.jsonl", events), tmp_path / "out", "--format", "debezium")
    expected = [{"id": 1, "v": "repaired"}, {"id": 2, "v": "changed"}, {"id": 3, "v": "changed"}]
    assert live(read_base(spark, tmp_path / "out")) == expected


@pytest.mark.long
def test_a_snapshot_of_a_source_without_places_is_older_than_all_changes(spark: SparkSession, tmp_path: Path) -> None:
    """As it was: MongoDB's place is its time, and bases hold such positions."""
    events = [event("r", None, {"id": 1, "v": "read"}, ts_ms=7)]
    run_job(spark, write_lines(tmp_path / "e.jsonl", events), tmp_path / "out", "--format", "debezium")
    (row,) = read_base(spark, tmp_path / "out")
    assert row["_position"] == str(Position(None, 7, tie_break=f" {digest({'id': '1', 'v': 'read'})}"))


@pytest.mark.long
def test_a_snapshot_is_merged_into_a_base_that_was_made_before_it_had_a_place(spark: SparkSession, tmp_path: Path) -> None:
    """Such a base holds rows of a snapshot without a sequence, and rows that were streamed: both keep their meaning."""
    at: Row = {"file": "bin.000009", "row": 0}
    old = [
        {"id": 1, "v": "read", "_position": str(Position(None, 99, tie_break=" x")), "_deleted": False},
        {"id": 2, "v": "old", "_position": str(Position("bin.000009/9/0", 1, tie_break=" x")), "_deleted": False},
        {"id": 3, "v": "new", "_position": str(Position("bin.000009/11/0", 1, tie_break=" x")), "_deleted": False},
    ]
    base = write_lines(tmp_path / "base.jsonl", old)
    events = [event("r", None, {"id": number, "v": "again"}, pos=10, **at) for number in (1, 2, 3)]
    run_job(spark, write_lines(tmp_path / "e.jsonl", events), tmp_path / "out", "--format", "debezium", base=base)
    found = {row["id"]: row["v"] for row in live(read_base(spark, tmp_path / "out"))}
    assert found == {1: "again", 2: "again", 3: "new"}


LOG_POSITIONS = {
    "PostgreSQL": ({"lsn": 255}, {"lsn": 4096}),
    "SQL Server": (
        {"commit_lsn": "00000027:00000ac0:0002", "change_lsn": "00000027:00000ab0:000a", "event_serial_no": 2},
        {"commit_lsn": "00000027:00000ac0:0002", "change_lsn": "00000027:00000ab0:000b", "event_serial_no": 1},
    ),
    "Oracle": (
        {"scn": "999", "rs_id": " 0x000124.00001234.0010 ", "ssn": 1},
        {"scn": "1000", "rs_id": " 0x000124.00001233.0010 ", "ssn": 0},
    ),
    "Oracle, within one number": (
        {"scn": "1000", "rs_id": "0x000124.0000000a.0010", "ssn": 9},
        {"scn": "1000", "rs_id": "0x000124.0000000b.0010", "ssn": 0},
    ),
    "a connector that is not known": ({"ts_ms": 9}, {"ts_ms": 10}),
}


@pytest.mark.parametrize(("older", "newer"), sweep(LOG_POSITIONS))
def test_changes_of_other_sources_are_ordered_by_their_own_fields(
    spark: SparkSession, tmp_path: Path, older: Row, newer: Row
) -> None:
    events = [event("c", None, {"id": 1, "v": "newer"}, **newer), event("u", None, {"id": 1, "v": "older"}, **older)]
    run_job(spark, write_lines(tmp_path / "e.jsonl", events), tmp_path / "out", "--format", "debezium")
    assert live(read_base(spark, tmp_path / "out")) == [{"id": 1, "v": "newer"}]


@pytest.mark.parametrize(
    ("bad", "words"),
    sweep(
        [
            (event("t", None, None), "has op t"),
            (event("d", None, None), "no row in before"),
            (event("c", None, None), "in after"),
        ]
    ),
)
def test_an_event_that_is_no_change_of_a_row_is_refused(spark: SparkSession, tmp_path: Path, bad: Row, words: str) -> None:
    events = [*MYSQL, bad]
    with pytest.raises(InvalidInput, match=words):
        run_job(spark, write_lines(tmp_path / "e.jsonl", events), tmp_path / "out", "--format", "debezium")
    assert not (tmp_path / "out").exists()


def test_a_window_of_debezium_is_one_of_places_in_the_log(spark: SparkSession, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "e.jsonl", MYSQL)
    report = run_job(spark, path, tmp_path / "out", "--format", "debezium", "--from", "bin.000010/4/0")
    assert report.changes == 3


# Periodic pulls.


def pulls(values: list[Any]) -> list[Row]:
    """Rows of one key, in the order in which their values lie."""
    return [{"id": 1, "changed": value, "place": place} for place, value in enumerate(values)]


ORDERS = {
    "whole numbers": [None, -(2**63), -10, -9, 0, 9, 10, 2**63 - 1],
    "texts": [None, "", "2024-01-01 00:00:00", "2024-01-01 00:00:00.45", "2024-01-01 00:00:00.5", "2024-01-01 00:00:01"],
}


@pytest.mark.parametrize("values", sweep(ORDERS))
def test_positions_of_pulls_sort_as_the_values_do(spark: SparkSession, tmp_path: Path, values: list[Any]) -> None:
    path = write_lines(tmp_path / "pulls.jsonl", pulls(values))
    more = ("--format", "modify_time", "--position", "changed")
    run_job(spark, path, tmp_path / "out", *more, keys="id,place")
    found = read_base(spark, tmp_path / "out")
    assert [row["place"] for row in sorted(found, key=lambda row: row["_position"])] == list(range(len(values)))
    assert not any(row["_deleted"] for row in found)


@pytest.mark.parametrize(
    "values",
    sweep(
        [
            [
                datetime.datetime(1, 1, 1),
                datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999),
                datetime.datetime(2024, 1, 1),
            ],
            [datetime.date(1, 1, 1), datetime.date(1969, 12, 31), datetime.date(9999, 12, 31)],
        ]
    ),
)
def test_positions_of_times_sort_as_times(spark: SparkSession, tmp_path: Path, values: list[Any]) -> None:
    (tmp_path / "pulls").mkdir()
    parquet.write_table(pa.Table.from_pylist(pulls(values)[::-1]), tmp_path / "pulls" / "rows.parquet")
    more = ("--format", "modify_time", "--position", "changed")
    run_job(spark, tmp_path / "pulls", tmp_path / "out", *more)
    (row,) = read_base(spark, tmp_path / "out")
    assert (row["changed"], row["place"]) == (values[-1], 2)
    report = run_job(spark, tmp_path / "pulls", tmp_path / "window", *more, "--from", "0001-01-02", "--to", "2023-01-01")
    assert report.changes == 1


@pytest.mark.long
def test_a_pull_that_is_repeated_or_overlaps_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    more = ("--format", "modify_time", "--position", "changed")
    first = write_lines(tmp_path / "1.jsonl", pulls([1, 2, 3]))
    second = write_lines(tmp_path / "2.jsonl", pulls([1, 2, 3, 4])[1:])
    run_job(spark, first, tmp_path / "a", *more)
    run_job(spark, second, tmp_path / "b", *more, base=tmp_path / "a")
    report = run_job(spark, first, tmp_path / "c", *more, base=tmp_path / "b")
    assert report.lost == 1
    assert read_base(spark, tmp_path / "c") == read_base(spark, tmp_path / "b")
    assert live(read_base(spark, tmp_path / "c")) == [{"id": 1, "changed": 4, "place": 3}]


def test_a_pull_whose_order_is_of_another_kind_than_the_bases_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    more = ("--format", "modify_time", "--position", "changed")
    run_job(spark, write_lines(tmp_path / "1.jsonl", pulls([1])), tmp_path / "a", *more)
    with pytest.raises(InvalidInput, match=r"the position changed, got STRING in .*, INT64 in the base"):
        run_job(spark, write_lines(tmp_path / "2.jsonl", pulls(["x"])), tmp_path / "b", *more, base=tmp_path / "a")


# Windows.


@pytest.mark.long
def test_a_window_of_pulls_is_in_the_order_of_their_column(spark: SparkSession, tmp_path: Path) -> None:
    more = ("--format", "modify_time", "--position", "changed")
    path = write_lines(tmp_path / "1.jsonl", pulls([-11, -10, -5]))
    report = run_job(spark, path, tmp_path / "out", *more, "--from=-10", "--to=-5")
    assert (report.changes, report.window) == (1, "values of changed from -10 to -5")
    for bound in ("--2", "2.5", "99999999999999999999", "2024-01-01"):
        with pytest.raises(InvalidInput, match="must be whole numbers of 64 bits, as changed is"):
            run_job(spark, path, tmp_path / "other", *more, f"--from={bound}")


@pytest.mark.long
def test_a_window_includes_its_start_and_excludes_its_end(spark: SparkSession, tmp_path: Path) -> None:
    rows = [
        {**change("INSERT", sequence, id=number), "_landed_at": f"2024-01-0{number} 00:00:00"}
        for number, sequence in enumerate(("9", "A", "A/1", "10", None), 1)
    ]
    path = write_lines(tmp_path / "changes.jsonl", rows)
    windows = {
        ("--from", "A", "--to", "10"): [2, 3],
        ("--from", "0A/1"): [3, 4],
        ("--to", "A"): [1, 5],
        ("--from", "2024-01-02", "--to", "2024-01-04"): [2, 3],
        ("--from", "2024-01-04T01:00:00+01:00"): [4, 5],
    }
    for number, (window, expected) in enumerate(windows.items()):
        run_job(spark, path, tmp_path / str(number), *window)
        assert sorted(row["id"] for row in read_base(spark, tmp_path / str(number))) == expected, window
