"""Decisions about a table that gains columns in place: what was decided about one column stays when another one comes."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.cli import Run

from onefold.changelog.metadata import METADATA
from onefold.core.names import TableId
from onefold_lab.stand_ins.warehouse import EmulatedWarehouse

REVIEW = 'contracts: {"*": {new_columns: review, types: review}}'
COLUMNS = {"id": "INT64", METADATA: "STRUCT<uuid STRING, source_timestamp INT64>"}


@pytest.fixture
def stock(dataset: EmulatedDataset, run: Run, monkeypatch: pytest.MonkeyPatch) -> EmulatedDataset:
    """A plain table with a view, a ledger and a contract."""
    monkeypatch.setenv("ONEFOLD_CHANGES_DATASET", dataset.name)
    monkeypatch.setenv("ONEFOLD_PLAIN_DATASET", "{dataset}")
    assert run("changes", "create").code == 0
    dataset.land("stock", COLUMNS, "7, ('u', 1)")
    Path("onefold.yaml").write_text(REVIEW, "utf-8")
    assert run("current", f"{dataset.name}.stock").code == 0
    return dataset


def gain(run: Run, stock: EmulatedDataset, **columns: str) -> None:
    """The table has these columns, too: the embedded BigQuery makes it anew, since it cannot alter tables."""
    stock.run(f"DROP TABLE {stock.quoted('stock')}")
    stock.land("stock", {**COLUMNS, **columns})
    assert run("current", f"{stock.name}.stock").code == 0


def waiting(run: Run, stock: EmulatedDataset) -> dict[str, str]:
    (entry,) = run("plan", f"{stock.name}.stock", "--json").results
    return {one["path"]: one["id"] for one in entry["waiting_changes"]}


def listed(run: Run, stock: EmulatedDataset) -> dict[str, str]:
    """The decision of each column that was held, as the list has it."""
    found = run("changes", f"{stock.name}.stock", "--json").results
    return {one["operations"][0]["path"]: one["decision"] for one in found if one["change"]}


def shown(stock: EmulatedDataset) -> list[str]:
    view = EmulatedWarehouse(stock.client).get_view(TableId(stock.client.project, stock.name, "stock_current"))
    assert view
    return [column.name for column in view.columns]


@pytest.mark.parametrize(("verdict", "columns"), [("reject", ["id"]), ("accept", ["id", "colour"])])
def test_a_decision_about_one_column_stays_when_another_one_comes(
    run: Run, stock: EmulatedDataset, verdict: str, columns: list[str]
) -> None:
    gain(run, stock, colour="STRING")
    change = waiting(run, stock)["colour"]
    assert run("changes", verdict, change).code == 0
    gain(run, stock, colour="STRING", size="STRING")
    assert (set(waiting(run, stock)), shown(stock)) == ({"size"}, columns)
    assert listed(run, stock) == {"colour": f"{verdict}ed", "size": "waiting"}


def test_of_two_columns_that_wait_one_is_accepted(run: Run, stock: EmulatedDataset) -> None:
    gain(run, stock, colour="STRING")
    before = waiting(run, stock)
    gain(run, stock, colour="STRING", size="STRING")
    after = waiting(run, stock)
    assert (set(after), after["colour"]) == ({"colour", "size"}, before["colour"])
    assert run("changes", "accept", after["colour"]).code == 0
    assert (waiting(run, stock), shown(stock)) == ({"size": after["size"]}, ["id", "colour"])


def test_a_line_of_onefold_yaml_stays_too(run: Run, stock: EmulatedDataset) -> None:
    gain(run, stock, colour="STRING")
    change = waiting(run, stock)["colour"]
    Path("onefold.yaml").write_text(REVIEW.replace("types", f'decisions: {{"{change}": reject}}, types'), "utf-8")
    gain(run, stock, colour="STRING", size="STRING")
    assert (set(waiting(run, stock)), shown(stock)) == ({"size"}, ["id"])


def test_a_column_that_comes_back_with_another_type_waits(run: Run, stock: EmulatedDataset) -> None:
    gain(run, stock, colour="STRING")
    assert run("changes", "reject", waiting(run, stock)["colour"]).code == 0
    gain(run, stock, colour="INT64")
    assert waiting(run, stock).keys() == {"colour"}


@pytest.mark.parametrize(("verdict", "columns"), [("reject", 1), ("accept", 2)])
def test_a_decision_about_a_version_is_not_about_a_column_that_comes_to_it_later(
    run: Run, stock: EmulatedDataset, verdict: str, columns: int
) -> None:
    table = f"{stock.name}.order"
    for more in ({}, {"colour": "STRING"}, {"colour": "STRING", "size": "STRING"}):
        stock.run(f"DROP TABLE IF EXISTS {stock.quoted('order_v_1')}")
        stock.land("order_v_1", {"id": "INT64", **more}, ", ".join(["7", *(f"'{name}'" for name in more)]))
        assert run("refresh", table).code == 0
        found = run("plan", table, "--json").result["waiting_changes"]
        if set(more) == {"colour"}:
            assert run("changes", verdict, found[0]["id"], table).code == 0
    assert [one["path"] for one in found] == ["size"]
    assert [len(row) for row in stock.rows("order_unified")] == [columns]
