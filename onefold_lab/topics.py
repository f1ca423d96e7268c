"""A stand-in for Pub/Sub: topics in memory, each with a push subscription of one local function.

Clients reach it over gRPC, through PUBSUB_EMULATOR_HOST, and Spark jobs and the function `refresh_view` over REST. A
published message is confirmed at once, and delivered until its function accepts it; other messages do not wait for it. It
serves the methods `Publish` and `GetTopic`, and no others: no pulling, no attributes, no ordering keys, no rights, no new
topics. Messages that are not delivered yet are lost at its end.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import grpc
from google.pubsub_v1 import types

from onefold.adapters.send_event import deliver
from onefold.core.errors import OnefoldError, Rejected
from onefold.core.retry import Backoff
from onefold.core.text import cut, shown_list
from onefold_lab.rest_topics import rest_server

_CONCURRENT_DELIVERIES = 4
_CONCURRENT_REQUESTS = 8
_MAX_MESSAGE = 12_000_000
"""Bytes of a request: Pub/Sub's own limit is 10 MB. https://cloud.google.com/pubsub/quotas, read 2026"""
_REDELIVERY = Backoff(first=0.5, longest=30.0)
_SHOWN_CHARACTERS = 1_000


@dataclass(frozen=True)
class PushTopic:
    """A topic, and the function that takes its messages; without one, messages are only shown."""

    name: str
    url: str | None = None


@dataclass(frozen=True)
class _Delivery:
    topic: PushTopic
    identifier: str
    data: bytes
    pauses: Iterator[float]


class PushTopics:
    """The topics, and the deliveries that are not accepted yet."""

    def __init__(self, topics: Mapping[str, PushTopic], show: Callable[[str], None]) -> None:
        """Begin without messages.

        Args:
            topics: by name.
            show: is called with a line for people, perhaps in another thread.
        """
        self._topics = topics
        self._show = show
        self._ended = threading.Event()
        self._pool = ThreadPoolExecutor(_CONCURRENT_DELIVERIES, "delivery")
        self._identifiers = itertools.count(1)

    def close(self) -> None:
        """Wait for deliveries that have begun; others never begin."""
        self._ended.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def publish_all(self, name: str, messages: Sequence[bytes]) -> list[str] | None:
        """Publish messages and return their identifiers; None where there is no topic of this name."""
        topic = self._topics.get(name)
        return [self._publish(topic, data) for data in messages] if topic else None

    def publish(self, request: Any, context: grpc.ServicerContext) -> Any:
        topic = self._find(request.topic, context)
        identifiers = [self._publish(topic, message.data) for message in request.messages]
        return types.PublishResponse.pb()(message_ids=identifiers)

    def get_topic(self, request: Any, context: grpc.ServicerContext) -> Any:
        self._find(request.topic, context)
        return types.Topic.pb()(name=request.topic)

    def _find(self, path: str, context: grpc.ServicerContext) -> PushTopic:
        name = path.rpartition("/")[2]
        if name not in self._topics:
            context.abort(grpc.StatusCode.NOT_FOUND, f"{path} is not a topic; known are {shown_list(self._topics)}")
        return self._topics[name]

    def _publish(self, topic: PushTopic, data: bytes) -> str:
        identifier = str(next(self._identifiers))
        if topic.url:
            self._submit(_Delivery(topic, identifier, data, _REDELIVERY.pauses()))
        else:
            self._show(f"{topic.name}: {cut(data.decode(errors='replace'), _SHOWN_CHARACTERS)}")
        return identifier

    def _submit(self, delivery: _Delivery) -> None:
        with contextlib.suppress(RuntimeError):  # the pool is closed: nothing is delivered any more
            self._pool.submit(self._deliver, delivery)

    def _deliver(self, delivery: _Delivery) -> None:
        """Deliver a message; if its function does not accept it, again after a pause, in which others are delivered.

        A message that its function acknowledges and does not handle is delivered, too: Pub/Sub knows only the status.
        """
        if self._ended.is_set() or delivery.topic.url is None:
            return
        name = f"{delivery.topic.name}, message {delivery.identifier}"
        try:
            if reason := deliver(delivery.topic.url, delivery.data).reason:
                self._show(f"{name}: its function acknowledges it and does not handle it: {reason}")
        except OnefoldError as error:
            pause = next(delivery.pauses)
            self._show(f"{name}: delivered again in {pause:g} s, because the function does not accept it: {error}")
            timer = threading.Timer(pause, self._submit, (delivery,))
            timer.daemon = True
            timer.start()


@contextlib.contextmanager
def topics_server(
    topics: Mapping[str, PushTopic], port: int, show: Callable[[str], None], rest_port: int | None = None
) -> Iterator[str]:
    """Serve topics. Yields the value for PUBSUB_EMULATOR_HOST.

    Args:
        topics: by name.
        port: the port.
        show: is called with a line for people, perhaps in another thread.
        rest_port: the port of the same topics over REST; None for none.

    Raises:
        Rejected: the port cannot be used.
    """
    served = PushTopics(topics, show)
    methods = {
        "Publish": _method(served.publish, types.PublishRequest.pb(), types.PublishResponse.pb()),
        "GetTopic": _method(served.get_topic, types.GetTopicRequest.pb(), types.Topic.pb()),
    }
    server = grpc.server(
        ThreadPoolExecutor(_CONCURRENT_REQUESTS, "request"), options=[("grpc.max_receive_message_length", _MAX_MESSAGE)]
    )
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("google.pubsub.v1.Publisher", methods),))
    try:
        server.add_insecure_port(f"127.0.0.1:{port}")
    except RuntimeError as error:
        raise Rejected(f"topics cannot be served at port {port}: name another one") from error
    server.start()
    try:
        with contextlib.nullcontext() if rest_port is None else rest_server(served.publish_all, rest_port):
            yield f"127.0.0.1:{port}"
    finally:
        server.stop(grace=None).wait()
        served.close()


def _method(work: Callable[[Any, grpc.ServicerContext], Any], request: Any, response: Any) -> grpc.RpcMethodHandler:
    return grpc.unary_unary_rpc_method_handler(work, request.FromString, response.SerializeToString)
