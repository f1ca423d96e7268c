"""`onefold publish`: exit codes, standard output and standard error."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from support.cli import Outcome, Run


@dataclass
class LocalFunction:
    """A real HTTP server that remembers what it was sent."""

    url: str = ""
    status: int = 204
    headers: dict[str, str] = field(default_factory=dict)
    requests: list[tuple[dict[str, str], dict[str, Any]]] = field(default_factory=list)


@pytest.fixture
def function() -> Iterator[LocalFunction]:
    function = LocalFunction()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            function.requests.append(({key.lower(): value for key, value in self.headers.items()}, json.loads(body)))
            self.send_response(function.status)
            for name, value in function.headers.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Silent."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        function.url = f"http://127.0.0.1:{server.server_port}/"
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield function
        server.shutdown()


def test_publish_sends_a_cloud_event_straight_to_a_function(run: Run, function: LocalFunction) -> None:
    outcome = run("publish", "shop.customer", "abc", "--function", function.url)
    assert (outcome.code, outcome.err) == (0, "")
    ((headers, body),) = function.requests
    assert (headers["ce-specversion"], headers["ce-type"]) == ("1.0", "google.cloud.pubsub.topic.v1.messagePublished")
    assert body["message"]["messageId"] == headers["ce-id"]
    sent = json.loads(base64.b64decode(body["message"]["data"]))
    assert sent == {"dataset": "shop", "table": {"name": "customer", "version": "abc"}}
    assert f"sent to {function.url} as {headers['ce-id']}" in outcome.out


def test_publish_prints_only_json_for_programs(run: Run, function: LocalFunction) -> None:
    outcome = run("publish", "shop.customer", "abc", "--function", function.url, "--json")
    assert outcome.result["id"] == function.requests[0][0]["ce-id"]
    assert outcome.result["message"] == {"dataset": "shop", "table": {"name": "customer", "version": "abc"}}


@pytest.mark.parametrize(("status", "expected"), [(500, "asks for another delivery (500)"), (404, "answered 404")])
def test_publish_fails_if_the_function_refuses_the_message(
    run: Run, function: LocalFunction, status: int, expected: str
) -> None:
    function.status = status
    outcome = run("publish", "shop.customer", "abc", "--function", function.url)
    assert (outcome.code, outcome.out) == (1, "")
    assert expected in outcome.err


def test_publish_reports_that_the_function_did_nothing(run: Run, function: LocalFunction) -> None:
    function.headers = {
        "Onefold-Not-Handled": "refused%3A%20dataset%20shop%20is%20not%20among%20ONEFOLD_DATASETS%0Aand%20more"
    }
    outcome = run("publish", "shop.customer", "abc", "--function", function.url, "--json")
    assert (outcome.code, outcome.results, len(outcome.json["errors"])) == (1, [], 2)
    expected = "did not handle the message: refused: dataset shop is not among ONEFOLD_DATASETS\nError: and more\n"
    assert outcome.err == f"Error: {function.url} {expected}"


def test_publish_reports_every_problem_at_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("ONEFOLD_PROJECT", "GOOGLE_CLOUD_PROJECT"):
        monkeypatch.delenv(variable, raising=False)
    outcome = run("publish", "sh-op.cust$omer", "a.b")
    assert (outcome.code, outcome.out) == (1, "")
    assert [line.partition(" is not")[0] for line in outcome.err.splitlines()] == [
        "Error: dataset 'sh-op'",
        "Error: table 'cust$omer'",
        "Error: version 'a.b'",
        "Error: the project is missing: name it with --project, or set ONEFOLD_PROJECT",
    ]


def test_publish_accepts_versions_by_the_pattern_of_the_dataset(run: Run, function: LocalFunction) -> None:
    pattern = "(?P<base>.+)_(?P<version>[0-9]+r[0-9]+)"
    Path("onefold.yaml").write_text(f"datasets:\n  crm:\n    version_pattern: {pattern}\n")
    assert run("publish", "crm.ad_click", "1r2", "--function", function.url).code == 0
    outcome = run("publish", "crm.ad_click", "abc", "--function", function.url)
    assert (outcome.code, len(function.requests)) == (1, 1)
    assert "ad_click_abc is no version abc of ad_click: expected a table named as BASE_VERSION, where" in outcome.err
    assert pattern not in outcome.err


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (
            "http://127.0.0.1:9/",
            "http://127.0.0.1:9/ does not answer (Connection refused): start the function there, or correct the address",
        ),
        ("localhost:8080", "expected a URL, got localhost:8080: write http://localhost:8080"),
        ("ftp://localhost", "expected a URL, got ftp://localhost: write http://localhost"),
        ("http://", "expected a URL, got http://: write it as http://localhost:8080"),
    ],
)
def test_publish_reports_an_invalid_address_in_one_sentence(run: Run, url: str, expected: str) -> None:
    assert run("publish", "shop.customer", "abc", "--function", url) == Outcome(1, "", f"Error: {expected}\n")


def test_publish_to_a_local_function_ignores_a_proxy(
    run: Run, function: LocalFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert run("publish", "shop.customer", "abc", "--function", function.url).code == 0


def test_publish_names_the_emulator_that_does_not_answer(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", "127.0.0.1:9")
    monkeypatch.setattr("onefold.adapters.pubsub._TIMEOUT", 0.2)
    outcome = run("publish", "shop.customer", "abc", "--project", "local")
    assert (outcome.code, outcome.out) == (1, "")
    assert "no answer from 127.0.0.1:9" in outcome.err
    assert "start the Pub/Sub emulator there, or unset PUBSUB_EMULATOR_HOST" in outcome.err


def test_without_a_version_the_message_says_that_the_table_may_have_changed(run: Run, function: LocalFunction) -> None:
    sent = run("publish", "shop.orders", "--function", function.url, "--json")
    assert (sent.code, sent.result["message"]) == (0, {"dataset": "shop", "table": {"name": "orders"}})
    assert len(function.requests) == 1
