"""Tables of events in Terraform: the notification of a bucket calls the function, which has exactly the rights it needs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.iam_conditions import admits
from support.planned import permissions, rights
from support.terraform import Outcome, Plan

MEMBER = "serviceAccount:onefold-load-shredded@my-project.iam.gserviceaccount.com"
STORAGE_AGENT = "serviceAccount:service-123456789012@gs-project-accounts.iam.gserviceaccount.com"
# Every right of the function: the place and the role.
GRANTS = {
    ("my-project", "bigquery.jobUser"),
    ("events", "onefold_events"),
    ("acme-events", "storage.objectViewer"),
    ("acme-events", "storage.legacyBucketReader"),
    ("table-created", "pubsub.publisher"),
    ("dead-letter", "pubsub.publisher"),
}


@pytest.fixture
def events_plan(tested: Callable[[str], Outcome]) -> Plan:
    return tested("events.tftest.hcl").plans["a_folder"]


def test_the_account_has_exactly_the_rights_that_it_needs(events_plan: Plan) -> None:
    assert rights(events_plan, MEMBER) == GRANTS


def test_the_account_creates_and_loads_tables_and_deletes_nothing(events_plan: Plan) -> None:
    tables = {f"bigquery.tables.{name}" for name in ("create", "get", "getData", "update", "updateData")}
    assert permissions(events_plan)['events["events"]'] == {"bigquery.datasets.get", *tables}


def test_the_account_reads_the_runs_and_no_other_object(events_plan: Plan) -> None:
    condition = events_plan.of("google_storage_bucket_iam_member")['events["events"]']["condition"][0]["expression"]
    objects = "projects/_/buckets/acme-events/objects"
    assert condition == f'resource.name.startsWith("{objects}/shredded/")'
    assert admits(condition, "storage.googleapis.com/Object", f"{objects}/shredded/run=1/part-0")
    assert not admits(condition, "storage.googleapis.com/Object", f"{objects}/shredded-elsewhere/part-0")


@pytest.mark.parametrize("run", ["a_folder", "a_whole_bucket"])
def test_a_manifest_that_is_not_there_is_not_found_and_a_load_job_sees_the_bucket(
    tested: Callable[[str], Outcome], run: str
) -> None:
    """Without the right to list, which a read has under no condition on a prefix, the answer would be 403."""
    plan = tested("events.tftest.hcl").plans[run]
    grant = plan.of("google_storage_bucket_iam_member")['names["load_shredded acme-events"]']
    assert (grant["bucket"], grant["member"], grant["condition"]) == ("acme-events", MEMBER, [])
    assert grant["role"] == "roles/storage.legacyBucketReader", "storage.buckets.get and storage.objects.list, and no more"


def test_a_new_object_of_the_folder_sends_a_message_and_cloud_storage_may_publish_it(events_plan: Plan) -> None:
    (notification,) = events_plan.of("google_storage_notification").values()
    assert notification["bucket"] == "acme-events"
    assert notification["topic"] == "projects/my-project/topics/shredded-runs"
    assert notification["payload_format"] == "JSON_API_V1"
    assert notification["event_types"] == ["OBJECT_FINALIZE"]
    assert notification["object_name_prefix"] == "shredded/"
    grant = events_plan.of("google_pubsub_topic_iam_member")['events["events"]']
    assert (Path(grant["topic"]).name, grant["role"], grant["member"]) == (
        "shredded-runs",
        "roles/pubsub.publisher",
        STORAGE_AGENT,
    )


def test_a_message_is_pushed_to_the_function_and_waits_for_a_load(events_plan: Plan) -> None:
    push = events_plan.of("google_pubsub_subscription")['push["load_shredded"]']
    assert Path(push["topic"]).name == "shredded-runs"
    assert push["ack_deadline_seconds"] == 600
    assert push["dead_letter_policy"][0]["max_delivery_attempts"] == 100
    account = push["push_config"][0]["oidc_token"][0]["service_account_email"]
    assert account == "onefold-push-load-shredded@my-project.iam.gserviceaccount.com"
    (service,) = events_plan.of("google_cloudfunctions2_function")['function["load_shredded"]']["service_config"]
    assert service["timeout_seconds"] == 540


def test_runs_may_be_in_a_whole_bucket(tested: Callable[[str], Outcome]) -> None:
    plan = tested("events.tftest.hcl").plans["a_whole_bucket"]
    (notification,) = plan.of("google_storage_notification").values()
    assert notification["object_name_prefix"] is None
    assert plan.of("google_storage_bucket_iam_member")['events["events"]']["condition"] == []
    assert "load_shredded" in str(plan.of("google_cloudfunctions2_function").keys())


def test_without_the_variable_there_is_nothing_of_it(plain_plan: Plan) -> None:
    assert not plain_plan.of("google_storage_notification")
    assert not [name for name in plain_plan.of("google_cloudfunctions2_function") if "load_shredded" in name]
