"""What roles, conditions, filters and thresholds of infra/ say, what they admit, and that a mutation of each is seen."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from support import infra_expected as expected
from support.hcl_text import expression, resources
from support.iam_conditions import BUCKET, FOLDER, LIST_PREFIX, OBJECT, TABLE, admits
from support.in_memory import audit_entry
from support.infra_mutants import GROUPS, Mutant
from support.log_filters import matches
from support.terraform import ROOT, Outcome, Plan, Terraform

from onefold.capture.records import SourceEventKind
from onefold.core.names import LEAF_PREFIX, TEMPORARY_PREFIX
from onefold.views.unified_view import leaf_pattern

INFRA = ROOT / "infra"
FILE = "exact.tftest.hcl"


@pytest.fixture
def plan(tested: Callable[[str], Outcome]) -> Plan:
    return tested(FILE).plans["exact"]


def test_the_plan_has_exactly_the_expected_values(plan: Plan) -> None:
    assert expected.differences(plan, INFRA) == set()


# Conditions of IAM

TABLES = "projects/my-project/datasets/shop/tables/"
# No account may delete any of these, whatever a user calls a table.
KEPT = (
    "customer_v_5b6ffe5fb", "message_read_status_v_5b6ffe5fb", "a_leaf_v_1", "customer_staged_v_1", "x_compared_v_abc",
    "customer_base", "customer_current", "customer_unified", "customer_merges", "maple_leaf_base", "onefold_leafs",
    "my_onefold_tmp_x", "onefold_tm",
)  # fmt: skip


def condition(plan: Plan, address: str) -> str:
    return expected.conditions(plan)[address]


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
    assert [name for name, given in expected.permissions(plan).items() if "bigquery.tables.delete" in given] == ["staging"]
    for grant in plan.of("google_bigquery_dataset_iam_member").values():
        assert bool(grant["condition"]) == grant["role"].endswith("onefold_staging")


ARTIFACTS = "projects/_/buckets/my-project-onefold-artifacts"
STAGING = f"projects/{expected.STAGING_BUCKET}"
SOURCES = f"projects/{expected.SOURCES_BUCKET}"


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
        (expected.DAILY, OBJECT, "projects/_/buckets/exports/objects/shop/daily/part-0.parquet", True),
        (expected.DAILY, OBJECT, "projects/_/buckets/exports/objects/shop/daily/", True),
        (expected.DAILY, OBJECT, "projects/_/buckets/exports/objects/shop/daily", True),
        (expected.DAILY, OBJECT, "projects/_/buckets/exports/objects/shop", True),
        (expected.DAILY, OBJECT, "projects/_/buckets/exports/objects/shop/weekly/part-0.parquet", False),
        (expected.DAILY, OBJECT, "projects/_/buckets/exports/objects/shop/daily2/part-0.parquet", False),
        (expected.DAILY, OBJECT, "projects/_/buckets/exports/objects/payroll.csv", False),
        (expected.DAILY, BUCKET, "projects/_/buckets/exports", False),
    ],
)
def test_conditions_admit_what_they_should(plan: Plan, address: str, type_: str, name: str, admitted: bool) -> None:
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


@pytest.mark.parametrize(("prefix", "admitted"), [("shop/daily/", True), ("shop/", False), ("", False), ("payroll/", False)])
def test_a_folder_can_be_listed_and_its_bucket_cannot(plan: Plan, prefix: str, admitted: bool) -> None:
    bucket = "projects/_/buckets/exports"
    assert admits(condition(plan, expected.DAILY), BUCKET, bucket, {LIST_PREFIX: prefix}) is admitted


def test_a_folder_that_is_a_whole_bucket_is_granted_as_one(plan: Plan) -> None:
    grant = plan.of("google_storage_bucket_iam_member")['batch_folders["gs://archive"]']
    assert (grant["bucket"], grant["condition"]) == ("archive", [])


# Filters over log entries

FUNCTION = {"type": "cloud_run_revision", "labels": {"service_name": "refresh-view"}}


def alert(plan: Plan, name: str) -> str:
    return expected.filters(plan)[f'google_monitoring_alert_policy.log["{name}"]']


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
    assert matches(expected.filters(plan)[expected.SINK], entry) is selected


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


@pytest.mark.parametrize(
    ("severity", "event", "selected"),
    [
        ("CRITICAL", "table_truncated", True),
        ("CRITICAL", "table_dropped", True),
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


def test_or_binds_closer_than_and_and_unknown_functions_are_refused() -> None:
    assert not matches('a="1" OR a="2" AND b="3"', {"a": "1", "b": "4"})
    assert matches('a="1" OR a="2" AND b="3"', {"a": "1", "b": "3"})
    assert not matches('NOT a="1"', {"a": "1"})
    for filter_ in ("a<1", 'a="1" b="2"', 'a:"1"', "a=", '(a="1"'):
        with pytest.raises(ValueError, match=r"."):
            matches(filter_, {"a": "1"})


# Names

# What has no name of its own, or one within something that has the prefix.
UNNAMED = {"google_project_service", "google_storage_bucket_object", "google_bigquery_dataset_access", "terraform_data"}
IDENTITIES = ("account_id", "role_id", "repository_id", "dashboard_json", "display_name", "name")


def test_every_name_has_the_prefix(tested: Callable[[str], Outcome]) -> None:
    changes = tested("options.tftest.hcl").plans["all_options"].changes
    named = [one for one in changes if one["mode"] == "managed" and not one["type"].endswith("_iam_member")]
    found = {}
    for one in named:
        if one["type"] not in UNNAMED:
            after = one["change"]["after"]
            found[one["address"]] = next(str(after[name]) for name in IDENTITIES if after.get(name))
    assert len(found) > 40
    bare = {
        address: name
        for address, name in found.items()
        if not name.startswith(("eu-", "onefoldeu_", "my-project-eu-onefold-", '{"displayName":"eu-'))
    }
    assert bare == {}
    # That plan has a subnetwork of the user's own.
    for kind in ("network", "subnetwork", "firewall"):
        name = expression(resources(INFRA)[f"google_compute_{kind}.batches"], "name")
        assert name is not None
        assert name.startswith('"${var.prefix}onefold')


# Mutants


@pytest.fixture
def mutated(terraform: Terraform, tmp_path: Path) -> Callable[[tuple[Mutant, ...]], Terraform]:
    """A copy of infra/ with the mutants in it, which shares the providers of the session."""

    def mutate(mutants: tuple[Mutant, ...]) -> Terraform:
        folder = tmp_path / "infra"
        shutil.copytree(terraform.folder, folder, symlinks=True, ignore=shutil.ignore_patterns(".terraform"))
        (folder / ".terraform").symlink_to(terraform.folder / ".terraform")
        for name in ("spark_jobs", "build"):
            (tmp_path / name).symlink_to(terraform.folder.parent / name)
        for one in mutants:
            path = folder / one.file
            text = path.read_text()
            assert one.old in text, f"{one.file} no longer holds {one.old}"
            path.write_text(text.replace(one.old, one.new))
        return replace(terraform, folder=folder)

    return mutate


@pytest.mark.parametrize("mutants", GROUPS, ids=range(len(GROUPS)))
def test_every_mutant_fails_the_comparison_at_its_resource(
    mutated: Callable[[tuple[Mutant, ...]], Terraform], mutants: tuple[Mutant, ...]
) -> None:
    places = [place for one in mutants for place in one.seen]
    assert len(set(places)) == len(places), "two mutants of one group touch the same place"
    terraform = mutated(mutants)
    outcome = terraform.tested(FILE)
    assert outcome.status == {"exact": "pass"}, outcome.said
    assert expected.differences(outcome.plans["exact"], terraform.folder) == set(places)
