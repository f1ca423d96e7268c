"""Lines of rows, told apart by their day: a load job that replaces a day takes the rows of no other day."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import date

# Within a text a quotation mark is escaped, no column of a source is named like the day, and documents come behind it.
_DAY = re.compile(rb'"_day":"([0-9]{4}-[0-9]{2}-[0-9]{2})"')


def lines_by_day(lines: bytes, days: Collection[date]) -> dict[date | None, bytes]:
    r"""Return the lines of each of some days, and those of all other days under None.

    Args:
        lines: whole lines, as `onefold.extract.rows.json_line` writes them, with their line breaks.
        days: the days that are told apart.

    Examples:
        >>> lines_by_day(b'{"_day":"2026-05-03"}\n{"_day":"2026-05-04"}\n', [date(2026, 5, 3)])
        {datetime.date(2026, 5, 3): b'{"_day":"2026-05-03"}\n', None: b'{"_day":"2026-05-04"}\n'}

    Raises:
        ValueError: a line has no day.
    """
    by_text = {day.isoformat().encode(): day for day in days}
    found: dict[date | None, list[bytes]] = {}
    for line in lines.splitlines(keepends=True):
        match = _DAY.search(line)
        if match is None:
            raise ValueError("a line has no day")
        found.setdefault(by_text.get(match[1]), []).append(line)
    return {day: b"".join(some) for day, some in found.items()}
