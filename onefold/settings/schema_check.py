"""The check of YAML by a JSON Schema, and the words of its problems.

The schemas are files beside the code, so that editors use the same ones. Three keywords of a schema make the words better:
`errorMessage` says what is expected, as in some editors; `writeOnly` keeps a value out of the error, because it may be a
password; `description` becomes the reference. The validator is imported by the first check: functions and jobs read the
checked form of onefold.yaml, which needs none.
"""

from __future__ import annotations

import json
import math
import pkgutil
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import reduce
from typing import Any

from onefold.core.problems import Path, Problem
from onefold.core.text import shortened
from onefold.settings.unknown_keys import near_name, not_a_setting
from onefold.settings.yaml_loader import USE_CHECKED_FORM, Document

Schema = dict[str, Any]
Rules = Callable[[Any], Iterable[Problem]]
"""Yields the problems of a content that the schema cannot tell. What the schema has refused is not in the content."""

_READ_AS = {"bool": "true or false", "date": "a date", "datetime": "a time", "float": "a number"}
_NOUNS = {
    "object": "a mapping", "array": "a list", "string": "a text", "integer": "a whole number", "number": "a number",
    "boolean": "true or false",
}  # fmt: skip


def load_schema(name: str) -> Schema:
    """Return a schema of the library.

    Args:
        name: its path within the library, as `settings/onefold.schema.json`.
    """
    schema: Schema = json.loads(pkgutil.get_data("onefold", name) or "")
    return schema


def modeline(name: str) -> str:
    """Return the first line of a draft, by which editors find the schema of a file in the root of a checkout.

    Examples:
        >>> modeline("settings/onefold.schema.json")
        '# yaml-language-server: $schema=onefold/settings/onefold.schema.json'
    """
    return f"# yaml-language-server: $schema=onefold/{name}"


def problems_of(document: Document, schema: Schema, rules: Rules) -> list[Problem]:
    """Return all problems of a document, in the order of its lines.

    Args:
        document: the document as it was read.
        schema: tells structure, types and known keys.
        rules: tell everything else.
    """
    if document.failure:
        return [document.failure]
    each = [document, *document.hidden]
    found = dict.fromkeys(problem for one in each for problem in _problems_of_one(one, schema, rules))
    return sorted(found, key=lambda one: one.line or 0)


def _problems_of_one(document: Document, schema: Schema, rules: Rules) -> list[Problem]:
    """Return the problems of a document without those of its hidden values."""
    found = [*_not_json(document, document.content)]
    content, refused = _as_json(document.content), {one.path for one in found}
    found += (one for one in _schema_problems(content, document, schema) if one.path not in refused)
    refused = {one.path for one in found}
    found += rules(without(content, refused) or {}) if () not in refused else ()
    return [document.located(problem) for problem in (*document.twice, *found)]


def without(value: Any, paths: Collection[Path], at: Path = ()) -> Any:
    """Return a content without the values at some paths.

    Examples:
        >>> without({"a": {"b": 1, "c": 2}, "d": [3, 4]}, {("a", "b"), ("d", 0)})
        {'a': {'c': 2}, 'd': [4]}
    """
    if isinstance(value, dict):
        return {key: without(one, paths, (*at, key)) for key, one in value.items() if (*at, key) not in paths}
    if isinstance(value, list):
        return [without(one, paths, (*at, index)) for index, one in enumerate(value) if (*at, index) not in paths]
    return value


def _as_json(value: Any) -> Any:
    """Return a content without keys that are no names, and with None in place of values that JSON does not have."""
    if isinstance(value, dict):
        return {key: _as_json(one) for key, one in value.items() if _is_name(key)}
    if isinstance(value, list):
        return [_as_json(one) for one in value]
    return None if _why_not_json(value) else value


