"""Parquet files of one folder with other types of a column: they widen where nothing is lost, and are named elsewhere."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession
from support.changelogs import change
from support.spark_oracle import live, read_base, run_job
from support.sweeps import sweep

from onefold.core.errors import InvalidInput
from onefold.spark.io.files import read_folder

DAY = datetime.date(2024, 1, 1)
NOON = datetime.datetime(2024, 1, 1, 12, 0, 0, 500_000)
BIG = Decimal("1.000000000000000000005")


def write(folder: Path, *values: tuple[Any, pa.DataType]) -> Path:
    """A file for each value, in a column `v` of its own type."""
    folder.mkdir()
    for number, (value, type_) in enumerate(values):
        table = pa.table({"id": pa.array([number]), "v": pa.array([value], type_)})
        parquet.write_table(table, folder / f"{number}.parquet")
    return folder


WIDENED: dict[str, tuple[list[tuple[Any, pa.DataType]], str, list[Any]]] = {
    "whole numbers": (
        [(-(2**31), pa.int32()), (2**63 - 1, pa.int64()), (7, pa.int8()), (None, pa.int16())],
        "INT64", [-(2**31), 2**63 - 1, 7, None],
    ),
    "floats": ([(1.5, pa.float32()), (0.1, pa.float64())], "FLOAT64", [1.5, 0.1]),
    "decimals of one scale": (
        [(Decimal("1.25"), pa.decimal128(10, 2)), (Decimal("12345678901.25"), pa.decimal128(20, 2))],
        "NUMERIC", [Decimal("1.25"), Decimal("12345678901.25")],
    ),
    "decimals of two scales": (
        [(Decimal("1.25"), pa.decimal128(10, 2)), (Decimal("1.2345"), pa.decimal128(12, 4))],
        "NUMERIC", [Decimal("1.25"), Decimal("1.2345")],
    ),
    "wide decimals": (
        [(Decimal("1.25"), pa.decimal128(10, 2)), (BIG, pa.decimal128(38, 21)), (3, pa.int32())],
        "BIGNUMERIC", ["1.25", str(BIG), "3"],
    ),
    "a number with a decimal": ([(3, pa.int64()), (Decimal("1.5"), pa.decimal128(10, 2))], "NUMERIC", [3, Decimal("1.5")]),
    "dates and times": ([(DAY, pa.date32()), (NOON, pa.timestamp("us"))], "DATETIME", [datetime.datetime(2024, 1, 1), NOON]),
    "precisions of a time": ([(NOON, pa.timestamp("ms")), (NOON, pa.timestamp("us"))], "DATETIME", [NOON, NOON]),
    "lists": ([([1], pa.list_(pa.int32())), ([2**40], pa.list_(pa.int64()))], "ARRAY<INT64>", [[1], [2**40]]),
    "structs": (
        [
            ({"a": 1}, pa.struct([("a", pa.int32())])),
            ({"A": 2**40, "b": "x"}, pa.struct([("A", pa.int64()), ("b", pa.string())])),
        ],
        "STRUCT<a INT64, b STRING>", [{"a": 1, "b": None}, {"a": 2**40, "b": "x"}],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("values", "type_", "expected"), sweep(WIDENED.values()), ids=WIDENED.keys())
def test_types_widen_and_keep_every_value(
    spark: SparkSession, tmp_path: Path, values: list[tuple[Any, pa.DataType]], type_: str, expected: list[Any]
) -> None:
    frame = read_folder(spark, str(write(tmp_path / "rows", *values)))
    assert {column.name: str(column.type) for column in frame.columns} == {"id": "INT64", "v": type_}
    rows = sorted((row.asDict(recursive=True) for row in frame.rows.collect()), key=lambda row: row["id"])
    assert [row["v"] for row in rows] == expected


REFUSED: dict[str, list[tuple[Any, pa.DataType]]] = {
    "INT64 and STRING": [(1, pa.int64()), ("1", pa.string())],
    "INT64 and FLOAT64": [(1, pa.int64()), (1.5, pa.float64())],
    "BOOL and INT64": [(True, pa.bool_()), (1, pa.int64())],
    "DATE and STRING": [(DAY, pa.date32()), ("2024", pa.string())],
    "INT64 and ARRAY<INT64>": [(1, pa.int64()), ([1], pa.list_(pa.int64()))],
    "BYTES and STRING": [(b"a", pa.binary()), ("a", pa.string())],
}


@pytest.mark.parametrize(("types", "values"), sweep(REFUSED.items()))
def test_types_that_would_lose_values_are_refused_with_both_files(
    spark: SparkSession, tmp_path: Path, types: str, values: list[tuple[Any, pa.DataType]]
) -> None:
    one, other = types.split(" and ")
    words = rf"column v of which one holds all values, got {one} in \S+/0\.parquet and {other} in \S+/1\.parquet: put them"
    with pytest.raises(InvalidInput, match=words):
        read_folder(spark, str(write(tmp_path / "rows", *values)))


def test_every_column_is_reported_and_types_are_compared_among_all_files(spark: SparkSession, tmp_path: Path) -> None:
    """The first file lacks the field in which the others differ."""
    kinds = [pa.struct([("x", pa.int32())]), pa.struct([("a", pa.int64())]), pa.struct([("a", pa.string())])]
    (tmp_path / "rows").mkdir()
    for number, kind in enumerate(kinds):
        columns = {"v": pa.array([None], kind), "w": pa.array([None], [pa.int64(), pa.int32(), pa.bool_()][number])}
        parquet.write_table(pa.table(columns), tmp_path / "rows" / f"{number}.parquet")
    with pytest.raises(InvalidInput) as caught:
        read_folder(spark, str(tmp_path / "rows"))
    assert [("1.parquet" in problem, "2.parquet" in problem) for problem in caught.value.problems] == [
        (True, True),
        (False, True),
    ]


def test_a_job_reads_a_folder_of_two_widths(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "changes").mkdir()
    for number, type_ in enumerate((pa.int32(), pa.int64())):
        row = change("INSERT", "1", id=number, v=number)
        table = pa.Table.from_pylist([row])
        place = table.schema.get_field_index("v")
        table = table.set_column(place, "v", table.column(place).cast(type_))
        parquet.write_table(table, tmp_path / "changes" / f"{number}.parquet")
    run_job(spark, tmp_path / "changes", tmp_path / "out")
    assert live(read_base(spark, tmp_path / "out")) == [{"id": 0, "v": 0}, {"id": 1, "v": 1}]
