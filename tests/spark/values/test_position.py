"""Positions and digests in Spark are the text that Python and GoogleSQL write."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from changelog.test_position import (
    DOCUMENTED,
    NUMBERS,
    OLD_TEXTS,
    SECTIONS,
    SEQUENCES,
    STORED,
    UNDOCUMENTED,
    Sections,
    as_numbers,
    as_text,
    positions,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from merge.test_positions import COUNTED, FOUR, SHORT, SNAPSHOT, SPLIT, SPLIT_KEY
from merge.test_positions import LOG_FILE as LOG_FILE_PLACE
from pyspark.sql import Column as Value
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812
from support.changelogs import change
from support.spark_oracle import read_base, run_job, write_lines
from support.spark_values import carried_frame, carried_sql, delivered
from support.strategies import EXTREMES
from support.sweeps import sweep
from support.zetasql_judge import Judge

from onefold.changelog.digest import digest_sql
from onefold.changelog.position import LOG_FILE, Position, is_stored_as_text
from onefold.core.errors import InvalidInput
from onefold.core.names import quote
from onefold.schema.columns import Column
from onefold.schema.types import parse_type, render_type
from onefold.spark.columns import named
from onefold.spark.values.digest import digest
from onefold.spark.values.position import ordered_by_text, position, stored_as_text

SCHEMA = "sequence string, timestamp bigint, sort_keys array<string>, deleted boolean, tie_break string"
TIMES = (None, -(2**63), -(2**63) + 1, -1, 0, 1, 2**63 - 1)
AWKWARD = (
    "",
    "\n",
    "1\n",
    "A/1\n",
    "a" * 17,
    "-0",
    "-",
    "1.",
    "0x1",
    "٣",
    "7" * 50,
    "-" + "7" * 50 + ".100",
    "\x00 \x1f\x7f",
    "🐢9",
)


def written(spark: SparkSession, some: Sequence[Position]) -> list[str]:
    rows = [(one.sequence, one.timestamp, list(one.sort_keys), one.deleted, one.tie_break) for one in some]
    parts = map(F.col, ("sequence", "timestamp", "sort_keys", "deleted", "tie_break"))
    return [text for (text,) in spark.createDataFrame(rows, SCHEMA).coalesce(1).select(position(*parts)).collect()]


def test_awkward_positions_are_written_alike(spark: SparkSession) -> None:
    texts = (None, *AWKWARD, *NUMBERS, *UNDOCUMENTED, *(text for pair in (*SEQUENCES, *DOCUMENTED) for text in pair))
    some = [
        Position(text, time, (text, "x", text), deleted) for text in texts for time in TIMES for deleted in (True, False)
    ]
    some += [Position(text, tie_break="g") for text in texts]
    assert written(spark, some) == [str(one) for one in some]


@pytest.mark.long
@settings(deadline=None, max_examples=6, suppress_health_check=list(HealthCheck))
@given(st.lists(positions, min_size=50, max_size=200), st.integers(0, 49))
def test_generated_positions_are_written_alike(spark: SparkSession, some: list[Position], place: int) -> None:
    some[place] = replace(some[place], sort_keys=(None, *some[place].sort_keys))
    assert written(spark, some) == [str(one) for one in some]


@settings(deadline=None, print_blob=True, max_examples=4, suppress_health_check=list(HealthCheck))
@given(st.lists(SECTIONS, min_size=50, max_size=200))
def test_sequences_are_ordered_as_numbers(spark: SparkSession, some: list[Sections]) -> None:
    rows = [(place, as_text(one)) for place, one in enumerate(some)]
    nothing = (F.lit(0).cast("bigint"), F.array().cast("array<string>"), F.lit(False), F.lit(""))
    frame = spark.createDataFrame(rows, "place int, sequence string").coalesce(1)
    found = frame.orderBy(position(F.col("sequence"), *nothing)).select("place").collect()
    assert [as_numbers(some[place]) for (place,) in found] == sorted(map(as_numbers, some))


def test_positions_that_were_ordered_as_text_are_found_alike(spark: SparkSession) -> None:
    some = [*OLD_TEXTS, *map(str, STORED), *(str(Position(text)) for text in UNDOCUMENTED)]
    some += [str(Position(text)) for pair in DOCUMENTED for text in pair]
    frame = spark.createDataFrame([(one,) for one in some], "p string").coalesce(1)
    found = frame.select(ordered_by_text(F.col("p")), stored_as_text(F.col("p"))).collect()
    expected = [(one[0] == "1" and not re.match(LOG_FILE, one), is_stored_as_text(one)) for one in some]
    assert [tuple(row) for row in found] == expected


OLD_BASE = "id bigint, name string, _position string, _deleted boolean"


@pytest.mark.long
def test_changes_are_compared_with_the_positions_of_an_earlier_release(spark: SparkSession, tmp_path: Path) -> None:
    old = [(place, "base", text, False) for place, text in enumerate((SNAPSHOT, SHORT, FOUR, LOG_FILE_PLACE), 1)]
    spark.createDataFrame(old, OLD_BASE).coalesce(1).write.parquet(str(tmp_path / "base"))
    places = {1: "0", 2: "0000002d:00000ac0:0014", 3: "1/FF/10000000000000000", 4: "mysql-bin.000003/8"}
    write_lines(tmp_path / "changes/a.jsonl", [change("INSERT", text, id=id_, name="new") for id_, text in places.items()])
    run_job(spark, tmp_path / "changes", tmp_path / "out", base=tmp_path / "base")
    names = {row["id"]: row["name"] for row in read_base(spark, tmp_path / "out")}
    assert names == {1: "new", 2: "base", 3: "new", 4: "base"}


def test_epochs_in_seconds_are_above_those_that_were_counted(spark: SparkSession, tmp_path: Path) -> None:
    old = [(place, "base", COUNTED, False) for place in (1, 2, 3)]
    spark.createDataFrame(old, OLD_BASE).coalesce(1).write.parquet(str(tmp_path / "base"))
    places = [(1, "6553F100/1/4/0"), (2, "6553F100/1/4"), (3, "7/FFFFFF/FFFFFFFF/FE"), (1, "8/FFFFFF/FFFFFFFF/FF")]
    write_lines(tmp_path / "changes/a.jsonl", [change("INSERT", text, id=id_, name=text) for id_, text in places])
    run_job(spark, tmp_path / "changes", tmp_path / "out", base=tmp_path / "base")
    names = {row["id"]: row["name"] for row in read_base(spark, tmp_path / "out")}
    assert names == {1: "6553F100/1/4/0", 2: "6553F100/1/4", 3: "base"}


@pytest.mark.parametrize("split", sweep([SPLIT, SPLIT_KEY]))
def test_a_base_that_was_ordered_as_text_is_refused_until_it_is_rebuilt(
    spark: SparkSession, tmp_path: Path, split: str
) -> None:
    spark.createDataFrame([(1, "base", split, False)], OLD_BASE).coalesce(1).write.parquet(str(tmp_path / "base"))
    sequences = ("0000002D00000AC00015", "0000002D00000AC0001A")
    write_lines(tmp_path / "changes/a.jsonl", [change("INSERT", sequence, id=1, name=sequence) for sequence in sequences])
    with pytest.raises(InvalidInput, match=r"which an earlier release ordered as text: use --mode rebuild"):
        run_job(spark, tmp_path / "changes", tmp_path / "out", base=tmp_path / "base")
    run_job(spark, tmp_path / "changes", tmp_path / "new", "--mode", "rebuild", base=tmp_path / "base")
    assert [row["name"] for row in read_base(spark, tmp_path / "new")] == [sequences[1]]


def test_without_sort_keys_there_are_none(spark: SparkSession) -> None:
    parts = ("'A'", "1L", "CAST(NULL AS ARRAY<STRING>)", "CAST(NULL AS BOOLEAN)", "'g'")
    assert spark.range(1).select(position(*map(F.expr, parts))).collect() == [(str(Position("A", 1, tie_break="g")),)]


COLUMNS = {
    "n": "INT64", "Text": "STRING", "a.b": "STRING", "c`d": "BYTES", "żółw": "FLOAT64", "Numbers": "ARRAY<NUMERIC>",
    "times": "ARRAY<TIMESTAMP>", "json": "JSON", "wide": "BIGNUMERIC", "pair": "STRUCT<b FLOAT64, a ARRAY<STRING>>",
    "pairs": "ARRAY<STRUCT<x INT64, element DATE>>", "interval": "INTERVAL", "range": "RANGE<DATETIME>", "true": "BOOL",
}  # fmt: skip
NESTED = {
    "Numbers": ("[NUMERIC '1.5', NUMERIC '-2']", "CAST([] AS ARRAY<NUMERIC>)"),
    "times": ("[TIMESTAMP '2020-01-01 00:00:00+00', TIMESTAMP '2020-01-01 00:00:00.5+00']",),
    "pair": ("STRUCT(0.1 + 0.7 AS b, ['x', ''] AS a)", "STRUCT(CAST(NULL AS FLOAT64) AS b, CAST([] AS ARRAY<STRING>) AS a)"),
    "pairs": ("[STRUCT(1 AS x, DATE '2020-01-01' AS element), STRUCT(NULL, NULL)]",),
}
ROWS = 16


def test_digests_are_the_evaluators(spark: SparkSession, judge: Judge) -> None:
    columns = [Column(name, parse_type(kind)) for name, kind in COLUMNS.items()]
    choices = {name: ("NULL", *NESTED.get(name, EXTREMES.get(kind, ()))) for name, kind in COLUMNS.items()}
    rows = [[choices[column.name][n % len(choices[column.name])] for column in columns] for n in range(ROWS)]
    cells = "\nUNION ALL ".join(
        f"SELECT {n} AS place, "
        + ", ".join(f"CAST({v} AS {render_type(c.type)}) AS {quote(c.name)}" for c, v in zip(columns, row, strict=True))
        for n, row in enumerate(rows)
    )
    carried = ", ".join(carried_sql(f"t.{quote(column.name)}", column.type) for column in columns)
    judged = judge.rows(f"SELECT t.place, {digest_sql('t', columns)}, {carried} FROM ({cells}) AS t ORDER BY 1")
    frame = carried_frame(spark, [c.type for c in columns], [[row[2 + n] for row in judged] for n in range(len(columns))])
    held = frame.select(*(_delivered(column, place) for place, column in enumerate(columns)))
    assert [text for (text,) in held.select(digest(columns)).collect()] == [row[1] for row in judged]
    assert len({row[1] for row in judged}) == ROWS


def test_a_digest_is_taken_over_the_named_columns_only(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1, "a", "x"), (1, "a", "y")], "n bigint, text string, other string")
    some = [Column("n", parse_type("INT64")), Column("TEXT", parse_type("STRING"))]
    first, second = frame.select(digest(some)).collect()
    assert first == second


def _delivered(column: Column, place: int) -> Value:
    return delivered(named(str(place)), column.type).alias(column.name)
