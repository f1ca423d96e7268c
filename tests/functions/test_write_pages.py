"""The function `write_pages` as functions-framework serves it, over a dataset of the embedded BigQuery and a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import functions_framework
import pytest
import write_pages
from support.bigquery_emulator import EmulatedDataset
from support.in_memory import ABC, DEF, push_body
from werkzeug.test import Client, TestResponse

SOURCE = str(Path(__file__).parents[2] / "functions" / "main.py")


@pytest.fixture
def client(dataset: EmulatedDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Client:
    dataset.land("customer_v_abc", ABC)
    dataset.land("customer_v_def", DEF)
    monkeypatch.setenv("ONEFOLD_PAGES", (tmp_path / "pages").as_uri())
    monkeypatch.setenv("ONEFOLD_DATASETS", f"{dataset.name},gone")
    write_pages.handler.cache_clear()
    found: Client = functions_framework.create_app(target="write_pages", source=SOURCE).test_client()  # type: ignore[no-untyped-call]
    return found


def send(client: Client, content: Any) -> TestResponse:
    return client.post("/", data=push_body(json.dumps(content).encode()))


def test_a_message_writes_the_page_of_its_dataset_however_often_it_comes(
    client: Client, dataset: EmulatedDataset, tmp_path: Path
) -> None:
    for _ in range(2):
        assert send(client, {"dataset": dataset.name}).status_code == 204
    files = {path.name for path in (tmp_path / "pages").glob("*.html")}
    assert files == {"index.html", f"dataset-{dataset.name}.html"}
    assert '"customer"' in (tmp_path / "pages" / f"dataset-{dataset.name}.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({"dataset": "other"}, "not one of ONEFOLD_DATASETS"),
        ({"dataset": "a-b"}, "is not a valid name"),
        ({"dataset": "gone", "table": "x"}, "got the fields ['dataset', 'table']"),
        ({"dataset": "gone"}, "its page says so"),
    ],
)
def test_a_message_that_can_never_be_handled_is_acknowledged_with_the_reason(
    client: Client, content: Any, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = send(client, content)
    assert answer.status_code == 204
    assert "Onefold-Not-Handled" in answer.headers
    assert reason in capsys.readouterr().out


def test_without_a_folder_the_function_cannot_start(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ONEFOLD_PAGES")
    assert send(client, {"dataset": "gone"}).status_code == 500
