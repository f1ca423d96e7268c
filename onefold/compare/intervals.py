"""Intervals: the text that BigQuery writes, and the value as which BigQuery's client returns one.

The client makes 838 hours to 34 days and 22 hours, so intervals are compared in that form.
"""

from __future__ import annotations

import re
from decimal import Decimal

from dateutil.relativedelta import relativedelta

_TEXT = re.compile(r"(-?)(\d+)-(\d+) (-?\d+) (-?)(\d+):(\d+):(\d+(?:\.\d+)?)")
_MICROS = 1_000_000


def read_interval(text: str) -> relativedelta:
    """Return the interval that a text of BigQuery means; its months, days and time have signs of their own.

    Examples:
        >>> read_interval("0-0 0 838:59:59") == relativedelta(days=34, hours=22, minutes=59, seconds=59)
        True

    Raises:
        ValueError: the text has another form.
    """
    if not (found := _TEXT.fullmatch(text)):
        raise ValueError(f"{text!r} is not an interval")
    sign, years, months, days, minus, hours, minutes, seconds = found.groups()
    time = (int(hours) * 60 + int(minutes)) * 60 * _MICROS + int(Decimal(seconds) * _MICROS)
    parts = {"years": int(f"{sign}{years}"), "months": int(f"{sign}{months}"), "days": int(days)}
    return relativedelta(**parts, microseconds=-time if minus else time)  # type: ignore[no-untyped-call]


def interval_text(value: relativedelta) -> str:
    """Return the text that BigQuery makes of an interval whose hours are less than a day.

    Examples:
        >>> interval_text(relativedelta(months=-1, days=3, minutes=-1))
        '-0-1 3 -0:1:0'
    """
    months = 12 * value.years + value.months
    micros = ((value.hours * 60 + value.minutes) * 60 + value.seconds) * _MICROS + value.microseconds
    seconds, fraction = divmod(abs(micros), _MICROS)
    shown = f".{fraction:06}".removesuffix("000") if fraction else ""
    time = f"{seconds // 3600}:{seconds // 60 % 60}:{seconds % 60}{shown}"
    dates = f"{'-' if months < 0 else ''}{abs(months) // 12}-{abs(months) % 12}"
    return f"{dates} {value.days} {'-' if micros < 0 else ''}{time}"
