"""The embedded BigQuery gives the values that Google's evaluator gives for the same SQL over the same rows."""

from __future__ import annotations

from decimal import Decimal

import pytest
from google.api_core.exceptions import BadRequest
from support.bigquery_emulator import EmulatedDataset
from support.emulated_values import VALUES, BothEngines
from support.zetasql_judge import Judge

from onefold.changelog.digest import digest_sql, text_sql
from onefold.schema.casts import conversion_problems, convert
from onefold.schema.columns import Column
from onefold.schema.types import STRING, Scalar, Type, parse_type

SCALARS = (
    "BOOL", "INT64", "NUMERIC", "BIGNUMERIC", "FLOAT64", "DATE", "DATETIME", "TIMESTAMP", "TIME", "BYTES", "JSON", "STRING",
)  # fmt: skip


@pytest.fixture
def engines(judge: Judge, dataset: EmulatedDataset) -> BothEngines:
    return BothEngines(judge, dataset)


@pytest.mark.parametrize("type_", VALUES)
def test_a_value_has_the_text_of_the_evaluator(engines: BothEngines, type_: str) -> None:
    expression = convert("t.v", parse_type(type_), STRING)
    assert engines.emulated(type_, expression) == engines.judged(type_, expression)


@pytest.mark.parametrize("type_", VALUES)
def test_a_row_has_the_digest_of_the_evaluator(engines: BothEngines, type_: str) -> None:
    expression = digest_sql("t", [Column("v", parse_type(type_)), Column("n", Scalar("INT64"))])
    assert engines.emulated(type_, expression) == engines.judged(type_, expression)


@pytest.mark.parametrize("type_", SCALARS)
def test_a_value_converted_to_any_other_type_equals_that_of_the_evaluator(engines: BothEngines, type_: str) -> None:
    source = parse_type(type_)
    targets = [Scalar(name) for name in SCALARS if name != type_ and not conversion_problems(source, Scalar(name))]
    differing = {}
    for target in targets:
        expression = _as_text(convert("t.v", source, target), target)
        emulated, judged = engines.emulated(type_, expression), engines.judged(type_, expression)
        values = zip(engines.values(type_), emulated, judged, strict=True)
        if wrong := [(value, *one, *other) for (value, _), one, other in values if one != other]:
            differing[str(target)] = wrong
    assert differing == {}


def _as_text(expression: str, target: Type) -> str:
    return text_sql(f"({expression})", target)


@pytest.mark.parametrize(
    "expression",
    [
        "TO_JSON_STRING(TO_JSON(t.v))",
        "TO_JSON_STRING(t.v)",
    ],
)
@pytest.mark.parametrize("type_", VALUES)
def test_json_without_the_options_of_the_library_equals_that_of_the_evaluator(
    engines: BothEngines, type_: str, expression: str
) -> None:
    """The JSON functions without the options that Onefold writes."""
    assert engines.emulated(type_, expression) == engines.judged(type_, expression)


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kolkata"])
def test_a_timestamp_has_the_text_of_the_evaluator_in_any_zone(engines: BothEngines, zone: str) -> None:
    # The first two are the first and the last time of all, of which other zones have no local time.
    expression = f"IF(t.n < 2, NULL, STRING(t.v, '{zone}'))"
    assert engines.emulated("TIMESTAMP", expression) == engines.judged("TIMESTAMP", expression)


@pytest.mark.parametrize(
    ("value", "type_", "message"),
    [
        ("'x'", "BIGNUMERIC", "expected a BIGNUMERIC, got 'x'"),
        ("'1e39'", "BIGNUMERIC", "out of its range"),
        ("CAST('inf' AS FLOAT64)", "BIGNUMERIC", "expected a finite number"),
        ("FROM_BASE64('/w==')", "STRING", "utf-8"),
        ("'0'", "BOOL", "expected a BOOL, got '0'"),
    ],
)
def test_a_value_that_does_not_fit_is_an_error_or_null(
    dataset: EmulatedDataset, value: str, type_: str, message: str
) -> None:
    table = f"(SELECT {value} AS x)"
    with pytest.raises(BadRequest, match=message):
        dataset.run(f"SELECT CAST(x AS {type_}) FROM {table}")
    assert dataset.run(f"SELECT SAFE_CAST(x AS {type_}) FROM {table}") == [(None,)]


@pytest.mark.parametrize("expression", ["x + 1", "x > 1", "SUM(x)", "x = NUMERIC '1'", "COALESCE(x, 1)"])
def test_arithmetic_with_a_bignumeric_is_an_error_instead_of_a_wrong_value(
    dataset: EmulatedDataset, expression: str
) -> None:
    with pytest.raises(BadRequest, match="BIGNUMERIC"):
        dataset.run(f"SELECT {expression} FROM (SELECT BIGNUMERIC '1' AS x)")


def test_bignumerics_have_the_order_of_the_numbers(dataset: EmulatedDataset) -> None:
    numbers = ["-2", "-1.5", "0", "1e-38", "2", "10"]
    rows = " UNION ALL ".join(f"SELECT BIGNUMERIC '{number}' AS x" for number in reversed(numbers))
    assert [row[0] for row in dataset.run(f"SELECT x FROM ({rows}) ORDER BY x")] == [Decimal(number) for number in numbers]
    assert dataset.run(f"SELECT MIN(x), MAX(x), COUNT(DISTINCT x) FROM ({rows})") == [(Decimal(-2), Decimal(10), 6)]
    assert dataset.run(f"SELECT x FROM ({rows}) WHERE x = CAST('1e1' AS BIGNUMERIC)") == [(Decimal(10),)]


def test_an_interval_reaches_the_client_with_its_signs(engines: BothEngines) -> None:
    found = engines.emulated("INTERVAL", "t.v")[2][0]
    assert (found.years, found.months, found.days, found.hours, found.minutes, found.seconds) == (-1, -2, -3, -4, -5, -6)


@pytest.mark.parametrize("type_", ["INT64", "BIGNUMERIC"])
def test_a_field_with_the_name_of_an_offset_keeps_its_value(judge: Judge, dataset: EmulatedDataset, type_: str) -> None:
    values = ", ".join(f"STRUCT(CAST({number} AS {type_}) AS o)" for number in (5, 7))
    array = "ARRAY(SELECT STRUCT(e.o AS field, o AS place) FROM UNNEST(t.v) AS e WITH OFFSET AS o ORDER BY o DESC)"
    text = text_sql(array, parse_type(f"ARRAY<STRUCT<field {type_}, place INT64>>"))
    sql = f"SELECT {text} FROM (SELECT [{values}] AS v) AS t"
    assert dataset.run(sql) == judge.rows(sql)
