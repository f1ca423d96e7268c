"""What a person's `onefold refresh` records in the ledger; decisions find it by the identifier that `plan` shows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import land_changes
from support.cli import Run
from support.columns import columns
from support.ledgers import StoredLedger

from onefold.changelog.metadata import LANDED_AT
from onefold.core.event_labels import LABEL_BASE, LABEL_VERSION
from onefold.core.names import TableId

REVIEW = 'contracts: {"*": {new_columns: review, types: review}}'
OLD = {"id": "INT64", "amount": "INT64"}


@pytest.fixture
def stored(dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch, run: Run) -> StoredLedger:
    found = StoredLedger(dataset)
    monkeypatch.setenv("ONEFOLD_CHANGES_DATASET", found.name)
    assert run("changes", "create").code == 0
    return found


def waiting(run: Run, dataset: EmulatedDataset) -> set[str]:
    (entry,) = run("plan", f"{dataset.name}.order", "--json").results
    return {one["id"] for one in entry["waiting_changes"]}


def listed(run: Run, dataset: EmulatedDataset) -> set[str]:
    """The changes of the ledger that wait."""
    return {one["change"] for one in run("changes", f"{dataset.name}.*", "--json").results if one["decision"] == "waiting"}


def test_a_refresh_records_what_the_function_records_once(run: Run, dataset: EmulatedDataset, stored: StoredLedger) -> None:
    dataset.land("order_v_1", OLD, "1, 7")
    assert run("refresh", f"{dataset.name}.order").code == 0
    dataset.land("order_v_2", {**OLD, "email": "STRING"}, "2, 8, 'e'")
    assert run("refresh", f"{dataset.name}.order", "--dry-run").code == 0
    assert [one.version_after for one in stored.entries("order")] == ["1"]
    for _ in range(2):
        refreshed = run("refresh", f"{dataset.name}.order")
        assert (refreshed.code, refreshed.err) == (0, "")
    first, second = stored.entries("order")
    assert [one.kind for one in first.effects] in ([], ["nothing"])
    assert (second.version_before, second.version_after, second.origin) == ("1", "2", "discovered")
    assert [(one.kind, one.path) for one in second.effects] == [("new column", "email")]


def test_who_may_not_record_is_told_so_and_the_view_is_written(
    run: Run, dataset: EmulatedDataset, stored: StoredLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset.land("order_v_1", OLD, "1, 7")
    assert run("refresh", f"{dataset.name}.order").code == 0
    dataset.land("order_v_2", {**OLD, "email": "STRING"}, "2, 8, 'e'")
    monkeypatch.setenv("ONEFOLD_CHANGES_DATASET", "nowhere")
    refreshed = run("refresh", f"{dataset.name}.order")
    assert refreshed.code == 0
    assert f"a change of {dataset.name}.order is not recorded: there is no table" in refreshed.err
    assert sorted(dataset.rows("order_unified")) == [(1, 7, None), (2, 8, "e")]
    monkeypatch.setenv("ONEFOLD_CHANGES_DATASET", stored.name)
    assert run("refresh", f"{dataset.name}.order").code == 0
    assert [one.version_after for one in stored.entries("order")] == ["1", "2"]


@pytest.mark.parametrize("grows", [False, True], ids=["a version", "a version that grew in place"])
@pytest.mark.parametrize("by_labels", [False, True], ids=["by names", "by labels"])
def test_a_decision_finds_what_waits_by_the_identifier_of_plan(
    run: Run, dataset: EmulatedDataset, stored: StoredLedger, by_labels: bool, grows: bool
) -> None:
    settings = f"\ndatasets: {{{dataset.name}: {{version_pattern: labels}}}}" if by_labels else ""
    Path("onefold.yaml").write_text(REVIEW + settings, "utf-8")

    def create(version: str, fields: Mapping[str, str]) -> TableId:
        labels = {LABEL_BASE: "order", LABEL_VERSION: version} if by_labels else None
        table = TableId(stored.warehouse.project, dataset.name, f"order_v_{version}")
        stored.warehouse.create_table(table, columns(**fields), labels=labels)
        return table

    table = create("1", OLD)
    assert run("refresh", f"{dataset.name}.order").code == 0
    if grows:
        stored.warehouse.add_columns(table, columns(email="STRING"))
    else:
        create("2", {**OLD, "email": "STRING"})
    refreshed = run("refresh", f"{dataset.name}.order")
    assert (refreshed.code, "is not recorded" in refreshed.err) == (0, False)
    (id_,) = waiting(run, dataset)
    assert listed(run, dataset) == {id_}
    assert f" {id_}" in run("changes", f"{dataset.name}.*").out
    accepted = run("changes", "accept", id_)
    assert accepted.code == 0, accepted.err
    assert waiting(run, dataset) == set()
    last = run("changes", f"{dataset.name}.*", "--json").results[-1]
    assert "new column" in {one["kind"] for one in last["effects"]}
    view = stored.warehouse.get_view(TableId(stored.warehouse.project, dataset.name, "order_unified"))
    assert view
    assert "email" in {column.name for column in view.columns}


def test_current_and_merge_record_what_they_show(run: Run, dataset: EmulatedDataset, stored: StoredLedger) -> None:
    Path("onefold.yaml").write_text("tables: {customer: {keys: [id]}}", "utf-8")
    for number, (command, more) in enumerate([("current", {}), ("merge", {"zip": "STRING"})], 1):
        land_changes(dataset, f"customer_v_{number}", {"id": "INT64", **more, LANDED_AT: "TIMESTAMP"}, [])
        done = run(command, f"{dataset.name}.customer")
        assert done.code == 0, done.err
        assert run(command, f"{dataset.name}.customer").code == 0
    found = [one for one in stored.entries("customer") if any(effect.kind == "new column" for effect in one.effects)]
    assert [(one.version_after, [effect.path for effect in one.effects]) for one in found] == [("2", ["zip"])]
