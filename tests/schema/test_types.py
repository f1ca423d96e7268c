"""Type strings: read, written, refused."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from support.seeding import examples
from support.strategies import types
from support.zetasql_judge import Judge, type_name

from onefold.core.errors import InvalidType
from onefold.schema.types import Array, Field, Scalar, Struct, Type, parse_type, render_type


@pytest.mark.parametrize(
    "text",
    [
        "STRING", "BYTES", "BOOL", "INT64", "NUMERIC", "BIGNUMERIC", "FLOAT64", "DATE", "DATETIME", "TIMESTAMP", "TIME",
        "INTERVAL", "GEOGRAPHY", "JSON", "RANGE<DATE>", "RANGE<DATETIME>", "RANGE<TIMESTAMP>", "ARRAY<STRING>",
        "ARRAY<RANGE<DATE>>", "STRUCT<a INT64>",
        "STRUCT<street STRING, zip INT64>", "ARRAY<STRUCT<a ARRAY<STRUCT<b JSON>>>>",
        "STRUCT<`a b` INT64, `żółw` DATE, `1st` BOOL>", "STRUCT<array ARRAY<INT64>, struct STRUCT<not STRING>>",
    ],
)  # fmt: skip
def test_a_type_is_written_as_it_was_read(text: str) -> None:
    assert str(parse_type(text)) == text


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("string(20)", "STRING"),
        ("NUMERIC(10, 2)", "NUMERIC"),
        ("BIGNUMERIC(76,38)", "BIGNUMERIC"),
        ("BYTES( 5 )", "BYTES"),
        ("STRUCT<a STRING(20) NOT NULL, b NUMERIC(10, 2)>", "STRUCT<a STRING, b NUMERIC>"),
        ("ARRAY<STRING(3) NOT NULL>", "ARRAY<STRING>"),
        ("STRUCT<a STRING COLLATE 'und:ci', b STRING COLLATE 'und:ci' NOT NULL>", "STRUCT<a STRING, b STRING>"),
        ("Integer", "INT64"),
        ("INT", "INT64"),
        ("SMALLINT", "INT64"),
        ("BIGINT", "INT64"),
        ("TINYINT", "INT64"),
        ("BYTEINT", "INT64"),
        ("boolean", "BOOL"),
        ("FLOAT", "FLOAT64"),
        ("DECIMAL(10, 2)", "NUMERIC"),
        ("BIGDECIMAL", "BIGNUMERIC"),
        ("RECORD<a FLOAT>", "STRUCT<a FLOAT64>"),
        ("  ARRAY < STRUCT < a INT64 , b DATE > >\n", "ARRAY<STRUCT<a INT64, b DATE>>"),
        ("STRUCT<`plain` INT64>", "STRUCT<plain INT64>"),
        ("STRUCT<`select` INT64>", "STRUCT<select INT64>"),
        ("STRUCT<żółw INT64>", "STRUCT<`żółw` INT64>"),
    ],
)
def test_other_spellings_are_the_same_type(text: str, plain: str) -> None:
    assert str(parse_type(text)) == plain


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("STRUCT<`a b` INT64>", "a b"),
        ("STRUCT<`a>, b` INT64>", "a>, b"),
        ("STRUCT<`a\\`b` INT64>", "a`b"),
        ("STRUCT<`a\\\\b` INT64>", "a\\b"),
        ("STRUCT<Spelled INT64>", "Spelled"),
    ],
)
def test_a_fields_name_is_read_out_of_its_quotes(text: str, name: str) -> None:
    type_ = parse_type(text)
    assert isinstance(type_, Struct)
    assert type_.fields == (Field(name, Scalar("INT64")),)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "it ends too early"),
        ("   ", "it ends too early"),
        ("INT65", "'INT65' is not a BigQuery type"),
        ("<", "'<' is not a BigQuery type"),
        ("INT64 INT64", "unexpected 'INT64' after the type"),
        ("INT64>", "unexpected '>' after the type"),
        ("ARRAY", "it ends too early"),
        ("ARRAY<INT64", "it ends too early"),
        ("ARRAY(INT64)", "expected '<', found '('"),
        ("ARRAY<INT64, DATE>", "expected '>', found ','"),
        ("ARRAY<ARRAY<INT64>>", "an array of arrays is not a BigQuery type"),
        ("ARRAY<INT64 NOT VOID>", "expected NULL after NOT"),
        ("RANGE<INT64>", "a range holds DATE, DATETIME or TIMESTAMP"),
        ("RANGE<ARRAY<DATE>>", "a range holds DATE, DATETIME or TIMESTAMP"),
        ("STRUCT<>", "a struct's field needs a name"),
        ("STRUCT<a INT64,>", "a struct's field needs a name"),
        ("STRUCT<INT64>", "a struct's field needs a name and a type; found 'INT64' alone"),
        ("STRUCT<ARRAY<INT64>>", "a struct's field needs a name and a type; found 'ARRAY' alone"),
        ("STRUCT<a INT64 b DATE>", "expected '>', found 'b'"),
        ("STRUCT<a INT64, A DATE>", "two fields of a struct have one name"),
        ("NUMERIC(10", "it ends too early"),
        ("STRING;", "unexpected ';' at character 7"),
        ('STRUCT<a INT64,  "b" DATE>', "unexpected '\"' at character 18"),
        ("STRUCT<`a INT64>", "unexpected '`' at character 8"),
    ],
)
def test_a_text_that_is_not_a_type_is_refused_with_the_reason(text: str, problem: str) -> None:
    with pytest.raises(InvalidType) as caught:
        parse_type(text)
    assert str(caught.value) == f"type {text!r}: {problem}"


def test_fifteen_levels_of_records_are_read(judge: Judge) -> None:
    text = "INT64"
    for level in range(15):
        text = f"ARRAY<STRUCT<level_{level} {text}>>"
    assert str(parse_type(text)) == text
    assert type_name(judge.read_type(text)) == text


@pytest.mark.parametrize("opened", ["ARRAY<", "STRUCT<a ", "ARRAY<STRUCT<a "])
def test_hostile_nesting_is_refused_and_shown_in_short(opened: str) -> None:
    with pytest.raises(InvalidType, match="nested deeper than") as caught:
        parse_type(opened * 10_000)
    assert len(str(caught.value)) < 2_000


@given(types(max_leaves=12))
def test_generated_types_are_read_as_they_were_written(type_: Type) -> None:
    assert parse_type(str(type_)) == type_
    assert parse_type(render_type(type_)) == type_


@settings(max_examples=examples(60))
@given(types(max_leaves=8))
def test_the_analyzer_reads_generated_types_alike(judge: Judge, type_: Type) -> None:
    assert parse_type(type_name(judge.read_type(render_type(type_)))) == type_


def test_equal_texts_are_one_object() -> None:
    text = "STRUCT<a INT64>"
    assert parse_type(text) is parse_type("".join(text))
    assert parse_type("ARRAY<INT64>") == Array(Scalar("INT64"))
