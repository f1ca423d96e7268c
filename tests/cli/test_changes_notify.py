"""`onefold changes notify`: from a ledger in the embedded BigQuery to a real HTTP server."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.cli import Run
from support.ledgers import StoredLedger
from support.rest import Answer, HttpRequest, serving
from support.rest_topics import rest_topics

from onefold.changes.entry import Effect, Entry
from onefold.changes.table import row_of
from onefold.schema.diff import SchemaChange, Severity

NOW = datetime.now(UTC)
ZIP = SchemaChange("added", "zip", Severity.INFO, new="STRING")
NEW = Effect("local.shop.customer_unified", "new column", "zip", "STRING")
OWNERS = """
owners:
  customer: {webhook: "env:CUSTOMER_HOOK", form: slack}
  order: {webhook: "env:ORDER_HOOK", form: json}
  payment: {webhook: "env:CUSTOMER_HOOK", form: json}
"""


def entry(number: int, table: str = "customer") -> Entry:
    return Entry(
        f"{number:032x}", NOW, "capture", "shop", table, (ZIP,), (NEW,), tenant=f"shop_{number}", version_before="a",
        version_after="b", statement="ALTER TABLE x ADD zip text DEFAULT ?", change="c" * 32,
    )  # fmt: skip


def migrated(dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch) -> StoredLedger:
    """The ledger of a migration of 300 tenants."""
    stored = StoredLedger(dataset)
    monkeypatch.setenv("ONEFOLD_CHANGES_DATASET", stored.name)
    stored.ledger.append([row_of(entry(number)) for number in range(300)])
    return stored


def test_each_owner_is_notified_once_and_one_that_fails_by_the_next_run(
    run: Run, dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored, posted, refused = StoredLedger(dataset), list[tuple[str, Any]](), {"/order-secret"}
    monkeypatch.setenv("ONEFOLD_CHANGES_DATASET", stored.name)
    stored.ledger.append([row_of(entry(number)) for number in range(300)] + [row_of(entry(300, "order"))])
    Path("onefold.yaml").write_text(OWNERS)

    def answer(request: HttpRequest) -> Answer:
        posted.append((request.path, request.json))
        return (503, b"") if request.path in refused else (200, b"ok")

    with serving(answer) as address:
        monkeypatch.setenv("CUSTOMER_HOOK", f"{address}/customer-secret")
        monkeypatch.setenv("ORDER_HOOK", f"{address}/order-secret")
        missing = run("changes", "notify")
        assert (missing.code, "`onefold changes create` makes it" in missing.err, posted) == (1, True, [])
        assert run("changes", "create").code == 0

        look = run("changes", "notify", "--dry-run")
        assert (look.code, look.err, posted) == (0, "", [])
        assert "customer: would be notified of 1 change\n    INFO shop.customer (capture: 300 tenants)" in look.out
        assert "payment: nothing new" in look.out

        first = run("changes", "notify", "--verbose")
        assert (first.code, [path for path, _ in posted]) == (1, ["/customer-secret", "/order-secret"])
        assert "customer: notified of 1 change" in first.out
        assert "Error: owner order: its webhook answers 503" in first.err

        refused.clear()
        second = run("changes", "notify", "--json")
        assert second.code == 0
        assert [(one["owner"], one["outcome"], one["entries"]) for one in second.results] == [
            ("customer", "nothing new", 0), ("order", "notified", 1), ("payment", "nothing new", 0),
        ]  # fmt: skip
        assert posted[2:] == [("/order-secret", second.results[1]["message"])]
        third = run("changes", "notify", "--json")
        assert ([one["outcome"] for one in third.results], len(posted)) == (["nothing new"] * 3, 3)
    printed = "".join(one.out + one.err for one in (missing, look, first, second, third))
    assert "secret" not in printed
    assert address not in printed


def test_without_owners_the_command_says_what_to_add(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONEFOLD_CHANGES_DATASET", "onefold_changes")
    refused = run("changes", "notify")
    assert (refused.code, "add `owners`" in refused.err) == (1, True)


def test_a_topic_gets_the_digest_as_json_with_an_id_that_stays_where_it_is_sent_again(
    run: Run, dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = migrated(dataset, monkeypatch)
    Path("onefold.yaml").write_text("owners: {customer: {topic: projects/other/topics/changes}}")
    assert run("changes", "create").code == 0
    with rest_topics() as topics:
        monkeypatch.setenv("PUBSUB_EMULATOR_HOST", topics.address)
        assert run("changes", "notify", "--dry-run").code == 0
        assert topics.published == []
        topics.status = 403
        refused = run("changes", "notify")
        assert (refused.code, "owner customer: topic projects/other/topics/changes: 403" in refused.err) == (1, True)
        topics.status = 200
        sent = run("changes", "notify", "--json")
        assert (sent.code, [one["outcome"] for one in sent.results]) == (0, ["notified"])
        stored.warehouse.execute(f"DELETE FROM `local.{stored.name}.schema_change_notifications` WHERE TRUE")
        assert run("changes", "notify").code == 0
        assert run("changes", "notify", "--json").results[0]["outcome"] == "nothing new"
    (path, first), (_, again) = topics.published
    assert (path, again) == ("/v1/projects/other/topics/changes:publish", first)
    (content, _) = map(json.loads, topics.contents("changes"))
    assert content == sent.results[0]["message"]
    assert [one["tenant_count"] for one in content["changes"]] == [300]
    assert first["attributes"] == {"digest": content["digest"], "severity": "INFO"}


def test_an_email_is_a_line_of_the_log_of_the_job_and_nowhere_else(
    run: Run, dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrated(dataset, monkeypatch)
    Path("onefold.yaml").write_text("owners: {customer: {email: data@example.com}}")
    assert run("changes", "create").code == 0
    assert run("changes", "notify", "--dry-run").code == 0
    refused = run("changes", "notify")
    assert (refused.code, "the log of the job of infra/ alone: set notify_schedule" in refused.err) == (1, True)
    monkeypatch.setenv("CLOUD_RUN_JOB", "onefold-notify")
    sent = run("changes", "notify", "--json")
    assert (sent.code, [one["outcome"] for one in sent.results]) == (0, ["notified"])
    line = json.loads(sent.err)
    assert (line["event"], line["owner"], line["severity"]) == ("owner_digest", "customer", "INFO")
    assert line["message"] == line["text"] == "1 change of customer: 1 INFO"
    assert line["shown"].startswith("INFO shop.customer (capture: 300 tenants)")
    assert "example.com" not in sent.err
    assert run("changes", "notify", "--json").results[0]["outcome"] == "nothing new"
