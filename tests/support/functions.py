"""The function `refresh_view` as functions-framework serves it, over a dataset of the embedded BigQuery."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import functions_framework
import grpc  # noqa: F401 other tests of this process need it, and the function keeps it out where it is not loaded
import pytest
import refresh_view
from support.bigquery_emulator import EmulatedDataset
from support.in_memory import MemoryPublisher, push_body
from werkzeug.test import Client, TestResponse

from onefold.changes.ledger import Ledger
from onefold.changes.versions import ReportedChange
from onefold.core.names import TableId
from onefold.messages.table_created import table_message
from onefold.settings.environment import Settings
from onefold.views.handler import TableCreatedHandler
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, EmulatedWarehouse

SOURCE = str(Path(__file__).parents[2] / "functions" / "main.py")
SCHEMA_CHANGES, DEAD_LETTER = "schema-changes", "dead-letter"


class RefreshView:
    """The function, and what it published."""

    def __init__(
        self, dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch, ledger: Ledger | None = None, **settings: Any
    ) -> None:
        self.dataset, self.publisher = dataset, MemoryPublisher()
        self.settings = Settings(topic_schema_changes=SCHEMA_CHANGES, topic_dead_letter=DEAD_LETTER, **settings)
        handler = TableCreatedHandler(self.settings, EmulatedWarehouse(dataset.client), self.publisher, ledger)
        monkeypatch.setattr(refresh_view, "receiver", lambda: handler)
        app = functions_framework.create_app(target="refresh_view", source=SOURCE)  # type: ignore[no-untyped-call]
        self._client: Client = app.test_client()

    def deliver(self, version: str | None = None, table: str = "customer", reported: ReportedChange | None = None) -> None:
        answer = self.answer(version, table, reported)
        assert answer.status_code == 204, answer.data

    def answer(
        self, version: str | None = None, table: str = "customer", reported: ReportedChange | None = None
    ) -> TestResponse:
        """What the function answers to a message."""
        return self._client.post("/", data=push_body(table_message(self.dataset.name, table, version, reported)))

    def announced(self, view: str = "customer_current") -> list[tuple[str, str]]:
        """The changes of a view that were announced, each with its severity."""
        found = [json.loads(message.data) for message in self.publisher.topics.get(SCHEMA_CHANGES, [])]
        changes = [one for content in found if content["view"].endswith(f".{view}") for one in content["changes"]]
        return [(f"{one['kind']} {one['path']}".strip(), one["severity"]) for one in changes]

    def dead_letters(self) -> list[str]:
        return [message.attributes["reason"] for message in self.publisher.topics.get(DEAD_LETTER, [])]

    def query_of(self, view: str = "customer_current") -> str:
        """The text of a view, which has to exist."""
        stored = EmulatedWarehouse(self.dataset.client).get_view(TableId(DEFAULT_PROJECT, self.dataset.name, view))
        assert stored is not None
        assert stored.query
        return stored.query
