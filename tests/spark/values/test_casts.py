"""Conversions in Spark give the very bytes that Google's evaluator gives."""

from __future__ import annotations

import functools
import random
import struct
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import Column as Value
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812
from support.spark_values import Case, carried_frame, delivered
from support.strategies import ABOVE, EXTREMES, RANGES, above, types, values
from support.zetasql_judge import Judge

from onefold.core.errors import SchemaConflict
from onefold.schema.casts import convert as convert_sql
from onefold.schema.types import parse_type, render_type
from onefold.spark.io.staging import staged_type, unstage_sql
from onefold.spark.values.casts import can_convert, convert
from onefold.spark.values.types import spark_type, text_type

pytestmark = pytest.mark.heavy

UPWARDS = [(source, target) for source, chain in ABOVE.items() for target in chain]
UPWARDS += [(str(range_), target) for range_ in RANGES for target in (str(range_), "STRING")]
SCALARS = [*ABOVE, *map(str, RANGES)]

_EVERY_CONTROL = "CODE_POINTS_TO_STRING(GENERATE_ARRAY(0, 0x2100))"
MORE = {
    "STRING": (_EVERY_CONTROL, "'a/<>&\\u2028\\u2029\\\"\\\\\\\\n'", "'\\\\u000b \\u000b'", "'$1 \\\\'"),
    "BYTES": (
        "b'\\xc0\\x80'", "b'\\xed\\xa0\\x80'", "b'\\xf4\\x90\\x80\\x80'", "b'\\xf0\\x9f\\x90\\xa2'", "b'\\xef\\xbf\\xbf'",
        "REPEAT(b'\\xff', 100)", "b'a\\x00b'",
    ),
    "INT64": ("-9007199254740992", "-9007199254740993"),
    "NUMERIC": (
        "NUMERIC '100000000000000000000'", "NUMERIC '9223372036854775808'", "NUMERIC '123456789.123456789'",
        "NUMERIC '9007199254740992.5'", "NUMERIC '-0.000000001'", "NUMERIC '1e18'", "NUMERIC '-12345678901234567890'",
    ),
    "BIGNUMERIC": (
        "BIGNUMERIC '1e38'", "BIGNUMERIC '-1e-38'", "BIGNUMERIC '9223372036854775808'", "BIGNUMERIC '-0.5'",
        "BIGNUMERIC '18446744073709550000'", "BIGNUMERIC '18446744073709600000'", "BIGNUMERIC '-9223372036854780000'",
    ),
    "FLOAT64": ("0.1 + 0.7", "1e20", "1e-5", "-1e-7", "POW(2, -44)", "123456789012345.125"),
    "TIMESTAMP": ("TIMESTAMP '1582-10-10 00:00:00.1+00'", "TIMESTAMP '0001-01-01 00:00:00.000001+00'"),
    "DATETIME": ("DATETIME '0004-02-29 23:59:59.5'", "DATETIME '1900-01-01 00:00:00.12'"),
    "DATE": ("DATE '1582-10-10'", "DATE '0004-02-29'"),
    "INTERVAL": ("INTERVAL '-1-2 3 -4:5:6.5' YEAR TO SECOND", "INTERVAL '-0-11 -5 87840000:0:0' YEAR TO SECOND"),
}  # fmt: skip


NESTED = [
    ("ARRAY<STRUCT<f FLOAT64>>", "ARRAY<STRUCT<f STRING, g DATE>>", ("[]", "[STRUCT(0.5 AS f), NULL, STRUCT(NULL)]")),
    ("ARRAY<STRUCT<f FLOAT64, n INT64>>", "ARRAY<STRUCT<N STRING, F STRING>>", ("[STRUCT(1e20 AS f, 7 AS n)]",)),
    ("STRUCT<f FLOAT64>", "ARRAY<STRUCT<f STRING>>", ("STRUCT(0.1 AS f)",)),
    ("STRUCT<f FLOAT64>", "STRUCT<f ARRAY<STRING>>", ("STRUCT(0.1 AS f)", "STRUCT(NULL)")),
    ("ARRAY<STRUCT<f ARRAY<FLOAT64>>>", "ARRAY<STRUCT<f ARRAY<STRING>>>", ("[STRUCT([0.1, 1e20] AS f), NULL]",)),
    ("ARRAY<STRUCT<s STRUCT<f FLOAT64, t TIMESTAMP>, t DATE>>", "ARRAY<STRUCT<s JSON, t TIMESTAMP>>",
     ("[STRUCT(STRUCT(0.1 AS f, TIMESTAMP '0001-01-01 00:00:00+00' AS t) AS s, DATE '0001-01-01' AS t), NULL]",)),
    ("ARRAY<STRUCT<a STRUCT<b ARRAY<STRUCT<f FLOAT64>>>>>", "ARRAY<STRUCT<a STRUCT<b ARRAY<STRUCT<f STRING>>>>>",
     ("[STRUCT(STRUCT([STRUCT(CAST('nan' AS FLOAT64) AS f), STRUCT(-0.0)] AS b) AS a), STRUCT(NULL), NULL]",)),
]  # fmt: skip


