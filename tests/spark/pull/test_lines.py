"""Lines in Spark against `onefold.pull.read.rows`, without a server: days, sections, and what is counted."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import pytest

from onefold.mysql.table import SourceColumn, SourceType, Structure
from onefold.pull.read.days import row_day
from onefold.pull.read.part import Block
from onefold.pull.read.plan import PullRequest, TablePlan
from onefold.pull.read.pulled_table import pulled_table
from onefold.pull.read.rows import json_line
from onefold.pull.read.watermark import Kind, PullRange, Watermark
from onefold.settings.sources import TableLoad
from onefold.spark.pull.blocks import blocks_of, line_bytes
from onefold.spark.pull.lines import line_frame, loss_columns

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STRUCTURE = Structure("t", (SourceColumn("id", SourceType("int")), SourceColumn("doc", SourceType("json"))), ("id",))
REQUEST = PullRequest("fraud", "models", "day", at=datetime(2026, 5, 4, tzinfo=UTC))
SCHEMA = "c0 bigint, c1 string, _onefold_reading string, _onefold_shown string"
KEY_DAYS = ((-(2**63), date(2026, 5, 2)), (10, date(2026, 5, 3)), (2**63, date(2026, 5, 4)))
READINGS = (None, -(2**63), -1, 0, 9, 10, 86_399, 86_400, 2**63 - 1, 2**63, 2**64 - 1)
SHOWN = (
    None,
    "0000-00-00",
    "0001-00-05",
    "0001-01-00",
    "1000-01-01",
    "2020-00-10",
    "2020-02-30",
    "2020-03-00",
    "9999-12-31",
)


def plan(kind: Kind, days: tuple[date, ...] = ()) -> TablePlan:
    range_ = PullRange("day", 0, 86_400, days=days, key_days=KEY_DAYS if kind == "key" else ())
    mark = Watermark("at", kind)
    return TablePlan(REQUEST, "fraud_models", STRUCTURE, pulled_table(STRUCTURE), TableLoad(), ("id",), mark, range_, 10**15)


def batches(spark: SparkSession, found: TablePlan, rows: list[tuple[Any, ...]]) -> list[Block]:
    frame = spark.createDataFrame(rows, SCHEMA).coalesce(1)
    lines = line_frame(frame, found, 3).toArrow().combine_chunks().to_batches()
    return [block for batch in lines for block in blocks_of(batch, found, loss_columns(found))]


@pytest.mark.parametrize("kind", ["key", "unix_seconds", "datetime"])
def test_lines_are_those_of_python(spark: SparkSession, kind: Kind) -> None:
    found = plan(kind)
    numbers = kind != "datetime"
    rows = [
        (number, '{"é": [1.10]}' if number % 2 else None, value if numbers else None, None if numbers else value)
        for number, value in enumerate(map(str_or_none, READINGS) if numbers else SHOWN)
    ]
    blocks = batches(spark, found, rows)
    expected = []
    for line, (id_, doc, reading, shown) in enumerate(rows):
        value = None if reading is None else int(reading)
        day = row_day(kind, value, shown, found.range.key_days)
        expected.append(json_line(found, (id_, doc), value, day, (3, line)))
    lines = b"".join(block.lines for block in blocks)
    got = sorted(map(json.loads, lines.decode().splitlines()), key=lambda row: row["id"])  # a block has the days of a file
    assert got == [json.loads(line) for line in expected]
    assert b'"doc":{"\xc3\xa9": [1.10]}' in lines
    known = [reading for reading in READINGS if reading is not None] if numbers else []
    assert min((block.least for block in blocks if block.least is not None), default=None) == min(known, default=None)
    assert max((block.greatest for block in blocks if block.greatest is not None), default=None) == max(known, default=None)
    border = found.border
    assert border is not None
    assert sum(block.above for block in blocks) == sum(reading > border for reading in known)
    assert sum(block.missing for block in blocks) == (1 if numbers else len(SHOWN))


def str_or_none(value: int | None) -> str | None:
    return None if value is None else str(value)


def test_replaced_days_have_blocks_of_their_own(spark: SparkSession) -> None:
    found = plan("datetime", days=(date(2026, 5, 2), date(2026, 5, 3)))
    shown = [None, "2026-05-02", "2026-05-04", "2026-05-03", "2026-05-02", "2026-05-05"]
    blocks = batches(spark, found, [(number, None, None, text) for number, text in enumerate(shown)])
    assert {block.replaced: sum(block.days.values()) for block in blocks} == {
        date(1, 1, 1): 1, date(2026, 5, 2): 2, date(2026, 5, 3): 1, None: 2,
    }  # fmt: skip
    ids = {block.replaced: [json.loads(line)["id"] for line in block.lines.splitlines()] for block in blocks}
    assert ids[date(2026, 5, 2)] == [1, 4]
    assert ids[None] == [2, 5]


def test_the_bytes_of_lines_are_those_of_their_slice() -> None:
    import pyarrow as pa

    for type_ in (pa.string(), pa.large_string()):
        lines = pa.array(["a\n", "é\n", "", "c\n"], type_)
        assert line_bytes(lines) == "a\né\nc\n".encode()
        assert line_bytes(lines.slice(1, 2)) == "é\n".encode()
        assert line_bytes(lines.slice(4)) == b""


def test_a_laptop_gets_the_driver_and_a_cluster_brings_it() -> None:
    from pyspark.conf import SparkConf

    from onefold.spark.pull.session import driver_settings

    conf = SparkConf(loadDefaults=False)
    assert driver_settings(conf)["spark.jars.packages"].startswith("org.mariadb.jdbc:mariadb-java-client:")
    assert driver_settings(SparkConf(loadDefaults=False).setMaster("yarn")) == {}
    assert driver_settings(SparkConf(loadDefaults=False).set("spark.jars", "gs://code/driver.jar")) == {}


def test_a_row_of_nulls_is_a_line(spark: SparkSession) -> None:
    keyless = Structure("t", (SourceColumn("id", SourceType("int")), SourceColumn("doc", SourceType("json"))))
    found = replace(plan("key"), structure=keyless, target=pulled_table(keyless), keys=())
    (block,) = batches(spark, found, [(None, None, None, None), (None, "{}", None, None)])
    lines = [json.loads(line) for line in block.lines.splitlines()]
    expected = [
        json_line(found, row, None, date(1, 1, 1), (3, line)) for line, row in enumerate([(None, None), (None, "{}")])
    ]
    assert lines == [json.loads(line) for line in expected]
