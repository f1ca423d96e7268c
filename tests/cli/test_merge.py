"""The command of base tables: exit codes, standard output and standard error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change, land_changes
from support.cli import Run
from support.in_memory import MemoryPublisher

from onefold.core.errors import Rejected

CUSTOMER = {"id": "INT64", "name": "STRING"}
OLD = 1_600_000_000_000


def test_merge_creates_a_base_and_current_reads_it(run: Run, dataset: EmulatedDataset) -> None:
    first = [
        change("INSERT", "1", id=1, name="a"),
        change("INSERT", "2", id=2, name="b"),
        change("DELETE", "3", id=1, name="a"),
    ]
    land_changes(dataset, "customer", CUSTOMER, first)
    merged = run("merge", f"{dataset.name}.customer", "--keys", "id", "--rebuild")
    assert "this will" not in merged.err, "there is no base that would be written anew"
    base = f"local.{dataset.name}.customer_base"
    assert (merged.code, merged.out) == (
        0,
        f"{base}: made, since there was none\nlocal.{dataset.name}.customer is read whole\n"
        f"{base}: 3 changes of 2 keys read; 2 rows written\n",
    )
    current = run("current", f"{dataset.name}.customer")
    assert f"created, over local.{dataset.name}.customer_base and local.{dataset.name}.customer" in current.out
    assert dataset.rows("customer_current") == [(2, "b")]
    rebuilt = run("merge", f"{dataset.name}.customer", "--rebuild")
    assert f"this will write the base anew from the history of {dataset.name}.customer;" in rebuilt.err
    first_line, _, counts, last_line = rebuilt.out.splitlines()
    assert first_line == f"{base}: rebuilt from the whole history"
    assert counts == f"{base}: 0 changes of 0 keys read; 2 rows written"
    assert last_line.endswith("customer_current is up to date")


def test_merge_takes_a_copy_of_the_source_first_and_purges_last(run: Run, dataset: EmulatedDataset) -> None:
    land_changes(dataset, "customer_v_a", CUSTOMER, [change("DELETE", "3", timestamp=OLD, id=1, name="a")])
    dataset.land("copy", CUSTOMER, "1, 'a'", "2, 'b'")
    options = ("--keys", "id", "--from-snapshot", "copy", "--at", "2", "--purge-tombstones-after", 30, "--json")
    result = run("merge", f"{dataset.name}.customer", *options).result
    assert (result["base"], result["key"], result["view"]) == (f"local.{dataset.name}.customer_base", ["id"], None)
    assert result["brought_up"] == "created"
    assert (result["snapshot"]["written"], result["written"], result["purged"]) == (2, 1, 1)
    again = run("merge", f"{dataset.name}.customer", "--purge-tombstones-after", 30).out
    assert "1 key not inserted, at or below the floor of a purge" in again
    assert "0 tombstones purged" in again


def test_a_copy_wins_over_changes_from_before_its_position_and_loses_to_later_ones(
    run: Run, dataset: EmulatedDataset
) -> None:
    changes = [change("UPDATE-INSERT", "1", id=1, name="before"), change("UPDATE-INSERT", "3", id=2, name="after")]
    land_changes(dataset, "customer_v_a", CUSTOMER, changes)
    dataset.land("copy", CUSTOMER, "1, 'copied'", "2, 'copied'")
    assert run("merge", f"{dataset.name}.customer", "--keys", "id", "--from-snapshot", "copy", "--at", "2").code == 0
    assert run("current", f"{dataset.name}.customer", "--keys", "id").code == 0
    assert sorted(dataset.rows("customer_current")) == [(1, "copied"), (2, "after")]


def test_merge_shows_its_statements_and_runs_none(run: Run, dataset: EmulatedDataset) -> None:
    land_changes(dataset, "customer", CUSTOMER, [change("INSERT", "1", id=1, name="a")])
    shown = run("merge", f"{dataset.name}.customer", "--keys", "id", "--dry-run")
    assert shown.code == 0
    assert shown.out.count("MERGE INTO") == 1
    assert [item.table_id for item in dataset.client.list_tables(dataset.name)] == ["customer"]


def test_merge_takes_keys_from_the_settings_and_refuses_others(run: Run, dataset: EmulatedDataset, tmp_path: Path) -> None:
    land_changes(dataset, "customer", CUSTOMER, [change("INSERT", "1", id=1, name="a")])
    outcome = run("merge", f"{dataset.name}.customer")
    assert (outcome.code, outcome.out) == (1, "")
    assert "name the columns of the key with --keys" in outcome.err
    (tmp_path / "onefold.yaml").write_text("tables: {customer: {keys: [id]}}")
    assert run("merge", f"{dataset.name}.customer").code == 0
    other = run("merge", f"{dataset.name}.customer", "--keys", "name")
    assert other.code == 1
    assert "not those that its base was made with, id" in other.err


def test_the_names_of_versions_that_a_merge_looked_for_are_told_in_words(run: Run, dataset: EmulatedDataset) -> None:
    outcome = run("merge", f"{dataset.name}.customer", "--keys", "id")
    rule = f"local.{dataset.name}.customer nor a version of it, named as customer_v_VERSION, where VERSION has 1 to 64 of"
    assert (outcome.code, rule in outcome.err) == (1, True), outcome.err


def test_options_that_exclude_each_other_are_refused(run: Run, dataset: EmulatedDataset) -> None:
    assert "--from-snapshot" in run("merge", f"{dataset.name}.customer", "--at", "5").err
    assert "--dry-run" in run("merge", f"{dataset.name}.customer", "--dry-run", "--purge-tombstones-after", 1).err
    outcome = run("merge", f"{dataset.name}.customer", "--from-snapshot", "a.b.c.d")
    assert outcome.code == 1
    assert "name one table" in outcome.err


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--keys", ""], "name columns, separated by commas"),
        (["--keys", "id,"], "name columns, separated by commas"),
        (["--from-snapshot", ""], "table '' is not a valid name"),
        (["--from-snapshot", "copy", "--at", ""], "--at is empty"),
    ],
)
def test_an_empty_option_is_refused_and_not_ignored(
    run: Run, dataset: EmulatedDataset, options: list[str], problem: str
) -> None:
    outcome = run("merge", f"{dataset.name}.customer", *options)
    assert (outcome.code, outcome.out) == (1, "")
    assert problem in outcome.err


def test_a_view_with_the_name_of_the_base_is_not_replaced(run: Run, dataset: EmulatedDataset) -> None:
    land_changes(dataset, "customer", CUSTOMER, [change("INSERT", "1", id=1, name="a")])
    dataset.run(f"CREATE VIEW {dataset.quoted('customer_base')} AS SELECT 1 AS id")
    outcome = run("merge", f"{dataset.name}.customer", "--keys", "id")
    assert outcome.code == 1
    assert "customer_base was not written by `onefold merge`: rename it" in outcome.err
    assert {item.table_id for item in dataset.client.list_tables(dataset.name)} == {"customer", "customer_base"}


def test_current_and_merge_announce_changes_of_the_unified_view(
    run: Run, dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`current`, and `merge` with a current view, announce: once the view is written, no later refresh finds the change."""
    monkeypatch.setenv("ONEFOLD_TOPIC_SCHEMA_CHANGES", "schema-changes")
    publisher = MemoryPublisher()
    monkeypatch.setattr("onefold.adapters.pubsub.PubSub", lambda _: publisher)
    for version, command in (("a", "current"), ("b", "current"), ("c", "merge")):
        columns = {**CUSTOMER, f"new_{version}": "STRING"}
        land_changes(dataset, f"customer_v_{version}", columns, [change("INSERT", "1", id=1, name="a")])
        assert run(command, dataset.name, "customer", "--keys", "id").code == 0
    announced = [json.loads(message.data)["changes"] for message in publisher.topics["schema-changes"]]
    assert [[one["path"] for one in changes] for changes in announced] == [[""], ["new_b"], ["new_c"]]


def test_a_refused_announcement_is_printed_and_kept(
    run: Run, dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONEFOLD_TOPIC_SCHEMA_CHANGES", "schema-changes")
    publisher = MemoryPublisher()
    publisher.errors["schema-changes"] = Rejected("there is no such topic")
    monkeypatch.setattr("onefold.adapters.pubsub.PubSub", lambda _: publisher)
    land_changes(dataset, "customer_v_a", CUSTOMER, [change("INSERT", "1", id=1, name="a")])
    outcome = run("current", f"{dataset.name}.customer", "--keys", "id")
    assert (outcome.code, "not announced: there is no such topic" in outcome.err) == (0, True)
    view = dataset.client.get_table(f"{dataset.name}.customer_current")
    assert view.labels["onefold_unannounced"] == "1"
