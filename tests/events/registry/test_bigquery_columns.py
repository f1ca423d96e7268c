"""The columns of a model in BigQuery: types, order at each level, and what never changes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from support.schemas import fields, histories, versions
from support.seeding import examples

from onefold.events.registry.bigquery_columns import bigquery_table
from onefold.events.registry.json_schema import JsonSchema
from onefold.schema.types import Array, Struct, Type

TYPES: list[tuple[dict[str, Any], str]] = [
    ({"type": "string", "format": "date-time"}, "TIMESTAMP"),
    ({"type": ["null", "string"], "format": "date"}, "DATE"),
    ({"type": "integer", "maximum": 5}, "INT64"),
    ({"type": "number"}, "FLOAT64"),
    ({"type": "number", "multipleOf": 0.01}, "NUMERIC"),
    ({"type": ["integer", "number"]}, "FLOAT64"),
    ({"type": "boolean"}, "BOOL"),
    ({"type": ["boolean", "integer"]}, "STRING"),
    ({"type": ["object", "integer"], "properties": {"a": {}}}, "STRING"),
    ({"type": "object"}, "STRING"),
    ({"type": "string", "maxLength": 3}, "STRING"),
    ({"enum": [1, 2]}, "STRING"),
    ({}, "STRING"),
    ({"type": "array", "items": {"type": "integer"}}, "ARRAY<INT64>"),
    ({"type": ["array", "null"]}, "ARRAY<STRING>"),
    ({"type": "array", "items": [{"type": "integer"}]}, "ARRAY<STRING>"),
    ({"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}, "ARRAY<STRING>"),
    ({"type": "array", "items": {"type": ["integer", "null"]}}, "ARRAY<STRING>"),
    ({"type": "array", "items": fields(a="integer")}, "ARRAY<STRUCT<a INT64>>"),
    (fields(b="integer", aB="boolean"), "STRUCT<a_b BOOL, b INT64>"),
]


@pytest.mark.parametrize(("schema", "expected"), TYPES, ids=str)
def test_the_type_of_a_column(schema: dict[str, Any], expected: str) -> None:
    assert types(fields(c=schema)) == {"c": expected}


def types(*schemas: dict[str, Any]) -> dict[str, str]:
    return {one.column.name: str(one.column.type) for one in bigquery_table(versions(*schemas)).columns}


def reasons(*schemas: dict[str, Any]) -> list[str]:
    return [reason for recovery in bigquery_table(versions(*schemas)).recovered for reason in recovery.reasons]


def test_what_a_version_adds_comes_last_at_each_level() -> None:
    first = fields(["z"], z="string", o=fields(["y"], y="string", m="string"))
    second = fields(
        ["z", "k"], z="string", k="string", a="string", o=fields(["y", "x"], y="string", m="string", b="string", x="string")
    )
    assert list(types(first)) == ["z", "o"]
    assert types(first, second) == {
        "z": "STRING", "o": "STRUCT<m STRING, y STRING, b STRING, x STRING>", "k": "STRING", "a": "STRING",
    }  # fmt: skip
    required = fields(["o"], o=fields(["y"], y="string", m="string"))
    assert types(required) == {"o": "STRUCT<y STRING, m STRING>"}


def test_fields_of_the_items_of_an_array_are_added_at_the_end() -> None:
    first, second = ({"type": "array", "items": fields(**dict.fromkeys(names, "string"))} for names in ("m", "ma"))
    assert types(fields(a=first), fields(a=second)) == {"a": "ARRAY<STRUCT<m STRING, a STRING>>"}


def test_an_object_that_becomes_a_union_keeps_its_fields_and_gains_a_column() -> None:
    inner, more = fields(x="integer"), fields(x="integer", y="string")
    union = {**more, "type": ["object", "integer"]}
    found = types(fields(u=inner), fields(u=union), fields(u=more))
    assert list(found.values()) == ["STRUCT<x INT64, y STRING>", "STRING"]
    assert [name[:2] for name in found] == ["u", "u_"]


def test_a_column_keeps_its_type_where_it_holds_the_new_values() -> None:
    small = {"type": "integer", "maximum": 5}
    assert types(fields(a="number"), fields(a=small)) == {"a": "FLOAT64"}
    assert types(fields(a="string"), fields(a=fields(b="string"))) == {"a": "STRING"}
    assert types(fields(a="integer"), fields(a={"type": "number", "multipleOf": 1})) == {"a": "INT64"}


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("integer", "string", "a is INT64 and cannot hold STRING"),
        ("number", "integer", "a is FLOAT64 and cannot hold INT64"),
        (
            {"type": "array", "items": {"type": "integer"}},
            {"type": "array"},
            "a is ARRAY<INT64> and cannot hold ARRAY<STRING>",
        ),
        ({"type": "array"}, "string", "a is ARRAY<STRING> and cannot hold STRING"),
        ("integer", fields(b="string"), "a is INT64 and cannot hold STRUCT<b STRING>"),
    ],
)
def test_what_does_not_fit_has_a_table_of_its_own(old: Any, new: Any, reason: str) -> None:
    assert reasons(fields(a=old), fields(a=new)) == [reason]
    table = bigquery_table(versions(fields(a=old), fields(a=new), fields(a=old, b="string")))
    assert [one.column.name for one in table.columns] == ["a", "b"]
    assert [one.column.name for one in table.recovered[0].columns] == ["a"]


def test_names_are_those_that_bigquery_allows() -> None:
    assert list(types(fields(**{"$id": "string", "2x": "string", "größe x": "string", "_TABLE_a": "string"}))) == [
        "_2x", "__table_a", "_id", "größe_x",
    ]  # fmt: skip
    first, second = list(types(fields(fooBar="string", foo_bar="string")))
    assert (first, second.startswith("foo_bar_")) == ("foo_bar", True)
    assert [name[:8] for name in types(fields(rootId="string"))] == ["root_id_"]


@pytest.mark.parametrize(
    "name",
    ["_TABLE_x", "_FILE_x", "_PARTITIONTIME", "_ROW_TIMESTAMP", "__ROOT__", "_COLIDENTIFIER", "_CHANGE_TYPE"],
)
def test_no_column_or_field_begins_as_bigquery_reserves_it(name: str) -> None:
    """BigQuery, "Schema restrictions", the prefixes that names of columns may not have."""
    assert list(types(fields(**{name: "string"}))) == [f"_{name.lower()}"]
    assert list(types(fields(a=fields(**{name: "string"}))).values()) == [f"STRUCT<_{name.lower()} STRING>"]


def test_what_is_nested_deeper_than_bigquery_allows_is_text() -> None:
    schema = fields(x="string")
    for _ in range(20):
        schema = fields(x=schema)
    (type_,) = types(schema).values()
    assert type_.count("STRUCT") == 15
    assert type_.endswith("x STRING" + ">" * 15)


def leaves(type_: Type, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    inner = type_.element if isinstance(type_, Array) else type_
    if isinstance(inner, Struct):
        for field in inner.fields:
            yield from leaves(field.type, (*path, field.name))
    else:
        yield path, str(type_)


def children(type_: Type) -> dict[str, Type]:
    inner = type_.element if isinstance(type_, Array) else type_
    return {field.name: field.type for field in inner.fields} if isinstance(inner, Struct) else {}


def begins_with(after: dict[str, Type], before: dict[str, Type]) -> bool:
    """Tell whether fields are the same at the same places, with nothing new but at the end of each level."""
    same_start = list(after)[: len(before)] == list(before)
    return same_start and all(begins_with(children(after[name]), children(before[name])) for name in before)


@settings(max_examples=examples(30))
@given(histories())
def test_no_field_ever_moves_or_changes_its_type(history: list[JsonSchema]) -> None:
    tables = [bigquery_table(history[: count + 1]) for count in range(len(history))]
    levels = [{one.column.name: one.column.type for one in table.columns} for table in tables]
    for (before, after), (old, new) in zip(pairwise(levels), pairwise(tables), strict=True):
        assert begins_with(after, before)
        known = {leaf for name, type_ in after.items() for leaf in leaves(type_, (name,))}
        assert known >= {leaf for name, type_ in before.items() for leaf in leaves(type_, (name,))}
        assert new.recovered[: len(old.recovered)] == old.recovered
