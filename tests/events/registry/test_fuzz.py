"""Schemas that nobody would write: no crash, and none whose work grows with more than its size."""

from __future__ import annotations

import contextlib
import json
import random
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from onefold.core.errors import SchemaInvalid
from onefold.events.registry.classify import classify
from onefold.events.registry.ddl import TARGETS, build_table, create_statements
from onefold.events.registry.json_schema import JsonSchema, parse_schema

SCHEMAS = 1_000
MOST_CALLS = 1_500
"""Calls of functions for each value in a schema, far above what any schema needs; a time would depend on the machine."""
KEYWORDS = (
    "type", "properties", "required", "enum", "items", "additionalProperties", "patternProperties", "definitions", "$ref",
    "pattern", "format", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "multipleOf", "minItems",
    "allOf", "anyOf", "oneOf", "not", "dependencies", "id", "$schema", "uniqueItems", "default", "title", "const", "if",
)  # fmt: skip
NAMES = (
    "a", "fooBar", "foo_bar", "A" * 3_000, "Ä.ö-ü", "id", "$ref", "properties", "😀", '"', "`", "'; DROP TABLE x; --", "\\",
)  # fmt: skip
TEXTS = (
    "string", "integer", "number", "object", "array", "null", "boolean", "date-time", "#", "#/definitions/a",
    "#/properties/a", "#/definitions/fooBar/items/0", "http://example.com/x", "^(a+)+$", "(a|a)*b", "[", "a{1,1000}",
    "\\d+", "(?<=a)b", "",
)  # fmt: skip


def anything(chance: random.Random, depth: int) -> Any:
    """Return a value of JSON: now and then what a keyword expects, and now and then not."""
    kind = chance.randrange(9) if depth else chance.randrange(5)
    if kind < 5:
        numbers = [0, 1, -1, 0.01, 1e300, 2**31, 10**30, True, False, None]
        return chance.choice(TEXTS) if kind < 3 else chance.choice(numbers)
    if kind == 5:
        return [anything(chance, depth - 1) for _ in range(chance.randrange(5))]
    return schema(chance, depth - 1)


def schema(chance: random.Random, depth: int) -> dict[str, Any]:
    """Return a schema; half of its keywords have values that are allowed."""
    found: dict[str, Any] = {}
    for keyword in chance.sample(KEYWORDS, chance.randrange(5)):
        found[keyword] = allowed(keyword, chance, depth) if chance.random() < 0.9 else anything(chance, depth)
    return found


def allowed(keyword: str, chance: random.Random, depth: int) -> Any:
    def below() -> dict[str, Any]:
        return schema(chance, depth - 1) if depth > 0 else {}

    some = chance.sample(NAMES, chance.randrange(1, 5))
    choices: dict[str, Any] = {
        "type": lambda: chance.choice([TEXTS[chance.randrange(7)], chance.sample(TEXTS[:7], 3)]),
        "required": lambda: some,
        "enum": lambda: [*{json.dumps(anything(chance, 1)): None}],
        "pattern": lambda: chance.choice(TEXTS),
        "format": lambda: chance.choice(TEXTS),
        "$ref": lambda: chance.choice(TEXTS[8:12]),
        "uniqueItems": lambda: True,
        "exclusiveMinimum": lambda: True,
        "multipleOf": lambda: chance.choice([1, 0.01, 3, 1e-9]),
        **dict.fromkeys(("allOf", "anyOf", "oneOf"), lambda: [below() for _ in range(chance.randrange(1, 3))]),
        **dict.fromkeys(
            ("properties", "patternProperties", "definitions", "dependencies"), lambda: {name: below() for name in some}
        ),
        **dict.fromkeys(("items", "not", "additionalProperties"), below),
        **dict.fromkeys(("minLength", "maxLength", "minItems", "minimum", "maximum"), lambda: chance.choice([0, 5, 40_000])),
    }
    return choices.get(keyword, lambda: anything(chance, depth))()


def parsed(source: dict[str, Any]) -> JsonSchema | None:
    own = {"vendor": "com.acme", "name": "fuzz", "format": "jsonschema", "version": "1-0-0"}
    with contextlib.suppress(SchemaInvalid):
        return parse_schema(json.dumps({**source, "self": own}))
    return None


def size(value: Any) -> int:
    """Return how many values and keys a value of JSON has."""
    inner = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    return 1 + sum(map(size, inner))


@contextlib.contextmanager
def counted_calls() -> Iterator[list[int]]:
    """Count the calls of functions."""
    calls = [0]

    def count(frame: Any, event: str, argument: Any) -> None:  # noqa: ARG001
        calls[0] += 1

    sys.setprofile(count)
    try:
        yield calls
    finally:
        sys.setprofile(None)


@pytest.mark.slow
def test_a_thousand_schemas_that_nobody_would_write(chance: random.Random) -> None:
    valid, last = 0, None
    for _ in range(SCHEMAS):
        source = schema(chance, 6)
        with counted_calls() as calls:
            found = parsed(source)
            tables = [build_table([last, found] if last else [found], target) for target in TARGETS] if found else []
            statements = [create_statements(table) for table in tables]
            change = classify(last or found, found) if found else None
        assert calls[0] < MOST_CALLS * (size(source) + (size(last.json) if last else 0) + 10)
        if found:
            assert (bool(change), all(statements)) == (True, True)
            for table in tables:
                _names_are_unique(table)
            valid, last = valid + 1, found
    assert SCHEMAS / 20 < valid < SCHEMAS


def _names_are_unique(table: Any) -> None:
    names = [getattr(column, "name", None) or column.column.name for column in table.columns]
    assert len({name.lower() for name in names}) == len(names)
