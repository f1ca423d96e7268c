"""Filters over log entries: the entries that the sink exports, and those that raise an alert."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any, get_args

import pytest
from support.in_memory import audit_entry
from support.log_filters import matches
from support.planned import filters
from support.terraform import Outcome, Plan

from onefold.capture.records import SourceEventKind
from onefold.core.names import LEAF_PREFIX, TEMPORARY_PREFIX, TableId
from onefold.merge.dataset import Candidate
from onefold.merge.need import MergeNeed
from onefold.spark.reconcile.dataset import log_late

FUNCTION = {"type": "cloud_run_revision", "labels": {"service_name": "refresh-view"}}


def alert(plan: Plan, name: str) -> str:
    return filters(plan)[f'google_monitoring_alert_policy.log["{name}"]']


def table_entry(kind: str, details: dict[str, Any] | None = None, table: str = "customer_v_abc") -> dict[str, Any]:
    entry: dict[str, Any] = json.loads(audit_entry(table, kind, project="my-project"))
    if details is not None:
        entry["protoPayload"]["metadata"][kind] = details
    return entry


@pytest.mark.parametrize(
    ("entry", "selected"),
    [
        (table_entry("tableCreation"), True),
        (table_entry("tableDeletion"), True),
        (table_entry("tableChange", {"table": {"schemaJson": "{}"}}), True),
        (table_entry("tableChange", {"table": {"schemaJsonTruncated": True}}), True),
        (table_entry("tableChange", {"table": {"schemaJsonTruncated": False}}), False),
        (table_entry("tableChange", {"table": {"labels": {}}}), False),
        (table_entry("tableDataChange"), False),
        (table_entry("tableDeletion", table="customer_unified"), False),
        (table_entry("tableDeletion", table=f"{LEAF_PREFIX}0123456789ab_customer_unified"), False),
        (table_entry("tableCreation", table=f"{TEMPORARY_PREFIX}customer_v_abc_read_0123456789abcdef_1"), False),
    ],
)
def test_the_sink_exports_changes_of_versioned_tables(plan: Plan, entry: dict[str, Any], selected: bool) -> None:
    assert matches(filters(plan)["google_logging_project_sink.tables"], entry) is selected


@pytest.mark.parametrize(("run", "is_listed"), [("a_thousand", True), ("ten_thousand", False)])
@pytest.mark.parametrize(
    ("dataset", "table", "selected"),
    [
        ("tenant_00000", "customer_v_abc", True),
        ("tenant_00999", "customer_v_abc", True),
        ("tenant_00999", "customer_unified", False),
        ("plain", "customer", True),
        ("elsewhere", "customer", False),
    ],
)
def test_the_filter_is_short_enough_for_any_number_of_datasets(
    tested: Callable[[str], Outcome], run: str, is_listed: bool, dataset: str, table: str, selected: bool
) -> None:
    filter_ = tested("grants.tftest.hcl").plans[f"filter_of_{run}_datasets"].outputs["filter"]
    entry = json.loads(audit_entry(table, "tableCreation", dataset=dataset, project="my-project"))
    elsewhere = json.loads(audit_entry("customer_v_abc", "tableCreation", dataset="elsewhere", project="my-project"))
    assert len(filter_["after"]) <= 20_000
    assert matches(filter_["after"], entry) is selected
    assert matches(filter_["after"], elsewhere) is not is_listed


@pytest.mark.parametrize(
    ("changed", "selected"),
    [
        ({}, True),
        ({"severity": "CRITICAL"}, True),
        ({"severity": "WARNING"}, False),
        ({"httpRequest": {"status": 500}}, False),
        ({"httpRequest": {"status": 503}}, True),
        ({"resource": {"type": "cloud_run_revision", "labels": {"service_name": "other"}}}, False),
        ({"resource": {"type": "cloud_run_revision", "labels": {"service_name": "sink-records"}}}, True),
    ],
)
def test_errors_of_functions_raise_an_alert(plan: Plan, changed: dict[str, Any], selected: bool) -> None:
    assert matches(alert(plan, "function errors"), {"resource": FUNCTION, "severity": "ERROR", **changed}) is selected


@pytest.mark.parametrize(
    ("severity", "event", "selected"),
    [("CRITICAL", "refreshed", True), ("WARNING", "refreshed", False), ("CRITICAL", "x", False)],
)
def test_breaking_changes_raise_an_alert(plan: Plan, severity: str, event: str, selected: bool) -> None:
    entry = {"resource": FUNCTION, "jsonPayload": {"event": event, "changes_severity": severity}}
    assert matches(alert(plan, "breaking schema change"), entry) is selected


@pytest.mark.parametrize(
    ("event", "total", "alerted"),
    [("held_values", 4, True), ("held_values", 0, False), ("held_values_unknown", 4, False)],
)
def test_values_that_a_contract_holds_back_raise_an_alert(plan: Plan, event: str, total: int, alerted: bool) -> None:
    entry = {"resource": FUNCTION, "severity": "WARNING", "jsonPayload": {"event": event, "total": total, "view": "v"}}
    assert matches(alert(plan, "values held back by a contract"), entry) is alerted


def batch_entry(**changed: Any) -> dict[str, Any]:
    payload = {
        "serviceName": "dataproc.googleapis.com",
        "methodName": "google.cloud.dataproc.v1.BatchController.CreateBatch",
        "resourceName": "projects/my-project/locations/europe-west1/batches/onefold-reconcile-1",
    }
    return {"protoPayload": payload, "operation": {"last": True}, "severity": "ERROR", **changed}


@pytest.mark.parametrize(
    ("entry", "selected"),
    [
        (batch_entry(), True),
        (batch_entry(severity="NOTICE"), False),
        (batch_entry(operation={"first": True}), False),
        (batch_entry(protoPayload={**batch_entry()["protoPayload"], "resourceName": "projects/p/batches/other"}), False),
        (batch_entry(protoPayload={**batch_entry()["protoPayload"], "methodName": "DeleteBatch"}), False),
    ],
)
def test_a_failed_batch_raises_an_alert(plan: Plan, entry: dict[str, Any], selected: bool) -> None:
    assert matches(alert(plan, "batch failed"), entry) is selected


COMPARE = {"type": "cloud_dataproc_batch", "labels": {"batch_id": "onefold-compare-0123"}}
LINE = '{"severity": "CRITICAL", "message": "a and b differ", "event": "differences_found"}'


@pytest.mark.parametrize(
    ("entry", "selected"),
    [
        ({"resource": COMPARE, "jsonPayload": {"event": "differences_found"}}, True),
        ({"resource": COMPARE, "jsonPayload": {"message": LINE}}, True),
        ({"resource": COMPARE, "textPayload": LINE}, True),
        ({"resource": COMPARE, "jsonPayload": {"message": "rows are compared"}}, False),
        ({"resource": {**COMPARE, "labels": {"batch_id": "of-somebody-else"}}, "textPayload": LINE}, False),
        ({"resource": FUNCTION, "textPayload": LINE}, False),
    ],
)
def test_differences_raise_an_alert(plan: Plan, entry: dict[str, Any], selected: bool) -> None:
    assert matches(alert(plan, "comparison found differences"), entry) is selected


MERGES = {"type": "cloud_dataproc_batch", "labels": {"batch_id": "onefold-reconcile-0123"}}


def late_line(capsys: pytest.CaptureFixture[str], hours: int) -> str:
    """What a batch logs of a table whose last merge is so old, where 48 hours are the limit."""
    age, table = timedelta(hours=hours), Candidate(TableId("p", "shop", "customer"), {})
    log_late("shop", [MergeNeed(table, "due", "", age=age)], timedelta(hours=48))
    return capsys.readouterr().out


def test_the_line_of_late_merges_raises_an_alert_in_each_form(plan: Plan, capsys: pytest.CaptureFixture[str]) -> None:
    filter_, line = alert(plan, "merges are late"), late_line(capsys, 49)
    forms: list[dict[str, Any]] = [
        {"jsonPayload": json.loads(line)}, {"jsonPayload": {"message": line}}, {"textPayload": line},
    ]  # fmt: skip
    assert all(matches(filter_, {"resource": MERGES, **form}) for form in forms)
    assert not any(matches(filter_, {"resource": COMPARE, **form}) for form in forms)
    assert not matches(filter_, {"resource": MERGES, "textPayload": '{"event": "table_done"}'})
    assert late_line(capsys, 48) == ""


@pytest.mark.parametrize(
    ("severity", "event", "selected"),
    [
        ("CRITICAL", "table_truncated", True),
        ("CRITICAL", "table_dropped", True),
        ("CRITICAL", "table_renamed", True),
        ("NOTICE", "table_dropped", False),
        ("CRITICAL", "copy_wanted", False),
    ],
)
def test_a_truncated_table_of_the_source_raises_an_alert(plan: Plan, severity: str, event: str, selected: bool) -> None:
    assert (
        matches(alert(plan, "table emptied at the source"), {"severity": severity, "jsonPayload": {"event": event}})
        is selected
    )
    if selected:
        assert event.replace("_", " ") in get_args(SourceEventKind)


@pytest.mark.parametrize(("severity", "selected"), [("CRITICAL", True), ("ERROR", False)])
def test_a_table_with_another_key_raises_a_critical_alert(plan: Plan, severity: str, selected: bool) -> None:
    entry = {"severity": severity, "jsonPayload": {"event": "key_differs"}}
    assert matches(alert(plan, "table with another key"), entry) is selected
    policies = plan.of("google_monitoring_alert_policy")
    assert policies['log["table with another key"]']["severity"] == "CRITICAL"
    assert policies['log["table in quarantine"]']["severity"] == "ERROR"


def test_or_binds_closer_than_and_and_unknown_functions_are_refused() -> None:
    assert not matches('a="1" OR a="2" AND b="3"', {"a": "1", "b": "4"})
    assert matches('a="1" OR a="2" AND b="3"', {"a": "1", "b": "3"})
    assert not matches('NOT a="1"', {"a": "1"})
    for filter_ in ("a<1", 'a="1" b="2"', 'a:"1"', "a=", '(a="1"'):
        with pytest.raises(ValueError, match=r"."):
            matches(filter_, {"a": "1"})
