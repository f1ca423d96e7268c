"""`onefold plan` and `onefold refresh`: exit codes, standard output and standard error."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.cli import Run
from support.in_memory import ABC, DEF


@pytest.fixture
def shop(dataset: EmulatedDataset) -> EmulatedDataset:
    dataset.land("customer_v_abc", ABC, "1, 'Ada', 'Lovelace', 'Ada Lovelace'", "2, 'Alan', 'Turing', 'Alan Turing'")
    dataset.land("customer_v_def", DEF, "'c-3', 'Grace', 'Hopper', 'grace@example.com'", "'c-4', 'Edsger', 'Dijkstra', NULL")
    return dataset


def test_plan_shows_what_a_refresh_would_do_and_writes_nothing(run: Run, shop: EmulatedDataset) -> None:
    outcome = run("plan", f"{shop.name}.customer")
    assert outcome.code == 2
    for words in (
        "would be created",
        "versions: 2 (abc, def)",
        "characters",
        "3 of 1,000 (997 left)",
        "INT64",
        "STRING",
        "no",
    ):
        assert words in outcome.out
    assert all(table.table_id != "customer_unified" for table in shop.client.list_tables(shop.name))


def test_plan_shows_which_conversions_can_lose_values(run: Run, shop: EmulatedDataset) -> None:
    Path("onefold.yaml").write_text("tables: {customer: {types: {id: INT64}}}")
    outcome = run("plan", f"{shop.name}.customer", "--json")
    (cast,) = outcome.result["casts"]
    assert (cast["version"], cast["column"], cast["from"], cast["to"]) == ("def", "id", "STRING", "INT64")
    assert cast["losses"]
    assert cast["losses"][0] in run("plan", f"{shop.name}.customer").out


def test_plan_prints_only_json_for_programs(run: Run, shop: EmulatedDataset) -> None:
    outcome = run("plan", "--dataset", shop.name, "--json")
    plan = outcome.result
    assert (outcome.code, outcome.err) == (2, "")
    assert (plan["table"], plan["action"]) == (f"local.{shop.name}.customer", "create")
    assert plan["limits"]["tables_left"] == 997


def test_plan_shows_the_reason_for_each_change(run: Run, shop: EmulatedDataset) -> None:
    assert run("refresh", f"{shop.name}.customer").code == 0
    shop.land("customer_v_fed", {**DEF, "phone": "STRING"})
    outcome = run("plan", f"{shop.name}.customer")
    assert outcome.code == 2
    for words in ("would be updated", "new versions: 1 (fed)", "added", "phone"):
        assert words in outcome.out


def test_after_a_refresh_there_is_nothing_to_plan(run: Run, shop: EmulatedDataset) -> None:
    refreshed = run("refresh", f"{shop.name}.customer")
    assert (refreshed.code, refreshed.err) == (0, "")
    assert f"local.{shop.name}.customer_unified created" in refreshed.out
    planned = run("plan", f"{shop.name}.customer")
    assert planned.code == 0
    assert "is up to date" in planned.out
    assert "is up to date" in run("refresh", f"{shop.name}.customer").out


def test_refresh_gives_the_rows_of_the_article(run: Run, shop: EmulatedDataset) -> None:
    run("refresh", f"{shop.name}.customer")
    assert shop.rows("customer_unified") == [
        ("1", "Ada", "Lovelace", "Ada Lovelace", None),
        ("2", "Alan", "Turing", "Alan Turing", None),
        ("c-3", "Grace", "Hopper", None, "grace@example.com"),
        ("c-4", "Edsger", "Dijkstra", None, None),
    ]


def test_refresh_of_all_shows_its_progress_on_standard_error(run: Run, shop: EmulatedDataset) -> None:
    shop.land("supplier_v_1", {"id": "INT64"})
    outcome = run("refresh", "--dataset", shop.name, "--all")
    assert outcome.code == 0
    assert f"refreshing {shop.name}" in outcome.err
    assert "100%" in outcome.err
    assert [line.split(".")[-1] for line in outcome.out.splitlines() if line.startswith("local.")] == [
        "customer_unified created",
        "supplier_unified created",
    ]


def test_refresh_of_all_continues_after_a_failure_and_exits_with_1(run: Run, shop: EmulatedDataset) -> None:
    shop.land("a_v_1", {"id": "INT64"})
    shop.land("a_unified", {"id": "INT64"})
    outcome = run("refresh", "--dataset", shop.name, "--all", "--json")
    assert outcome.code == 1
    failed, done = sorted(outcome.results, key=lambda entry: str(entry["table"]))
    assert failed == {"table": f"local.{shop.name}.a", "errors": failed["errors"], "left_out": []}
    assert "is a table, not a view" in failed["errors"][0]
    assert (done["table"], done["action"]) == (f"local.{shop.name}.customer", "create")
    assert "Error: a: " in outcome.err
    assert "is a table, not a view" in outcome.err


def test_a_mistyped_table_gets_the_near_name(run: Run, shop: EmulatedDataset) -> None:
    for command in ("plan", "refresh"):
        assert "(did you mean customer?)" in run(command, f"{shop.name}.custmer").err


def test_a_view_without_versions_is_removed_only_with_prune(run: Run, shop: EmulatedDataset) -> None:
    run("refresh", f"{shop.name}.customer")
    Path("onefold.yaml").write_text("tables: {customer: {retire: [abc, def]}}")
    refused = run("refresh", f"{shop.name}.customer")
    assert refused.code == 1
    expected = f"local.{shop.name}: expected tables named as customer_v_VERSION, where"
    for words in (expected, "all 2 of them are retired", f"`onefold refresh {shop.name}.customer --prune`"):
        assert words in refused.err
    assert "customer_unified removed" in run("refresh", f"{shop.name}.customer", "--prune").out
    left = {table.table_id for table in shop.client.list_tables(shop.name)}
    assert left == {"customer_v_abc", "customer_v_def"}


def test_a_refresh_removes_dropped_versions_from_the_view(run: Run, shop: EmulatedDataset) -> None:
    run("refresh", f"{shop.name}.customer")
    shop.run(f"DROP TABLE {shop.quoted('customer_v_abc')}")
    assert "customer_unified updated" in run("refresh", f"{shop.name}.customer").out
    assert len(shop.rows("customer_unified")) == 2
    shop.run(f"DROP TABLE {shop.quoted('customer_v_def')}")
    assert "there is none" in run("refresh", f"{shop.name}.customer").err
    assert "customer_unified removed" in run("refresh", f"{shop.name}.customer", "--prune").out
    assert list(shop.client.list_tables(shop.name)) == []


@pytest.mark.parametrize("command", ["plan", "refresh"])
def test_a_dataset_without_versioned_tables_is_an_error(run: Run, dataset: EmulatedDataset, command: str) -> None:
    outcome = run(command, dataset.name, *(["--all"] if command == "refresh" else []))
    assert outcome.code == 1
    assert "has no versioned tables" in outcome.err


@pytest.mark.parametrize(
    "arguments", [["plan", "nowhere"], ["plan", "nowhere", "customer"], ["refresh", "nowhere", "--all"]]
)
@pytest.mark.usefixtures("dataset")
def test_a_missing_dataset_is_an_error(run: Run, arguments: Sequence[str]) -> None:
    outcome = run(*arguments)
    assert outcome.code == 1
    assert "nowhere" in outcome.err


def test_plan_lists_the_columns_of_a_view_to_be_created(run: Run, shop: EmulatedDataset) -> None:
    outcome = run("plan", f"{shop.name}.customer").out
    assert "columns of the view" in outcome
    for name in ("id", "first_name", "last_name", "full_name", "email"):
        assert re.search(rf"│ {name} +│ STRING", outcome)


def test_plan_of_a_dataset_separates_tables_by_a_line_and_continues_after_a_failure(run: Run, shop: EmulatedDataset) -> None:
    shop.land("supplier_v_1", {"id": "INT64"})
    assert f"\n\nlocal.{shop.name}.supplier_unified would be created" in run("plan", "--dataset", shop.name).out
    shop.land("a_v_1", {"id": "INT64"})
    shop.land("a_unified", {"id": "INT64"})
    outcome = run("plan", "--dataset", shop.name, "--json")
    assert outcome.code == 1
    assert {entry["table"].split(".")[-1]: "errors" in entry for entry in outcome.results} == {
        "a": True,
        "customer": False,
        "supplier": False,
    }


def test_plan_shows_the_columns_that_go_with_a_dropped_version(run: Run, shop: EmulatedDataset) -> None:
    run("refresh", f"{shop.name}.customer")
    shop.run(f"DROP TABLE {shop.quoted('customer_v_def')}")
    plan = run("plan", f"{shop.name}.customer", "--json").result
    assert [(change["kind"], change["path"]) for change in plan["changes"]] == [("retyped", "id"), ("removed", "email")]


def test_plan_shows_a_removal_with_prune(run: Run, shop: EmulatedDataset) -> None:
    run("refresh", f"{shop.name}.customer")
    Path("onefold.yaml").write_text("tables: {customer: {retire: [abc, def]}}")
    outcome = run("plan", f"{shop.name}.customer", "--prune")
    summary = "0 up to date, 1 to change"
    assert (outcome.code, outcome.out) == (2, f"local.{shop.name}.customer_unified would be removed\n\n{summary}\n")
    assert len(shop.rows("customer_unified")) == 4


@pytest.mark.parametrize("command", ["plan", "refresh"])
def test_prune_without_view_and_versions_has_nothing_to_remove(run: Run, dataset: EmulatedDataset, command: str) -> None:
    outcome = run(command, dataset.name, "customer", "--prune")
    assert (outcome.code, outcome.out.splitlines()[0].partition(": nothing to ")[0]) == (0, f"local.{dataset.name}.customer")


def test_settings_without_an_effect_give_a_warning(run: Run, shop: EmulatedDataset) -> None:
    Path("onefold.yaml").write_text("tables: {customer: {retire: [nowhere]}}")
    plan = run("plan", f"{shop.name}.customer", "--json").result
    assert "nowhere" in plan["warnings"][0]
    assert "Warning: " in run("plan", f"{shop.name}.customer").out
    assert "nowhere" in run("refresh", f"{shop.name}.customer").err


@pytest.mark.parametrize("command", ["plan", "refresh", "current", "merge"])
def test_the_name_of_a_version_is_answered_with_the_base_name(run: Run, shop: EmulatedDataset, command: str) -> None:
    outcome = run(command, f"{shop.name}.customer_v_abc")
    expected = "customer_v_abc is the version abc of the table customer: give the base name, customer"
    assert (outcome.code, outcome.out, outcome.err) == (1, "", f"Error: {expected}\n")


def test_a_base_name_may_look_like_a_version(run: Run, shop: EmulatedDataset) -> None:
    shop.land("customer_v_abc_v_def", {"id": "INT64"})
    assert "customer_v_abc_unified would be created" in run("plan", f"{shop.name}.customer_v_abc").out


@pytest.mark.usefixtures("shop")
def test_a_version_in_place_of_the_dataset_is_answered_with_the_base_name(run: Run) -> None:
    outcome = run("plan", "--dataset", "customer_v_abc")
    assert (outcome.code, outcome.out) == (1, "")
    assert "expected DATASET.TABLE" in outcome.err
    assert "give the base name, customer\n" in outcome.err
