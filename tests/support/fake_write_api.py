"""A fake of BigQuery's Storage Write API: a gRPC server of AppendRows on default streams, with the real messages.

It honours:

- the descriptor of a request, which a request for the same stream as the one before it may leave out;
- requests of one connection for the default streams of many tables, answered in their order;
- proto2: a field that is not set is NULL; a column is the field of its name, or that which the option `column_name` names;
- what fields a column may be written from ("Supported protocol buffer data types"), and literals that are none: with one
  such row it takes none of the request, and names all of them;
- columns that the table does not have, and tables that are not there;
- the limit of a request: less than 10 MB;
- faults to answer with (`faults`), in an answer or as the end of a connection, and connections that it ends (`hang_up`).

It does not: know quotas or permissions, check what is in a GEOGRAPHY or a JSON, or have streams other than default ones.
"""

from __future__ import annotations

import contextlib
import queue
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Union

import grpc
from google.cloud.bigquery_storage_v1 import BigQueryWriteClient, types
from google.cloud.bigquery_storage_v1.services.big_query_write.transports import BigQueryWriteGrpcTransport
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet
from google.rpc import code_pb2, status_pb2

from onefold.schema.types import Array, Scalar, Struct, Type, parse_type

LIMIT = 10_000_000
METHOD = "/google.cloud.bigquery.storage.v1.BigQueryWrite/AppendRows"
STREAM = re.compile(r"projects/([^/]+)/datasets/([^/]+)/tables/([^/]+)/streams/_default")
COLUMN_NAME = 454943157

_BOOL, _BYTES, _DOUBLE = FieldDescriptor.TYPE_BOOL, FieldDescriptor.TYPE_BYTES, FieldDescriptor.TYPE_DOUBLE
_INT32, _INT64, _STRING = FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_INT64, FieldDescriptor.TYPE_STRING
ALLOWED = {
    "BOOL": {_BOOL}, "BYTES": {_BYTES}, "DATE": {_INT32, _INT64, _STRING}, "DATETIME": {_STRING}, "TIME": {_STRING},
    "FLOAT64": {_DOUBLE}, "GEOGRAPHY": {_STRING}, "INT64": {_INT64, _INT32}, "JSON": {_STRING}, "STRING": {_STRING},
    "NUMERIC": {_STRING, _INT64, _DOUBLE}, "BIGNUMERIC": {_STRING, _INT64, _DOUBLE}, "TIMESTAMP": {_INT64},
    "INTERVAL": {_STRING},
}  # fmt: skip
INTERVAL = re.compile(r"(-?)(\d+)-(\d+) (-?)(\d+) (-?)(\d+):(\d+):(\d+)(?:\.(\d{1,6}))?")

Row = dict[str, Any]
Problem = Union[types.AppendRowsResponse, grpc.StatusCode]


