"""The label that tells when the versions were created that a view reads, and so whether a table is one that was read.

A label has no room for the time of each version. It holds the newest time, and the newest time that had settled when the
metadata were read: the metadata certainly showed a table as it is only if the table is not newer than that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from onefold.core.errors import TryAgain
from onefold.core.names import TableId
from onefold.ports.warehouse import Warehouse
from onefold.schema.versions import Version

LAG = timedelta(hours=1)
"""How long after its creation the metadata may still show the former table of that name."""

_LABEL = re.compile(r"(?:([0-9]+)-)?([0-9]+)", re.ASCII)


def milliseconds(time: datetime) -> int:
    """Return the whole milliseconds since 1970, the unit in which `tables.get` tells a table's creation."""
    return (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def creations_label(versions: Sequence[Version], read_at: datetime) -> str | None:
    """Return the label of versions that were read after this time; None where the time of a version is not known.

    The label is `NEWEST`; or `SETTLED-NEWEST` where versions were created so shortly before that the metadata may be late.

    Examples:
        >>> from datetime import UTC, datetime
        >>> creations_label([Version("a", (), datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))], datetime(2024, 1, 1, tzinfo=UTC))
        '1000'
    """
    times = [milliseconds(version.created) for version in versions if version.created]
    if len(times) < len(versions) or not times:
        return None
    newest = max(times)
    settled = max((time for time in times if time <= milliseconds(read_at - LAG)), default=0)
    return str(newest) if settled == newest else f"{settled}-{newest}"


def was_read(label: str, created: datetime) -> bool:
    """Return whether a table of a covered version, created at that time, is the table that was read.

    The newest creation is known to the millisecond; an older one must have settled. A label of another form says nothing.
    """
    if (times := _times(label)) is None:
        return False
    settled, newest = times
    return milliseconds(created) <= settled or milliseconds(created) == newest


def still_holds(label: str, new: str) -> bool:
    """Return whether a label need not be written again: the new one differs at most in what has settled since."""
    old_times, new_times = _times(label), _times(new)
    if old_times is None or new_times is None:
        return False
    return old_times[0] <= new_times[0] and old_times[1] == new_times[1]


def check_shown(
    warehouse: Warehouse, table: TableId, version: str, found: tuple[Version, ...], created: datetime | None
) -> None:
    """Check that the metadata show a table. A table that does not exist was dropped again, which is no error.

    Raises:
        TryAgain: the table exists, and the metadata do not show it yet, or still show the former table of its name.
    """
    shown = next((known for known in found if known.id == version), None)
    if shown is None and (created or warehouse.has_table(table)):
        raise TryAgain(f"{table} exists, but the dataset's metadata do not show it yet: try again in a minute")
    if shown and shown.created and created and milliseconds(shown.created) < milliseconds(created):
        raise TryAgain(
            f"{table} was created again, but the dataset's metadata still show the former table: try again in a minute"
        )


def _times(label: str) -> tuple[int, int] | None:
    match = _LABEL.fullmatch(label)
    return (int(match[1] or match[2]), int(match[2])) if match else None
