"""The daily job that finds out who reads each column: its rights, its table, and when it runs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

import pytest
from support.planned import permissions, rights
from support.terraform import INFRA, Outcome, Plan

from onefold.changes.reader_table import COLLECTED_AT, READER_COLUMNS, READERS_TABLE
from onefold.settings.environment import load_settings

FILE = "column_readers.tftest.hcl"
SCHEMA = INFRA / "schema_column_readers.json"
MEMBER = "serviceAccount:onefold-readers@my-project.iam.gserviceaccount.com"


@pytest.fixture
def planned(tested: Callable[[str], Outcome]) -> Plan:
    return tested(FILE).plans["readers"]


def test_the_table_has_the_columns_that_the_code_writes(planned: Plan) -> None:
    expected = [{"name": one.name, "type": str(one.type), "mode": "NULLABLE"} for one in READER_COLUMNS]
    if os.environ.get("UPDATE_GOLDEN"):
        SCHEMA.write_text(json.dumps(expected, indent=2) + "\n")
    assert json.loads(SCHEMA.read_text()) == expected
    table = planned.of("google_bigquery_table")['readers["readers"]']
    assert (table["table_id"], table["time_partitioning"][0]["field"]) == (READERS_TABLE, COLLECTED_AT)


def test_the_account_has_exactly_the_rights_that_it_needs(planned: Plan) -> None:
    assert rights(planned, MEMBER) == {
        ("my-project", "onefold_readers"), ("my-project", "logging.logWriter"),
        ("onefold-capture", "artifactregistry.reader"), ("onefold_changes", "onefold_readers_rows"),
        ("", "run.invoker"),  # on its own job: the kind of the resource has no other name here
    }  # fmt: skip
    roles = permissions(planned)
    assert roles['readers["readers"]'] == {
        "bigquery.tables.get", "bigquery.tables.list", "bigquery.routines.get", "bigquery.routines.list",
        "bigquery.datasets.get", "bigquery.jobs.create", "bigquery.jobs.listAll", "bigquery.transfers.get",
    }  # fmt: skip
    assert roles['readers_rows["readers"]'] == {
        "bigquery.tables.get", "bigquery.tables.getData", "bigquery.tables.updateData",
    }  # fmt: skip
    assert planned.of("google_cloud_run_v2_job_iam_member")['readers["readers"]']["name"] == "onefold-readers"
    grant = planned.of("google_bigquery_table_iam_member")['readers["readers"]']
    assert grant["table_id"] == READERS_TABLE


def test_it_is_off_by_default_and_nobody_else_may_list_all_jobs(tested: Callable[[str], Outcome]) -> None:
    plan = tested(FILE).plans["without_readers"]
    assert rights(plan, MEMBER) == set()
    assert not any("bigquery.jobs.listAll" in one for one in permissions(plan).values())
    assert not plan.of("google_cloud_run_v2_job")


def test_a_schedule_runs_the_command_in_the_image_of_capture(planned: Plan) -> None:
    job = planned.of("google_cloud_run_v2_job")['readers["readers"]']
    (container,) = job["template"][0]["template"][0]["containers"]
    assert (container["command"], container["args"]) == (["onefold"], ["changes", "readers", "--collect", "--json"])
    settings = load_settings({one["name"]: one["value"] for one in container["env"]})
    assert (settings.changes_dataset, settings.datasets) == ("onefold_changes", frozenset({"shop"}))
    schedule = planned.of("google_cloud_scheduler_job")['readers["readers"]']
    assert (schedule["schedule"], schedule["http_target"][0]["uri"]) == (
        "15 3 * * *", "https://run.googleapis.com/v2/projects/my-project/locations/europe-west1/jobs/onefold-readers:run",
    )  # fmt: skip
    services = {one["service"] for one in planned.of("google_project_service").values()}
    assert "bigquerydatatransfer.googleapis.com" in services


def test_a_plan_refuses_a_job_without_a_ledger_or_a_time(tested: Callable[[str], Outcome]) -> None:
    outcome = tested(FILE)
    assert set(outcome.status.values()) == {"pass"}, outcome.said
