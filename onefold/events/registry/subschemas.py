"""The schemas inside a JSON Schema of Draft 4, with their places."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from onefold.events.registry.json_text import pointer

_ONE = ("items", "additionalItems", "additionalProperties", "not")
_LISTS = ("items", "allOf", "anyOf", "oneOf")
_MAPS = ("properties", "patternProperties", "definitions", "dependencies")

Json = Mapping[str, Any]


def subschemas(schema: Json, path: str = "") -> Iterator[tuple[str, Json]]:
    """Yield a schema and every schema inside it, each with its JSON pointer.

    The keywords must have valid values: what is not an object is skipped.

    Examples:
        >>> [path for path, _ in subschemas({"properties": {"a": {}}, "anyOf": [{"type": "object"}]})]
        ['', '/properties/a', '/anyOf/0']
    """
    waiting = [(path, schema)]
    while waiting:
        place, inner = waiting.pop()
        yield place, inner
        waiting += reversed([(place + step, child) for step, child in _children(inner) if isinstance(child, Mapping)])


def _children(schema: Json) -> Iterator[tuple[str, Any]]:
    for keyword in _MAPS:
        if isinstance(schema.get(keyword), Mapping):
            yield from ((pointer(keyword, key), child) for key, child in schema[keyword].items())
    for keyword in _LISTS:
        if isinstance(schema.get(keyword), list):
            yield from ((pointer(keyword, index), child) for index, child in enumerate(schema[keyword]))
    for keyword in _ONE:
        yield pointer(keyword), schema.get(keyword)


def resolve(root: Json, reference: str) -> Any:
    """Return what a local reference, as `#/definitions/a`, points to; None where it points to nothing.

    A reference is the fragment of a URI: its escapes with percent signs end before it is split (RFC 6901, section 6).

    Examples:
        >>> resolve({"definitions": {"a/b c": {"type": "null"}}}, "#/definitions/a~1b%20c")
        {'type': 'null'}
    """
    value: Any = root
    for step in unquote(reference).split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, Mapping):
            value = value.get(key)
        elif isinstance(value, list) and re.fullmatch("[0-9]{1,8}", key) and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return value


def same_instance(schema: Json) -> Iterator[Json]:
    """Yield the schemas inside a schema that judge the same value as the schema does, references aside."""
    for keyword in ("allOf", "anyOf", "oneOf"):
        yield from (child for child in schema.get(keyword, ()) if isinstance(child, Mapping))
    if isinstance(schema.get("not"), Mapping):
        yield schema["not"]
    yield from (child for child in schema.get("dependencies", {}).values() if isinstance(child, Mapping))
