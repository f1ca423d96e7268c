"""JSON texts, read strictly: what two readers could understand differently is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from onefold.core.errors import SchemaInvalid, Violation
from onefold.core.text import shortened

MAX_DEPTH = 50
"""Levels of objects and arrays; a property takes two. BigQuery allows 15 levels of structs."""
MAX_DIGITS = 100
"""Digits of a number: no warehouse holds more, and parsers differ beyond."""
SHALLOWER = f"nest at most {MAX_DEPTH} levels"


def read_json(text: str | bytes) -> Any:
    """Return the value of a JSON text.

    Raises:
        SchemaInvalid: the text is not JSON, or two parsers could read it differently; the error lists all violations.
    """
    violations: list[Violation] = []
    try:
        value = json.loads(
            text.decode() if isinstance(text, bytes) else text,
            object_pairs_hook=lambda pairs: _object(pairs, violations),
            parse_constant=lambda name: violations.append(_no_number(name)),
            parse_int=lambda digits: _number(int, digits, violations),
            parse_float=lambda digits: _number(float, digits, violations),
        )
    except RecursionError:
        raise SchemaInvalid([Violation("", "nested too deep", SHALLOWER)]) from None
    except UnicodeDecodeError as error:
        raise SchemaInvalid(
            [Violation("", f"not UTF-8: {error.reason} at byte {error.start}", "save it as UTF-8")]
        ) from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}"
        raise SchemaInvalid([Violation("", f"not JSON: {error.msg} at {place}", "correct the text")]) from None
    violations += value_violations(value)
    if violations:
        raise SchemaInvalid(violations)
    return value


def is_json(data: bytes) -> bool:
    """Return whether data is a JSON text, of any depth."""
    try:
        json.loads(data.decode())
    except RecursionError:
        return True
    except ValueError:
        return False
    return True


def value_violations(value: Any) -> list[Violation]:
    """Return what JSON cannot hold, or no schema should, in a value: its depth, infinite numbers, broken text."""
    depth, level = 0, [("", value)]
    found: list[Violation] = []
    while level:
        depth += 1
        if depth > MAX_DEPTH and any(isinstance(inner, dict | list) for _, inner in level):
            return [*found, Violation("", f"nested deeper than {MAX_DEPTH} levels", SHALLOWER)]
        found += [violation for path, inner in level for violation in _own_violations(path, inner)]
        level = [child for path, inner in level for child in _children(path, inner)]
    return found


def pointer(*steps: str | int) -> str:
    """Return a JSON pointer (RFC 6901).

    Examples:
        >>> pointer("properties", "a/b", "enum", 0)
        '/properties/a~1b/enum/0'
    """
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


def _children(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from ((path + pointer(key), inner) for key, inner in value.items())
    elif isinstance(value, list):
        yield from ((path + pointer(index), inner) for index, inner in enumerate(value))


def _own_violations(path: str, value: Any) -> Iterator[Violation]:
    if isinstance(value, float) and not math.isfinite(value):
        yield _no_number(str(value), path)
    texts = value if isinstance(value, dict) else [value] if isinstance(value, str) else []
    for text in texts:
        if not isinstance(text, str):
            yield Violation(path, f"the key {text!r} is not text", "use text as key")
        elif any("\ud800" <= character <= "\udfff" for character in text):
            yield Violation(_readable(path), f"{text!a} holds half a surrogate pair", "write the whole character")


def _readable(path: str) -> str:
    return path.encode("utf-8", "backslashreplace").decode()


def _object(pairs: list[tuple[str, Any]], violations: list[Violation]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = sorted({key for key in keys if keys.count(key) > 1}) if len(keys) < 10_000 else ["a key"]
        violations.extend(Violation("", f"{shortened(key)} stands twice in one object", "keep one of them") for key in twice)
    return found


def _number(kind: type[int] | type[float], digits: str, violations: list[Violation]) -> int | float:
    if len(digits) > MAX_DIGITS or not math.isfinite(float(digits)):
        violations.append(_no_number(digits))
        return 0
    return kind(digits)


def _no_number(text: str, path: str = "") -> Violation:
    return Violation(path, f"{shortened(text)} is no number that JSON parsers agree on", "use a smaller, finite number")
