"""The function `launch_batch` as functions-framework serves it: what it answers, logs and puts aside."""

from __future__ import annotations

import json
import os
import queue
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import functions_framework
import launch_batch
import pytest
from google.cloud import dataproc_v1
from support.batches import ENVIRON, SETTINGS, MemoryBatches
from support.fuzz_messages import EVENT_HEADERS, RAW, Fuzzer
from support.in_memory import MemoryPublisher, event_body, push_body
from support.sweeps import sweep
from werkzeug.test import Client

from onefold.adapters.send_event import local_session
from onefold.batches.launch import BatchHandler
from onefold.batches.request import batch_message
from onefold.core.errors import TryAgain
from onefold.ports.batches import BatchState
from onefold_lab.dataproc import dataproc_emulator
from onefold_lab.processes import function_server

SOURCE = str(Path(__file__).parents[2] / "functions" / "main.py")
MESSAGE = batch_message("reconcile", "shop", "customer", {"keys": ["id"]})
ONE_BATCH = re.compile(r"onefold-reconcile-[0-9a-f]{20}")


def serve() -> Client:
    app = functions_framework.create_app(target="launch_batch", source=SOURCE, signature_type="cloudevent")  # type: ignore[no-untyped-call]
    client: Client = app.test_client()
    return client


@pytest.fixture
def batches() -> MemoryBatches:
    return MemoryBatches()


@pytest.fixture
def publisher() -> MemoryPublisher:
    return MemoryPublisher()


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch, batches: MemoryBatches, publisher: MemoryPublisher) -> Client:
    launcher = BatchHandler(SETTINGS, batches, publisher)
    monkeypatch.setattr(launch_batch, "launcher", lambda: launcher)
    return serve()


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str]) -> Callable[[], list[dict[str, Any]]]:
    return lambda: [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (push_body(MESSAGE), EVENT_HEADERS),
        (event_body(MESSAGE), {"Content-Type": "application/cloudevents+json"}),
        (push_body(MESSAGE), {"Content-Type": "application/x-www-form-urlencoded"}),
    ],
    ids=["binary event", "structured event", "push called a form"],
)
def test_every_form_of_a_message_creates_the_batch_once(
    client: Client, batches: MemoryBatches, body: bytes, headers: dict[str, str]
) -> None:
    for _ in range(2):
        answer = client.post("/", data=body, headers=headers)
        assert (answer.status_code, answer.data) == (204, b"")
    (created,) = batches.created
    assert created.labels["onefold_table"] == "customer"


def test_one_line_says_which_batch_it_is(client: Client, lines: Callable[[], list[dict[str, Any]]]) -> None:
    client.post("/", data=push_body(MESSAGE))
    client.post("/", data=push_body(MESSAGE))
    created, attached = lines()
    assert ONE_BATCH.fullmatch(created["batch"])
    assert created.pop("milliseconds") >= 0
    assert created == {
        "severity": "NOTICE",
        "message": f"shop.customer: batch {created['batch']} created",
        "event": "launched",
        "message_id": "1234",
        "job": "reconcile",
        "dataset": "shop",
        "table": "customer",
        "batch": created["batch"],
        "created": True,
        "attempt": 1,
        "state": "PENDING",
        "link": "https://console.cloud.google.com/dataproc/batches/europe-west1/"
        f"{created['batch']}/monitoring?project=my-project",
        "calls": 3,
    }
    assert (attached["severity"], attached["created"], attached["calls"]) == ("INFO", False, 1)


def test_the_former_name_of_a_job_is_taken_with_a_warning(
    batches: MemoryBatches, publisher: MemoryPublisher, lines: Callable[[], list[dict[str, Any]]]
) -> None:
    arguments = {"source": "shop", "database": "crm", "window": "day"}
    launcher = BatchHandler(replace(SETTINGS, datasets=None), batches, publisher)
    launcher.handle(push_body(batch_message("extract", "shop_crm", None, arguments)))
    warning, launched = lines()
    assert (warning["severity"], warning["event"], launched["event"]) == ("WARNING", "former_name", "launched")
    assert warning["message"] == "the job extract is now called pull: the former name goes with the next release"


def test_a_message_comes_later_while_another_batch_runs(
    client: Client, batches: MemoryBatches, lines: Callable[[], list[dict[str, Any]]]
) -> None:
    client.post("/", data=push_body(MESSAGE, "1"))
    answer = client.post("/", data=push_body(MESSAGE, "2"))
    assert answer.status_code == 500
    assert b"has not ended; this one is for later" in answer.data
    assert lines()[-1]["event"] == "try_again"
    batches.enter(batches.created[0].id, BatchState.SUCCEEDED)
    assert client.post("/", data=push_body(MESSAGE, "2")).status_code == 204


def test_an_error_that_may_pass_is_answered_with_500(client: Client, batches: MemoryBatches) -> None:
    batches.error = TryAgain("503")
    assert client.post("/", data=push_body(MESSAGE)).status_code == 500
    batches.error = None
    assert client.post("/", data=push_body(MESSAGE)).status_code == 204


