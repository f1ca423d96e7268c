"""What a view's label says of the creation of the versions that it reads: whether a table is one of those that were read.

A label has no room for the time of each version. It holds the newest one, and the newest of those that had settled when the
metadata were read: only then a table that is older than another one was certainly shown as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from onefold.schema.versions import Version

LAG = timedelta(hours=1)
"""How long after its creation the metadata may still show the former table of that name."""

_LABEL = re.compile(r"(?:([0-9]+)-)?([0-9]+)", re.ASCII)


def milliseconds(time: datetime) -> int:
    """Return the whole milliseconds since 1970, the unit in which `tables.get` tells a table's creation."""
    return (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def creations_label(versions: Sequence[Version], read_at: datetime) -> str | None:
    """Return the label of versions that were read after this time; None where the time of one is not known.

    It is `NEWEST`, or `SETTLED-NEWEST` where some were created so shortly before that others may be shown as they were.
    """
    times = [milliseconds(version.created) for version in versions if version.created]
    if len(times) < len(versions) or not times:
        return None
    newest = max(times)
    settled = max((time for time in times if time <= milliseconds(read_at - LAG)), default=0)
    return str(newest) if settled == newest else f"{settled}-{newest}"


def was_read(label: str, created: datetime) -> bool:
    """Return whether a table of a covered version, created then, is the one that was read; not where the label is no label.

    The newest creation is known to the millisecond; what is older must have settled.
    """
    if (times := _times(label)) is None:
        return False
    settled, newest = times
    return milliseconds(created) <= settled or milliseconds(created) == newest


def still_holds(label: str, new: str) -> bool:
    """Return whether a label needs no writing: the new one differs at most in what has settled since."""
    old_times, new_times = _times(label), _times(new)
    if old_times is None or new_times is None:
        return False
    return old_times[0] <= new_times[0] and old_times[1] == new_times[1]


def _times(label: str) -> tuple[int, int] | None:
    match = _LABEL.fullmatch(label)
    return (int(match[1] or match[2]), int(match[2])) if match else None
