"""`onefold tables`: what there is, in the embedded BigQuery."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.cli import Run
from support.in_memory import ABC, DEF

from onefold.changelog.metadata import LANDED_AT, METADATA


@pytest.fixture
def shop(dataset: EmulatedDataset) -> EmulatedDataset:
    """A table of two versions and one of one, with rows, and a table without versions."""
    dataset.land("customer_v_abc", ABC)
    dataset.land("customer_v_def", DEF)
    dataset.land("supplier_v_1", {"id": "INT64"}, "1", "2")
    dataset.land("rates", {"currency": "STRING"}, "'EUR'")
    return dataset


def entries(run: Run, shop: EmulatedDataset, pattern: str = "*") -> Mapping[str, Any]:
    listed = run("tables", f"{shop.name}.{pattern}", "--json")
    assert listed.code == 0, listed.err
    return {entry["table"].split(".")[-1]: entry for entry in listed.results}


def states(entry: Mapping[str, Any]) -> dict[str, str]:
    return {view["kind"]: view["state"] for view in entry["views"]}


def test_each_table_has_one_entry_with_its_kind_versions_and_rows(run: Run, shop: EmulatedDataset) -> None:
    found = entries(run, shop)
    assert {name: (one["kind"], one["versions"], one["rows"]) for name, one in found.items()} == {
        "customer": ("direct", ["abc", "def"], 0), "supplier": ("direct", ["1"], 2), "rates": ("plain", [], 1),
    }  # fmt: skip


def test_a_view_is_missing_then_up_to_date_then_out_of_date(run: Run, shop: EmulatedDataset) -> None:
    assert states(entries(run, shop)["customer"]) == {"unified": "missing"}
    run("refresh", "--dataset", shop.name, "--all")
    assert states(entries(run, shop)["customer"]) == {"unified": "up to date"}
    assert entries(run, shop)["customer"]["problems"] == []
    shop.land("customer_v_eee", ABC)
    found = entries(run, shop)
    assert states(found["customer"]) == {"unified": "out of date"}
    assert found["customer"]["problems"] == ["unified view: it lacks the version eee"]
    assert states(found["supplier"]) == {"unified": "up to date"}


def test_a_view_is_out_of_date_after_a_version_was_dropped_or_the_settings_changed(
    run: Run, shop: EmulatedDataset, tmp_path: Path
) -> None:
    run("refresh", "--dataset", shop.name, "--all")
    (tmp_path / "onefold.yaml").write_text("tables:\n  supplier:\n    version_column: v\n")
    found = entries(run, shop)
    assert found["supplier"]["problems"] == ["unified view: it was written with other settings, or by another release"]
    shop.run(f"DROP TABLE {shop.quoted('customer_v_def')}")
    problems = entries(run, shop)["customer"]["problems"]
    assert problems == ["unified view: it reads the version def, which is gone or retired"]


def test_what_tables_says_of_a_view_is_what_plan_would_do(run: Run, shop: EmulatedDataset) -> None:
    run("refresh", "--dataset", shop.name, "--all")
    shop.land("customer_v_eee", DEF)
    planned = {
        entry["table"].split(".")[-1]: entry["action"] for entry in run("plan", "--dataset", shop.name, "--json").results
    }
    found = entries(run, shop)
    said = {name: "none" if states(found[name])["unified"] == "up to date" else "update" for name in planned}
    assert said == planned


def test_a_view_whose_table_is_gone_is_told(run: Run, shop: EmulatedDataset) -> None:
    run("refresh", shop.name, "--all")
    assert run("tables", f"{shop.name}.*", "--json").json["warnings"] == []
    shop.run(f"DROP TABLE {shop.quoted('supplier_v_1')}")
    (warning,) = run("tables", f"{shop.name}.*", "--json").json["warnings"]
    assert warning.startswith(f"local.{shop.name}.supplier_unified is left over")
    assert "is left over" in run("tables", f"{shop.name}.*").err


def test_a_table_of_others_with_the_name_of_the_view_is_a_problem(run: Run, shop: EmulatedDataset) -> None:
    shop.run(f"CREATE VIEW {shop.quoted('supplier_unified')} AS SELECT 1 AS id")
    found = entries(run, shop)
    assert states(found["supplier"]) == {"unified": "not Onefold's"}
    assert "was not written by Onefold" in found["supplier"]["problems"][0]


def test_the_table_for_people_has_a_line_for_each_table_and_the_problems_below(run: Run, shop: EmulatedDataset) -> None:
    printed = run("tables", f"{shop.name}.*").out
    assert f"{shop.name}.customer" in printed
    assert "customer: unified view: it does not exist: run `onefold refresh`" in printed
    assert printed.endswith("3 tables, 2 with problems\n")


def test_patterns_choose_tables_and_a_dataset_may_be_an_option(run: Run, shop: EmulatedDataset) -> None:
    assert set(entries(run, shop, "[cs]u*")) == {"customer", "supplier"}
    assert len(run("tables", "--dataset", shop.name, "--json").results) == 3
    assert [one["table"] for one in run("tables", "r*", "--dataset", shop.name, "--json").results] == [
        f"local.{shop.name}.rates"
    ]


def test_one_table_is_shown_over_time(run: Run, shop: EmulatedDataset) -> None:
    history = run("tables", f"{shop.name}.customer", "--json").result["history"]
    before, after = history["versions"]
    assert (before["version"], before["added"], after["version"]) == ("abc", [], "def")
    columns = {column["name"]: column for column in history["columns"]}
    changed = {name for name, column in columns.items() if len(column["landed"]) == 2}
    assert {change.split(":")[0] for change in after["changed"]} == changed
    for name in after["added"]:
        assert columns[name]["missing"] == ["abc"]
    for name in after["removed"]:
        assert columns[name]["missing"] == ["def"]
    assert all(column["shown"] for column in columns.values())
    printed = run("tables", f"{shop.name}.customer").out
    assert "in the unified view" in printed
    assert " -> " in printed


def test_a_table_without_versions_is_shown_with_its_columns(run: Run, shop: EmulatedDataset) -> None:
    entry = run("tables", f"{shop.name}.rates", "--json").result
    assert [(column["name"], list(column["landed"])) for column in entry["history"]["columns"]] == [("currency", ["STRING"])]


def test_what_does_not_exist_is_an_error_with_the_near_name(run: Run, shop: EmulatedDataset) -> None:
    missing = run("tables", f"{shop.name}.custmer")
    assert (missing.code, "did you mean customer?" in missing.err) == (1, True)
    assert run("tables", f"{shop.name}.x*").code == 1
    assert "nowhere" in run("tables", "nowhere.*").err
    assert "--dataset" in run("tables").err
    assert "write DATASET.customer" in run("tables", "customer").err


@pytest.mark.parametrize(
    ("word", "advice"),
    [
        ("", "no dataset is named: write `onefold tables 'shop.*'`"),
        ("*", "* is in no dataset: write 'DATASET.*', or add --dataset DATASET"),
        ("big", "big is in no dataset: write 'big.*' for all tables of the dataset big; for a table big, write DATASET.big"),
    ],
)
def test_a_word_without_a_dataset_gets_advice_that_works(run: Run, word: str, advice: str) -> None:
    refused = run("tables", word)
    assert (refused.code, refused.err.startswith(f"Error: {advice}")) == (1, True), refused.err


def test_a_pattern_of_datasets_is_refused(run: Run) -> None:
    assert "dataset '*' is not a valid name" in run("tables", "*.*").err


def test_an_empty_dataset_has_no_tables(run: Run, dataset: EmulatedDataset) -> None:
    assert run("tables", f"{dataset.name}.*").out.endswith("0 tables, 0 with problems\n")


@pytest.fixture
def captured(dataset: EmulatedDataset) -> EmulatedDataset:
    """A captured table of one version, with two changes of one row."""
    metadata = "STRUCT<source_timestamp INT64, change_type STRING, change_sequence_number STRING>"
    columns = {"id": "INT64", "name": "STRING", METADATA: metadata, LANDED_AT: "TIMESTAMP"}
    dataset.land(
        "product_v_abc", columns, "1, 'pen', STRUCT(1, 'INSERT', '1'), TIMESTAMP '2026-01-01 00:00:00+00'",
        "1, 'red pen', STRUCT(2, 'UPDATE-INSERT', '2'), TIMESTAMP '2026-01-02 00:00:00+00'",
    )  # fmt: skip
    return dataset


def test_a_current_view_is_up_to_date_before_and_after_a_merge(run: Run, captured: EmulatedDataset) -> None:
    run("refresh", captured.name, "product")
    assert run("current", captured.name, "product", "--keys", "id").code == 0
    before = entries(run, captured)["product"]
    assert states(before) == {"unified": "up to date", "current": "up to date"}
    assert (before["landed_at"], before["merged_at"]) == ("2026-01-02T00:00:00+00:00", None)
    assert run("merge", captured.name, "product", "--keys", "id").code == 0
    after = entries(run, captured)
    assert set(after) == {"product"}, "the base and the log of merges are no tables of their own"
    assert states(after["product"]) == {"unified": "up to date", "current": "up to date"}
    assert after["product"]["merged_at"] is not None
    captured.land("product_v_def", {"id": "INT64", "zip": "STRING"})
    assert states(entries(run, captured)["product"]) == {"unified": "out of date", "current": "out of date"}


def test_the_clean_view_is_found_in_its_dataset(run: Run, captured: EmulatedDataset, tmp_path: Path) -> None:
    captured.client.create_dataset(f"{captured.name}__views_clean")
    policies = f"policies:\n  {captured.name}.product:\n    id: clear\n    name: mask\n"
    settings = tmp_path / "onefold.yaml"
    settings.write_text(f"tables: {{product: {{keys: [id]}}}}\n{policies}")
    assert run("refresh", captured.name, "product").code == 0
    found = states(entries(run, captured)["product"])
    assert found == {"unified": "up to date", "current": "up to date", "clean": "up to date"}
    settings.write_text(f"tables: {{product: {{keys: [id]}}}}\n{policies.replace('mask', 'drop')}")
    entry = entries(run, captured)["product"]
    assert states(entry)["clean"] == "out of date"
    assert entry["problems"] == ["clean view: it was written with other settings, or by another release"]


def test_the_former_form_of_two_words_works_with_a_line_that_says_the_present_one(
    run: Run, dataset: EmulatedDataset
) -> None:
    dataset.land("customer_v_abc", {"id": "INT64"}, "1")
    shown = run("tables", dataset.name, "customer")
    assert (shown.code, "customer" in shown.out) == (0, True), shown.err
    assert f"write `onefold tables {dataset.name}.customer`" in shown.err
