"""Where a value that was valid may be invalid now: each keyword of Draft 4, one change at a time."""

from __future__ import annotations

from typing import Any

import pytest

from onefold.events.registry.containment import Narrowing, narrowings
from onefold.events.registry.subschemas import resolve

TEXT, NUMBER, WHOLE = {"type": "string"}, {"type": "number"}, {"type": "integer"}
OPEN, CLOSED = {"type": "object"}, {"type": "object", "additionalProperties": False}


def numbers(**rules: Any) -> dict[str, Any]:
    return {"type": "number", **rules}


def named(**properties: Any) -> dict[str, Any]:
    return {**OPEN, "properties": properties}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (TEXT, {"title": "a", "description": "b", "default": 1, "$schema": "c", "id": "d", "definitions": {}}),
        (WHOLE, NUMBER),
        ({"enum": [1, "a"]}, {"enum": ["a", 1, None]}),
        ({"enum": [1]}, WHOLE),
        ({"type": "string", "minLength": 2}, {"type": "string", "minLength": 2}),
        (TEXT, {"type": "string", "minLength": 0}),
        ({"type": "string", "maxLength": 5}, {"type": "string", "maxLength": 6, "minimum": 3}),
        (numbers(minimum=1, maximum=9), numbers(minimum=0.5, maximum=9.5)),
        (numbers(minimum=1, exclusiveMinimum=True), numbers(minimum=1)),
        (numbers(minimum=1, exclusiveMinimum=True, maximum=2), numbers(minimum=1.0, exclusiveMinimum=True, maximum=3)),
        (numbers(maximum=2), numbers(maximum=3, exclusiveMaximum=True)),
        (numbers(multipleOf=0.3), numbers(multipleOf=0.1)),
        (WHOLE, {"type": "integer", "multipleOf": 0.5}),
        ({"type": "array", "items": WHOLE, "uniqueItems": True}, {"type": "array", "items": NUMBER}),
        ({"type": "array", "items": [TEXT]}, {"type": "array"}),
        ({**OPEN, "required": ["a", "b"]}, {**OPEN, "required": ["a"]}),
        (CLOSED, named(a=TEXT)),
        (CLOSED, {**OPEN, "additionalProperties": TEXT}),
        ({**OPEN, "additionalProperties": WHOLE}, {**OPEN, "additionalProperties": NUMBER}),
        ({**OPEN, "additionalProperties": WHOLE}, {**named(a=NUMBER), "additionalProperties": WHOLE}),
        ({"$ref": "#/definitions/a", "definitions": {"a": TEXT}}, {"$ref": "#/definitions/a", "definitions": {"a": TEXT}}),
    ],
)  # fmt: skip
def test_wider_rules_take_each_value_that_was_valid(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert narrowings(old, new) == []


DECIDED = [
    (NUMBER, WHOLE, "/type", "no longer takes number"),
    ({"type": ["null", "number", "string"]}, {"type": "boolean"}, "/type", "no longer takes null, number, string"),
    ({"type": ["integer", "string"]}, TEXT, "/type", "no longer takes integer"),
    (TEXT, {"type": "string", "enum": ["a"]}, "/enum", "takes the values of a list only"),
    ({"enum": [1, "a" * 70]}, WHOLE, "/enum", f'no longer takes "{"a" * 59}'),
    ({"type": "string", "enum": ["a", "bc", 1]}, {"type": "string", "maxLength": 1}, "/enum", 'no longer takes "bc"'),
    (TEXT, {"type": "string", "minLength": 1}, "/minLength", "is 1, and was 0"),
    (TEXT, {"type": "string", "maxLength": 5}, "/maxLength", "is 5, and was open"),
    ({"type": "string", "maxLength": 6}, {"type": "string", "maxLength": 5}, "/maxLength", "is 5, and was 6"),
    ({"type": "array", "minItems": 1}, {"type": "array", "minItems": 2}, "/minItems", "is 2, and was 1"),
    ({"type": "array"}, {"type": "array", "maxItems": 2}, "/maxItems", "is 2, and was open"),
    (OPEN, {**OPEN, "minProperties": 1}, "/minProperties", "is 1, and was 0"),
    (OPEN, {**OPEN, "maxProperties": 1}, "/maxProperties", "is 1, and was open"),
    (NUMBER, numbers(minimum=0), "/minimum", "is 0, and was open"),
    (numbers(minimum=0), numbers(minimum=0.5), "/minimum", "is 0.5, and was 0"),
    (numbers(minimum=0), numbers(minimum=0, exclusiveMinimum=True), "/minimum", "is 0, and was 0"),
    (numbers(maximum=2), numbers(maximum=1), "/maximum", "is 1, and was 2"),
    (numbers(maximum=2), numbers(maximum=2, exclusiveMaximum=True), "/maximum", "is 2, and was 2"),
    (NUMBER, numbers(multipleOf=2), "/multipleOf", "takes multiples of 2 only"),
    (NUMBER, numbers(multipleOf=1), "/multipleOf", "takes multiples of 1 only"),
    (numbers(multipleOf=0.1), numbers(multipleOf=0.3), "/multipleOf", "takes multiples of 0.3 only"),
    (WHOLE, {"type": "integer", "multipleOf": 2}, "/multipleOf", "takes multiples of 2 only"),
    ({"type": "array"}, {"type": "array", "uniqueItems": True}, "/uniqueItems", "takes different items only"),
    ({"type": "array", "items": NUMBER}, {"type": "array", "items": WHOLE}, "/items/type", "no longer takes number"),
    ({"type": "array"}, {"type": "array", "items": TEXT}, "/items/type",
     "no longer takes array, boolean, null, number, object"),
    (OPEN, {**OPEN, "required": ["a"]}, "/required", "a is required"),
    (named(a=NUMBER), named(a=WHOLE), "/properties/a/type", "no longer takes number"),
    ({**named(a=TEXT), "additionalProperties": False}, CLOSED, "/properties/a", "is not allowed any more"),
    (named(a=WHOLE), {**OPEN, "additionalProperties": TEXT}, "/properties/a/type", "no longer takes integer"),
    (OPEN, CLOSED, "/additionalProperties", "other properties are not allowed any more"),
    ({**OPEN, "additionalProperties": NUMBER}, {**OPEN, "additionalProperties": WHOLE}, "/additionalProperties/type",
     "no longer takes number"),
    (OPEN, named(a={"minimum": 1}), "/properties/a",
     "has rules now: earlier data may hold any value here, unless additionalProperties was false"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "path", "problem"), DECIDED)
def test_a_narrower_rule_is_named_with_its_place(old: dict[str, Any], new: dict[str, Any], path: str, problem: str) -> None:
    assert Narrowing(path, problem) in narrowings(old, new)
    assert all(one.path == path or path.startswith("/properties/a") for one in narrowings(old, new) if old is not OPEN)


@pytest.mark.parametrize("keyword", ["not", "anyOf", "oneOf", "allOf", "dependencies", "pattern", "format"])
def test_a_keyword_that_is_not_looked_into_is_not_decided(keyword: str) -> None:
    problem = f"{keyword} changed, and it is not decided what that means for earlier data"
    assert narrowings(TEXT, {**TEXT, keyword: "x"}) == [Narrowing(f"/{keyword}", problem, decided=False)]


REFERENCE = {"$ref": "#/definitions/a"}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({**REFERENCE, "definitions": {"a": TEXT}}, {**REFERENCE, "definitions": {"a": WHOLE}},
         Narrowing("", "refers to a schema that changed", decided=False)),
        ({**named(x=REFERENCE), "definitions": {"a": TEXT}}, {**named(x=REFERENCE), "definitions": {"a": WHOLE}},
         Narrowing("", "refers to a schema that changed", decided=False)),
        ({**TEXT, "definitions": {"a": TEXT}}, {**REFERENCE, "definitions": {"a": TEXT}},
         Narrowing("/$ref", "the reference changed", decided=False)),
        # A list with a reference beside it is compared by its keywords: its part of the schema has no definitions.
        ({**named(x={"enum": ["a"], "items": REFERENCE}), "definitions": {"a": TEXT}},
         {**named(x={"enum": ["a"], "items": REFERENCE, "maxLength": 0}), "definitions": {"a": TEXT}},
         Narrowing("/properties/x/maxLength", "is 0, and was open")),
        ({"enum": ["a"]}, {"enum": ["a"], "pattern": "("},
         Narrowing("/enum", "it is not decided which of its values are still valid", decided=False)),
        ({"type": "array", "items": [TEXT]}, {"type": "array", "items": [WHOLE]},
         Narrowing("/items", "items changed, and it is not decided what that means for earlier data", decided=False)),
        ({**OPEN, "patternProperties": {"a": TEXT}}, {**OPEN, "patternProperties": {"a": WHOLE}},
         Narrowing("/patternProperties", "the rules of patterns changed", decided=False)),
    ],
)  # fmt: skip
def test_references_and_what_cannot_be_decided_say_so(old: dict[str, Any], new: dict[str, Any], expected: Narrowing) -> None:
    assert narrowings(old, new) == [expected]


