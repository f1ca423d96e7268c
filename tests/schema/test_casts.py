"""Conversions, judged by Google's own analyzer and evaluator, whose default time zone is not UTC."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.seeding import examples
from support.strategies import ABOVE, EXTREMES, RANGES, above, arrays, scalars, structs, types, values
from support.zetasql_judge import Judge

from onefold.schema.casts import UTC, convert, losses
from onefold.schema.common_type import join
from onefold.schema.types import Array, Struct, Type, parse_type, render_type

GENERATED = settings(
    deadline=None,
    max_examples=examples(50),
    suppress_health_check=list(HealthCheck),
)

UPWARDS = [(source, target) for source, chain in ABOVE.items() for target in chain]
UPWARDS += [(str(range_), target) for range_ in RANGES for target in (str(range_), "STRING")]
SCALARS = [*ABOVE, *map(str, RANGES)]


def query(source: Type, target: Type, literals: Sequence[str], zone: str = UTC) -> str:
    """Number, landed value and converted value of each literal."""
    cells = "\nUNION ALL ".join(
        f"SELECT {number} AS n, CAST({literal} AS {render_type(source)}) AS x" for number, literal in enumerate(literals)
    )
    return f"WITH t AS (\n{cells})\nSELECT v.n, v.x, {convert('v.x', source, target, zone)} AS y FROM t AS v ORDER BY n"


def converted(judge: Judge, source: str, target: str, literals: Sequence[str], zone: str = UTC) -> list[Any]:
    return [y for _, _, y in judge.rows(query(parse_type(source), parse_type(target), literals, zone))]


def as_text(judge: Judge, source: str, target: str, literal: str, zone: str = UTC) -> str | None:
    """The converted value as text of UTC, which a person can read."""
    value = convert("v.x", parse_type(source), parse_type(target), zone)
    text = convert("w.y", parse_type(target), parse_type("STRING"))
    [(found,)] = judge.rows(f"SELECT {text} FROM (SELECT {value} AS y FROM (SELECT {literal} AS x) AS v) AS w")
    return found  # type: ignore[no-any-return]


def assert_apart(rows: Sequence[tuple[Any, ...]]) -> None:
    """Where landed values differ, converted ones differ."""
    for (_, x, y), (_, other_x, other_y) in itertools.combinations(rows, 2):
        assert x == other_x or y != other_y, f"{x!r} and {other_x!r} both became {y!r}"


def without_arrays_above(type_: Type, target: Type) -> bool:
    """Whether NULL stays NULL: an absent value in an array of one is the empty array."""
    return not isinstance(target, Array) or type_ == target


def check_upwards(judge: Judge, source: Type, target: Type, literals: Sequence[str]) -> None:
    sql = query(source, target, ["NULL", *literals])
    assert [parse_type(kind) for _, kind in judge.columns(sql)][2] == target
    rows = judge.rows(sql)
    assert len(rows) == len(literals) + 1
    assert rows[0][2] == (None if without_arrays_above(source, target) else [])
    if not losses(source, target):
        assert_apart([row for row in rows if row[1] is not None])
        if not isinstance(target, Array):
            assert all((x is None) == (y is None) for _, x, y in rows)


@pytest.mark.parametrize(("source", "target"), UPWARDS)
def test_every_wider_type_holds_every_extreme_value(judge: Judge, source: str, target: str) -> None:
    check_upwards(judge, parse_type(source), parse_type(target), EXTREMES[source])


@pytest.mark.parametrize(("source", "target"), UPWARDS)
def test_an_array_of_a_wider_type_holds_every_extreme_value(judge: Judge, source: str, target: str) -> None:
    literals = [f"[{value}]" for value in EXTREMES[source]]
    check_upwards(judge, parse_type(f"ARRAY<{source}>"), parse_type(f"ARRAY<{target}>"), ["[]", *literals])


@pytest.mark.parametrize(("source", "target"), UPWARDS)
def test_a_value_becomes_an_array_of_one(judge: Judge, source: str, target: str) -> None:
    check_upwards(judge, parse_type(source), parse_type(f"ARRAY<{target}>"), EXTREMES[source])


@pytest.mark.parametrize("target", ["JSON", "STRING", "ARRAY<JSON>", "STRUCT<z STRING, F STRING>"])
@pytest.mark.parametrize("source", [*ABOVE, *map(str, RANGES)])
def test_every_wider_type_of_a_struct_holds_every_extreme_value(judge: Judge, source: str, target: str) -> None:
    struct = parse_type(f"STRUCT<f {source}>")
    literals = [f"STRUCT({value} AS f)" for value in ("NULL", *EXTREMES[source])]
    check_upwards(judge, struct, parse_type(target), literals)


@GENERATED
@given(st.data())
def test_generated_types_convert_to_generated_wider_types(judge: Judge, data: st.DataObject) -> None:
    source = data.draw(types())
    target = data.draw(above(source))
    check_upwards(judge, source, target, data.draw(st.lists(values(source), min_size=1, max_size=8)))


@GENERATED
@given(st.data())
def test_generated_structs_and_arrays_convert_to_their_join_with_others(judge: Judge, data: st.DataObject) -> None:
    nested = structs(scalars(json=False)) | arrays(scalars(json=False) | structs(scalars(json=False)))
    source, other = data.draw(nested), data.draw(nested)
    literals = data.draw(st.lists(values(source), min_size=1, max_size=8))
    check_upwards(judge, source, join(source, other), literals)
    check_upwards(judge, source, join(other, source), literals)


@pytest.mark.parametrize(
    ("source", "target", "literal", "text"),
    [
        ("BOOL", "BIGNUMERIC", "TRUE", "1"),
        ("BOOL", "STRING", "TRUE", "true"),
        ("DATE", "STRING", "DATE '2020-01-01'", "2020-01-01"),
        ("DATE", "TIMESTAMP", "DATE '2020-01-01'", "2020-01-01 00:00:00+00"),
        ("DATETIME", "TIMESTAMP", "DATETIME '9999-12-31 23:59:59.999999'", "9999-12-31 23:59:59.999999+00"),
        ("DATETIME", "STRING", "DATETIME '2020-01-01'", "2020-01-01 00:00:00"),
        ("TIMESTAMP", "STRING", "TIMESTAMP '2020-01-01 00:00:00+00'", "2020-01-01 00:00:00+00"),
        (
            "RANGE<TIMESTAMP>", "STRING", "RANGE(TIMESTAMP '2020-01-01 00:00:00+00', NULL)",
            "[2020-01-01 00:00:00+00, UNBOUNDED)",
        ),
        ("RANGE<DATE>", "STRING", "RANGE(NULL, DATE '2020-01-01')", "[UNBOUNDED, 2020-01-01)"),
        ("BYTES", "STRING", "b'abc'", "abc"),
        ("BYTES", "STRING", "b'\\xff'", "/w=="),
        ("JSON", "STRING", "JSON 'null'", "null"),
        ("FLOAT64", "STRING", "CAST('nan' AS FLOAT64)", "nan"),
        (
            "STRUCT<t TIMESTAMP, n INT64>", "STRING",
            "STRUCT(TIMESTAMP '2020-01-01 00:00:00+00' AS t, 9007199254740993 AS n)",
            '{"n":"9007199254740993","t":"2020-01-01T00:00:00Z"}',
        ),
        ("STRUCT<r RANGE<TIMESTAMP>>", "STRING", "STRUCT(RANGE(TIMESTAMP '2020-01-01 00:00:00+00', NULL) AS r)",
            '{"r":{"end":null,"start":"2020-01-01T00:00:00Z"}}'),
        ("ARRAY<INT64>", "STRING", "[2, 1]", "[2,1]"),
        ("STRING", "TIMESTAMP", "'2020-01-01 00:00:00'", "2020-01-01 00:00:00+00"),
        ("STRING", "TIMESTAMP", "'2020-01-01'", "2020-01-01 00:00:00+00"),
        ("STRING", "TIMESTAMP", "'2020-01-01 00:00:00+02'", "2019-12-31 22:00:00+00"),
        ("STRING", "TIMESTAMP", "'2020-01-01T00:00:00Z'", "2020-01-01 00:00:00+00"),
        ("STRING", "TIMESTAMP", "'2020-01-01 00:00:00 Europe/Warsaw'", "2019-12-31 23:00:00+00"),
        ("STRING", "TIMESTAMP", "'no time at all'", None),
        ("TIMESTAMP", "DATE", "TIMESTAMP '2020-01-01 00:00:00+00'", "2020-01-01"),
        ("TIMESTAMP", "DATETIME", "TIMESTAMP '2020-01-01 00:00:00+00'", "2020-01-01 00:00:00"),
        ("RANGE<TIMESTAMP>", "JSON", "RANGE(TIMESTAMP '2020-01-01 00:00:00+00', NULL)",
            '{"end":null,"start":"2020-01-01T00:00:00Z"}'),
        ("FLOAT64", "INT64", "CAST('nan' AS FLOAT64)", None),
        ("INT64", "BOOL", "7", "true"),
    ],
)  # fmt: skip
def test_a_converted_value_does_not_depend_on_the_session(
    judge: Judge, source: str, target: str, literal: str, text: str | None
) -> None:
    assert as_text(judge, source, target, literal) == text


@pytest.mark.parametrize(
    ("source", "target", "zone", "literal", "text"),
    [
        ("DATETIME", "TIMESTAMP", "Europe/Warsaw", "DATETIME '2020-01-01 00:00:00'", "2019-12-31 23:00:00+00"),
        ("DATE", "TIMESTAMP", "Europe/Warsaw", "DATE '2020-07-01'", "2020-06-30 22:00:00+00"),
        ("DATETIME", "TIMESTAMP", "Asia/Tokyo", "DATETIME '0001-01-01 00:00:00'", None),
        ("DATE", "TIMESTAMP", "Asia/Tokyo", "DATE '0001-01-01'", None),
        ("DATETIME", "TIMESTAMP", "America/New_York", "DATETIME '9999-12-31 23:59:59'", None),
        ("TIMESTAMP", "DATE", "America/New_York", "TIMESTAMP '0001-01-01 00:00:00+00'", None),
        ("TIMESTAMP", "DATETIME", "America/New_York", "TIMESTAMP '0001-01-01 00:00:00+00'", None),
        ("TIMESTAMP", "DATE", "Asia/Tokyo", "TIMESTAMP '9999-12-31 23:59:59+00'", None),
        ("TIMESTAMP", "DATETIME", "Asia/Tokyo", "TIMESTAMP '2020-01-01 00:00:00+00'", "2020-01-01 09:00:00"),
        ("TIMESTAMP", "STRING", "Asia/Tokyo", "TIMESTAMP '2020-01-01 00:00:00+00'", "2020-01-01 00:00:00+00"),
        ("STRING", "TIMESTAMP", "Asia/Tokyo", "'2020-01-01 09:00:00'", "2020-01-01 00:00:00+00"),
        ("STRING", "TIMESTAMP", "Asia/Tokyo", "'0001-01-01 00:00:00'", None),
        ("STRING", "TIMESTAMP", "Asia/Tokyo", "'0001-01-01 00:00:00+00'", "0001-01-01 00:00:00+00"),
    ],
)
def test_local_times_are_read_in_the_named_zone(
    judge: Judge, source: str, target: str, zone: str, literal: str, text: str | None
) -> None:
    assert as_text(judge, source, target, literal, zone) == text


def test_local_times_in_a_gap_may_become_equal_and_the_loss_is_reported(judge: Judge) -> None:
    gap = ["DATETIME '2021-03-14 02:30:00'", "DATETIME '2021-03-14 03:30:00'"]
    [first, second] = converted(judge, "DATETIME", "TIMESTAMP", gap, "America/New_York")
    assert first == second
    assert losses(parse_type("DATETIME"), parse_type("TIMESTAMP"), "America/New_York")


@pytest.mark.parametrize("zone", [UTC, "America/New_York", "Asia/Kolkata"])
@pytest.mark.parametrize(("source", "target"), [pair for pair in UPWARDS if pair[1] == "TIMESTAMP"])
def test_a_conversion_in_any_zone_gives_no_array_with_null(judge: Judge, source: str, target: str, zone: str) -> None:
    literals = [f"[{value}]" for value in EXTREMES[source]]
    found = converted(judge, f"ARRAY<{source}>", f"ARRAY<{target}>", literals, zone)
    assert all(None not in array for array in found)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("GEOGRAPHY", "STRING"), ("STRING", "GEOGRAPHY"), ("ARRAY<GEOGRAPHY>", "ARRAY<STRING>"),
        ("GEOGRAPHY", "ARRAY<STRING>"),
        ("GEOGRAPHY", "ARRAY<GEOGRAPHY>"), ("STRUCT<g GEOGRAPHY>", "STRUCT<g STRING>"), ("STRUCT<g GEOGRAPHY>", "JSON"),
        ("STRUCT<g GEOGRAPHY>", "STRING"),
    ],
)  # fmt: skip
def test_geography_is_accepted(judge: Judge, source: str, target: str) -> None:
    """By name and type only: the judge knows the signatures of GEOGRAPHY's functions, and cannot evaluate them."""
    expression = convert("v.x", parse_type(source), parse_type(target))
    assert judge.columns(f"SELECT {expression} AS y FROM t AS v", {"t": [("x", source)]}) == [("y", target)]


