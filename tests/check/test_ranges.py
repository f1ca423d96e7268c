"""The conditions of chunks on both sides: plain ranges, and each row in exactly one chunk."""

from __future__ import annotations

import itertools
import sqlite3

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.zetasql_judge import Judge

from onefold.check.join import view_range
from onefold.check.request import ComparedColumn
from onefold.pull.read.key_ranges import range_condition
from onefold.pull.read.plan import KeyRange
from onefold.schema.columns import Column
from onefold.schema.table_rules import TableRules
from onefold.schema.types import Scalar

TYPES = ("INT64", "NUMERIC", "STRING")
"""The types in which a view may show a whole number of the source; where a version lands it as text, a row may hold any."""


def shown_as(type_: str) -> ComparedColumn:
    return ComparedColumn(Column("id", Scalar("INT64")), Column("id", Scalar(type_)), TableRules())


def chunks(bounds: list[int]) -> list[KeyRange]:
    return [KeyRange("id", *pair) for pair in itertools.pairwise([None, *sorted(set(bounds)), None])]


@pytest.mark.parametrize(
    ("chunk", "condition"),
    [
        (KeyRange("id"), "TRUE"),
        (KeyRange("id", None, 7), "(v.`id` < 7 OR v.`id` IS NULL)"),
        (KeyRange("id", 4, 7), "v.`id` >= 4 AND v.`id` < 7"),
        (KeyRange("id", 7, None), "v.`id` >= 7"),
    ],
)
def test_a_chunk_of_numbers_is_a_plain_range_of_its_column(chunk: KeyRange, condition: str) -> None:
    """A function around the column or around the range would keep BigQuery from reading the blocks of the range alone."""
    assert view_range(chunk, shown_as("INT64")) == condition


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    keys=st.lists(st.integers(-9, 9), min_size=1, max_size=12, unique=True),
    bounds=st.lists(st.integers(-9, 9), max_size=4),
    type_=st.sampled_from(TYPES),
)
def test_each_row_is_in_one_chunk_and_in_the_same_one_on_both_sides(
    judge: Judge, keys: list[int], bounds: list[int], type_: str
) -> None:
    """A key that is NULL, or is no number, is at no source. It is in the first chunk, which finds it to be too many."""
    key, parts = shown_as(type_), chunks(bounds)
    unknown = ["NULL", "'x'"] if type_ == "STRING" else ["NULL"]
    values = [*(f"CAST({one} AS {type_})" for one in keys), *unknown]
    rows = " UNION ALL ".join(f"SELECT {number} AS place, {value} AS id" for number, value in enumerate(values))
    held = [
        {place for (place,) in judge.rows(f"SELECT place FROM ({rows}) AS v WHERE {view_range(part, key)}")}
        for part in parts
    ]
    at_source = [{keys.index(found) for found in in_source(keys, part)} for part in parts]
    extra = set(range(len(keys), len(values)))
    assert held == [at_source[0] | extra, *at_source[1:]]
    assert sorted(itertools.chain(*held)) == list(range(len(values)))


def in_source(keys: list[int], part: KeyRange) -> list[int]:
    """The keys that the source's condition of a chunk selects, by another engine with the same comparisons of numbers."""
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
        database.executemany("INSERT INTO t VALUES (?)", [(key,) for key in keys])
        return [id_ for (id_,) in database.execute(f"SELECT id FROM t WHERE {range_condition(part)}")]