def _not_json(document: Document, value: Any, at: Path = ()) -> Iterator[Problem]:
    """Yield a problem for each key that is no name, and for each value that JSON does not have, such as a date."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _not_json(document, one, (*at, key)) if _is_name(key) else [_key_problem(document, (*at, key))]
    elif isinstance(value, list):
        for index, one in enumerate(value):
            yield from _not_json(document, one, (*at, index))
    elif reason := _why_not_json(value):
        yield Problem(reason, at)


def _is_name(key: object) -> bool:
    """Return whether a key is a text that UTF-8 can hold."""
    return isinstance(key, str) and not _has_half_pair(key)


def _has_half_pair(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def _key_problem(document: Document, path: Path) -> Problem:
    mark = document.marks.get(path)
    if isinstance(path[-1], str):
        return Problem(
            "expected a key in Unicode, got half of a surrogate pair", path[:-1], line=mark.line if mark else None
        )
    written, line = (mark.key, mark.line) if mark else (None, None)
    text = f"expected a text as key, got {_as_read(path[-1], written)}: put it in quotes"
    return Problem(text, (*path[:-1], written or str(path[-1])), line=line)


def _why_not_json(value: Any) -> str:
    """Return why JSON does not have a value that is no mapping and no list; an empty text where it has."""
    if isinstance(value, str):
        return "expected a text in Unicode, got half of a surrogate pair" if _has_half_pair(value) else ""
    if isinstance(value, float) and value.is_integer():  # a schema takes 1.0 for a whole number
        return f"expected a whole number or a text, got {value}: leave the point out, or put it in quotes"
    if isinstance(value, int | None) or (isinstance(value, float) and math.isfinite(value)):
        return ""
    return f"expected a text, got what YAML reads as {_READ_AS.get(type(value).__name__, 'another value')}: put it in quotes"


def _schema_problems(content: Any, document: Document, schema: Schema) -> Iterator[Problem]:
    try:
        import jsonschema_rs
    except ImportError as error:
        yield Problem(f"cannot be checked: {error}: {USE_CHECKED_FORM}")
        return
    try:
        errors = list(jsonschema_rs.Draft7Validator(schema).iter_errors(content))
    except ValueError:  # "Recursion limit reached"
        yield Problem("cannot be checked: it is nested too deep: settings have a few levels only")
        return
    for found in errors:
        for path in _paths(found, content):
            yield from _problems(found, path, document, schema)


def _paths(error: Any, content: Any) -> list[Path]:
    """Return the paths that an error of the validator may stand for.

    The validator gives a key of digits as a number, as it does the index of a list, and leaves an empty key out.
    """
    found = list(_matching(list(error.instance_path), content))
    return [path for path, value in found if value == error.instance] or [path for path, _ in found]


def _matching(steps: list[str | int], content: Any) -> Iterator[tuple[Path, Any]]:
    """Yield the paths within a content that steps of the validator may stand for, each with its value."""
    if not steps:
        yield (), content
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in items:
        if key == "" or steps[:1] == [key] or _digits(key) == [str(step) for step in steps[:1]]:
            left = steps if key == "" else steps[1:]
            yield from (((key, *path), found) for path, found in _matching(left, value))


def _digits(key: str | int) -> list[str]:
    """Return what the validator makes of a key of digits."""
    return [str(key).removeprefix("+").lstrip("0") or "0"]


def _problems(error: Any, path: Path, document: Document, schema: Schema) -> Iterator[Problem]:
    """Yield the problems that an error of the validator at a path stands for."""
    rule: Schema = reduce(lambda part, step: part[step], list(error.schema_path)[:-1], schema)
    match error.kind.name:
        case "additionalProperties":
            known = rule.get("properties", {})
            for key in error.kind.unexpected:
                place = next(places(schema, schema, key), None)
                note = f" here, but below {place}" if place and not near_name(key, known) else ""
                yield Problem(not_a_setting(key, known, note), (*path, _without_secret(key)))
        case "required":
            missing = resolved(rule["properties"][error.kind.property], schema)
            yield Problem(f"missing; expected {expected(missing)}", (*path, error.kind.property))
        case "propertyNames":
            name = error.kind.error.instance
            yield Problem(f"expected {expected(rule)}, got {shortened(name)}", (*path, name))
        case _:
            mark = document.marks.get(path)
            yield Problem(f"expected {expected(rule)}{_got(error.instance, rule, mark.text if mark else None)}", path)


def _without_secret(key: str) -> str:
    """Return a key that is not known, as far as it is a name: where a blank is missing, a password follows."""
    found = re.match(r"(password|hash_key)(?=[^A-Za-z0-9_-])", key)
    return f"{found[0]}…" if found else key


def resolved(rule: Schema, schema: Schema) -> Schema:
    """Return a rule with what its reference names; its own keywords come first."""
    if "$ref" not in rule:
        return rule
    parts = rule["$ref"].removeprefix("#/").split("/")
    return {**resolved(reduce(lambda part, step: part[step], parts, schema), schema), **rule}


def places(rule: Schema, schema: Schema, key: str, at: Path = ()) -> Iterator[str]:
    """Yield the places of a file at which a key is a setting, as `tables.NAME`."""
    rule = resolved(rule, schema)
    named = rule.get("properties", {})
    if key in named and at:
        yield ".".join(map(str, at))
    for name, inner in named.items():
        yield from places(inner, schema, key, (*at, name))
    if rule.get("additionalProperties"):
        yield from places(rule["additionalProperties"], schema, key, (*at, "NAME"))


def expected(rule: Schema) -> str:
    """Return what a rule of a schema expects.

    Examples:
        >>> expected({"type": "integer", "minimum": 1, "maximum": 366})
        'a whole number from 1 to 366'
        >>> expected({"enum": ["incremental", "full"]})
        'incremental or full'
    """
    if "errorMessage" in rule:
        return str(rule["errorMessage"])
    if "enum" in rule:
        *others, last = map(str, rule["enum"])
        return f"{', '.join(others)} or {last}" if others else last
    nouns = " or ".join(_NOUNS[kind] for kind in kinds(rule))
    if "maximum" in rule:
        return f"{nouns} from {rule['minimum']} to {rule['maximum']}"
    return f"{nouns}, {rule['minimum']} or more" if "minimum" in rule else nouns


def kinds(rule: Schema) -> list[str]:
    """Return the types of JSON that a rule allows, without null."""
    found = rule.get("type", [])
    return [kind for kind in ([found] if isinstance(found, str) else found) if kind != "null"]


def _got(value: Any, rule: Schema, written: str | None) -> str:
    """Return the words for a wrong value; none for a value that may be a password.

    Args:
        value: the value.
        rule: the rule that refuses it.
        written: how it is written in the file; None where it is in quotes, or not known.
    """
    if rule.get("writeOnly"):
        return ""
    if isinstance(value, list | dict):
        return f", got {'a list' if isinstance(value, list) else 'a mapping'}"
    if isinstance(value, str):
        if {*kinds(rule), "object"} <= {"object", "array"} and "enum" not in rule:
            return ", got a text"  # what was meant to be deeper may be a password
        value = re.sub(r".*@", "…@", value) if rule.get("title") == "host" else value
        return f", got {shortened(value)}{near_name(value.lower(), map(str, rule.get('enum', ())))}"
    quotes = value is not None and ("string" in kinds(rule) or written in rule.get("enum", ()))
    return f", got {_as_read(value, written)}{': put it in quotes' if quotes else ''}"


def _as_read(value: object, written: str | None) -> str:
    """Return a value that is not a text, and how it is written where YAML reads something else: `0123` is 83."""
    read = "nothing" if value is None else json.dumps(value, default=str)
    return f"{written}, which YAML reads as {read}" if written and written != read else read
