"""The servers that a capture process talks to: a Pub/Sub that takes messages, and a BigQuery that has tables.

They honour: Publish over gRPC, which keeps all messages of a request before it answers, answers UNAVAILABLE when it is
told to, or does not answer for a while; TestIamPermissions of topics, which gives none for a topic that is missing or
closed, and is not implemented where the emulator's part is played; GetTopic; tables.get, tables.insert and
datasets.get of the REST API, and 503. Every dataset is there but those that are named `missing...`. They know no
subscriptions, no rows and no queries. What reached them is kept in one order, tables and messages alike.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
from google.iam.v1.iam_policy_pb2 import (  # type: ignore[import-untyped]
    TestIamPermissionsRequest,
    TestIamPermissionsResponse,
)
from google.pubsub_v1.types import GetTopicRequest, PublishRequest, PublishResponse, Topic
from support.rest import Answer, HttpRequest, error, serving

RECORDS, CREATED = "change-records", "table-created"
_TABLES = re.compile(r"/bigquery/v2/projects/[^/]+/datasets/[^/]+/tables(?:/(?P<table>[^/]+))?")
_DATASET = re.compile(r"/bigquery/v2/projects/[^/]+/datasets/(?P<dataset>[^/]+)")
_WORKERS = 100
"""Requests that may wait for their answers at the same time."""


@dataclass
class Receiver:
    """What has arrived. Every field may be read while more arrives."""

    arrived: list[tuple[str, Any]] = field(default_factory=list)
    """Messages by their topic, and the names of tables that were made, as `("table", name)`."""
    down: bool = False
    """Pub/Sub answers UNAVAILABLE."""
    missing: set[str] = field(default_factory=set)
    """Topics that do not exist."""
    closed: set[str] = field(default_factory=set)
    """Topics that the account may not publish to."""
    knows_rights: bool = True
    """An emulator does not."""
    tables_down: bool = False
    """BigQuery answers 503."""
    refused: int = 0
    lost_answers: int = 0
    """So many of the next requests are kept, and answered as if they were not."""
    answering: threading.Event = field(default_factory=threading.Event)
    """While it is not set, requests to publish wait for their answer."""
    waiting: int = 0
    """Bytes of messages that wait for their answer now."""
    most_waiting: int = 0
    pubsub_address: str = ""
    bigquery_address: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _tables: dict[str, dict[str, Any]] = field(default_factory=dict, repr=False)

    def messages(self, topic: str = RECORDS, since: int = 0) -> Iterator[bytes]:
        return (data for kind, data in self.arrived[since:] if kind == topic)

    def records(self) -> Iterator[dict[str, Any]]:
        return (record for data in self.messages() for record in json.loads(data)["records"])

    def publish(self, request: Any, context: grpc.ServicerContext) -> Any:
        size = sum(len(message.data) for message in request.messages)
        self._wait(size)
        if self.down:
            self.refused += 1
            context.abort(grpc.StatusCode.UNAVAILABLE, "as the test wanted")
        topic = request.topic.rpartition("/")[2]
        self.arrived += [(topic, message.data) for message in request.messages]
        if self._loses_the_answer():
            context.abort(grpc.StatusCode.UNAVAILABLE, "the answer was lost")
        return PublishResponse.pb()(message_ids=["1"] * len(request.messages))

    def permissions(self, request: Any, context: grpc.ServicerContext) -> Any:
        if self.down:
            context.abort(grpc.StatusCode.UNAVAILABLE, "as the test wanted")
        if not self.knows_rights:
            context.abort(grpc.StatusCode.UNIMPLEMENTED, "no rights here")
        held = request.resource.rpartition("/")[2] not in self.missing | self.closed
        return TestIamPermissionsResponse(permissions=request.permissions if held else [])

    def get_topic(self, request: Any, context: grpc.ServicerContext) -> Any:
        if request.topic.rpartition("/")[2] in self.missing:
            context.abort(grpc.StatusCode.NOT_FOUND, "Topic not found")
        return Topic.pb()(name=request.topic)

    def answer(self, request: HttpRequest) -> Answer:
        """Answer a request to BigQuery."""
        if self.tables_down:
            self.refused += 1
            return error(503, "backendError")
        if dataset := _DATASET.fullmatch(request.path):
            name = dataset["dataset"]
            reference = {"projectId": "local", "datasetId": name}
            return error(404, "notFound") if name.startswith("missing") else (200, {"datasetReference": reference})
        match = _TABLES.fullmatch(request.path)
        assert match, request.path
        return self.create_table(request.json) if request.method == "POST" else self.get_table(match["table"])

    def _wait(self, size: int) -> None:
        with self._lock:
            self.waiting += size
            self.most_waiting = max(self.waiting, self.most_waiting)
        self.answering.wait()
        with self._lock:
            self.waiting -= size

    def _loses_the_answer(self) -> bool:
        with self._lock:
            loses = self.lost_answers > 0
            self.lost_answers -= loses
        return loses

    def get_table(self, name: str) -> Answer:
        return (200, self._tables[name]) if name in self._tables else error(404, "notFound")

    def create_table(self, body: dict[str, Any]) -> Answer:
        name = body["tableReference"]["tableId"]
        with self._lock:
            if name in self._tables:
                return error(409, "duplicate")
            self._tables[name] = {**body, "type": "TABLE", "creationTime": "1700000000000", "etag": "1"}
            self.arrived.append(("table", name))
        return 200, self._tables[name]


@contextmanager
def receiving(receiver: Receiver | None = None) -> Iterator[Receiver]:
    receiver = receiver or Receiver()
    receiver.answering.set()
    with _pubsub(receiver), serving(receiver.answer) as receiver.bigquery_address:
        yield receiver
        receiver.answering.set()


@contextmanager
def _pubsub(receiver: Receiver) -> Iterator[None]:
    publisher = {
        "Publish": _method(receiver.publish, PublishRequest.pb(), PublishResponse.pb()),
        "GetTopic": _method(receiver.get_topic, GetTopicRequest.pb(), Topic.pb()),
    }
    rights = {"TestIamPermissions": _method(receiver.permissions, TestIamPermissionsRequest, TestIamPermissionsResponse)}
    server = grpc.server(ThreadPoolExecutor(_WORKERS))
    services = (("google.pubsub.v1.Publisher", publisher), ("google.iam.v1.IAMPolicy", rights))
    server.add_generic_rpc_handlers(tuple(grpc.method_handlers_generic_handler(name, methods) for name, methods in services))
    receiver.pubsub_address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield
    finally:
        server.stop(0).wait()


def _method(work: Callable[[Any, grpc.ServicerContext], Any], request: Any, response: Any) -> grpc.RpcMethodHandler:
    return grpc.unary_unary_rpc_method_handler(work, request.FromString, response.SerializeToString)


def check_order(arrived: Iterable[tuple[str, Any]]) -> None:
    """Check that each table was created and announced before the first row of its version."""
    made: set[str] = set()
    announced: set[str] = set()
    for kind, data in arrived:
        if kind == "table":
            made.add(data)
            continue
        names = {f"{table}_v_{version}" for table, version in versions_of(json.loads(data))}
        assert names <= made, f"{names - made} are not there, and {kind} tells of them"
        if kind == CREATED:
            announced |= names
        else:
            assert names <= announced, f"rows of {names - announced} came before they were announced"


def versions_of(body: dict[str, Any]) -> set[tuple[str, str]]:
    """Return the tables and versions that a message names, or that its records name."""
    named = body.get("table", [])
    tables = named if isinstance(named, list) else [named]
    records = [record["metadata"] for record in body.get("records", [])]
    return {(one["name"], one["version"]) for one in tables} | {(r["table_name"], r["table_version"]) for r in records}
