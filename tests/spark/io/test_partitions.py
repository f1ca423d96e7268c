"""Partition folders in what the Spark jobs read: changes, a base and both sides of a comparison."""

from __future__ import annotations

import csv
import datetime
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession
from support.changelogs import change
from support.spark_oracle import live, read_base, run_job, write_lines
from support.sweeps import sweep

from onefold.batches.arguments import CompareArguments
from onefold.core.errors import InvalidInput
from onefold.spark.compare.job import compare
from onefold.spark.io.files import read_folder

Row = dict[str, Any]
DAY = datetime.date(2024, 1, 1)
NULL = "__HIVE_DEFAULT_PARTITION__"


def write(path: Path, *rows: Row) -> Path:
    """Rows in the format that the name says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        table = pa.Table.from_pylist(list(rows))
        # Arrow's column of nothing but NULL is one of INT32 to Spark.
        types = [pa.date32() if field.name == "day" else field.type for field in table.schema]
        parquet.write_table(table.cast(pa.schema(zip(table.column_names, types, strict=True))), path)
    elif path.suffix == ".csv":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def rows_of(spark: SparkSession, path: Path) -> tuple[dict[str, str], list[Row]]:
    """The columns with their types, and the rows in the order of `id`."""
    frame = read_folder(spark, str(path))
    rows = [row.asDict(recursive=True) for row in frame.rows.orderBy("id").collect()]
    return {column.name: str(column.type) for column in frame.columns}, rows


@pytest.mark.parametrize("suffix", sweep([".parquet", ".jsonl"]))
def test_columns_of_folders_have_types_and_escaped_values(spark: SparkSession, tmp_path: Path, suffix: str) -> None:
    lake = tmp_path / "lake"
    write(lake / "day=2024-01-01" / "_n=1" / "more" / "s p=a%3Ab +é%" / f"a{suffix}", {"id": 1})
    write(lake / f"day={NULL}" / "_n=-2" / f"s p={NULL}" / f"a=b{suffix}", {"id": 2})
    write(lake / "day=0001-01-01" / "_n=3" / "s p=caf%C3%A9 $1" / f"n=9{suffix}", {"id": 3})
    types, rows = rows_of(spark, lake)
    assert types == {"id": "INT64", "day": "DATE", "_n": "INT64", "s p": "STRING"}
    assert rows == [
        {"id": 1, "day": DAY, "_n": 1, "s p": "a:b +é%"},
        {"id": 2, "day": None, "_n": -2, "s p": None},
        {"id": 3, "day": datetime.date(1, 1, 1), "_n": 3, "s p": "café $1"},
    ]


def test_the_folder_that_is_named_counts_itself(spark: SparkSession, tmp_path: Path) -> None:
    path = write(tmp_path / "x=0" / "lake" / "day=2024-01-01" / "n=1" / "a.parquet", {"id": 1})
    for named in (path, path.parent, path.parent.parent):
        assert rows_of(spark, named)[1] == [{"id": 1, "day": DAY, "n": 1}], named


def test_a_folder_of_two_schemas_has_its_columns_too(spark: SparkSession, tmp_path: Path) -> None:
    for number, type_ in enumerate((pa.int32(), pa.int64())):
        (tmp_path / f"p={number}").mkdir()
        parquet.write_table(pa.table({"id": pa.array([number], type_)}), tmp_path / f"p={number}" / "a.parquet")
    assert rows_of(spark, tmp_path) == ({"id": "INT64", "p": "INT64"}, [{"id": 0, "p": 0}, {"id": 1, "p": 1}])


def test_a_column_without_any_value_has_no_type(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / f"p={NULL}" / "a.parquet", {"id": 1})
    frame = read_folder(spark, str(tmp_path))
    assert [column.name for column in frame.columns] == ["id"]
    assert frame.empty == {"p"}


def test_a_file_may_have_the_column_of_its_folder_with_the_same_value(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "Day=2024-01-01" / "n=01" / "a.parquet", {"id": 1, "day": DAY, "n": 1, "_metadata": "x"})
    write(tmp_path / "Day=2024-01-02" / "n=02" / "a.parquet", {"id": 2, "day": None, "n": 2, "_metadata": "y"})
    types, rows = rows_of(spark, tmp_path)
    assert types == {"id": "INT64", "day": "DATE", "n": "INT64", "_metadata": "STRING"}
    assert [(row["day"].day, row["n"], row["_metadata"]) for row in rows] == [(1, 1, "x"), (2, 2, "y")]


@pytest.mark.parametrize(("own", "folder"), sweep([(1, "2"), (1, "x"), (None, "x"), (1, NULL), ("1", "01")]))
def test_a_file_with_another_value_than_its_folder_is_refused(
    spark: SparkSession, tmp_path: Path, own: Any, folder: str
) -> None:
    row = {**change("INSERT", "1", id=1), "p": own}
    schema = pa.schema([(name, pa.string() if own == "1" else pa.int64()) for name in ("p",)])
    table = pa.Table.from_pylist([row])
    table = table.set_column(table.schema.get_field_index("p"), schema.field("p"), pa.array([own], schema.field("p").type))
    (tmp_path / "changes" / f"p={folder}").mkdir(parents=True)
    parquet.write_table(table, tmp_path / "changes" / f"p={folder}" / "a.parquet")
    with pytest.raises(InvalidInput, match=r"a\.parquet: expected one value of the column p, got"):
        run_job(spark, tmp_path / "changes", tmp_path / "out")


def test_folders_that_make_no_columns_are_refused_with_every_error(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "a" / "p=1" / "a.parquet", {"id": 1, "p": [1]})
    write(tmp_path / "b" / "p=1" / "a.parquet", {"id": 1})
    write(tmp_path / "b" / "a.parquet", {"id": 1})
    with pytest.raises(InvalidInput) as caught:
        run_job(spark, [tmp_path / "a", tmp_path / "b"], tmp_path / "out")
    said = str(caught.value)
    assert "expected the column p in the names of folders or in the files, got both, and in the files it is array" in said
    assert "expected every file in a folder p=..., as other files are, got a.parquet" in said


def test_changes_and_a_base_in_partition_folders_are_merged(spark: SparkSession, tmp_path: Path) -> None:
    """The oracle is by hand: rows keep the folder's value, keys may be in folders, and a change of folder is an update."""
    write(tmp_path / "base" / "tenant=1" / "day=2024-01-01" / "a.parquet", {"id": 1, "v": "a"}, {"id": 2, "v": "a"})
    write(tmp_path / "base" / "tenant=2" / "day=2024-01-01" / "a.parquet", {"id": 1, "v": "a"})
    write(tmp_path / "changes" / "tenant=1" / "day=2024-01-02" / "a.jsonl", change("UPDATE-INSERT", "1", id=1, v="b"))
    write(tmp_path / "changes" / "tenant=2" / "day=2024-01-02" / "a.jsonl", change("DELETE", "1", id=1, v="a"))
    write(tmp_path / "changes" / "tenant=2" / f"day={NULL}" / "a.jsonl", change("INSERT", "1", id=3, v="c"))
    report = run_job(spark, tmp_path / "changes", tmp_path / "out", keys="tenant,id", base=tmp_path / "base")
    assert live(read_base(spark, tmp_path / "out")) == live(
        [
            {"id": 2, "v": "a", "tenant": 1, "day": DAY, "_position": "", "_deleted": False},
            {"id": 1, "v": "b", "tenant": 1, "day": datetime.date(2024, 1, 2), "_position": "", "_deleted": False},
            {"id": 3, "v": "c", "tenant": 2, "_position": "", "_deleted": False},
        ]
    )
    assert (report.inserted, report.updated, report.deleted) == (1, 1, 1)
    # The new base is what copies its files: a batch of one more change leaves the rest as it is.
    more = write(tmp_path / "more" / "tenant=1" / "day=2024-01-03" / "a.parquet", change("UPDATE-INSERT", "2", id=1, v="d"))
    run_job(spark, more, tmp_path / "next", keys="tenant,id", base=tmp_path / "out")
    rows = {(row["tenant"], row["id"]): row.get("v") for row in read_base(spark, tmp_path / "next") if not row["_deleted"]}
    assert rows == {(1, 1): "d", (1, 2): "a", (2, 3): "c"}


