"""The Pub/Sub adapter with Google's own emulator: from a published message, by a push, to the function and the view."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.database_servers import READER
from support.in_memory import ABC
from support.source_database import SourceDatabase, end_of_log

from onefold.adapters.gcs import GcsObjects
from onefold.adapters.pubsub import PubSub
from onefold.core.errors import Rejected, TryAgain
from onefold.doctor.java import java_version
from onefold.messages.table_created import table_message
from onefold.mysql.binlog.events import LogPosition
from onefold.ports.publisher import Message
from onefold_lab.processes import free_port, function_server
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT

_START_SECONDS = 300.0
TOPICS = ("table-created", "schema-changes", "dead-letter", "change-records")


@pytest.fixture(scope="module")
def pubsub_emulator() -> Iterator[str]:
    """The value for PUBSUB_EMULATOR_HOST."""
    if not shutil.which("gcloud") or java_version() is None:
        pytest.skip("Google's Pub/Sub emulator needs gcloud and Java, which are not both here")
    host = f"127.0.0.1:{free_port()}"
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as output:
        command = ["gcloud", "beta", "emulators", "pubsub", "start", f"--host-port={host}", f"--data-dir={folder}"]
        # gcloud starts the emulator as a child, so the whole group is ended.
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True)
        try:
            if not until(lambda: process.poll() is not None or answers(host)) or process.poll() is not None:
                output.seek(0)
                pytest.skip(
                    f"Google's Pub/Sub emulator does not start here: {output.read()[-500:].decode(errors='replace')}"
                )
            yield host
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.wait()


def answers(host: str) -> bool:
    name, _, port = host.partition(":")
    with contextlib.suppress(OSError), socket.create_connection((name, int(port)), timeout=1):
        return True
    return False


def until(condition: Callable[[], Any]) -> Any:
    """Wait until a condition returns something true, and return that; the last result where that takes too long."""
    end = time.monotonic() + _START_SECONDS
    while not (result := condition()) and time.monotonic() < end:
        time.sleep(0.05)
    return result


@pytest.fixture
def subscriber(pubsub_emulator: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    from google.cloud import pubsub_v1

    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", pubsub_emulator)
    with pubsub_v1.SubscriberClient() as client:
        yield client


@pytest.fixture
def topics(subscriber: Any) -> Iterator[dict[str, str]]:
    """The topics, empty, each with a subscription `read-TOPIC` to look into it."""
    from google.cloud import pubsub_v1

    publisher = pubsub_v1.PublisherClient()
    paths = {topic: f"projects/{DEFAULT_PROJECT}/topics/{topic}" for topic in TOPICS}
    for topic, path in paths.items():
        publisher.create_topic(name=path)
        subscriber.create_subscription(name=subscription(f"read-{topic}"), topic=path)
    yield paths
    for topic, path in paths.items():
        subscriber.delete_subscription(subscription=subscription(f"read-{topic}"))
        publisher.delete_topic(topic=path)


def subscription(name: str) -> str:
    return f"projects/{DEFAULT_PROJECT}/subscriptions/{name}"


def names(dataset: EmulatedDataset) -> list[str]:
    return [table.table_id for table in dataset.client.list_tables(dataset.name)]


def pulled(subscriber: Any, topic: str) -> list[Any]:
    answer = subscriber.pull(subscription=subscription(f"read-{topic}"), max_messages=10, timeout=300)
    return [received.message for received in answer.received_messages]


@pytest.mark.usefixtures("topics")
def test_messages_are_published_with_their_attributes(subscriber: Any) -> None:
    sent = [Message(b"\x00\xff", {"reason": "größer"}), Message(b"", {"part": "2/2"})]
    identifiers = PubSub(DEFAULT_PROJECT).publish("dead-letter", sent)
    found = {message.message_id: message for message in pulled(subscriber, "dead-letter")}
    assert [(found[id_].data, dict(found[id_].attributes)) for id_ in identifiers] == [
        (message.data, message.attributes) for message in sent
    ]


@pytest.mark.usefixtures("topics")
def test_a_topic_may_have_its_full_name() -> None:
    assert PubSub("other").publish(f"projects/{DEFAULT_PROJECT}/topics/dead-letter", [Message(b"a")])


@pytest.mark.parametrize(
    ("topic", "message"),
    [("nowhere", Message(b"a")), ("dead-letter", Message(b"x" * 11_000_000)), ("dead-letter", Message(b""))],
    ids=["no such topic", "too large", "nothing in it"],
)
@pytest.mark.usefixtures("topics")
def test_a_message_that_no_topic_takes_raises_rejected(topic: str, message: Message) -> None:
    with pytest.raises(Rejected, match=topic):
        PubSub(DEFAULT_PROJECT).publish(topic, [message])


def test_a_server_that_does_not_answer_raises_try_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", "127.0.0.1:9")
    monkeypatch.setattr("onefold.adapters.pubsub._TIMEOUT", 0.2)
    with pytest.raises(TryAgain, match=r"no answer from 127\.0\.0\.1:9 \(Connection refused"):
        PubSub(DEFAULT_PROJECT).publish("table-created", [Message(b"a")])


def test_without_credentials_the_error_says_how_to_log_in(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in {
        "GOOGLE_APPLICATION_CREDENTIALS": "",
        "CLOUDSDK_CONFIG": "/nowhere",
        "NO_GCE_CHECK": "true",
    }.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.delenv("PUBSUB_EMULATOR_HOST", raising=False)
    with pytest.raises(Rejected, match="gcloud auth application-default login"):
        PubSub(DEFAULT_PROJECT).publish("table-created", [Message(b"a")])


def test_a_published_message_is_pushed_to_the_function_and_the_view_is_there(
    dataset: EmulatedDataset, subscriber: Any, topics: dict[str, str], pubsub_emulator: str
) -> None:
    dataset.land("customer_v_abc", ABC, "1, 'Ada', 'Lovelace', 'Ada Lovelace'")
    environ = {
        "BIGQUERY_EMULATOR_HOST": dataset.host,
        "PUBSUB_EMULATOR_HOST": pubsub_emulator,
        "ONEFOLD_PROJECT": DEFAULT_PROJECT,
        **{f"ONEFOLD_TOPIC_{topic.replace('-', '_').upper()}": topic for topic in TOPICS},
    }
    with function_server("refresh_view", environ) as url:
        push = {"push_endpoint": url}
        subscriber.create_subscription(name=subscription("push"), topic=topics["table-created"], push_config=push)
        messages = [Message(table_message(dataset.name, "customer", "abc")), Message(b"rubbish")]
        PubSub(DEFAULT_PROJECT).publish("table-created", messages)
        (change,) = until(lambda: pulled(subscriber, "schema-changes"))
        (kept,) = until(lambda: pulled(subscriber, "dead-letter"))
        assert until(lambda: "customer_unified" in names(dataset))
        subscriber.delete_subscription(subscription=subscription("push"))
    assert dataset.rows("customer_unified") == [(1, "Ada", "Lovelace", "Ada Lovelace")]
    assert json.loads(change.data)["changes"][0]["kind"] == "view created"
    assert (kept.data, kept.attributes["reason"]) == (b"rubbish", "the message is not JSON, or nested too deep")


def test_a_change_at_a_real_source_is_published_while_capture_runs(
    source: SourceDatabase, dataset: EmulatedDataset, subscriber: Any, topics: dict[str, str], tmp_path: Path
) -> None:
    source.run("CREATE TABLE customer (id INT PRIMARY KEY, name LONGTEXT)", "INSERT INTO customer VALUES (1, 'Ada')")
    with capturing(source, dataset, tmp_path) as process:
        (copied,) = until(lambda: pulled(subscriber, "change-records"))
        source.run(f"INSERT INTO customer VALUES (2, '{'x' * 500_000}')")
        (large,) = until(lambda: pulled(subscriber, "change-records"))
        process.terminate()
        assert process.wait(timeout=_START_SECONDS) == 0
    (created,) = until(lambda: pulled(subscriber, "table-created"))
    announced = json.loads(created.data)
    assert f"customer_v_{announced['table']['version']}" in names(dataset)
    found = [json.loads(copied.data), json.loads(GcsObjects().read(json.loads(large.data)["records_at"]))]
    assert {message["dataset"] for message in found} == {announced["dataset"]}
    named = [record["metadata"]["table_version"] for message in found for record in message["records"]]
    assert named == [announced["table"]["version"]] * 2
    assert "table" not in found[0], "a message has rows of many tables"
    assert [[record["data"]["id"] for record in message["records"]] for message in found] == [[1], [2]]
    position = json.loads((tmp_path / "state" / "checkpoint.json").read_bytes())["place"]
    assert LogPosition(**position) == replace(end_of_log(source.connection), epoch=position["epoch"])
    assert len(topics) == len(TOPICS)


@contextlib.contextmanager
def capturing(source: SourceDatabase, dataset: EmulatedDataset, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run `onefold capture` for a source of the test."""
    command = [sys.executable, "-c", "from onefold.cli import main; main()", "capture", "--host", "127.0.0.1"]
    command += ["--port", str(source.server.port), "--user", READER, "--include", source.name, "--source", "shop-db"]
    command += ["--dataset", dataset.name, "--checkpoint", str(folder / "state"), "--bucket", str(folder), "--snapshot"]
    process = subprocess.Popen(command, env={**os.environ, "ONEFOLD_SOURCE_PASSWORD": ""})
    try:
        yield process
    finally:
        process.kill()
        process.wait()
