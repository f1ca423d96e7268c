"""Errors of Pub/Sub: a topic that refuses messages differs from one that fails for a while."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from google.api_core import exceptions as api

from onefold.adapters.pubsub import PubSub
from onefold.core.errors import Rejected, TopicRefused, TryAgain
from onefold.ports.publisher import Message


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (api.NotFound, Rejected),
        (api.InvalidArgument, Rejected),
        (api.PermissionDenied, TopicRefused),
        (api.FailedPrecondition, TopicRefused),
        (api.ServiceUnavailable, TryAgain),
        (api.ResourceExhausted, TryAgain),
        (api.DeadlineExceeded, TryAgain),
    ],
)
def test_a_topic_that_refuses_differs_from_one_that_fails(error: Callable[[str], Exception], kind: type[Exception]) -> None:
    class Client:
        def publish(self, *_: object, **__: object) -> object:
            raise error("as Pub/Sub says")

    publisher = PubSub("my-project")
    publisher._client = Client()
    with pytest.raises(kind) as raised:
        publisher.publish("schema-changes", [Message(b"{}")])
    assert type(raised.value) is kind