def test_pulls_may_be_ordered_by_the_name_of_their_folder(spark: SparkSession, tmp_path: Path) -> None:
    for day in (9, 10):
        write(tmp_path / "pulls" / f"pulled={day}" / "a.jsonl", {"id": 1, "v": day})
    run_job(spark, tmp_path / "pulls", tmp_path / "out", "--format", "modify_time", "--position", "pulled")
    assert live(read_base(spark, tmp_path / "out")) == [{"id": 1, "v": 10, "pulled": 10}]


@pytest.mark.long
@pytest.mark.parametrize("suffix", sweep([".parquet", ".jsonl", ".csv"]))
def test_a_comparison_reads_the_folders_of_both_sides(spark: SparkSession, tmp_path: Path, suffix: str) -> None:
    write(tmp_path / "left" / "day=2024-01-01" / f"a{suffix}", {"id": 1})
    write(tmp_path / "left" / f"day={NULL}" / f"a{suffix}", {"id": 2})
    write(tmp_path / "right.parquet", {"id": 1, "day": DAY}, {"id": 2, "day": DAY})
    words = ["--left", str(tmp_path / "left"), "--right", str(tmp_path / "right.parquet"), "--keys", "id"]
    output = ["--output", str(tmp_path / "out")]
    compare(spark, CompareArguments.parse([*words, *output]), lambda: pytest.fail("no BigQuery here"))
    (found,) = [row.asDict() for row in spark.read.parquet(str(tmp_path / "out")).collect()]
    assert found == {"kind": "different", "key": '{"id":"2"}', "column": "day", "left": None, "right": "2024-01-01"}


@pytest.mark.long
def test_rows_of_one_folder_have_no_columns_of_others(spark: SparkSession, tmp_path: Path) -> None:
    """A version without partitions, read with one that has them: as for any column that it lacks, NULL."""
    one = write_lines(tmp_path / "plain" / "a.jsonl", [change("INSERT", "1", id=1)]).parent
    write(tmp_path / "parted" / "p=7" / "a.jsonl", change("INSERT", "1", id=2))
    run_job(spark, [one, tmp_path / "parted"], tmp_path / "out")
    assert live(read_base(spark, tmp_path / "out")) == [{"id": 1}, {"id": 2, "p": 7}]