def literals(type_: str) -> tuple[str, ...]:
    return (*EXTREMES[type_], *MORE.get(type_, ()))


@functools.cache
def cases() -> dict[tuple[str, str], Case]:
    """Every edge of the tree, for a value alone, in an array, as an array, in a struct, and next to a FLOAT64."""
    found: list[tuple[str, str, Sequence[str]]] = []
    for source, target in UPWARDS:
        found.append((source, target, literals(source)))
        found.append((source, f"ARRAY<{target}>", literals(source)))
        found.append((f"ARRAY<{source}>", f"ARRAY<{target}>", ("[]", f"[{', '.join(literals(source))}]")))
    for source in SCALARS:
        structs = [f"STRUCT({value} AS f)" for value in (f"CAST(NULL AS {source})", *literals(source))]
        targets = ("JSON", "STRING", "STRUCT<z STRING, F STRING>")
        found += [(f"STRUCT<f {source}>", target, structs) for target in targets]
        found.append((f"ARRAY<STRUCT<f {source}>>", "ARRAY<STRING>", [f"[{', '.join(structs)}]"]))
        array = f"STRUCT<f ARRAY<{source}>>"
        found.append(
            (array, "JSON", [f"STRUCT([{', '.join(literals(source))}] AS f)", f"STRUCT(CAST([] AS ARRAY<{source}>) AS f)"])
        )
        # A FLOAT64 that becomes text takes the fields next to it through Python.
        inner = f"STRUCT<f FLOAT64, x {source}>"
        values_ = [f"STRUCT(0.1 AS f, {value} AS x)" for value in (f"CAST(NULL AS {source})", *literals(source))]
        deep = [f"STRUCT([{', '.join(values_)}, NULL] AS l, {values_[-1]} AS s)", f"STRUCT([{values_[0]}], NULL)", "NULL"]
        to = f"STRUCT<l ARRAY<STRUCT<f STRING, x STRING>>, s STRUCT<f STRING, x {source}>>"
        found.append((f"ARRAY<STRUCT<l ARRAY<{inner}>, s {inner}>>", f"ARRAY<{to}>", [f"[{', '.join(deep)}]"]))
    found += NESTED
    return {
        (source, target): Case(parse_type(source), parse_type(target), ("NULL", *values_))
        for source, target, values_ in found
    }


def problems_of(spark: SparkSession, judge: Judge, some: Sequence[Case]) -> list[list[str]]:
    """For each case what Spark makes otherwise than the evaluator, all cases in one job."""
    judged = [case.judged(judge) for case in some]
    sides = [[row[side] for row in rows] for rows in judged for side in (0, 1)]
    frame = carried_frame(spark, [type_ for case in some for type_ in (case.source, case.target)], sides)
    rows = frame.select(*(_problem(case, 2 * number).alias(str(number)) for number, case in enumerate(some))).collect()
    return [
        [f"{literal}: {row[number]}" for literal, row in zip(case.literals, rows, strict=False) if row[number] is not None]
        for number, case in enumerate(some)
    ]


def _problem(case: Case, place: int) -> Value:
    landed, expected = delivered(F.col(f"`{place}`"), case.source), delivered(F.col(f"`{place + 1}`"), case.target)
    found = convert(landed, case.source, case.target)
    texts = (F.coalesce(value.cast("string"), F.lit("NULL")) for value in (found, expected))
    return F.when(~found.eqNullSafe(expected), F.concat_ws(" is not ", *texts))


