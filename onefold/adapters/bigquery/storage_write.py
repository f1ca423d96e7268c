"""The adapter of BigQuery's Storage Write API: rows are appended to the default stream of their table.

The default stream takes rows from many writers at once, shows them at once, and needs neither making nor committing; it
writes at least once, which is enough here.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from google.cloud.bigquery_storage_v1 import BigQueryWriteClient, types
from google.rpc import code_pb2, status_pb2

from onefold.adapters.bigquery.append_connections import Connection, ConnectionBroken, ConnectionPool
from onefold.adapters.bigquery.proto_rows import ProtoRows
from onefold.core.errors import InvalidRecord, OnefoldError, Rejected, TryAgain
from onefold.core.names import TableId
from onefold.schema.columns import Column

if TYPE_CHECKING:
    from onefold.adapters.bigquery.jobs import BigQueryJobs
    from onefold.ports.rows import RowWriter

MAX_ROWS = 9_500_000
"""Bytes of rows in one request: all of it has to be below 10 MB."""
_MAX_TABLES = 500
"""Tables whose columns are remembered."""


class TableCatalog(Protocol):
    """What is asked of the warehouse."""

    project: str

    @property
    def calls(self) -> int: ...

    def read_columns(self, id_: TableId) -> tuple[Column, ...] | None: ...


def landing_in(warehouse: BigQueryJobs) -> RowWriter:
    """Where rows land: in BigQuery, or in its emulator where BIGQUERY_EMULATOR_HOST names one."""
    if os.environ.get("BIGQUERY_EMULATOR_HOST"):
        from onefold.adapters.bigquery.emulator import EmulatedRowWriter

        return EmulatedRowWriter(warehouse)
    return StorageWrite(warehouse, BigQueryWriteClient())  # type: ignore[no-untyped-call]


class _Calls(threading.local):
    """A count for each thread: the requests of one instance run side by side, and each tells its own."""

    count = 0


class StorageWrite:
    """`onefold.sink.handler.Landing` by the Storage Write API. One serves all threads."""

    def __init__(self, tables: TableCatalog, client: BigQueryWriteClient) -> None:
        self.project = tables.project
        self._tables = tables
        self._client = client
        self._idle = ConnectionPool()
        self._calls = _Calls()
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
        """The next message is to look at the table again."""
        with self._lock:
            self._opened.pop(id_, None)

    def send(self, table: StorageTableWriter, rows: Sequence[bytes]) -> types.AppendRowsResponse:
        """By a connection that is open, where one is: that it has ended meanwhile says nothing of the next one.

        Raises:
            Broken: a new connection has ended, or one did not answer in time.
        """
        while True:
            self._calls.count += 1
            waiting = self._idle.take(table)
            connection = waiting or Connection(self._client, table.stream, table.rows.descriptor)
            try:
                answer = connection.append(rows)
            except ConnectionBroken as broken:
                if broken.late or not waiting:
                    raise
            else:
                self._idle.put(table, connection)
                return answer

    def close(self) -> None:
        self._idle.close()
        self._client.transport.close()  # type: ignore[no-untyped-call]


class StorageTableWriter:
    """`onefold.sink.handler.TableWriter`: a table, with the form of its rows."""

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
        serialized: dict[int, bytes] = {}
        refused: dict[int, str] = {}
        for place, row in enumerate(rows):
            try:
                data = self.rows.serialize(row)
            except InvalidRecord as error:
                refused[place] = str(error)
                continue
            if len(data) > MAX_ROWS:
                refused[place] = f"the row has {len(data)} bytes; BigQuery takes {MAX_ROWS} at once"
            else:
                serialized[place] = data
        return serialized, refused

    def _append(self, rows: dict[int, bytes]) -> dict[int, str]:
        """With a row that does not fit, BigQuery takes none of a request: the others are sent again without it."""
        refused: dict[int, str] = {}
        while rows:
            answer = self._send(list(rows.values()))
            if not answer.row_errors:
                break
            places = list(rows)
            unfit = {places[error.index]: f"BigQuery: {error.message}" for error in answer.row_errors}
            rows = {place: row for place, row in rows.items() if place not in unfit}
            refused |= unfit
        return refused

    def _send(self, rows: Sequence[bytes]) -> types.AppendRowsResponse:
        try:
            answer = self._owner.send(self, rows)
        except ConnectionBroken as broken:
            raise self._trouble(broken.status) from broken
        if answer.error.code and not answer.row_errors:
            raise self._trouble(answer.error)
        return answer

    def _trouble(self, status: status_pb2.Status) -> OnefoldError:
        text = f"{self._id}: {code_pb2.Code.Name(status.code)}: {status.message}"
        if status.code == code_pb2.NOT_FOUND or _is_other_schema(status):
            self._owner.forget(self._id)
            return TryAgain(text)
        # A denied permission, too, passes: right after a grant.
        return Rejected(text) if status.code == code_pb2.INVALID_ARGUMENT else TryAgain(text)


def _parts(rows: Mapping[int, bytes]) -> Iterator[dict[int, bytes]]:
    """Rows in requests that BigQuery takes: those of a message in one."""
    part: dict[int, bytes] = {}
    size = 0
    for place, row in rows.items():
        if part and size + len(row) > MAX_ROWS:
            yield part
            part, size = {}, 0
        part[place] = row
        size += len(row)
    if part:
        yield part


def _is_other_schema(status: status_pb2.Status) -> bool:
    """Whether BigQuery says that the table lacks a column that we know of: it was made again meanwhile."""
    error = types.StorageError.pb(types.StorageError())
    extra = types.StorageError.StorageErrorCode.SCHEMA_MISMATCH_EXTRA_FIELDS
    return any(detail.Unpack(error) and error.code == extra for detail in status.details)
