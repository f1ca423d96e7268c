"""Conversion of INTERVAL between its text in BigQuery and its three parts, where `bqemulator` loses signs."""

from __future__ import annotations

import re

_CANONICAL = re.compile(
    r"(?P<sign>-?)(?P<years>\d+)-(?P<months>\d+) (?P<days>-?\d+) "
    r"(?P<clock>-?)(?P<hours>\d+):(?P<minutes>\d+):(?P<seconds>\d+)(?:\.(?P<fraction>\d{1,9}))?"
)
_NANOSECONDS = 1_000_000_000


def read_interval(text: str) -> tuple[int, int, int] | None:
    """Return months, days and nanoseconds of a text in the canonical form `Y-M D H:M:S.F`; None for another form.

    Examples:
        >>> read_interval("-1-2 -3 -4:5:6")
        (-14, -3, -14706000000000)
    """
    match = _CANONICAL.fullmatch(text.strip())
    if match is None:
        return None
    months = int(match["years"]) * 12 + int(match["months"])
    seconds = (int(match["hours"]) * 60 + int(match["minutes"])) * 60 + int(match["seconds"])
    nanoseconds = seconds * _NANOSECONDS + int((match["fraction"] or "").ljust(9, "0"))
    return -months if match["sign"] else months, int(match["days"]), -nanoseconds if match["clock"] else nanoseconds


def write_interval(months: int, days: int, nanoseconds: int) -> str:
    """Return the text of an INTERVAL. The fraction of a second has 0, 3, 6 or 9 digits.

    Args:
        months: years and months, with one sign.
        days: days with their own sign.
        nanoseconds: the time of day with its own sign.

    Examples:
        >>> write_interval(-14, -3, -14706500000000)
        '-1-2 -3 -4:5:6.500'
    """
    seconds, rest = divmod(abs(nanoseconds), _NANOSECONDS)
    digits = f"{rest:09d}"
    while digits.endswith("000"):
        digits = digits[:-3]
    years, left = divmod(abs(months), 12)
    clock = f"{seconds // 3600}:{seconds // 60 % 60}:{seconds % 60}{'.' if digits else ''}{digits}"
    return f"{'-' if months < 0 else ''}{years}-{left} {days} {'-' if nanoseconds < 0 else ''}{clock}"
