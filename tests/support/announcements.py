"""The handler of messages about new tables, between the fake BigQuery and a topic that may refuse."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.fake_bigquery import FakeBigQuery
from support.in_memory import push_body
from support.memory_handler import MemoryHandler
from support.refresh_shop import BASE, VIEW

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.core.errors import Rejected, TopicRefused
from onefold.messages.table_created import table_message
from onefold.refresh.announce import announce
from onefold.refresh.plan import ViewPlan
from onefold.refresh.write import refresh
from onefold.settings.environment import Settings
from onefold.views.unified_kind import UnifiedKind

SETTINGS = Settings(topic_schema_changes="schema-changes", topic_dead_letter="dead-letter")
UNANNOUNCED = "onefold_unannounced"
REFUSALS = {
    "missing": Rejected("topic projects/my-project/topics/schema-changes: 404 Resource not found"),
    "denied": TopicRefused("topic projects/my-project/topics/schema-changes: 403 User not authorized"),
}


class Announcer(MemoryHandler):
    """The handler between the fake BigQuery and a publisher whose topic may refuse messages."""

    def __init__(self, cloud: FakeBigQuery, capsys: pytest.CaptureFixture[str]) -> None:
        super().__init__(capsys, cloud, SETTINGS)

    def deliver(self, version: str | None = None) -> list[dict[str, Any]]:
        """Deliver a message and return the lines of the log."""
        self.handle(push_body(table_message("shop", "customer", version)))
        return self.lines()

    def refuse(self, error: Exception | None) -> None:
        if error:
            self.publisher.errors["schema-changes"] = error
        else:
            self.publisher.errors.clear()

    @property
    def announced(self) -> list[dict[str, Any]]:
        return [json.loads(message.data) for message in self.published("schema-changes")]

    @property
    def waiting(self) -> str | None:
        """The label of the view with the number of announcements that the view stores."""
        label: str | None = self.cloud.resource(VIEW)["labels"].get(UNANNOUNCED)
        return label


def prune(announcer: Announcer, settings: Settings = SETTINGS) -> ViewPlan:
    """Drop all versions and refresh with `prune`, which removes the view."""
    for name in announcer.cloud.names("TABLE"):
        announcer.cloud.drop(name)

    def announce_changes(plan: ViewPlan) -> tuple[str, ...]:
        return announce(announcer.publisher, settings, plan, lambda *_: None)

    return refresh(
        UnifiedKind(BigQueryWarehouse(announcer.cloud.client()), BASE, settings), prune=True, announce=announce_changes
    )