@pytest.mark.parametrize(
    ("literal", "expected"),
    [
        ("CAST(NULL AS STRUCT<a INT64, b ARRAY<INT64>>)", None),
        ("STRUCT(NULL AS a, [2, 1, 3] AS b)", (["2", "1", "3"], None, None)),
        ("STRUCT(7 AS a, CAST([] AS ARRAY<INT64>) AS b)", ([], None, "7")),
    ],
)
def test_a_struct_keeps_its_nulls_and_the_order_of_its_arrays(judge: Judge, literal: str, expected: object) -> None:
    source, target = "STRUCT<a INT64, b ARRAY<INT64>>", "STRUCT<B ARRAY<STRING>, more DATE, A STRING>"
    assert converted(judge, source, target, [literal]) == [expected]


def test_long_arrays_keep_their_order(judge: Judge) -> None:
    [found] = converted(judge, "ARRAY<INT64>", "ARRAY<STRING>", ["GENERATE_ARRAY(1000, 1, -1)"])
    assert found == [str(number) for number in range(1000, 0, -1)]


@pytest.mark.parametrize("field", ["e1", "o1", "E1", "e2", "o2", "v", "x", "select", "żółw", "a b"])
def test_a_field_may_be_named_like_a_part_of_the_expression(judge: Judge, field: str) -> None:
    inner = f"STRUCT<`{field}` INT64>"
    source = parse_type(f"ARRAY<STRUCT<`{field}` ARRAY<{inner}>, other INT64>>")
    target = parse_type(f"ARRAY<STRUCT<other STRING, `{field}` ARRAY<STRUCT<`{field}` STRING, more DATE>>>>")
    literal = f"CAST([([CAST(STRUCT(5) AS {inner})], 7)] AS {render_type(source)})"
    assert [y for _, _, y in judge.rows(query(source, target, [literal]))] == [[("7", [("5", None)])]]


