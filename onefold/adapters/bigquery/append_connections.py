"""Connections of the Storage Write API: calls of AppendRows that are kept open, since opening one takes its time."""

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
MAX_IDLE = 25
"""Connections that wait. A project has 1,000 in a region, and BigQuery ends those that are idle for ten minutes."""


class ConnectionBroken(Exception):
    """The connection has ended, and says why."""

    def __init__(self, status: status_pb2.Status, late: bool) -> None:
        super().__init__(status.message)
        self.status = status
        self.late = late


class Connection:
    """One call of AppendRows to one stream: it takes one request after the other, and answers each."""

    def __init__(self, client: BigQueryWriteClient, stream: str, descriptor: DescriptorProto) -> None:
        self._stream = stream
        self._descriptor: DescriptorProto | None = descriptor
        self._late = False
        self._requests: SimpleQueue[types.AppendRowsRequest | None] = SimpleQueue()
        # Not by the client's own method: that waits for the first answer before anybody can cancel it.
        routing = ("x-goog-request-params", f"write_stream={urllib.parse.quote(stream, safe='')}")
        call: Any = client.transport.append_rows
        self._call = call(iter(self._requests.get, None), metadata=[routing])

    def append(self, rows: Sequence[bytes]) -> types.AppendRowsResponse:
        """Raises Broken, upon which the connection is closed."""
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
        self._requests.put(None)  # or the thread that sends would wait for ever
        self._call.cancel()

    def _request(self, rows: Sequence[bytes]) -> types.AppendRowsRequest:
        data = types.AppendRowsRequest.ProtoData(rows=types.ProtoRows(serialized_rows=rows))
        request = types.AppendRowsRequest(write_stream=self._stream, proto_rows=data)
        if self._descriptor is not None:  # said once for the whole connection
            request.proto_rows.writer_schema = types.ProtoSchema(proto_descriptor=self._descriptor)
            request.trace_id = "onefold:sink_records"
            self._descriptor = None
        return request

    def _give_up(self) -> None:
        self._late = True
        self._call.cancel()


class ConnectionPool:
    """Connections that wait for their next request, by what they are for; the oldest make room."""

    def __init__(self) -> None:
        self._waiting: list[tuple[object, Connection]] = []
        self._lock = threading.Lock()

    def take(self, purpose: object) -> Connection | None:
        with self._lock:
            found = next((pair for pair in reversed(self._waiting) if pair[0] is purpose), None)
            if found is None:
                return None
            self._waiting.remove(found)
            return found[1]

    def put(self, purpose: object, connection: Connection) -> None:
        with self._lock:
            self._waiting.append((purpose, connection))
            oldest = self._waiting.pop(0)[1] if len(self._waiting) > MAX_IDLE else None
        if oldest:
            oldest.close()

    def close(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for _, connection in waiting:
            connection.close()


def _status(error: grpc.RpcError) -> status_pb2.Status:
    status: status_pb2.Status | None = rpc_status.from_call(error)
    return status or status_pb2.Status(code=error.code().value[0], message=error.details() or "")
