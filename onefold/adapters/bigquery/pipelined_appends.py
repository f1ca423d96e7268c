"""Rows of several tables, appended by one connection: all requests are sent before the first answer is read.

A connection ends with the error of one table, for example one that does not exist. That must not concern the other tables:
the first request without an answer is sent again alone, so that its error is known to be its own, and then the others
together.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from google.api_core import exceptions as api
from google.cloud.bigquery_storage_v1 import types
from google.rpc import code_pb2, status_pb2

from onefold.adapters.bigquery.append_connections import AppendRequest, Connection, ConnectionBroken
from onefold.adapters.bigquery.proto_rows import ProtoRows
from onefold.adapters.google_errors import STORAGE_WRITE, ApiFailure, failure_of
from onefold.core.errors import InvalidRecord, OnefoldError, Postponed, TryAgain
from onefold.core.names import TableId
from onefold.ports.rows import Appended, RowErrors

MAX_ROWS = 9_500_000
"""Bytes of rows in one request, which has to stay below 10 MB in all."""
MAX_IN_FLIGHT = 500
"""Requests that are sent together. Google's own client for Java has at most 1,000 under way in a connection."""
_MAX_BREAKS = 5
"""Connections that may end during the append of one message, before what remains is left to another delivery."""
_PASSING = (ApiFailure.TRANSIENT, ApiFailure.NO_ANSWER)

Part = dict[int, bytes]
"""Serialized rows of a request, by their index among the rows of their table."""


class Connections(Protocol):
    """What is needed of the owner of connections."""

    def take(self, id_: TableId) -> Connection | None:
        """Return an idle connection to the dataset of a table; None where there is none."""

    def connect(self, id_: TableId) -> Connection: ...

    def put(self, id_: TableId, connection: Connection) -> None:
        """Keep a connection for other tables of the dataset."""

    def forget(self, id_: TableId) -> None:
        """Forget the columns of a table."""

    def count(self, requests: int) -> None: ...


class TableRows:
    """Rows of one table that are being appended, and what has become of them so far."""

    def __init__(self, id_: TableId, form: ProtoRows, rows: Sequence[Mapping[str, Any]]) -> None:
        """Serialize the rows.

        Args:
            id_: the table.
            form: the form of its rows.
            rows: the values of each row by column.
        """
        self.id = id_
        self.form = form
        self.refused: RowErrors = {}
        self.error: OnefoldError | None = None
        self.is_outdated = False
        """Whether the table is not there, or has other columns than were read."""
        self.parts = list(_parts(self._serialized(rows)))

    @property
    def outcome(self) -> Appended:
        return self.error or self.refused

    def request(self, part: Part) -> AppendRequest:
        return AppendRequest(default_stream(self.id), self.form.descriptor, list(part.values()))

    def take_answer(self, part: Part, answer: types.AppendRowsResponse) -> Part:
        """Note why BigQuery refused some rows of a request, and return those that have to be sent again without them.

        BigQuery takes no row of a request that contains an invalid one.
        """
        if answer.row_errors:
            # BigQuery counts the rows of this request; `sent` has their indexes in the message.
            sent = list(part)
            invalid = {sent[error.index]: f"BigQuery: {error.message}" for error in answer.row_errors}
            self.refused |= invalid
            return {index: row for index, row in part.items() if index not in invalid}
        if answer.error.code:
            self.fail(answer.error)
        return {}

    def fail(self, status: status_pb2.Status) -> None:
        """Note the error of the table, unless it has one already. One that may pass need not be the table's own."""
        error = api.from_grpc_status(status.code, status.message)  # type: ignore[no-untyped-call]
        failure = failure_of(error) or ApiFailure.TRANSIENT
        self.is_outdated = failure is ApiFailure.NOT_FOUND or _has_unknown_column(status)
        passes = Postponed if failure in _PASSING else STORAGE_WRITE.kind(failure)
        self.error = self.error or (TryAgain if self.is_outdated else passes)(_text(self.id, status))

    def postpone(self, status: status_pb2.Status) -> None:
        """Note that the rows are to be appended later, whatever another table's error was."""
        self.error = self.error or Postponed(_text(self.id, status))

    def _serialized(self, rows: Sequence[Mapping[str, Any]]) -> Part:
        """Return the bytes of the rows that fit by index, and note why the others do not."""
        serialized: Part = {}
        for index, row in enumerate(rows):
            try:
                data = self.form.serialize(row)
            except InvalidRecord as error:
                self.refused[index] = str(error)
                continue
            if len(data) > MAX_ROWS:
                self.refused[index] = f"the row has {len(data)} bytes; BigQuery takes {MAX_ROWS} at once"
            else:
                serialized[index] = data
        return serialized


