"""`datastream_metadata` in files: names and types of changes without case, and everything that is wrong with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from support.changelogs import change
from support.spark_oracle import in_order, live, read_base, run_job, write_lines
from support.sweeps import sweep

from onefold.changelog.metadata import METADATA
from onefold.core.errors import InvalidInput

Row = dict[str, Any]


def spelled(row: Row, case: str) -> Row:
    """The change with the names of its metadata's fields in another case."""
    turn = {"upper": str.upper, "title": str.title, "lower": str.lower}[case]
    return {**row, METADATA: {turn(name): value for name, value in row[METADATA].items()}}


def without(row: Row, *names: str) -> Row:
    return {**row, METADATA: {name: value for name, value in row[METADATA].items() if name not in names}}


def with_(row: Row, **fields: Any) -> Row:
    return {**row, METADATA: {**row[METADATA], **fields}}


INSERTED = change("INSERT", "9", id=1, v="a", sort_keys=["1"], uuid="u")
DELETED = change("DELETE", "A", id=1, v="a", sort_keys=["2"], uuid="u")
OTHER = change("INSERT", "1", id=2, v="b", timestamp=2)


@pytest.mark.parametrize(
    ("first", "second"),
    sweep([("upper", "upper"), ("title", "title"), ("lower", "upper"), ("upper", "lower"), ("title", "lower")]),
)
def test_names_are_read_without_case(spark: SparkSession, tmp_path: Path, first: str, second: str) -> None:
    """Also where a folder spells a field in several ways: the same rows and positions as in lower case."""
    write_lines(tmp_path / "changes" / "1.jsonl", [spelled(INSERTED, first), spelled(OTHER, first)])
    write_lines(tmp_path / "changes" / "2.jsonl", [spelled(DELETED, second)])
    run_job(spark, tmp_path / "changes", tmp_path / "out")
    plain = write_lines(tmp_path / "plain.jsonl", [INSERTED, OTHER, DELETED])
    run_job(spark, plain, tmp_path / "expected")
    found = read_base(spark, tmp_path / "out")
    assert live(found) == [{"id": 2, "v": "b"}]
    assert found == read_base(spark, tmp_path / "expected")


def test_the_column_itself_has_any_case(spark: SparkSession, tmp_path: Path) -> None:
    rows = [{("Datastream_METADATA" if name == METADATA else name): value for name, value in DELETED.items()}]
    run_job(spark, write_lines(tmp_path / "1.jsonl", rows), tmp_path / "out")
    assert live(read_base(spark, tmp_path / "out")) == []


