"""Prepared XA transactions as values: their rows are in the log before it is known whether they are committed.

Their rows are published at `XA COMMIT`: from memory as far as they fit there, or read from the log a second time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from onefold.mysql.binlog.events import Decode, LogPosition
from onefold.mysql.binlog.transactions import MAX_BUFFERED_BYTES
from onefold.mysql.catalog import TableName

_MAX_TRANSACTIONS = 1_000
_MERGED_XID = ""
"""The XID of the entry that stands for all transactions beyond the maximum: the oldest ones, with all of their tables."""


@dataclass(frozen=True)
class PreparedTransaction:
    """A transaction that is neither committed nor rolled back."""

    xid: str
    position: LogPosition
    """Before all of its rows."""
    timestamp: int
    """When it was prepared, in seconds since 1970."""
    tables: frozenset[TableName]
    """The captured tables that it has changed."""
    published: bool = False
    """Whether its rows were published when it was prepared, as earlier versions did."""


@dataclass
class PreparedRows:
    """The rows of prepared transactions in memory: most XA transactions are committed at once."""

    max_bytes: int = MAX_BUFFERED_BYTES
    """Bytes of the log."""
    _rows: dict[tuple[str, LogPosition], tuple[tuple[Decode, ...], int]] = field(default_factory=dict)

    def keep(self, xid: str, begin: LogPosition, rows: tuple[Decode, ...], size: int) -> None:
        """Keep the rows of a transaction, and forget older ones where there are too many bytes.

        Args:
            xid: the identifier of the transaction.
            begin: where the transaction begins, because its identifier may be used again.
            rows: a decoder for the rows of each event.
            size: bytes of the log.
        """
        self._rows.pop((xid, begin), None)
        while self._rows and size + sum(size for _, size in self._rows.values()) > self.max_bytes:
            del self._rows[next(iter(self._rows))]
        if size <= self.max_bytes:
            self._rows[xid, begin] = rows, size

    def find(self, transaction: PreparedTransaction) -> tuple[Decode, ...] | None:
        """Return the rows of a transaction; None if they are not in memory."""
        found = self._rows.get((transaction.xid, transaction.position))
        return found and found[0]

    def forget(self, xid: str) -> None:
        for key in [key for key in self._rows if key[0] == xid]:
            del self._rows[key]


def plus(prepared: Sequence[PreparedTransaction], new: PreparedTransaction) -> tuple[PreparedTransaction, ...]:
    """Return the transactions with a new one at the end.

    Transactions that never end would make the checkpoint large: beyond the maximum the two oldest are merged into one.
    """
    first, *others = (*without(prepared, new.xid), new)
    if len(others) < _MAX_TRANSACTIONS:
        return (first, *others)
    second, *others = others
    return (replace(first, xid=_MERGED_XID, tables=first.tables | second.tables), *others)


def without(prepared: Sequence[PreparedTransaction], xid: str) -> tuple[PreparedTransaction, ...]:
    """Return all transactions but the one of an identifier."""
    return tuple(one for one in prepared if one.xid != xid)


def find(prepared: Sequence[PreparedTransaction], xid: str) -> PreparedTransaction | None:
    """Return the transaction of an identifier; None if it was prepared before the log was read, or merged with others."""
    return next((one for one in prepared if one.xid == xid), None)


def tables_of(prepared: Sequence[PreparedTransaction], xid: str) -> frozenset[TableName]:
    """Return the tables that a transaction may have changed: none are known if it was prepared before the log was read."""
    one = find(prepared, xid) or find(prepared, _MERGED_XID)
    return one.tables if one else frozenset()


def merged_tables(prepared: Sequence[PreparedTransaction]) -> frozenset[TableName]:
    """Return the tables of the transactions that were merged into one."""
    return tables_of(prepared, _MERGED_XID)
