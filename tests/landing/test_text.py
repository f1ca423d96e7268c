"""A value has one hash wherever it is hashed: capture's is that of the clean view's SQL, by Google's own evaluator."""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from support.seeding import examples
from support.source_types import MYSQL_SAMPLES, SAMPLES
from support.zetasql_judge import Judge

from onefold.core.hash_key import HashKey
from onefold.core.names import quote_text
from onefold.landing.text import hashed_bytes
from onefold.schema.types import Scalar
from onefold.views.clean import hash_expression

KEY = HashKey(bytes(range(1, 33)))
LITERALS: dict[str, Callable[[Any], str]] = {
    "STRING": quote_text,
    "BYTES": lambda text: f"FROM_BASE64('{text}')",
    "INT64": lambda number: f"CAST('{number}' AS INT64)",
    "FLOAT64": lambda number: f"CAST('{number!r}' AS FLOAT64)",
    **{
        name: lambda text, name=name: f"CAST('{text}' AS {name})"  # type: ignore[misc]
        for name in ("NUMERIC", "BIGNUMERIC", "DATE", "DATETIME", "TIMESTAMP", "INTERVAL")
    },
}
"""SQL for a landed value, as BigQuery reads it from JSON."""


def hashes_of_sql(judge: Judge, values: list[tuple[str, Any]]) -> list[str]:
    """The hashes in the clean view's SQL of landed values with their types."""
    inner, outer = KEY.pads
    hashed = ", ".join(
        f"{hash_expression(f'({LITERALS[name](value)})', Scalar(name), 'k')} AS h{number}"
        for number, (name, value) in enumerate(values)
    )
    (row,) = judge.rows(f"SELECT {hashed} FROM (SELECT '{inner}' AS ipad, '{outer}' AS opad) AS k")
    return list(row)


def hash_of(name: str, value: Any) -> str:
    data = hashed_bytes(Scalar(name))
    assert data
    return KEY.hash(data(value))


def check(judge: Judge, values: list[tuple[str, Any]]) -> None:
    for found, value in zip(hashes_of_sql(judge, values), values, strict=True):
        assert (found, value) == (hash_of(*value), value)


def test_values_of_every_source_type_have_the_hash_of_the_clean_view(judge: Judge) -> None:
    samples = [one for one in (*SAMPLES, *MYSQL_SAMPLES) if one.bigquery != "JSON"]
    values = [(one.bigquery, landed) for one in samples for _, landed in one.values if landed is not None]
    assert {name for name, _ in values} == set(LITERALS)
    short = [(name, value) for name, value in dict.fromkeys(values) if len(str(value)) < 1_000]
    check(judge, short)


def test_json_has_no_text_of_its_own() -> None:
    assert hashed_bytes(Scalar("JSON")) is None


def clock(draw: st.DrawFn, digits: int) -> str:
    """MySQL's TIME, between -838:59:59 and 838:59:59."""
    hours, minutes, seconds = (draw(st.integers(0, most)) for most in (838, 59, 59))
    fraction = f".{draw(st.integers(0, 10**digits - 1)):0{digits}}" if digits else ""
    return f"0-0 0 {draw(st.sampled_from(['', '-']))}{hours:02}:{minutes:02}:{seconds:02}{fraction}"


def decimal(draw: st.DrawFn, whole: int, scale: int) -> str:
    number = Decimal(draw(st.integers(-(10 ** (whole + scale)) + 1, 10 ** (whole + scale) - 1))).scaleb(-scale)
    return f"{number:f}"


def local_time(draw: st.DrawFn, digits: int) -> str:
    text = draw(st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31))).isoformat(" ", "microseconds")
    return text[: 19 + digits + bool(digits)]


@st.composite
def landed_values(draw: st.DrawFn) -> tuple[str, Any]:
    name, digits = draw(st.sampled_from(sorted(LITERALS))), draw(st.integers(0, 6))
    match name:
        case "STRING":
            return name, draw(st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
        case "BYTES":
            return name, base64.b64encode(draw(st.binary(max_size=20))).decode()
        case "INT64":
            return name, draw(st.integers(-(2**63), 2**63 - 1))
        case "FLOAT64":
            return name, draw(st.floats(allow_nan=False, allow_infinity=False))
        case "NUMERIC":
            return name, decimal(draw, draw(st.integers(1, 29)), draw(st.integers(0, 9)))
        case "BIGNUMERIC":
            return name, decimal(draw, draw(st.integers(1, 38)), draw(st.integers(0, 38)))
        case "DATE":
            return name, draw(st.dates(date(1, 1, 1))).isoformat()
        case "DATETIME":
            return name, local_time(draw, digits)
        case "TIMESTAMP":
            return name, f"{local_time(draw, digits)}+00:00"
    return name, clock(draw, digits)


@settings(max_examples=examples(40))
@given(st.lists(landed_values(), min_size=1, max_size=20))
def test_random_values_have_the_hash_of_the_clean_view(judge: Judge, values: list[tuple[str, Any]]) -> None:
    check(judge, values)


def test_equal_numbers_of_several_types_have_one_hash() -> None:
    assert len({hash_of(name, value) for name, value in (("INT64", 12), ("NUMERIC", "12.00"), ("STRING", "12"))}) == 1
