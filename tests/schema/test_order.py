"""The order and the spelling that a schema keeps from a former one."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import types

from onefold.schema.columns import Column, Schema
from onefold.schema.common_type import canonical
from onefold.schema.diff import compare
from onefold.schema.order import keep_order
from onefold.schema.types import Array, Field, Struct, Type, parse_type


def columns(text: str) -> tuple[Column, ...]:
    """Columns from the fields of a struct: `id INT64, name STRING`."""
    struct = parse_type(f"STRUCT<{text}>")
    assert isinstance(struct, Struct)
    return tuple(Column(field.name, field.type) for field in struct.fields)


@pytest.mark.parametrize(
    ("new", "former", "kept"),
    [
        ("a INT64, b DATE", "b DATE, a INT64", "b DATE, a INT64"),
        ("a INT64, b DATE, c DATE", "B DATE", "B DATE, a INT64, c DATE"),
        ("b NUMERIC", "a INT64, b INT64", "b NUMERIC"),
        ("s STRUCT<a INT64, b DATE>", "s STRUCT<B DATE, a INT64>", "s STRUCT<B DATE, a INT64>"),
        ("s STRUCT<n DATE, a NUMERIC>", "s STRUCT<A INT64, gone DATE>", "s STRUCT<A NUMERIC, n DATE>"),
        ("l ARRAY<STRUCT<a INT64, b DATE>>", "l ARRAY<STRUCT<b DATE, a INT64>>", "l ARRAY<STRUCT<b DATE, a INT64>>"),
        ("l ARRAY<STRUCT<a INT64, b DATE>>", "l STRUCT<b DATE, a INT64>", "l ARRAY<STRUCT<b DATE, a INT64>>"),
        ("s STRUCT<a INT64, b DATE>", "s ARRAY<STRUCT<b DATE, a INT64>>", "s STRUCT<b DATE, a INT64>"),
        ("s STRUCT<t STRUCT<a DATE, b DATE>>", "s STRUCT<t STRUCT<b DATE, A DATE>>", "s STRUCT<t STRUCT<b DATE, A DATE>>"),
        ("s STRUCT<a INT64>", "s JSON", "s STRUCT<a INT64>"),
        ("s JSON", "s STRUCT<a INT64>", "s JSON"),
    ],
)
def test_what_was_there_comes_first_as_it_was_and_what_is_new_comes_last(new: str, former: str, kept: str) -> None:
    assert keep_order(columns(new), columns(former)) == columns(kept)


def test_a_fixed_column_keeps_its_place_and_its_spelling_but_not_the_order_of_its_fields() -> None:
    kept = keep_order(columns("x DATE, s STRUCT<a INT64, b DATE>"), columns("S STRUCT<b DATE, a INT64>, x DATE"), ["s"])
    assert kept == columns("S STRUCT<a INT64, b DATE>, x DATE")


NAMES = st.sampled_from(["a", "B", "c", "Id", "żółw", "x y"])
SCHEMAS = st.dictionaries(NAMES, types(), max_size=5).map(
    lambda found: tuple(Column(name, type_) for name, type_ in found.items())
)


@given(SCHEMAS, SCHEMAS)
def test_a_kept_order_has_the_same_columns_and_types_and_nothing_moves(
    new: tuple[Column, ...], old: tuple[Column, ...]
) -> None:
    kept = keep_order(new, old)
    assert {(column.name.lower(), canonical(column.type)) for column in kept} == {
        (column.name.lower(), canonical(column.type)) for column in new
    }
    assert not {change.kind for change in compare(old, kept)} & {"reordered", "respelled"}
    assert keep_order(kept, old) == keep_order(new, kept) == kept


@given(SCHEMAS, st.randoms())
def test_a_shuffled_and_respelled_schema_gets_its_order_and_spelling_back(
    schema: tuple[Column, ...], chance: random.Random
) -> None:
    assert keep_order([Column(c.name, c.type) for c in _shuffled(schema, chance)], schema) == schema
    assert keep_order(schema, ()) == schema
    assert Schema(schema).names == tuple(column.name for column in schema)


def _shuffled(schema: tuple[Column, ...], chance: random.Random) -> list[Column]:
    found = [Column(_other_case(column.name, chance), _other_order(column.type, chance)) for column in schema]
    chance.shuffle(found)
    return found


def _other_order(type_: Type, chance: random.Random) -> Type:
    match type_:
        case Array(element):
            return Array(_other_order(element, chance))  # type: ignore[arg-type]
        case Struct(fields):
            found = [Field(_other_case(field.name, chance), _other_order(field.type, chance)) for field in fields]
            chance.shuffle(found)
            return Struct(tuple(found))
        case _:
            return type_


def _other_case(name: str, chance: random.Random) -> str:
    """The upper case of a letter that is not ASCII is another letter to BigQuery."""
    return name.swapcase() if name.isascii() and chance.random() < 0.5 else name
