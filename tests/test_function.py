"""The function as functions-framework serves it, between a warehouse and a publisher in memory."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import functions_framework
import pytest
import refresh_view
from recorders import ABC, MemoryPublisher, MemoryWarehouse, audit_entry, event_body, push_body, shop
from werkzeug.test import Client

from onefold.deliveries import Receiver
from onefold.errors import TryAgain
from onefold.events import table_message
from onefold.names import TableId
from onefold.settings import Settings

SOURCE = str(Path(__file__).parents[1] / "functions" / "main.py")
VIEW = TableId("my-project", "shop", "customer_unified")
MESSAGE = table_message("shop", "customer", "abc")
HEADERS = {"Content-Type": "application/json"}
EVENT_HEADERS = {
    **HEADERS,
    "ce-id": "1",
    "ce-source": "//pubsub.googleapis.com/projects/my-project/topics/table-created",
    "ce-specversion": "1.0",
    "ce-type": "google.cloud.pubsub.topic.v1.messagePublished",
}
SETTINGS = Settings(topic_table_created="table-created", topic_schema_changes="schema", topic_dead_letter="dead-letter")


def serve() -> Client:
    app = functions_framework.create_app(target="refresh_view", source=SOURCE, signature_type="cloudevent")  # type: ignore[no-untyped-call]
    client: Client = app.test_client()
    return client


@pytest.fixture
def warehouse() -> MemoryWarehouse:
    return shop()


@pytest.fixture
def publisher() -> MemoryPublisher:
    return MemoryPublisher()


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch, warehouse: MemoryWarehouse, publisher: MemoryPublisher) -> Client:
    receiver = Receiver(SETTINGS, warehouse, publisher)
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
    client: Client, warehouse: MemoryWarehouse, body: bytes, headers: dict[str, str]
) -> None:
    answer = client.post("/", data=body, headers=headers)
    assert (answer.status_code, answer.data) == (204, b"")
    assert VIEW in warehouse.views


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_other_methods_are_refused(client: Client, method: str) -> None:
    assert client.open("/", method=method, data=push_body(MESSAGE)).status_code == 405


def test_trouble_that_may_pass_is_answered_with_500(client: Client, warehouse: MemoryWarehouse) -> None:
    warehouse.trouble = TryAgain("rateLimitExceeded")
    answer = client.post("/", data=push_body(MESSAGE), headers=EVENT_HEADERS)
    assert (answer.status_code, answer.data) == (500, b"rateLimitExceeded\n")
    warehouse.trouble = None
    assert client.post("/", data=push_body(MESSAGE), headers=EVENT_HEADERS).status_code == 204


def test_a_fault_of_ours_is_answered_with_500(client: Client, warehouse: MemoryWarehouse) -> None:
    warehouse.trouble = ZeroDivisionError("a bug")
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
def test_wrong_settings_are_told_in_one_line_and_no_message_is_lost(capsys: pytest.CaptureFixture[str]) -> None:
    assert serve().post("/", data=push_body(MESSAGE)).status_code == 500
    (line,) = capsys.readouterr().out.splitlines()
    told = json.loads(line)
    assert (told["severity"], told["event"], told["kind"]) == ("CRITICAL", "not_ready", "InvalidSettings")
    assert "ONEFOLD_DATASETS: dataset 'b`d' is not a valid name" in told["reason"]
    assert "ONEFOLD_VIEW_NAME 'all' must hold {table}" in told["reason"]


@pytest.mark.usefixtures("bad_settings")
def test_wrong_settings_are_told_at_the_start(capsys: pytest.CaptureFixture[str]) -> None:
    assert refresh_view.check_settings() is None
    assert "ONEFOLD_VIEW_NAME 'all' must hold {table}" in capsys.readouterr().out


# Rubbish.

HOSTILE = [
    "customer`", "customer'", 'customer"', "shop.customer", "../shop", "a/b", "customer\n", "customer\r\nHost: evil",
    "a\x00b", "x`; DROP TABLE shop.customer_v_abc; --", "' OR 1=1 --", "customer_v_*", "$(id)", "{{7*7}}", "${x}", "%s%n",
    "", " ", "a" * 2_000, "\ud800", "\u202ecustomer", "customer\u2028", "INFORMATION_SCHEMA.TABLES", "__TABLES__",
    "@@version", "customer$20240101",
]  # fmt: skip
WRONG = [None, True, 0, -1, 10**300, 1.5, float("nan"), float("inf"), [], {}, ["customer"], {"name": "customer"}]
CONTENT_TYPES = [
    "application/json", "application/cloudevents+json", "application/cloudevents-batch+json", "text/plain", "", ";;;",
    "\xff", "multipart/form-data", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded",
    "application/json; charset=utf-99",
]  # fmt: skip
RAW = [
    b"", b"{", b"\x00", b"null", b"NaN", b"[" * 5_000, b'{"message":' * 3_000, b"9" * 6_000, b'{"message":{"data":1e999}}',
    b'{"specversion":"1.0","data":' * 2_000, b"\xff\xfe{\x00}\x00", b"\xef\xbb\xbf{}", b'{"message":{"data":"\\ud800"}}',
    b'{"message":{"attributes":{"dataset":"shop"},"messageId":"1"}}', b'{"message":{"data":"!!!!"}}', b"a=b&c=d",
    b"--x\r\n\r\n--x--",
]  # fmt: skip


class Fuzzer:
    """Seeded mutations of messages that are valid."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.mutations: list[Callable[[], bytes]] = [
            self.hostile_names, self.wrong_types, self.nested, self.duplicate_keys,
            self.truncated, self.flipped, self.audit, self.noise,
        ]  # fmt: skip

    def request(self) -> tuple[bytes, dict[str, str]]:
        if self.random.random() < 0.1:
            return self.random.choice(RAW), self.headers()
        envelopes: list[Callable[[bytes], bytes]] = [push_body, event_body]
        damages: list[Callable[[bytes], bytes]] = [self.cut, self.flip, self.swap, bytes, bytes]
        body = self.random.choice(envelopes)(self.random.choice(self.mutations)())
        return self.random.choice(damages)(body), self.headers()

    def headers(self) -> dict[str, str]:
        headers = {"Content-Type": self.random.choice(CONTENT_TYPES)}
        for name in EVENT_HEADERS:
            if name.startswith("ce-") and self.random.random() < 0.5:
                headers[name] = self.random.choice([EVENT_HEADERS[name], "", "\xff\xfe", "2.0", "%00", "a" * 5_000])
        if self.random.random() < 0.2:
            headers["X-Cloud-Trace-Context"] = self.random.choice(["", "/;", "a/b;o=1", "x" * 1_000])
        return headers

    def name(self) -> Any:
        return self.random.choice([*HOSTILE, "customer", "shop", "abc"])

    def hostile_names(self) -> bytes:
        content = {"dataset": self.name(), "table": {"name": self.name(), "version": self.name()}}
        return json.dumps(content, ensure_ascii=self.random.random() < 0.5).encode(errors="surrogatepass")

    def wrong_types(self) -> bytes:
        content = {"dataset": "shop", "table": {"name": "customer", "version": "abc"}}
        place = self.random.choice([content, content["table"]])
        assert isinstance(place, dict)
        place[self.random.choice(["dataset", "table", "name", "version"])] = self.random.choice(WRONG)
        return json.dumps(content).encode()

    def nested(self) -> bytes:
        depth = self.random.choice([5, 100, 900, 960, 980, 990, 1_000, 20_000])
        opening, closing = self.random.choice([("[", "]"), ('{"table":', "}")])
        value = opening * depth + "1" + closing * depth
        return (
            self.random.choice(['{"dataset": %s}', '{"dataset": "shop", "table": {"name": %s}}', "%s"])
            .replace("%s", value)
            .encode()
        )

    def duplicate_keys(self) -> bytes:
        pairs = ", ".join(f'"dataset": {json.dumps(self.name())}' for _ in range(3))
        return f'{{{pairs}, "table": {{"name": "customer", "name": {json.dumps(self.name())}}}}}'.encode()

    def audit(self) -> bytes:
        table, project = self.random.choice([*HOSTILE, "customer_v_abc"]), self.random.choice([*HOSTILE, "my-project"])
        kind = self.random.choice(["tableCreation", "tableDeletion", "jobChange"])
        return audit_entry(f"{table}_v_abc" if self.random.random() < 0.5 else table, kind, project=project)

    def truncated(self) -> bytes:
        return self.cut(MESSAGE)

    def flipped(self) -> bytes:
        return self.flip(MESSAGE)

    def noise(self) -> bytes:
        return self.random.randbytes(self.random.randrange(200))

    def cut(self, data: bytes) -> bytes:
        return data[: self.random.randrange(len(data) + 1)]

    def flip(self, data: bytes) -> bytes:
        changed = bytearray(data)
        for _ in range(self.random.randrange(1, 4)):
            changed[self.random.randrange(len(changed))] ^= 1 << self.random.randrange(8)
        return bytes(changed)

    def swap(self, data: bytes) -> bytes:
        """Another type in place of something of the envelope."""
        old = self.random.choice([b'"message"', b'"data"', b'"specversion"', b'"messageId"', b'"1234"', b"{", b'"'])
        new = json.dumps(self.random.choice(WRONG)).encode()
        return data.replace(old, new, 1)