@pytest.fixture(scope="session")
def problems(spark: SparkSession, judge: Judge) -> dict[tuple[str, str], list[str]]:
    return dict(zip(cases(), problems_of(spark, judge, list(cases().values())), strict=True))


@pytest.mark.parametrize(("source", "target"), cases())
def test_a_converted_value_is_the_evaluators(problems: dict[tuple[str, str], list[str]], source: str, target: str) -> None:
    assert can_convert(parse_type(source), parse_type(target))
    assert problems[source, target] == []


def test_the_comparison_sees_a_difference(spark: SparkSession, judge: Judge) -> None:
    class Other(Case):
        def judged(self, judge: Judge) -> list[tuple[Any, ...]]:
            return [(landed, f"{text} ") for landed, text in super().judged(judge)]

    some = Other(parse_type("FLOAT64"), parse_type("STRING"), ("0.5", "1e20"))
    assert problems_of(spark, judge, [some]) == [["0.5: 0.5 is not 0.5 ", "1e20: 1e+20 is not 1e+20 "]]


@pytest.mark.long
@settings(deadline=None, max_examples=2, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(st.data())
def test_generated_values_of_generated_types_too(spark: SparkSession, judge: Judge, data: st.DataObject) -> None:
    some = []
    for _ in range(12):
        source = data.draw(types())
        target = data.draw(above(source))
        some.append(Case(source, target, tuple(data.draw(st.lists(values(source), min_size=1, max_size=8)))))
    assert problems_of(spark, judge, some) == [[]] * len(some)


def numbers(dice: random.Random) -> list[float]:
    """Doubles of every kind: any bits (subnormal ones too), prices, fractions and powers of two, few digits of any size."""
    some = [struct.unpack("d", dice.randbytes(8))[0] for _ in range(800)]
    some += [struct.unpack("d", dice.randbytes(6) + bytes(2))[0] for _ in range(200)]
    some += [round(dice.uniform(-1e6, 1e6), dice.randint(0, 9)) for _ in range(500)]
    some += [dice.getrandbits(60) / 2 ** dice.randint(0, 60) for _ in range(500)]
    some += [2.0 ** dice.randint(-1074, 1023) for _ in range(500)]
    some += [float(f"{dice.randint(1, 10 ** dice.randint(1, 17))}e{dice.randint(-320, 290)}") for _ in range(800)]
    return some


def decimals(dice: random.Random, whole: int, fraction: int) -> list[str]:
    """Decimals of any length, many of which a FLOAT64 can hold."""
    digits = (str(dice.randrange(10 ** dice.randint(1, whole + fraction - 1))).rjust(fraction + 1, "0") for _ in range(400))
    exact = [f"{text[:-fraction]}.{text[-fraction:]}" for text in digits]
    short = [f"{dice.randrange(10 ** dice.randint(1, 17))}e{dice.randint(-fraction, whole - 17)}" for _ in range(400)]
    return [dice.choice(("", "-")) + text for text in exact + short]


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_floats_have_the_evaluators_digits_as_text_and_within_json(spark: SparkSession, judge: Judge, seed: int) -> None:
    written = tuple(f"CAST('{number!r}' AS FLOAT64)" for number in numbers(random.Random(seed)))
    within = tuple(f"STRUCT({text} AS f)" for text in written)
    alone = Case(parse_type("FLOAT64"), parse_type("STRING"), written)
    some = [alone, Case(parse_type("STRUCT<f FLOAT64>"), parse_type("JSON"), within)]
    assert problems_of(spark, judge, some) == [[], []]


def test_decimals_are_numbers_within_json_where_they_are_to_the_evaluator(spark: SparkSession, judge: Judge) -> None:
    dice = random.Random(3)
    some = [
        Case(parse_type(f"STRUCT<f {kind}>"), parse_type("JSON"), tuple(f"STRUCT({kind} '{text}' AS f)" for text in texts))
        for kind, texts in (("NUMERIC", decimals(dice, 29, 9)), ("BIGNUMERIC", decimals(dice, 38, 38)))
    ]
    assert problems_of(spark, judge, some) == [[], []]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("STRING", "INT64"),
        ("INT64", "FLOAT64"),
        ("FLOAT64", "JSON"),
        ("ARRAY<STRING>", "ARRAY<DATE>"),
        ("STRUCT<a TIMESTAMP>", "STRUCT<a DATE>"),
        ("STRUCT<g GEOGRAPHY>", "JSON"),
        ("ARRAY<STRUCT<g ARRAY<GEOGRAPHY>>>", "ARRAY<STRING>"),
    ],
)
def test_a_conversion_that_only_bigquery_makes_is_refused(source: str, target: str) -> None:
    assert not can_convert(parse_type(source), parse_type(target))
    with pytest.raises(SchemaConflict, match="only BigQuery"):
        convert(F.lit(None), parse_type(source), parse_type(target))


