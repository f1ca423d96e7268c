"""Rows appended at one moment, by a pending stream of the Storage Write API.

Rows of a pending stream are visible when it is committed, all of them or none ("Batch load data using the Storage Write
API", https://cloud.google.com/bigquery/docs/write-api-batch, read 2026-11). Nothing is left of a stream that is never
committed. So until the commit any error means that no row was written; after it BigQuery tells whether it took place.
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

from google.api_core import exceptions as api
from google.cloud.bigquery_storage_v1 import types

from onefold.adapters.bigquery.proto_rows import ProtoRows
from onefold.core.errors import InvalidRecord, TryAgain
from onefold.core.names import TableId
from onefold.ports.load_jobs import LoadedJob
from onefold.schema.columns import Column
from onefold.schema.types import Scalar

MAX_ROWS = 9_000_000
"""Bytes of rows in the one request, which has to stay below 10 MB in all."""
_SECONDS = 60.0
"""For each call. The client's own retries are off: where the quota of streams is used up it would try for 20 minutes."""
_JSON = Scalar("JSON")


class Tables(Protocol):
    """The methods of a warehouse that the writer needs."""

    def read_columns(self, id_: TableId) -> tuple[Column, ...] | None: ...


class WriteClient(Protocol):
    """The methods of `BigQueryWriteClient` that the writer needs."""

    def create_write_stream(
        self, *, parent: str, write_stream: types.WriteStream, retry: None, timeout: float
    ) -> types.WriteStream: ...

    def append_rows(
        self, requests: Iterator[types.AppendRowsRequest], *, retry: None, timeout: float, metadata: Any
    ) -> Any: ...

    def finalize_write_stream(self, *, name: str, retry: None, timeout: float) -> types.FinalizeWriteStreamResponse: ...

    def batch_commit_write_streams(
        self, request: types.BatchCommitWriteStreamsRequest, *, retry: None, timeout: float
    ) -> types.BatchCommitWriteStreamsResponse: ...

    def get_write_stream(self, *, name: str, retry: None, timeout: float) -> types.WriteStream: ...


class PendingRows:
    """`onefold.ports.load_jobs.RowAppender` by pending streams. Threads may share it."""

    def __init__(self, tables: Tables, client: WriteClient) -> None:
        self._tables = tables
        self._client = client

    def append(self, table: TableId, rows: Sequence[Mapping[str, Any]]) -> LoadedJob | None:
        """Append all rows at one moment, or none of them.

        Raises:
            TryAgain: it is not known whether the rows were written.
        """
        serialized, proto = self._serialized(table, rows)
        if proto is None:
            return None
        parent = f"projects/{table.project}/datasets/{table.dataset}/tables/{table.table}"
        try:
            stream = self._written(parent, serialized, proto)
        except api.GoogleAPIError:
            return None  # as the quota of streams: nothing of the stream is visible
        return LoadedJob(stream, len(rows)) if stream and self._is_committed(parent, stream) else None

    def _serialized(self, table: TableId, rows: Sequence[Mapping[str, Any]]) -> tuple[list[bytes], ProtoRows | None]:
        """Return the bytes of the rows, and how they are written; None where a load job has to write them."""
        columns = self._tables.read_columns(table)
        if not rows or columns is None or any(column.type == _JSON for column in columns):
            return [], None  # a document of a file is an object, whose text would be another one
        proto = ProtoRows(columns)
        try:
            serialized = [proto.serialize(row) for row in rows]
        except InvalidRecord:
            return [], None  # the load job names the file and the place
        return serialized, proto if sum(map(len, serialized)) <= MAX_ROWS else None

    def _written(self, parent: str, rows: Sequence[bytes], proto: ProtoRows) -> str | None:
        """Return the name of a finished stream with all rows; None where BigQuery has not taken all of them.

        Raises:
            GoogleAPIError: an error, before anything is visible.
        """
        pending = types.WriteStream(type_=types.WriteStream.Type.PENDING)
        stream = self._client.create_write_stream(parent=parent, write_stream=pending, retry=None, timeout=_SECONDS).name
        request = types.AppendRowsRequest(
            write_stream=stream,
            offset=0,
            trace_id="onefold:pull",
            proto_rows=types.AppendRowsRequest.ProtoData(
                writer_schema=types.ProtoSchema(proto_descriptor=proto.descriptor),
                rows=types.ProtoRows(serialized_rows=rows),
            ),
        )
        routing = ("x-goog-request-params", f"write_stream={urllib.parse.quote(stream, safe='')}")
        answers = list(self._client.append_rows(iter([request]), retry=None, timeout=_SECONDS, metadata=[routing]))
        if len(answers) != 1 or answers[0].error.code:
            return None
        written = self._client.finalize_write_stream(name=stream, retry=None, timeout=_SECONDS).row_count
        return stream if written == len(rows) else None

    def _is_committed(self, parent: str, stream: str) -> bool:
        """Commit a stream, and return whether its rows are visible.

        Raises:
            TryAgain: neither the commit nor the look at the stream was answered clearly.
        """
        request = types.BatchCommitWriteStreamsRequest(parent=parent, write_streams=[stream])
        with suppress(api.GoogleAPIError):
            answer = self._client.batch_commit_write_streams(request, retry=None, timeout=_SECONDS)
            return not answer.stream_errors
        with suppress(api.GoogleAPIError):
            if self._client.get_write_stream(name=stream, retry=None, timeout=_SECONDS).commit_time:
                return True
        # The commit may still take place: a load job of the same rows could write them twice.
        raise TryAgain(
            f"{stream}: the commit was not answered, so that its rows may be there: the next pull reads them again"
        )
