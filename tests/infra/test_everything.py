"""A deployment of everything, line by line; and the limits of Google's names for the longest names that variables allow."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from support.hcl_text import place_and_name, resources
from support.infra_lines import lines
from support.terraform import INFRA, Outcome, Plan, Terraform

EXPECTED = Path(__file__).with_name("everything.txt")


def test_the_plan_has_exactly_the_expected_lines(plan: Plan, terraform: Terraform) -> None:
    found = lines(plan, terraform)
    if os.environ.get("UPDATE_GOLDEN"):
        EXPECTED.write_text("\n".join(found) + "\n", encoding="utf-8")
    assert found == EXPECTED.read_text(encoding="utf-8").splitlines()


def test_there_is_a_line_for_every_resource() -> None:
    expected = {place_and_name(line)[1] for line in EXPECTED.read_text("utf-8").splitlines()}
    assert set(resources(INFRA)) - expected == set()


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_code_of_functions_is_named_by_its_content(plan: Plan, terraform: Terraform) -> None:
    found = plan.of("google_storage_bucket_object")["functions"]
    assert found["name"] == f"functions/{digest(terraform.folder / found['source'])}.zip"


def test_the_folder_of_jobs_is_named_by_all_of_its_files(plan: Plan, terraform: Terraform) -> None:
    objects = [one for name, one in plan.of("google_storage_bucket_object").items() if name.startswith("spark[")]
    files = {one["name"].rpartition("/")[2]: digest(terraform.folder / one["source"]) for one in objects}
    assert {"spark.zip", "compiled_libraries.zip", "pymysql.zip", "reconcile.py"} < files.keys()
    text = " ".join(f"{name} {content}" for name, content in sorted(files.items()))
    assert {one["name"].rpartition("/")[0] for one in objects} == {f"spark/{hashlib.sha256(text.encode()).hexdigest()[:16]}"}


# What Google allows of a name, by the type of the resource and the attribute.
LIMITS = {
    # "Create service accounts", https://cloud.google.com/iam/docs/service-accounts-create
    ("google_service_account", "account_id"): r"[a-z](?:[-a-z0-9]{4,28}[a-z0-9])",
    # LogMetric, https://cloud.google.com/logging/docs/reference/v2/rest/v2/projects.metrics
    ("google_logging_metric", "name"): r"[A-Za-z0-9_\-.,+!*',()%][A-Za-z0-9_\-.,+!*',()%/]{0,99}",
    # "About Cloud Storage buckets", https://cloud.google.com/storage/docs/buckets
    ("google_storage_bucket", "name"): r"[a-z0-9][a-z0-9_-]{1,61}[a-z0-9]",
    # Job, https://cloud.google.com/scheduler/docs/reference/rest/v1/projects.locations.jobs
    ("google_cloud_scheduler_job", "name"): r"[A-Za-z0-9_-]{1,500}",
    # Role, https://cloud.google.com/iam/docs/creating-custom-roles
    ("google_project_iam_custom_role", "role_id"): r"[a-zA-Z0-9_.]{3,64}",
    # Function, https://cloud.google.com/functions/docs/reference/rest/v2/projects.locations.functions
    ("google_cloudfunctions2_function", "name"): r"[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?",
    # AlertPolicy, https://cloud.google.com/monitoring/api/ref_v3/rest/v3/projects.alertPolicies
    ("google_monitoring_alert_policy", "display_name"): r".{1,512}",
}


@pytest.mark.parametrize(("type_", "attribute"), LIMITS)
def test_the_longest_names_fit(tested: Callable[[str], Outcome], type_: str, attribute: str) -> None:
    outcome = tested("longest_names.tftest.hcl")
    assert outcome.status == {"longest_names": "pass"}, outcome.said
    names = [one[attribute] for one in outcome.plans["longest_names"].of(type_).values()]
    assert names
    assert [name for name in names if not re.fullmatch(LIMITS[type_, attribute], name)] == []
    assert len(set(names)) == len(names)


def test_the_longest_names_are_those_of_every_account(tested: Callable[[str], Outcome]) -> None:
    accounts = tested("longest_names.tftest.hcl").plans["longest_names"].of("google_service_account")
    blocks = {name.partition(".")[2] for name in resources(INFRA) if name.startswith("google_service_account.")}
    assert {name.partition("[")[0] for name in accounts} == blocks
    assert len([name for name in accounts if name.startswith("account[")]) == 11
    assert accounts['account["push_load_shredded"]']["account_id"].startswith("abcd-onefold-push-load-")
    assert accounts['account["push_refresh_view"]']["account_id"] == "abcd-onefold-push-refresh-view"
