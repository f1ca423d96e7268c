"""The columns of a workload, one of every type of BigQuery, and their values: ordinary ones, extremes and NULL.

A value has the form in which BigQuery takes it in a line of JSON: BYTES in base64, NUMERIC and BIGNUMERIC as text of all
their digits, a RANGE as an object of its start and its end, NaN and the infinities as text. Source: "Load JSON data from
Cloud Storage" and "tabledata.insertAll", cloud.google.com/bigquery/docs, 2025-10-01.
"""

from __future__ import annotations

import base64
import random
from collections.abc import Callable, Mapping
from typing import Any

from onefold.schema.types import Array, Range, Struct, Type, parse_type

_SHARE_OF_NULLS = 0.1
_SHARE_OF_EXTREMES = 0.5
_MOST_ELEMENTS = 3


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


EXTREMES: Mapping[str, tuple[Any, ...]] = {
    "STRING": (
        "", " ", "null", "0", "'\"`\\", "line\nbreak\ttab", "Zażółć gęślą jaźń", "e\u0301", "é", "日本語", "👩‍👩‍👧‍👦🐢",
        "\U0010ffff", "\u2028\ufeff", '{"a": 1}', "1:2", "ż" * 500,
    ),
    "BYTES": tuple(map(_base64, (b"", b"abc", b"\x00", b"\xff\xfe", "żółw🐢".encode(), b"\xc3", b"\\x41"))),
    "BOOL": (True, False),
    "INT64": (0, 1, -1, 2**63 - 1, -(2**63), 2**53, 2**53 + 1),
    "FLOAT64": (
        0.0, -0.0, 1.0, 0.1, 0.1 + 0.2, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, -1.7976931348623157e308,
        1e15, 1e16, 1e21, 1e-7, 9007199254740994.0, "NaN", "Infinity", "-Infinity",
    ),
    "NUMERIC": (
        "0", "1", "-1.5", "0.000000001", "9007199254740993", "99999999999999999999999999999.999999999",
        "-99999999999999999999999999999.999999999",
    ),
    "BIGNUMERIC": (
        "0", "1", "-1.5", "0.00000000000000000000000000000000000001", "9007199254740993",
        "578960446186580977117854925043439539266.34992332820282019728792003956564819967",
        "-578960446186580977117854925043439539266.34992332820282019728792003956564819968",
    ),
    "DATE": ("0001-01-01", "1582-10-10", "1969-12-31", "1970-01-01", "2020-02-29", "9999-12-31"),
    "TIME": ("00:00:00", "12:00:00.500", "12:00:00.500001", "23:59:59.999999"),
    "DATETIME": (
        "0001-01-01 00:00:00", "1582-10-10 00:00:00.000001", "1969-12-31 23:59:59.999999", "2020-02-29 12:00:00.100",
        "2020-03-08 02:30:00", "9999-12-31 23:59:59.999999",
    ),
    "TIMESTAMP": (
        "0001-01-01 00:00:00+00", "1582-10-10 00:00:00.100+00", "1969-12-31 23:59:59.999999+00",
        "2020-11-01 08:30:00+00", "9999-12-31 23:59:59.999999+00",
    ),
    "INTERVAL": (
        "0-0 0 0:0:0", "10000-0 0 0:0:0", "-10000-0 0 0:0:0", "0-1 0 0:0:0", "0-0 30 0:0:0", "1-2 3 4:5:6.000007",
        "0-0 0 0:0:0.000001",
    ),
    "JSON": (
        "null", "{}", "[]", "1", "1.5", '"1"', '""', "true", '{"a":{"b":[1,null,"ż"]}}', '{"a":null}', '"🐢e\u0301"',
        "18446744073709551615",
    ),
    "GEOGRAPHY": (
        "POINT(0 0)", "POINT(179.5 -89.5)", "LINESTRING(0 0, 1 1)", "GEOMETRYCOLLECTION EMPTY",
        "POLYGON((0 0, 1 0, 1 1, 0 0))",
    ),
}  # fmt: skip
"""Values at the limits of each scalar type, each in the text that BigQuery itself writes."""


