"""Messages that are published over Pub/Sub's REST API."""

from __future__ import annotations

import base64
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.rest import PROJECT
from support.rest_topics import Topics, rest_topics

from onefold.adapters.pubsub_rest import RestPublisher
from onefold.core.errors import OnefoldError, Rejected, TopicRefused, TryAgain
from onefold.ports.publisher import Message

SOURCE = Path(__file__).parents[2] / "functions" / "main.py"


@pytest.fixture
def topics(monkeypatch: pytest.MonkeyPatch) -> Iterator[Topics]:
    with rest_topics() as server:
        monkeypatch.setenv("PUBSUB_EMULATOR_HOST", server.address)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield server


def test_messages_arrive_unchanged(topics: Topics) -> None:
    assert RestPublisher(PROJECT).publish("t", [Message(b"\xff", {"a": "b"}), Message(b"")]) == ["0", "1"]
    (path, first), (_, second) = topics.published
    assert path == f"/v1/projects/{PROJECT}/topics/t:publish"
    assert (base64.b64decode(first["data"]), first["attributes"]) == (b"\xff", {"a": "b"})
    assert base64.b64decode(second["data"]) == b""


def test_a_topic_may_be_named_by_its_full_path(topics: Topics) -> None:
    RestPublisher(PROJECT).publish("projects/other/topics/t", [Message(b"1")])
    assert topics.published[0][0] == "/v1/projects/other/topics/t:publish"


@pytest.mark.parametrize(
    ("status", "kind"), [(403, TopicRefused), (404, Rejected), (400, Rejected), (429, TryAgain), (503, TryAgain)]
)
def test_an_error_of_pubsub_is_transient_or_final_by_its_status(
    topics: Topics, status: int, kind: type[OnefoldError]
) -> None:
    topics.status = status
    with pytest.raises(kind, match=f"^topic projects/{PROJECT}/topics/t: {status} that cannot be$") as caught:
        RestPublisher(PROJECT).publish("t", [Message(b"1")])
    assert type(caught.value) is kind


@pytest.mark.parametrize(
    ("messages", "requests"),
    [
        ([], []),
        ([Message(b"1")] * 1_000, [1_000]),
        ([Message(b"1")] * 2_001, [1_000, 1_000, 1]),
        ([Message(b"x" * 3_000_000)] * 3, [2, 1]),  # base64 makes 4 MB of each, and a request takes 10
        ([Message(b"x" * 7_000_000)] * 2, [1, 1]),
    ],
    ids=["none", "one request", "many", "large", "each too large for two"],
)
def test_a_request_stays_within_the_limits_of_pubsub(topics: Topics, messages: list[Message], requests: list[int]) -> None:
    assert len(RestPublisher(PROJECT).publish("t", messages)) == len(messages)
    assert topics.requests == requests


def test_the_function_of_views_publishes_without_grpc(topics: Topics) -> None:
    """Google's clients load it where it is installed: a fifth of the memory of an instance."""
    code = (
        "import sys, functions_framework\n"
        f"app = functions_framework.create_app('refresh_view', {str(SOURCE)!r})\n"
        "answer = app.test_client().post('/', json={'message': {'data': 'cnViYmlzaA==', 'messageId': '1'}})\n"
        "print(answer.status_code, sorted(name for name in sys.modules if name.startswith(('grpc.', 'google.pubsub'))))"
    )
    environ = {
        "PUBSUB_EMULATOR_HOST": topics.address,
        "BIGQUERY_EMULATOR_HOST": topics.address,
        "ONEFOLD_PROJECT": PROJECT,
        "ONEFOLD_TOPIC_DEAD_LETTER": "dead-letter",
    }
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1:] == ["204 []"], done.stderr
    assert topics.contents("dead-letter") == [b"rubbish"]