FLOATING = {"patternProperties": {"^a": NUMBER}}


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ({**OPEN, **FLOATING}, {**named(ab=WHOLE), **FLOATING}, "/properties/ab/type"),
        (named(ab={"type": ["number", "string"]}), {**named(ab=TEXT), **FLOATING}, "/properties/ab/type"),
        (named(b=TEXT), {**named(b=TEXT), **FLOATING}, None),
    ],
)  # fmt: skip
def test_a_pattern_of_names_holds_for_the_properties_that_it_matches(
    old: dict[str, Any], new: dict[str, Any], path: str | None
) -> None:
    assert {one.path for one in narrowings(old, new) if one.decided} == ({path} if path else set())


ROOT = {"definitions": {"a/b": {"~": 1}, "~1": 2, "list": ["zero", "one"], "1": 3}, "": 4}


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("#", ROOT),
        ("#/", 4),
        ("#/definitions/a~1b/~0", 1),
        ("#/definitions/a~1b/%7E0", 1),
        # Escapes of the URI end before the steps begin, for the validator as well.
        ("#/definitions%2Flist%2F0", "zero"),
        ("#/definitions/a%2Fb", None),
        ("#/definitions/~01", 2),
        ("#/definitions/1", 3),
        ("#/definitions/list/1", "one"),
        ("#/definitions/list/2", None),
        (f"#/definitions/list/{'9' * 5_000}", None),
        ("#/definitions/list/-1", None),
        ("#/definitions/list/²", None),
        ("#/definitions/list/١", None),
        ("#/definitions/list/one", None),
        ("#/definitions/1/2", None),
    ],
)
def test_a_reference_points_as_rfc_6901_says(reference: str, found: Any) -> None:
    assert resolve(ROOT, reference) == found
