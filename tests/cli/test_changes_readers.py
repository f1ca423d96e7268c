"""`onefold changes readers`: who reads each column, as the newest run in the embedded BigQuery says."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.cli import Run
from support.told_texts import ToldTexts, job

from onefold.adapters.connect import row_writer_for
from onefold.changes.collect_readers import collect_readers
from onefold.changes.reader_table import COLLECTED_AT, READER_COLUMNS, append_readers, readers_table
from onefold.ports.query_texts import ViewText
from onefold_lab.stand_ins.warehouse import EmulatedWarehouse

NOW = datetime.now(UTC).replace(second=0, microsecond=0)
CURRENT, UNIFIED, OTHER = ("shop", "customer_current"), ("shop", "customer_unified"), ("shop", "order_current")
TOLD = ToldTexts(
    {CURRENT: ("id", "mail"), UNIFIED: ("id",), OTHER: ("id",)},
    [ViewText(one, "", own=True) for one in (CURRENT, UNIFIED, OTHER)],
    jobs=[
        job("person", "SELECT id FROM shop.customer_current WHERE mail = 'ada@example.org'", "ada", "bob"),
        job("dashboard", "SELECT id FROM shop.customer_unified", "r1"),
        job("person", "CALL x.y()", "ada", referenced={OTHER}, incomplete=1),
    ],
)  # fmt: skip


@pytest.fixture
def collected(dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch) -> str:
    """The dataset of a run that has found readers."""
    monkeypatch.setenv("ONEFOLD_CHANGES_DATASET", dataset.name)
    warehouse = EmulatedWarehouse(dataset.client)
    table = readers_table(warehouse.project, dataset.name)
    warehouse.create_table(table, READER_COLUMNS, partition=COLLECTED_AT)
    append_readers(row_writer_for(warehouse), table, collect_readers(TOLD, TOLD, "shop", None, NOW), "run")
    return dataset.name


@pytest.mark.usefixtures("collected")
def test_the_readers_of_a_table_are_those_of_its_views(run: Run) -> None:
    shown = run("changes", "readers", "shop.customer")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.splitlines() == [
        "shop.customer_current.id: 2 persons",
        "shop.customer_current.mail: 2 persons",
        "shop.customer_unified.id: 1 dashboard",
        f"as of {NOW:%Y-%m-%d %H:%M} UTC, 30 days of jobs: 1 text not understood, "
        "1 job with a list of tables that is not complete",
    ]  # fmt: skip


@pytest.mark.usefixtures("collected")
def test_json_has_a_row_for_each_column_and_kind_and_no_name_of_anybody(run: Run) -> None:
    printed = run("changes", "readers", "--json")
    assert [(one["table"], one["column"], one["kind"], one["readers"], one["certain"]) for one in printed.results] == [
        ("customer_current", "id", "person", 2, 2), ("customer_current", "mail", "person", 2, 2),
        ("customer_unified", "id", "dashboard", 1, 1), ("order_current", "id", "person", 1, 0),
    ]  # fmt: skip
    assert not any(word in printed.out for word in ("ada", "bob", "example.org"))
    assert [one["table"] for one in run("changes", "readers", "shop.customer_current", "--json").results] == [
        "customer_current"
    ] * 2


def test_before_the_first_run_nobody_is_known(run: Run, dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("changes", "readers").code == 1
    monkeypatch.setenv("ONEFOLD_CHANGES_DATASET", dataset.name)
    shown = run("changes", "readers")
    assert (shown.code, shown.out, "run it with --collect" in shown.err) == (0, "", True)