class PipelinedAppend:
    """The requests for the rows of several tables of one dataset."""

    def __init__(self, connections: Connections, tables: Sequence[TableRows]) -> None:
        self._connections = connections
        self._waiting = deque((table, part) for table in tables for part in table.parts)
        self._breaks = 0

    def run(self) -> None:
        """Send all requests. Afterwards each of the tables has its outcome."""
        size = MAX_IN_FLIGHT
        while self._waiting:
            flight = [self._waiting.popleft() for _ in range(min(size, len(self._waiting)))]
            is_broken = self._send(flight)
            size = 1 if is_broken else MAX_IN_FLIGHT
            self._waiting = deque((table, part) for table, part in self._waiting if table.error is None)

    def _send(self, flight: list[tuple[TableRows, Part]]) -> bool:
        """Send requests together, and return whether the next one is to be sent alone.

        An idle connection may have ended in the meantime, which says nothing about a new one: then all are sent again.
        """
        id_ = flight[0][0].id
        idle = self._connections.take(id_)
        connection = idle or self._connections.connect(id_)
        self._connections.count(len(flight))
        unanswered = deque(flight)
        try:
            for answer in connection.append([table.request(part) for table, part in flight]):
                self._take_answer(*unanswered.popleft(), answer)
        except ConnectionBroken as broken:
            if idle and not broken.late and len(unanswered) == len(flight):
                self._waiting.extendleft(reversed(flight))
                return len(flight) == 1
            return self._take_break(broken, unanswered, alone=len(flight) == 1)
        self._connections.put(id_, connection)
        return False

    def _take_answer(self, table: TableRows, part: Part, answer: types.AppendRowsResponse) -> None:
        if again := table.take_answer(part, answer):
            self._waiting.append((table, again))
        if table.is_outdated:
            self._connections.forget(table.id)

    def _take_break(self, broken: ConnectionBroken, unanswered: deque[tuple[TableRows, Part]], *, alone: bool) -> bool:
        """Give the error to the table whose request was alone, and return whether the next one is to be sent alone.

        Where nothing answers in time, or connections end again and again, all that remains is left to another delivery.
        """
        self._breaks += 1
        self._waiting.extendleft(reversed(unanswered))
        if alone:
            table, _ = self._waiting.popleft()
            table.fail(broken.status)
            if table.is_outdated:
                self._connections.forget(table.id)
        if broken.late or self._breaks > _MAX_BREAKS:
            for table, _ in self._waiting:
                table.postpone(broken.status)
        return not alone


def _text(id_: TableId, status: status_pb2.Status) -> str:
    return f"{id_}: {code_pb2.Code.Name(status.code)}: {status.message}"


def default_stream(id_: TableId) -> str:
    """Return the name of the default stream of a table."""
    return f"projects/{id_.project}/datasets/{id_.dataset}/tables/{id_.table}/streams/_default"


def _parts(rows: Mapping[int, bytes]) -> Iterator[Part]:
    """Yield the rows in requests that BigQuery takes: all rows of a table in one, as a rule."""
    part: Part = {}
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