SAFE = {"project": r"my-project", "dataset": r"[A-Za-z0-9_]+", "table": r"[\w-]+"}


@pytest.mark.parametrize("seed", range(10))
def test_a_thousand_fuzzed_messages_make_no_error_and_no_sql_with_a_bad_name(
    client: Client, warehouse: MemoryWarehouse, publisher: MemoryPublisher, seed: int
) -> None:
    fuzzer = Fuzzer(seed)
    for number in range(1_000):
        body, headers = fuzzer.request()
        answer = client.post("/", data=body, headers=headers)
        assert answer.status_code == 204, (number, body[:300], headers, answer.data)
    for asked in warehouse.queried:
        assert all(re.fullmatch(pattern, getattr(asked, part)) for part, pattern in SAFE.items()), asked
    assert warehouse.views.keys() <= {VIEW}
    assert len(publisher.topics["dead-letter"]) > 500


def test_among_the_rubbish_valid_messages_still_work(client: Client, warehouse: MemoryWarehouse) -> None:
    warehouse.land("shop", "größe-2_v_1", ABC)
    for body in [*RAW, push_body(table_message("shop", "größe-2", "1"))]:
        assert client.post("/", data=body).status_code == 204
    assert warehouse.views.keys() == {TableId("my-project", "shop", "größe-2_unified")}
