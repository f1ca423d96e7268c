"""The function `load_shredded` as functions-framework serves it, over a dataset of the embedded BigQuery."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import functions_framework
import load_shredded
import pytest
from support.event_loads import EventScene
from support.in_memory import MemoryPublisher, push_body
from werkzeug.test import Client, TestResponse

from onefold.adapters.connect import connect
from onefold.core.errors import TryAgain
from onefold.events.load.announce import announcing
from onefold.events.load.handler import ShreddedHandler
from onefold.events.load.load import Loader
from onefold.events.shred.manifest import MANIFEST

SOURCE = str(Path(__file__).parents[2] / "functions" / "main.py")
RUNS = "gs://acme/shredded"
ID, ZIP = ("id", "INT64"), ("zip", "STRING")
FIRST, SECOND, THIRD = (f"2026-11-23-08-00-0{number}" for number in range(3))


class LoadShredded:
    """The function, over the scene's folder in place of the bucket, and what it published."""

    def __init__(self, scene: EventScene, monkeypatch: pytest.MonkeyPatch, seconds: float | None = None) -> None:
        self.publisher = MemoryPublisher()
        plain = scene.loader()
        announce = announcing(self.publisher, "table-created", scene.dataset.name)
        loader = Loader(plain.runs, plain.warehouse, announce, seconds)
        handler = ShreddedHandler(RUNS, loader, connect(None), self.publisher, "dead-letter")
        monkeypatch.setattr(load_shredded, "handler", lambda: handler)
        app = functions_framework.create_app(target="load_shredded", source=SOURCE)  # type: ignore[no-untyped-call]
        self._client: Client = app.test_client()

    def deliver(self, name: str = f"shredded/run={FIRST}/{MANIFEST}", bucket: str = "acme") -> TestResponse:
        return self.send({"kind": "storage#object", "bucket": bucket, "name": name})

    def send(self, content: Any) -> TestResponse:
        return self._client.post("/", data=push_body(json.dumps(content).encode()))

    def published(self, topic: str) -> list[Any]:
        return [json.loads(message.data) for message in self.publisher.topics.get(topic, [])]


@pytest.fixture
def serve(events: EventScene, monkeypatch: pytest.MonkeyPatch) -> Callable[..., LoadShredded]:
    return lambda **options: LoadShredded(events, monkeypatch, **options)


def lines(printed: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in printed.splitlines() if line.startswith("{")]


def test_a_message_about_one_run_has_all_runs_loaded_that_are_finished(
    events: EventScene,
    serve: Callable[..., LoadShredded],
    capsys: pytest.CaptureFixture[str],
) -> None:
    events.shred(FIRST, "1-0-0", [ID], {"id": 1})
    events.shred(SECOND, "1-0-1", [ID, ZIP], {"id": 2, "zip": "B"}, bad={"invalid": 3})
    events.shred(THIRD, "1-0-1", [ID, ZIP], {"id": 3}, complete=False)
    function = serve()
    assert function.deliver().status_code == 204
    assert events.rows("id", "zip") == [(1, None), (2, "B")]
    loaded = [line for line in lines(capsys.readouterr().out) if line["event"] == "run_loaded"]
    assert [(line["run"].rpartition("=")[2], line["rows"], line["bad"]) for line in loaded] == [
        (FIRST, 1, 0),
        (SECOND, 1, 3),
    ]
    assert function.deliver().status_code == 204
    assert events.rows("id") == [(1,), (2,)]


def test_a_new_table_and_new_columns_are_announced_by_the_labels_and_once(
    events: EventScene,
    serve: Callable[..., LoadShredded],
) -> None:
    function = serve()
    for number, (version, columns) in enumerate([("1-0-0", [ID]), ("1-0-1", [ID, ZIP]), ("1-0-1", [ID, ZIP])]):
        events.shred(f"2026-11-23-08-00-0{number}", version, columns, {"id": number})
        function.deliver()
    table = {"name": "com_acme_click", "version": "1"}
    assert function.published("table-created") == 2 * [{"dataset": events.dataset.name, "table": table}]


def test_a_table_that_had_the_base_of_another_schema_gets_its_own_and_all_views_are_checked(
    events: EventScene,
    serve: Callable[..., LoadShredded],
) -> None:
    function = serve()
    events.shred(FIRST, "1-0-0", [ID], {"id": 1})
    function.deliver()
    client = events.dataset.client
    found = client.get_table(f"{events.dataset.name}.com_acme_click_1")
    found.labels = {**found.labels, "onefold_base": "com_acme_shared"}
    client.update_table(found, ["labels"])
    events.shred(SECOND, "1-0-0", [ID], {"id": 2})
    function.deliver()
    assert client.get_table(found.reference).labels["onefold_base"] == "com_acme_click"
    hint = {"dataset": events.dataset.name}
    table = {"name": "com_acme_click", "version": "1"}
    assert function.published("table-created") == [{**hint, "table": table}, {**hint, "table": table}, hint]
    assert events.rows("id") == [(1,), (2,)]


