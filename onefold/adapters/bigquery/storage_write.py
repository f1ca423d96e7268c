"""The adapter of BigQuery's Storage Write API: rows are appended to the default stream of their table.

The default stream takes rows from many writers at once, shows them immediately, and is neither created nor committed. It
delivers at least once; duplicates disappear when rows are merged.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from google.api_core import exceptions as api
from google.cloud.bigquery_storage_v1 import BigQueryWriteClient, types
from google.rpc import code_pb2, status_pb2

from onefold.adapters.bigquery.append_connections import Connection, ConnectionBroken, ConnectionPool
from onefold.adapters.bigquery.proto_rows import ProtoRows
from onefold.adapters.call_counter import CallCounter
from onefold.adapters.google_errors import STORAGE_WRITE, ApiFailure, failure_of
from onefold.core.errors import InvalidRecord, OnefoldError, TryAgain
from onefold.core.names import TableId
from onefold.schema.columns import Column

if TYPE_CHECKING:
    pass

MAX_ROWS = 9_500_000
"""Bytes of rows in one request, which has to stay below 10 MB in all."""
_MAX_TABLES = 500
"""Tables whose columns are remembered."""


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

    def open(self, id_: TableId) -> StorageTableWriter | None:
        with self._lock:
            if id_ in self._opened:
                self._opened.move_to_end(id_)
                return self._opened[id_]
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

    def send(self, table: StorageTableWriter, rows: Sequence[bytes]) -> types.AppendRowsResponse:
        """Send rows by an idle connection, or by a new one.

        An idle connection may have ended in the meantime, which says nothing about a new one: the rows are sent again.

        Raises:
            ConnectionBroken: a new connection has ended, or a connection did not answer in time.
        """
        while True:
            self._calls.add()
            idle = self._idle.take(table)
            connection = idle or Connection(self._client, table.stream, table.rows.descriptor)
            try:
                answer = connection.append(rows)
            except ConnectionBroken as broken:
                if broken.late or not idle:
                    raise
            else:
                self._idle.put(table, connection)
                return answer

    def close(self) -> None:
        self._idle.close()
        self._client.transport.close()  # type: ignore[no-untyped-call]


class StorageTableWriter:
    """`onefold.ports.rows.TableWriter`: a table, with the protocol buffer of its rows."""

    def __init__(self, id_: TableId, columns: tuple[Column, ...], owner: StorageWrite) -> None:
        self.columns = columns
        self.stream = f"projects/{id_.project}/datasets/{id_.dataset}/tables/{id_.table}/streams/_default"
        self.rows = ProtoRows(columns)
        self._id = id_
        self._owner = owner

    def append(self, rows: Sequence[Mapping[str, Any]]) -> dict[int, str]:
        serialized, refused = self._serialize(rows)
        for part in _parts(serialized):
            refused |= self._append(part)
        return refused

    def _serialize(self, rows: Sequence[Mapping[str, Any]]) -> tuple[dict[int, bytes], dict[int, str]]:
        """Return the bytes of the rows that fit, and why the others do not, both by index."""
        serialized: dict[int, bytes] = {}
        refused: dict[int, str] = {}
        for index, row in enumerate(rows):
            try:
                data = self.rows.serialize(row)
            except InvalidRecord as error:
                refused[index] = str(error)
                continue
            if len(data) > MAX_ROWS:
                refused[index] = f"the row has {len(data)} bytes; BigQuery takes {MAX_ROWS} at once"
            else:
                serialized[index] = data
        return serialized, refused

    def _append(self, rows: dict[int, bytes]) -> dict[int, str]:
        """Send rows by index, and return why BigQuery refused some of them.

        BigQuery takes no row of a request that contains an invalid one, so the others are sent again without it.
        """
        refused: dict[int, str] = {}
        while rows:
            answer = self._send(list(rows.values()))
            if not answer.row_errors:
                break
            # BigQuery counts the rows of this request; `sent` has their indexes in the message.
            sent = list(rows)
            invalid = {sent[error.index]: f"BigQuery: {error.message}" for error in answer.row_errors}
            rows = {index: row for index, row in rows.items() if index not in invalid}
            refused |= invalid
        return refused

    def _send(self, rows: Sequence[bytes]) -> types.AppendRowsResponse:
        try:
            answer = self._owner.send(self, rows)
        except ConnectionBroken as broken:
            raise self._error(broken.status) from broken
        if answer.error.code and not answer.row_errors:
            raise self._error(answer.error)
        return answer

    def _error(self, status: status_pb2.Status) -> OnefoldError:
        text = f"{self._id}: {code_pb2.Code.Name(status.code)}: {status.message}"
        error = api.from_grpc_status(status.code, status.message)  # type: ignore[no-untyped-call]
        failure = failure_of(error) or ApiFailure.TRANSIENT
        if failure is ApiFailure.NOT_FOUND or _has_unknown_column(status):
            self._owner.forget(self._id)
            return TryAgain(text)
        return STORAGE_WRITE.kind(failure)(text)


def _parts(rows: Mapping[int, bytes]) -> Iterator[dict[int, bytes]]:
    """Yield the rows in requests that BigQuery takes: all rows of a message in one, as a rule."""
    part: dict[int, bytes] = {}
    size = 0
    for index, row in rows.items():
        if part and size + len(row) > MAX_ROWS:
            yield part
            part, size = {}, 0
        part[index] = row
        size += len(row)
    if part:
        yield part


def _has_unknown_column(status: status_pb2.Status) -> bool:
    """Return whether BigQuery's table lacks a column of the rows: it was replaced since its columns were read."""
    error = types.StorageError.pb(types.StorageError())
    extra = types.StorageError.StorageErrorCode.SCHEMA_MISMATCH_EXTRA_FIELDS
    return any(detail.Unpack(error) and error.code == extra for detail in status.details)
