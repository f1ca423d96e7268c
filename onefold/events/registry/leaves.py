"""The leaves of a schema, which become columns, and the difference between the leaves of two versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from onefold.events.registry.json_text import pointer
from onefold.events.registry.schema_key import snake
from onefold.events.registry.subschemas import Json
from onefold.schema.json_types import allows_null, compact_json, json_types

Path = tuple[str, ...]


@dataclass(frozen=True)
class SchemaLeaf:
    """A value of a schema that has a column of its own.

    Attributes:
        path: the names of the properties that lead to the value.
        schema: the schema of the value.
        nullable: whether the value may be missing or null.
    """

    path: Path
    schema: Json
    nullable: bool


@dataclass(frozen=True)
class LeafChange:
    """A leaf that differs between two versions: `old` is None where it is new, `new` where it is gone."""

    path: Path
    old: SchemaLeaf | None
    new: SchemaLeaf | None


def column_name(path: Path) -> str:
    """Return the name of the column of a path, unless something else has that name.

    Examples:
        >>> column_name(("geoPoint", "lat"))
        'geo_point.lat'
    """
    return ".".join(map(snake, path))


def place_of(path: Path) -> str:
    """Return the place of a leaf in its schema, as a JSON pointer."""
    return "".join(pointer("properties", step) for step in path)


def place_in(schema: Json, path: Path) -> str:
    """Return the place of a path in a schema, as a JSON pointer: unlike leaves, a path of BigQuery leads through arrays.

    Examples:
        >>> place_in({"properties": {"a": {"items": {"properties": {"b": {}}}}}}, ("a", "b"))
        '/properties/a/items/properties/b'
    """
    place, inner = "", schema
    for step in path:
        if "properties" not in inner and isinstance(inner.get("items"), Mapping):
            place, inner = place + pointer("items"), inner["items"]
        place, inner = place + pointer("properties", step), inner.get("properties", {}).get(step, {})
    return place


def is_nested(schema: Json) -> bool:
    """Return whether a schema is an object with properties: these have the columns, then."""
    types = json_types(schema)
    return "$ref" not in schema and bool(schema.get("properties")) and (not types or "object" in types)


def leaves(schema: Json) -> list[SchemaLeaf]:
    """Return the leaves of a schema in the order of its columns: NOT NULL first, then by name.

    Examples:
        >>> fields = {"b": {"type": "string"}, "c": {"type": "object", "properties": {"d": {}}}, "a": {}}
        >>> [leaf.path for leaf in leaves({"type": "object", "properties": fields, "required": ["b"]})]
        [('b',), ('a',), ('c', 'd')]
    """
    return sorted(_below(schema, (), allows_null(schema)), key=leaf_order) if is_nested(schema) else []


def leaf_order(leaf: SchemaLeaf) -> tuple[bool, str, Path]:
    """Return what the columns of one version are sorted by."""
    return leaf.nullable, column_name(leaf.path), leaf.path


def leaf_changes(old: Json | None, new: Json) -> Iterator[LeafChange]:
    """Yield the leaves that differ between two versions. Properties that are equal are not looked into.

    Args:
        old: the earlier version; None where there is none.
        new: the later version.
    """
    after = new if is_nested(new) else {}
    before = old if old is not None and is_nested(old) else {}
    null_before, null_after = null_below(before), null_below(after)
    required_before, required_after = frozenset(before.get("required", ())), frozenset(after.get("required", ()))
    known = before.get("properties", {})
    # Nearly all properties are as before: this loop is what a long history costs.
    for name, schema in after.get("properties", {}).items():
        former = known.get(name)
        was_optional = null_before or name not in required_before
        is_optional = null_after or name not in required_after
        if was_optional != is_optional or former is None or not same_json(former, schema):
            yield from _changes(name, (former, was_optional), (schema, is_optional))
    for name in known.keys() - after.get("properties", {}).keys():
        yield from _changes(name, (known[name], True), (None, True))


def same_json(one: Any, other: Any) -> bool:
    """Return whether two values of JSON are equal; other than for Python, true is not 1.

    Examples:
        >>> same_json({"enum": [True]}, {"enum": [1]}), same_json({"type": "string"}, {"type": "string"})
        (False, True)
    """
    if one != other:
        return False
    # Beside values of enumerations and defaults, a valid schema has no place where both could be.
    if type(one) is dict and _NESTING.isdisjoint(one):
        return "enum" not in one or _same_values(one["enum"], other["enum"])
    return _canonical(one) == _canonical(other)


_NESTING = frozenset({
    "properties", "patternProperties", "items", "additionalItems", "additionalProperties", "allOf", "anyOf", "oneOf", "not",
    "definitions", "dependencies",
})  # fmt: skip
_SCALARS = (str, bool, int, float, type(None))


def _same_values(values: list[Any], others: list[Any]) -> bool:
    """Return whether two lists that are equal for Python are equal JSON; lists of scalars are compared by their types."""
    if all(type(value) is type(other) and isinstance(value, _SCALARS) for value, other in zip(values, others, strict=True)):
        return True
    return _canonical(values) == _canonical(others)


def _canonical(value: Any) -> str:
    """Return a text that is equal for equal JSON: the order of keys, and 1 or 1.0, make no difference."""
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{compact_json(key)}:{_canonical(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_canonical, value)) + "]"
    return compact_json(int(value) if isinstance(value, float) and value.is_integer() else value)


def null_below(schema: Json) -> bool:
    """Return whether the properties of a schema are NULL where its value is null or no object."""
    return allows_null(schema) or bool(json_types(schema) - {"object"})


def _changes(name: str, old: tuple[Json | None, bool], new: tuple[Json | None, bool]) -> Iterator[LeafChange]:
    before, after = _by_path(name, *old), _by_path(name, *new)
    for path in before.keys() | after.keys():
        former, now = before.get(path), after.get(path)
        if not (former and now and former.nullable == now.nullable and same_json(former.schema, now.schema)):
            yield LeafChange(path, former, now)


def _by_path(name: str, schema: Json | None, optional: bool) -> dict[Path, SchemaLeaf]:
    return {leaf.path: leaf for leaf in _leaf_or_below(schema, (name,), optional)} if schema is not None else {}


def _leaf_or_below(schema: Json, path: Path, optional: bool) -> Iterator[SchemaLeaf]:
    nested = is_nested(schema)
    if not nested or json_types(schema) - {"object"}:
        # The column of a union is NULL where the value is an object, whose properties have columns.
        yield SchemaLeaf(path, schema, nested or optional or allows_null(schema))
    if nested:
        yield from _below(schema, path, optional)


def _below(schema: Json, path: Path, optional: bool) -> Iterator[SchemaLeaf]:
    nullable = optional or null_below(schema)
    required = frozenset(schema.get("required", ()))
    for name, child in schema["properties"].items():
        yield from _leaf_or_below(child, (*path, name), nullable or name not in required)
