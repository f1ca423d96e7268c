"""Owners are notified by real requests: each by itself, then that is recorded, and no text has the address of a webhook."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest
from support.rest import Answer, HttpRequest, serving
from support.rest_topics import rest_topics
from support.told_warehouse import ToldWarehouse

from onefold.adapters.pubsub_rest import RestPublisher
from onefold.adapters.webhooks import Webhook
from onefold.changes.digest import Digest, digests
from onefold.changes.entry import Effect, Entry
from onefold.changes.notifications import append_notified, read_notified
from onefold.changes.notify import NotifiedOwner, Notifier, Post
from onefold.changes.reader_counts import NOBODY
from onefold.changes.topic import DigestTopic
from onefold.core.errors import NotFound, TryAgain
from onefold.schema.diff import SchemaChange, Severity
from onefold.settings.owners import Owner, Owners

AT = datetime(2026, 11, 27, 8, tzinfo=UTC)
ADDED = SchemaChange("added", "zip", Severity.INFO, new="STRING")
NEW = Effect("my-project.shop.orders_unified", "new column", "zip", "STRING")
ENTRIES = [
    Entry(f"{number:032x}", AT, "capture", "shop", "orders", (ADDED,), (NEW,), tenant=f"shop_{number}", version_after="b")
    for number in range(300)
]
OWNERS = Owners(
    (Owner("*", "env:SLACK", "slack"), Owner("*orders", "env:JSON", "json"), Owner("order*", "env:SLACK", "slack"))
)


@dataclass
class Team:
    """The webhooks of owners, what was posted to them, and what was recorded."""

    address: str = ""
    refused: set[str] = field(default_factory=set)
    posted: list[tuple[str, Any]] = field(default_factory=list)
    notified: set[tuple[str, str]] = field(default_factory=set)
    record_fails: bool = False

    def answer(self, request: HttpRequest) -> Answer:
        self.posted.append((request.path, request.json))
        return (500, b"no") if request.path in self.refused else (200, b"ok")

    @property
    def environ(self) -> dict[str, str]:
        return {"SLACK": f"{self.address}/slack-secret", "JSON": f"{self.address}/json-secret"}

    def run(self, *, dry_run: bool = False) -> list[NotifiedOwner]:
        return self.run_with(digests(ENTRIES, self.notified, OWNERS), dry_run=dry_run)

    def run_with(self, found: tuple[Digest, ...], *, dry_run: bool = False) -> list[NotifiedOwner]:
        def record(digest: Digest) -> None:
            if self.record_fails:
                raise TryAgain("BigQuery does not answer")
            assert self.posted, "a message is sent before that is recorded"
            self.notified |= {(id_, digest.owner.pattern) for id_ in digest.ids}

        notifier = Notifier(lambda owner: Webhook.of(owner.webhook, self.environ).post, record, NOBODY)
        return [notifier.notify(one, dry_run=dry_run) for one in found]


@pytest.fixture
def team() -> Iterator[Team]:
    found = Team()
    with serving(found.answer) as address:
        found.address = address
        yield found


def test_a_migration_of_3000_tenants_is_one_message_by_each_channel_as_severe_as_its_worst_effect(team: Team) -> None:
    at_a_loss = replace(ENTRIES[0], id="f" * 32, tenant="shop_x", effects=(Effect(NEW.view, "lossy cast", "zip", "lost"),))
    tenants = [replace(ENTRIES[0], id=f"{number:032x}", tenant=f"shop_{number}") for number in range(2_999)]
    owners = (
        Owner("*rders", "env:SLACK", "slack"), Owner("order*", "env:JSON", "json"),
        Owner("o*s", "", "json", topic="projects/p/topics/changes"),
    )  # fmt: skip
    with rest_topics() as topics, pytest.MonkeyPatch.context() as patched:
        patched.setenv("PUBSUB_EMULATOR_HOST", topics.address)

        def channel_of(owner: Owner) -> Post:
            if owner.topic:
                return DigestTopic(RestPublisher("p"), owner.topic).post
            return Webhook.of(owner.webhook, team.environ).post

        notifier = Notifier(channel_of, lambda _: None, NOBODY)
        sent = [notifier.notify(one) for one in digests([*tenants, at_a_loss], frozenset(), Owners(owners))]
        (message,) = map(json.loads, topics.contents("changes"))
        ((_, published),) = topics.published
    assert [(one.outcome, len(one.digest.ids)) for one in sent if one.digest.changes] == [("notified", 3_000)] * 3
    assert sorted(path for path, _ in team.posted) == ["/json-secret", "/slack-secret"]
    (slack,) = (values for path, values in team.posted if "slack" in path)
    (plain,) = (values for path, values in team.posted if "json" in path)
    title, line = (block["text"]["text"] for block in slack["blocks"])
    assert title == "1 change of *rders: 1 CRITICAL"
    assert line.startswith("CRITICAL shop.orders (capture: 3,000 tenants)")
    for values in (plain, message):
        ((severity, tenant_count),) = {(one["severity"], one["tenant_count"]) for one in values["changes"]}
        assert (values["severity"], severity, tenant_count) == ("CRITICAL", "CRITICAL", 3_000)
    assert published["attributes"]["severity"] == "CRITICAL"


def test_300_tenants_are_one_message_to_each_owner_in_its_form_and_are_sent_once(team: Team) -> None:
    assert [one.outcome for one in team.run()] == ["nothing new", "notified", "notified"]
    (json_path, values), (slack_path, slack) = team.posted
    assert (json_path, [change["tenant_count"] for change in values["changes"]]) == ("/json-secret", [300])
    assert (slack_path, len(slack["blocks"])) == ("/slack-secret", 2)
    assert "INFO shop.orders (capture: 300 tenants)" in slack["blocks"][1]["text"]["text"]
    assert [one.outcome for one in team.run()] == ["nothing new"] * 3
    assert len(team.posted) == 2


def test_a_webhook_that_fails_stops_no_other_and_is_tried_by_the_next_run(team: Team) -> None:
    team.refused = {"/json-secret"}
    _, failed, notified = team.run()
    assert (failed.outcome, notified.outcome) == ("failed", "notified")
    assert failed.error.startswith("owner *orders: its webhook answers 500")
    team.refused = set()
    assert [one.outcome for one in team.run()] == ["nothing new", "notified", "nothing new"]
    assert [path for path, _ in team.posted] == ["/json-secret", "/slack-secret", "/json-secret"]


def test_an_address_that_cannot_be_read_is_an_error_of_its_owner_also_before_there_is_anything_to_tell(team: Team) -> None:
    notifier = Notifier(lambda owner: Webhook.of(owner.webhook, {"JSON": f"{team.address}/x"}).post, forget, NOBODY)
    first, second, third = (notifier.notify(one) for one in digests(ENTRIES, frozenset(), OWNERS))
    for one, pattern in ((first, "*"), (third, "order*")):
        assert one.outcome == "failed"
        assert one.error.startswith(f"owner {pattern}: the webhook is in the variable SLACK, which is not set")
    assert second.outcome == "notified"


def forget(_: object) -> None:
    """Record nothing."""


def test_a_message_that_could_not_be_recorded_is_an_error_and_is_sent_again(team: Team) -> None:
    team.record_fails = True
    assert [one.error.partition(":")[0] for one in team.run()] == ["", "owner *orders", "owner order*"]
    team.record_fails = False
    assert [one.error for one in team.run()] == ["", "", ""]
    assert len(team.posted) == 4


def test_two_runs_at_the_same_time_send_at_most_twice(team: Team) -> None:
    found = [digests(ENTRIES, team.notified, OWNERS) for _ in range(2)]
    for one in found:
        team.run_with(one)
    assert len(team.posted) == 4
    assert [one.outcome for one in team.run()] == ["nothing new"] * 3


def test_a_look_sends_and_records_nothing(team: Team) -> None:
    assert [one.outcome for one in team.run(dry_run=True)] == ["nothing new", "would be notified", "would be notified"]
    assert (team.posted, team.notified) == ([], set())


def test_no_address_is_in_what_a_command_prints(team: Team) -> None:
    team.refused = {"/json-secret"}
    printed = repr([(one.as_dict(), one) for one in team.run()])
    assert "secret" not in printed
    assert team.address not in printed


@pytest.mark.parametrize("count", [1, 10_000, 10_001])
def test_rows_are_appended_by_statements_of_a_bounded_length(count: int) -> None:
    warehouse = ToldWarehouse()
    append_notified(warehouse, "onefold_changes", "order*'", [f"{number:032x}" for number in range(count)])  # type: ignore[arg-type]
    assert len(warehouse.script) == -(-count // 10_000)
    for statement in warehouse.script:
        assert "INSERT INTO `my-project.onefold_changes.schema_change_notifications` (`id`, `owner`, `sent_at`)" in statement
        assert "SELECT one, 'order*\\'', CURRENT_TIMESTAMP()" in statement
        assert len(statement) < 1_000_000


def test_a_table_that_is_missing_is_an_error_that_says_what_makes_it() -> None:
    class Empty(ToldWarehouse):
        def fetch(self, sql: str) -> list[dict[str, Any]]:
            raise NotFound(f"no table in {sql}")

    read: Callable[..., object] = read_notified
    with pytest.raises(NotFound, match="`onefold changes create` makes it"):
        read(Empty(), "onefold_changes")