def _ordinary() -> dict[str, Callable[[random.Random], Any]]:
    def two(rng: random.Random) -> str:
        return f"{rng.randrange(10, 59)}"

    def day(rng: random.Random) -> str:
        return f"{rng.randrange(1900, 2100)}-{rng.randrange(10, 13)}-{rng.randrange(10, 29)}"

    return {
        "STRING": lambda rng: f"text {rng.randrange(100_000)} é",
        "BYTES": lambda rng: _base64(rng.randbytes(rng.randrange(1, 9))),
        "BOOL": lambda rng: rng.random() < 0.5,
        "INT64": lambda rng: rng.randrange(-100_000, 100_000),
        "FLOAT64": lambda rng: rng.uniform(-1, 1) * 10 ** rng.randrange(-20, 20),
        "NUMERIC": lambda rng: f"{rng.randrange(10**20)}.{rng.randrange(10**8)}1",
        "BIGNUMERIC": lambda rng: f"-{rng.randrange(1, 10**30)}.{rng.randrange(10**30)}1",
        "DATE": day,
        "TIME": lambda rng: f"12:{two(rng)}:{two(rng)}",
        "DATETIME": lambda rng: f"{day(rng)} 12:{two(rng)}:{two(rng)}",
        "TIMESTAMP": lambda rng: f"{day(rng)} 12:{two(rng)}:{two(rng)}.{rng.randrange(10**5):05}1+00",
        "INTERVAL": lambda rng: f"{rng.randrange(100)}-{rng.randrange(12)} {rng.randrange(30)} 4:5:6",
        "JSON": lambda rng: f'{{"a":[{rng.randrange(100)},"{rng.randrange(100)}"]}}',
        "GEOGRAPHY": lambda rng: f"POINT({rng.randrange(-170, 170)} {rng.randrange(-80, 80)})",
    }


_ORDINARY = _ordinary()
_RANGES = {"date": "RANGE<DATE>", "datetime": "RANGE<DATETIME>", "timestamp": "RANGE<TIMESTAMP>"}
_EACH = {name.lower(): name for name in EXTREMES} | {f"range_{name}": type_ for name, type_ in _RANGES.items()}
# GEOGRAPHY is left out of the STRUCT: within a STRUCT, only BigQuery itself writes its text.
_WITHIN = ", ".join(f"`{name}` {type_}" for name, type_ in _EACH.items() if type_ != "GEOGRAPHY")

TYPES: Mapping[str, str] = {
    **{f"v_{name}": type_ for name, type_ in _EACH.items()},
    **{f"a_{name}": f"ARRAY<{type_}>" for name, type_ in _EACH.items()},
    "s_each": f"STRUCT<{_WITHIN}>",
    "s_nested": "STRUCT<a STRUCT<b ARRAY<STRUCT<c ARRAY<FLOAT64>, `d e` BYTES>>, n INT64>, m ARRAY<STRING>>",
    "a_nested": "ARRAY<STRUCT<i INT64, l ARRAY<STRUCT<t TIMESTAMP, n NUMERIC>>>>",
}
"""The name and the type of each column that a workload of every type has: `v_` a value, `a_` an ARRAY, `s_` a STRUCT."""

_PARSED = {name: parse_type(type_) for name, type_ in TYPES.items()}


def column_value(rng: random.Random, column: str) -> Any:
    """Return a random value for a column of `TYPES`, often NULL or an extreme value.

    Examples:
        >>> column_value(random.Random(1), "v_bool") in (True, False, None)
        True
    """
    return random_value(rng, _PARSED[column])


def random_value(rng: random.Random, type_: Type) -> Any:
    """Return a random value of a type, or None.

    Examples:
        >>> random_value(random.Random(2), parse_type("STRUCT<a BOOL>"))
        {'a': True}
    """
    return None if rng.random() < _SHARE_OF_NULLS else non_null_value(rng, type_)


def non_null_value(rng: random.Random, type_: Type) -> Any:
    """Return a random value of a type that is not NULL.

    BigQuery cannot store NULL as an element of an array, or in place of an array within a struct: there are no such values.

    Examples:
        >>> non_null_value(random.Random(1), parse_type("BOOL")) in (True, False)
        True
    """
    match type_:
        case Array(element):
            return [non_null_value(rng, element) for _ in range(rng.randint(0, _MOST_ELEMENTS))]
        case Struct(fields):
            return {field.name: _field_value(rng, field.type) for field in fields}
        case Range(element):
            return _range_of(rng, str(element))
    name = str(type_)
    extreme = rng.random() < _SHARE_OF_EXTREMES
    return rng.choice(EXTREMES[name]) if extreme else _ORDINARY[name](rng)


def _field_value(rng: random.Random, type_: Type) -> Any:
    return non_null_value(rng, type_) if isinstance(type_, Array) else random_value(rng, type_)


def _range_of(rng: random.Random, element: str) -> dict[str, str | None]:
    # Texts of dates and times sort as the dates and times do.
    start, end = sorted(rng.sample(EXTREMES[element], 2))
    return {"start": None if rng.random() < 0.2 else start, "end": None if rng.random() < 0.2 else end}
