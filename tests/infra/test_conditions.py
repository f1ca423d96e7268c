"""Conditions of IAM: what each of them admits."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.iam_conditions import BUCKET, FOLDER, OBJECT, TABLE, admits
from support.planned import conditions, grants, permissions
from support.terraform import Outcome, Plan

from onefold.core.names import LEAF_PREFIX, TEMPORARY_PREFIX
from onefold.refresh.built_view import leaf_pattern

TABLES = "projects/my-project/datasets/shop/tables/"
# No account may delete any of these, whatever a user calls a table.
KEPT = (
    "customer_v_5b6ffe5fb", "message_read_status_v_5b6ffe5fb", "a_leaf_v_1", "customer_staged_v_1", "x_compared_v_abc",
    "customer_base", "customer_current", "customer_unified", "customer_merges", "maple_leaf_base", "onefold_leafs",
    "my_onefold_tmp_x", "onefold_tm",
)  # fmt: skip


def condition(plan: Plan, address: str) -> str:
    return conditions(plan)[address]


@pytest.mark.parametrize("grant", ["staging", "leaves"])
@pytest.mark.parametrize("table", KEPT)
def test_no_table_of_a_user_can_be_deleted(plan: Plan, grant: str, table: str) -> None:
    assert not admits(condition(plan, f'google_bigquery_dataset_iam_member.{grant}["shop"]'), TABLE, TABLES + table)


def test_a_batch_may_delete_its_tables_and_leaves_in_its_dataset(plan: Plan) -> None:
    only = condition(plan, 'google_bigquery_dataset_iam_member.staging["shop"]')
    assert admits(only, TABLE, f"{TABLES}{TEMPORARY_PREFIX}customer_staged_0123456789abcdef_1")
    assert admits(only, TABLE, f"{TABLES}{LEAF_PREFIX}0123456789ab_customer_unified")
    assert not admits(only, TABLE, f"projects/my-project/datasets/other/tables/{TEMPORARY_PREFIX}x")
    assert not admits(only, "bigquery.googleapis.com/Dataset", f"{TABLES}{TEMPORARY_PREFIX}x")


def test_refresh_view_may_delete_leaves_and_nothing_else(plan: Plan) -> None:
    only = condition(plan, 'google_bigquery_dataset_iam_member.leaves["shop"]')
    leaf = f"{LEAF_PREFIX}0123456789ab_customer_unified"
    assert leaf_pattern("customer_unified").fullmatch(leaf)
    assert admits(only, TABLE, TABLES + leaf)
    assert not admits(only, TABLE, f"{TABLES}{TEMPORARY_PREFIX}customer_staged_0123456789abcdef_1")
    assert not admits(only, TABLE, f"{TABLES}customer_unified")


def test_only_one_role_may_delete_and_every_grant_of_it_has_a_condition(plan: Plan) -> None:
    assert [name for name, given in permissions(plan).items() if "bigquery.tables.delete" in given] == ["staging"]
    for address, grant in grants(plan):
        if address.startswith("google_bigquery_dataset_iam_member"):
            assert bool(grant["condition"]) == grant["role"].endswith(("onefold_staging", "onefold_page_logs"))


ARTIFACTS = "projects/_/buckets/my-project-onefold-artifacts"
REGISTRY = "projects/_/buckets/my-project-onefold-registry"
STAGING = "projects/_/buckets/my-project-onefold-staging"
SOURCES = "projects/_/buckets/gcf-v2-sources-123456789012-europe-west1"
STATE = "projects/_/buckets/my-project-onefold-terraform/objects"
READER = "roles/storage.legacyBucketReader"
DAILY = 'module.folder_rights["folder"].google_storage_bucket_iam_member.folder["gs://exports/shop/daily"]'


@pytest.mark.parametrize(
    ("address", "type_", "name", "admitted"),
    [
        ("google_project_iam_member.worker", "dataproc.googleapis.com/Batch", "projects/my-project/batches/x", True),
        ("google_project_iam_member.worker", BUCKET, STAGING, True),
        ("google_project_iam_member.worker", OBJECT, f"{STAGING}/objects/a/b", True),
        ("google_project_iam_member.worker", BUCKET, f"{STAGING}-copy", False),
        ("google_project_iam_member.worker", OBJECT, f"{STAGING}-copy/objects/a", False),
        ("google_project_iam_member.worker", BUCKET, ARTIFACTS, False),
        ("google_project_iam_member.worker", FOLDER, f"{ARTIFACTS}/managedFolders/functions/", False),
        ("google_project_iam_member.worker", FOLDER, f"{STAGING}/managedFolders/a/", True),
        ("google_project_iam_member.worker", OBJECT, f"{ARTIFACTS}/objects/functions/a.zip", False),
        ("google_project_iam_member.worker", OBJECT, "projects/_/buckets/payroll/objects/a", False),
        ("google_storage_bucket_iam_member.batch_code", OBJECT, f"{ARTIFACTS}/objects/spark/0123/reconcile.py", True),
        ("google_storage_bucket_iam_member.batch_code", OBJECT, f"{ARTIFACTS}/objects/functions/a.zip", False),
        ("google_storage_bucket_iam_member.batch_code", BUCKET, ARTIFACTS, False),
        ("google_storage_bucket_iam_member.registry_index[0]", OBJECT, f"{REGISTRY}/objects/schemas/index.json", True),
        ("google_storage_bucket_iam_member.registry_index[0]", OBJECT, f"{REGISTRY}/objects/schemas/a/b/c/1-0-0", False),
        ("google_storage_bucket_iam_member.registry_index[0]", OBJECT, f"{REGISTRY}/objects/schemas/index.json/a", False),
        ('google_project_iam_member.build["source"]', OBJECT, f"{SOURCES}/objects/refresh-view/source.zip", True),
        ('google_project_iam_member.build["source"]', BUCKET, SOURCES, True),
        ('google_project_iam_member.build["source"]', OBJECT, f"{SOURCES}2/objects/refresh-view/source.zip", False),
        ('google_project_iam_member.build["source"]', OBJECT, "projects/_/buckets/payroll/objects/a", False),
        (
            "google_storage_bucket_iam_member.sink_records",
            OBJECT,
            "projects/_/buckets/my-project-onefold-capture/objects/records/1",
            True,
        ),
        (
            "google_storage_bucket_iam_member.sink_records",
            OBJECT,
            "projects/_/buckets/my-project-onefold-capture/objects/checkpoint.json",
            False,
        ),
        ("google_storage_bucket_iam_member.access[0]", OBJECT, f"{STATE}/onefold/default.tfstate", True),
        ("google_storage_bucket_iam_member.access[0]", OBJECT, f"{STATE}/onefold2/default.tfstate", False),
        (DAILY, OBJECT, "projects/_/buckets/exports/objects/shop/daily/part-0.parquet", True),
        (DAILY, OBJECT, "projects/_/buckets/exports/objects/shop/daily/", True),
        (DAILY, OBJECT, "projects/_/buckets/exports/objects/shop/daily", True),
        (DAILY, OBJECT, "projects/_/buckets/exports/objects/shop", True),
        (DAILY, OBJECT, "projects/_/buckets/exports/objects/shop/weekly/part-0.parquet", False),
        (DAILY, OBJECT, "projects/_/buckets/exports/objects/shop/daily2/part-0.parquet", False),
        (DAILY, OBJECT, "projects/_/buckets/exports/objects/payroll.csv", False),
        (DAILY, BUCKET, "projects/_/buckets/exports", False),
    ],
)
def test_a_condition_admits_exactly_the_listed_resources(
    plan: Plan, address: str, type_: str, name: str, admitted: bool
) -> None:
    assert admits(condition(plan, address), type_, name) is admitted


@pytest.mark.parametrize(
    ("type_", "name", "admitted"),
    [
        (BUCKET, f"{SOURCES}-0a1b2c", True),
        (OBJECT, f"{SOURCES}-0a1b2c/objects/eu-refresh-view/source.zip", True),
        (OBJECT, f"{SOURCES}0-0a1b2c/objects/refresh-view/source.zip", False),
        (OBJECT, "projects/_/buckets/payroll/objects/a", False),
    ],
)
def test_with_a_key_the_sources_of_functions_are_in_a_bucket_of_that_key(
    tested: Callable[[str], Outcome], type_: str, name: str, admitted: bool
) -> None:
    only = condition(tested("options.tftest.hcl").plans["all_options"], 'google_project_iam_member.build["source"]')
    assert admits(only, type_, name) is admitted


def test_the_bucket_of_a_folder_can_be_listed_whatever_is_asked_for(plan: Plan) -> None:
    """A right to list under a condition on the prefix is none while an object is read, and a missing one is refused."""
    buckets = plan.of("google_storage_bucket_iam_member")
    for bucket in ("archive", "exports"):
        found = [one["condition"] for one in buckets.values() if (one["bucket"], one["role"]) == (bucket, READER)]
        assert found == [[]]


def test_no_condition_depends_on_what_is_listed(tested: Callable[[str], Outcome]) -> None:
    for file in ("everything.tftest.hcl", "events.tftest.hcl", "shreds.tftest.hcl", "options.tftest.hcl"):
        for plan in tested(file).plans.values():
            assert not [name for name, only in conditions(plan).items() if "objectListPrefix" in only]


def test_a_folder_that_is_a_whole_bucket_is_granted_as_one(plan: Plan) -> None:
    grant = plan.of("google_storage_bucket_iam_member")['module.folder_rights["folder"].folder["gs://archive"]']
    assert (grant["bucket"], grant["condition"]) == ("archive", [])
