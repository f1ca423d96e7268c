"""The class of a change: the table of the specification, and a search for values that became invalid."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.schemas import LEAVES, NAMES, described, fields, histories, objects, versions
from support.seeding import examples

from onefold.events.registry.classify import ChangeClass, classify
from onefold.events.registry.containment import narrowings
from onefold.events.registry.json_schema import JsonSchema

ADDITION, REVISION, MODEL = ChangeClass.ADDITION, ChangeClass.REVISION, ChangeClass.MODEL
TEXT = {"type": "string"}


def sized(size: int) -> dict[str, Any]:
    return {"type": "string", "maxLength": size}


def at_most(maximum: float, **more: Any) -> dict[str, Any]:
    return {"type": "integer", "maximum": maximum, **more}


def enum(*values: Any) -> dict[str, Any]:
    return {"enum": list(values)}


CHANGES: list[tuple[str, dict[str, Any], dict[str, Any], ChangeClass]] = [
    ("nothing", fields(a=TEXT), fields(a=TEXT), ADDITION),
    ("a description", fields(a=TEXT), fields(a={**TEXT, "description": "new"}), ADDITION),
    ("a new optional property", fields(a=TEXT), fields(a=TEXT, b=TEXT), ADDITION),
    ("a new nested property", fields(o=fields(a=TEXT)), fields(o=fields(a=TEXT, b=TEXT)), ADDITION),
    ("one more enum value", fields(a=enum("abc")), fields(a=enum("abc", "ab")), ADDITION),
    ("a higher maximum in the type", fields(a=at_most(5)), fields(a=at_most(6)), ADDITION),
    ("a longer text in the type", fields(a=sized(65_535)), fields(a=sized(70_000)), ADDITION),
    ("other properties are allowed", fields(a=TEXT), {**fields(a=TEXT), "additionalProperties": True}, ADDITION),
    ("an enum value goes", fields(a=enum("abc", "ab")), fields(a=enum("abc")), REVISION),
    ("a longer enum value", fields(a=enum("a")), fields(a=enum("a", "ab")), REVISION),
    ("a longer VARCHAR", fields(a=sized(5)), fields(a=sized(6)), REVISION),
    ("a shorter text", fields(a=sized(6)), fields(a=sized(5)), REVISION),
    ("required to optional", fields(["a"], a=TEXT), fields(a=TEXT), REVISION),
    ("optional to required", fields(a=TEXT), fields(["a"], a=TEXT), REVISION),
    ("null is allowed", fields(["a"], a=TEXT), fields(["a"], a={"type": ["string", "null"]}), REVISION),
    ("a property is removed", fields(a=TEXT, b=TEXT), fields(a=TEXT), REVISION),
    (
        "a property is removed, and others are allowed",
        {**fields(a=TEXT, b=TEXT), "additionalProperties": True}, {**fields(a=TEXT), "additionalProperties": True}, REVISION,
    ),
    ("a wider type that fits", fields(a=TEXT), fields(a={"type": ["string", "integer"]}), REVISION),
    ("a narrower type", fields(a="integer"), fields(a=at_most(5)), REVISION),
    ("a text becomes a date", fields(a=TEXT), fields(a={**TEXT, "format": "date"}), REVISION),
    ("a new required property", fields(a=TEXT), fields(["b"], a=TEXT, b=TEXT), REVISION),
    (
        "a new property with rules where others were allowed",
        {"type": "object", "properties": {}}, {"type": "object", "properties": {"a": TEXT}}, REVISION,
    ),
    ("a pattern", fields(a=TEXT), fields(a={**TEXT, "pattern": "a"}), REVISION),
    (
        "an object becomes a union",
        fields(o=fields(a=TEXT)), fields(o={**fields(a=TEXT), "type": ["object", "string"]}), ADDITION,
    ),
    ("an integer becomes a text", fields(a="integer"), fields(a="string"), MODEL),
    ("an integer becomes a number", fields(a="integer"), fields(a="number"), MODEL),
    ("a wider integer", fields(a=at_most(5)), fields(a=at_most(32_768)), MODEL),
    ("a date becomes a text", fields(a={**TEXT, "format": "date"}), fields(a=TEXT), MODEL),
    ("a CHAR grows", fields(a={**sized(5), "minLength": 5}), fields(a={**sized(6), "minLength": 6}), MODEL),
]  # fmt: skip


@pytest.mark.parametrize(("what", "old", "new", "kind"), CHANGES, ids=[change[0] for change in CHANGES])
def test_the_class_of_a_change(what: str, old: dict[str, Any], new: dict[str, Any], kind: ChangeClass) -> None:
    change = classify(described(old), described(new, "1-0-1"))
    assert change.kind is kind, (what, list(map(str, change.reasons)))
    assert all(reason.kind <= kind for reason in change.reasons)
    assert bool(change.reasons) == (kind is not ADDITION)


def test_columns_are_those_of_the_table_and_validity_that_of_the_version_before() -> None:
    history = versions(fields(a=sized(5)), fields(a=sized(20)), numbers=["1-0-0", "1-1-0"])
    new = described(fields(a=sized(9)), "1-0-1")
    assert classify(history[0], new).kind is REVISION
    assert classify(history[0], new, history).kind is ADDITION


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf", "allOf", "not", "dependencies", "patternProperties"])
def test_what_cannot_be_decided_is_the_stricter_class_and_says_so(keyword: str) -> None:
    rules: Any = {"not": TEXT, "dependencies": {"a": ["b"]}, "patternProperties": {"a": TEXT}}.get(keyword, [TEXT])
    change = classify(described(fields(a={})), described(fields(a={keyword: rules}), "1-0-1"))
    assert change.kind is REVISION
    (reason,) = [reason for reason in change.reasons if not reason.decided]
    assert reason.path == f"/properties/a/{keyword}"
    assert "counted as REVISION, the stricter class" in str(reason)


def test_a_reference_to_something_that_changed_is_not_decided() -> None:
    def with_definition(of: dict[str, Any]) -> dict[str, Any]:
        return {**fields(a={"$ref": "#/definitions/x"}), "definitions": {"x": of}}

    assert classify(described(with_definition(TEXT)), described(with_definition(TEXT))).kind is ADDITION
    change = classify(described(with_definition(TEXT)), described(with_definition({"type": "integer"})))
    assert [(reason.kind, reason.decided) for reason in change.reasons] == [(REVISION, False)]


def test_true_is_not_one() -> None:
    assert classify(described(fields(a=enum(1, "x"))), described(fields(a=enum(True, "x")))).kind is not ADDITION


# A search for counterexamples: values that the old schema takes and the new one does not.

IMPOSSIBLE = object()
FORMATTED = (
    "2024-02-29", "2024-02-29T00:00:00Z", "127.0.0.1", "::1", "a@example.com", "https://example.com/",
    "c6ef3124-b53a-4b13-a233-0088f79dcbcb",
)  # fmt: skip


def value_for(schema: dict[str, Any], draw: Any) -> Any:
    """Return a value that is valid for a schema; IMPOSSIBLE where it takes none."""
    if "enum" in schema:
        valid = [value for value in schema["enum"] if takes(schema, value)]
        return draw(st.sampled_from(valid)) if valid else IMPOSSIBLE
    kinds = schema.get("type", ["object"] if "properties" in schema else ["string", "integer", "null"])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    found = [value for kind in kinds if (value := value_of(kind, schema, draw)) is not IMPOSSIBLE]
    return draw(st.sampled_from(found)) if found else IMPOSSIBLE


def value_of(kind: str, schema: dict[str, Any], draw: Any) -> Any:
    if kind == "object":
        return object_for(schema, draw)
    if kind == "array":
        items = [value_for(schema.get("items", {}), draw) for _ in range(draw(st.integers(0, 2)))]
        return [item for item in items if item is not IMPOSSIBLE]
    valid = [value for value in candidates(kind, schema) if takes(schema, value)]
    return draw(st.sampled_from(valid)) if valid else IMPOSSIBLE


def object_for(schema: dict[str, Any], draw: Any) -> Any:
    known, required = schema.get("properties", {}), schema.get("required", [])
    is_open = schema.get("additionalProperties") is not False
    if not is_open and set(required) - known.keys():
        return IMPOSSIBLE
    more = draw(st.lists(st.sampled_from(NAMES), max_size=1)) if is_open else []
    found = {name: draw(st.sampled_from(["x", 1, None])) for name in [*more, *required] if name not in known}
    for name, inner in known.items():
        if name in required or draw(st.booleans()):
            value = value_for(inner, draw)
            if value is not IMPOSSIBLE:
                found[name] = value
            elif name in required:
                return IMPOSSIBLE
    return found


def candidates(kind: str, schema: dict[str, Any]) -> list[Any]:
    """Return values of one type, some of which each schema of the tests takes if it takes any."""
    if kind == "string":
        sizes = {schema.get("minLength", 0), schema.get("maxLength", 41)}
        return [*FORMATTED, *(letter * size for letter in "a1ä" for size in sizes), "ab", "7b"]
    low, high = schema.get("minimum", -5), schema.get("maximum", 10**12)
    numbers: list[Any] = [low, low + 1, high, 0, -7, 7, 9, 40_000]
    others: dict[str, list[Any]] = {"boolean": [True, False], "null": [None], "number": [*numbers, low + 3.5, 0.5, 2.25]}
    return others.get(kind, numbers)


def takes(schema: dict[str, Any], value: Any) -> bool:
    return bool(jsonschema_rs.Draft4Validator(schema, validate_formats=True).is_valid(value))


def is_valid(schema: JsonSchema, value: Any) -> bool:
    return takes({keyword: rule for keyword, rule in schema.json.items() if keyword != "self"}, value)


@settings(max_examples=examples(30))
@given(histories(), st.data())
def test_no_value_that_was_valid_becomes_invalid_by_an_addition(history: list[JsonSchema], data: st.DataObject) -> None:
    old, new = history[0], history[-1]
    _check(old, new, data)


@given(LEAVES, LEAVES, st.data())
def test_no_value_of_a_leaf_becomes_invalid_by_an_addition(one: Any, other: Any, data: st.DataObject) -> None:
    _check(described(fields(["a"], a=one)), described(fields(["a"], a=other)), data)


def _check(old: JsonSchema, new: JsonSchema, data: st.DataObject) -> None:
    value = value_for(dict(old.json), data.draw)
    if value is IMPOSSIBLE:  # a schema without any value makes no value invalid
        return
    assert is_valid(old, value), json.dumps(value)
    if not is_valid(new, value):
        assert narrowings(old.json, new.json), json.dumps(value)
        assert classify(old, new).kind is not ADDITION


@given(objects())
def test_a_schema_takes_what_it_takes(schema: dict[str, Any]) -> None:
    assert narrowings(described(schema).json, described(json.loads(json.dumps(schema))).json) == []
