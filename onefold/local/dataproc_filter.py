"""The filters of ListBatches, as far as the stand-in for Dataproc knows them: `=` and `!=`, AND, OR, parentheses.

OR binds more strongly than AND (https://google.aip.dev/160).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from google.cloud import dataproc_v1

Matches = Callable[[dataproc_v1.Batch], bool]

_TOKEN = re.compile(r'\s*(?:(?P<sign>\(|\)|!=|=)|"(?P<quoted>[^"]*)"|(?P<word>[\w.-]+))')


def parse_filter(text: str) -> Matches:
    """Raises ValueError for what is no filter, or one that is not known here."""
    if not text.strip():
        return lambda _: True
    parser = _Parser(text)
    matches = parser.both()
    if parser.tokens:
        raise ValueError(f"{parser.tokens[0]!r} is not understood in {text!r}")
    return matches


class _Parser:
    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        place = 0
        while text[place:].strip():
            match = _TOKEN.match(text, place)
            if not match:
                raise ValueError(f"{text[place:]!r} is not understood")
            self.tokens.append(match["sign"] or match["word"] or f'"{match["quoted"]}')
            place = match.end()

    def both(self) -> Matches:
        found = [self.either()]
        while self.take("AND"):
            found.append(self.either())
        return lambda batch: all(matches(batch) for matches in found)

    def either(self) -> Matches:
        found = [self.one()]
        while self.take("OR"):
            found.append(self.one())
        return lambda batch: any(matches(batch) for matches in found)

    def one(self) -> Matches:
        if self.take("("):
            inner = self.both()
            if not self.take(")"):
                raise ValueError("a `)` is missing")
            return inner
        if len(self.tokens) < len(("field", "sign", "value")):
            raise ValueError("write FIELD = VALUE")
        field, sign, value = (self.tokens.pop(0) for _ in range(3))
        read, wanted = _reader(field), value.removeprefix('"')
        if sign not in ("=", "!="):
            raise ValueError(f"{sign!r} is no comparison that is known here: = or !=")
        return lambda batch: (read(batch) == wanted) == (sign == "=")

    def take(self, token: str) -> bool:
        if self.tokens and self.tokens[0].upper() == token:
            self.tokens.pop(0)
            return True
        return False


def _reader(field: str) -> Callable[[dataproc_v1.Batch], str]:
    known: dict[str, Callable[[dataproc_v1.Batch], str]] = {
        "state": lambda batch: dataproc_v1.Batch.State(batch.state).name,
        "batch_id": lambda batch: batch.name.rpartition("/")[2],
        "batch_uuid": lambda batch: batch.uuid,
    }
    if field.startswith("labels."):
        return lambda batch: batch.labels.get(field.removeprefix("labels."), "")
    if field not in known:
        raise ValueError(f"{field!r} is no field that is known here: {', '.join(known)}, labels.NAME")
    return known[field]
