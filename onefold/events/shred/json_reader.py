"""JSON of events, read exactly: no number loses a digit, and no key stands twice in one object.

orjson is fast, reads integers beyond 64 bits as floats, and takes the last of two equal keys. So a text in which one of
these is possible is read again by the slower reader of the standard library.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal, InvalidOperation
from typing import Any

import orjson

MAX_DIGITS = 100
"""The characters of a number; no warehouse holds more, and parsers differ beyond."""
MAX_LEVELS = 254
"""Levels of objects and arrays; the fast reader writes no more."""
_MAX_EXPONENT = 400
_DIGITS = bytes.maketrans(b"123456789.", b"0000000000")
HALF_A_PAIR = "a text has half a surrogate pair: write the whole character"
_UNUSUAL = (b" :", b"\t:", b"\r:", b"\n:", b"\\u0022", b"\\u003")
"""What would hide a key from the count of keys: a space before the colon, and escapes of quotes and colons."""
_TINY = re.compile(rb"[eE]-[0-9]{3}")
"""An exponent with which a double has few digits, or none: 1e-400 is 0.0."""
_MANY_DIGITS = b"0" * 16
# What may be a number that a double or 64 bits do not hold: shorter ones are written as they were read.
_LONG_NUMBER = re.compile(rb"[0-9][0-9.]{15,}(?:[eE][+-]?[0-9]+)?")


class Unreadable(ValueError):
    """A text that is not JSON, or that two parsers could read differently."""


def read_json(text: str) -> Any:
    """Return the value of a JSON text.

    A number with a fraction that a float does not give back digit by digit is a Decimal.

    Examples:
        >>> read_json('{"a": 12345678901234567890123, "b": [1.0, 0.12345678901234567890]}')
        {'a': 12345678901234567890123, 'b': [1.0, Decimal('0.12345678901234567890')]}

    Raises:
        Unreadable: the text is not JSON, has a key twice in one object, or a number that is too long.
    """
    try:
        source = text.encode()
    except UnicodeEncodeError:
        raise Unreadable(HALF_A_PAIR) from None
    try:
        value = orjson.loads(source)
    except ValueError:
        return _read_slowly(text)
    return value if _is_exact(source, value) else _read_slowly(text)


def _is_exact(source: bytes, value: Any) -> bool:
    """Return whether the fast reader lost nothing: written again, the value has the same keys and the same numbers."""
    try:
        written = orjson.dumps(value)
    except TypeError:  # deeper than orjson writes
        return False
    if written == source:
        return True
    if any(unusual in source for unusual in _UNUSUAL):
        return False
    return source.count(b'":') == written.count(b'":') and _has_same_numbers(source, written)


def _has_same_numbers(source: bytes, written: bytes) -> bool:
    if _TINY.search(source):
        return False
    if _MANY_DIGITS not in source.translate(_DIGITS):
        return True
    return all(source.count(number) == written.count(number) for number in _LONG_NUMBER.findall(source))


def _read_slowly(text: str) -> Any:
    try:
        value = json.loads(
            text, object_pairs_hook=_object, parse_constant=_constant, parse_int=_integer, parse_float=_fraction
        )
        json.dumps(value, ensure_ascii=False, default=str).encode()
    except json.JSONDecodeError as error:
        raise Unreadable(f"not JSON: {error.msg} at character {error.pos + 1:,}") from None
    except RecursionError:
        raise Unreadable(f"nested deeper than {MAX_LEVELS} levels") from None
    except UnicodeEncodeError:
        raise Unreadable(HALF_A_PAIR) from None
    if _levels(value) > MAX_LEVELS:
        raise Unreadable(f"nested deeper than {MAX_LEVELS} levels")
    return value


def _levels(value: Any) -> int:
    level, levels = [value], 0
    while level := [one for one in level if isinstance(one, dict | list)]:
        levels += 1
        level = [inner for one in level for inner in (one.values() if isinstance(one, dict) else one)]
    return levels


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise Unreadable(f"the key {twice[:60]!a} stands twice in one object")
    return found


def _constant(name: str) -> Any:
    raise Unreadable(f"{name} is not a number of JSON")


def _integer(digits: str) -> int:
    return int(_checked(digits))


def _fraction(digits: str) -> float | Decimal:
    try:
        exact = Decimal(_checked(digits))
    except InvalidOperation:
        exact = Decimal("Infinity")
    if not exact.is_finite() or abs(exact.adjusted()) > _MAX_EXPONENT:
        raise Unreadable(f"the number {digits[:60]} is too large or too small")
    near = float(exact)
    return near if Decimal(repr(near)) == exact else exact


def _checked(digits: str) -> str:
    if len(digits) > MAX_DIGITS:
        raise Unreadable(f"the number {digits[:60]} has more than {MAX_DIGITS} characters")
    return digits
