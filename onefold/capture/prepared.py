"""XA transactions that are prepared: their rows are in the log, and nobody knows yet whether they count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from onefold.capture.information_schema import TableName
from onefold.capture.log_events import Place

_MANY = 1_000
_MERGED = ""
"""Stands for more transactions than are kept: the oldest of them, with all of their tables."""


@dataclass(frozen=True)
class Prepared:
    """A transaction that is neither committed nor rolled back."""

    xid: str
    place: Place
    """Before all of its rows."""
    timestamp: int
    """When it was prepared, in seconds."""
    tables: frozenset[TableName]
    """Those captured that it has changed."""


def plus(those: Sequence[Prepared], one: Prepared) -> tuple[Prepared, ...]:
    """With one more, which is the latest. Some that never end would make a checkpoint large."""
    first, *others = (*without(those, one.xid), one)
    if len(others) < _MANY:
        return (first, *others)
    second, *others = others
    return (Prepared(_MERGED, first.place, first.timestamp, first.tables | second.tables), *others)


def without(those: Sequence[Prepared], xid: str) -> tuple[Prepared, ...]:
    return tuple(one for one in those if one.xid != xid)


def find(those: Sequence[Prepared], xid: str) -> Prepared | None:
    return next((one for one in those if one.xid == xid), None)


def tables_of(those: Sequence[Prepared], xid: str) -> frozenset[TableName]:
    """The tables that a transaction may have changed: none that we know of, if it was prepared before we read the log."""
    one = find(those, xid) or find(those, _MERGED)
    return one.tables if one else frozenset()
