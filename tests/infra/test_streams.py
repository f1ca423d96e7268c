"""Streams of Datastream, append-only and without a password in a plan; and datasets of plain tables, which are only read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.iam_conditions import admits
from support.in_memory import audit_entry
from support.log_filters import matches
from support.planned import environment
from support.terraform import Outcome, Plan, Terraform

from onefold.settings.environment import load_settings

STREAMED = ("USER1", "billing_public", "shop", "stock")
DATASETS = (*STREAMED, "legacy")  # the last one exists, and somebody else fills it
ROLES = "projects/my-project/roles/onefold"
ACCOUNTS = {name: f"serviceAccount:onefold-{name}@my-project.iam.gserviceaccount.com" for name in ("refresh-view", "batch")}
FILE = "streams.tftest.hcl"


@pytest.fixture
def streams_plan(tested: Callable[[str], Outcome]) -> Plan:
    return tested(FILE).plans["three_sources"]


def streams(plan: Plan) -> dict[str, Any]:
    return {
        name.removeprefix('stream["').removesuffix('"]'): one for name, one in plan.of("google_datastream_stream").items()
    }


def test_each_stream_appends_into_a_dataset_for_each_schema(streams_plan: Plan) -> None:
    into = {
        name: one["destination_config"][0]["bigquery_destination_config"][0] for name, one in streams(streams_plan).items()
    }
    assert {name: (len(one["append_only"]), one["merge"]) for name, one in into.items()} == {
        name: (1, []) for name in ("shop", "billing", "erp")
    }
    templates = {name: one["source_hierarchy_datasets"][0]["dataset_template"][0] for name, one in into.items()}
    assert {name: (one["dataset_id_prefix"], one["location"]) for name, one in templates.items()} == {
        "shop": ("", "europe-west1"), "billing": ("billing_", "europe-west1"), "erp": ("", "europe-west1"),
    }  # fmt: skip


def test_it_reads_what_is_named_copies_what_is_there_and_can_be_paused(streams_plan: Plan) -> None:
    found = streams(streams_plan)
    (shop,) = found["shop"]["source_config"][0]["mysql_source_config"][0]["include_objects"]
    read = {one["database"]: [table["table"] for table in one["mysql_tables"]] for one in shop["mysql_databases"]}
    assert read == {"shop": ["orders", "customer"], "stock": []}
    (billing,) = found["billing"]["source_config"][0]["postgresql_source_config"]
    assert (billing["publication"], billing["replication_slot"]) == ("pub", "slot")
    (erp,) = found["erp"]["source_config"][0]["oracle_source_config"][0]["include_objects"]
    assert [one["schema"] for one in erp["oracle_schemas"]] == ["USER1"]
    states = {
        name: (one["desired_state"], len(one["backfill_all"]), len(one["backfill_none"])) for name, one in found.items()
    }
    assert states == {"shop": ("RUNNING", 1, 0), "billing": ("RUNNING", 0, 1), "erp": ("PAUSED", 1, 0)}


def test_tables_that_are_named_are_partitioned_by_the_time_at_which_rows_come(streams_plan: Plan) -> None:
    found: dict[str, list[str]] = {}
    for name, one in streams(streams_plan).items():
        for rule in one["rule_sets"]:
            (named,) = (part for parts in rule["object_filter"][0]["source_object_identifier"][0].values() for part in parts)
            found.setdefault(name, []).append(named["table"])
            (partitioning,) = rule["customization_rules"][0]["bigquery_partitioning"]
            assert len(partitioning["ingestion_time_partition"]) == 1
    assert found == {"shop": ["orders", "customer"], "billing": ["invoice"], "erp": ["TABLE1"]}


def test_a_profile_names_the_secret_of_its_password_and_has_no_password(streams_plan: Plan) -> None:
    profiles = streams_plan.of("google_datastream_connection_profile").values()
    found = {}
    for one in profiles:
        for kind in ("mysql_profile", "postgresql_profile", "oracle_profile"):
            for profile in one[kind]:
                assert profile["password"] is None
                found[kind] = (profile["port"], profile["secret_manager_stored_password"])
        assert len(one["private_connectivity"]) == (0 if one["bigquery_profile"] else 1)
    place = "projects/my-project/secrets"
    assert found == {
        "mysql_profile": (3306, f"{place}/shop-password/versions/latest"),
        "postgresql_profile": (5433, f"{place}/billing-password/versions/3"),
        "oracle_profile": (1521, f"{place}/erp-password/versions/latest"),
    }
    readers = {
        one["secret_id"]: (one["role"], one["member"])
        for one in streams_plan.of("google_secret_manager_secret_iam_member").values()
    }
    agent = "serviceAccount:service-123456789012@gcp-sa-datastream.iam.gserviceaccount.com"
    expected = ("roles/secretmanager.secretAccessor", agent)
    assert readers == {f"{name}-password": expected for name in ("shop", "billing", "erp")}


def test_onefold_reads_what_datastream_writes_and_writes_beside_it_alone(streams_plan: Plan) -> None:
    grants = streams_plan.of("google_bigquery_dataset_iam_member").values()
    found = {(one["dataset_id"], one["role"].removeprefix(ROLES), one["member"]) for one in grants}
    expected = {
        *((dataset, "_source", ACCOUNTS["refresh-view"]) for dataset in DATASETS),
        *((dataset, "_plain_source", ACCOUNTS["batch"]) for dataset in DATASETS),
        *((f"{dataset}__onefold", "_staging", account) for dataset in DATASETS for account in ACCOUNTS.values()),
        *((f"{dataset}__onefold", "_views", ACCOUNTS["refresh-view"]) for dataset in DATASETS),
        *((f"{dataset}__onefold", "_batch", ACCOUNTS["batch"]) for dataset in DATASETS),
    }
    own = {one for one in found if one[0] in {part for dataset in DATASETS for part in (dataset, f"{dataset}__onefold")}}
    assert own == expected
    roles = {one["role_id"]: set(one["permissions"]) for one in streams_plan.of("google_project_iam_custom_role").values()}
    assert roles["onefold_plain_source"] == roles["onefold_source"] | {"bigquery.datasets.get"}


@pytest.mark.parametrize(
    ("account", "table", "admitted"),
    [
        ("batch", "onefold_tmp_1", True), ("batch", "onefold_leaf_1", True), ("batch", "orders_base", False),
        ("refresh_view", "onefold_tmp_1", False), ("refresh_view", "onefold_leaf_1", True),
    ],
)  # fmt: skip
def test_what_is_dropped_is_found_by_the_beginning_of_its_name(
    streams_plan: Plan, account: str, table: str, admitted: bool
) -> None:
    grant = streams_plan.of("google_bigquery_dataset_iam_member")[f'plain_staging["shop {account}"]']
    name = f"projects/my-project/datasets/shop__onefold/tables/{table}"
    assert admits(grant["condition"][0]["expression"], "bigquery.googleapis.com/Table", name) == admitted


def test_the_datasets_are_made_before_the_stream_and_readable_by_owners_alone(streams_plan: Plan) -> None:
    made = {one["dataset_id"]: one for one in streams_plan.of("google_bigquery_dataset").values()}
    assert {*STREAMED, *(f"{dataset}__onefold" for dataset in DATASETS)} == {
        name for name in made if not name.endswith(("__views_clean", "__keys"))
    }
    for dataset in DATASETS:
        for name in {dataset, f"{dataset}__onefold"} - {"legacy"}:
            assert [(one["role"], one["special_group"]) for one in made[name]["access"]] == [("OWNER", "projectOwners")]
            assert made[name]["delete_contents_on_destroy"] is False
    authorized = {
        (one["dataset_id"], one["dataset"][0]["dataset"][0]["dataset_id"])
        for one in streams_plan.of("google_bigquery_dataset_access").values()
    }
    assert {
        *((dataset, f"{dataset}__onefold") for dataset in DATASETS),
        ("shop__onefold", "shop__views_clean"),
        ("legacy__onefold", "legacy__views_clean"),
    } == authorized


def test_schedules_functions_and_the_audit_log_serve_the_datasets(streams_plan: Plan) -> None:
    assert set(streams_plan.scheduled("merge")) == {"crm", *DATASETS}
    assert set(streams_plan.scheduled("refresh")) == {"crm", *DATASETS}
    function = streams_plan.of("google_cloudfunctions2_function")['function["refresh_view"]']
    assert function["service_config"][0]["environment_variables"]["ONEFOLD_DATASETS"] == ",".join(["crm", *sorted(DATASETS)])
    assert load_settings(environment(streams_plan, "refresh_view")).plain_dataset == "{dataset}__onefold"
    (sink,) = streams_plan.of("google_logging_project_sink").values()
    exported = {"shop": ["orders"], "legacy": ["orders", "Größe"], "crm": ["orders_v_1"]}
    others = {"shop__onefold": ["orders_base", "orders_current"], "legacy__onefold": ["orders_merges"], "crm": ["orders"]}
    assert all(matches(sink["filter"], one) for one in entries("tableCreation", exported))
    assert not any(matches(sink["filter"], one) for one in entries("tableCreation", {**others, "other": ["orders"]}))
    assert not any(matches(sink["filter"], one) for one in entries("tableDataChange", exported))


def entries(kind: str, tables: dict[str, list[str]]) -> Iterator[dict[str, Any]]:
    """Yield entries of the audit log about tables of each dataset."""
    for dataset, names in tables.items():
        for table in names:
            yield json.loads(audit_entry(table, kind, project="my-project", dataset=dataset))


def test_entries_that_datastream_would_refuse_are_named_with_all_that_is_wrong(terraform: Terraform, tmp_path: Path) -> None:
    folder = tmp_path / "infra"
    shutil.copytree(terraform.folder, folder, symlinks=True, ignore=shutil.ignore_patterns(".terraform"))
    (folder / ".terraform").symlink_to(terraform.folder / ".terraform")
    for name in ("spark_jobs", "build"):
        (tmp_path / name).symlink_to(terraform.folder.parent / name)
    path = folder / "tests" / FILE
    expects = "  expect_failures = [output.streams]\n"
    assert expects in path.read_text()
    path.write_text(path.read_text().replace(expects, ""))
    said = replace(terraform, folder=folder).tested(FILE).said
    detail = "\n".join(json.loads(line)["detail"] for line in said.splitlines())
    found = {line.strip() for line in detail.splitlines() if line.strip().startswith("streams.")}
    assert found == {f"streams.{name}: {fault}" for name, faults in REFUSED.items() for fault in faults}


NAME = "its name must have 2 to 30 lower-case letters, digits and hyphens, begin with a letter, and not be onefold-bigquery"
SAME = "two streams or schemas would write one dataset: set dataset_prefix"
REFUSED = {
    "A": (
        NAME,
        "source must be mysql, postgresql or oracle", "host must be a name or an address, without port",
        "port must be a whole number from 1 to 65535", "user must be one line of text",
        "secret must be the id of a secret of the project, which holds the password",
        "secret_version must be latest or a number", "schemas must name at least one",
    ),
    "bb": (
        "database is for postgresql and oracle: name the databases of mysql in schemas",
        "publication and replication_slot are for postgresql",
        "the datasets of schemas, dataset_prefix and schema, must be names of letters, digits and underscores",
        "tables must be names, each once for a schema",
        "a dataset of its schemas is among datasets or plain_table_datasets: set dataset_prefix",
    ),
    "cc": (
        "database must name the database of postgresql, or the service of oracle",
        "publication and replication_slot must name those of postgresql", SAME,
    ),
    "dd": (SAME,),
}  # fmt: skip
