"""The pages of datasets in Terraform: a private bucket, a schedule for each dataset, and an account that can read no row."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path

import pytest
from support.iam_conditions import admits
from support.planned import permissions, rights
from support.terraform import Outcome, Plan

MEMBER = "serviceAccount:onefold-write-pages@my-project.iam.gserviceaccount.com"
BUCKET = "my-project-onefold-pages"
TABLE = "bigquery.googleapis.com/Table"
# Every right of the function: the place and the role.
GRANTS = {
    ("my-project", "bigquery.jobUser"),
    ("shop", "onefold_pages"),
    ("crm", "onefold_pages"),
    ("shop__views_clean", "onefold_pages"),
    ("shop", "onefold_page_logs"),
    ("crm", "onefold_page_logs"),
    ("onefold_changes", "onefold_page_ledger"),
    ("my-project-onefold-capture", "storage.objectViewer"),
    (BUCKET, "storage.objectUser"),
    (BUCKET, "storage.legacyBucketReader"),
    ("dead-letter", "pubsub.publisher"),
}


@pytest.fixture
def pages_plan(tested: Callable[[str], Outcome]) -> Plan:
    return tested("pages.tftest.hcl").plans["pages"]


def test_the_account_has_exactly_the_rights_that_it_needs(pages_plan: Plan) -> None:
    assert rights(pages_plan, MEMBER) == GRANTS


def test_the_account_reads_metadata_and_rows_of_the_logs_of_loads_and_checks_alone(pages_plan: Plan) -> None:
    metadata = {"tables.get", "tables.list", "routines.get", "routines.list", "datasets.get"}
    assert permissions(pages_plan)['pages["pages"]'] == {f"bigquery.{name}" for name in metadata}
    assert permissions(pages_plan)['page_logs["pages"]'] == {"bigquery.tables.getData"}
    grant = pages_plan.of("google_bigquery_dataset_iam_member")['page_logs["shop"]']
    condition = grant["condition"][0]["expression"]
    tables = "projects/my-project/datasets/shop/tables"
    assert {name for name in ("_loads", "_checks", "_loads_old", "customer_v_1", "hash_key") if
            admits(condition, TABLE, f"{tables}/{name}")} == {"_loads", "_checks"}  # fmt: skip


def test_the_account_reads_the_ledger_and_of_each_capture_the_checkpoint_alone(pages_plan: Plan) -> None:
    assert permissions(pages_plan)['page_ledger["pages"]'] == {"bigquery.tables.get", "bigquery.tables.getData"}
    grant = pages_plan.of("google_storage_bucket_iam_member")['page_checkpoints["shop-db"]']
    condition, objects = grant["condition"][0]["expression"], "projects/_/buckets/my-project-onefold-capture/objects"
    names = ("shop-db/checkpoint.json", "shop-db/copies/1", "records/shop-db/1", "crm-db/checkpoint.json")
    read = {name for name in names if admits(condition, "storage.googleapis.com/Object", f"{objects}/{name}")}
    assert read == {"shop-db/checkpoint.json"}


def test_the_account_writes_pages_and_nothing_else_into_the_bucket(pages_plan: Plan) -> None:
    condition = pages_plan.of("google_storage_bucket_iam_member")['pages["pages"]']["condition"][0]["expression"]
    objects = f"projects/_/buckets/{BUCKET}/objects"
    assert admits(condition, "storage.googleapis.com/Object", f"{objects}/pages/index.html")
    assert not admits(condition, "storage.googleapis.com/Object", f"{objects}/pages-elsewhere/index.html")


def test_the_bucket_is_private_and_only_the_readers_that_are_named_read_it(pages_plan: Plan) -> None:
    (bucket,) = [one for one in pages_plan.of("google_storage_bucket").values() if one["name"] == BUCKET]
    assert (bucket["uniform_bucket_level_access"], bucket["public_access_prevention"]) == (True, "enforced")
    grants = [one for one in pages_plan.of("google_storage_bucket_iam_member").values() if one["bucket"] == BUCKET]
    assert {(one["member"], one["role"]) for one in grants if one["member"] != MEMBER} == {
        ("group:data@example.com", "roles/storage.objectViewer")
    }


def test_each_dataset_has_a_schedule_that_asks_for_its_page(pages_plan: Plan) -> None:
    jobs = [one for one in pages_plan.of("google_cloud_scheduler_job").values() if "page" in one["name"]]
    targets = [one["pubsub_target"][0] for one in jobs]
    assert sorted(json.loads(b64decode(one["data"]))["dataset"] for one in targets) == ["crm", "shop"]
    assert {Path(one["topic_name"]).name for one in targets} == {"page-requests"}
    assert {one["schedule"] for one in jobs} == {"0 6 * * *"}


def test_the_function_writes_where_the_bucket_is_one_page_after_the_other(pages_plan: Plan) -> None:
    config = pages_plan.of("google_cloudfunctions2_function")['function["write_pages"]']["service_config"][0]
    assert config["environment_variables"]["ONEFOLD_PAGES"] == f"gs://{BUCKET}/pages"
    assert config["environment_variables"]["ONEFOLD_CLEAN_DATASETS"] == "shop"
    assert config["environment_variables"]["ONEFOLD_CHANGES_DATASET"] == "onefold_changes"
    assert config["environment_variables"]["ONEFOLD_PAGE_CHECKPOINTS"] == "gs://my-project-onefold-capture/shop-db"
    assert (config["max_instance_count"], config["max_instance_request_concurrency"]) == (1, 1)
