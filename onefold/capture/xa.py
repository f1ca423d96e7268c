"""XA transactions that are prepared: their rows are in the log, and nobody knows yet whether they count.

The rows are published at `XA COMMIT`: from memory as far as they fit there, or read from the log a second time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from onefold.mysql.binlog.events import Decode, LogPosition
from onefold.mysql.binlog.transactions import MAX_BUFFERED_BYTES
from onefold.mysql.catalog import TableName

_MANY = 1_000
_MERGED = ""
"""Stands for more transactions than are kept: the oldest of them, with all of their tables."""


@dataclass(frozen=True)
class PreparedTransaction:
    """A transaction that is neither committed nor rolled back."""

    xid: str
    place: LogPosition
    """Before all of its rows."""
    timestamp: int
    """When it was prepared, in seconds."""
    tables: frozenset[TableName]
    """Those captured that it has changed."""
    published: bool = False
    """Whether its rows were published when it was prepared, as earlier versions did."""


@dataclass
class PreparedRows:
    """Rows of prepared transactions in memory: an XA transaction is committed at once as a rule."""

    bound: int = MAX_BUFFERED_BYTES
    """Bytes of the log."""
    _rows: dict[tuple[str, LogPosition], tuple[tuple[Decode, ...], int]] = field(default_factory=dict)

    def keep(self, xid: str, begin: LogPosition, rows: tuple[Decode, ...], size: int) -> None:
        """Keep the rows, and forget older ones where the bound asks for it.

        Args:
            xid: the transaction.
            begin: where it begins: an identifier may be used again.
            rows: what reads the rows of each event.
            size: bytes of the log.
        """
        self._rows.pop((xid, begin), None)
        while self._rows and size + sum(size for _, size in self._rows.values()) > self.bound:
            del self._rows[next(iter(self._rows))]
        if size <= self.bound:
            self._rows[xid, begin] = rows, size

    def find(self, one: PreparedTransaction) -> tuple[Decode, ...] | None:
        """Return the rows of a transaction; None where they are not kept."""
        found = self._rows.get((one.xid, one.place))
        return found and found[0]

    def forget(self, xid: str) -> None:
        for key in [key for key in self._rows if key[0] == xid]:
            del self._rows[key]


def plus(those: Sequence[PreparedTransaction], one: PreparedTransaction) -> tuple[PreparedTransaction, ...]:
    """With one more, which is the latest. Some that never end would make a checkpoint large."""
    first, *others = (*without(those, one.xid), one)
    if len(others) < _MANY:
        return (first, *others)
    second, *others = others
    return (replace(first, xid=_MERGED, tables=first.tables | second.tables), *others)


def without(those: Sequence[PreparedTransaction], xid: str) -> tuple[PreparedTransaction, ...]:
    return tuple(one for one in those if one.xid != xid)


def find(those: Sequence[PreparedTransaction], xid: str) -> PreparedTransaction | None:
    return next((one for one in those if one.xid == xid), None)


def tables_of(those: Sequence[PreparedTransaction], xid: str) -> frozenset[TableName]:
    """The tables that a transaction may have changed: none that we know of, if it was prepared before we read the log."""
    one = find(those, xid) or find(those, _MERGED)
    return one.tables if one else frozenset()


def merged(those: Sequence[PreparedTransaction]) -> frozenset[TableName]:
    """The tables of those that are kept as one only."""
    return tables_of(those, _MERGED)
