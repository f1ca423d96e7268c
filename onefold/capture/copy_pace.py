"""The pace of copies: how many rows per second they read, and at which hours of the day."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, time
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from onefold.core.errors import InvalidInput
from onefold.mysql.snapshot.chunks import ROWS

_WINDOW = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)(?: (\S+))?")


@dataclass(frozen=True)
class CopyWindow:
    """The hours of each day in which copies read the source. A window whose end is before its begin spans midnight."""

    begin: time
    end: time
    zone: str = "UTC"

    def is_open(self, now: float) -> bool:
        """Return whether copies may read at a time, given in seconds since 1970.

        Examples:
            >>> window = copy_window("22:00-05:00")
            >>> [window.is_open(hour * 3600) for hour in (21, 22, 23, 0, 4, 5)]
            [False, True, True, True, True, False]
        """
        at = datetime.fromtimestamp(now, ZoneInfo(self.zone)).time()
        if self.begin < self.end:
            return self.begin <= at < self.end
        return at >= self.begin or at < self.end

    def __str__(self) -> str:
        return f"{self.begin:%H:%M}-{self.end:%H:%M} {self.zone}"


@dataclass(frozen=True)
class CopyPace:
    """The limits of copies. By default there are none."""

    rate: int | None = None
    """Rows per second."""
    window: CopyWindow | None = None

    @property
    def rows(self) -> int:
        """Return the most rows of a chunk: those of one second, so that a slow rate does not come in bursts."""
        return min(ROWS, self.rate or ROWS)

    def pause(self, rows: int, seconds: float) -> float:
        """Return the seconds to wait behind a chunk.

        Args:
            rows: of the chunk.
            seconds: how long it took to read and publish the chunk.

        Examples:
            >>> CopyPace(rate=100).pause(50, 0.2)
            0.3
            >>> CopyPace().pause(50, 0.2)
            0.0
        """
        return max(0.0, rows / self.rate - seconds) if self.rate else 0.0

    def is_open(self, now: float) -> bool:
        """Return whether copies may read at a time, given in seconds since 1970."""
        return self.window is None or self.window.is_open(now)


def copy_window(text: str) -> CopyWindow:
    """Return the window of a text: `22:00-05:00`, in UTC, or `22:00-05:00 Europe/Berlin`.

    Raises:
        InvalidInput: the text has another form, the zone is not known, or the window has no hours.
    """
    match = _WINDOW.fullmatch(text.strip())
    if not match:
        expected = "expected HH:MM-HH:MM, or HH:MM-HH:MM and a time zone"
        raise InvalidInput(f"{expected}, got {text!r}: write it as in '22:00-05:00' or '22:00-05:00 Europe/Berlin'")
    hour, minute, end_hour, end_minute = (int(part) for part in match.groups()[:4])
    window = CopyWindow(time(hour, minute), time(end_hour, end_minute), match[5] or "UTC")
    if window.begin == window.end:
        raise InvalidInput(f"expected a window that begins and ends at different times, got {text!r}: leave the option out "
                           "to copy at all hours")  # fmt: skip
    try:
        ZoneInfo(window.zone)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise InvalidInput(f"expected a time zone such as Europe/Berlin, got {window.zone!r}: name another one") from error
    return window
