"""Commands that would write a view with other settings than it has: they say which, and ask for --accept-settings."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change, land_changes
from support.cli import Run
from support.sweeps import sweep

CUSTOMER = {"id": "INT64", "name": "STRING"}
WITH_TYPES = "tables: {customer: {types: {id: STRING}}}"


@pytest.fixture
def deployed(run: Run, dataset: EmulatedDataset) -> EmulatedDataset:
    """A view with the settings of a deployment, and a folder without its onefold.yaml."""
    land_changes(dataset, "customer_v_a", CUSTOMER, [change("INSERT", "1", id=1, name="a")])
    Path("onefold.yaml").write_text(WITH_TYPES)
    assert run("refresh", f"{dataset.name}.customer").code == 0
    Path("onefold.yaml").unlink()
    return dataset


def types(dataset: EmulatedDataset, view: str = "unified") -> list[object]:
    return [type(row[0]) for row in dataset.rows(f"customer_{view}")]


@pytest.mark.parametrize("command", [("refresh",), ("current", "--keys", "id"), ("merge", "--keys", "id")])
def test_a_command_without_the_deployments_file_reverts_nothing(
    run: Run, deployed: EmulatedDataset, command: tuple[str, ...]
) -> None:
    tables = {item.table_id for item in deployed.client.list_tables(deployed.name)}
    outcome = run(command[0], deployed.name, "customer", *command[1:])
    assert outcome.code == 1
    assert "was written with another setting of types.id: STRING -> default" in outcome.err
    assert "--accept-settings" in outcome.err
    assert types(deployed) == [str]
    assert {item.table_id for item in deployed.client.list_tables(deployed.name)} == tables


@pytest.mark.parametrize(("view", "command"), [("unified", ("refresh",)), ("current", ("current", "--keys", "id"))])
def test_accepted_settings_are_written(run: Run, deployed: EmulatedDataset, view: str, command: tuple[str, ...]) -> None:
    assert run(command[0], deployed.name, "customer", *command[1:], "--accept-settings").code == 0
    assert types(deployed, view) == [int]


@pytest.mark.parametrize("command", ["current", "merge"])
def test_the_settings_of_a_current_view_count_as_well(run: Run, dataset: EmulatedDataset, command: str) -> None:
    land_changes(dataset, "customer_v_a", CUSTOMER, [change("INSERT", "1", id=1, name="a")])
    Path("onefold.yaml").write_text(WITH_TYPES)
    assert run("current", f"{dataset.name}.customer", "--keys", "id").code == 0
    Path("onefold.yaml").unlink()
    outcome = run(command, dataset.name, "customer", "--keys", "id")
    assert outcome.code == 1
    assert "customer_current was written with another setting of types.id: STRING -> default" in outcome.err
    assert types(dataset, "current") == [str]
    assert {item.table_id for item in dataset.client.list_tables(dataset.name)} == {"customer_v_a", "customer_current"}
    assert run(command, dataset.name, "customer", "--keys", "id", "--accept-settings").code == 0
    assert types(dataset, "current") == [int]


@pytest.mark.parametrize("command", sweep(["refresh", "current", "merge"]))
def test_the_key_and_the_overlap_are_settings_of_the_current_view(run: Run, dataset: EmulatedDataset, command: str) -> None:
    rows = [change("INSERT", "1", id=1, name="a"), change("INSERT", "2", id=2, name="a")]
    land_changes(dataset, "customer_v_a", CUSTOMER, rows)
    Path("onefold.yaml").write_text("tables: {customer: {keys: [id], overlap_minutes: 5}}")
    assert run("refresh", f"{dataset.name}.customer").code == 0
    Path("onefold.yaml").write_text("tables: {customer: {keys: [name]}}")
    unified, current = run("plan", f"{dataset.name}.customer", "--json").json["results"]
    assert (unified["settings"], unified["action"]) == ([], "none")
    assert current["settings"] == [
        {"setting": "keys", "before": "id", "after": "name"},
        {"setting": "overlap_minutes", "before": "5", "after": None},
    ]
    outcome = run(command, dataset.name, "customer")
    assert outcome.code == 1
    for words in ("customer_current was written with another setting of keys: id -> name", "overlap_minutes: 5 -> default"):
        assert words in outcome.err
    assert len(dataset.rows("customer_current")) == 2
    assert run(command, dataset.name, "customer", "--accept-settings").code == 0
    assert dataset.rows("customer_current") == [(2, "a")]


def test_plan_shows_the_settings_that_would_change(run: Run, deployed: EmulatedDataset) -> None:
    outcome = run("plan", f"{deployed.name}.customer")
    assert outcome.code == 2
    for words in ("settings that would change", "--accept-settings", "types.id"):
        assert words in outcome.out
    plan = run("plan", f"{deployed.name}.customer", "--json").result
    assert plan["settings"] == [{"setting": "types.id", "before": "STRING", "after": None}]


def test_with_the_deployments_file_every_command_works(run: Run, deployed: EmulatedDataset) -> None:
    Path("deployed.yaml").write_text(WITH_TYPES)
    for command in (("refresh",), ("current", "--keys", "id"), ("merge", "--keys", "id")):
        assert run("--config", "deployed.yaml", command[0], deployed.name, "customer", *command[1:]).code == 0
    assert types(deployed) == [str]
