"""The function as functions-framework serves it, between a warehouse and a publisher in memory."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import functions_framework
import grpc  # noqa: F401 other tests of this process need it, and the function keeps it out where it is not loaded
import pytest
import refresh_view
from support.fake_bigquery import FakeBigQuery
from support.fuzz_messages import EVENT_HEADERS, HEADERS, RAW, Fuzzer
from support.in_memory import ABC, MemoryPublisher, audit_entry, event_body, push_body
from support.memory_handler import shop
from support.sweeps import sweep
from werkzeug.test import Client

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.core.errors import TryAgain
from onefold.messages.table_created import table_message
from onefold.settings.environment import Settings
from onefold.views.handler import TableCreatedHandler

SOURCE = str(Path(__file__).parents[2] / "functions" / "main.py")
VIEW = "customer_unified"
MESSAGE = table_message("shop", "customer", "abc")
SETTINGS = Settings(topic_table_created="table-created", topic_schema_changes="schema", topic_dead_letter="dead-letter")


def serve() -> Client:
    app = functions_framework.create_app(target="refresh_view", source=SOURCE, signature_type="cloudevent")  # type: ignore[no-untyped-call]
    client: Client = app.test_client()
    return client


@pytest.fixture
def cloud() -> FakeBigQuery:
    return shop()


@pytest.fixture
def publisher() -> MemoryPublisher:
    return MemoryPublisher()


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch, cloud: FakeBigQuery, publisher: MemoryPublisher) -> Client:
    receiver = TableCreatedHandler(SETTINGS, BigQueryWarehouse(cloud.client()), publisher)
    monkeypatch.setattr(refresh_view, "receiver", lambda: receiver)
    return serve()


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (push_body(MESSAGE), EVENT_HEADERS),
        (event_body(MESSAGE), {"Content-Type": "application/cloudevents+json"}),
        (event_body(MESSAGE, in_base64=True), {"Content-Type": "application/cloudevents+json"}),
        (push_body(MESSAGE), HEADERS),
        (push_body(MESSAGE), {"Content-Type": "application/x-www-form-urlencoded"}),
        (push_body(audit_entry("customer_v_abc")), EVENT_HEADERS),
    ],
    ids=["binary event", "structured event", "structured event in base64", "push", "push called a form", "audit entry"],
)
def test_every_form_of_a_message_makes_the_view(
    client: Client, cloud: FakeBigQuery, body: bytes, headers: dict[str, str]
) -> None:
    answer = client.post("/", data=body, headers=headers)
    assert (answer.status_code, answer.data) == (204, b"")
    assert cloud.names("VIEW") == [VIEW]


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_other_methods_are_refused(client: Client, method: str) -> None:
    assert client.open("/", method=method, data=push_body(MESSAGE)).status_code == 405


def test_an_error_that_may_pass_is_answered_with_500(client: Client, cloud: FakeBigQuery) -> None:
    cloud.break_off("get", TryAgain("rateLimitExceeded"))
    answer = client.post("/", data=push_body(MESSAGE), headers=EVENT_HEADERS)
    assert (answer.status_code, answer.data) == (500, b"rateLimitExceeded\n")
    assert client.post("/", data=push_body(MESSAGE), headers=EVENT_HEADERS).status_code == 204


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"no JSON", "refused: the message is not JSON"),
        (
            table_message("elsewhere", "customer", "abc"),
            "refused: dataset elsewhere is not among ONEFOLD_DATASETS: add it there",
        ),
        (table_message("shop", "nothing", "abc"), "nothing to do: no versioned table to unify in dataset my-project.shop"),
        (b'{"dataset": "sh\xc3\xb6p`", "table": {"name": "a", "version": "b"}}', "refused: dataset 'shöp`'"),
    ],
)
def test_an_acknowledged_message_that_was_not_handled_is_answered_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, cloud: FakeBigQuery, publisher: MemoryPublisher, data: bytes, reason: str
) -> None:
    receiver = TableCreatedHandler(
        replace(SETTINGS, datasets=frozenset({"shop"})), BigQueryWarehouse(cloud.client()), publisher
    )
    monkeypatch.setattr(refresh_view, "receiver", lambda: receiver)
    answer = serve().post("/", data=push_body(data), headers=EVENT_HEADERS)
    assert (answer.status_code, answer.data) == (204, b"")
    assert reason in unquote(answer.headers["Onefold-Not-Handled"])


def test_a_handled_message_is_answered_without_a_reason(client: Client) -> None:
    assert "Onefold-Not-Handled" not in client.post("/", data=push_body(MESSAGE), headers=EVENT_HEADERS).headers


def test_a_bug_is_answered_with_500(client: Client, cloud: FakeBigQuery) -> None:
    cloud.break_off("get", ZeroDivisionError("a bug"))
    assert client.post("/", data=push_body(MESSAGE)).status_code == 500


def test_a_message_at_the_size_limit_is_acknowledged_and_kept(client: Client, publisher: MemoryPublisher) -> None:
    data = random.Random(0).randbytes(10_000_000)
    assert client.post("/", data=push_body(data), headers=EVENT_HEADERS).status_code == 204
    assert b"".join(part.data for part in publisher.topics["dead-letter"]) == data


# Settings that are wrong.


@pytest.fixture
def bad_settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("ONEFOLD_DATASETS", "shop,b`d")
    monkeypatch.setenv("ONEFOLD_VIEW_NAME", "all")
    refresh_view.receiver.cache_clear()
    yield
    refresh_view.receiver.cache_clear()


@pytest.mark.usefixtures("bad_settings")
def test_wrong_settings_are_logged_in_one_line_and_no_message_is_lost(capsys: pytest.CaptureFixture[str]) -> None:
    assert serve().post("/", data=push_body(MESSAGE)).status_code == 500
    (line,) = capsys.readouterr().out.splitlines()
    reported = json.loads(line)
    assert (reported["severity"], reported["event"], reported["kind"]) == ("CRITICAL", "not_ready", "InvalidSettings")
    assert "ONEFOLD_DATASETS: dataset 'b`d' is not a valid name" in reported["reason"]
    assert "ONEFOLD_VIEW_NAME 'all' must hold {table}" in reported["reason"]


@pytest.mark.usefixtures("bad_settings")
def test_wrong_settings_are_logged_at_the_start(capsys: pytest.CaptureFixture[str]) -> None:
    assert refresh_view.check_settings() is None
    assert "ONEFOLD_VIEW_NAME 'all' must hold {table}" in capsys.readouterr().out


# Rubbish.


def is_safe(sql: str) -> bool:
    """Return whether a query of metadata has valid names, and the quotes that it has with any valid name."""
    datasets, texts = re.findall(r"`([^`]*)`", sql), re.findall(r"'([^']*)'", sql)
    (pattern,) = texts[2:3] or [""]
    of_versions = (
        texts == [",", "BASE TABLE", pattern, "NO"]
        and re.fullmatch(r"\^[\w\\-]+_v_\(\?:\[0-9a-f\]\{1,64\}\)\$", pattern) is not None
    )
    of_plain_tables = texts == ["BASE TABLE", "datastream_metadata"]
    has_names = len(datasets) == 2 and all(re.fullmatch(r"my-project\.[A-Za-z0-9_]+", one) for one in datasets)
    return has_names and (of_versions or of_plain_tables)


@pytest.mark.parametrize("seed", sweep(range(10)))
def test_a_thousand_fuzzed_messages_make_no_error_and_no_sql_with_a_bad_name(
    client: Client, cloud: FakeBigQuery, publisher: MemoryPublisher, seed: int
) -> None:
    fuzzer = Fuzzer(seed, MESSAGE)
    for number in range(1_000):
        body, headers = fuzzer.request()
        answer = client.post("/", data=body, headers=headers)
        assert answer.status_code == 204, (number, body[:300], headers, answer.data)
    assert [sql for sql in cloud.queries if not is_safe(sql)] == []
    assert set(cloud.names("VIEW")) <= {VIEW}
    assert len(publisher.topics["dead-letter"]) > 500


def test_among_the_rubbish_valid_messages_still_work(client: Client, cloud: FakeBigQuery) -> None:
    cloud.land("größe-2_v_1", ABC)
    for body in [*RAW, push_body(table_message("shop", "größe-2", "1"))]:
        assert client.post("/", data=body).status_code == 204
    assert cloud.names("VIEW") == ["größe-2_unified"]
