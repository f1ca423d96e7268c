"""What Onefold adds to a view's description: where values can be lost. The rest of the text belongs to people."""

from __future__ import annotations

import re
from collections.abc import Iterable

from onefold.schema.versions import Cast

MAX_DESCRIPTION = 16_384
"""BigQuery, "Quotas and limits": characters of a table's description."""

_START, _END = "[onefold: conversions that can lose values", "onefold]"
_GAP = "\n\n"
# Exactly what `describe` added, so that the text of people comes out as it went in.
_SECTION = re.compile(rf"(?:{_GAP})?{re.escape(_START)}\n.*?\n{re.escape(_END)}", re.DOTALL)
_MOST_LINES = 50


def describe(existing: str, casts: Iterable[Cast]) -> str:
    """The existing description with our section replaced: none where nothing can be lost, or where people left no room."""
    people = _SECTION.sub("", existing)
    lines = list(dict.fromkeys(f"- {cast.column}: {loss}" for cast in casts for loss in cast.losses))
    gap = _GAP if people else ""
    for shown in range(min(len(lines), _MOST_LINES), 0, -1):
        section = _section(lines, shown)
        if len(people) + len(gap) + len(section) <= MAX_DESCRIPTION:
            return f"{people}{gap}{section}"
    return people


def _section(lines: list[str], shown: int) -> str:
    more = [f"- and {len(lines) - shown} more: see `onefold plan`"] if len(lines) > shown else []
    return "\n".join([_START, *lines[:shown], *more, _END])
