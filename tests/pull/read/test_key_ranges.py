"""The key ranges of a large table, without a server: together they hold every key once, whatever the keys are."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onefold.mysql.catalog import TableName
from onefold.mysql.table import SourceColumn, SourceType, Structure
from onefold.pull.read.key_ranges import MAX_PARTS, bound_literal, key_ranges, range_condition, split
from onefold.pull.read.plan import KeyRange

NAME = TableName("shop", "or`der")


class FakeTable:
    """A connection to a server with one table. It answers the estimate of its rows, and the least and greatest key."""

    def __init__(self, rows: int | None, low: int | None = None, high: int | None = None) -> None:
        self.rows, self.ends = rows, (low, high)
        self.asked: list[str] = []

    def cursor(self, _: None = None) -> FakeTable:
        return self

    def __enter__(self) -> FakeTable:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        del kind, error, at

    def execute(self, sql: str, values: tuple[Any, ...] | None) -> None:
        assert values in (None, (NAME.database, NAME.table))
        self.asked.append(sql)

    def fetchall(self) -> list[tuple[int | None, int | None]]:
        return [(self.rows, 0)] if "TABLE_ROWS" in self.asked[-1] else [self.ends]


def structure(type_: str = "bigint", key: tuple[str, ...] = ("id",)) -> Structure:
    columns = (SourceColumn("note", SourceType("int")), SourceColumn("id", SourceType(type_)))
    return Structure(NAME.table, columns, key)


@given(st.integers(-(1 << 63), (1 << 64) - 1), st.integers(0, 10_000), st.integers(2, MAX_PARTS))
def test_every_key_is_in_exactly_one_range_and_keys_that_appear_later_are_too(low: int, width: int, parts: int) -> None:
    ranges = split("id", low, low + width, parts)
    assert 1 <= len(ranges) <= parts
    assert {one.column for one in ranges} == {"id"}
    ends = [(one.low, one.high) for one in ranges]
    assert (ends[0][0], ends[-1][1]) == (None, None)
    bounds = [high for _, high in ends if high is not None]
    assert bounds == [first for first, _ in ends[1:]]
    assert all(low < bound <= low + width for bound in bounds)
    assert bounds == sorted(set(bounds))


@pytest.mark.parametrize(
    ("low", "high", "parts", "bounds"),
    [(0, 100, 4, [25, 50, 75]), (1, 10, 3, [4, 7]), (-10, 10, 2, [0]), (7, 7, 5, []), (1, 3, 10, [2]), (5, 6, 3, [])],
)
def test_ranges_have_the_same_width_and_none_is_empty(low: int, high: int, parts: int, bounds: list[int]) -> None:
    assert [one.high for one in split("id", low, high, parts)] == [*bounds, None]


@pytest.mark.parametrize(
    ("rows", "part_rows", "bounds"),
    [(101, 100, [50]), (200, 100, [50]), (201, 100, [33, 66]), (1000, 100, [*range(10, 100, 10)])],
)
def test_a_table_has_as_many_ranges_as_its_rows_need(rows: int, part_rows: int, bounds: list[int]) -> None:
    table = FakeTable(rows, 0, 100)
    assert [one.high for one in key_ranges(table, NAME, structure(), part_rows)] == [*bounds, None]
    assert table.asked[-1] == "SELECT MIN(`id`), MAX(`id`) FROM `shop`.`or``der`"


@pytest.mark.parametrize("kind", ["tinyint", "smallint", "mediumint", "int", "bigint"])
def test_each_whole_number_may_be_the_key_of_ranges(kind: str) -> None:
    (first, last) = key_ranges(FakeTable(20, -4, 4), NAME, structure(kind), 10)
    assert (first, last) == (KeyRange("id", None, 0), KeyRange("id", 0, None))


def test_a_table_of_any_size_has_at_most_256_ranges() -> None:
    assert len(key_ranges(FakeTable(10**9, 1, 10**9), NAME, structure(), 10)) == 256


@pytest.mark.parametrize(
    ("table", "described"),
    [
        (FakeTable(100, 0, 100), structure()),
        (FakeTable(0, 0, 100), structure()),
        (FakeTable(None, 0, 100), structure()),
        (FakeTable(500, 0, 100), structure("varchar")),
        (FakeTable(500, 0, 100), structure("decimal")),
        (FakeTable(500, 0, 100), structure(key=())),
        (FakeTable(500), structure()),
    ],
    ids=["of one range", "empty", "unknown", "of texts", "of decimals", "without a key", "emptied"],
)
def test_a_small_table_or_one_without_a_whole_number_as_key_is_one_range(table: FakeTable, described: Structure) -> None:
    assert key_ranges(table, NAME, described, 100) == (KeyRange(),)


@pytest.mark.parametrize(
    ("part", "condition"),
    [
        (KeyRange(), "TRUE"),
        (KeyRange("id"), "TRUE"),
        (KeyRange("a`b", None, -3), "`a``b` < -3"),
        (KeyRange("id", 4), "`id` >= 4"),
        (KeyRange("id", 0, 7), "`id` >= 0 AND `id` < 7"),
        (KeyRange("c", 1, None, "text"), "LEFT(SHA2(CONVERT(CAST(`c` AS CHAR) USING utf8mb4), 256), 4) >= '0001'"),
        (KeyRange("c", None, 4096, "number"), "LEFT(SHA2(CONVERT(CAST(`c` + 0 AS CHAR) USING utf8mb4), 256), 4) < '1000'"),
        (KeyRange("c", 171, None, "bytes"), "LEFT(SHA2(CAST(`c` AS BINARY), 256), 4) >= '00ab'"),
    ],
)
def test_a_range_is_a_condition_of_sql(part: KeyRange, condition: str) -> None:
    assert range_condition(part) == condition


def test_bounds_of_digests_sort_as_their_numbers_do() -> None:
    literals = [bound_literal(KeyRange("c", digest="bytes"), number) for number in range(0, 1 << 16, 257)]
    assert literals == sorted(literals)
    assert (literals[0], literals[-1]) == ("'0000'", "'ffff'")
