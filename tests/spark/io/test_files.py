"""Files of rows: types of Parquet and of JSON lines, files that cannot be read, and the words of Spark's errors."""

from __future__ import annotations

import datetime
import gzip
import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support.changelogs import change
from support.spark_oracle import base_of, read_base, run_job, without_positions, write_lines
from support.sweeps import sweep

from onefold.core.errors import InvalidInput
from onefold.spark.io.files import read_error_in, read_folder, reading


def test_parquet_keeps_every_type_and_the_report_names_the_bigquery_types(spark: SparkSession, tmp_path: Path) -> None:
    noon = datetime.datetime(2024, 1, 1, 12, 0, 0, 123_456)
    values = {
        "small": pa.scalar(7, pa.int32()),
        "text": pa.scalar("é"),
        "bytes": pa.scalar(b"\xff"),
        "yes": pa.scalar(True),
        "float": pa.scalar(0.1),
        "numeric": pa.scalar(Decimal("1.5"), pa.decimal128(38, 9)),
        "wide": pa.scalar(Decimal("1.000000000000000000005"), pa.decimal128(38, 21)),
        "day": pa.scalar(datetime.date(1, 1, 1)),
        "local": pa.scalar(noon, pa.timestamp("us")),
        "instant": pa.scalar(noon.replace(tzinfo=datetime.UTC), pa.timestamp("us", "UTC")),
        "list": pa.scalar([1, 2], pa.list_(pa.int64())),
        "struct": pa.scalar({"a": 1, "b": None}, pa.struct([("a", pa.int64()), ("b", pa.string())])),
    }
    metadata = pa.array([change("INSERT", "1")["datastream_metadata"]])
    columns = {name: pa.array([value.as_py()], value.type) for name, value in values.items()}
    (tmp_path / "changes").mkdir()
    parquet.write_table(pa.table({**columns, "datastream_metadata": metadata}), tmp_path / "changes" / "0.parquet")
    report = run_job(spark, tmp_path / "changes", tmp_path / "a", keys="small")
    again = run_job(spark, tmp_path / "changes", tmp_path / "b", keys="small", base=tmp_path / "a")
    assert report.columns == {
        "small": "INT64", "text": "STRING", "bytes": "BYTES", "yes": "BOOL", "float": "FLOAT64", "numeric": "NUMERIC",
        "wide": "BIGNUMERIC", "day": "DATE", "local": "DATETIME", "instant": "TIMESTAMP", "list": "ARRAY<INT64>",
        "struct": "STRUCT<a INT64, b STRING>",
    }  # fmt: skip
    assert (again.columns, again.repeated) == (report.columns, 1)
    (row,) = parquet.read_table(tmp_path / "b").to_pylist()
    expected = {name: value.as_py() for name, value in values.items()} | {"wide": "1.000000000000000000005"}
    assert {name: row[name] for name in expected} == expected


def test_a_version_of_another_type_is_converted_in_one_step(spark: SparkSession, tmp_path: Path) -> None:
    for number, value in enumerate((datetime.date(2020, 1, 1), "text")):
        row = {**change("INSERT", "1", id=number), "value": value}
        (tmp_path / str(number)).mkdir()
        parquet.write_table(pa.Table.from_pylist([row]), tmp_path / str(number) / "rows.parquet")
    run_job(spark, [tmp_path / "0", tmp_path / "1"], tmp_path / "out")
    assert {row["id"]: row["value"] for row in read_base(spark, tmp_path / "out")} == {0: "2020-01-01", 1: "text"}


def test_json_lines_keep_numbers_exact_and_guess_no_times(spark: SparkSession, tmp_path: Path) -> None:
    values = '"price": 0.1, "huge": 12345678901234567890123456789012345678, "when": "2024-01-01", "never": null, "none": []'
    line = json.dumps(change("INSERT", "1", id=2**53 + 1))
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes" / "rows.jsonl.gz").write_bytes(gzip.compress(f"{line[:-1]}, {values}}}\n\n".encode()))
    report = run_job(spark, tmp_path / "changes", tmp_path / "out")
    (row,) = read_base(spark, tmp_path / "out")
    assert (row["id"], row["price"], row["when"]) == (2**53 + 1, Decimal("0.1"), "2024-01-01")
    assert row["huge"] == "12345678901234567890123456789012345678"
    types = {"id": "INT64", "price": "NUMERIC", "huge": "BIGNUMERIC", "when": "STRING"}
    assert report.columns == types


def test_numbers_of_json_that_are_no_decimals_are_floats(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"a": NaN, "b": 1e20}\n{"a": 1.5, "b": 0.1}\n')
    columns = read_folder(spark, str(tmp_path / "rows.jsonl")).columns
    assert {column.name: str(column.type) for column in columns} == {"a": "FLOAT64", "b": "FLOAT64"}


@pytest.mark.long
def test_files_of_one_folder_may_have_different_columns(spark: SparkSession, tmp_path: Path) -> None:
    one, other = change("INSERT", "1", id=1, name="a"), change("INSERT", "1", id=2, added="b")
    write_lines(tmp_path / "together" / "1.jsonl", [one])
    write_lines(tmp_path / "together" / "deeper" / "2.json", [other])
    apart = [write_lines(tmp_path / "3.jsonl", [one]), write_lines(tmp_path / "4.jsonl", [other])]
    run_job(spark, tmp_path / "together", tmp_path / "a")
    run_job(spark, apart, tmp_path / "b")
    assert read_base(spark, tmp_path / "a") == read_base(spark, tmp_path / "b")
    assert without_positions(read_base(spark, tmp_path / "a")) == base_of([one, other], ["id"])


