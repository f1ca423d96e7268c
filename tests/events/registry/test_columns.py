"""The columns of a model: order, nullability, names, and what never changes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from support.schemas import fields, histories, versions
from support.seeding import examples

from onefold.events.registry.columns import ENVELOPE, table_of
from onefold.events.registry.json_schema import JsonSchema
from onefold.events.registry.schema_key import snake

# No two names that want one column, so that the oracle needs no second names.
NAMES = ("a", "b", "c", "Größe", "URLPath", "z-9")


def names(*schemas: dict[str, Any]) -> list[str]:
    return [column.name for column in table_of(versions(*schemas)).columns]


def nullable(*schemas: dict[str, Any]) -> dict[str, bool]:
    return {column.name: column.nullable for column in table_of(versions(*schemas)).columns}


def types(*schemas: dict[str, Any]) -> dict[str, str]:
    return {column.name: str(column.type) for column in table_of(versions(*schemas)).columns}


# The oracle, from the specification: all columns of each version, with no thought of speed.


def flat(schema: dict[str, Any], path: tuple[str, ...] = (), certain: bool = True) -> dict[tuple[str, ...], bool]:
    """Return whether each leaf below an object is NOT NULL, by its path."""
    found = {}
    for name, child in schema.get("properties", {}).items():
        kinds = {child["type"]} if isinstance(child.get("type"), str) else set(child.get("type", ()))
        has_properties = bool(child.get("properties")) and (not kinds or "object" in kinds)
        null = "null" in kinds or None in child.get("enum", []) or not (kinds or "enum" in child or has_properties)
        sure = certain and name in schema.get("required", []) and not null
        union = has_properties and bool(kinds - {"object", "null"})
        if not has_properties or union:
            found[(*path, name)] = sure and not union
        if has_properties:
            found |= flat(child, (*path, name), sure and not union)
    return found


def expected(history: list[JsonSchema]) -> list[tuple[str, bool]]:
    """Return the names of all columns in their order, and whether they may be NULL."""
    held = [schema for schema in history if schema.key.version not in {one.version for one in table_of(history).recovered}]
    order: list[tuple[str, ...]] = []
    for schema in held:
        new = {path: sure for path, sure in flat(dict(schema.json)).items() if path not in order}
        order += sorted(new, key=lambda path: (not new[path], ".".join(map(snake, path))))
    return [(".".join(map(snake, path)), not all(flat(dict(schema.json)).get(path) for schema in held)) for path in order]


@settings(max_examples=examples(50))
@given(histories(NAMES))
def test_order_and_nullability_are_those_of_the_oracle(history: list[JsonSchema]) -> None:
    assert [(column.name, column.nullable) for column in table_of(history).columns] == expected(history)


@settings(max_examples=examples(50))
@given(histories())
def test_no_column_ever_moves_or_gets_a_type_that_redshift_cannot_give_it(history: list[JsonSchema]) -> None:
    tables = [table_of(history[: count + 1]) for count in range(len(history))]
    for before, after in pairwise(tables):
        assert len(after.columns) >= len(before.columns)
        for old, new in zip(before.columns, after.columns, strict=False):
            assert (old.name, old.path, old.since) == (new.name, new.path, new.since)
            assert new.nullable >= old.nullable
            assert new.type == old.type or (old.type.name, new.type.name) == ("VARCHAR", "VARCHAR")
            assert new.type.length >= old.type.length
        assert all(column.nullable for column in after.columns[len(before.columns) :])
        assert after.recovered[: len(before.recovered)] == before.recovered


@settings(max_examples=examples(50))
@given(histories())
def test_names_are_unique_and_none_is_that_of_the_envelope(history: list[JsonSchema]) -> None:
    table = table_of(history)
    for columns in (table.columns, *(recovery.columns for recovery in table.recovered)):
        found = [column.name for column in columns]
        assert len({*found, *ENVELOPE}) == len(found) + len(ENVELOPE)


def test_not_null_comes_first_and_then_the_name() -> None:
    schema = fields(["z", "m"], b="string", z="string", a="string", m={"type": ["string", "null"]}, Ab="string")
    assert names(schema) == ["z", "a", "ab", "b", "m"]


def test_names_are_sorted_as_joined() -> None:
    nested = {"type": "object", "properties": {"y": {}, "b": {}}}
    assert names(fields(a_c="string", a=nested, aB="string")) == ["a.b", "a.y", "a_b", "a_c"]


def test_later_columns_come_last_in_the_same_order_and_may_be_null() -> None:
    first, second = fields(["m"], m="string"), fields(["m", "z", "y"], m="string", a="string", z="string", y="string")
    assert names(first, second) == ["m", "y", "z", "a"]
    assert nullable(first, second) == {"m": False, "y": True, "z": True, "a": True}
    assert [str(column.since) for column in table_of(versions(first, second)).columns] == ["1-0-0", *["1-0-1"] * 3]


def test_many_additions_keep_their_order() -> None:
    first = fields(a="string")
    second = fields(a="string", **{f"n{number:02}": "string" for number in range(30)})
    assert names(first, second) == ["a", *(f"n{number:02}" for number in range(30))]


def test_the_order_of_addition_counts_and_not_the_number() -> None:
    texts = ["1-0-0", "1-1-0", "1-2-0", "1-0-1", "1-2-1"]
    brought = ["e", "d", "c", "b", "a"]
    schemas = [fields(**dict.fromkeys(brought[: count + 1], "string")) for count in range(5)]
    table = table_of(versions(*schemas, numbers=texts))
    assert [column.name for column in table.columns] == brought
    assert [str(column.since) for column in table.columns] == texts
    assert table.uri == "iglu:com.acme/ad_click/jsonschema/1-2-1"


def test_a_column_is_not_null_only_if_each_ancestor_is_required_and_none_allows_null() -> None:
    inner = fields(["x"], x="string")
    assert nullable(fields(["o"], o=inner)) == {"o.x": False}
    assert nullable(fields(o=inner)) == {"o.x": True}
    assert nullable(fields(["o"], o={**inner, "type": ["object", "null"]})) == {"o.x": True}
    assert nullable(fields(["o"], o=fields(x="string"))) == {"o.x": True}
    assert nullable({**fields(["o"], o=inner), "type": ["object", "null"]}) == {"o.x": True}


@pytest.mark.parametrize(
    "schema", [{"type": ["string", "null"]}, {"enum": ["a", None]}, {"type": "null"}, {}, {"maxLength": 3}]
)
def test_a_required_property_that_allows_null_may_be_null(schema: dict[str, Any]) -> None:
    assert nullable(fields(["a"], a=schema)) == {"a": True}
    assert nullable(fields(["a"], a={"enum": ["a", "b"]})) == {"a": False}


def test_a_required_property_that_becomes_optional_or_goes_away_may_be_null() -> None:
    required, optional = fields(["a"], a="string"), fields(a="string")
    assert nullable(required, optional) == {"a": True}
    assert nullable(required, fields(b="string")) == {"a": True, "b": True}
    assert nullable(required, fields(b="string"), required) == {"a": True, "b": True}


def test_only_properties_are_looked_into() -> None:
    hidden: dict[str, Any] = {"properties": {"x": {}}}
    leaves: dict[str, Any] = {
        "items": {"type": "array", "items": hidden}, "any": {"anyOf": [hidden]}, "one": {"oneOf": [hidden]},
        "all": {"allOf": [hidden]}, "more": {"type": "object", "additionalProperties": hidden},
        "pattern": {"type": "object", "patternProperties": {"a": hidden}}, "empty": {"type": "object", "properties": {}},
        "ref": {"$ref": "#/properties/one"}, "text": {"type": "string", **hidden},
    }  # fmt: skip
    assert names(fields(**leaves)) == sorted(leaves)


def test_an_object_without_properties_is_a_column_and_a_root_without_is_none() -> None:
    assert types(fields(o={"type": "object"})) == {"o": "VARCHAR(4096)"}
    for root in ({"type": "object"}, {"type": "object", "properties": {}}, {"type": "array"}, {}):
        assert names(root) == []
    assert names({"type": "object"}, fields(a="string")) == ["a"]


def test_a_union_with_an_object_is_a_column_too() -> None:
    union = {**fields(["x"], x="string"), "type": ["integer", "object"]}
    assert types(fields(["u"], u=union)) == {"u": "VARCHAR(4096)", "u.x": "VARCHAR(4096)"}
    assert nullable(fields(["u"], u=union)) == {"u": True, "u.x": True}


def test_an_object_that_becomes_a_union_keeps_its_columns_and_gains_one_at_the_end() -> None:
    inner = fields(["x"], x="integer", y="string")
    union = {**inner, "type": ["object", "integer"]}
    assert names(fields(["u"], u=inner), fields(["u"], u=union)) == ["u.x", "u.y", "u"]
    assert nullable(fields(["u"], u=inner), fields(["u"], u=union)) == dict.fromkeys(["u.x", "u.y", "u"], True)


def test_a_type_that_holds_the_new_values_stays_and_a_varchar_grows() -> None:
    assert types(fields(a="integer"), fields(a={"type": "integer", "maximum": 5})) == {"a": "BIGINT"}
    sizes = [fields(a={"type": "string", "maxLength": size}) for size in (20, 30, 10)]
    assert types(*sizes) == {"a": "VARCHAR(30)"}


def test_data_that_does_not_fit_has_a_table_of_its_own() -> None:
    schemas = [fields(a="integer", b="string"), fields(a="string", c="string"), fields(a="integer", d="string")]
    table = table_of(versions(*schemas))
    assert [column.name for column in table.columns] == ["a", "b", "d"]
    (recovery,) = table.recovered
    assert (str(recovery.version), [column.name for column in recovery.columns]) == ("1-0-1", ["a", "c"])
    assert recovery.name.startswith("com_acme_ad_click_1_0_1_recovered_")
    assert recovery.reasons == ("a is BIGINT and cannot hold VARCHAR(4096)",)
    assert str(table.version) == "1-0-2"


def test_names_that_collide_get_a_second_name_that_never_changes() -> None:
    first, second = fields(foo_bar="string"), fields(foo_bar="string", fooBar="string")
    assert names(first, second) == ["foo_bar", "foo_bar_58985f7b"]
    assert names(second) == ["foo_bar", "foo_bar_e59570e9"]  # the same version: the path decides
    assert names(fields(schemaName="string")) == ["schema_name_ca2d1a93"]  # a column of the envelope


def test_a_name_that_redshift_would_cut_gets_a_second_name() -> None:
    (name, other) = names(fields(**{"ä" * 64: "string", "ä" * 65: "string"}))
    assert name != other
    assert all(len(one.encode()) <= 127 for one in (name, other))
    assert names(fields(**{"x" * 127: "string"})) == ["x" * 127]


def test_the_json_types_of_all_versions_are_known() -> None:
    table = table_of(versions(fields(a="string", b="string"), fields(a={"type": ["string", "integer"]}, b={})))
    assert [sorted(column.json_types) for column in table.columns] == [["integer", "string"], []]


def test_true_and_one_are_different_values() -> None:
    assert types(fields(a={"enum": [True, 2]}), fields(a={"enum": [1, 2]})) == {"a": "VARCHAR(4096)"}
