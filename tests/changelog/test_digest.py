"""The digest of a landed row: the same in Python, in the evaluator and in the emulator, and of what it is taken."""

from __future__ import annotations

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.zetasql_judge import Judge

from onefold.changelog.digest import digest, digest_sql
from onefold.core.names import quote
from onefold.schema.columns import Column
from onefold.schema.types import parse_type

# Type, literal, text.
VALUES = (
    ("STRING", "'x:1 é'", "x:1 é"),
    ("STRING", "''", ""),
    ("INT64", "-9223372036854775808", "-9223372036854775808"),
    ("BOOL", "FALSE", "false"),
    ("DATE", "DATE '0001-01-01'", "0001-01-01"),
    ("TIMESTAMP", "TIMESTAMP '2020-01-01 00:00:00+00'", "2020-01-01 00:00:00+00"),
    ("ARRAY<INT64>", "[10, 2]", "2:101:2"),
    ("ARRAY<STRING>", "['']", "0:"),
    ("ARRAY<INT64>", "[]", None),
    ("INT64", "NULL", None),
)
BY_VALUES_ALONE = ("ARRAY<STRUCT<element INT64, place STRING>>", "[STRUCT(1, 'a')]", '25:{"element":1,"place":"a"}')


@pytest.mark.parametrize(("type_", "literal", "text"), [*VALUES, BY_VALUES_ALONE])
def test_a_row_has_the_same_digest_in_the_evaluator(judge: Judge, type_: str, literal: str, text: str | None) -> None:
    found = judge.rows(_query(type_), {"p.d.t": [("id", "INT64"), ("Value", type_)]}, {"p.d.t": _row(type_, literal)})
    assert found == [(digest({"id": "1", "value": text}),)]


def test_rows_have_the_same_digests_in_the_emulator(dataset: EmulatedDataset) -> None:
    for type_, literal, text in VALUES:
        query = _query(type_).replace("`p.d.t`", f"({_row(type_, literal)})")
        assert [tuple(row) for row in dataset.run(query)] == [(digest({"id": "1", "value": text}),)], (type_, literal)


def test_order_case_and_absent_columns_make_no_difference() -> None:
    assert digest({"b": "2", "A": "1", "c": None}) == digest({"a": "1", "B": "2"})


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({"a": "1", "b": None}, {"a": None, "b": "1"}),
        ({"a": ""}, {"a": None}),
        ({"a": "1", "b": "2"}, {"a": "12"}),
        ({"a": "1:11:2"}, {"a": "2:12"}),
        ({"a": "1:1-"}, {"a": "1:1"}),
        ({"a": "x1:b=1:y"}, {"a": "x", "b": "y"}),
    ],
)
def test_other_rows_have_other_digests(left: dict[str, str | None], right: dict[str, str | None]) -> None:
    assert digest(left) != digest(right)


def _query(type_: str) -> str:
    columns = [Column("Value", parse_type(type_)), Column("id", parse_type("INT64"))]
    return f"SELECT {digest_sql('t', columns)} FROM `p.d.t` AS t"


def _row(type_: str, literal: str) -> str:
    return f"SELECT 1 AS id, CAST({literal} AS {type_}) AS {quote('Value')}"