@pytest.mark.parametrize(
    ("source", "target"), [("ARRAY<INT64>", "STRING"), ("ARRAY<STRUCT<a DATE>>", "JSON"), ("ARRAY<JSON>", "STRING")]
)
def test_an_array_becomes_json_where_the_settings_ask_for_text(
    spark: SparkSession, judge: Judge, source: str, target: str
) -> None:
    value = {"INT64": "1", "STRUCT<a DATE>": "STRUCT(DATE '2020-01-01' AS a)", "JSON": "JSON 'null'"}[source[6:-1]]
    some = Case(parse_type(source), parse_type(target), ("NULL", "[]", f"[{value}, {value}]"))
    assert problems_of(spark, judge, [some]) == [[]]


STAGED = ["JSON", "TIME", "INTERVAL", "BIGNUMERIC", "DATETIME", *map(str, RANGES)]


@pytest.mark.parametrize("name", STAGED)
def test_bigquery_converts_back_values_whose_spark_form_is_text(judge: Judge, name: str) -> None:
    values_ = ["NULL", *literals(name)]
    rows = unstaged(judge, name, values_)
    rows += unstaged(judge, f"ARRAY<{name}>", ["[]", f"[{', '.join(values_[1:])}]"])
    element = f"STRUCT<e1 {name}, o1 INT64, `a b` ARRAY<{name}>>"
    structs = [f"STRUCT({value} AS e1, 7 AS o1, [{values_[1]}, {value}] AS `a b`)" for value in values_[1:]]
    rows += unstaged(judge, element, ["NULL", *structs])
    rows += unstaged(judge, f"ARRAY<{element}>", [f"[{', '.join(structs)}]"])
    assert all(landed == returned for landed, returned in rows)


def unstaged(judge: Judge, name: str, values_: Sequence[str]) -> list[tuple[Any, ...]]:
    type_ = parse_type(name)
    cells = " UNION ALL ".join(
        f"SELECT {n} AS n, CAST({value} AS {render_type(type_)}) AS x" for n, value in enumerate(values_)
    )
    staged = f"(SELECT n, x, {convert_sql('v.x', type_, staged_type(type_))} AS s FROM ({cells}) AS v)"
    query = f"SELECT n, x, {unstage_sql('w.s', type_)} AS y FROM {staged} AS w ORDER BY n"
    assert [parse_type(kind) for _, kind in judge.columns(query)][1:] == [type_, type_]
    return [row[1:] for row in judge.rows(query)]


@pytest.mark.parametrize("name", ["GEOGRAPHY", "ARRAY<GEOGRAPHY>", "STRUCT<a INT64, g GEOGRAPHY>"])
def test_a_staged_geography_is_accepted(judge: Judge, name: str) -> None:
    """By type only: the judge knows the signatures of GEOGRAPHY's functions, and cannot evaluate them."""
    type_ = parse_type(name)
    query = f"SELECT {unstage_sql('t.x', type_)} AS y FROM t"
    assert judge.columns(query, {"t": [("x", str(staged_type(type_)))]}) == [("y", name)]


@pytest.mark.parametrize(
    ("name", "staged"),
    [
        ("STRUCT<a INT64, b ARRAY<JSON>>", "STRUCT<a INT64, b ARRAY<STRING>>"),
        ("ARRAY<STRUCT<r RANGE<DATE>, n NUMERIC>>", "ARRAY<STRUCT<r STRING, n NUMERIC>>"),
        ("BIGNUMERIC", "STRING"),
        ("ARRAY<BYTES>", "ARRAY<BYTES>"),
    ],
)
def test_bigquery_delivers_types_as_text_that_spark_lacks(name: str, staged: str) -> None:
    assert str(text_type(parse_type(name))) == staged
    assert spark_type(parse_type(name)) == spark_type(parse_type(staged))