@pytest.mark.parametrize(
    ("data", "reported"),
    [
        (b"no json", "the message is not JSON"),
        (batch_message("drop", "shop", "customer", {}), "`job` must be one of reconcile, pull, check, compare, shred"),
        (
            batch_message("reconcile", "crm", "customer", {"keys": "id"}),
            "dataset crm is not among ONEFOLD_DATASETS: add it there",
        ),
        (batch_message("reconcile", "shop", "customer", {"changes": "gs://b/a"}), "--keys: name the columns that identify"),
        (batch_message("reconcile", "shop", "customer", {"keys": "id", "help": "me"}), "--help"),
        (batch_message("reconcile", "shop", "c", {"keys": "id", "changes": ["gs://b/a", "-h"]}), "no URI begins with '-'"),
        (batch_message("reconcile", "shop", "customer", {"keys": "id", "output": "gs://x1y/z"}), "ONEFOLD_BATCH_FOLDERS"),
    ],
)
def test_an_impossible_request_is_dead_lettered_with_its_reason(
    client: Client, batches: MemoryBatches, publisher: MemoryPublisher, data: bytes, reported: str
) -> None:
    assert client.post("/", data=push_body(data)).status_code == 204
    (letter,) = publisher.topics["dead-letter"]
    assert letter.data == data
    assert letter.attributes["message_id"] == "1234"
    assert reported in letter.attributes["reason"]
    assert batches.calls == 0


def test_a_message_without_an_identifier_is_dead_lettered(client: Client, publisher: MemoryPublisher) -> None:
    body = json.loads(push_body(MESSAGE))
    del body["message"]["messageId"]
    assert client.post("/", data=json.dumps(body).encode()).status_code == 204
    assert "no messageId" in publisher.topics["dead-letter"][0].attributes["reason"]


@pytest.mark.parametrize("seed", sweep(range(10)))
def test_a_thousand_fuzzed_messages_make_no_error_and_no_batch_of_another_place(
    client: Client, batches: MemoryBatches, publisher: MemoryPublisher, seed: int
) -> None:
    fuzzer = Fuzzer(seed, MESSAGE)
    for number in range(1_000):
        body, headers = fuzzer.request()
        answer = client.post("/", data=body, headers=headers)
        # A mutation may leave a valid message with another identifier, which comes later while the first batch runs.
        assert answer.status_code == 204 or b"has not ended" in answer.data, (number, body[:300], headers, answer.data)
    for batch in batches.created:
        assert batch.labels["onefold_dataset"] == "shop"
        places = [word for word in batch.arguments if ":" in word]
        assert all(re.fullmatch(r"--(changes|base)=bigquery:shop\.[\w-]+", word) for word in places)
    assert len(publisher.topics["dead-letter"]) > 500


def test_among_the_rubbish_valid_messages_still_work(client: Client, batches: MemoryBatches) -> None:
    for body in [*RAW, push_body(MESSAGE)]:
        assert client.post("/", data=body).status_code == 204
    assert len(batches.created) == 1


# Settings.


@pytest.fixture
def no_settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in [name for name in os.environ if name.startswith("ONEFOLD_")]:
        monkeypatch.delenv(name)
    launch_batch.launcher.cache_clear()
    yield
    launch_batch.launcher.cache_clear()


@pytest.mark.usefixtures("no_settings")
def test_without_its_settings_it_says_so_and_loses_no_message(lines: Callable[[], list[dict[str, Any]]]) -> None:
    assert serve().post("/", data=push_body(MESSAGE)).status_code == 500
    (line,) = lines()
    assert (line["severity"], line["event"], line["kind"]) == ("CRITICAL", "not_ready", "InvalidSettings")
    for name in ("REGION", "SERVICE_ACCOUNT", "CODE"):
        assert f"ONEFOLD_BATCH_{name} is not set" in line["reason"]


@pytest.mark.usefixtures("no_settings")
@pytest.mark.parametrize(("target", "reported"), [("launch_batch", ["not_ready"]), ("refresh_view", [])])
def test_each_function_demands_its_own_settings_at_the_start(target: str, reported: list[str]) -> None:
    code = f"import functions_framework; functions_framework.create_app({target!r}, {SOURCE!r}, 'cloudevent')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert [json.loads(line)["event"] for line in done.stdout.splitlines()] == reported


# The real server, the real client, the stand-in for Dataproc.


def test_a_message_to_the_real_server_runs_one_batch_however_often_it_comes() -> None:
    ran: queue.Queue[dataproc_v1.Batch] = queue.Queue()
    with dataproc_emulator(run=lambda batch, _: ran.put(batch)) as host, tempfile.TemporaryFile() as log:
        environ = {**ENVIRON, "DATAPROC_EMULATOR_HOST": host}
        with function_server("launch_batch", environ, log) as url, local_session() as session:
            for _ in range(2):
                assert session.post(url, data=push_body(MESSAGE), headers=EVENT_HEADERS, timeout=300).status_code == 204
        batch = ran.get(timeout=300)
        log.seek(0)
        reported = [json.loads(line) for line in log if line.startswith(b'{"severity"')]
    assert ran.empty()
    assert batch.pyspark_batch.args[0] == "--keys=id"
    assert [(line["event"], line["created"]) for line in reported] == [("launched", True), ("launched", False)]
    assert {line["batch"] for line in reported} == {batch.name.rpartition("/")[2]}
