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
    planned = run("plan", landed.name, "customer")
    assert planned.code == 2
    assert f"local.{landed.name}.customer_current would be created" in planned.out
    assert planned.out.splitlines()[-1] == "0 up to date, 2 to change"
    assert views(landed) == set()
    done = run("refresh", landed.name, "customer", "--json")
    assert [entry["view"].rpartition("_")[2] for entry in done.json["results"]] == ["unified", "current"]
    assert [entry["action"] for entry in done.json["results"]] == ["create", "create"]
    assert landed.rows("customer_current") == [(1, "new")]
    again = run("plan", landed.name)
    assert (again.code, again.out.splitlines()[-1]) == (0, "2 up to date, 0 to change")
    landed.run(f"DROP TABLE {landed.quoted('customer_v_a')}")
    assert run("refresh", landed.name, "--all", "--prune").code == 0
    assert views(landed) == set()


@pytest.mark.parametrize("settings", ["{}", "tables: {customer: {keys: [id], current: false}}"])
def test_a_table_without_a_current_view_has_one_view(run: Run, landed: EmulatedDataset, settings: str) -> None:
    Path("onefold.yaml").write_text(settings)
    assert run("plan", landed.name, "customer").out.splitlines()[-1] == "0 up to date, 1 to change"
    assert run("refresh", landed.name, "customer").code == 0
    assert views(landed) == {"customer_unified"}


def test_a_current_view_that_fails_is_an_error_and_the_unified_view_is_written(run: Run, landed: EmulatedDataset) -> None:
    Path("onefold.yaml").write_text(KEYS)
    landed.run(f"CREATE VIEW {landed.quoted('customer_current')} AS SELECT 7 AS mine")
    outcome = run("refresh", landed.name, "customer")
    assert outcome.code == 1
    assert "customer_current was not written by" in outcome.err
    assert landed.rows("customer_current") == [(7,)]
    assert len(landed.rows("customer_unified")) == 2