class FakeWriteApi:
    """The server, and what it holds."""

    def __init__(self) -> None:
        self.tables: dict[str, dict[str, Type]] = {}
        self.rows: dict[str, list[Row]] = {}
        self.problems: queue.SimpleQueue[Problem] = queue.SimpleQueue()
        self.refuse: Callable[[Row], str | None] = lambda _: None
        """What a table's own rules would refuse (a NULL where none may be, STRING(3)), with the reason."""
        self.requests: list[types.AppendRowsRequest] = []
        self.routed: list[str] = []
        self.hang_up = False
        self.received: list[str] = []
        """The streams of requests that have arrived, and may not be answered yet."""
        self.before_answer: Callable[[], object] = lambda: None
        self.answer_seconds = 0.0
        """From the arrival of a request to its answer."""
        self.address = ""
        self.silent = threading.Event()
        self.stop: Callable[[], object] = lambda: None
        self._lock = threading.Lock()

    def create(self, table: str, columns: Mapping[str, str]) -> None:
        self.tables[table] = {name: parse_type(type_) for name, type_ in columns.items()}
        self.rows[table] = []

    @property
    def connections(self) -> int:
        return len(self.routed)

    def append_rows(
        self, requests: Iterator[types.AppendRowsRequest], context: grpc.ServicerContext
    ) -> Iterator[types.AppendRowsResponse]:
        self.routed.append(dict(context.invocation_metadata())["x-goog-request-params"])
        descriptor, stream = None, ""
        for arrived, request in self._arriving(requests):
            self.before_answer()
            time.sleep(max(0.0, arrived + self.answer_seconds - time.monotonic()))
            with self._lock:
                self.requests.append(request)
            if self.silent.is_set():
                context.add_callback(self.silent.clear)
                while context.is_active() and self.silent.is_set():
                    self.silent.wait(0.01)
                return
            if request.write_stream != stream or types.AppendRowsRequest.pb(request).proto_rows.HasField("writer_schema"):
                descriptor, stream = descriptor_of(request), request.write_stream
            assert descriptor
            yield self._answer(request, descriptor, context)
            if self.hang_up:
                return

    def _arriving(self, requests: Iterator[types.AppendRowsRequest]) -> Iterator[tuple[float, types.AppendRowsRequest]]:
        """Take requests off the connection as soon as they arrive, as long as it is open, and note when they did."""
        arrived: queue.SimpleQueue[tuple[float, types.AppendRowsRequest] | None] = queue.SimpleQueue()

        def take() -> None:
            with contextlib.suppress(grpc.RpcError):
                for request in requests:
                    self.received.append(request.write_stream)
                    arrived.put((time.monotonic(), request))
            arrived.put(None)

        threading.Thread(target=take, daemon=True).start()
        return iter(arrived.get, None)

    def _answer(
        self, request: types.AppendRowsRequest, descriptor: descriptor_pb2.DescriptorProto, context: grpc.ServicerContext
    ) -> types.AppendRowsResponse:
        with contextlib.suppress(queue.Empty):
            problem = self.problems.get_nowait()
            if isinstance(problem, grpc.StatusCode):
                context.abort(problem, "as it was told to")
            return problem
        match = STREAM.fullmatch(request.write_stream)
        assert match, request.write_stream
        table = f"{match[2]}.{match[3]}"
        if types.AppendRowsRequest.pb(request).ByteSize() >= LIMIT:
            return failed(code_pb2.INVALID_ARGUMENT, "the request is too large")
        if table not in self.tables:
            context.abort(grpc.StatusCode.NOT_FOUND, f"Requested entity was not found. Entity: {request.write_stream}")
        return self._append(table, Decoder(descriptor, self.tables[table]), request)

    def _append(self, table: str, decoder: Decoder, request: types.AppendRowsRequest) -> types.AppendRowsResponse:
        if decoder.unknown:
            return failed(code_pb2.INVALID_ARGUMENT, f"no column {decoder.unknown}", extra_fields=True)
        rows, errors = [], []
        for index, data in enumerate(request.proto_rows.rows.serialized_rows):
            try:
                rows.append(decoder.row(data))
                reason = self.refuse(rows[-1])
            except ValueError as error:
                reason = str(error)
            if reason:
                errors.append(types.RowError(index=index, code="FIELDS_ERROR", message=reason))
        if errors:
            answer = failed(code_pb2.INVALID_ARGUMENT, "Errors found while processing rows.")
            answer.row_errors = errors
            return answer
        with self._lock:
            self.rows[table] += rows
        return types.AppendRowsResponse(append_result=types.AppendRowsResponse.AppendResult())


class Decoder:
    """Rows by the descriptor that was sent, as Python's values for the columns' types."""

    def __init__(self, descriptor: descriptor_pb2.DescriptorProto, columns: Mapping[str, Type]) -> None:
        pool = descriptor_pool.DescriptorPool()
        pool.Add(descriptor_pb2.FileDescriptorProto(name="sent.proto", syntax="proto2", message_type=[descriptor]))
        self._message = message_factory.GetMessageClass(pool.FindMessageTypeByName(descriptor.name))
        self._columns = columns
        self._names = {field.name: column_of(field) for field in descriptor.field}
        self.unknown = sorted(self._names.values() - columns.keys())

    def row(self, data: bytes) -> Row:
        message = self._message.FromString(data)
        row: Row = dict.fromkeys(self._columns)
        for field, value in self._message.ListFields(message):  # by the class: a column may be called so
            name = self._names[field.name]
            row[name] = decoded(self._columns[name], field, value)
        return row


def decoded(type_: Type, field: FieldDescriptor, value: Any) -> Any:
    if isinstance(type_, Array):
        assert field.is_repeated, field.name
        return [decoded_one(type_.element, field, element) for element in value]
    assert not field.is_repeated, field.name
    return decoded_one(type_, field, value)


