"""What was rejected stays so when later versions have it, too, and is not accepted along with what they bring."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from google.cloud.bigquery import SchemaField
from support.bigquery_emulator import EmulatedDataset
from support.cli import Run

REVIEW = "new_columns: review, types: review"


@pytest.fixture
def order(dataset: EmulatedDataset, run: Run, monkeypatch: pytest.MonkeyPatch) -> EmulatedDataset:
    """A table with a view of its first version, a contract and a ledger."""
    monkeypatch.setenv("ONEFOLD_CHANGES_DATASET", dataset.name)
    write_file({})
    assert run("changes", "create").code == 0
    return lands(run, dataset, "1", n="INT64", at="STRUCT<x INT64>")


def write_file(decisions: dict[str, object]) -> None:
    Path("onefold.yaml").write_text(f'contracts: {{"*": {{{REVIEW}, decisions: {json.dumps(decisions)}}}}}', "utf-8")


def lands(run: Run, order: EmulatedDataset, version: str, **columns: str) -> EmulatedDataset:
    order.land(f"order_v_{version}", {"id": "INT64", **columns})
    assert run("refresh", f"{order.name}.order", "--accept-settings").code == 0
    return order


def waiting(run: Run, order: EmulatedDataset) -> dict[tuple[str, str], str]:
    (entry,) = run("plan", f"{order.name}.order", "--json").results
    return {(one["version"], one["path"]): one["id"] for one in entry["waiting_changes"]}


def shown(order: EmulatedDataset) -> dict[str, SchemaField]:
    found = order.client.query(f"SELECT * FROM {order.quoted('order_unified')} LIMIT 0").result()
    return {field.name: field for field in found.schema}


def test_a_type_that_onefold_yaml_rejects_is_not_accepted_with_a_later_column(run: Run, order: EmulatedDataset) -> None:
    lands(run, order, "2", n="STRING")
    write_file({waiting(run, order)["2", "n"]: {"n": "reject"}})
    lands(run, order, "3", n="STRING", zip="STRING")
    (found,) = waiting(run, order).items()
    assert found[0] == ("3", "zip")
    assert run("changes", "accept", found[1], f"{order.name}.order").code == 0
    assert (shown(order)["n"].field_type, "zip" in shown(order)) == ("INTEGER", True)


def test_a_list_that_was_rejected_is_not_accepted_with_a_later_field(run: Run, order: EmulatedDataset) -> None:
    lands(run, order, "2", n="INT64", at="ARRAY<STRUCT<x INT64>>")
    table = f"{order.name}.order"
    assert run("changes", "reject", waiting(run, order)["2", "at"], table).code == 0
    lands(run, order, "3", n="INT64", at="ARRAY<STRUCT<x INT64, y INT64>>")
    (found,) = waiting(run, order).items()
    assert found[0] == ("3", "at.y")
    assert run("changes", "accept", found[1], table).code == 0
    at = shown(order)["at"]
    assert (at.mode, [field.name for field in at.fields]) == ("NULLABLE", ["x", "y"])


def test_a_version_that_has_a_held_type_as_the_one_before_waits_for_nothing(run: Run, order: EmulatedDataset) -> None:
    lands(run, order, "2", n="STRING", at="STRUCT<x INT64>")
    lands(run, order, "3", n="STRING")
    entries = {one["version_after"]: one["decision"] for one in run("changes", f"{order.name}.order", "--json").results}
    assert (entries["2"], entries["3"]) == ("waiting", "shown")
