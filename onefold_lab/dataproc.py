"""An emulator of the Dataproc API for a laptop: a gRPC server with Google's messages that runs jobs with the local Spark.

Supported: CreateBatch (identifiers and their form, ALREADY_EXISTS, request identifiers, labels, long-running
operations), GetBatch, ListBatches (pages; the filters of `dataproc_filter`), DeleteBatch, GetOperation, CancelOperation,
the states with their messages and history, and the output of jobs, in a folder. The client finds the emulator through
DATAPROC_EMULATOR_HOST.

Not supported: credentials, permissions, quotas, networks, regions (every name is accepted), runtime versions, time to
live, sessions, and costs. Nothing is read from gs://: only the name of the main file counts.
"""

from __future__ import annotations

import contextlib
import re
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import grpc
from google.cloud import dataproc_v1
from google.cloud.dataproc_v1 import Batch
from google.longrunning import operations_pb2
from google.protobuf import empty_pb2
from google.rpc import code_pb2, status_pb2

from onefold_lab.dataproc_filter import parse_filter
from onefold_lab.spark_process import run_job

State = Batch.State
Run = Callable[[Batch, threading.Event], str | None]
"""Runs a batch to its end. Returns None if it succeeded, else the state message. Should end soon after the event is set."""

_ID = re.compile(r"[a-z0-9][a-z0-9-]{2,61}[a-z0-9]")
_LABEL_NAME, _LABEL_VALUE = re.compile(r"[a-z][a-z0-9_-]{0,62}"), re.compile(r"[a-z0-9_-]{0,63}")
_DEFAULT_PAGE, _MAX_PAGE = 20, 1_000
_ENDED = (State.SUCCEEDED, State.FAILED, State.CANCELLED)


class ApiError(Exception):
    """An error that the API answers with: a gRPC status code and a text."""

    def __init__(self, code: grpc.StatusCode, text: str) -> None:
        self.code = code
        super().__init__(text)


@dataclass
class _StoredBatch:
    """A batch, the identifier of its request, the name of its operation, and the event that cancels it."""

    batch: Batch
    request_id: str
    operation: str
    cancelled: threading.Event = field(default_factory=threading.Event)


