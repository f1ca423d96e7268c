"""The types that a sentence names, as far as they may hold fields."""

from __future__ import annotations

import re
from collections.abc import Iterator

from onefold.schema.types import Type, parse_landed_type

_START = re.compile(r"\b(?:(?:ARRAY|STRUCT)<|JSON\b)")
_BRACKETS = re.compile(r"`(?:[^`\\]|\\.)*`|[<>]", re.DOTALL)


def types_in(text: str) -> Iterator[Type]:
    """Yield the structs, arrays and JSON that a text names, each as a whole.

    Raises:
        InvalidType: a struct or array has no end, as in a text that was cut.

    Examples:
        >>> [str(one) for one in types_in("INT64 -> ARRAY<STRUCT<zip STRING>>: a struct of JSON is kept")]
        ['ARRAY<STRUCT<zip STRING>>', 'JSON']
    """
    at = 0
    while found := _START.search(text, at):
        at = _end(text, found.start()) if found[0].endswith("<") else found.end()
        yield parse_landed_type(text[found.start() : at])


def _end(text: str, start: int) -> int:
    """Return the place behind the bracket that closes the first one; the end of the text where it stays open."""
    depth = 0
    for bracket in _BRACKETS.finditer(text, start):
        depth += {"<": 1, ">": -1}.get(bracket[0], 0)
        if depth == 0 and bracket[0] == ">":
            return bracket.end()
    return len(text)
