"""Random schemas and their data for the shredder: each kind of value with its extremes."""

from __future__ import annotations

import json
import random
from typing import Any

from onefold.events.registry.json_schema import JsonSchema, parse_schema
from onefold.events.registry.registry import Registry

TEXTS = [
    "", "a", " a ", "größe 😀", "tab\there", "line\nbreak", "\r\n", '"', 'say "a"', "\\N", "\\\\N", "\\", "N", "\\N ", "\\n",
    "null", "\u2028", "\x01", "x" * 4_096, "x" * 4_097, "ü" * 2_048, "ü" * 2_049, "😀" * 1_024,
]  # fmt: skip
TIMES = [
    "2026-11-23T08:00:00Z", "2026-11-23T08:00:00.123456Z", "2026-11-23T08:00:00.5+02:00", "2026-11-23t08:00:00z",
    "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "2026-11-23T08:00:00.1234560Z", "2026-11-23T08:00:00.1234567Z",
    "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00", "0000-01-01T00:00:00Z", "2016-12-31T23:59:60Z",
]  # fmt: skip
INTEGERS = [0, -1, 32_767, 32_768, 2**31 - 1, -(2**31), 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 2**63, -(2**63) - 1, 10**30]
NUMBERS = [0, 0.1, -1.5, 1e300, 5e-324, 2**53, 2**53 + 1, 10**22, 10**23, 0.30000000000000004, 12_345_678.901234567]
KINDS: dict[str, tuple[dict[str, Any], list[Any], list[Any]]] = {
    "text": ({"type": "string"}, TEXTS, [1, True, ["a"]]),
    "short": ({"type": "string", "maxLength": 4}, ["", "abcd", "äöü", "😀", "😀😀", "\\N", '"'], ["abcde"]),
    "fixed": ({"type": "string", "minLength": 3, "maxLength": 3}, ["abc", "äbc", "ab ", '"\t"', "\\\\N"], ["ab"]),
    "enum": ({"enum": ["card", "Überweisung"]}, ["card", "Überweisung"], ["cash"]),
    "time": ({"type": "string", "format": "date-time"}, TIMES, ["2026-11-23", "yesterday", "2026-02-30T00:00:00Z"]),
    "day": ({"type": "string", "format": "date"}, ["2026-11-23", "0001-01-01", "0000-01-01"], ["2026-02-30", "x"]),
    "uuid": ({"type": "string", "format": "uuid"}, ["c6ef3124-B53a-4b13-a233-0088f79dcbcb"], ["c6ef3124", ""]),
    "whole": ({"type": "integer"}, INTEGERS, [1.5, "1", True]),
    "small": ({"type": "integer", "maximum": 100}, [0, 100, -32_768, -32_769], [101]),
    "number": ({"type": "number"}, NUMBERS, ["1"]),
    "money": ({"type": "number", "multipleOf": 0.01}, [0, 0.01, -1234.5, 10**33, 99999999999.99], [0.001]),
    "units": ({"type": "number", "multipleOf": 1}, [0, 7, 2**31, 3.0], [0.5]),
    "flag": ({"type": "boolean"}, [True, False], [0, "true"]),
    "mixed": ({"type": ["string", "integer", "boolean", "array"]}, ["1", 1, True, [None, "a"], *TEXTS[:14]], [{"a": 1}]),
    "anything": ({}, [{"a": [1, None]}, [], {}, "a", 1.5, False, "\\N"], []),
    "object": ({"type": "object"}, [{}, {"a": {"b": "\t"}}, {"ü": [10**30]}], [[]]),
    "list": ({"type": "array", "items": {"type": ["integer", "null"]}}, [[], [1, None], [10**30]], [["a"], {}]),
}
NAMES = ["id", "fooBar", "größe", "a-b", "HTTPCode", "x1", "root_x", "Label", "z"]


def document(chance: random.Random, depth: int = 2) -> dict[str, Any]:
    """Return a schema of an object, whose properties are of random kinds."""
    names = chance.sample(NAMES, chance.randrange(1, len(NAMES)))
    properties = {name: _property(chance, depth) for name in names}
    kinds = ["object", "null", "integer"][: chance.choice([1, 1, 2, 3])] if depth < 2 else "object"
    return {"type": kinds, "properties": properties, "additionalProperties": True}


def _property(chance: random.Random, depth: int) -> dict[str, Any]:
    if depth and chance.random() < 0.25:
        return document(chance, depth - 1)
    kind = chance.choice(list(KINDS))
    schema = KINDS[kind][0]
    if "type" in schema and chance.random() < 0.3:
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        schema = {**schema, "type": [*types, "null"]}
    return {**schema, "description": kind}


def data_of(chance: random.Random, schema: dict[str, Any], wrong: float = 0.0) -> Any:
    """Return data of a schema: valid, unless `wrong`, the share of values that are not valid, says otherwise."""
    if "properties" in schema:
        if "integer" in schema["type"] and chance.random() < 0.2:
            return chance.choice([5, None])
        inner = schema["properties"].items()
        found = {name: data_of(chance, one, wrong) for name, one in inner if chance.random() < 0.8}
        return found | ({"unknown": "\\N"} if chance.random() < 0.1 else {})
    _, valid, invalid = KINDS[schema["description"]]
    if invalid and chance.random() < wrong:
        return chance.choice(invalid)
    if isinstance(schema.get("type"), list) and "null" in schema["type"] and chance.random() < 0.3:
        return None
    # Most values fit: an event with many values is a row now and then.
    return chance.choice(valid[: 1 + chance.randrange(len(valid))])


def parsed(source: dict[str, Any], version: str = "1-0-0", name: str = "ad_click", vendor: str = "com.acme") -> JsonSchema:
    own = {"vendor": vendor, "name": name, "format": "jsonschema", "version": version}
    return parse_schema({**source, "self": own})


def registry_of(*schemas: JsonSchema) -> Registry:
    """Return a registry with schemas in the order of their addition."""
    models = {
        schema.key.model_key: tuple(one for one in schemas if one.key.model_key == schema.key.model_key)
        for schema in schemas
    }
    return Registry(models, "memory")


def event(schema: JsonSchema, data: Any, id_: str) -> dict[str, Any]:
    """Return a self-describing event."""
    return {"schema": schema.key.uri, "data": data, "event_id": id_, "collector_tstamp": "2026-11-23T08:00:00Z"}


def line(chance: random.Random, value: Any) -> str:
    """Return a value as a line of JSON, as different writers of JSON would write it."""
    separators = chance.choice([(",", ":"), (", ", ": "), (" , ", " : ")])
    return json.dumps(value, ensure_ascii=chance.random() < 0.5, separators=separators)