class LocalDataproc:
    """The batches of the emulator, and the methods of the API."""

    def __init__(self, run: Run, at_once: int = 1) -> None:
        self._run = run
        self._folder = tempfile.TemporaryDirectory(prefix="onefold_batches_")
        self._workers = ThreadPoolExecutor(at_once, "batch")
        self._lock = threading.RLock()
        self._batches: dict[str, _StoredBatch] = {}

    def close(self) -> None:
        """End every batch that has not ended."""
        for stored in self._batches.values():
            stored.cancelled.set()
        self._workers.shutdown(wait=True, cancel_futures=True)
        self._folder.cleanup()

    def create_batch(self, request: dataproc_v1.CreateBatchRequest) -> operations_pb2.Operation:
        _check_create(request)
        name = f"{request.parent}/batches/{request.batch_id}"
        with self._lock:
            repeated = [
                stored for stored in self._batches.values() if request.request_id and stored.request_id == request.request_id
            ]
            if repeated:
                return _operation(repeated[0])
            if name in self._batches:
                raise ApiError(grpc.StatusCode.ALREADY_EXISTS, f"Already exists: Failed to create batch: {name}")
            stored = self._store(request, name)
        self._workers.submit(self._run_batch, stored)
        return _operation(stored)

    def get_batch(self, request: dataproc_v1.GetBatchRequest) -> Batch:
        with self._lock:
            return Batch(self._find(request.name).batch)

    def list_batches(self, request: dataproc_v1.ListBatchesRequest) -> dataproc_v1.ListBatchesResponse:
        try:
            matches, start = parse_filter(request.filter), int(request.page_token or 0)
        except ValueError as error:
            raise ApiError(grpc.StatusCode.INVALID_ARGUMENT, str(error)) from error
        with self._lock:
            in_region = [
                stored.batch for name, stored in self._batches.items() if name.startswith(f"{request.parent}/batches/")
            ]
            found = [Batch(batch) for batch in reversed(in_region) if matches(batch)]
        size = min(request.page_size or _DEFAULT_PAGE, _MAX_PAGE)
        more = str(start + size) if start + size < len(found) else ""
        return dataproc_v1.ListBatchesResponse(batches=found[start : start + size], next_page_token=more)

    def delete_batch(self, request: dataproc_v1.DeleteBatchRequest) -> empty_pb2.Empty:
        with self._lock:
            if self._find(request.name).batch.state not in _ENDED:
                raise ApiError(grpc.StatusCode.FAILED_PRECONDITION, f"{request.name} has not ended")
            del self._batches[request.name]
        return empty_pb2.Empty()

    def get_operation(self, request: operations_pb2.GetOperationRequest) -> operations_pb2.Operation:
        with self._lock:
            return _operation(self._find_operation(request.name))

    def cancel_operation(self, request: operations_pb2.CancelOperationRequest) -> empty_pb2.Empty:
        stored = self._find_operation(request.name)
        with self._lock:
            if stored.batch.state not in _ENDED:
                _enter(stored.batch, State.CANCELLING)
                stored.cancelled.set()
        return empty_pb2.Empty()

    def _store(self, request: dataproc_v1.CreateBatchRequest, name: str) -> _StoredBatch:
        operation = f"{request.parent.replace('/locations/', '/regions/')}/operations/{uuid.uuid4()}"
        batch = Batch(request.batch)
        batch.name, batch.uuid, batch.operation = name, str(uuid.uuid4()), operation
        batch.runtime_info.output_uri = f"file://{self._folder.name}/{batch.uuid}/driveroutput"
        Batch.pb(batch).create_time.GetCurrentTime()
        _enter(batch, State.PENDING)
        stored = self._batches[name] = _StoredBatch(batch, request.request_id, operation)
        return stored

    def _run_batch(self, stored: _StoredBatch) -> None:
        with self._lock:
            if not stored.cancelled.is_set():
                _enter(stored.batch, State.RUNNING)
        try:
            message = None if stored.cancelled.is_set() else self._run(Batch(stored.batch), stored.cancelled)
        except Exception as error:  # noqa: BLE001 any error becomes the state message of the batch
            message = f"the job could not be run: {type(error).__name__}: {error}"
        with self._lock:
            if stored.cancelled.is_set():
                _enter(stored.batch, State.CANCELLED)
            else:
                _enter(stored.batch, State.SUCCEEDED if message is None else State.FAILED, message or "")

    def _find(self, name: str) -> _StoredBatch:
        """Return a batch by its name.

        Raises:
            ApiError: NOT_FOUND.
        """
        with self._lock:
            if name not in self._batches:
                raise ApiError(grpc.StatusCode.NOT_FOUND, f"Not found: Batch {name}")
            return self._batches[name]

    def _find_operation(self, name: str) -> _StoredBatch:
        """Return the batch of an operation.

        Raises:
            ApiError: NOT_FOUND.
        """
        with self._lock:
            for stored in self._batches.values():
                if stored.operation == name:
                    return stored
        raise ApiError(grpc.StatusCode.NOT_FOUND, f"Not found: Operation {name}")


@contextlib.contextmanager
def dataproc_emulator(
    environ: Mapping[str, str] | None = None, run: Run | None = None, at_once: int = 1, port: int = 0
) -> Iterator[str]:
    """Run the emulator. Yields the value for DATAPROC_EMULATOR_HOST. Running batches are cancelled at its end.

    Args:
        environ: variables of the jobs in addition to those of this process, such as BIGQUERY_EMULATOR_HOST.
        run: runs a batch; by default with the local Spark.
        at_once: how many batches run at the same time; others are pending.
        port: the port of the server; by default a free one.
    """
    dataproc = LocalDataproc(run or (lambda batch, cancelled: run_job(batch, cancelled, environ or {})), at_once)
    server = grpc.server(ThreadPoolExecutor(8, "dataproc"))
    for handlers in _handlers(dataproc):
        server.add_generic_rpc_handlers((handlers,))
    port = server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(grace=None).wait()
        dataproc.close()


