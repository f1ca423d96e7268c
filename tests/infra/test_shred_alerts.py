"""Alerts about events: each filter selects the line that the shredder or the loader really logs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from support.log_filters import matches
from support.planned import filters
from support.terraform import Plan

from onefold.events.load.log import log_report
from onefold.events.load.report import EventTableReport, RunReport
from onefold.events.shred.alarms import log_late, log_run
from onefold.events.shred.manifest import RunManifest
from onefold.messages.consumer import MessageLog

BATCH = {"type": "cloud_dataproc_batch", "labels": {"batch_id": "onefold-shred-0123"}}
OTHER = {"type": "cloud_dataproc_batch", "labels": {"batch_id": "onefold-compare-0123"}}
LOADER = {"type": "cloud_run_revision", "labels": {"service_name": "load-shredded"}}
OUTPUT, NOW = "gs://lake/shredded", datetime(2026, 11, 23, 8, tzinfo=UTC)
UNKNOWN = "the registry has no schema iglu:com.acme/x/jsonschema/1-0-0: add it"
ALERTS = {
    "many_bad_events": "many events are bad",
    "new_bad_reason": "new reason for bad events",
    "unknown_schema": "events of an unknown schema",
    "run_without_manifest": "run without a manifest",
}


def logged(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """What a run logs that has everything wrong, by event."""
    reasons = {UNKNOWN: 1, 'many_bad_events: "unknown_schema"': 1}
    manifest = RunManifest(
        "2026-11-23-08-00-00", "csv", "none", "r", (), (), (), 2, {"invalid": 2}, NOW, NOW, reasons=reasons
    )
    log_run(OUTPUT, manifest, (), bad_percent=5)
    log_late(OUTPUT, ["2026-11-23-06-00-00"], 2.0)
    return {json.loads(line)["event"]: line for line in capsys.readouterr().err.splitlines()}


def forms(line: str) -> Iterator[dict[str, Any]]:
    """The entries that versions of Dataproc's runtime make of a line of a driver."""
    yield from ({"jsonPayload": json.loads(line)}, {"jsonPayload": {"message": line}}, {"textPayload": line})


@pytest.mark.parametrize("event", ALERTS)
def test_the_line_of_a_run_raises_its_own_alert_in_each_form(
    plan: Plan, capsys: pytest.CaptureFixture[str], event: str
) -> None:
    filter_ = filters(plan)[f'google_monitoring_alert_policy.log["{ALERTS[event]}"]']
    lines = logged(capsys)
    assert set(lines) == {*ALERTS, "run_shredded"}
    selected = {
        name: {matches(filter_, {"resource": BATCH, **form}) for form in forms(line)} for name, line in lines.items()
    }
    assert selected == {name: {name == event} for name in lines}
    assert not any(matches(filter_, {"resource": OTHER, **form}) for form in forms(lines[event]))


@pytest.mark.parametrize(
    ("version", "is_news", "selected"), [("1r0f0b", True, True), ("1r0f0b", False, False), ("1", True, False)]
)
def test_a_recovery_table_raises_an_alert_when_it_is_created(
    plan: Plan, capsys: pytest.CaptureFixture[str], version: str, is_news: bool, selected: bool
) -> None:
    table = EventTableReport("com_acme_click_1", version, "loaded", 1, "create", is_news=is_news)
    log_report(RunReport("gs://runs/run=1", (table,), 0), MessageLog(SimpleNamespace(calls=0)).log)
    entries = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    filter_ = filters(plan)['google_monitoring_alert_policy.log["recovery table created"]']
    assert any(matches(filter_, {"resource": LOADER, "jsonPayload": entry}) for entry in entries) is selected
    assert not any(matches(filter_, {"resource": BATCH, "jsonPayload": entry}) for entry in entries)


def test_without_events_there_is_none_of_these_alerts(plain_plan: Plan) -> None:
    policies = plain_plan.of("google_monitoring_alert_policy")
    assert not {f'log["{title}"]' for title in (*ALERTS.values(), "recovery table created")} & set(policies)
