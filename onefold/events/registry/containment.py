"""What may make a value invalid that was valid: the rules of two JSON Schemas (Draft 4), keyword by keyword."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jsonschema_rs

from onefold.events.registry.json_text import pointer
from onefold.events.registry.leaves import same_json
from onefold.events.registry.subschemas import Json, resolve, subschemas
from onefold.events.registry.validator import PATTERNS, validator_of
from onefold.schema.json_types import TYPES, compact_json

_ANNOTATIONS = frozenset({"title", "description", "default", "$schema", "self", "definitions", "id"})
_BOUNDS = (
    ("string", "minLength", 1), ("string", "maxLength", -1), ("array", "minItems", 1), ("array", "maxItems", -1),
    ("object", "minProperties", 1), ("object", "maxProperties", -1),
)  # fmt: skip
_WHOLE = ("not", "anyOf", "oneOf", "allOf", "dependencies")
"""Keywords that are not looked into: where they differ, it is not decided whether a value stays valid."""


@dataclass(frozen=True)
class Narrowing:
    """A place where a value that was valid may be invalid now.

    Attributes:
        path: the place in the schemas, as a JSON pointer.
        problem: what changed.
        decided: False where a value that became invalid is only possible: the keyword cannot be decided.
    """

    path: str
    problem: str
    decided: bool = True


def narrowings(old: Json, new: Json) -> list[Narrowing]:
    """Return where values may have become invalid; an empty list where each value that was valid stays valid.

    Examples:
        >>> narrowings({"type": "integer"}, {"type": "number"})
        []
        >>> narrowings({"type": "number"}, {"type": "integer"})[0].problem
        'no longer takes number'
    """
    known = {inner["$ref"] for _, inner in subschemas(new) if "$ref" in inner}
    changed = {one for one in known if not _same(resolve(old, one), resolve(new, one))}
    return list(dict.fromkeys(_Comparison(frozenset(changed)).compare(old, new, "")))


def _same(one: Any, other: Any) -> bool:
    return isinstance(one, Mapping) and isinstance(other, Mapping) and same_json(one, other)


@dataclass(frozen=True)
class _Comparison:
    """The comparison of two schemas; `changed` are the references whose targets differ."""

    changed: frozenset[str]

    def compare(self, old: Json, new: Json, path: str) -> Iterator[Narrowing]:
        rules = {keyword: value for keyword, value in new.items() if keyword not in _ANNOTATIONS}
        if not rules:
            return
        if self.changed and any(inner.get("$ref") in self.changed for _, inner in subschemas(new)):
            yield Narrowing(path, "refers to a schema that changed", decided=False)
            return
        if same_json(old, new):
            return
        if "$ref" in old or "$ref" in new:
            if old.get("$ref") != new.get("$ref"):
                yield Narrowing(path + "/$ref", "the reference changed", decided=False)
            return
        if "enum" in old and _are_plain(old, new):
            yield from _of_values(old, new, path)
            return
        yield from self._by_keyword(old, new, path)

    def _by_keyword(self, old: Json, new: Json, path: str) -> Iterator[Narrowing]:
        types = _types(old)
        yield from _of_types(types, _types(new), path)
        if "enum" in new and not _is_part(old.get("enum"), new["enum"]):
            yield Narrowing(path + "/enum", "takes the values of a list only")
        for type_, keyword, sign in _BOUNDS:
            if type_ in types:
                yield from _of_bound(old, new, keyword, sign, path)
        if "string" in types:
            yield from _of_equal(old, new, ("pattern", "format"), path)
        if types & {"number", "integer"}:
            yield from _of_numbers(old, new, types, path)
        if "array" in types:
            yield from self._of_items(old, new, path)
        if "object" in types:
            yield from self._of_object(old, new, path)
        yield from _of_equal(old, new, _WHOLE, path)

    def _of_items(self, old: Json, new: Json, path: str) -> Iterator[Narrowing]:
        if new.get("uniqueItems") and not old.get("uniqueItems"):
            yield Narrowing(path + "/uniqueItems", "takes different items only")
        one, other = old.get("items", {}), new.get("items", {})
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            yield from self.compare(one, other, path + "/items")
        elif other:
            yield from _of_equal(old, new, ("items", "additionalItems"), path)

    def _of_object(self, old: Json, new: Json, path: str) -> Iterator[Narrowing]:
        for name in sorted(set(new.get("required", ())) - set(old.get("required", ()))):
            yield Narrowing(path + "/required", f"{name} is required")
        before, now = old.get("properties", {}), new.get("properties", {})
        for name in sorted(before.keys() | now.keys()):
            place = path + pointer("properties", name)
            if (former := _property(old, name)) is not None:
                yield from self._of_property(former, new, name, place)
        yield from self._of_other_properties(old, new, path)

    def _of_property(self, former: Json, new: Json, name: str, place: str) -> Iterator[Narrowing]:
        """Compare the values of one property; `former` is what the old schema said of them, at least."""
        now = [new["properties"][name]] if name in new.get("properties", {}) else []
        now += [schema for pattern, schema in new.get("patternProperties", {}).items() if _matches(pattern, name)]
        rest = new.get("additionalProperties", True)
        if not now and rest is False:
            yield Narrowing(place, "is not allowed any more")
        elif not now and isinstance(rest, Mapping):
            now = [rest]
        for schema in now:
            yield from self._of_open(former, schema, place)

    def _of_open(self, former: Json, schema: Json, place: str) -> Iterator[Narrowing]:
        found = list(self.compare(former, schema, place))
        if former or not any(one.decided for one in found):
            yield from found
        else:
            advice = "earlier data may hold any value here, unless additionalProperties was false"
            yield Narrowing(place, f"has rules now: {advice}")

    def _of_other_properties(self, old: Json, new: Json, path: str) -> Iterator[Narrowing]:
        """Compare what holds for properties that are not named."""
        rest, now = old.get("additionalProperties", True), new.get("additionalProperties", True)
        patterns, known = new.get("patternProperties", {}), old.get("patternProperties", {})
        if now is False and rest is not False:
            yield Narrowing(path + "/additionalProperties", "other properties are not allowed any more")
        elif isinstance(now, Mapping) and rest is not False:
            yield from self.compare(rest if isinstance(rest, Mapping) else {}, now, path + "/additionalProperties")
        if patterns or known:
            same = _same(patterns, known) and (rest is now or (isinstance(rest, Mapping) and _same(rest, now)))
            if not same and (rest is not False or known):
                yield Narrowing(path + "/patternProperties", "the rules of patterns changed", decided=False)


def _types(schema: Json) -> frozenset[str]:
    named = schema.get("type", TYPES)
    types = frozenset((named,) if isinstance(named, str) else named)
    return types | {"integer"} if "number" in types else types


def _is_part(old: list[Any] | None, new: list[Any]) -> bool:
    return old is not None and all(any(same_json(value, other) for other in new) for value in old)


def _of_types(old: frozenset[str], new: frozenset[str], path: str) -> Iterator[Narrowing]:
    if gone := old - new:
        named = gone - {"integer"} if {"integer", "number"} <= gone else gone
        yield Narrowing(path + "/type", f"no longer takes {', '.join(sorted(named))}")


def _of_bound(old: Json, new: Json, keyword: str, sign: int, path: str) -> Iterator[Narrowing]:
    """Compare a bound on a size: a least one (`sign` 1) may not rise, a greatest one (-1) may not fall."""
    bound = new.get(keyword)
    before = old.get(keyword, 0 if sign > 0 else None)
    if bound is not None and (before is None or sign * bound > sign * before):
        yield Narrowing(f"{path}/{keyword}", f"is {bound}, and was {'open' if before is None else before}")


def _of_numbers(old: Json, new: Json, types: frozenset[str], path: str) -> Iterator[Narrowing]:
    for keyword, exclusive, sign in (("minimum", "exclusiveMinimum", 1), ("maximum", "exclusiveMaximum", -1)):
        if keyword in new and not _is_within(old, new, (keyword, exclusive, sign)):
            yield Narrowing(f"{path}/{keyword}", f"is {new[keyword]}, and was {old.get(keyword, 'open')}")
    if "multipleOf" in new:
        step = Fraction(str(new["multipleOf"]))
        steps = [Fraction(str(old["multipleOf"]))] if "multipleOf" in old else []
        steps += [] if "number" in types else [Fraction(1)]
        if not any((one / step).denominator == 1 for one in steps):
            yield Narrowing(path + "/multipleOf", f"takes multiples of {new['multipleOf']} only")


def _is_within(old: Json, new: Json, names: tuple[str, str, int]) -> bool:
    keyword, exclusive, sign = names
    if keyword not in old:
        return False
    bound, before = Fraction(str(new[keyword])), Fraction(str(old[keyword]))
    if bound == before:
        return not new.get(exclusive) or bool(old.get(exclusive))
    return sign * bound < sign * before


def _of_equal(old: Json, new: Json, keywords: Iterable[str], path: str) -> Iterator[Narrowing]:
    for keyword in keywords:
        if keyword in new and not same_json(new[keyword], old.get(keyword)):
            problem = f"{keyword} changed, and it is not decided what that means for earlier data"
            yield Narrowing(f"{path}/{keyword}", problem, decided=False)


def _of_values(old: Json, new: Json, path: str) -> Iterator[Narrowing]:
    """Judge each value of a list that was valid."""
    try:
        before, now = validator_of(old), validator_of(new)
    except ValueError:  # a keyword whose value the metaschema takes and the validator does not
        yield Narrowing(path + "/enum", "it is not decided which of its values are still valid", decided=False)
        return
    for value in old["enum"]:
        if before.is_valid(value) and not now.is_valid(value):
            yield Narrowing(path + "/enum", f"no longer takes {compact_json(value)[:60]}")


def _are_plain(*schemas: Json) -> bool:
    return not any("$ref" in inner for schema in schemas for _, inner in subschemas(schema))


def _property(schema: Json, name: str) -> Json | None:
    """Return rules that each value of a property meets; None where the property is not allowed."""
    if name in schema.get("properties", {}):
        return dict(schema["properties"][name])
    matching = [rules for pattern, rules in schema.get("patternProperties", {}).items() if _matches(pattern, name)]
    if matching:
        return dict(matching[0])
    rest = schema.get("additionalProperties", True)
    return None if rest is False else dict(rest) if isinstance(rest, Mapping) else {}


@functools.lru_cache(maxsize=1_000)
def _pattern(pattern: str) -> jsonschema_rs.Draft4Validator:
    return jsonschema_rs.Draft4Validator({"pattern": pattern}, pattern_options=PATTERNS)


def _matches(pattern: str, name: str) -> bool:
    return _pattern(pattern).is_valid(name)
