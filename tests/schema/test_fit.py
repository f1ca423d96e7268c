"""Values in a type that a contract keeps, in Google's own evaluator: what fits is the same value, and the rest is NULL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support.seeding import examples
from support.strategies import ABOVE, EXTREMES, above, types, values
from support.zetasql_judge import Judge

from onefold.schema.casts import convert
from onefold.schema.fit import fit, gives_back, same_through
from onefold.schema.table_rules import TableRules
from onefold.schema.types import Type, parse_type, render_type
from onefold.schema.versions import join_types

PAIRS = [
    (narrow, wide)
    for narrow, all_wide in ABOVE.items()
    for wide in all_wide
    if narrow != wide and gives_back(parse_type(wide), parse_type(narrow))
]


def cells_of(literals: Sequence[str], type_: str) -> str:
    return " UNION ALL ".join(f"SELECT {number} AS n, CAST({one} AS {type_}) AS x" for number, one in enumerate(literals))


def both(judge: Judge, source: Type, middle: Type, literals: Sequence[str], zone: str = "UTC") -> list[tuple[Any, ...]]:
    """Each literal of a type, and what is left of it after it was converted to a wider type and back."""
    cells = " UNION ALL ".join(
        f"SELECT {number} AS n, CAST({one} AS {render_type(source)}) AS x" for number, one in enumerate(literals)
    )
    wide = f"SELECT t.n, t.x, {convert('t.x', source, middle, zone)} AS y FROM ({cells}) AS t"
    return judge.rows(f"SELECT v.x, {fit('v.y', middle, source, zone)} FROM ({wide}) AS v ORDER BY v.n")


def fitted(judge: Judge, source: str, target: str, *literals: str) -> list[Any]:
    """What a value of a wide type is in a narrower one."""
    cells = cells_of(literals, source)
    sql = f"SELECT {fit('v.x', parse_type(source), parse_type(target))} FROM ({cells}) AS v ORDER BY v.n"
    return [value for (value,) in judge.rows(sql)]


@pytest.mark.slow
@pytest.mark.parametrize(("narrow", "wide"), PAIRS)
def test_a_value_comes_back_from_every_wider_type_as_it_was(judge: Judge, narrow: str, wide: str) -> None:
    found = both(judge, parse_type(narrow), parse_type(wide), ["NULL", *EXTREMES[narrow]])
    assert all(x == y or str(x) == str(y) for x, y in found)  # NaN does not equal itself, and -0.0 equals 0.0


def test_only_bytes_are_not_given_back_by_a_wider_scalar_type() -> None:
    pairs = {(narrow, wide) for narrow, all_wide in ABOVE.items() for wide in all_wide if narrow != wide}
    assert pairs - set(PAIRS) == {("BYTES", "STRING")}


@settings(deadline=None, max_examples=examples(30), suppress_health_check=list(HealthCheck))
@given(st.data())
def test_generated_values_come_back_from_generated_wider_types(judge: Judge, data: st.DataObject) -> None:
    narrow = data.draw(types(json=False, max_leaves=3))
    wide = data.draw(above(narrow))
    assume(gives_back(wide, narrow))
    for x, y in both(judge, narrow, wide, data.draw(st.lists(values(narrow), min_size=1, max_size=3))):
        assert x == y or (x is None and y in (None, [])) or str(x) == str(y)


@settings(deadline=None, max_examples=examples(30), suppress_health_check=list(HealthCheck))
@given(st.data())
def test_a_landed_value_shows_the_same_by_way_of_the_unified_type_where_that_is_read(
    judge: Judge, data: st.DataObject
) -> None:
    kept = data.draw(types(json=False, max_leaves=3))
    landed = data.draw(above(kept))
    unified = join_types([kept, landed, data.draw(above(landed))], TableRules())
    assume(gives_back(unified, kept) and same_through(landed, unified, kept))
    literals = data.draw(st.lists(values(landed), min_size=1, max_size=3))
    wide = f"SELECT t.n, t.x, {convert('t.x', landed, unified)} AS y FROM ({cells_of(literals, render_type(landed))}) AS t"
    pair = f"{fit('v.x', landed, kept)}, {fit('v.y', unified, kept)}"
    for x, y in judge.rows(f"SELECT {pair} FROM ({wide}) AS v ORDER BY v.n"):
        assert x == y or (x in (None, []) and y in (None, [])) or str(x) == str(y)


@pytest.mark.parametrize(
    ("wide", "narrow", "literals", "expected"),
    [
        ("STRING", "INT64", ["'7'", "'x'", "'1.5'", "NULL"], [7, None, None, None]),
        ("STRING", "BOOL", ["'true'", "'7'"], [True, None]),
        ("NUMERIC", "INT64", ["NUMERIC '2'", "NUMERIC '1.5'", "NUMERIC '9223372036854775808'"], [2, None, None]),
        ("INT64", "BOOL", ["1", "0", "2"], [True, False, None]),
        ("STRING", "FLOAT64", ["'0.5'", "'half'"], [0.5, None]),
        ("ARRAY<INT64>", "INT64", ["[7]", "[7, 8]", "[]"], [7, None, None]),
        ("ARRAY<STRING>", "ARRAY<INT64>", ["['1', 'x', '2']", "[]"], [[1, 2], []]),
    ],
)
def test_what_does_not_fit_is_null(judge: Judge, wide: str, narrow: str, literals: list[str], expected: list[Any]) -> None:
    assert fitted(judge, wide, narrow, *literals) == expected


@pytest.mark.parametrize(
    ("wide", "narrow", "fits", "does_not"),
    [
        ("TIMESTAMP", "DATE", "TIMESTAMP '2020-02-29 00:00:00+00'", "TIMESTAMP '2020-02-29 00:00:01+00'"),
        ("DATETIME", "DATE", "DATETIME '2020-02-29 00:00:00'", "DATETIME '2020-02-29 12:00:00'"),
        ("BIGNUMERIC", "NUMERIC", "BIGNUMERIC '0.1'", "BIGNUMERIC '1e-38'"),
        ("STRING", "NUMERIC", "'0.100'", "'0.1234567891'"),
        ("STRING", "DATE", "'2020-02-29'", "'2021-02-29'"),
        ("STRING", "TIMESTAMP", "'2020-02-29 00:00:00+00'", "'yesterday'"),
    ],
)
def test_nothing_is_rounded_and_nothing_is_cut_off(judge: Judge, wide: str, narrow: str, fits: str, does_not: str) -> None:
    found = fitted(judge, wide, narrow, fits, does_not)
    assert found[0] is not None
    assert found[1] is None


def test_fields_are_given_back_one_by_one_and_a_null_struct_stays_null(judge: Judge) -> None:
    wide, narrow = "STRUCT<zip STRING, city STRING, street STRING>", "STRUCT<city STRING, zip INT64>"
    found = fitted(judge, wide, narrow, "STRUCT('7', 'x', 's')", "STRUCT('A7', 'y', 's')", "NULL")
    assert [value if value is None else list(value) for value in found] == [["x", 7], ["y", None], None]
    assert gives_back(parse_type("STRUCT<town STRING>"), parse_type("STRUCT<city STRING>"))
    found = fitted(judge, "STRUCT<town STRING>", "STRUCT<city STRING>", "STRUCT('x')", "NULL")
    assert [value if value is None else list(value) for value in found] == [[None], None]


@pytest.mark.parametrize(
    ("landed", "kept", "literal", "expected"),
    [
        ("STRING", "BYTES", "'abc'", b"abc"),
        ("BYTES", "BYTES", "b'\\xff'", b"\xff"),
        ("FLOAT64", "INT64", "2.0", 2),
        ("FLOAT64", "INT64", "1.5", None),
        ("BOOL", "INT64", "TRUE", 1),
        ("STRING", "STRUCT<a INT64>", "'{}'", None),
        ("ARRAY<INT64>", "INT64", "[1, 2]", None),
    ],
)
def test_a_landed_value_of_any_type_fits_or_is_null(
    judge: Judge, landed: str, kept: str, literal: str, expected: Any
) -> None:
    value = fit("v.x", parse_type(landed), parse_type(kept))
    assert judge.rows(f"SELECT {value} FROM (SELECT CAST({literal} AS {landed}) AS x) AS v") == [(expected,)]
