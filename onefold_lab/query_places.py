"""Places in the text of a query, as BigQuery's errors have them."""

from __future__ import annotations

import re


def placed(text: str, sql: str) -> str:
    """Return an error with the place in the statement of the name that it is about, as BigQuery has it.

    Args:
        text: the error.
        sql: the statement as it was written.

    Examples:
        >>> placed("Unrecognized name: nam", "SELECT id, nam")
        'Unrecognized name: nam at [1:12]'
    """
    named = re.search(r"(?:Unrecognized name|Function not found): (\w+)", text)
    found = re.search(rf"\b{named[1]}\b", sql, re.IGNORECASE) if named else None
    if not found or " at [" in text:
        return text
    return f"{text} at [{position(sql, found.start())}]"


def position(sql: str, start: int) -> str:
    """Return line and column of a place in a statement, as `2:5`; both count from 1."""
    before = sql[:start]
    return f"{before.count(chr(10)) + 1}:{start - before.rfind(chr(10))}"
