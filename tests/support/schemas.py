"""Random JSON Schemas, and random histories of the versions of one model in an order of addition that its rules allow."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from onefold.events.registry.json_schema import JsonSchema, parse_schema
from onefold.events.registry.order import Rules, allowed_versions
from onefold.events.registry.schema_key import SchemaVer

Json = dict[str, Any]
NAMES = ("a", "b", "fooBar", "Größe", "URLPath", "c-d", "x.y", "id2", "日本", "select", "with space", 'quo"te', "foo_bar")
"""Names of properties: two of them, fooBar and foo_bar, want the same column."""


def described(schema: Json, version: str = "1-0-0", name: str = "ad_click") -> JsonSchema:
    """Return a schema with its identity."""
    own = {"vendor": "com.acme", "name": name, "format": "jsonschema", "version": version}
    return parse_schema({"self": own, **schema})


def versions(*schemas: Json, numbers: Sequence[str] = ()) -> list[JsonSchema]:
    """Return versions of one model, in the order in which they are given; 1-0-0, 1-0-1, ... by default."""
    named = numbers or [f"1-0-{number}" for number in range(len(schemas))]
    return [described(schema, number) for schema, number in zip(schemas, named, strict=True)]


def fields(required: Sequence[str] = (), **properties: Any) -> Json:
    """Return an object with some properties and no others; a text stands for the type of a property."""
    named = {name: {"type": value} if isinstance(value, str) else value for name, value in properties.items()}
    schema: Json = {"type": "object", "properties": named, "additionalProperties": False}
    return {**schema, "required": list(required)} if required else schema


_TYPES = ("string", "integer", "number", "boolean", "array", "null", "object")
_SIZES = st.integers(0, 40)
_NUMBERS = st.sampled_from([-1, 0, 1, 100, 32_767, 32_768, 2_147_483_647, 2_147_483_648, 10**18, 1.5])
_VALUES = st.sampled_from(["", "a", "card", "ä€😀", "true", 0, 1, -1, 1.5, True, False, None, [1], {"a": "b"}])
LEAVES: st.SearchStrategy[Json] = st.one_of(
    st.sampled_from(_TYPES).map(lambda type_: {"type": type_}),
    st.lists(st.sampled_from(_TYPES), min_size=1, max_size=3, unique=True).map(lambda types: {"type": types}),
    st.sampled_from(["date-time", "date", "uuid", "ipv4", "ipv6", "email", "uri"]).map(
        lambda format_: {"type": "string", "format": format_}
    ),
    _SIZES.map(lambda size: {"type": "string", "maxLength": size}),
    _SIZES.map(lambda size: {"type": ["string", "null"], "minLength": size, "maxLength": size}),
    _NUMBERS.map(lambda most: {"type": "integer", "maximum": most}),
    st.tuples(_NUMBERS, st.booleans()).map(
        lambda pair: {"type": "number", "minimum": pair[0], "exclusiveMinimum": pair[1]}
    ),
    st.sampled_from([1, 0.01, 0.5, 3]).map(lambda step: {"type": "number", "multipleOf": step}),
    st.lists(_VALUES, min_size=1, max_size=4, unique_by=repr).map(lambda values: {"enum": values}),
    st.sampled_from(["^a", "[0-9]+", "b$"]).map(lambda pattern: {"type": "string", "pattern": pattern}),
    st.just({}),
)  # fmt: skip


def _objects(inner: st.SearchStrategy[Json], names: Sequence[str]) -> st.SearchStrategy[Json]:
    properties = st.dictionaries(st.sampled_from(names), inner, max_size=5)
    required = st.lists(st.sampled_from(names), max_size=3, unique=True)
    type_ = st.sampled_from(["object", "object", "object", ["object", "null"], ["object", "integer"], None])
    return st.builds(_object, properties, required, type_, st.sampled_from([None, False]))


def _object(properties: Json, required: list[str], type_: Any, rest: bool | None) -> Json:
    given = {"properties": properties, "required": required or None, "type": type_, "additionalProperties": rest}
    return {keyword: value for keyword, value in given.items() if value is not None}


def objects(names: Sequence[str] = NAMES) -> st.SearchStrategy[Json]:
    """Return schemas of nested objects, arrays and leaves of every type; the outermost one is an object."""
    arrays = LEAVES.map(lambda items: {"type": "array", "items": items})
    inner = st.recursive(LEAVES | arrays, lambda child: _objects(child, names) | _array(child), max_leaves=8)
    return _objects(inner, names).map(lambda schema: {**schema, "type": "object"})


def _array(child: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    return child.map(lambda items: {"type": "array", "items": items})


@st.composite
def histories(draw: st.DrawFn, names: Sequence[str] = NAMES) -> list[JsonSchema]:
    """Return the versions of one model in a random order of addition, each like the one before it, or quite different."""
    schema = draw(objects(names))
    history = [described(schema)]
    for _ in range(draw(st.integers(0, 5))):
        schema = _next(
            copy.deepcopy(schema), draw(objects(names)), draw(st.sampled_from(["some", "all", "required", "none"]))
        )
        history.append(described(schema, str(_number(draw, history))))
    return history


def _next(schema: Json, other: Json, change: str) -> Json:
    if change == "all":
        return other
    if change == "some":
        schema["properties"] = {**schema.get("properties", {}), **other.get("properties", {})}
    if change == "required":
        schema.pop("required", None)
        schema |= {"required": other["required"]} if "required" in other else {}
    return schema


def _number(draw: st.DrawFn, history: list[JsonSchema]) -> SchemaVer:
    known = [schema.key.version for schema in history]
    return draw(st.sampled_from([version for version in allowed_versions(known, Rules()) if version.model == 1]))
