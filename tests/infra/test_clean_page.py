"""The page "From a MySQL to a clean view with alerts in an hour": what Terraform makes of its variables."""

from __future__ import annotations

import base64

import pytest
from cli.test_clean_page import blocks
from infra.test_validation import written
from support.settings_form import settings_in
from support.terraform import Plan, Terraform

from onefold.batches.request import parse_batch_request


@pytest.fixture(scope="module")
def plan(terraform: Terraform) -> Plan:
    """The plan of the variables and of the settings, as the page has them."""
    (variables,), (settings,) = blocks("hcl"), blocks("yaml")
    path = terraform.folder / "tests" / "page.tftest.hcl"
    path.write_text(f'{written([])}\nrun "page" {{\n  command = plan\n  variables {{\n{variables}  }}\n}}\n')
    try:
        with settings_in(terraform.folder.parent, settings):
            outcome = terraform.tested(path.name)
    finally:
        path.unlink()
    assert outcome.status == {"page": "pass"}, outcome.said
    return outcome.plans["page"]


def test_schedules_pull_and_check_the_database(plan: Plan) -> None:
    asked = {
        (job["schedule"], request.job, request.subject)
        for job in (*plan.scheduled("pull").values(), *plan.scheduled("check").values())
        for request in [parse_batch_request(base64.b64decode(job["pubsub_target"][0]["data"]))]
    }
    assert asked == {
        ("*/15 * * * *", "pull", "1 database of club"),
        ("0 4 * * *", "pull", "1 database of club"),
        ("0 */2 * * *", "check", "1 database of club"),
    }


def test_each_dataset_may_be_read_by_the_views_above_it(plan: Plan) -> None:
    made = {one["dataset_id"] for one in plan.of("google_bigquery_dataset").values()}
    assert made == {f"club_members__{name}" for name in ("views_full", "views_clean", "keys")}
    access = plan.of("google_bigquery_dataset_access").values()
    assert {(one["dataset_id"], one["dataset"][0]["dataset"][0]["dataset_id"]) for one in access} == {
        ("club_members", "club_members__views_full"),
        ("club_members__views_full", "club_members__views_clean"),
    }


def test_a_difference_is_mailed(plan: Plan) -> None:
    (channel,) = plan.of("google_monitoring_notification_channel").values()
    assert (channel["type"], channel["labels"]) == ("email", {"email_address": "data@example.com"})
    policy = plan.of("google_monitoring_alert_policy")['log["table differs from its source"]']
    assert "check_failed" in policy["conditions"][0]["condition_matched_log"][0]["filter"]