def decoded_one(type_: Type, field: FieldDescriptor, value: Any) -> Any:
    if isinstance(type_, Struct):
        types_of = {part.name: part.type for part in type_.fields}
        assert isinstance(value, Message)
        set_ = {part.name: decoded(types_of[part.name], part, one) for part, one in value.ListFields()}
        empty: Row = {name: [] if isinstance(part, Array) else None for name, part in types_of.items()}
        return {**empty, **set_}
    assert isinstance(type_, Scalar)
    assert field.type in ALLOWED[type_.name], (field.name, type_.name, field.type)
    return READ.get(type_.name, lambda plain: plain)(value)


def numeric(text: str) -> Decimal:
    number = Decimal(text)
    if not number.is_finite():
        raise ValueError("Invalid NUMERIC value")
    return number


def interval(text: str) -> tuple[int, int, timedelta]:
    """Months, days, and the time of day."""
    match = INTERVAL.fullmatch(text)
    if not match:
        raise ValueError(f"Invalid INTERVAL value {text}")
    months = int(match[2]) * 12 + int(match[3])
    clock = timedelta(
        hours=int(match[7]), minutes=int(match[8]), seconds=int(match[9]), microseconds=int((match[10] or "").ljust(6, "0"))
    )
    return (-months if match[1] else months, int(match[4] + match[5]), -clock if match[6] else clock)


READ: dict[str, Callable[[Any], Any]] = {
    "DATE": lambda days: date(1970, 1, 1) + timedelta(days=days),
    "DATETIME": datetime.fromisoformat,
    "TIMESTAMP": lambda microseconds: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds),
    "NUMERIC": numeric,
    "BIGNUMERIC": numeric,
    "INTERVAL": interval,
}


def descriptor_of(request: types.AppendRowsRequest) -> descriptor_pb2.DescriptorProto:
    descriptor: descriptor_pb2.DescriptorProto = types.AppendRowsRequest.pb(
        request
    ).proto_rows.writer_schema.proto_descriptor
    assert descriptor.field, "the first request for a table says how its rows are written"
    return descriptor


def column_of(field: descriptor_pb2.FieldDescriptorProto) -> str:
    """The field's name, or what its option says, which the library does not know."""
    unknown = UnknownFieldSet(field.options)
    if len(unknown) == 0:
        return field.name
    assert unknown[0].field_number == COLUMN_NAME
    return str(unknown[0].data.decode())


def failed(code: int, message: str, extra_fields: bool = False) -> types.AppendRowsResponse:
    """An answer that no row was taken."""
    status = status_pb2.Status(code=code, message=message)
    if extra_fields:
        error = types.StorageError(code="SCHEMA_MISMATCH_EXTRA_FIELDS", error_message=message)
        detail = AnyMessage()
        detail.Pack(types.StorageError.pb(error))
        status.details.append(detail)
    return types.AppendRowsResponse(error=status)


@contextlib.contextmanager
def fake_write_api() -> Iterator[tuple[FakeWriteApi, BigQueryWriteClient]]:
    """A server, and the real client for it."""
    fake = FakeWriteApi()
    handler = grpc.stream_stream_rpc_method_handler(
        fake.append_rows, types.AppendRowsRequest.deserialize, types.AppendRowsResponse.serialize
    )
    service, _, method = METHOD[1:].partition("/")
    limits = [("grpc.max_receive_message_length", -1)]
    threads = ThreadPoolExecutor(20)
    server = grpc.server(threads, options=limits)
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(service, {method: handler})])
    fake.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    fake.stop = lambda: server.stop(None).wait()
    try:
        with write_client(fake.address) as client:
            yield fake, client
    finally:
        fake.stop()
        threads.shutdown()


@contextlib.contextmanager
def write_client(address: str) -> Iterator[BigQueryWriteClient]:
    """The real client for the server at an address, which may be another process."""
    channel = grpc.insecure_channel(address, options=[("grpc.enable_http_proxy", 0)])
    try:
        yield BigQueryWriteClient(transport=BigQueryWriteGrpcTransport(channel=channel))  # type: ignore[no-untyped-call]
    finally:
        channel.close()
