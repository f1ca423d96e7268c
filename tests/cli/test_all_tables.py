"""`merge` and `current` for all tables of a dataset: one that fails does not stop the others, and each has an outcome."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change
from support.cli import Run
from support.merge_shop import CUSTOMER, LONG_AGO, Shop, soon
from support.sweeps import sweep


def shops(dataset: EmulatedDataset, prefix: str, *names: str) -> dict[str, Shop]:
    """Tables with one row each; the settings name the key of all but those whose name begins with `un`."""
    made = {name: Shop(dataset, name=f"{prefix}_{name}") for name in names}
    for shop in made.values():
        shop.create("1a", CUSTOMER)
        shop.land("1a", change("INSERT", "1", id=1, name=shop.name), at=LONG_AGO)
    keyed = [f"  {shop.name}:\n    keys: [id]\n" for name, shop in made.items() if not name.startswith("un")]
    Path("onefold.yaml").write_text(f"tables:\n{''.join(keyed)}")
    return made


def test_merge_all_merges_what_is_new_and_tells_what_became_of_each_table(run: Run, dataset: EmulatedDataset) -> None:
    made = shops(dataset, "m", "a", "b", "broken", "unkeyed")
    dataset.run(f"CREATE TABLE {dataset.quoted('m_broken_base')} (id INT64)")
    outcome = run("merge", "--dataset", dataset.name, "--match", "m_*")
    assert outcome.code == 1
    assert outcome.out.splitlines()[-1] == f"{dataset.name}: 2 merged, 1 failed, 1 skipped"
    assert "m_broken_base was not written by `onefold merge`" in outcome.err
    assert "m_unkeyed: name the columns of the key" in outcome.err
    for name in ("a", "b"):
        assert [row["name"] for row in made[name].people_see()] == [f"m_{name}"]

    made["b"].land("1a", change("DELETE", "2", id=1), at=soon())
    again = run("merge", "--dataset", dataset.name, "--match", "m_*", "--json")
    assert again.code == 1
    outcomes = {entry["table"].rpartition("_")[2]: entry for entry in again.results}
    assert {name: entry["outcome"] for name, entry in outcomes.items()} == {
        "a": "up to date", "b": "merged", "broken": "failed", "unkeyed": "skipped",
    }  # fmt: skip
    assert (outcomes["b"]["base"], outcomes["b"]["changes"]) == (f"local.{dataset.name}.m_b_base", 1)
    assert outcomes["broken"]["errors"]
    assert "name the columns of the key" in outcomes["unkeyed"]["reason"]
    assert made["b"].people_see() == []


def test_merge_all_rebuilds_also_what_has_nothing_new(run: Run, dataset: EmulatedDataset) -> None:
    shops(dataset, "r", "a")
    first = run("merge", "--dataset", dataset.name, "--match", "r_*", "--rebuild")
    assert (first.code, "this will" in first.err) == (0, False)
    assert run("merge", "--dataset", dataset.name, "--match", "r_*").out == f"{dataset.name}: 1 up to date\n"
    again = run("merge", "--dataset", dataset.name, "--match", "r_*", "--rebuild", "--json")
    assert [entry["brought_up"] for entry in again.results] == ["rebuilt"]
    assert "this will write the base anew" in again.err


def test_a_table_that_waits_is_merged_by_its_name_and_the_look_says_why(run: Run, dataset: EmulatedDataset) -> None:
    made = shops(dataset, "w", "busy", "new")
    run("merge", f"{dataset.name}.w_busy")
    waits = "merge_when: {landed_percent: 101, max_age_hours: 20}\n"
    Path("onefold.yaml").write_text(waits + Path("onefold.yaml").read_text())
    made["busy"].land("1a", change("INSERT", "2", id=1, name="later"))
    look = run("merge", f"{dataset.name}.w_*", "--dry-run")
    assert f"-- local.{dataset.name}.w_busy waits: 100 B landed, 100.0 % of the base: it waits for 101 %" in look.out
    assert f"-- local.{dataset.name}.w_new\n-- merged: it has no base yet\n" in look.out
    shown = {entry["table"][-4:]: entry for entry in run("merge", f"{dataset.name}.w_*", "--dry-run", "--json").results}
    assert (shown["busy"]["outcome"], shown["_new"]["reason"]) == ("waiting", "it has no base yet")

    many = run("merge", f"{dataset.name}.w_*")
    assert many.out.splitlines()[-1] == f"{dataset.name}: 1 merged, 1 waiting"
    assert f"local.{dataset.name}.w_busy waits: 100 B landed" in many.out
    assert [row["name"] for row in made["busy"].people_see()] == ["w_busy"]
    assert run("merge", f"{dataset.name}.w_busy").code == 0
    assert [row["name"] for row in made["busy"].people_see()] == ["later"]


def test_current_all_writes_the_view_of_every_table_with_a_known_key(run: Run, dataset: EmulatedDataset) -> None:
    shops(dataset, "c", "a", "b", "taken", "unkeyed")
    dataset.run(f"CREATE VIEW {dataset.quoted('c_taken_current')} AS SELECT 7 AS mine")
    outcome = run("current", "--dataset", dataset.name, "--match", "c_*")
    assert (outcome.code, outcome.out) == (1, f"{dataset.name}: 2 created, 1 failed, 1 skipped\n")
    assert "c_taken" in outcome.err
    assert [row[1] for row in dataset.rows("c_b_current")] == ["c_b"]
    again = run("current", "--dataset", dataset.name, "--match", "c_[ab]", "--json")
    assert again.code == 0
    assert [(entry["outcome"], entry["action"], entry["view"]) for entry in again.results] == [
        ("up to date", "none", f"local.{dataset.name}.c_{name}_current") for name in "ab"
    ]


def test_current_all_leaves_out_the_tables_that_the_settings_exclude(run: Run, dataset: EmulatedDataset) -> None:
    shops(dataset, "x", "a", "b")
    Path("onefold.yaml").write_text("tables: {x_a: {keys: [id]}, x_b: {keys: [id], current: false}}")
    outcome = run("current", "--dataset", dataset.name, "--match", "x_*")
    assert (outcome.code, outcome.out) == (0, f"{dataset.name}: 1 created, 1 skipped\n")
    assert "x_b has no current view: onefold.yaml sets `current: false`" in outcome.err
    assert [item.table_id for item in dataset.client.list_tables(dataset.name) if item.table_id.endswith("_current")] == [
        "x_a_current"
    ]


@pytest.mark.parametrize("command", sweep(["merge", "current"]))
def test_all_means_every_table_of_the_dataset(run: Run, dataset: EmulatedDataset, command: str) -> None:
    shops(dataset, f"all{command}", "a", "b")
    tables = {entry["table"] for entry in run(command, dataset.name, "--all", "--json").results}
    assert {f"local.{dataset.name}.all{command}_{name}" for name in "ab"} <= tables


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("merge", "--dataset", "shop"), "Expected one of TABLE and --all"),
        (("merge", "shop.customer", "--all"), "Expected one of TABLE and --all"),
        (("current", "shop", "--all", "--match", "a*"), "Expected one of TABLE and --all"),
        (("current", "shop", "--match", ""), "Expected a pattern for --match"),
        (("current", "shop", "--all", "--keys", "id"), "--keys is for one table"),
        (
            ("merge", "shop", "--all", "--keys", "id", "--at", "1", "--from-snapshot", "t"),
            "--keys, --from-snapshot, --at is",
        ),
    ],
)
def test_what_cannot_be_combined_is_refused(run: Run, words: tuple[str, ...], told: str) -> None:
    outcome = run(*words)
    assert (outcome.code, outcome.out) == (1, "")
    assert told in " ".join(outcome.err.split())


def test_a_pattern_that_no_table_matches_is_an_error(run: Run, dataset: EmulatedDataset) -> None:
    shops(dataset, "p", "a")
    outcome = run("merge", "--dataset", dataset.name, "--match", "nothing*")
    assert outcome.code == 1
    assert "no versioned tables whose base name matches 'nothing*'" in outcome.err
