"""The job that notifies owners of changes: its rights, its table, what it is given, and what a plan refuses."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

import pytest
from support.log_filters import matches
from support.planned import filters, permissions, rights
from support.terraform import INFRA, Outcome, Plan

from onefold.changes.email import DigestMail
from onefold.changes.notifications import NOTIFICATION_COLUMNS, NOTIFICATIONS_TABLE
from onefold.settings.environment import load_settings

FILE = "changes_notify.tftest.hcl"
SCHEMA = INFRA / "schema_change_notifications.json"
SETTINGS = INFRA / "tests" / "settings" / "owned" / "onefold.yaml"
MEMBER = "serviceAccount:onefold-notify@my-project.iam.gserviceaccount.com"


@pytest.fixture
def planned(tested: Callable[[str], Outcome]) -> Plan:
    return tested(FILE).plans["notified"]


def test_the_account_has_exactly_the_rights_that_it_needs(planned: Plan) -> None:
    assert rights(planned, MEMBER) == {
        ("my-project", "bigquery.jobUser"), ("my-project", "logging.logWriter"),
        ("onefold_changes", "onefold_notify_ledger"), ("onefold_changes", "onefold_notify_rows"),
        ("data-webhook", "secretmanager.secretAccessor"), ("orders-webhook", "secretmanager.secretAccessor"),
        ("customer-changes", "pubsub.publisher"),
        ("onefold-capture", "artifactregistry.reader"),
        ("", "run.invoker"),  # on its own job: the kind of the resource has no other name here
    }  # fmt: skip
    roles, reads = permissions(planned), {"bigquery.tables.get", "bigquery.tables.getData"}
    assert roles['notify_ledger["notify"]'] == reads
    assert roles['notify_rows["notify"]'] == reads | {"bigquery.tables.updateData"}
    assert planned.of("google_cloud_run_v2_job_iam_member")['notify["notify"]']["name"] == "onefold-notify"


@pytest.mark.parametrize(
    ("job", "severity", "alerted"),
    [("onefold-notify", "ERROR", True), ("onefold-notify", "WARNING", False), ("somebody-elses", "ERROR", False)],
)
def test_a_job_that_failed_raises_an_alert(planned: Plan, job: str, severity: str, alerted: bool) -> None:
    """The line is that of the system: "Execution onefold-notify-x has failed to complete, 0/1 tasks were a success."."""
    entry = {"resource": {"type": "cloud_run_job", "labels": {"job_name": job}}, "severity": severity}
    assert matches(filters(planned)['google_monitoring_alert_policy.log["scheduled job failed"]'], entry) is alerted


def test_it_appends_to_the_table_of_notifications_alone(planned: Plan) -> None:
    (on_dataset,) = [one for one in planned.of("google_bigquery_dataset_iam_member").values() if one["member"] == MEMBER]
    assert on_dataset["role"].endswith("_notify_ledger")
    (on_table,) = [one for one in planned.of("google_bigquery_table_iam_member").values() if one["member"] == MEMBER]
    assert (on_table["table_id"], on_table["role"].rpartition("/")[2]) == (NOTIFICATIONS_TABLE, "onefold_notify_rows")


def test_the_table_has_the_columns_that_the_code_writes_and_is_protected(planned: Plan) -> None:
    expected = [{"name": one.name, "type": str(one.type), "mode": "NULLABLE"} for one in NOTIFICATION_COLUMNS]
    if os.environ.get("UPDATE_GOLDEN"):
        SCHEMA.write_text(json.dumps(expected, indent=2) + "\n")
    assert json.loads(SCHEMA.read_text()) == expected
    table = planned.of("google_bigquery_table")['notifications["notify"]']
    assert (table["table_id"], table["deletion_protection"]) == (NOTIFICATIONS_TABLE, True)


def test_a_schedule_runs_the_command_with_the_owners_and_without_an_address(planned: Plan) -> None:
    job = planned.of("google_cloud_run_v2_job")['notify["notify"]']
    (container,) = job["template"][0]["template"][0]["containers"]
    assert (container["command"], container["args"]) == (["onefold"], ["changes", "notify", "--json"])
    assert [one["name"] for one in container["env"] if one["value_source"]] == []
    settings = load_settings({one["name"]: one["value"] for one in container["env"]})
    assert (settings.project, settings.changes_dataset) == ("my-project", "onefold_changes")
    assert set(settings.owners.all) == set(load_settings({}, SETTINGS).owners.all)
    schedule = planned.of("google_cloud_scheduler_job")['notify["notify"]']
    assert (schedule["schedule"], schedule["http_target"][0]["uri"]) == (
        "*/10 * * * *", "https://run.googleapis.com/v2/projects/my-project/locations/europe-west1/jobs/onefold-notify:run",
    )  # fmt: skip
    assert "secretmanager.googleapis.com" in {one["service"] for one in planned.of("google_project_service").values()}


def test_no_secret_and_no_version_of_one_is_made(planned: Plan) -> None:
    assert not {"google_secret_manager_secret", "google_secret_manager_secret_version"} & planned.types


def test_the_line_of_each_owner_is_an_email_to_its_address_alone(planned: Plan, capsys: pytest.CaptureFixture[str]) -> None:
    job = {"type": "cloud_run_job", "labels": {"job_name": "onefold-notify"}}
    content = {"digest": "d", "owner": "shop.invoice*", "severity": "INFO", "text": "1 change", "shown": "INFO ..."}
    DigestMail("shop.invoice*", {"CLOUD_RUN_JOB": "onefold-notify"}).post(content)
    written = json.loads(capsys.readouterr().err)
    line = {"resource": job, "severity": written.pop("severity"), "jsonPayload": written}
    found = filters(planned)
    mails = {
        name: matches(found[f'google_monitoring_alert_policy.owner["{name}"]'], line) for name in ("shop.invoice*", "crm.*")
    }
    assert mails == {"shop.invoice*": True, "crm.*": False}
    channels = planned.of("google_monitoring_notification_channel").values()
    addresses = {one["labels"]["email_address"] for one in channels if one["labels"]}
    assert {"invoices@example.com", "crm@example.com"} <= addresses


def test_without_a_schedule_there_is_neither_job_nor_account(tested: Callable[[str], Outcome]) -> None:
    plan = tested(FILE).plans["without_a_schedule"]
    assert rights(plan, MEMBER) == set()
    assert not plan.of("google_cloud_run_v2_job")
    assert "secretmanager.googleapis.com" not in {one["service"] for one in plan.of("google_project_service").values()}


def test_a_plan_refuses_what_the_job_could_not_use_and_says_all_of_it_at_once(tested: Callable[[str], Outcome]) -> None:
    outcome = tested(FILE)
    assert set(outcome.status.values()) == {"pass"}, outcome.said
