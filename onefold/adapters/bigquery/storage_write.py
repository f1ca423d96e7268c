"""The adapter of BigQuery's Storage Write API: rows are appended to the default stream of their table.

The default stream takes rows from many writers at once, shows them immediately, and is neither created nor committed. It
delivers at least once; duplicates disappear when rows are merged.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Protocol

from google.cloud.bigquery_storage_v1 import BigQueryWriteClient

from onefold.adapters.bigquery.append_connections import Connection, ConnectionPool
from onefold.adapters.bigquery.pipelined_appends import PipelinedAppend, TableRows, default_stream
from onefold.adapters.bigquery.proto_rows import ProtoRows
from onefold.adapters.call_counter import CallCounter
from onefold.core.errors import OnefoldError
from onefold.core.names import TableId
from onefold.ports.rows import Appended, Row, RowErrors
from onefold.schema.columns import Column

_MAX_TABLES = 1_000
"""Tables whose columns are remembered: 52 KB each with 50 columns."""


class TableCatalog(Protocol):
    """The methods of a warehouse that a writer of rows needs."""

    project: str

    @property
    def calls(self) -> int: ...

    def read_columns(self, id_: TableId) -> tuple[Column, ...] | None: ...


def open_storage_write(tables: TableCatalog) -> StorageWrite:
    """Return the writer of rows, with a client that has the credentials of this process."""
    return StorageWrite(tables, BigQueryWriteClient())  # type: ignore[no-untyped-call]


class StorageWrite:
    """`onefold.ports.rows.RowWriter` by the Storage Write API. All threads share one."""

    def __init__(self, tables: TableCatalog, client: BigQueryWriteClient) -> None:
        self.project = tables.project
        self._tables = tables
        self._client = client
        self._idle = ConnectionPool()
        self._calls = CallCounter()
        self._opened: OrderedDict[TableId, StorageTableWriter] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def calls(self) -> int:
        return self._calls.count + self._tables.calls

    def opened(self, id_: TableId) -> StorageTableWriter | None:
        with self._lock:
            if id_ in self._opened:
                self._opened.move_to_end(id_)
            return self._opened.get(id_)

    def open(self, id_: TableId) -> StorageTableWriter | None:
        if known := self.opened(id_):
            return known
        columns = self._tables.read_columns(id_)
        if columns is None:
            return None
        table = StorageTableWriter(id_, columns, self)
        with self._lock:
            self._opened[id_] = table
            if len(self._opened) > _MAX_TABLES:
                self._opened.popitem(last=False)
        return table

    def forget(self, id_: TableId) -> None:
        """Forget the columns of a table, so that the next message reads them again."""
        with self._lock:
            self._opened.pop(id_, None)

    def append_each(self, batches: Sequence[tuple[Any, Sequence[Row]]]) -> list[Appended]:
        """Append rows to several tables of one dataset; see `RowWriter`. The tables are those that `open` returned."""
        tables = [TableRows(table.id, table.form, rows) for table, rows in batches]
        PipelinedAppend(self, tables).run()
        return [table.outcome for table in tables]

    # What the requests of an append need: `onefold.adapters.bigquery.pipelined_appends.Connections`.

    def take(self, id_: TableId) -> Connection | None:
        return self._idle.take(id_.sibling(""))

    def connect(self, id_: TableId) -> Connection:
        return Connection(self._client, default_stream(id_))

    def put(self, id_: TableId, connection: Connection) -> None:
        self._idle.put(id_.sibling(""), connection)

    def count(self, requests: int) -> None:
        for _ in range(requests):
            self._calls.add()

    def close(self) -> None:
        self._idle.close()
        self._client.transport.close()  # type: ignore[no-untyped-call]


class StorageTableWriter:
    """`onefold.ports.rows.TableWriter`: a table, with the protocol buffer of its rows."""

    def __init__(self, id_: TableId, columns: tuple[Column, ...], owner: StorageWrite) -> None:
        self.id = id_
        self.columns = columns
        self.form = ProtoRows(columns)
        self._owner = owner

    def append(self, rows: Sequence[Row]) -> RowErrors:
        (outcome,) = self._owner.append_each([(self, rows)])
        if isinstance(outcome, OnefoldError):
            raise outcome
        return outcome
