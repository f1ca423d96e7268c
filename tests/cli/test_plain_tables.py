"""A dataset that Datastream fills: every command takes its tables as they are, and writes nothing beside them."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change, land_changes
from support.cli import Run

from onefold.changelog.metadata import METADATA

COLUMNS = {"id": "INT64", "name": "STRING"}
MERGED = {**COLUMNS, METADATA: "STRUCT<uuid STRING, source_timestamp INT64>"}
WITHOUT_KEY = {"note": "STRING", METADATA: "STRUCT<uuid STRING, source_timestamp INT64, is_deleted BOOL>"}


@pytest.fixture
def mydb(dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> EmulatedDataset:
    """A dataset of a stream: two tables of the append-only mode, of which one has a known key, and two of the merge mode."""
    monkeypatch.delenv("ONEFOLD_PLAIN_DATASET")
    rows = [
        change("INSERT", "1", id=1, name="a"),
        change("UPDATE-DELETE", "2", id=1, name=None),
        change("UPDATE-INSERT", "2", id=2, name="moved"),
        change("INSERT", "3", id=3, name="gone"),
        change("DELETE", "4", id=3),
    ]
    land_changes(dataset, "orders", COLUMNS, rows)
    land_changes(dataset, "visits", COLUMNS, [change("INSERT", "1", id=1, name="v")])
    dataset.land("stock", MERGED, "7, 'in stock', ('u', 1)")
    dataset.land("audit", WITHOUT_KEY)
    dataset.land("others", {"id": "INT64"})
    (tmp_path / "onefold.yaml").write_text(f"tables:\n  {dataset.name}.orders: {{keys: [id]}}\n")
    return dataset


@pytest.fixture
def own(mydb: EmulatedDataset) -> EmulatedDataset:
    """The dataset of its bases and views."""
    name = f"{mydb.name}__onefold"
    mydb.client.create_dataset(name)
    return EmulatedDataset(mydb.host, mydb.client, name)


def names(dataset: EmulatedDataset) -> set[str]:
    return {item.table_id for item in dataset.client.list_tables(dataset.name)}


THEIRS = {"orders", "visits", "stock", "audit", "others"}


def test_all_tables_of_the_dataset_are_merged_and_shown(run: Run, mydb: EmulatedDataset, own: EmulatedDataset) -> None:
    shown = run("current", "--all", "--dataset", mydb.name)
    assert shown.code == 0
    assert f"tables: {{{mydb.name}.visits: {{keys: [COLUMN]}}}}" in shown.err
    assert "audit has no key at the source" in shown.err
    assert own.rows("orders_current") == [(2, "moved")]
    assert own.rows("stock_current") == [(7, "in stock")]
    merged = {one["table"].rpartition(".")[2]: one for one in run("merge", f"{mydb.name}.*", "--json").results}
    assert {name: one["outcome"] for name, one in merged.items()} == {
        "orders": "merged",
        "visits": "skipped",
        "stock": "skipped",
        "audit": "skipped",
    }
    assert (merged["orders"]["read_by"], merged["orders"]["changes"]) == ("whole", 5)
    assert own.rows("orders_current") == [(2, "moved")]
    assert own.run(f"SELECT id, name FROM {own.quoted('orders_base')} WHERE _deleted ORDER BY id") == [(1, None), (3, None)]
    assert names(own) == {"orders_base", "orders_merges", "orders_current", "stock_current"}
    assert names(mydb) == THEIRS


def test_a_key_on_the_command_line_counts_as_a_declared_one(run: Run, mydb: EmulatedDataset, own: EmulatedDataset) -> None:
    assert run("current", f"{mydb.name}.others", "--keys", "id").code == 0
    assert names(own) == {"others_current"}
    assert names(mydb) == THEIRS


@pytest.mark.parametrize("command", ["current", "merge"])
def test_a_key_makes_nothing_of_a_table_that_is_left_out(run: Run, mydb: EmulatedDataset, command: str) -> None:
    mydb.land("others_base", {"id": "INT64"})
    refused = run(command, f"{mydb.name}.others_base", "--keys", "id")
    assert (refused.code, "gets no base and no current view by --keys" in refused.err) == (1, True)
    Path("onefold.yaml").write_text(f"datasets: {{{mydb.name}: {{exclude: [others]}}}}")
    assert "exclude" in run(command, f"{mydb.name}.others", "--keys", "id").err
    assert names(mydb) == {*THEIRS, "others_base"}


def test_a_table_that_is_named_and_gets_no_view_is_an_error(run: Run, mydb: EmulatedDataset, own: EmulatedDataset) -> None:
    for command in ("plan", "refresh"):
        refused = run(command, f"{mydb.name}.visits")
        assert (refused.code, f"tables: {{{mydb.name}.visits: {{keys: [COLUMN]}}}}" in refused.err) == (1, True)
    assert names(own) == set()


def test_the_error_about_other_keys_names_the_base(run: Run, mydb: EmulatedDataset, own: EmulatedDataset) -> None:
    assert run("merge", f"{mydb.name}.orders").code == 0
    refused = run("merge", f"{mydb.name}.orders", "--keys", "name")
    assert f"drop local.{own.name}.orders_base to start again with other keys" in refused.err


def test_refresh_writes_the_views_that_plan_announces(run: Run, mydb: EmulatedDataset, own: EmulatedDataset) -> None:
    assert run("plan", f"{mydb.name}.*").code == 2
    assert run("refresh", "--all", "--dataset", mydb.name).code == 0
    assert names(own) == {"orders_current", "stock_current"}
    again = run("plan", f"{mydb.name}.*")
    assert (again.code, again.out.splitlines()[-1]) == (0, "2 up to date, 0 to change")
    assert run("plan", f"{mydb.name}.orders").code == 0
    assert names(mydb) == THEIRS


def test_tables_shows_them_with_their_views(run: Run, mydb: EmulatedDataset, own: EmulatedDataset) -> None:
    assert run("current", f"{mydb.name}.orders").code == 0
    (entry,) = run("tables", f"{mydb.name}.orders*", "--json").results
    assert entry["kind"] == "plain"
    assert [(view["view"], view["state"]) for view in entry["views"]] == [
        (f"local.{own.name}.orders_current", "up to date"),
    ]


@pytest.mark.usefixtures("own")
def test_current_says_of_a_table_of_the_merge_mode_that_it_is_current_already(run: Run, mydb: EmulatedDataset) -> None:
    outcome = run("current", f"{mydb.name}.stock")
    assert outcome.code == 0
    assert "stock is current already, with one row for each key" in outcome.out
    merged = run("merge", f"{mydb.name}.stock")
    assert merged.code == 1
    assert "is current already" in merged.err


def test_without_the_dataset_a_command_is_an_error_that_says_what_creates_it(run: Run, mydb: EmulatedDataset) -> None:
    for words in (("current", "orders"), ("refresh", "orders"), ("current", "*"), ("merge", "*"), ("refresh", "*")):
        ended = run(words[0], f"{mydb.name}.{words[1]}")
        assert ended.code == 1, words
        assert f"CREATE SCHEMA `{mydb.name}__onefold`" in ended.err, words
    assert names(mydb) == THEIRS


def test_a_base_and_a_view_that_lie_beside_their_table_are_kept_there(
    run: Run, mydb: EmulatedDataset, own: EmulatedDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONEFOLD_PLAIN_DATASET", "{dataset}")
    assert run("current", f"{mydb.name}.orders").code == 0
    assert run("merge", f"{mydb.name}.orders").code == 0
    monkeypatch.delenv("ONEFOLD_PLAIN_DATASET")
    assert run("merge", f"{mydb.name}.orders").code == 0
    assert "is up to date" in run("current", f"{mydb.name}.orders").out
    assert names(own) == set()
    assert names(mydb) == {*THEIRS, "orders_base", "orders_merges", "orders_current"}


def test_the_plan_of_a_merge_says_how_the_table_is_read(run: Run, mydb: EmulatedDataset, own: EmulatedDataset) -> None:
    shown = run("merge", f"{mydb.name}.orders", "--dry-run")
    assert f"-- local.{mydb.name}.orders is read whole\nMERGE INTO `local.{own.name}.orders_base`" in shown.out
    assert names(own) == set()


def test_the_view_of_a_table_that_is_gone_is_left_over_and_pruned(
    run: Run, mydb: EmulatedDataset, own: EmulatedDataset
) -> None:
    assert run("current", f"{mydb.name}.*").code == 0
    mydb.run(f"DROP TABLE {mydb.quoted('orders')}")
    planned = run("plan", f"{mydb.name}.*")
    assert f"local.{own.name}.orders_current is left over" in planned.out
    assert planned.out.splitlines()[-1] == "1 up to date, 0 to change, 1 left over"
    assert run("refresh", f"{mydb.name}.*", "--prune", "--yes").code == 0
    assert names(own) == {"stock_current"}
