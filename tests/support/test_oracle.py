"""The tests' oracle against the evaluator and against the tables of its specification."""

from __future__ import annotations

import ast
from itertools import pairwise
from pathlib import Path

import pytest
from support.changelogs import change
from support.oracle import digest_of, order_of, sequence_order, text_of
from support.typed_logs import EVALUATED
from support.typed_values import literal
from support.zetasql_judge import Judge

from onefold.changelog.digest import digest_sql
from onefold.changelog.generator import WorkloadOptions, make_workload
from onefold.changelog.generator_values import EXTREMES
from onefold.core.names import quote
from onefold.schema.casts import convert
from onefold.schema.columns import Column
from onefold.schema.types import STRING, Array, parse_type


@pytest.mark.parametrize("name", [name for name in EXTREMES if name != "GEOGRAPHY"])
def test_the_text_of_every_extreme_value_is_that_of_the_evaluator(judge: Judge, name: str) -> None:
    type_, struct = parse_type(name), parse_type(f"STRUCT<z {name}, A {name}>")
    pairs = [(text_of(value, type_), text_of({"z": value, "A": value}, struct)) for value in EXTREMES[name]]
    rows = ", ".join(f"({place}, {literal(value, type_)})" for place, value in enumerate(EXTREMES[name]))
    alone = convert("v.x", type_, STRING)
    within = convert("(SELECT AS STRUCT v.x AS z, v.x AS `A`)", struct, STRING)
    values = f"UNNEST(ARRAY<STRUCT<n INT64, x {name}>>[{rows}]) AS v"
    assert judge.rows(f"SELECT {alone}, {within} FROM {values} ORDER BY n") == pairs


def test_the_digest_of_rows_of_every_type_is_that_of_the_evaluator(judge: Judge) -> None:
    workload = make_workload(WorkloadOptions(operations=25))
    rows = [{name: row[name] for name in EVALUATED} for changes in workload.changes.values() for row in changes]
    types = {name: parse_type(type_) for name, type_ in EVALUATED.items()}
    selects = (", ".join(f"{literal(row[name], type_)} AS {quote(name)}" for name, type_ in types.items()) for row in rows)
    union = " UNION ALL ".join(f"SELECT {place} AS place, {select}" for place, select in enumerate(selects))
    digest = digest_sql("t", [Column(name, type_) for name, type_ in types.items()])
    found = judge.rows(f"SELECT {digest} FROM ({union}) AS t ORDER BY place")
    assert found == [(digest_of(row, EVALUATED),) for row in rows]
    assert len(set(found)) > len(found) / 2


@pytest.mark.parametrize(
    "ascending",
    [
        [None, "mysql-bin.999999", "mysql-bin.1000000", "9", "B", "10", "BA/FFFFFFFF", "ABC", "0000000000000ABD"],
        ["FFF/B", "FFF/ABC", "1000/0"],
        ["0000002D00000AC00015", "0x0000002D00000AC0001A", "0000002D00000AC0001A/1"],
        ["0000002d:00000ac0:0015", "0000002D:00000AC0:001a", "0000002d:00000b00:0001"],
        [" 0x000a.00012345.0010 ", " 0x000b.00000001.0001 "],
        ["1/2/3/4/5", "1/2/3/4/A", "1/2/3/4/10"],
    ],
)
def test_sequences_have_the_order_of_the_specification(ascending: list[str | None]) -> None:
    assert all(sequence_order(low) < sequence_order(high) for low, high in pairwise(ascending))


def test_each_part_of_a_position_decides_before_the_next_one() -> None:
    ascending = [
        change("INSERT", None, timestamp=9),
        change("INSERT", "9", timestamp=None),
        change("INSERT", "9", timestamp=-1),
        change("INSERT", "9", timestamp=0, sort_keys=()),
        change("INSERT", "9", timestamp=0, sort_keys=("-10",)),
        change("INSERT", "9", timestamp=0, sort_keys=("-9.5",)),
        change("INSERT", "9", timestamp=0, sort_keys=("9",)),
        change("INSERT", "9", timestamp=0, sort_keys=("10",)),
        change("INSERT", "9", timestamp=0, sort_keys=("bin.9", "1")),
        change("DELETE", "9", timestamp=0, sort_keys=("bin.10",), uuid="z"),
        change("INSERT", "9", timestamp=0, sort_keys=("bin.10",), uuid="a"),
        change("INSERT", "9", timestamp=0, sort_keys=("bin.10",), uuid="b"),
        change("INSERT", "9", timestamp=0, sort_keys=("1/9",)),
        change("INSERT", "9", timestamp=0, sort_keys=("1/A",)),
        change("INSERT", "9", timestamp=0, sort_keys=(" 0x000a.00012345.0010 ",)),
        change("INSERT", "A", timestamp=None),
    ]
    assert all(order_of(low) < order_of(high) for low, high in pairwise(ascending))


def test_an_array_differs_from_its_text_and_from_another_split() -> None:
    type_ = parse_type("ARRAY<STRING>")
    texts = [text_of(value, type_) for value in (["12"], ["1", "2"], ["", ""], [""], ["1:2"])]
    assert len(set(texts)) == len(texts)
    assert (text_of([], type_), text_of(None, type_)) == (None, None)
    assert isinstance(type_, Array)


def test_the_oracle_imports_nothing_that_orders_changes_or_takes_digests() -> None:
    tree = ast.parse((Path(__file__).with_name("oracle.py")).read_text())
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {module for module in modules if module and module.startswith("onefold")} == {"onefold.schema.types"}
