"""Numbers with their nouns, for people."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """`1 row`, `2,000 rows`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def shortened(name: str) -> str:
    """A name from outside, short enough for a log."""
    return repr(name[:60]) + ("…" if len(name) > 60 else "")
