"""Checks of captured tables in Terraform: the accounts have exactly the rights they need, and schedules name databases."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable

import pytest
from support.iam_conditions import OBJECT, admits
from support.planned import permissions, rights
from support.terraform import Outcome, Plan

from onefold.batches.request import parse_batch_request
from onefold.batches.source_arguments import CheckDatabasesArguments, parse_check
from onefold.settings.environment import load_settings

TABLE = "bigquery.googleapis.com/Table"


@pytest.fixture
def checked(tested: Callable[[str], Outcome]) -> Plan:
    return tested("captures_checks.tftest.hcl").plans["checked"]


def member(name: str) -> str:
    return f"serviceAccount:check-{name}@my-project.iam.gserviceaccount.com"


def common(name: str, dataset: str) -> set[tuple[str, str]]:
    return {
        ("my-project", "bigquery.jobUser"), ("my-project", "dataproc.worker"),
        ("my-project-onefold-pulled", "onefold_pull_objects"), ("my-project-onefold-pulled", "onefold_pull_bucket"),
        ("my-project-onefold-artifacts", "storage.objectViewer"), (f"my-project-onefold-check-{name}", "storage.objectUser"),
        *((dataset, f"onefold_{role}") for role in ("source", "check_create", "check_rows", "staging")),
    }  # fmt: skip


def test_the_accounts_have_exactly_the_rights_that_they_need(checked: Plan) -> None:
    assert rights(checked, member("shop-db")) == common("shop-db", "shop") | {
        ("shop-reader", "secretmanager.secretAccessor"), ("my-project-onefold-capture", "onefold_check_copies"),
    }  # fmt: skip
    # The password is that of the capture; the key of hashes is read as capture reads it; no copy is asked for.
    assert rights(checked, member("crm-db")) == common("crm-db", "crm") | {
        ("crm-password", "secretmanager.secretAccessor"), ("crm-hash-key", "secretmanager.secretAccessor"),
    }  # fmt: skip
    assert rights(checked, member("other-db")) == set()


def test_where_views_have_a_dataset_of_their_own_it_is_read_too(tested: Callable[[str], Outcome]) -> None:
    plan = tested("captures_checks.tftest.hcl").plans["a_dataset_of_views"]
    of_views = {role for place, role in rights(plan, member("shop-db")) if place == "shop_views"}
    assert of_views == {"onefold_source"}


def test_the_roles_write_nothing_but_tables_of_checks_and_requests(checked: Plan) -> None:
    roles = permissions(checked)
    assert roles["check_copies[0]"] == {"storage.objects.create"}
    assert roles["check_create[0]"] == {"bigquery.datasets.get", "bigquery.tables.create"}
    assert roles["check_rows[0]"] == {"bigquery.tables.update", "bigquery.tables.updateData"}
    assert not {one for one in roles["source"] if not one.endswith((".get", ".list", ".getData"))}


@pytest.mark.parametrize(
    ("table", "written", "dropped"),
    [
        ("onefold_tmp_check_1", True, True), ("_checks", True, False), ("_checks_2", False, False), ("_loads", False, False),
        ("customer_v_abc", False, False), ("customer_base", False, False), ("customer_current", False, False),
    ],
)  # fmt: skip
def test_a_check_writes_its_own_tables_alone(checked: Plan, table: str, written: bool, dropped: bool) -> None:
    grants = checked.of("google_bigquery_dataset_iam_member")
    name = f"projects/my-project/datasets/shop/tables/{table}"
    found = [admits(grants[f'{one}["shop-db"]']["condition"][0]["expression"], TABLE, name)
             for one in ("check_rows", "check_staging")]  # fmt: skip
    assert found == [written, dropped]


@pytest.mark.parametrize(
    ("bucket", "resource", "name", "admitted"),
    [
        ("capture", "check_copies", "shop-db/copies/1.json", True),
        ("capture", "check_copies", "shop-db/checkpoint.json", False),
        ("capture", "check_copies", "crm-db/copies/1.json", False),
        ("capture", "check_copies", "shop-db-2/copies/1.json", False),
        ("pulled", "check_files", "json/shop-db/shop_1/t/dq/x.json", True),
        ("pulled", "check_files", "json/crm-db/crm/t/dq/x.json", False),
        ("pulled", "check_files", "schemas/shop-db/shop_1/t/x.json", False),
    ],
)
def test_a_check_writes_objects_of_its_source_alone(
    checked: Plan, bucket: str, resource: str, name: str, admitted: bool
) -> None:
    grant = checked.of("google_storage_bucket_iam_member")[f'{resource}["shop-db"]']
    place = f"projects/_/buckets/my-project-onefold-{bucket}/objects/{name}"
    assert admits(grant["condition"][0]["expression"], OBJECT, place) is admitted


def test_schedules_ask_for_the_databases_in_batches(checked: Plan) -> None:
    jobs = checked.scheduled("check")
    found = {}
    for job in jobs.values():
        request = parse_batch_request(base64.b64decode(job["pubsub_target"][0]["data"]))
        arguments = parse_check(request.words)
        assert isinstance(arguments, CheckDatabasesArguments)
        found[job["name"]] = arguments
        assert job["schedule"] == "0 */2 * * *"
    assert found == {
        "onefold-check-captured-shop-db-1": CheckDatabasesArguments(
            "shop-db", ("shop_1", "shop_2"), captured="shop", settle_seconds=600, fix=True
        ),
        "onefold-check-captured-shop-db-2": CheckDatabasesArguments(
            "shop-db", ("shop_3",), captured="shop", settle_seconds=600, fix=True
        ),
        "onefold-check-captured-crm-db-1": CheckDatabasesArguments(
            "crm-db", ("crm",), captured="crm", tenant="CRM", settle_seconds=1200
        ),
    }


def test_batches_run_as_the_accounts_of_the_checks_and_know_the_checkpoints(checked: Plan) -> None:
    function = checked.of("google_cloudfunctions2_function")['function["launch_batch"]']
    settings = load_settings(function["service_config"][0]["environment_variables"]).batch
    assert dict(settings.source_accounts) == {
        name: f"check-{name}@my-project.iam.gserviceaccount.com" for name in ("shop-db", "crm-db")
    }
    assert dict(settings.source_buckets) == {name: f"my-project-onefold-check-{name}" for name in ("shop-db", "crm-db")}
    assert dict(settings.checkpoints) == {"shop-db": "gs://my-project-onefold-capture/shop-db"}
    assert settings.passed_on["ONEFOLD_BATCH_CHECKPOINTS"] == "shop-db=gs://my-project-onefold-capture/shop-db"
    (pool,) = (one for key, one in checked.of("google_cloud_run_v2_worker_pool").items() if "shop-db" in key)
    assert "--checkpoint=gs://my-project-onefold-capture/shop-db" in json.dumps(pool)


def test_a_difference_opens_an_incident(checked: Plan) -> None:
    policies = checked.of("google_monitoring_alert_policy")
    assert any("table differs from its source" in one["display_name"] for one in policies.values())
    assert not any("pulled table" in one["display_name"] for one in policies.values())
