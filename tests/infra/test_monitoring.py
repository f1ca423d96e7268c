"""Metrics, alerts and the dashboard read fields and events that the code logs."""

from __future__ import annotations

import json
import re
from typing import get_args

from support.terraform import ROOT, Plan

from onefold.capture.records import SourceEventKind
from onefold.schema.diff import Severity


def test_metrics_and_alerts_use_fields_and_events_of_the_log(options_plan: Plan) -> None:
    filters = [metric["filter"] for metric in options_plan.of("google_logging_metric").values()]
    for policy in options_plan.of("google_monitoring_alert_policy").values():
        filters += [found["filter"] for condition in policy["conditions"] for found in condition["condition_matched_log"]]
    text = "\n".join(
        (ROOT / "onefold" / name).read_text()
        for name in ("views/handler.py", "views/handler_log.py", "batches/launch.py", "messages/consumer.py")
    )
    events = set(re.findall(r'jsonPayload\.event="(\w+)"', "\n".join(filters)))
    assert events == {
        "refreshed",
        "launched",
        "differences_found",
        "merges_late",
        "table_truncated",
        "table_dropped",
        "table_renamed",
        "quarantined",
        "key_differs",
        "captured",
        "held_values",
        "recovery_table",
    }
    text += (ROOT / "spark_jobs" / "compare.py").read_text()
    text += (ROOT / "onefold" / "spark" / "reconcile" / "dataset.py").read_text()
    text += (ROOT / "onefold" / "landing" / "announce.py").read_text()
    text += (ROOT / "onefold" / "views" / "held_values.py").read_text()
    text += (ROOT / "onefold" / "events" / "load" / "log.py").read_text()
    text += "".join(
        (ROOT / "onefold" / "capture" / name).read_text()
        for name in ("log_reader.py", "quarantine_guard.py", "status.py", "run.py")
    )
    text += "".join(f'"{kind.replace(" ", "_")}"' for kind in get_args(SourceEventKind))
    for event in events:
        assert f'"{event}"' in text
    assert set(re.findall(r'jsonPayload\.changes_severity="(\w+)"', "\n".join(filters))) == {max(Severity).name}
    # Dataproc puts a line of a driver's output into `message`.
    asked = set(re.findall(r"jsonPayload\.(\w+)", json.dumps(options_plan.changes))) - {"message"}
    for field in asked:
        assert re.search(rf'\b{field}=|"{field}"', text), field


def test_an_answer_that_asks_for_a_later_delivery_is_not_an_error(options_plan: Plan) -> None:
    answered = set(re.findall(r", (5\d\d)$", (ROOT / "functions" / "http_entry.py").read_text(), re.MULTILINE))
    (alert,) = options_plan.of("google_monitoring_alert_policy")['log["function errors"]']["conditions"]
    filters = [found["filter"] for found in alert["condition_matched_log"]]
    for filter_ in (*filters, options_plan.of("google_logging_metric")['count["errors"]']["filter"]):
        assert set(re.findall(r"NOT httpRequest\.status=(\d+)", filter_)) == answered == {"500"}


def test_the_dashboard_is_valid_for_cloud_monitoring(options_plan: Plan) -> None:
    (dashboard,) = options_plan.of("google_monitoring_dashboard").values()
    tiles = json.loads(dashboard["dashboard_json"])["mosaicLayout"]["tiles"]
    positions = [(tile["xPos"], tile["yPos"]) for tile in tiles]
    assert len(set(positions)) == len(positions) == 8
    metrics = {
        f"logging.googleapis.com/user/{metric['name']}" for metric in options_plan.of("google_logging_metric").values()
    }
    shown = set(re.findall(r'metric\.type=\\"([^\\]+)\\"', dashboard["dashboard_json"]))
    assert {name for name in shown if "/user/" in name} == metrics