@pytest.mark.parametrize("kind", sweep(["delete", "Update-Delete"]))
def test_change_types_have_any_case(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    run_job(spark, write_lines(tmp_path / "1.jsonl", [INSERTED, with_(DELETED, change_type=kind)]), tmp_path / "out")
    assert live(read_base(spark, tmp_path / "out")) == []


WRONG: dict[str, tuple[list[Row], str]] = {
    "no change_type": (
        [without(INSERTED, "change_type")],
        "datastream_metadata has no field change_type; it has change_sequence_number, sort_keys, source_timestamp, uuid",
    ),
    "change_type by another name": (
        [{**INSERTED, METADATA: {"changeType": "DELETE", "sequence": "1"}}],
        "datastream_metadata has no field change_type",
    ),
    "no sequence": ([without(INSERTED, "change_sequence_number")], "has no field change_sequence_number"),
    "no time": ([without(INSERTED, "source_timestamp")], "has no field source_timestamp"),
    "a type that is a number": (
        [with_(INSERTED, change_type=1)],
        "datastream_metadata.change_type is INT64, and has to be STRING: write it so",
    ),
    "a sequence that is a number": ([with_(INSERTED, change_sequence_number=5)], "change_sequence_number is INT64"),
    "a sequence that is an object": ([with_(INSERTED, change_sequence_number={"a": 1})], "number is STRUCT<a INT64>"),
    "a time that is a fraction": (
        [with_(INSERTED, source_timestamp=1.5)],
        "source_timestamp is NUMERIC, and has to be INT64",
    ),
    "sort keys that are text": ([with_(INSERTED, sort_keys="1")], "sort_keys is STRING, and has to be ARRAY<STRING>"),
    "an identifier that is a list": ([with_(INSERTED, uuid=["u"])], "uuid is ARRAY<STRING>, and has to be STRING"),
    "metadata that is text": (
        [{"id": 1, METADATA: json.dumps(INSERTED[METADATA])}],
        "it has no column datastream_metadata of type STRUCT; it has id, datastream_metadata STRING",
    ),
    "two values of one name": (
        [INSERTED, with_(INSERTED, CHANGE_TYPE="DELETE")],
        "expected one value of datastream_metadata.change_type, got several that differ in the case of the name",
    ),
}


@pytest.mark.parametrize(("rows", "words"), sweep(WRONG))
def test_an_error_in_the_metadata_is_reported_with_the_file(
    spark: SparkSession, tmp_path: Path, rows: list[Row], words: str
) -> None:
    path = write_lines(tmp_path / "changes.jsonl", rows)
    with pytest.raises(InvalidInput) as caught:
        run_job(spark, path, tmp_path / "out")
    assert words in str(caught.value)
    assert "changes.jsonl" in str(caught.value)
    assert not (tmp_path / "out" / "_SUCCESS").exists()


@pytest.mark.parametrize(
    "other",
    sweep([with_(DELETED, change_type="REMOVE"), without(DELETED, "change_type"), {"id": 3, "v": "a"}]),
    ids=["another type", "no type", "no metadata"],
)
def test_a_change_of_an_unknown_type_is_an_upsert_which_the_report_counts(
    spark: SparkSession, tmp_path: Path, other: Row
) -> None:
    """As in a view and in a MERGE: one such row does not stop everybody who reads the table."""
    report = run_job(spark, write_lines(tmp_path / "changes.jsonl", [INSERTED, other]), tmp_path / "out")
    assert report.unknown_types == 1
    assert "1 of an unknown change_type, taken as upserts" in report.summary()
    assert {row["id"] for row in live(read_base(spark, tmp_path / "out"))} == {INSERTED["id"], other["id"]}


def test_all_errors_in_the_metadata_are_reported_at_once(spark: SparkSession, tmp_path: Path) -> None:
    one = write_lines(tmp_path / "1.jsonl", [{"id": 1, METADATA: {"uuid": 1, "source_timestamp": True, "kind": "DELETE"}}])
    other = write_lines(tmp_path / "2.jsonl", [with_(INSERTED, change_type=False)])
    with pytest.raises(InvalidInput) as caught:
        run_job(spark, [one, other], tmp_path / "out")
    # Two fields that are not there and two types in the one, one type in the other.
    assert len(caught.value.problems) == 5, caught.value.problems


def test_fields_without_any_value_exist(spark: SparkSession, tmp_path: Path) -> None:
    """A backfill: nothing but NULL in most fields."""
    rows = [change("INSERT", None, timestamp=None, id=1), change("INSERT", None, timestamp=None, id=2)]
    report = run_job(spark, write_lines(tmp_path / "1.jsonl", [with_(row, uuid=None) for row in rows]), tmp_path / "out")
    assert report.without_sequence == 2
    assert live(read_base(spark, tmp_path / "out")) == [{"id": 1}, {"id": 2}]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([{**INSERTED, "V": "b"}], "expected one spelling of a field, got V and v"),
        ([INSERTED, {**change("INSERT", "1", id=2), "V": "b"}], "got V and v"),
        ([change("INSERT", "1", id=1, s={"A": 1}), change("INSERT", "1", id=2, s={"a": 1})], "got s.A and s.a"),
        ([change("INSERT", "1", id=1, s=[{"b": {"A": 1}}]), change("INSERT", "1", id=2, s=[{"b": {"a": 1}}])], "s.b.A and"),
    ],
)
def test_two_spellings_of_a_column_are_no_loss_of_values(
    spark: SparkSession, tmp_path: Path, rows: list[Row], words: str
) -> None:
    """Spark takes them for one column, and reads the values of one spelling."""
    with pytest.raises(InvalidInput, match=words):
        run_job(spark, write_lines(tmp_path / "changes.jsonl", rows), tmp_path / "out")
    assert spark.conf.get("spark.sql.caseSensitive") == "false"


def test_folders_that_spell_a_column_differently_are_one_column(spark: SparkSession, tmp_path: Path) -> None:
    one = write_lines(tmp_path / "1.jsonl", [change("INSERT", "1", id=1, v="a")])
    other = write_lines(tmp_path / "2.jsonl", [{**change("INSERT", "1", id=2), "V": "b"}])
    run_job(spark, [one, other], tmp_path / "out")
    assert live(read_base(spark, tmp_path / "out")) == in_order([{"id": 1, "v": "a"}, {"id": 2, "v": "b"}])
