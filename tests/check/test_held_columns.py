"""Columns whose type a contract keeps: a value of the source is compared as the view shows it, equal or NULL."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.check_tables import checked
from support.zetasql_judge import Judge

from onefold.check.request import ComparedColumn
from onefold.mysql.table import SourceType
from onefold.refresh.held_note import HeldNote
from onefold.schema.columns import Column, Schema
from onefold.schema.plain_table import PlainTable
from onefold.schema.table_rules import TableRules
from onefold.schema.types import STRING, Scalar, parse_type


@pytest.mark.parametrize(
    ("landed", "shown", "full", "value", "expected"),
    [
        ("NUMERIC", "INT64", None, "NUMERIC '1.5'", 2),
        ("NUMERIC", "INT64", "NUMERIC", "NUMERIC '1.5'", None),
        ("NUMERIC", "INT64", "STRING", "NUMERIC '2'", 2),
        ("STRING", "INT64", "STRING", "'many'", None),
        ("BYTES", "BYTES", "STRING", r"b'\xff'", b"\xff"),
    ],
    ids=["no contract", "it would be rounded", "it fits", "a text", "the unified type does not give it back"],
)
def test_a_value_is_converted_as_the_view_does(
    judge: Judge, landed: str, shown: str, full: str | None, value: str, expected: object
) -> None:
    before, after = (Column("n", parse_type(type_)) for type_ in (landed, shown))
    one = ComparedColumn(before, after, TableRules(), parse_type(full) if full else None)
    assert judge.rows(f"SELECT {one.converted('r.n')} AS n FROM (SELECT {value} AS n) AS r") == [(expected,)]


def test_columns_of_another_tool_whose_type_is_kept_are_left_out_by_name() -> None:
    table = checked({"id": SourceType("int"), "n": SourceType("varchar", 9)})
    shown = Schema(replace(one, type=Scalar("INT64")) if one.name == "n" else one for one in table.shown)
    plain = replace(table, shown=shown, plain=PlainTable("changes", "d"), held=HeldNote(types={"n": STRING}))
    assert [one.shown.name for one in plain.columns] == ["id"]
    assert plain.left_out == ("n (a contract keeps its type)",)
