"""INTERVAL between BigQuery's text and its three parts: `bqemulator` loses signs in both directions."""

from __future__ import annotations

import re

_FORM = re.compile(
    r"(?P<sign>-?)(?P<years>\d+)-(?P<months>\d+) (?P<days>-?\d+) "
    r"(?P<clock>-?)(?P<hours>\d+):(?P<minutes>\d+):(?P<seconds>\d+)(?:\.(?P<fraction>\d{1,9}))?"
)
_SECOND = 1_000_000_000


def read_interval(text: str) -> tuple[int, int, int] | None:
    """Months, days and nanoseconds of a text in the whole form, `Y-M D H:M:S.F`; None for another form.

    >>> read_interval("-1-2 -3 -4:5:6")
    (-14, -3, -14706000000000)
    """
    match = _FORM.fullmatch(text.strip())
    if match is None:
        return None
    months = int(match["years"]) * 12 + int(match["months"])
    seconds = (int(match["hours"]) * 60 + int(match["minutes"])) * 60 + int(match["seconds"])
    nanoseconds = seconds * _SECOND + int((match["fraction"] or "").ljust(9, "0"))
    return -months if match["sign"] else months, int(match["days"]), -nanoseconds if match["clock"] else nanoseconds


def write_interval(months: int, days: int, nanoseconds: int) -> str:
    """The text of an INTERVAL, with groups of three digits of a second.

    >>> write_interval(-14, -3, -14706500000000)
    '-1-2 -3 -4:5:6.500'
    """
    seconds, rest = divmod(abs(nanoseconds), _SECOND)
    digits = f"{rest:09d}"
    while digits.endswith("000"):
        digits = digits[:-3]
    years, left = divmod(abs(months), 12)
    clock = f"{seconds // 3600}:{seconds // 60 % 60}:{seconds % 60}{'.' if digits else ''}{digits}"
    return f"{'-' if months < 0 else ''}{years}-{left} {days} {'-' if nanoseconds < 0 else ''}{clock}"
