"""One command for several tables, of one dataset or of several: one JSON object, and an error stops no other table."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change
from support.cli import Run
from support.merge_shop import CUSTOMER, LONG_AGO, Shop


@pytest.fixture
def shop(dataset: EmulatedDataset, run: Run) -> EmulatedDataset:  # noqa: ARG001 the settings are in the folder of the command
    for name in ("one", "other", "third"):
        made = Shop(dataset, name=name)
        made.create("1a", CUSTOMER)
        made.land("1a", change("INSERT", "1", id=1, name=name), at=LONG_AGO)
    Path("onefold.yaml").write_text("tables: {one: {keys: [id]}, other: {keys: [id]}}")
    return dataset


def test_several_tables_are_planned_written_and_merged(run: Run, shop: EmulatedDataset) -> None:
    words = (f"{shop.name}.one", f"`local.{shop.name}.oth*`")
    planned = run("plan", *words, "--json")
    tables = dict.fromkeys(entry["table"] for entry in planned.results)
    assert (planned.code, list(tables)) == (2, [f"local.{shop.name}.{name}" for name in ("one", "other")])
    assert run("refresh", *words, "--dry-run").code == 0
    done = run("refresh", "one", "other", "--dataset", shop.name)
    assert (done.code, done.out.count("_unified created")) == (0, 2), done.err
    assert [entry["outcome"] for entry in run("current", *words, "--json").results] == ["up to date", "up to date"]
    assert [entry["outcome"] for entry in run("merge", *words, "--json").results] == ["merged", "merged"]
    assert run("merge", *words, "--dry-run").out.count("-- local.") == 2


def test_a_table_that_fails_stops_no_other_and_is_told(run: Run, shop: EmulatedDataset) -> None:
    words = (f"{shop.name}.third", f"{shop.name}_.one", f"{shop.name}.one")
    merged = run("merge", *words, "--json")
    assert (merged.code, [entry["outcome"] for entry in merged.results]) == (1, ["merged"])
    assert [error.partition(":")[0] for error in merged.json["errors"]] != []
    assert "third: name the columns of the key" in merged.err
    assert f"did you mean {shop.name}?" in merged.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("merge", "shop.a", "crm.b", "--keys", "id"), "--keys is for one table"),
        (("merge", "shop.a", "shop.b", "--from-snapshot", "t"), "--from-snapshot is for one table"),
        (("current", "shop.a", "shop.b*", "--keys", "id"), "--keys is for one table"),
        (("refresh", "shop.a", "shop.b", "--all"), "Expected one of TABLE and --all"),
        (("publish", "shop.a", "shop.b", "abc"), "Expected a table, and a version if one is new"),
    ],
)
def test_what_is_for_one_table_is_refused(run: Run, words: tuple[str, ...], told: str) -> None:
    refused = run(*words)
    assert (refused.code, refused.out, told in " ".join(refused.err.split())) == (1, "", True)
