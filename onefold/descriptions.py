"""What Onefold adds to a view's description: where values can be lost. The rest of the text belongs to people."""

from __future__ import annotations

import re
from collections.abc import Iterable

from onefold.versions import Cast

_START, _END = "[onefold: conversions that can lose values", "onefold]"
_SECTION = re.compile(rf"\n*{re.escape(_START)}.*?{re.escape(_END)}", re.DOTALL)
_MOST_LINES = 50


def describe(existing: str, casts: Iterable[Cast]) -> str:
    """The existing description with our section replaced: none where nothing can be lost."""
    people = _SECTION.sub("", existing)
    lines = list(dict.fromkeys(f"- {cast.column}: {loss}" for cast in casts for loss in cast.losses))
    if not lines:
        return people
    more = [f"- and {len(lines) - _MOST_LINES} more: see `onefold plan`"] if len(lines) > _MOST_LINES else []
    section = "\n".join([_START, *lines[:_MOST_LINES], *more, _END])
    return f"{people}\n\n{section}" if people else section
