"""The commands of change logs: exit codes, standard output and standard error."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import METADATA_TYPE, change, land_changes
from support.cli import Run

from onefold.changelog.generator_values import TYPES
from onefold.changelog.metadata import METADATA
from onefold.compare.files import read_rows

CUSTOMER = {"id": "INT64", "name": "STRING"}


def test_current_creates_a_view_of_the_latest_rows_of_one_change_table(run: Run, dataset: EmulatedDataset) -> None:
    changes = [change("INSERT", "1", id=1, name="a"), change("INSERT", "2", id=2, name="b"), change("DELETE", "3", id=1)]
    land_changes(dataset, "customer", CUSTOMER, [{"name": None, **row} for row in changes])
    outcome = run("current", f"{dataset.name}.customer", "--keys", "id")
    assert (outcome.code, outcome.out) == (
        0,
        f"local.{dataset.name}.customer_current created, over local.{dataset.name}.customer\n",
    )
    assert dataset.rows("customer_current") == [(2, "b")]
    assert "is up to date" in run("current", f"{dataset.name}.customer", "--keys", "id").out


def test_current_reads_all_versions_of_a_table_in_the_unified_types(run: Run, dataset: EmulatedDataset) -> None:
    land_changes(dataset, "customer_v_a", CUSTOMER, [change("INSERT", "1", id=1, name="a")])
    land_changes(
        dataset, "customer_v_b", {"id": "STRING", "email": "STRING"}, [change("UPDATE-INSERT", "2", id="1", email="e")]
    )
    made = run("current", f"{dataset.name}.customer", "--keys", "id", "--json")
    assert made.code == 0
    again = run("current", f"{dataset.name}.customer", "--keys", "id")
    assert (
        again.out
        == f"local.{dataset.name}.customer_current is up to date, over 2 versions of local.{dataset.name}.customer\n"
    )
    assert made.result["source"] == f"local.{dataset.name}.customer"
    assert dataset.rows("customer_current") == [("1", None, "e")]


def test_current_does_not_replace_a_view_that_people_wrote(run: Run, dataset: EmulatedDataset) -> None:
    land_changes(dataset, "customer", CUSTOMER, [change("INSERT", "1", id=1, name="a")])
    dataset.run(f"CREATE VIEW {dataset.quoted('customer_current')} AS SELECT 7 AS mine")
    outcome = run("current", f"{dataset.name}.customer", "--keys", "id")
    assert outcome.code == 1
    assert "not written by `onefold current`" in outcome.err
    assert dataset.rows("customer_current") == [(7,)]


def test_current_reports_all_problems_and_writes_nothing(run: Run, dataset: EmulatedDataset) -> None:
    dataset.land("customer", {"id": "INT64", "datastream_metadata": METADATA_TYPE.replace("uuid STRING", "uuid INT64")})
    outcome = run("current", f"{dataset.name}.customer", "--keys", "number,tenant")
    assert outcome.code == 1
    assert outcome.out == ""
    assert "no column number" in outcome.err
    assert "no column tenant" in outcome.err
    assert not [item for item in dataset.client.list_tables(dataset.name) if item.table_id == "customer_current"]


def test_current_without_a_table_or_versions_reports_the_names_it_looked_for(run: Run, dataset: EmulatedDataset) -> None:
    outcome = run("current", f"{dataset.name}.customer", "--keys", "id")
    assert outcome.code == 1
    assert f"there is no change table local.{dataset.name}.customer" in outcome.err
    assert "customer_v_" in outcome.err


def test_workload_writes_the_changes_the_base_and_the_truth(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "made"
    outcome = run(
        "workload", "--operations", 50, "--mix", "60,20,20", "--versions", 2, "--few-columns", "--out", out, "--json"
    )
    assert outcome.code == 0
    lines = {path.relative_to(out).as_posix(): path.read_text().splitlines() for path in out.rglob("*.jsonl")}
    assert sorted(lines) == ["base.jsonl", "changes/a000.jsonl", "changes/a001.jsonl", "truth.jsonl"]
    assert outcome.result["truth"] == len(lines["truth.jsonl"])
    assert sum(outcome.result["changes"].values()) == 50
    assert set(json.loads(lines["changes/a001.jsonl"][0])) == {"id", "name", "amount", "added_1", "datastream_metadata"}


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_workload_writes_a_column_of_every_type_in_either_format(run: Run, tmp_path: Path, form: str) -> None:
    out = tmp_path / "made"
    assert run("workload", "--operations", 40, "--format", form, "--out", out).code == 0
    rows = list(read_rows(out / "changes"))
    assert [set(row) for row in rows] == [{"id", "name", "amount", *TYPES, METADATA}] * 40
    assert json.loads((out / "types.json").read_text()).items() >= TYPES.items()


def test_workload_prints_counts_in_the_width_of_the_terminal(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    outcome = run("workload", "--operations", 1000, "--seed", 7, "--duplicates", 0.1, "--few-columns", "--out", "made")
    assert max(map(len, outcome.out.splitlines())) <= 80
    expected = "made: 1,112 changes of 425 inserts, 374 updates, 201 deletes; 107 rows in the base, 224 at the end"
    assert outcome.out.split() == expected.split()
    one = run("workload", "--operations", 1, "--out", "one").out
    assert one == "one: 1 change of 1 insert; 0 rows in the base, 1 at the end\n"


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_help_of_workload_names_the_files_that_it_writes(run: Run, tmp_path: Path, form: str) -> None:
    text = " ".join(run("workload", "--help").out.split())
    named = {name.replace(".jsonl", f".{form}") for name in re.findall(r"DIR/([\w/]+\.\w+)", text)}
    assert run("workload", "--operations", 5, "--format", form, "--out", tmp_path / "made").code == 0
    files = (path.relative_to(tmp_path / "made") for path in (tmp_path / "made").rglob("*") if path.is_file())
    assert named == {str(file.with_stem("VERSION") if file.parent.name == "changes" else file) for file in files}


def test_workload_refuses_a_folder_that_is_not_empty(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    outcome = run("workload", "--out", tmp_path)
    assert outcome.code == 1
    assert "not empty" in outcome.err
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_workload_refuses_invalid_options(run: Run, tmp_path: Path) -> None:
    assert "three whole numbers" in run("workload", "--mix", "1,2", "--out", tmp_path / "new").err
    outcome = run("workload", "--mix", "1,2,3", "--key-changes", 2, "--out", tmp_path / "new")
    assert outcome.code == 1
    assert "the mix (1, 2, 3)" in outcome.err
    assert "key changes must be from 0 to 1" in outcome.err
    assert not (tmp_path / "new").exists()
