"""The section of a view's description that Onefold writes: where values can be lost. The rest belongs to people."""

from __future__ import annotations

import re
from collections.abc import Iterable

from onefold.schema.versions import Cast

MAX_DESCRIPTION = 16_384
"""Google Cloud, BigQuery, "Quotas and limits": characters of a table's description."""

_START, _END = "[onefold: conversions that can lose values", "onefold]"
_GAP = "\n\n"
# The pattern matches exactly what `describe` added, so that the text of people stays as it was.
_SECTION = re.compile(rf"(?:{_GAP})?{re.escape(_START)}\n.*?\n{re.escape(_END)}", re.DOTALL)
_MOST_LINES = 50


def describe(existing: str, casts: Iterable[Cast]) -> str:
    """Return a description with its section about losses replaced.

    There is no section where nothing can be lost, or where the text of people leaves no room.

    Args:
        existing: the description as it is.
        casts: the conversions of the view.

    Examples:
        >>> describe("All customers.", [])
        'All customers.'
    """
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
