"""Pulled sources in Terraform: each account has exactly the rights that it needs, and schedules ask for its databases."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import pytest
from infra.test_shreds import without_libraries
from support.iam_conditions import BUCKET, OBJECT, admits
from support.log_filters import matches, value_at
from support.planned import permissions, rights
from support.terraform import Outcome, Plan, Terraform

from onefold.batches.request import parse_batch_request
from onefold.batches.source_arguments import (
    CheckDatabasesArguments,
    PullArguments,
    PullDatabasesArguments,
    parse_check,
    parse_pull,
)
from onefold.core.errors import NotFound
from onefold.pull.read.databases import pull_databases
from onefold.pull.read.pull import Threads, log_table
from onefold.pull.read.report import PullReport, TableReport
from onefold.settings.environment import load_settings

ABORTED = ("AbortIncompleteMultipartUpload", 1)
DATASETS = {"fraud": ("fraud_models", "fraud_card_data"), "ads": ("ads_clicks",)}


@pytest.fixture
def pulls_plan(tested: Callable[[str], Outcome]) -> Plan:
    return tested("pulls.tftest.hcl").plans["two_sources"]


@pytest.fixture
def checked_plan(tested: Callable[[str], Outcome]) -> Plan:
    return tested("pulls.tftest.hcl").plans["two_sources_that_are_checked"]


def member(source: str) -> str:
    return f"serviceAccount:pull-{source}@my-project.iam.gserviceaccount.com"


@pytest.mark.parametrize("source", ["fraud", "ads"])
def test_the_account_of_a_source_has_exactly_the_rights_that_it_needs(pulls_plan: Plan, source: str) -> None:
    assert rights(pulls_plan, member(source)) == {
        ("my-project", "bigquery.jobUser"),
        ("my-project", "dataproc.worker"),
        (f"{source}-password", "secretmanager.secretAccessor"),
        ("my-project-onefold-pulled", "onefold_pull_objects"),
        ("my-project-onefold-pulled", "onefold_pull_bucket"),
        ("my-project-onefold-artifacts", "storage.objectViewer"),
        (f"my-project-onefold-pull-{source}", "storage.objectUser"),
        ("table-created", "pubsub.publisher"),
        *((dataset, f"onefold_{role}") for dataset in DATASETS[source] for role in ("batch", "staging")),
    }


def test_an_account_sees_the_files_and_drops_the_temporary_tables_of_its_own_alone(pulls_plan: Plan) -> None:
    bucket = pulls_plan.of("google_storage_bucket_iam_member")
    objects = "projects/_/buckets/my-project-onefold-pulled/objects"
    assert bucket['pull["ads"]']["condition"][0]["expression"] == (
        f'resource.name.startsWith("{objects}/json/ads/") || resource.name.startsWith("{objects}/schemas/ads/")'
    )
    staging = pulls_plan.of("google_bigquery_dataset_iam_member")['pull_staging["ads clicks"]']
    assert staging["condition"][0]["expression"] == (
        'resource.type == "bigquery.googleapis.com/Table" && '
        'resource.name.startsWith("projects/my-project/datasets/ads_clicks/tables/onefold_tmp_")'
    )


@pytest.mark.parametrize(
    ("place", "admitted"),
    [
        ("my-project-onefold-pull-ads", True),
        ("my-project-onefold-pull-ads-2", False),
        ("my-project-onefold-pull-fraud", False),
        ("my-project-onefold-staging", False),
        ("my-project-onefold-pulled", False),
    ],
)
def test_a_source_reaches_its_own_staging_bucket_and_no_other(pulls_plan: Plan, place: str, admitted: bool) -> None:
    worker = pulls_plan.of("google_project_iam_member")['pull_worker["ads"]']["condition"][0]["expression"]
    assert admits(worker, BUCKET, f"projects/_/buckets/{place}") is admitted
    assert admits(worker, OBJECT, f"projects/_/buckets/{place}/objects/a/b") is admitted
    assert admits(worker, "dataproc.googleapis.com/Batch", "projects/my-project/batches/x")
    grants = pulls_plan.of("google_storage_bucket_iam_member").values()
    users = {one["member"] for one in grants if one["bucket"] == place and one["role"] == "roles/storage.objectUser"}
    assert (member("ads") in users) is admitted


def test_temporary_files_of_a_source_are_deleted_as_those_of_other_batches(pulls_plan: Plan) -> None:
    buckets = pulls_plan.of("google_storage_bucket")
    staging = [buckets[f'module.pull_staging.temporary["{source}"]'] for source in DATASETS]
    for bucket in (buckets['module.buckets.temporary["staging"]'], *staging):
        rules = [(rule["action"][0]["type"], rule["condition"][0]["age"]) for rule in bucket["lifecycle_rule"]]
        assert (rules, bucket["public_access_prevention"]) == ([("Delete", 7), ABORTED], "enforced")


def test_the_api_of_secrets_is_enabled_for_passwords(pulls_plan: Plan, plain_plan: Plan) -> None:
    enabled = [{one["service"] for one in plan.of("google_project_service").values()} for plan in (pulls_plan, plain_plan)]
    assert ["secretmanager.googleapis.com" in services for services in enabled] == [True, False]


def test_files_are_created_and_read_and_never_replaced(pulls_plan: Plan) -> None:
    roles = permissions(pulls_plan)
    assert roles["pull_objects[0]"] == {"storage.objects.create", "storage.objects.get"}
    assert roles["pull_bucket[0]"] == {"storage.buckets.get", "storage.objects.list"}


def test_the_bucket_keeps_rows_for_some_days_and_schemas_for_ever(pulls_plan: Plan) -> None:
    bucket = pulls_plan.of("google_storage_bucket")['module.buckets.temporary["pulled"]']
    assert (bucket["uniform_bucket_level_access"], bucket["public_access_prevention"]) == (True, "enforced")
    deletes = [rule for rule in bucket["lifecycle_rule"] if rule["action"][0]["type"] == "Delete"]
    assert [(rule["condition"][0]["age"], rule["condition"][0]["matches_prefix"]) for rule in deletes] == [(30, ["json/"])]


def test_each_database_has_a_dataset_of_full_views_that_may_read_it(pulls_plan: Plan) -> None:
    access = pulls_plan.of("google_bigquery_dataset_access").values()
    authorized = {(one["dataset_id"], one["dataset"][0]["dataset"][0]["dataset_id"]) for one in access}
    pulled = {dataset for datasets in DATASETS.values() for dataset in datasets}
    assert authorized == {(dataset, f"{dataset}__views_full") for dataset in pulled}
    assert all(one["dataset"][0]["target_types"] == ["VIEWS"] for one in access)
    made = pulls_plan.of("google_bigquery_dataset").values()
    assert {one["dataset_id"] for one in made} == {f"{dataset}__views_full" for dataset in pulled}
    grants = pulls_plan.of("google_bigquery_dataset_iam_member").values()
    writers = {
        (g["dataset_id"], g["member"]) for g in grants if g["dataset_id"].endswith("__views_full") and "views" in g["role"]
    }
    accounts = [f"serviceAccount:onefold-{name}@my-project.iam.gserviceaccount.com" for name in ("refresh-view", "batch")]
    assert writers == {(f"{dataset}__views_full", account) for dataset in pulled for account in accounts}


def test_one_schedule_of_each_window_asks_for_all_databases_of_a_source(pulls_plan: Plan) -> None:
    found = {(job["name"], requested(job), job["schedule"]) for job in pulls_plan.scheduled("pull").values()}
    assert found == {
        (f"onefold-pull-{window}-{source}-1", (*words, f"--window={window}"), schedule)
        for source, words in {
            "fraud": ("--databases=models,card-data", "--source=fraud"),
            "ads": ("--compress=gzip", "--databases=clicks", "--parallel=16", "--source=ads"),
        }.items()
        for window, schedule in (("15m", "*/15 * * * *"), ("day", "0 4 * * *"))
    }


def test_many_databases_have_a_schedule_for_each_batch(tested: Callable[[str], Outcome]) -> None:
    plan = tested("pulls.tftest.hcl").plans["a_batch_for_each_database"]
    assert {(job["name"], requested(job)) for job in plan.scheduled("pull").values()} == {
        (
            f"onefold-pull-{window}-fraud-{number}",
            (f"--databases={database}", "--source=fraud", "--stream-below=1000000", f"--window={window}"),
        )
        for window in ("15m", "day")
        for number, database in ((1, "models"), (2, "card-data"))
    }


def requested(job: Mapping[str, Any]) -> tuple[str, ...]:
    """The words of the job that a schedule asks for."""
    request = parse_batch_request(base64.b64decode(job["pubsub_target"][0]["data"]))
    assert (request.job, request.dataset) == ("pull", None)
    parse_pull(request.words)
    return tuple(sorted(request.words))


def test_checks_are_opt_in_and_ask_for_every_database(pulls_plan: Plan, checked_plan: Plan) -> None:
    assert not pulls_plan.scheduled("check")
    jobs = checked_plan.scheduled("check").values()
    requests = [parse_batch_request(base64.b64decode(job["pubsub_target"][0]["data"])) for job in jobs]
    assert {job["schedule"] for job in jobs} == {"0 */2 * * *"}
    assert {(one.job, one.dataset) for one in requests} == {("check", None)}
    assert {parse_check(one.words) for one in requests} == {
        CheckDatabasesArguments("fraud", ("models", "card-data")),
        CheckDatabasesArguments("ads", ("clicks",), parallel=16),
    }
    grants = checked_plan.of("google_bigquery_dataset_iam_member")
    readers = {(g["dataset_id"], g["role"], g["member"]) for name, g in grants.items() if name.startswith("full_check")}
    assert readers == {
        (f"{dataset}__views_full", "roles/bigquery.dataViewer", member(source))
        for source, datasets in DATASETS.items()
        for dataset in datasets
    }
    found = checked_plan.of("google_monitoring_alert_policy")['log["table differs from its source"]']
    condition = found["conditions"][0]["condition_matched_log"][0]["filter"]
    assert "onefold-check-" in condition
    assert "check_failed|table_unchecked|database_not_checked" in condition


def test_launch_batch_runs_each_source_as_its_account(pulls_plan: Plan) -> None:
    launch = pulls_plan.of("google_cloudfunctions2_function")['function["launch_batch"]']
    variables = launch["service_config"][0]["environment_variables"]
    assert variables["ONEFOLD_BATCH_SOURCE_ACCOUNTS"] == ",".join(
        f"{source}=pull-{source}@my-project.iam.gserviceaccount.com" for source in ("ads", "fraud")
    )
    assert variables["ONEFOLD_BATCH_SOURCE_BUCKETS"] == "ads=my-project-onefold-pull-ads,fraud=my-project-onefold-pull-fraud"
    settings = load_settings(variables).batch
    assert settings.source_buckets.keys() == settings.source_accounts.keys() == DATASETS.keys()
    assert variables["ONEFOLD_PULLED_FILES"] == "gs://my-project-onefold-pulled"
    users = pulls_plan.of("google_service_account_iam_member")
    assert {name for name in users if name.startswith("launch_pull")} == {'launch_pull["ads"]', 'launch_pull["fraud"]'}


def entries(line: str) -> list[dict[str, Any]]:
    """A line of a batch's log in the three forms of the runtime's versions, by each name that the job has had."""
    payloads = ({"jsonPayload": json.loads(line)}, {"jsonPayload": {"message": line}}, {"textPayload": line})
    resources = [
        {"type": "cloud_dataproc_batch", "labels": {"batch_id": f"onefold-{job}-2233232519ef14be17a7"}}
        for job in ("pull", "extract")
    ]
    return [{"resource": resource, **payload} for resource in resources for payload in payloads]


def logged(dataset: str, severity: Literal["INFO", "ERROR"], capsys: pytest.CaptureFixture[str]) -> str:
    """The line of a table, as a pull logs it."""
    report = TableReport("score", "failed" if severity == "ERROR" else "loaded", reasons=("no table_pulled",))
    log_table(dataset, report)
    return capsys.readouterr().out.strip()


def dataset_in(entry: Mapping[str, Any], extractor: str) -> str:
    """The value of a label: `EXTRACT(field)`, or `REGEXP_EXTRACT(field, "expression")` with one group."""
    found = re.fullmatch(r"(?:REGEXP_)?EXTRACT\(([\w.]+)(?:, (\".*\"))?\)", extractor)
    assert found
    value = value_at(entry, tuple(found[1].split(".")))
    if found[2] is None:
        return str(value)
    (group,) = re.findall(json.loads(found[2]), value)
    return str(group)


def test_each_pulled_table_is_counted_for_its_dataset(pulls_plan: Plan, capsys: pytest.CaptureFixture[str]) -> None:
    metrics = [one for name, one in pulls_plan.of("google_logging_metric").items() if name.startswith("pulled[")]
    for dataset in ("fraud_models", "fraud_card_data", "ads_clicks"):
        for entry in entries(logged(dataset, "INFO", capsys)):
            (metric,) = (one for one in metrics if matches(one["filter"], entry))
            assert dataset_in(entry, metric["label_extractors"]["dataset"]) == dataset
        failed = entries(logged(dataset, "ERROR", capsys))
        assert not [one for one in metrics for entry in failed if matches(one["filter"], entry)]


def test_fewer_datasets_than_there_are_to_pull_open_an_incident(pulls_plan: Plan) -> None:
    (condition,) = pulls_plan.of("google_monitoring_alert_policy")["late_pulls[0]"]["conditions"]
    forms = " or ".join(
        f'increase(logging_googleapis_com:user_onefold_{name}{{monitored_resource="cloud_dataproc_batch"}}[60m])'
        for name in ("pulled", "pulled_message", "pulled_text")
    )
    assert condition["condition_prometheus_query_language"][0]["query"] == (
        f"(count(sum by (dataset) ({forms}) >= 1) or vector(0)) < 3"
    )


def test_a_table_that_failed_opens_an_incident(pulls_plan: Plan, capsys: pytest.CaptureFixture[str]) -> None:
    alert = pulls_plan.of("google_monitoring_alert_policy")['log["pulled table failed"]']
    filter_ = alert["conditions"][0]["condition_matched_log"][0]["filter"]
    assert all(matches(filter_, entry) for entry in entries(logged("fraud_models", "ERROR", capsys)))
    assert not any(matches(filter_, entry) for entry in entries(logged("fraud_models", "INFO", capsys)))
    elsewhere = {"resource": {"type": "cloud_dataproc_batch", "labels": {"batch_id": "onefold-reconcile-1"}}}
    assert not any(matches(filter_, {**entry, **elsewhere}) for entry in entries(logged("fraud_models", "ERROR", capsys)))


def test_a_database_that_failed_opens_an_incident(pulls_plan: Plan, capsys: pytest.CaptureFixture[str]) -> None:
    alert = pulls_plan.of("google_monitoring_alert_policy")['log["pulled database failed"]']
    filter_ = alert["conditions"][0]["condition_matched_log"][0]["filter"]

    def fails(_: PullArguments, __: Threads) -> PullReport:
        raise NotFound("no table")

    pull_databases(PullDatabasesArguments("fraud", ("models",), "15m"), fails)
    assert all(matches(filter_, entry) for entry in entries(capsys.readouterr().out.strip()))
    assert not any(matches(filter_, entry) for entry in entries(logged("fraud_models", "ERROR", capsys)))


def test_without_pulls_nothing_is_made(plain_plan: Plan) -> None:
    for type_ in plain_plan.types:
        assert not [name for name in plain_plan.of(type_) if name.startswith(("pull", "late_pull", "full", "check"))]


def test_pulls_without_the_libraries_of_their_batches_are_refused(terraform: Terraform, tmp_path: Path) -> None:
    given = {
        "datasets": ["shop", "fraud_models"],
        "pulls": {"fraud": {"databases": ["models"], "secret": "s"}},
        "settings_folder": "./tests/settings",
    }
    outcome = without_libraries(terraform, tmp_path, "pulls", given)
    assert outcome.status == {"round_0": "pass"}, outcome.said
