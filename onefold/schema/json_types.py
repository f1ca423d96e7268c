"""JSON Schema's words for the types of values, as every target reads them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})


def json_types(schema: Mapping[str, Any]) -> frozenset[str]:
    """Return the types that a schema names, without null; an empty set where it names none, and takes every type.

    Examples:
        >>> sorted(json_types({"type": ["string", "null", "integer"]}))
        ['integer', 'string']
    """
    named = schema.get("type", ())
    return frozenset((named,) if isinstance(named, str) else named) - {"null"}


def allows_null(schema: Mapping[str, Any]) -> bool:
    """Return whether null may be a value of a schema. What does not decide it, such as a reference, allows it.

    Examples:
        >>> allows_null({"type": ["string", "null"]}), allows_null({"type": "string"}), allows_null({"maxLength": 3})
        (True, False, True)
        >>> allows_null({"enum": ["a", "b"]}), allows_null({"type": "string", "enum": ["a", None]})
        (False, True)
    """
    if "$ref" in schema:
        return True
    if "enum" in schema and None in schema["enum"]:
        return True
    if "type" in schema:
        return schema["type"] == "null" or (not isinstance(schema["type"], str) and "null" in schema["type"])
    return "enum" not in schema and not schema.get("properties")


def compact_json(value: Any) -> str:
    """Return a value as JSON without spaces, in the form in which arrays and objects stand in a column."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