@pytest.mark.long
def test_a_key_without_any_value_in_a_file_has_the_type_of_the_other_files(spark: SparkSession, tmp_path: Path) -> None:
    nulls = write_lines(tmp_path / "1.jsonl", [change("INSERT", "1", tenant=None, id=1)])
    numbers = write_lines(tmp_path / "2.jsonl", [change("INSERT", "1", tenant=7, id=1)])
    report = run_job(spark, [nulls, numbers], tmp_path / "out", keys="tenant,id")
    assert (report.keys, report.columns["tenant"]) == (2, "INT64")
    with pytest.raises(InvalidInput, match="no value of the key tenant"):
        run_job(spark, nulls, tmp_path / "other", keys="tenant,id")


UNREADABLE = {
    "rows.csv": (b"id\n1\n", "expected files of one of the kinds"),
    "rows.jsonl": (b'{"id": 1}\n\n{"id": 2\n{"id": 3\n', r"changes/rows\.jsonl, line 3: not JSON$"),
    "rows.parquet": (b"no Parquet", "cannot be read"),
    "rows.json": (b'{"id": 1}\n["id"]\n', r"changes/rows\.json, line 2: not JSON$"),
    "rows.ndjson": (b"\nnull\n", "there is no row in any of its files: name other files$"),
}


@pytest.mark.parametrize("name", sweep(tuple(UNREADABLE)))
def test_a_file_that_cannot_be_read_is_named_with_the_line(spark: SparkSession, tmp_path: Path, name: str) -> None:
    content, words = UNREADABLE[name]
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes" / name).write_bytes(content)
    with pytest.raises(InvalidInput, match=words):
        run_job(spark, tmp_path / "changes", tmp_path / "out")


def test_a_folder_of_two_kinds_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    write_lines(tmp_path / "changes" / "rows.jsonl", [change("INSERT", "1", id=1)])
    (tmp_path / "changes" / "rows.parquet").write_bytes(b"")
    with pytest.raises(InvalidInput, match=r"got \.jsonl, \.parquet"):
        run_job(spark, tmp_path / "changes", tmp_path / "out")


SPARK_ERROR = (
    "An error occurred while calling o1.save.\n: org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] file:///a.csv\n"
    "\tat org.apache.spark.Reader.read(Reader.scala:1)\n"
    "Caused by: org.apache.spark.SparkException: [MALFORMED_RECORD] a record\n"
)
LAST_CAUSE = "Caused by: java.lang.IllegalArgumentException: CSV header does not conform to the schema.\n"
FILE = "[FAILED_READ_FILE.NO_HINT] file:///a.csv"
READ_ERRORS = {
    "the last cause without Java's class": (
        SPARK_ERROR + LAST_CAUSE, f"{FILE}; CSV header does not conform to the schema."
    ),
    "a cause with Spark's name of it": (SPARK_ERROR, f"{FILE}; [MALFORMED_RECORD] a record"),
    "no cause that is only a traceback": (
        f"x.SparkException: {FILE}\nCaused by: api.python.PythonException: Traceback (most recent call last):\n", FILE
    ),
    "the same line once": (f"a.b.C: {FILE}\nCaused by: d.e.F: {FILE}\n", FILE),
    "an error without a name": ("org.x.Y: file:/b is not a Parquet file", "file:/b is not a Parquet file"),
    "an error that is not about a file": ("java.lang.OutOfMemoryError: Java heap space", None),
    "no text": ("", None),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), READ_ERRORS.values(), ids=READ_ERRORS)
def test_an_error_about_a_file_is_its_first_line_and_its_last_cause(text: str, expected: str | None) -> None:
    assert read_error_in(text) == expected


def test_only_errors_about_files_become_invalid_input() -> None:
    with pytest.raises(InvalidInput, match=r"^the base cannot be read: \[MALFORMED_RECORD\] a record$"), reading("the base"):
        raise PySparkException("[MALFORMED_RECORD] a record")
    with pytest.raises(PySparkException, match="out of memory"), reading("the base"):
        raise PySparkException("out of memory")
    with pytest.raises(ValueError, match="MALFORMED"), reading("the base"):
        raise ValueError("MALFORMED")


def test_a_file_in_a_hidden_folder_holds_no_rows(spark: SparkSession, tmp_path: Path) -> None:
    write_lines(tmp_path / "rows" / "1.jsonl", [{"id": 1}])
    for hidden in ("_temporary", ".cache"):
        write_lines(tmp_path / "rows" / hidden / "2.parquet", [{"id": 2}])
    frame = read_folder(spark, str(tmp_path / "rows"))
    assert [row.asDict() for row in frame.rows.collect()] == [{"id": 1}]


def test_an_expected_column_without_any_value_is_reported_as_empty(spark: SparkSession, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "rows.jsonl", [{"id": 1, "Name": None}])
    frame = read_folder(spark, str(path), ["NAME", "other", "id"])
    assert (frame.columns.names, frame.empty) == (("id",), frozenset({"name"}))