def test_structs_of_other_spelling_are_converted_by_name(judge: Judge) -> None:
    source, target = parse_type("STRUCT<a INT64, b INT64>"), parse_type("STRUCT<B INT64, A INT64>")
    assert isinstance(source, Struct)
    assert converted(judge, str(source), str(target), ["STRUCT(1 AS a, 2 AS b)"]) == [(2, 1)]


ARRAYS = [
    ("ARRAY<INT64>", "ARRAY<STRING>"),
    ("ARRAY<STRUCT<a ARRAY<DATE>>>", "ARRAY<STRUCT<a ARRAY<TIMESTAMP>>>"),
    ("STRUCT<l ARRAY<STRUCT<a INT64>>>", "STRUCT<l ARRAY<STRUCT<a STRING>>>"),
    ("ARRAY<STRING>", "ARRAY<INT64>"),
    ("ARRAY<STRUCT<a INT64, l ARRAY<STRUCT<b DATE>>>>", "ARRAY<STRUCT<a INT64, l ARRAY<STRUCT<b DATE>>>>"),
    ("ARRAY<STRUCT<a INT64>>", "STRING"),
]


@pytest.mark.parametrize(("source", "target"), ARRAYS)
def test_every_array_of_an_expression_is_ordered(source: str, target: str) -> None:
    """The evaluator reads an array in its order anyway: that a text asks for the order, only the text shows."""
    text = convert("v.x", parse_type(source), parse_type(target), pinned=True)
    offsets = re.findall(r"WITH OFFSET AS (\w+)", text)
    assert offsets
    assert re.findall(r"ORDER BY (\w+)\)", text) == offsets
    assert text.count("UNNEST(") == len(offsets)


@pytest.mark.parametrize("kind", ["INT64", "STRUCT<a INT64, b STRUCT<c DATE>>", "ARRAY<STRUCT<a JSON>>", "ARRAY<DATE>"])
def test_a_pinned_expression_is_the_same_value(judge: Judge, kind: str) -> None:
    type_ = parse_type(kind)
    text = convert("v.x", type_, type_, pinned=True)
    assert (text == "v.x") == ("STRUCT" not in kind)
    assert judge.columns(f"SELECT {text} AS x FROM (SELECT CAST(NULL AS {kind}) AS x) AS v") == [("x", kind)]
