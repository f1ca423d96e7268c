"""`onefold export dbt`, from views in the embedded BigQuery."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from support.bigquery_emulator import EmulatedDataset
from support.cli import Run
from support.in_memory import ABC, DEF

from onefold.changelog.metadata import LANDED_AT, METADATA, METADATA_FIELDS
from onefold.schema.types import Field, Struct

CHANGES = {METADATA: str(Struct(tuple(Field(*one) for one in METADATA_FIELDS.items()))), LANDED_AT: "TIMESTAMP"}


@pytest.fixture
def shop(dataset: EmulatedDataset, run: Run) -> EmulatedDataset:
    """A table with a unified and a current view, and one without views."""
    dataset.land("customer_v_abc", ABC | CHANGES)
    dataset.land("customer_v_def", DEF | CHANGES)
    assert run("refresh", f"{dataset.name}.customer").code == 0
    made = run("current", f"{dataset.name}.customer", "--keys", "id,first_name")
    assert made.code == 0, made.err
    dataset.land("supplier_v_1", {"id": "INT64"}, "1")
    return dataset


def exported(run: Run, *words: str) -> dict[str, str]:
    done = run("export", "dbt", *words, "--output", "project", "--json")
    assert done.code == 0, done.err
    return {Path(entry["file"]).name: entry["action"] for entry in done.results}


def test_views_are_exported_with_what_they_read_and_a_second_time_nothing_changes(
    run: Run, shop: EmulatedDataset, tmp_path: Path
) -> None:
    name = shop.name
    files = {
        "dbt_project.yml", f"_{name}.yml", f"{name}__customer_unified.sql", f"{name}__customer_current.sql",
        f"{name}__customer_current__key.sql",
    }  # fmt: skip
    assert exported(run, name, "--dry-run") == dict.fromkeys(files, "create")
    assert not (tmp_path / "project").exists()
    assert exported(run, name) == dict.fromkeys(files, "create")
    assert exported(run, "--dataset", name) == dict.fromkeys(files, "none")
    folder = tmp_path / "project" / "models" / "onefold" / name
    (source,) = yaml.safe_load((folder / f"_{name}.yml").read_text())["sources"]
    times = {table["name"]: table.get("config", {}).get("loaded_at_field") for table in source["tables"]}
    assert times == {
        "customer_current": None, "customer_unified": LANDED_AT, "customer_v_abc": None, "customer_v_def": None,
    }  # fmt: skip
    text = (folder / f"{name}__customer_current.sql").read_text()
    assert f"depends_on: {{{{ source('{name}', 'customer_v_def') }}}}" in text


def test_a_view_that_is_missing_is_a_warning_and_one_that_is_gone_takes_its_files_along(
    run: Run, shop: EmulatedDataset
) -> None:
    first = run("export", "dbt", shop.name, "--output", "project", "--json")
    assert "supplier_unified is not exported: it does not exist" in " ".join(first.json["warnings"])
    shop.client.delete_table(f"{shop.client.project}.{shop.name}.customer_current")
    actions = exported(run, shop.name)
    assert {name for name, action in actions.items() if action == "remove"} == {
        f"{shop.name}__customer_current.sql", f"{shop.name}__customer_current__key.sql",
    }  # fmt: skip


def test_a_dataset_without_views_is_an_error_that_says_how_they_are_written(run: Run, dataset: EmulatedDataset) -> None:
    dataset.land("supplier_v_1", {"id": "INT64"}, "1")
    refused = run("export", "dbt", dataset.name, "--output", "project")
    assert (refused.code, f"`onefold refresh --dataset {dataset.name} --all` writes them" in refused.err) == (1, True)


def test_the_dataset_that_views_are_written_into_names_that_of_the_tables(
    run: Run, dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ONEFOLD_PLAIN_DATASET")
    dataset.client.create_dataset(f"{dataset.name}__onefold", exists_ok=True)
    refused = run("export", "dbt", f"{dataset.name}__onefold", "--output", "project")
    assert (refused.code, f"`onefold export dbt {dataset.name}`" in refused.err) == (1, True)


def test_without_a_dataset_nothing_is_exported(run: Run) -> None:
    refused = run("export", "dbt", "--output", "project")
    assert (refused.code, "no dataset is named" in refused.err) == (1, True)