def _handlers(dataproc: LocalDataproc) -> Iterator[grpc.GenericRpcHandler]:
    """Yield the handlers of both services: each method with the function that parses its request."""
    v1, lro = dataproc_v1, operations_pb2
    methods: Mapping[str, Mapping[str, tuple[Callable[[Any], Any], Any]]] = {
        "google.cloud.dataproc.v1.BatchController": {
            "CreateBatch": (dataproc.create_batch, v1.CreateBatchRequest.deserialize),
            "GetBatch": (dataproc.get_batch, v1.GetBatchRequest.deserialize),
            "ListBatches": (dataproc.list_batches, v1.ListBatchesRequest.deserialize),
            "DeleteBatch": (dataproc.delete_batch, v1.DeleteBatchRequest.deserialize),
        },
        "google.longrunning.Operations": {
            "GetOperation": (dataproc.get_operation, lro.GetOperationRequest.FromString),
            "CancelOperation": (dataproc.cancel_operation, lro.CancelOperationRequest.FromString),
        },
    }
    for service, named in methods.items():
        handlers = {
            name: grpc.unary_unary_rpc_method_handler(_answering(method), read, _serialize)
            for name, (method, read) in named.items()
        }
        yield grpc.method_handlers_generic_handler(service, handlers)


def _answering(method: Callable[[Any], Any]) -> Callable[[Any, grpc.ServicerContext], Any]:
    def answer(request: Any, context: grpc.ServicerContext) -> Any:
        try:
            return method(request)
        except ApiError as error:
            context.abort(error.code, str(error))

    return answer


def _serialize(message: Any) -> bytes:
    """Return the bytes of a message, which is one of proto-plus (batches) or of protobuf (operations)."""
    return bytes(getattr(message, "_pb", message).SerializeToString())


def _check_create(request: dataproc_v1.CreateBatchRequest) -> None:
    """Check a request as Dataproc does.

    Raises:
        ApiError: INVALID_ARGUMENT with all problems.
    """
    batch, problems = request.batch, []
    if not _ID.fullmatch(request.batch_id):
        problems.append(
            f"Batch ID {request.batch_id!r} must have 4 to 63 lower-case letters, digits and hyphens, as in merge-customer-1"
        )
    if not batch.pyspark_batch.main_python_file_uri:
        problems.append("pyspark_batch.main_python_file_uri is missing: the emulator runs only PySpark batches")
    problems += [
        f"label {name}={value} is not valid"
        for name, value in batch.labels.items()
        if not (_LABEL_NAME.fullmatch(name) and _LABEL_VALUE.fullmatch(value))
    ]
    if problems:
        raise ApiError(grpc.StatusCode.INVALID_ARGUMENT, "; ".join(problems))


def _enter(batch: Batch, state: int, message: str = "") -> None:
    """Set the state of a batch; the previous state is appended to the history."""
    if batch.state:
        batch.state_history.append(
            Batch.StateHistory(state=batch.state, state_message=batch.state_message, state_start_time=batch.state_time)
        )
    batch.state, batch.state_message = Batch.State(state), message
    Batch.pb(batch).state_time.GetCurrentTime()


def _operation(stored: _StoredBatch) -> operations_pb2.Operation:
    """Return the long-running operation of a batch: its metadata, and the result or the error if the batch has ended."""
    batch = stored.batch
    operation = operations_pb2.Operation(name=stored.operation, done=batch.state in _ENDED)
    metadata = dataproc_v1.BatchOperationMetadata(batch=batch.name, batch_uuid=batch.uuid, labels=batch.labels)
    operation.metadata.Pack(dataproc_v1.BatchOperationMetadata.pb(metadata))
    if batch.state == State.SUCCEEDED:
        operation.response.Pack(Batch.pb(batch))
    elif operation.done:
        code = code_pb2.CANCELLED if batch.state == State.CANCELLED else code_pb2.INTERNAL
        operation.error.CopyFrom(status_pb2.Status(code=code, message=batch.state_message))
    return operation
