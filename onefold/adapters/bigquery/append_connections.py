"""Connections of the Storage Write API: open calls of AppendRows, reused because opening one takes time."""

from __future__ import annotations

import threading
import urllib.parse
from collections.abc import Sequence
from queue import SimpleQueue
from typing import Any

import grpc
from google.cloud.bigquery_storage_v1 import BigQueryWriteClient, types
from google.protobuf.descriptor_pb2 import DescriptorProto
from google.rpc import code_pb2, status_pb2
from grpc_status import rpc_status

_TIMEOUT = 30.0
"""Seconds."""
MAX_IDLE = 25
"""Idle connections. A project has 1,000 in a region, and BigQuery ends those that are idle for ten minutes."""


class ConnectionBroken(Exception):
    """A connection that has ended, with its status. `late`: it was cancelled because no answer came in time."""

    def __init__(self, status: status_pb2.Status, late: bool) -> None:
        super().__init__(status.message)
        self.status = status
        self.late = late


class Connection:
    """One call of AppendRows to one stream: it sends one request after the other, and reads the answer to each."""

    def __init__(self, client: BigQueryWriteClient, stream: str, descriptor: DescriptorProto) -> None:
        self._stream = stream
        self._descriptor: DescriptorProto | None = descriptor
        self._late = False
        self._requests: SimpleQueue[types.AppendRowsRequest | None] = SimpleQueue()
        # Not by the client's own method, which waits for the first answer before the call can be cancelled. It would set
        # this header, by which BigQuery routes the call to the region of the table.
        routing = ("x-goog-request-params", f"write_stream={urllib.parse.quote(stream, safe='')}")
        call: Any = client.transport.append_rows
        self._call = call(iter(self._requests.get, None), metadata=[routing])

    def append(self, rows: Sequence[bytes]) -> types.AppendRowsResponse:
        """Send rows, each a serialized protocol buffer, and return the answer.

        Raises:
            ConnectionBroken: the connection has ended, and is closed.
        """
        timer = threading.Timer(_TIMEOUT, self._give_up)
        timer.start()
        try:
            self._requests.put(self._request(rows))
            answer: types.AppendRowsResponse | None = next(self._call, None)
        except grpc.RpcError as error:
            self.close()
            raise ConnectionBroken(_status(error), self._late) from error
        finally:
            timer.cancel()
        if answer is None:
            self.close()
            raise ConnectionBroken(status_pb2.Status(code=code_pb2.ABORTED, message="the connection was closed"), self._late)
        return answer

    def close(self) -> None:
        self._requests.put(None)  # ends the thread of gRPC that waits for requests
        self._call.cancel()

    def _request(self, rows: Sequence[bytes]) -> types.AppendRowsRequest:
        data = types.AppendRowsRequest.ProtoData(rows=types.ProtoRows(serialized_rows=rows))
        request = types.AppendRowsRequest(write_stream=self._stream, proto_rows=data)
        if self._descriptor is not None:  # only the first request of a connection describes the rows
            request.proto_rows.writer_schema = types.ProtoSchema(proto_descriptor=self._descriptor)
            request.trace_id = "onefold:sink_records"
            self._descriptor = None
        return request

    def _give_up(self) -> None:
        self._late = True
        self._call.cancel()


class ConnectionPool:
    """Idle connections, by their purpose; where there are too many, the oldest one is closed."""

    def __init__(self) -> None:
        self._idle: list[tuple[object, Connection]] = []
        self._lock = threading.Lock()

    def take(self, purpose: object) -> Connection | None:
        """Remove an idle connection for this purpose from the pool; None where there is none."""
        with self._lock:
            found = next((pair for pair in reversed(self._idle) if pair[0] is purpose), None)
            if found is None:
                return None
            self._idle.remove(found)
            return found[1]

    def put(self, purpose: object, connection: Connection) -> None:
        """Add a connection that may be taken for this purpose again."""
        with self._lock:
            self._idle.append((purpose, connection))
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
