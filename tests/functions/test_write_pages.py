"""The function `write_pages` as functions-framework serves it, over a dataset of the embedded BigQuery and a folder."""

from __future__ import annotations

import json
import re
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import functions_framework
import pytest
import write_pages
from support.bigquery_emulator import EmulatedDataset
from support.in_memory import ABC, DEF, push_body
from support.ledgers import StoredLedger
from werkzeug.test import Client, TestResponse

from onefold.changes.table import row_of
from onefold.changes.versions import ReportedChange, version_entries
from onefold.core.names import TableId

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


def test_the_page_has_the_ledger_and_says_how_far_capture_is_behind(
    client: Client, dataset: EmulatedDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop-db").mkdir()
    checkpoint = {"dataset": dataset.name, "as_of": int(time.time()) - 3_600}
    (tmp_path / "shop-db" / "checkpoint.json").write_text(json.dumps(checkpoint))
    stored = StoredLedger(dataset)
    reported = ReportedChange(
        "capture", "shop_1", "ALTER TABLE customer ADD email text", datetime(2026, 1, 1, tzinfo=UTC), "d"
    )
    base = TableId(stored.warehouse.project, dataset.name, "customer")
    versions = stored.warehouse.read_versions(base)
    entries = version_entries(base, versions, {"def"}, (), datetime.now(UTC), ("def", reported))
    stored.ledger.append([*map(row_of, entries)])
    dataset.land("address_v_1", {"id": "INT64", "datastream_metadata": "STRUCT<uuid STRING>"})
    monkeypatch.setenv("ONEFOLD_CHANGES_DATASET", stored.name)
    monkeypatch.setenv("ONEFOLD_PAGE_CHECKPOINTS", (tmp_path / "shop-db").as_uri())
    assert send(client, {"dataset": dataset.name}).status_code == 204
    page = (tmp_path / "pages" / f"dataset-{dataset.name}.html").read_text("utf-8")
    assert reported.statement in page
    (lag,) = re.findall(r'"lag":(\d+)', page)  # of the captured table alone
    assert 3_600 <= int(lag) < 7_200


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
