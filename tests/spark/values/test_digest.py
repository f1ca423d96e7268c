"""The text of each value in a digest is the evaluator's, whichever of Spark and Python writes it."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from spark.values.test_casts import decimals, literals, numbers
from support.spark_values import carried_frame, carried_sql, delivered
from support.strategies import ABOVE, RANGES, types, values
from support.sweeps import sweep
from support.zetasql_judge import Judge

from onefold.changelog.digest import text_sql
from onefold.core.errors import SchemaConflict
from onefold.schema.columns import Column
from onefold.schema.types import STRING, Type, parse_type, render_type
from onefold.spark.columns import named
from onefold.spark.values.digest import digest, text
from onefold.spark.values.python_text import written_type

SCALARS = [*ABOVE, *map(str, RANGES)]
NAMES = ("z", "żółw", "Y")
"""Sorted by their bytes within JSON."""


def judged(judge: Judge, type_: Type, literals_: Sequence[str]) -> list[tuple[object, ...]]:
    """Each value as it is delivered to Spark, and its text in a digest."""
    rows = ", ".join(f"({number}, CAST({literal} AS {render_type(type_)}))" for number, literal in enumerate(literals_))
    landed = f"UNNEST(ARRAY<STRUCT<n INT64, x {render_type(type_)}>>[{rows}]) AS w"
    query = f"SELECT w.n, {carried_sql('w.x', type_)}, {text_sql('w.x', type_)} FROM {landed} ORDER BY 1"
    return [row[1:] for row in judge.rows(query)]


def differences(spark: SparkSession, judge: Judge, cases: Mapping[Type, Sequence[str]]) -> list[str]:
    """What Spark writes otherwise than the evaluator, all types in one job."""
    expected = [judged(judge, type_, literals_) for type_, literals_ in cases.items()]
    frame = carried_frame(spark, list(cases), [[row[0] for row in rows] for rows in expected])
    landed = frame.select(*(delivered(named(str(place)), type_).alias(str(place)) for place, type_ in enumerate(cases)))
    found = landed.select(*(text(named(str(place)), type_).alias(str(place)) for place, type_ in enumerate(cases))).collect()
    return [
        f"{type_} {literal}: {found[number][place]} is not {row[1]}"
        for place, (type_, literals_) in enumerate(cases.items())
        for number, (literal, row) in enumerate(zip(literals_, expected[place], strict=True))
        if found[number][place] != row[1]
    ]


@pytest.mark.parametrize("name", SCALARS)
def test_every_type_alone_in_arrays_and_in_structs(spark: SparkSession, judge: Judge, name: str) -> None:
    some = literals(name)
    fields = ", ".join(f"`{field}` {name}" for field in NAMES)
    structs = [f"STRUCT({value}, {value}, {value})" for value in (f"CAST(NULL AS {name})", *some)]
    nested = [f"STRUCT({value} AS s, [{value}] AS l)" for value in structs]
    empty = f"STRUCT(CAST([] AS ARRAY<{name}>))"
    cases: dict[Type, Sequence[str]] = {
        parse_type(name): ("NULL", *some),
        parse_type(f"ARRAY<{name}>"): ("[]", f"[{', '.join(some)}]", *(f"[{value}]" for value in some)),
        parse_type(f"STRUCT<{fields}>"): ("NULL", *structs),
        parse_type(f"ARRAY<STRUCT<f ARRAY<{name}>>>"): ("[]", f"[STRUCT([{', '.join(some)}]), {empty}, NULL]"),
        parse_type(f"STRUCT<s STRUCT<{fields}>, l ARRAY<STRUCT<{fields}>>>"): nested,
    }
    assert differences(spark, judge, cases) == []


@pytest.mark.parametrize("seed", sweep([1, 2]))
def test_floats_of_every_kind(spark: SparkSession, judge: Judge, seed: int) -> None:
    written = [f"CAST('{number!r}' AS FLOAT64)" for number in numbers(random.Random(seed))]
    cases: dict[Type, Sequence[str]] = {
        parse_type("FLOAT64"): written,
        parse_type("STRUCT<f FLOAT64>"): [f"STRUCT({value})" for value in written],
    }
    assert differences(spark, judge, cases) == []


@pytest.mark.parametrize(("kind", "whole", "fraction"), [("NUMERIC", 29, 9), ("BIGNUMERIC", 38, 38)])
def test_decimals_of_every_kind_within_structs(
    spark: SparkSession, judge: Judge, kind: str, whole: int, fraction: int
) -> None:
    texts = decimals(random.Random(3), whole, fraction)
    cases: dict[Type, Sequence[str]] = {parse_type(f"STRUCT<f {kind}>"): [f"STRUCT({kind} '{one}')" for one in texts]}
    assert differences(spark, judge, cases) == []


@pytest.mark.long
@settings(derandomize=True, deadline=None, max_examples=2, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(st.data())
def test_generated_values_of_generated_types(spark: SparkSession, judge: Judge, data: st.DataObject) -> None:
    cases: dict[Type, Sequence[str]] = {}
    for _ in range(12):
        type_ = data.draw(types())
        cases[type_] = data.draw(st.lists(values(type_), min_size=1, max_size=8))
    assert differences(spark, judge, cases) == []


def test_a_digest_calls_no_function_of_java_by_name(spark: SparkSession) -> None:
    """A function that is called by its name throws at the first NULL, and Spark does not compile it."""
    columns = [Column("f", parse_type("FLOAT64")), Column("s", parse_type("STRUCT<f FLOAT64, n NUMERIC>"))]
    frame = spark.sql("SELECT 0.1D AS f, struct(0.1D AS f, CAST(1 AS DECIMAL(38, 9)) AS n) AS s")
    plan = explained(frame.select(digest(columns)))
    assert "reflect" not in plan
    assert "BatchEvalPython" in plan


def test_types_without_floats_are_written_without_python(spark: SparkSession) -> None:
    assert [name for name in SCALARS if written_type(parse_type(name), STRING) != parse_type(name)] == ["FLOAT64"]
    columns = [Column("n", parse_type("NUMERIC")), Column("t", parse_type("ARRAY<TIMESTAMP>"))]
    frame = spark.sql("SELECT CAST(1 AS DECIMAL(38, 9)) AS n, array(TIMESTAMP'2020-01-01') AS t")
    assert "Python" not in explained(frame.select(digest(columns)))


@pytest.mark.usefixtures("spark")
def test_a_struct_that_only_bigquery_writes_is_refused() -> None:
    for name in ("STRUCT<g GEOGRAPHY>", "ARRAY<STRUCT<g GEOGRAPHY>>"):
        with pytest.raises(SchemaConflict, match="only BigQuery"):
            text(F.lit(None), parse_type(name))


def explained(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().toString())
