"""A conversion to a type that is not wider never fails, and every possible loss is reported."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schema.test_casts import GENERATED, SCALARS, converted, query
from support.strategies import EXTREMES, above, scalars, types, values
from support.zetasql_judge import Judge

from onefold.schema.casts import UTC, conversion_problems, convert, losses
from onefold.schema.common_type import canonical, is_at_or_below, join
from onefold.schema.types import Scalar, Type, parse_type

NARROWING = [
    (source, target)
    for source in SCALARS
    for target in SCALARS
    if not is_at_or_below(parse_type(source), parse_type(target))
]
NULLABLE = [pair for pair in NARROWING if pair[1] != "RANGE<TIMESTAMP>"]


@pytest.mark.slow
@pytest.mark.parametrize(("source", "target"), NARROWING)
def test_a_narrowing_never_fails_and_its_loss_is_reported(judge: Judge, source: str, target: str) -> None:
    if target == "RANGE<TIMESTAMP>":
        assert conversion_problems(parse_type(source), parse_type(target))
        return
    for zone in (UTC, "America/New_York"):
        sql = query(parse_type(source), parse_type(target), ["NULL", *EXTREMES[source]], zone)
        assert judge.columns(sql)[2] == ("y", target)
        assert judge.rows(sql)[0][2] is None
    assert losses(parse_type(source), parse_type(target))


def readable(source: str) -> list[str]:
    """Values of a type; of a type that may hold the text of any other, among them a text of each."""
    texts = [*TEXTS, "'1-2 3 4:5:6'", "'{}'"]
    if source == "BYTES":
        return [*EXTREMES[source], *(f"CAST({text} AS BYTES)" for text in texts)]
    json = [f"TO_JSON({text})" for text in texts]
    return [*EXTREMES[source], *{"STRING": texts, "JSON": json}.get(source, ())]


@pytest.mark.slow
@pytest.mark.parametrize(("source", "target"), NULLABLE)
def test_a_conversion_is_refused_exactly_where_it_gives_null_for_every_value(judge: Judge, source: str, target: str) -> None:
    found = converted(judge, source, target, readable(source))
    assert bool(conversion_problems(parse_type(source), parse_type(target))) == (found == [None] * len(found))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "target"),
    [pair if number % 5 == 0 else pytest.param(*pair, marks=pytest.mark.long) for number, pair in enumerate(NULLABLE)],
)
def test_a_narrowed_array_holds_no_null(judge: Judge, source: str, target: str) -> None:
    literals = [f"[{value}]" for value in EXTREMES[source]]
    assert all(None not in array for array in converted(judge, f"ARRAY<{source}>", f"ARRAY<{target}>", literals))


TEXTS = [
    "''", "'1'", "'-1.5'", "'1e400'", "'true'", "'2020-01-01'", "'2020-01-01 00:00:00'", "'2020-01-01 00:00:00+25'",
    "'0000-00-00'", "'9999-12-31 23:59:59.999999-12'", "'0001-01-01 00:00:00+14'", "'12:00:00'", "'24:00:00'",
    "'1-0 0 0:0:0'",
    "'[2020-01-01, 2019-01-01)'", "'[2020-01-01, UNBOUNDED)'", "'{'", "'{\"a\": 1e999}'", "'2016-12-31 23:59:60'",
    "'nan'", "'99999999999999999999'", "'2020-01-01 00:00:00 Mars/Olympus'", "'\\u0000'",
]  # fmt: skip


@pytest.mark.parametrize(
    ("target", "literal", "expected"),
    [
        ("INT64", "JSON '12'", 12),
        ("BOOL", "JSON 'true'", True),
        ("FLOAT64", "JSON '\"1.5\"'", 1.5),
        ("BYTES", "JSON '\"x\"'", b"x"),
        ("TIME", "JSON '{\"a\": 1}'", None),
        ("INT64", "JSON 'null'", None),
    ],
)
def test_a_narrowed_json_scalar_is_read_without_its_quotes(
    judge: Judge, target: str, literal: str, expected: object
) -> None:
    assert converted(judge, "JSON", target, [literal]) == [expected]


@pytest.mark.parametrize("target", [name for name in SCALARS if name not in ("STRING", "RANGE<TIMESTAMP>")])
def test_no_text_makes_a_narrowing_fail(judge: Judge, target: str) -> None:
    for zone in (UTC, "Asia/Tokyo", "America/New_York"):
        assert len(converted(judge, "STRING", target, TEXTS, zone)) == len(TEXTS)


@GENERATED
@given(st.data())
def test_generated_text_never_makes_a_narrowing_fail(judge: Judge, data: st.DataObject) -> None:
    target = data.draw(scalars().filter(lambda kind: str(kind) != "RANGE<TIMESTAMP>"))
    literals = data.draw(st.lists(values(Scalar("STRING")), min_size=1, max_size=20))
    assert len(converted(judge, "STRING", str(target), literals)) == len(literals)


@pytest.mark.parametrize(
    ("source", "target", "zone", "said"),
    [
        ("INT64", "STRING", UTC, ()),
        ("DATETIME", "TIMESTAMP", UTC, ()),
        ("DATETIME", "STRING", "Asia/Tokyo", ()),
        ("TIMESTAMP", "STRING", "Asia/Tokyo", ()),
        ("STRUCT<a INT64>", "JSON", UTC, ()),
        ("STRUCT<a INT64>", "STRUCT<A STRING, b DATE>", UTC, ()),
        ("BYTES", "STRING", UTC, ("BYTES as text",)),
        ("BYTES", "ARRAY<STRING>", UTC, ("BYTES as text",)),
        ("STRUCT<a BYTES>", "STRUCT<a STRING>", UTC, ("BYTES as text",)),
        ("STRUCT<a JSON>", "JSON", UTC, ("JSON null",)),
        ("STRUCT<a ARRAY<JSON>>", "STRING", UTC, ("JSON null",)),
        ("DATETIME", "TIMESTAMP", "Asia/Tokyo", ("read in Asia/Tokyo",)),
        ("DATE", "ARRAY<TIMESTAMP>", "Asia/Tokyo", ("read in Asia/Tokyo", "left out")),
        ("ARRAY<STRING>", "ARRAY<INT64>", UTC, ("does not fit", "left out")),
        ("STRING", "INT64", UTC, ("does not fit",)),
        ("STRUCT<a INT64, b INT64>", "STRUCT<b INT64>", UTC, ("field a is left out",)),
        ("STRUCT<a STRING, b BYTES>", "STRUCT<a DATE, b STRING>", UTC, ("does not fit", "BYTES as text")),
    ],
)
def test_every_possible_loss_is_reported(source: str, target: str, zone: str, said: tuple[str, ...]) -> None:
    found = losses(parse_type(source), parse_type(target), zone)
    assert len(found) == len(said)
    assert all(part in sentence for part, sentence in zip(said, found, strict=True))


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("STRING", "STRUCT<a INT64>"),
        ("JSON", "STRUCT<a INT64>"),
        ("ARRAY<STRUCT<a INT64>>", "STRUCT<a INT64>"),
        ("STRUCT<a INT64>", "INT64"),
        ("ARRAY<INT64>", "DATE"),
        ("ARRAY<STRUCT<a INT64>>", "ARRAY<BOOL>"),
        ("STRUCT<a STRUCT<b INT64>>", "STRUCT<a STRUCT<b STRUCT<c INT64>>>"),
        ("STRING", "RANGE<TIMESTAMP>"),
        ("RANGE<DATE>", "RANGE<TIMESTAMP>"),
    ],
)
def test_a_conversion_without_an_expression_is_a_problem(source: str, target: str) -> None:
    assert all("cannot be converted" in problem for problem in conversion_problems(parse_type(source), parse_type(target)))
    assert conversion_problems(parse_type(source), parse_type(target))


@settings(GENERATED, max_examples=200)
@given(types(), types())
def test_there_is_always_a_conversion_to_the_join(first: Type, second: Type) -> None:
    assert conversion_problems(first, join(first, second)) == []
    assert convert("v.x", first, first) == "v.x"


@pytest.mark.slow
@settings(GENERATED, max_examples=200)
@given(st.data())
def test_generated_wider_types_are_wider(data: st.DataObject) -> None:
    type_ = data.draw(types())
    higher = data.draw(above(type_))
    assert is_at_or_below(type_, higher)
    assert canonical(join(higher, type_)) == canonical(higher)
