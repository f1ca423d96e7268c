"""The ledger of changes: the code is the truth about its columns and its view, and three accounts alone append to it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

import pytest
from support.planned import environment, grants, permissions
from support.terraform import INFRA, Outcome, Plan

from onefold.changes.decisions import DECISION_COLUMNS, DECISIONS_TABLE
from onefold.changes.table import LEDGER_COLUMNS, latest_query
from onefold.core.names import TableId
from onefold.schema.types import Array, Struct, Type

DECISIONS = INFRA / "schema_change_decisions.json"
SCHEMA, VIEW = INFRA / "schema_changes.json", INFRA / "schema_changes_latest.sql"


def field(name: str, type_: Type, description: str = "") -> dict[str, object]:
    """A column in the form of BigQuery's schema files."""
    inner = type_.element if isinstance(type_, Array) else type_
    found: dict[str, object] = {"name": name, "type": "RECORD" if isinstance(inner, Struct) else str(inner)}
    found["mode"] = "REPEATED" if isinstance(type_, Array) else "NULLABLE"
    if isinstance(inner, Struct):
        found["fields"] = [field(one.name, one.type) for one in inner.fields]
    return {**found, "description": description} if description else found


def test_the_table_has_the_columns_that_the_code_writes() -> None:
    expected = [field(column.name, column.type, text) for column, text in LEDGER_COLUMNS]
    if os.environ.get("UPDATE_GOLDEN"):
        SCHEMA.write_text(json.dumps(expected, indent=2) + "\n")
    assert json.loads(SCHEMA.read_text()) == expected


def test_the_text_of_the_view_is_that_of_the_code() -> None:
    text = latest_query(TableId(None, None, "TABLE"))
    if os.environ.get("UPDATE_GOLDEN"):
        VIEW.write_text(text)
    assert VIEW.read_text() == text


def test_the_view_reads_the_table(plan: Plan) -> None:
    (view,) = plan.of("google_bigquery_table")["changes_latest[0]"]["view"]
    assert view["query"] == latest_query(TableId("my-project", "onefold_changes", "schema_changes"))


def test_the_table_is_partitioned_by_the_day_of_recording_and_protected(plan: Plan) -> None:
    table = plan.of("google_bigquery_table")["changes[0]"]
    assert [(one["type"], one["field"]) for one in table["time_partitioning"]] == [("DAY", "recorded_at")]
    assert table["deletion_protection"] is True


def test_three_accounts_append_to_the_ledger_and_no_account_may_change_a_row(plan: Plan) -> None:
    assert [one[1:] for one in datasets(plan) if one[0] == "onefold_changes"] == [
        ("onefold_page_ledger", "onefold-write-pages")
    ]
    assert permissions(plan)['page_ledger["pages"]'] == {"bigquery.tables.get", "bigquery.tables.getData"}
    found = [(role, member) for table, role, member in tables(plan) if table == "schema_changes"]
    accounts = ["onefold-batch", "onefold-refresh-view", "onefold-schema-registry"]
    assert sorted(found) == [("onefold_ledger", account) for account in accounts]
    changing = {
        f"bigquery.tables.{name}" for name in ("getData", "update", "create", "delete", "setIamPolicy", "replicateData")
    }
    assert permissions(plan)["ledger[0]"] & changing == set()


def test_one_account_may_read_the_decisions_and_none_may_write_them(plan: Plan) -> None:
    found = [(role, member) for table, role, member in tables(plan) if table == "schema_change_decisions"]
    assert found == [("onefold_decisions", "onefold-refresh-view")]
    assert permissions(plan)["decisions[0]"] == {"bigquery.tables.get", "bigquery.tables.getData"}


def test_the_table_of_decisions_has_the_columns_that_the_code_writes(plan: Plan) -> None:
    expected = [field(column.name, column.type, text) for column, text in DECISION_COLUMNS]
    if os.environ.get("UPDATE_GOLDEN"):
        DECISIONS.write_text(json.dumps(expected, indent=2) + "\n")
    assert json.loads(DECISIONS.read_text()) == expected
    table = plan.of("google_bigquery_table")["decisions[0]"]
    assert (table["table_id"], table["deletion_protection"]) == (DECISIONS_TABLE, True)


def tables(plan: Plan) -> list[tuple[str, str, str]]:
    members = plan.of("google_bigquery_table_iam_member").values()
    return [
        (one["table_id"], one["role"].rpartition("/")[2], one["member"].partition(":")[2].partition("@")[0])
        for one in members
    ]


def datasets(plan: Plan) -> list[tuple[str, str, str]]:
    members = plan.of("google_bigquery_dataset_iam_member").values()
    return [
        (one["dataset_id"], one["role"].rpartition("/")[2], one["member"].partition(":")[2].partition("@")[0])
        for one in members
    ]


@pytest.mark.parametrize("function", ["schema_registry", "launch_batch"])
def test_the_registry_and_merges_record_in_that_ledger(plan: Plan, function: str) -> None:
    set_ = environment(plan, function)
    assert (set_["ONEFOLD_CHANGES_DATASET"], set_["ONEFOLD_PROJECT"]) == ("onefold_changes", "my-project")


def test_without_a_registry_it_has_no_right(tested: Callable[[str], Outcome]) -> None:
    plan = tested("changes_notify.tftest.hcl").plans["without_a_schedule"]
    members = {member for table, _, member in tables(plan) if table == "schema_changes"}
    assert members == {"onefold-batch", "onefold-refresh-view"}


def test_without_the_variable_nothing_of_a_ledger_is_made(tested: Callable[[str], Outcome]) -> None:
    plan = tested("grants.tftest.hcl").plans["two_datasets"]
    assert "changes[0]" not in plan.of("google_bigquery_dataset")
    assert "ledger[0]" not in permissions(plan)
    assert plan.of("google_bigquery_table") == {}
    assert grants(plan)
