"""Data of any JSON Schema of Draft 4: ordinary values, extreme ones, and values that are not valid.

What is generated for a schema is judged by `jsonschema`, another library than the one that validates events. It honours
types, enumerations, lengths, bounds, `multipleOf`, formats, patterns, items, required and additional properties, references
within the schema, `anyOf` and `oneOf`; for `dependencies` and the like it tries until the judge takes a value.
"""

from __future__ import annotations

import json
import random
import re
import re._constants as code  # type: ignore[import-not-found]
import re._parser as patterns  # type: ignore[import-not-found]
from collections.abc import Collection, Mapping
from functools import cache
from typing import Any

import jsonschema

_TRIES = 200
_FORMATS = {
    "date-time": ["2026-11-23T08:00:00Z", "2026-11-23T08:00:00.123456+02:00",
                   "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.9Z"],
    "date": ["2026-11-23", "0001-01-01", "9999-12-31"],
    "uuid": ["c6ef3124-b53a-4b13-a233-0088f79dcbcb", "C6EF3124-B53A-4B13-A233-0088F79DCBCB"],
    "uri": ["https://acme.com/a?b=c#d", "https://acme.com/" + "a" * 500],
    "email": ["a@acme.com", "a" * 60 + "@acme.com"],
    "hostname": ["acme.com", "a." * 20 + "com"],
    "ipv4": ["10.0.0.1", "255.255.255.255"],
    "ipv6": ["::1", "2001:0db8:85a3:0000:0000:8a2e:0370:7334"],
}  # fmt: skip
"""For each format an ordinary value first, and then extreme ones."""
_WRONG: list[Any] = [None, True, 5, -1.5, 10**30, "wrong", [], [{}], {}, {"wrong": {}}]
_MOST_ITEMS = 3
_OPTIONS = 20


def data_of(chance: random.Random, schema: Mapping[str, Any], extreme: bool = False) -> Any:
    """Return a value that a schema allows: an ordinary one, or one at the ends of what it allows.

    Raises:
        AssertionError: none was found.
    """
    for _ in range(_TRIES):
        value = _Values(chance, schema, extreme).of(schema)
        if not problems(schema, value):
            return value
    raise AssertionError(f"no value found for {json.dumps(schema)[:500]}")


def wrong_data_of(chance: random.Random, schema: Mapping[str, Any]) -> Any:
    """Return a value that a schema does not allow: one place of an ordinary value is exchanged, added or left out.

    Raises:
        AssertionError: none was found.
    """
    for _ in range(_TRIES):
        value = _broken(chance, data_of(chance, schema))
        if problems(schema, value):
            return value
    raise AssertionError(f"every value is allowed by {json.dumps(schema)[:500]}")


def problems(schema: Mapping[str, Any], value: Any) -> list[str]:
    """Return why the judge refuses a value. It is wrong about `multipleOf` of fractions, and is not asked about that."""
    errors = _judge(json.dumps(schema)).iter_errors(value)
    return [error.message for error in errors if error.validator != "multipleOf"]


@cache
def _judge(text: str) -> jsonschema.Draft4Validator:
    return jsonschema.Draft4Validator(json.loads(text))


def _broken(chance: random.Random, value: Any) -> Any:
    if isinstance(value, dict) and value and chance.random() < 0.9:
        name = chance.choice(sorted(value))
        if chance.random() < 0.2:
            return {other: inner for other, inner in value.items() if other != name}
        return {**value, name: _broken(chance, value[name])}
    if isinstance(value, dict) and chance.random() < 0.5:
        return {**value, "not_in_the_schema": 1}
    if isinstance(value, list) and value and chance.random() < 0.5:
        return [_broken(chance, value[0]), *value[1:]]
    return chance.choice(_WRONG)


