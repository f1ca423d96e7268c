"""The filters of ListBatches that the emulator of Dataproc supports: `=` and `!=`, AND, OR, parentheses.

`create_time` may also be compared with `<`, `<=`, `>` and `>=`.

OR binds more strongly than AND (AIP-160, "Filtering", https://google.aip.dev/160).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from google.cloud import dataproc_v1

Matches = Callable[[dataproc_v1.Batch], bool]

_COMPARISONS: Mapping[str, Callable[[datetime, datetime], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_TOKEN = re.compile(r'\s*(?:(?P<sign>\(|\)|[!<>]=|[=<>])|"(?P<quoted>[^"]*)"|(?P<word>[\w.-]+))')


def parse_filter(text: str) -> Matches:
    """Parse a filter and return a function that tells whether a batch matches.

    Raises:
        ValueError: the filter is invalid, or uses what the emulator does not support.
    """
    if not text.strip():
        return lambda _: True
    parser = _Parser(text)
    matches = parser.conjunction()
    if parser.tokens:
        raise ValueError(f"unexpected {parser.tokens[0]!r} in the filter {text!r}")
    return matches


class _Parser:
    """A recursive descent parser: `conjunction` calls `disjunction`, which calls `comparison`."""

    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        position = 0
        while text[position:].strip():
            match = _TOKEN.match(text, position)
            if not match:
                raise ValueError(f"unexpected {text[position:]!r} in the filter {text!r}")
            # A quoted value keeps its first quote, so that "AND" is a value and AND an operator.
            self.tokens.append(match["sign"] or match["word"] or f'"{match["quoted"]}')
            position = match.end()

    def conjunction(self) -> Matches:
        found = [self.disjunction()]
        while self.take("AND"):
            found.append(self.disjunction())
        return lambda batch: all(matches(batch) for matches in found)

    def disjunction(self) -> Matches:
        found = [self.comparison()]
        while self.take("OR"):
            found.append(self.comparison())
        return lambda batch: any(matches(batch) for matches in found)

    def comparison(self) -> Matches:
        if self.take("("):
            inner = self.conjunction()
            if not self.take(")"):
                raise ValueError("expected `)`, got the end of the filter or another word")
            return inner
        if len(self.tokens) < len(("field", "sign", "value")):
            raise ValueError(f"expected FIELD = VALUE, got {' '.join(self.tokens)!r}")
        field, sign, value = (self.tokens.pop(0) for _ in range(3))
        if field == "create_time":
            return _time_comparison(sign, value.removeprefix('"'))
        read, expected = _reader(field), value.removeprefix('"')
        if sign not in ("=", "!="):
            raise ValueError(f"expected = or !=, got {sign!r}")
        return lambda batch: (read(batch) == expected) == (sign == "=")

    def take(self, token: str) -> bool:
        if self.tokens and self.tokens[0].upper() == token:
            self.tokens.pop(0)
            return True
        return False


def _time_comparison(sign: str, text: str) -> Matches:
    if sign not in _COMPARISONS:
        raise ValueError(f"expected one of {' '.join(_COMPARISONS)}, got {sign!r}")
    compare, time = _COMPARISONS[sign], datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise ValueError(f"expected a time with its zone, as 2026-01-01T00:00:00Z, got {text!r}")
    return lambda batch: compare(dataproc_v1.Batch.pb(batch).create_time.ToDatetime(UTC), time)


def _reader(field: str) -> Callable[[dataproc_v1.Batch], str]:
    known: dict[str, Callable[[dataproc_v1.Batch], str]] = {
        "state": lambda batch: dataproc_v1.Batch.State(batch.state).name,
        "batch_id": lambda batch: batch.name.rpartition("/")[2],
        "batch_uuid": lambda batch: batch.uuid,
    }
    if field.startswith("labels."):
        return lambda batch: batch.labels.get(field.removeprefix("labels."), "")
    if field not in known:
        raise ValueError(f"expected one of the fields {', '.join(known)}, create_time, labels.NAME, got {field!r}")
    return known[field]
