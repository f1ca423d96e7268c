"""Evaluates filters of Cloud Logging over entries, as far as infra/ uses the language.

Honoured: comparisons `path = value`, `path =~ "regular expression"`, `path >= value` (of severities alone),
`path > number` (of numbers alone) and `path:*` (the field is there); AND, OR, NOT and parentheses, where OR binds closer
than AND, as in Cloud Logging; quoted parts of a path.
Anything else is a ValueError.
https://cloud.google.com/logging/docs/view/logging-query-language
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

Entry = Mapping[str, Any]
Test = Callable[[Entry], bool]

SEVERITIES = ("DEFAULT", "DEBUG", "INFO", "NOTICE", "WARNING", "ERROR", "CRITICAL", "ALERT", "EMERGENCY")
_TOKEN = re.compile(r'\s*(?:(?P<mark>[()])|(?P<operator>=~|>=|>|=|:)|(?P<text>"(?:[^"\\]|\\.)*")|(?P<word>[\w*.]+))')
_MISSING = object()


def matches(filter_: str, entry: Entry) -> bool:
    """Return whether the entry passes the filter."""
    parser = _Parser(filter_)
    test = parser.conjunction()
    if parser.rest:
        raise ValueError(f"expected the end of the filter, got {parser.rest}")
    return test(entry)


def value_at(entry: Entry, path: tuple[str, ...]) -> Any:
    found: Any = entry
    for part in path:
        if not isinstance(found, Mapping) or part not in found:
            return _MISSING
        found = found[part]
    return found


class _Parser:
    def __init__(self, text: str) -> None:
        self.rest: list[tuple[str, str]] = []
        place = 0
        while place < len(text.rstrip()):
            found = _TOKEN.match(text, place)
            if not found:
                raise ValueError(f"unknown part of a filter: {text[place:]}")
            self.rest.append((str(found.lastgroup), str(found[str(found.lastgroup)])))
            place = found.end()

    def conjunction(self) -> Test:
        tests = [self._disjunction()]
        while self._skip("AND"):
            tests.append(self._disjunction())
        return lambda entry: all(test(entry) for test in tests)

    def _disjunction(self) -> Test:
        tests = [self._negation()]
        while self._skip("OR"):
            tests.append(self._negation())
        return lambda entry: any(test(entry) for test in tests)

    def _negation(self) -> Test:
        if self._skip("NOT"):
            test = self._negation()
            return lambda entry: not test(entry)
        if self._skip("("):
            test = self.conjunction()
            if not self._skip(")"):
                raise ValueError("expected a closing parenthesis")
            return test
        return self._comparison()

    def _comparison(self) -> Test:
        path = self._path()
        kind, operator = self._next()
        if kind != "operator":
            raise ValueError(f"expected an operator after {path}, got {operator}")
        kind, value = self._next()
        return _comparison(path, operator, _unquoted(value) if kind == "text" else value)

    def _path(self) -> tuple[str, ...]:
        parts: list[str] = []
        while self.rest and self.rest[0][0] in ("word", "text"):
            kind, text = self._next()
            parts += [_unquoted(text)] if kind == "text" else [part for part in text.split(".") if part]
        return tuple(parts)

    def _skip(self, token: str) -> bool:
        if self.rest and self.rest[0][0] != "text" and self.rest[0][1] == token:
            self.rest.pop(0)
            return True
        return False

    def _next(self) -> tuple[str, str]:
        if not self.rest:
            raise ValueError("the filter ends in the middle of a comparison")
        return self.rest.pop(0)


def _comparison(path: tuple[str, ...], operator: str, value: str) -> Test:
    if operator == ":" and value == "*":
        return lambda entry: value_at(entry, path) is not _MISSING
    if operator == "=~":
        pattern = re.compile(value)
        return lambda entry: bool(pattern.search(_text(value_at(entry, path))))
    if operator == ">=" and path == ("severity",):
        least = SEVERITIES.index(value)
        return lambda entry: SEVERITIES.index(entry.get("severity", "DEFAULT")) >= least
    if operator == ">":
        return lambda entry: isinstance(found := value_at(entry, path), int | float) and found > float(value)
    if operator == "=":
        return lambda entry: _text(value_at(entry, path)).casefold() == value.casefold()
    raise ValueError(f"no such comparison here: {'.'.join(path)} {operator} {value}")


def _unquoted(text: str) -> str:
    """The content of a quoted text; a backslash before anything but a quote is the regular expression's."""
    return text[1:-1].replace('\\"', '"')


def _text(value: Any) -> str:
    """A value as the filter writes it; no value equals one that is missing."""
    if value is _MISSING:
        return "\0missing"
    return value if isinstance(value, str) else json.dumps(value)