class _Values:
    def __init__(self, chance: random.Random, root: Mapping[str, Any], extreme: bool) -> None:
        self.chance = chance
        self.root = root
        self.extreme = extreme

    def of(self, schema: Mapping[str, Any], depth: int = 0) -> Any:
        if "$ref" in schema:
            return self.of(self._pointed(schema["$ref"]), depth)
        for keyword in ("oneOf", "anyOf"):
            if keyword in schema:
                return self._of_options(schema, keyword, depth)
        if "enum" in schema:
            return max(schema["enum"], key=lambda one: len(str(one))) if self.extreme else self.chance.choice(schema["enum"])
        named = schema.get("type", ["string", "object"] if depth < 8 else "string")
        type_ = self.chance.choice(named) if isinstance(named, list) else named
        return getattr(self, f"_{type_}")(schema, depth)

    def _of_options(self, schema: Mapping[str, Any], keyword: str, depth: int) -> Any:
        """Return a value of one of several schemas; of several tries one that the judge takes, if there is one."""
        rest = {name: value for name, value in schema.items() if name != keyword}
        whole = {**schema, "definitions": self.root.get("definitions", {})}
        for _ in range(_OPTIONS):
            option = self.chance.choice(schema[keyword])
            others = {name for one in schema[keyword] for name in one.get("required", ())} - {*option.get("required", ())}
            value = self.of(_without(_both(rest, option), others), depth)
            if not problems(whole, value):
                break
        return value

    def _pointed(self, reference: str) -> Mapping[str, Any]:
        value: Any = self.root
        for step in reference.removeprefix("#").split("/")[1:]:
            value = value[step]
        return value  # type: ignore[no-any-return]

    def _object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        properties, required = schema.get("properties", {}), schema.get("required", ())
        share = 0 if depth > 12 else self.chance.choice([1, 1, 0.4]) if self.extreme else 0.7
        optional = [name for name in properties if name not in required]
        count = max(round(share * len(optional)), schema.get("minProperties", 0) - len(required))
        count = min(count, len(optional), schema.get("maxProperties", len(properties)) - len(required))
        wanted = [name for name in required if name in properties] + self.chance.sample(optional, max(count, 0))
        found = {name: self.of(properties[name], depth + 1) for name in wanted}
        for pattern, inner in schema.get("patternProperties", {}).items():
            found[text_of(self.chance, pattern)] = self.of(inner, depth + 1)
        more = schema.get("additionalProperties", True)
        missing = [name for name in required if name not in found]
        missing += [f"more{number}" for number in range(schema.get("minProperties", 0) - len(found))]
        for name in missing:
            found[name] = self.of(more, depth + 1) if isinstance(more, dict) else "a"
        return found

    def _array(self, schema: Mapping[str, Any], depth: int) -> list[Any]:
        least = schema.get("minItems", 0)
        most = max(least, min(schema.get("maxItems", _MOST_ITEMS), _MOST_ITEMS)) if depth < 10 else least
        items = schema.get("items", {"type": ["string", "integer"]})
        if isinstance(items, list):
            return [self.of(one, depth + 1) for one in items]
        return [self.of(items, depth + 1) for _ in range(most if self.extreme else self.chance.randint(least, most))]

    def _string(self, schema: Mapping[str, Any], depth: int) -> str:
        if values := _FORMATS.get(schema.get("format", "")):
            return self.chance.choice(values) if self.extreme else values[0]
        if "pattern" in schema:
            return text_of(self.chance, schema["pattern"])
        least, most = schema.get("minLength", 0), schema.get("maxLength", 4_097)
        if self.extreme:
            length = self.chance.choice([least, most, min(most, 65_536)])
            return str(self.chance.choice(["x", "ü", "😀", '"', "\t", "\\"])) * int(length)
        length = min(max(least, self.chance.randint(1, 12)), most)
        return "".join(self.chance.choice("abc ÄN\\") for _ in range(length))

    def _integer(self, schema: Mapping[str, Any], depth: int) -> int:
        least, most = schema.get("minimum", -(2**63)), schema.get("maximum", 2**63 - 1)
        if self.extreme:
            ends = [least, most, *((2**63, -(2**63) - 1) if "maximum" not in schema and "minimum" not in schema else ())]
            return int(self.chance.choice(ends))
        return self.chance.randint(int(max(least, min(0, most - 9))), int(min(most, max(least, 0) + 9)))

    def _number(self, schema: Mapping[str, Any], depth: int) -> Any:
        least, most = schema.get("minimum", -1e300), schema.get("maximum", 1e300)
        if "multipleOf" in schema:
            return round(self._integer(schema, depth) % 100_000 * schema["multipleOf"], 6) + max(0, -(-least // 1))
        if self.extreme:
            return self.chance.choice([least, most, 0.1 if least <= 0.1 <= most else least])
        return self.chance.choice([one for one in (0, 1, 0.5, -1.5, 7.25) if least <= one <= most] or [least])

    def _boolean(self, schema: Mapping[str, Any], depth: int) -> bool:
        return self.chance.random() < 0.5

    def _null(self, schema: Mapping[str, Any], depth: int) -> None:
        return None


def _both(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rules of two schemas; the second one's replace the first one's but for properties and required names."""
    found = {**one, **other}
    if "properties" in one and "properties" in other:
        names = {**one["properties"], **other["properties"]}
        found["properties"] = {
            name: {**one["properties"].get(name, {}), **other["properties"].get(name, {})} for name in names
        }
    if "required" in one or "required" in other:
        found["required"] = [*one.get("required", ()), *other.get("required", ())]
    return found


def _without(schema: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Return a schema without some properties, unless they are required: another option of the same object has them."""
    properties = schema.get("properties", {}).items()
    kept = {name: one for name, one in properties if name not in names or name in schema.get("required", ())}
    return {**schema, "properties": kept} if properties else dict(schema)


def text_of(chance: random.Random, pattern: str) -> str:
    """Return a text that a regular expression matches."""
    for _ in range(_TRIES):
        text = "".join(_pieces(chance, patterns.parse(pattern)))
        if re.search(pattern, text):
            return text
    raise AssertionError(f"no text found for {pattern}")


def _pieces(chance: random.Random, parsed: Any) -> list[str]:
    found: list[str] = []
    for kind, value in parsed:
        if kind is code.LITERAL:
            found.append(chr(value))
        elif kind is code.ANY:
            found.append(chance.choice("abc"))
        elif kind is code.IN:
            found.append(_one_of(chance, value))
        elif kind in (code.MAX_REPEAT, code.MIN_REPEAT):
            least, most, inner = value
            for _ in range(chance.randint(least, max(least, min(most, least + 2)))):
                found += _pieces(chance, inner)
        elif kind is code.SUBPATTERN:
            found += _pieces(chance, value[-1])
        elif kind is code.BRANCH:
            found += _pieces(chance, chance.choice(value[1]))
        else:
            assert kind is code.AT, kind
    return found


def _one_of(chance: random.Random, choices: list[Any]) -> str:
    kind, value = chance.choice(choices)
    if kind is code.RANGE:
        return chr(chance.randint(*value))
    if kind is code.CATEGORY:
        assert value is code.CATEGORY_DIGIT
        return chance.choice("0123456789")
    return chr(value)
