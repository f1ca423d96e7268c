"""The Terraform of infra/: formatted, valid by Google's own schema, and with the graph that it should have."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.terraform import ROOT, Outcome, Plan, Terraform

INFRA = ROOT / "infra"
VALIDATION = "validation.tftest.hcl"
"""The file whose runs expect that a plan is refused: one plan for each validation takes half a minute."""
PLANNED = sorted({path.name for path in (INFRA / "tests").glob("*.tftest.hcl")} - {VALIDATION})
RUN = re.compile(r'^run "(\w+)"', re.MULTILINE)

AGENT = "serviceAccount:service-123456789012@gcp-sa-pubsub.iam.gserviceaccount.com"
SINK = "serviceAccount:sink@gcp-sa-logging.iam.gserviceaccount.com"


def account(purpose: str) -> str:
    return f"serviceAccount:onefold-{purpose.replace('_', '-')}@my-project.iam.gserviceaccount.com"


REFRESH, LAUNCH, BATCH, BUILD = map(account, ("refresh_view", "launch_batch", "batch", "build"))
SINKING = account("sink_records")
PAGES = account("write_pages")

# Everything that anybody may do after `terraform apply` with two datasets and nothing else, and no more than that.
GRANTS = {
    ("topic table-created", "roles/pubsub.publisher", REFRESH),
    ("topic schema-changes", "roles/pubsub.publisher", REFRESH),
    ("topic dead-letter", "roles/pubsub.publisher", REFRESH),
    ("topic dead-letter", "roles/pubsub.publisher", LAUNCH),
    ("topic schema-changes", "roles/pubsub.publisher", BATCH),
    ("topic dead-letter", "roles/pubsub.publisher", SINKING),
    ("topic change-records", "roles/pubsub.publisher", SINKING),
    ("topic dead-letter", "roles/pubsub.publisher", AGENT),
    ("topic table-created", "roles/pubsub.publisher", SINK),
    ("subscription refresh-view", "roles/pubsub.subscriber", AGENT),
    ("subscription launch-batch", "roles/pubsub.subscriber", AGENT),
    ("subscription sink-records", "roles/pubsub.subscriber", AGENT),
    ("service refresh-view", "roles/run.invoker", account("push_refresh_view")),
    ("service launch-batch", "roles/run.invoker", account("push_launch_batch")),
    ("service sink-records", "roles/run.invoker", account("push_sink_records")),
    ("account onefold-push-refresh-view", "roles/iam.serviceAccountOpenIdTokenCreator", AGENT),
    ("account onefold-push-launch-batch", "roles/iam.serviceAccountOpenIdTokenCreator", AGENT),
    ("account onefold-push-sink-records", "roles/iam.serviceAccountOpenIdTokenCreator", AGENT),
    ("account onefold-batch", "roles/iam.serviceAccountUser", LAUNCH),
    ("dataset shop", "onefold_views", REFRESH),
    ("dataset crm", "onefold_views", REFRESH),
    ("dataset shop", "onefold_batch", BATCH),
    ("dataset crm", "onefold_batch", BATCH),
    ("dataset shop, temporary tables and leaves only", "onefold_staging", BATCH),
    ("dataset crm, temporary tables and leaves only", "onefold_staging", BATCH),
    ("dataset shop, leaves only", "onefold_staging", REFRESH),
    ("dataset crm, leaves only", "onefold_staging", REFRESH),
    ("dataset shop", "onefold_sink", SINKING),
    ("dataset crm", "onefold_sink", SINKING),
    ("project", "roles/bigquery.jobUser", REFRESH),
    ("project", "roles/bigquery.jobUser", BATCH),
    ("project", "onefold_launch", LAUNCH),
    ("project", "roles/bigquery.readSessionUser", BATCH),
    ("project, staging bucket only", "roles/dataproc.worker", BATCH),
    ("project", "roles/logging.logWriter", BUILD),
    ("project, sources of functions only", "roles/storage.objectViewer", BUILD),
    ("bucket my-project-onefold-artifacts", "roles/storage.objectViewer", BUILD),
    ("bucket my-project-onefold-artifacts, code of batches only", "roles/storage.objectViewer", BATCH),
    ("bucket my-project-onefold-staging", "roles/storage.objectUser", BATCH),
    ("bucket my-project-onefold-capture, large records only", "roles/storage.objectViewer", SINKING),
    # Else a record that is gone would be answered by 403, and its message delivered a hundred times.
    ("bucket my-project-onefold-capture", "onefold_capture_names", SINKING),
    ("repository onefold", "roles/artifactregistry.writer", BUILD),
    ("repository onefold-capture", "roles/artifactregistry.writer", BUILD),
}

# What there is on datasets where views have one of their own, and on a key of one's own.
ELSEWHERE = {
    ("dataset shop", "onefold_source", REFRESH),
    ("dataset crm", "onefold_source", REFRESH),
    ("dataset shop_unified", "onefold_views", REFRESH),
    ("dataset crm_unified", "onefold_views", REFRESH),
    ("dataset shop", "onefold_batch", BATCH),
    ("dataset crm", "onefold_batch", BATCH),
    ("dataset shop, temporary tables and leaves only", "onefold_staging", BATCH),
    ("dataset crm, temporary tables and leaves only", "onefold_staging", BATCH),
    ("dataset shop", "onefold_sink", SINKING),
    ("dataset crm", "onefold_sink", SINKING),
    ("dataset crm", "onefold_events", account("load_shredded")),
    *((f"dataset {name}", "onefold_pages", PAGES) for name in ("shop", "crm", "shop_unified", "crm_unified")),
    *((f"dataset {name}, logs only", "onefold_page_logs", PAGES) for name in ("shop", "crm")),
    ("dataset onefold_changes", "onefold_page_ledger", PAGES),
    ("dataset shop", "onefold_capture", "serviceAccount:capture-shop-db@my-project.iam.gserviceaccount.com"),
    ("dataset shop_unified, leaves only", "onefold_staging", REFRESH),
    ("dataset crm_unified, leaves only", "onefold_staging", REFRESH),
    ("dataset shop_unified, temporary tables and leaves only", "onefold_staging", BATCH),
    ("dataset crm_unified, temporary tables and leaves only", "onefold_staging", BATCH),
    ("dataset shop", "roles/bigquery.dataEditor", "serviceAccount:events@my-project.iam.gserviceaccount.com"),
    ("dataset crm", "roles/bigquery.dataEditor", "serviceAccount:mails@other-project.iam.gserviceaccount.com"),
    *((f"dataset {name}", "onefold_access", account("access")) for name in ("shop", "crm", "shop_unified", "crm_unified")),
    ("dataset shop_unified", "onefold_views", BATCH),
    ("dataset crm_unified", "onefold_views", BATCH),
    ("table schema_changes", "onefold_ledger", REFRESH),
    ("table schema_changes", "onefold_ledger", account("schema_registry")),
    ("table schema_changes", "onefold_ledger", BATCH),
    ("table schema_change_decisions", "onefold_decisions", REFRESH),
    *(
        ("key key", "roles/cloudkms.cryptoKeyEncrypterDecrypter", f"serviceAccount:service-123456789012@{agent}")
        for agent in (
            "compute-system.iam.gserviceaccount.com",
            "dataproc-accounts.iam.gserviceaccount.com",
            "gcf-admin-robot.iam.gserviceaccount.com",
            "gcp-sa-artifactregistry.iam.gserviceaccount.com",
            "gcp-sa-pubsub.iam.gserviceaccount.com",
            "gs-project-accounts.iam.gserviceaccount.com",
            "serverless-robot-prod.iam.gserviceaccount.com",
        )
    ),
}


def on(kind: str, attribute: str) -> Callable[[dict[str, Any]], str]:
    """What a grant is on: its kind, the last part of its name, and what its condition leaves of it."""

    def place(grant: dict[str, Any]) -> str:
        only = "".join(f", {condition['title']}" for condition in grant.get("condition") or ())
        name = Path(grant[attribute]).name.partition("@")[0]
        return f"{kind} {name}{only}".replace("project my-project", "project")

    return place


# What a grant of each type is on.
PLACES: dict[str, Callable[[dict[str, Any]], str]] = {
    "google_pubsub_topic_iam_member": on("topic", "topic"),
    "google_pubsub_subscription_iam_member": on("subscription", "subscription"),
    "google_cloud_run_service_iam_member": on("service", "service"),
    "google_service_account_iam_member": on("account", "service_account_id"),
    "google_bigquery_dataset_iam_member": on("dataset", "dataset_id"),
    "google_bigquery_table_iam_member": on("table", "table_id"),
    "google_project_iam_member": on("project", "project"),
    "google_storage_bucket_iam_member": on("bucket", "bucket"),
    "google_artifact_registry_repository_iam_member": on("repository", "repository"),
    "google_kms_crypto_key_iam_member": on("key", "crypto_key_id"),
    "google_secret_manager_secret_iam_member": on("secret", "secret_id"),
}


@pytest.fixture
def plan(tested: Callable[[str], Outcome]) -> Plan:
    return tested("grants.tftest.hcl").plans["two_datasets"]


def grants(plan: Plan) -> Iterator[tuple[str, str, str]]:
    for type_ in sorted(plan.types):
        if "_iam_" in type_ and not type_.endswith("custom_role"):
            for grant in plan.of(type_).values():
                yield PLACES[type_](grant), grant["role"].removeprefix("projects/my-project/roles/"), grant["member"]


def test_the_configuration_is_formatted(terraform: Terraform) -> None:
    done = terraform.run("fmt", "-check", "-diff", "-recursive")
    assert done.returncode == 0, done.stdout


def test_the_configuration_is_valid_by_the_schema_of_the_provider(terraform: Terraform) -> None:
    done = terraform.run("validate")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("file", [*PLANNED, pytest.param(VALIDATION, marks=pytest.mark.long)])
def test_every_run_of_the_tests_of_terraform_passes(tested: Callable[[str], Outcome], file: str) -> None:
    result = tested(file)
    runs = RUN.findall((INFRA / "tests" / file).read_text())
    assert runs
    assert result.status == dict.fromkeys(runs, "pass"), result.said


def test_every_account_has_exactly_the_rights_that_it_needs(plan: Plan) -> None:
    found = list(grants(plan))
    assert sorted(found) == sorted(GRANTS)


def test_with_a_dataset_of_views_and_a_key_every_account_has_exactly_the_rights_that_it_needs(
    tested: Callable[[str], Outcome],
) -> None:
    found = grants(tested("options.tftest.hcl").plans["all_options"])
    assert sorted(grant for grant in found if grant[0].startswith(("dataset", "table", "key"))) == sorted(ELSEWHERE)


def test_the_plan_has_exactly_the_expected_resources(plan: Plan) -> None:
    others = {type_: len(plan.of(type_)) for type_ in plan.types if not type_.endswith("_iam_member")}
    assert others == {
        "google_project_service": 15,
        "google_pubsub_topic": 5,
        "google_pubsub_subscription": 4,
        "google_cloudfunctions2_function": 3,
        "google_service_account": 8,
        "google_project_iam_custom_role": 9,
        "google_logging_project_sink": 1,
        "google_storage_bucket": 3,
        "google_storage_bucket_object": 2 + len(list((ROOT / "spark_jobs").glob("*.py"))),
        "google_artifact_registry_repository": 2,
        "google_compute_network": 1,
        "google_compute_subnetwork": 1,
        "google_compute_firewall": 1,
        "google_cloud_scheduler_job": 2,
        "google_monitoring_alert_policy": 12,
        "google_monitoring_dashboard": 1,
        "google_logging_metric": 6,
        "terraform_data": 1,
    }


def test_a_key_of_ones_own_is_for_every_bucket(options_plan: Plan, plan: Plan) -> None:
    used = [bucket["encryption"] for bucket in options_plan.of("google_storage_bucket").values()]
    key = "projects/keys/locations/europe-west1/keyRings/ring/cryptoKeys/key"
    assert [[one["default_kms_key_name"] for one in found] for found in used] == [[key]] * 5
    assert not any(bucket["encryption"] for bucket in plan.of("google_storage_bucket").values())


def test_no_role_is_primitive_or_gives_access_to_data_of_the_whole_project(plan: Plan) -> None:
    for place, role, _ in grants(plan):
        assert role not in ("roles/owner", "roles/editor", "roles/viewer")
        assert not role.startswith("roles/bigquery.data") or place.startswith("dataset")
        assert not role.startswith("roles/storage") or place != "project"


def test_no_resource_owns_data_of_the_user(tested: Callable[[str], Outcome]) -> None:
    types = {type_ for file in PLANNED for plan in tested(file).plans.values() for type_ in plan.types}
    owned = {type_ for type_ in types if type_.startswith("google_bigquery")}
    # Those of full views hold views alone. Those of clean views hold views and a key, and are not destroyed with them: see
    # clean_views.tftest.hcl.
    plans = [plan for file in PLANNED for plan in tested(file).plans.values()]
    made = [one for plan in plans for one in plan.of("google_bigquery_dataset").items()]
    # Those of streams, and the ledger, hold rows, and are not destroyed with them either.
    holds_rows = ("streamed[", "plain[", "changes[")
    assert all(one["delete_contents_on_destroy"] is False for name, one in made if name.startswith(holds_rows))
    names = {one["dataset_id"] for name, one in made if not name.startswith(holds_rows)}
    assert all(name.endswith(("__views_full", "__views_clean", "__keys")) for name in names)
    on_datasets = {"google_bigquery_dataset_iam_member", "google_bigquery_dataset_access", "google_bigquery_dataset"}
    assert owned == {*on_datasets, "google_bigquery_table", "google_bigquery_table_iam_member"}
    assert {name.partition("[")[0] for plan in plans for name in plan.of("google_bigquery_table")} == {
        "changes", "changes_latest", "decisions", "notifications", "readers",
    }, "tables of Onefold's own alone"  # fmt: skip
    assert not {type_ for type_ in types if type_.endswith(("_iam_policy", "_iam_binding"))}, (
        "these take away what others gave"
    )


def test_every_variable_and_every_output_has_a_description() -> None:
    for file, kind in (("variables.tf", "variable"), ("outputs.tf", "output")):
        blocks = re.split(rf"^{kind} ", (INFRA / file).read_text(), flags=re.MULTILINE)[1:]
        assert blocks
        for block in blocks:
            assert "description = " in block.split("\n}")[0], block
            assert kind == "output" or re.search(r"^  type +=", block, re.MULTILINE), block


def test_the_output_of_grants_has_every_right_on_a_dataset() -> None:
    """A right that is missing there would be removed by `onefold access apply`."""
    text = "\n".join(path.read_text() for path in INFRA.glob("*.tf"))
    granted = set(re.findall(r'^resource "google_bigquery_dataset_iam_member" "(\w+)"', text, re.MULTILINE))
    output = (INFRA / "outputs.tf").read_text().partition('output "dataset_grants"')[2]
    assert set(re.findall(r"values\(google_bigquery_dataset_iam_member\.(\w+)\)", output)) == granted
    assert {"access", "clean", "pull", "writers"} <= granted


def test_every_validation_has_a_test() -> None:
    validated = {
        block.split('"')[1]
        for block in re.split(r"^variable ", (INFRA / "variables.tf").read_text(), flags=re.MULTILINE)[1:]
        if "validation {" in block
    }
    expected = re.findall(r"expect_failures = \[([^\]]+)\]", (INFRA / "tests" / VALIDATION).read_text())
    assert set(re.findall(r"\bvar\.(\w+)", "\n".join(expected))) == validated
