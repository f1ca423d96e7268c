"""Connections of the Storage Write API: open calls of AppendRows, reused because opening one takes time.

A connection may write to the default streams of many tables in turn ("You can also switch table destinations within the
same connection for the default stream", AppendRowsRequest, google-cloud-bigquery-storage, 2026-11). All of them have to be
in one region, so a connection serves one dataset.
"""

from __future__ import annotations

import threading
import urllib.parse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

import grpc
from google.cloud.bigquery_storage_v1 import BigQueryWriteClient, types
from google.protobuf.descriptor_pb2 import DescriptorProto
from google.rpc import code_pb2, status_pb2
from grpc_status import rpc_status

from onefold.core.names import TableId

_TIMEOUT = 30.0
"""Seconds for the answers to all requests that were sent together."""
MAX_IDLE = 25
"""Idle connections. A project has 5,000 in a region, and BigQuery ends those that are idle for ten minutes."""


class ConnectionBroken(Exception):
    """A connection that has ended, with its status. `late`: it was cancelled because no answer came in time."""

    def __init__(self, status: status_pb2.Status, late: bool) -> None:
        super().__init__(status.message)
        self.status = status
        self.late = late


@dataclass(frozen=True)
class AppendRequest:
    """Rows for one table.

    Attributes:
        stream: the default stream of the table.
        descriptor: the form of its rows.
        rows: serialized protocol buffers.
    """

    stream: str
    descriptor: DescriptorProto
    rows: Sequence[bytes]


class Connection:
    """One call of AppendRows: it sends requests, and reads their answers, which come in the order of the requests."""

    def __init__(self, client: BigQueryWriteClient, stream: str) -> None:
        """Open the connection.

        Args:
            client: the client of the API.
            stream: a stream of the region in which the tables of all requests are.
        """
        self._described: DescriptorProto | None = None
        self._late = False
        self._requests: SimpleQueue[types.AppendRowsRequest | None] = SimpleQueue()
        # Not by the client's own method, which waits for the first answer before the call can be cancelled. It would set
        # this header, by which BigQuery routes the call to the region of the table.
        routing = ("x-goog-request-params", f"write_stream={urllib.parse.quote(stream, safe='')}")
        call: Any = client.transport.append_rows
        self._call = call(iter(self._requests.get, None), metadata=[routing])

    def append(self, requests: Sequence[AppendRequest]) -> Iterator[types.AppendRowsResponse]:
        """Send all requests, then yield the answer to each of them as it comes.

        The caller has to read all answers, or to close the connection.

        Raises:
            ConnectionBroken: the connection has ended, and is closed.
        """
        timer = threading.Timer(_TIMEOUT, self._give_up)
        timer.start()
        try:
            for request in requests:
                self._requests.put(self._message(request))
            for _ in requests:
                yield self._answer()
        finally:
            timer.cancel()

    def _answer(self) -> types.AppendRowsResponse:
        try:
            answer: types.AppendRowsResponse | None = next(self._call, None)
        except grpc.RpcError as error:
            self.close()
            raise ConnectionBroken(_status(error), self._late) from error
        if answer is None:
            self.close()
            raise ConnectionBroken(status_pb2.Status(code=code_pb2.ABORTED, message="the connection was closed"), self._late)
        return answer

    def close(self) -> None:
        self._requests.put(None)  # ends the thread of gRPC that waits for requests
        self._call.cancel()

    def _message(self, request: AppendRequest) -> types.AppendRowsRequest:
        rows = types.ProtoRows(serialized_rows=request.rows)
        message = types.AppendRowsRequest(
            write_stream=request.stream, proto_rows=types.AppendRowsRequest.ProtoData(rows=rows)
        )
        if self._described is None:  # only the first request of a connection says who writes
            message.trace_id = "onefold:sink_records"
        if self._described is not request.descriptor:  # rows are described after each change of the table
            message.proto_rows.writer_schema = types.ProtoSchema(proto_descriptor=request.descriptor)
            self._described = request.descriptor
        return message

    def _give_up(self) -> None:
        self._late = True
        self._call.cancel()


class ConnectionPool:
    """Idle connections by dataset; where there are too many, the oldest one is closed."""

    def __init__(self) -> None:
        self._idle: list[tuple[TableId, Connection]] = []
        self._lock = threading.Lock()

    def take(self, dataset: TableId) -> Connection | None:
        """Remove an idle connection to a dataset from the pool; None where there is none."""
        with self._lock:
            found = next((pair for pair in reversed(self._idle) if pair[0] == dataset), None)
            if found is None:
                return None
            self._idle.remove(found)
            return found[1]

    def put(self, dataset: TableId, connection: Connection) -> None:
        """Add a connection that may be taken for this dataset again."""
        with self._lock:
            self._idle.append((dataset, connection))
            oldest = self._idle.pop(0)[1] if len(self._idle) > MAX_IDLE else None
        if oldest:
            oldest.close()

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for _, connection in idle:
            connection.close()


def _status(error: grpc.RpcError) -> status_pb2.Status:
    """Return the status of an error, with its details where the server sent any."""
    status: status_pb2.Status | None = rpc_status.from_call(error)
    return status or status_pb2.Status(code=error.code().value[0], message=error.details() or "")
