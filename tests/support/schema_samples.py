"""Valid data of any published schema: every property that a value is found for, with short values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from onefold.events.registry.validator import validator_of

_FORMATS = {
    "date-time": "2026-11-23T08:00:00.5Z", "date": "2026-11-23", "uri": "http://a.eu", "email": "a@b.eu", "ipv4": "1.2.3.4",
    "uuid": "c6ef3124-b53a-4b13-a233-0088f79dcbcb", "hostname": "a.eu", "ipv6": "::1",
}  # fmt: skip
_TEXTS = (
    "", "a", "1", "ab", "abc", "$a", "1.2.3", "1x2", "1/2", "1.5,2.5", "sp_" + "a" * 26, "ab12ab12ab12ab12",
    "iglu:a.b/c/jsonschema/1-0-0", *_FORMATS.values(),
)  # fmt: skip
_KINDS: dict[str, tuple[Any, ...]] = {
    "string": _TEXTS, "integer": (5, 0, 100, 1_000, 1_500_000_000), "number": (5, 1.5, 0, 100.25), "boolean": (True,),
    "null": (None,), "array": ([],), "object": ({},),
}  # fmt: skip


def sample(schema: Mapping[str, Any]) -> Any:
    """Return valid data of a schema.

    Properties are left out where no value is found for them.
    """
    found = next((value for value in _values(schema) if _is_valid(schema, value)), _MISSING)
    assert found is not _MISSING, f"no value is found for {schema}"
    return found


_MISSING = object()


def _values(schema: Mapping[str, Any]) -> Iterator[Any]:
    yield from schema.get("enum", ())
    for part in (*schema.get("oneOf", ()), *schema.get("anyOf", ())):
        yield from _values({**{key: value for key, value in schema.items() if key not in ("oneOf", "anyOf")}, **part})
    types = schema.get("type", "string")
    for type_ in sorted([types] if isinstance(types, str) else types, key=lambda one: one != "object"):
        yield from _of_type(type_, schema)


def _of_type(type_: str, schema: Mapping[str, Any]) -> Iterator[Any]:
    if type_ == "object":
        properties = {name: _first(one) for name, one in schema.get("properties", {}).items()}
        yield {name: value for name, value in properties.items() if value is not _MISSING}
        required = set(schema.get("required", ()))
        yield {name: value for name, value in properties.items() if value is not _MISSING and name in required}
        yield {"a": "b"}
    if type_ == "array" and isinstance(schema.get("items"), Mapping):
        yield [one for one in [_first(schema["items"])] if one is not _MISSING]
    if type_ == "string":
        yield from (_FORMATS[schema["format"]] for _ in "1" if schema.get("format") in _FORMATS)
        yield "a" * schema.get("minLength", 1)
    yield from (value for value in (schema.get("minimum"),) if value is not None and type_ in ("integer", "number"))
    yield from _KINDS[type_]


def _first(schema: Mapping[str, Any]) -> Any:
    return next((value for value in _values(schema) if _is_valid(schema, value)), _MISSING)


def _is_valid(schema: Mapping[str, Any], value: Any) -> bool:
    inner = {key: one for key, one in schema.items() if key not in ("self", "$schema")}
    try:
        return bool(validator_of(inner).is_valid(value))
    except (ValueError, TypeError):
        return False
