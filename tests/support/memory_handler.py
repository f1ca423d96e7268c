"""The handler of messages about new tables, between the fake BigQuery and a publisher in memory."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.fake_bigquery import FakeBigQuery
from support.in_memory import ABC, DEF, MemoryPublisher, push_body

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.messages.table_created import table_message
from onefold.ports.publisher import Message
from onefold.settings.environment import Settings
from onefold.views.handler import TableCreatedHandler

MESSAGE = push_body(table_message("shop", "customer", "abc"))
SETTINGS = Settings(
    datasets=frozenset({"shop"}),
    topic_table_created="table-created",
    topic_schema_changes="schema-changes",
    topic_dead_letter="dead-letter",
)


def unified_lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """Return the lines of the log about unified views, for tables without a key, which get no current view."""
    found = map(json.loads, capsys.readouterr().out.splitlines())
    return [line for line in found if line["event"] != "no_current"]


def shop() -> FakeBigQuery:
    """Return a project with the two versions of `customer`."""
    cloud = FakeBigQuery()
    cloud.land("customer_v_abc", ABC)
    cloud.land("customer_v_def", DEF)
    return cloud


class MemoryHandler:
    """A handler between the fake BigQuery and a publisher in memory, with the lines that the handler logged."""

    def __init__(
        self, capsys: pytest.CaptureFixture[str], cloud: FakeBigQuery | None = None, settings: Settings = SETTINGS
    ) -> None:
        self.cloud = cloud or shop()
        self.publisher = MemoryPublisher()
        self.settings = settings
        self._capsys = capsys

    def handle(self, body: bytes) -> None:
        TableCreatedHandler(self.settings, BigQueryWarehouse(self.cloud.client()), self.publisher).handle(body)

    def published(self, topic: str) -> list[Message]:
        return self.publisher.topics.get(topic, [])

    def lines(self) -> list[dict[str, Any]]:
        return unified_lines(self._capsys)

    def line(self) -> dict[str, Any]:
        (line,) = self.lines()
        return line
