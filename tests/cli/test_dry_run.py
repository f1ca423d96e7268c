"""`--dry-run` says what a command would do, and writes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change
from support.cli import Run
from support.merge_shop import CUSTOMER, LONG_AGO, Shop


def names(dataset: EmulatedDataset) -> set[str]:
    """Return the tables and views of the dataset."""
    return {table.table_id for table in dataset.client.list_tables(dataset.name)}


@pytest.fixture
def shop(dataset: EmulatedDataset, run: Run) -> Shop:  # noqa: ARG001 the settings are in the folder of the command
    """Return a table with one row, whose key the settings name; another one has no key."""
    for name in ("dry_customer", "dry_keyless"):
        made = Shop(dataset, name=name)
        made.create("1a", CUSTOMER)
        made.land("1a", change("INSERT", "1", id=1, name="Ada"), at=LONG_AGO)
    Path("onefold.yaml").write_text("tables:\n  dry_customer: {keys: [id]}\n")
    return Shop(dataset, name="dry_customer")


@pytest.mark.usefixtures("shop")
def test_the_look_of_each_command_writes_nothing(run: Run, dataset: EmulatedDataset) -> None:
    before = names(dataset)
    table = f"{dataset.name}.dry_customer"
    current = run("current", table, "--dry-run")
    assert (current.code, "dry_customer_current would be created" in current.out) == (0, True)
    refresh = run("refresh", table, "--dry-run")
    assert (refresh.code, "dry_customer_unified would be created" in refresh.out) == (0, True)
    merge = run("merge", table, "--dry-run")
    assert (merge.code, "dry_customer_base" in merge.out) == (0, True)
    assert names(dataset) == before


@pytest.mark.usefixtures("shop")
def test_the_look_at_merges_of_many_tables_names_those_that_are_skipped(run: Run, dataset: EmulatedDataset) -> None:
    before = names(dataset)
    merge = run("merge", f"{dataset.name}.dry_*", "--dry-run")
    assert merge.code == 0
    assert f"-- local.{dataset.name}.dry_customer\n" in merge.out
    assert "MERGE" in merge.out
    assert "Skipped: " in merge.err
    assert "dry_keyless: name the columns of the key" in merge.err
    entries = run("merge", f"{dataset.name}.dry_*", "--dry-run", "--json").results
    assert [entry["outcome"] for entry in entries] == ["shown", "skipped"]
    assert names(dataset) == before


def test_a_message_is_shown_and_not_sent(run: Run) -> None:
    words = ("publish", "shop.customer", "abc", "--function", "http://127.0.0.1:9", "--dry-run")
    shown = run(*words)
    assert (shown.code, shown.out.partition(": {")[0]) == (0, "would be sent to http://127.0.0.1:9")
    assert run(*words, "--json").result["id"] == ""
