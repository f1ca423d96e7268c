"""`plan` and `refresh` show and write the current view, too, as a message does."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change, land_changes
from support.cli import Run

CUSTOMER = {"id": "INT64", "name": "STRING"}
KEYS = "tables: {customer: {keys: [id]}}"


@pytest.fixture
def landed(dataset: EmulatedDataset) -> EmulatedDataset:
    """A version with two changes of a row."""
    rows = [change("INSERT", "1", id=1, name="old"), change("UPDATE-INSERT", "2", id=1, name="new")]
    land_changes(dataset, "customer_v_a", CUSTOMER, rows)
    return dataset


def views(dataset: EmulatedDataset) -> set[str]:
    return {item.table_id for item in dataset.client.list_tables(dataset.name)} - {"customer_v_a"}


def test_both_views_are_planned_written_and_removed(run: Run, landed: EmulatedDataset) -> None:
    Path("onefold.yaml").write_text(KEYS)
    planned = run("plan", f"{landed.name}.customer")
    assert planned.code == 2
    assert f"local.{landed.name}.customer_current would be created" in planned.out
    assert planned.out.splitlines()[-1] == "0 up to date, 2 to change"
    assert views(landed) == set()
    done = run("refresh", f"{landed.name}.customer", "--json")
    assert [entry["view"].rpartition("_")[2] for entry in done.json["results"]] == ["unified", "current"]
    assert [entry["action"] for entry in done.json["results"]] == ["create", "create"]
    assert landed.rows("customer_current") == [(1, "new")]
    again = run("plan", "--dataset", landed.name)
    assert (again.code, again.out.splitlines()[-1]) == (0, "2 up to date, 0 to change")
    landed.run(f"DROP TABLE {landed.quoted('customer_v_a')}")
    assert run("refresh", "--dataset", landed.name, "--all", "--prune").code == 0
    assert views(landed) == set()


def test_a_current_view_that_is_left_over_alone_is_listed_and_pruned(run: Run, landed: EmulatedDataset) -> None:
    land_changes(landed, "kept_v_a", CUSTOMER, [change("INSERT", "1", id=1, name="kept")])
    Path("onefold.yaml").write_text("tables: {customer: {keys: [id]}, kept: {keys: [id]}}")
    assert run("refresh", "--dataset", landed.name, "--all").code == 0
    landed.client.delete_table(f"{landed.client.project}.{landed.name}.customer_unified")
    landed.run(f"DROP TABLE {landed.quoted('customer_v_a')}")
    planned = run("plan", "--dataset", landed.name)
    assert planned.code == 0
    assert f"local.{landed.name}.customer_current is left over" in planned.out
    assert planned.out.splitlines()[-1] == "2 up to date, 0 to change, 1 left over"
    assert run("plan", "--dataset", landed.name, "--prune").code == 2
    assert run("refresh", "--dataset", landed.name, "--all").code == 0
    assert views(landed) == {"customer_current", "kept_v_a", "kept_unified", "kept_current"}
    assert run("refresh", "--dataset", landed.name, "--all", "--prune").code == 0
    assert views(landed) == {"kept_v_a", "kept_unified", "kept_current"}


def test_the_current_view_of_a_named_table_is_pruned_though_the_base_is_there(run: Run, landed: EmulatedDataset) -> None:
    Path("onefold.yaml").write_text(KEYS)
    assert run("merge", f"{landed.name}.customer").code == 0
    assert run("current", f"{landed.name}.customer").code == 0
    landed.run(f"DROP TABLE {landed.quoted('customer_v_a')}")
    assert "customer_current is left over" in run("plan", "--dataset", landed.name).out
    land_changes(landed, "orders", CUSTOMER, [change("INSERT", "1", id=1, name="plain")])
    assert run("current", f"{landed.name}.orders", "--keys", "id").code == 0
    assert "orders_current is left over" not in run("plan", "--dataset", landed.name).out
    assert run("refresh", f"{landed.name}.customer", "--prune").code == 0
    assert views(landed) == {"customer_base", "customer_merges", "orders", "orders_current"}


@pytest.mark.parametrize("settings", ["{}", "tables: {customer: {keys: [id], current: false}}"])
def test_a_table_without_a_current_view_has_one_view(run: Run, landed: EmulatedDataset, settings: str) -> None:
    Path("onefold.yaml").write_text(settings)
    assert run("plan", f"{landed.name}.customer").out.splitlines()[-1] == "0 up to date, 1 to change"
    assert run("refresh", f"{landed.name}.customer").code == 0
    assert views(landed) == {"customer_unified"}


def test_a_unified_view_that_fails_does_not_keep_the_current_view_from_being_written(
    run: Run, landed: EmulatedDataset
) -> None:
    Path("onefold.yaml").write_text(KEYS)
    landed.run(f"CREATE VIEW {landed.quoted('customer_unified')} AS SELECT 7 AS mine")
    planned = run("plan", "--dataset", landed.name)
    assert planned.code == 1
    assert planned.out.splitlines()[-1] == "0 up to date, 1 to change, 1 failed"
    outcome = run("refresh", "--dataset", landed.name, "--all")
    assert outcome.code == 1
    assert outcome.out.splitlines()[0] == f"local.{landed.name}.customer_current created"
    assert landed.rows("customer_unified") == [(7,)]
    assert landed.rows("customer_current") == [(1, "new")]


def test_settings_that_the_unified_view_refuses_write_no_new_current_view_either(run: Run, landed: EmulatedDataset) -> None:
    Path("onefold.yaml").write_text("tables: {customer: {keys: [id], current: false, types: {id: STRING}}}")
    assert run("refresh", f"{landed.name}.customer").code == 0
    Path("onefold.yaml").write_text(KEYS)
    outcome = run("refresh", f"{landed.name}.customer")
    assert outcome.code == 1
    assert "types.id: STRING -> default" in outcome.err
    assert views(landed) == {"customer_unified"}


def test_a_table_without_versions_is_one_error(run: Run, landed: EmulatedDataset) -> None:
    Path("onefold.yaml").write_text("tables: {customer: {keys: [id]}, missing: {keys: [id]}}")
    outcome = run("refresh", f"{landed.name}.missing", "--json")
    assert outcome.code == 1
    assert len(outcome.results) == 1


def test_a_current_view_that_fails_is_an_error_and_the_unified_view_is_written(run: Run, landed: EmulatedDataset) -> None:
    Path("onefold.yaml").write_text(KEYS)
    landed.run(f"CREATE VIEW {landed.quoted('customer_current')} AS SELECT 7 AS mine")
    outcome = run("refresh", f"{landed.name}.customer")
    assert outcome.code == 1
    assert "customer_current was not written by" in outcome.err
    assert landed.rows("customer_current") == [(7,)]
    assert len(landed.rows("customer_unified")) == 2
