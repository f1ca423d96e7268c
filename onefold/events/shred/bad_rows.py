"""Bad rows: events that failed, with every reason and the original, which is accepted as input again."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Literal, NamedTuple, get_args

from onefold.core.errors import InvalidInput

Kind = Literal["unreadable", "invalid", "unknown_schema", "newer_version", "does_not_fit", "no_table"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""unreadable: the record is not an event of its input form.
invalid: a value that its schema, or the event, does not allow.
unknown_schema: the registry had no schema of this vendor, name and format at the start of the run, or cannot use it.
newer_version: the registry had the schema, and not this version of it.
does_not_fit: a column cannot hold the value exactly.
no_table: the warehouse would refuse the table of the schema."""
_FIELDS = frozenset({"kind", "reasons", "original"})
FIRST_KEY = '{"kind":'
"""The beginning of each bad row."""


class EventProblem(NamedTuple):
    """One reason why an event is bad."""

    kind: Kind
    reason: str


class BadEvent(InvalidInput):
    """An event of which nothing becomes a row."""

    def __init__(self, problems: list[EventProblem]) -> None:
        self.found = problems
        super().__init__([problem.reason for problem in problems])


def reasons_of(problems: Iterable[EventProblem]) -> tuple[str, ...]:
    """Return the reasons of problems, each once."""
    return tuple(dict.fromkeys(problem.reason for problem in problems))


class BadRow(NamedTuple):
    """An event that failed.

    Attributes:
        kind: the kind of the first reason.
        reasons: every reason, those of all entities included.
        original: the record as it was read.
    """

    kind: Kind
    reasons: tuple[str, ...]
    original: str

    def to_json(self) -> str:
        r"""Return the bad row as one line of JSON, without a line break.

        Examples:
            >>> print(BadRow("invalid", ("id is missing",), "a\tb").to_json())
            {"kind":"invalid","reasons":["id is missing"],"original":"a\tb"}
        """
        text = json.dumps(self._asdict(), ensure_ascii=False, separators=(",", ":"))
        # Half a surrogate pair has no bytes of UTF-8, but an escape of JSON.
        return text if text.isascii() or _has_bytes(text) else json.dumps(self._asdict(), separators=(",", ":"))


def original_of(record: str) -> str:
    """Return the original of a bad row; any other record as it is.

    Examples:
        >>> original_of(BadRow("invalid", ("wrong",), "the event").to_json()), original_of("the event")
        ('the event', 'the event')
    """
    while record.startswith(FIRST_KEY):
        try:
            found = json.loads(record)
        except (ValueError, RecursionError):
            break
        if found.keys() != _FIELDS or not isinstance(found["original"], str):
            break
        record = found["original"]
    return record


def _has_bytes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
