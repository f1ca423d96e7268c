"""A fake of pending streams of BigQuery's Storage Write API, with the real messages, in the place of `BigQueryWriteClient`.

It honours: streams of a table; rows that are appended at an offset, once each, and decoded by the descriptor of the request;
streams that are finished take no rows, and only they are committed, once; rows are visible when their stream is committed.
`fail` names the method whose next call ends with an error; `after` says whether it has done its work before; `error` is that
of the client's own retries. A call without `retry=None` would be tried again by the client for up to 20 minutes.
It does not: know quotas, permissions, or more than one request of a connection.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from google.api_core import exceptions as api
from google.cloud.bigquery_storage_v1 import types
from google.rpc import code_pb2
from support.fake_write_api import Decoder, descriptor_of, failed

from onefold.core.names import TableId
from onefold.schema.columns import Column


@dataclass
class Stream:
    table: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    is_finished: bool = False
    committed: datetime | None = None


class FakePendingStreams:
    def __init__(self, columns: Mapping[str, tuple[Column, ...]]) -> None:
        self.columns = columns
        self.streams: dict[str, Stream] = {}
        self.fail: str | None = None
        self.after = False
        self.error: Exception | None = None
        self.is_lost = False
        """Whether no stream can be looked at."""

    def read_columns(self, id_: TableId) -> tuple[Column, ...] | None:
        return self.columns.get(id_.table)

    def rows(self, table: str) -> list[dict[str, Any]]:
        """The visible rows of a table."""
        return [row for one in self.streams.values() if one.table == table and one.committed for row in one.rows]

    def create_write_stream(
        self, *, parent: str, write_stream: types.WriteStream, retry: None, timeout: float
    ) -> types.WriteStream:
        self._may_fail("create")
        assert write_stream.type_ == types.WriteStream.Type.PENDING
        name = f"{parent}/streams/{len(self.streams)}"
        self.streams[name] = Stream(parent.rpartition("/")[2])
        return types.WriteStream(name=name)

    def append_rows(
        self, requests: Iterator[types.AppendRowsRequest], *, retry: None, timeout: float, metadata: Any
    ) -> Iterator[types.AppendRowsResponse]:
        self._may_fail("append")
        (request,) = requests
        stream = self.streams[request.write_stream]
        assert metadata[0][1] == f"write_stream={request.write_stream.replace('/', '%2F')}"
        if stream.is_finished or request.offset != len(stream.rows):
            yield failed(code_pb2.OUT_OF_RANGE, "another offset")
            return
        types_ = {column.name: column.type for column in self.columns[stream.table]}
        decoder = Decoder(descriptor_of(request), types_)
        if self.fail == "rows":
            yield failed(code_pb2.INVALID_ARGUMENT, "Errors found while processing rows.")
            return
        stream.rows += [decoder.row(data) for data in request.proto_rows.rows.serialized_rows]
        yield types.AppendRowsResponse(append_result=types.AppendRowsResponse.AppendResult(offset=0))

    def finalize_write_stream(self, *, name: str, retry: None, timeout: float) -> types.FinalizeWriteStreamResponse:
        self._may_fail("finalize")
        self.streams[name].is_finished = True
        return types.FinalizeWriteStreamResponse(row_count=len(self.streams[name].rows))

    def batch_commit_write_streams(
        self, request: types.BatchCommitWriteStreamsRequest, *, retry: None, timeout: float
    ) -> types.BatchCommitWriteStreamsResponse:
        if not self.after:
            self._may_fail("commit")
        (name,) = request.write_streams
        stream = self.streams[name]
        if self.fail == "refuse" or not stream.is_finished or stream.committed:
            return types.BatchCommitWriteStreamsResponse(stream_errors=[types.StorageError(error_message="not committed")])
        stream.committed = datetime(2026, 5, 3, tzinfo=UTC)
        self._may_fail("commit")
        return types.BatchCommitWriteStreamsResponse(commit_time=stream.committed)

    def get_write_stream(self, *, name: str, retry: None, timeout: float) -> types.WriteStream:
        if self.is_lost:
            raise api.ServiceUnavailable("as it was told to")  # type: ignore[no-untyped-call]
        return types.WriteStream(name=name, commit_time=self.streams[name].committed)

    def _may_fail(self, method: str) -> None:
        if self.fail == method:
            error = api.ResourceExhausted if method == "create" else api.ServiceUnavailable
            raise self.error or error("as it was told to")