@pytest.mark.parametrize(
    ("bucket", "name"),
    [
        ("acme", f"shredded/run={FIRST}/vendor=com.acme/part-0"),
        ("acme", f"other/run={FIRST}/{MANIFEST}"),
        ("acme-2", f"shredded/run={FIRST}/{MANIFEST}"),
    ],
)
def test_a_message_about_another_object_loads_nothing(
    events: EventScene,
    serve: Callable[..., LoadShredded],
    bucket: str,
    name: str,
) -> None:
    events.shred(FIRST, "1-0-0", [ID], {"id": 1})
    assert serve().deliver(name, bucket).status_code == 204
    assert events.warehouse.find("com_acme_click_1") is None


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ({}, "`bucket`: expected the name of a bucket"),
        ({"bucket": "acme", "name": 5}, "`name`: expected the name of an object"),
        ({"bucket": "../etc", "name": "x"}, "`bucket`: expected the name of a bucket"),
        ({"bucket": "acme", "name": "a\nb"}, "`name`: expected the name of an object"),
        ([], "is not a JSON object"),
    ],
)
def test_a_message_of_another_form_is_dead_lettered(serve: Callable[..., LoadShredded], content: Any, problem: str) -> None:
    function = serve()
    assert function.send(content).status_code == 204
    (dead,) = function.publisher.topics["dead-letter"]
    assert problem in dead.attributes["reason"]


def test_a_table_that_was_altered_is_reported_and_the_others_are_loaded(
    events: EventScene,
    serve: Callable[..., LoadShredded],
    capsys: pytest.CaptureFixture[str],
) -> None:
    function = serve()
    events.shred(FIRST, "1-0-0", [ID], {"id": 1})
    function.deliver()
    events.add_column("by_hand", "STRING")
    events.shred_two(SECOND, [ID], {"id": 2})
    capsys.readouterr()
    assert function.deliver().status_code == 204  # somebody has to act: another delivery would not help
    (line,) = [line for line in lines(capsys.readouterr().out) if line["severity"] == "CRITICAL"]
    assert (line["event"], line["table"]) == ("table_not_loaded", "com_acme_click_1")
    assert "column by_hand STRING is in the table alone" in line["reason"]
    assert events.rows("id") == [(1,)]
    assert events.rows("id", table="com_acme_view_1") == [(2,)]
    events.drop_column("by_hand")
    assert function.deliver().status_code == 204
    assert events.rows("id") == [(1,), (2,)]
    assert events.rows("id", table="com_acme_view_1") == [(2,)]


def test_a_recovery_table_is_reported_once(
    events: EventScene,
    serve: Callable[..., LoadShredded],
    capsys: pytest.CaptureFixture[str],
) -> None:
    function = serve()
    for number, run in enumerate((FIRST, SECOND)):
        events.shred_recovered(run, [ID], {"id": number})
        function.deliver()
    found = [line for line in lines(capsys.readouterr().out) if line["severity"] == "CRITICAL"]
    assert [(line["event"], line["table"]) for line in found] == [
        ("recovery_table", "com_acme_click_1_0_1_recovered_0f0b3ce0")
    ]
    table = {"name": "com_acme_click", "version": "1r0f0b3ce0"}
    assert function.published("table-created") == [{"dataset": events.dataset.name, "table": table}]


def test_a_message_is_delivered_again_where_time_is_over(
    events: EventScene,
    serve: Callable[..., LoadShredded],
) -> None:
    events.shred(FIRST, "1-0-0", [ID], {"id": 1})
    assert serve(seconds=-1).deliver().status_code == 500
    assert serve().deliver().status_code == 204
    assert events.rows("id") == [(1,)]


def test_a_dataset_that_does_not_exist_is_an_error_with_its_remedy(
    events: EventScene,
    serve: Callable[..., LoadShredded],
) -> None:
    events.shred(FIRST, "1-0-0", [ID], {"id": 1})
    events.dataset.client.delete_dataset(events.dataset.name)
    function = serve()
    assert function.deliver().status_code == 204
    (dead,) = function.publisher.topics["dead-letter"]
    assert "create the dataset of the events" in dead.attributes["reason"]


def test_an_error_of_a_topic_has_the_message_delivered_again_before_rows_are_loaded(
    events: EventScene,
    serve: Callable[..., LoadShredded],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    events.shred(FIRST, "1-0-0", [ID], {"id": 1})
    function = serve()
    publish = function.publisher.publish

    def fails(*_: Any) -> list[str]:
        raise TryAgain("the topic does not answer")

    monkeypatch.setattr(function.publisher, "publish", fails)
    assert function.deliver().status_code == 500
    assert events.rows("id") == []
    monkeypatch.setattr(function.publisher, "publish", publish)
    assert function.deliver().status_code == 204
    assert events.rows("id") == [(1,)]
    assert len(function.published("table-created")) == 1
