"""`onefold changes readers`: who reads each column, as the newest run in the embedded BigQuery says."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import requests
from support.bigquery_emulator import EmulatedDataset
from support.cli import Run
from support.rest import Answer, HttpRequest, serving
from support.told_texts import ToldTexts, job

from onefold.adapters.connect import row_writer_for
from onefold.adapters.scheduled_queries import TransferConfigs
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


def tell(dataset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Views, jobs and columns of the region, of which the embedded BigQuery has no log."""
    unified = (dataset, "customer_unified")
    told = ToldTexts(
        {unified: ("id", "name")},
        [ViewText(unified, "", own=True), ViewText(("reports", "daily"), f"SELECT name FROM {dataset}.customer_unified")],
        jobs=[job("person", f"SELECT id FROM {dataset}.customer_unified WHERE name = 'ada@example.org'", "ada", "bob")],
    )
    for name in ("location_of", "list_view_texts", "list_job_texts", "list_column_names"):
        monkeypatch.setattr(EmulatedWarehouse, name, lambda _, *words, name=name: getattr(told, name)(*words))


def test_readers_that_a_run_collects_are_in_the_list_the_message_and_the_page_of_a_change(
    run: Run, dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONEFOLD_CHANGES_DATASET", dataset.name)
    assert run("changes", "create").code == 0
    warehouse = EmulatedWarehouse(dataset.client)
    warehouse.create_table(readers_table(warehouse.project, dataset.name), READER_COLUMNS, partition=COLLECTED_AT)
    table, posted = f"{dataset.name}.customer", list[Any]()
    for version, columns in (("1", {"id": "INT64", "name": "STRING"}), ("2", {"id": "INT64"})):
        dataset.land(f"customer_v_{version}", columns)
        assert run("refresh", table).code == 0
    tell(dataset.name, monkeypatch)
    scheduled = {"name": "c/1", "params": {"query": f"CREATE TABLE x.y AS SELECT name FROM {dataset.name}.customer_unified"}}

    def answer(request: HttpRequest) -> Answer:
        posted.extend([request.json] if request.method == "POST" else [])
        return 200, {"transferConfigs": [scheduled]}

    with serving(answer) as address:
        configs = TransferConfigs(warehouse.project, requests.Session(), address)
        monkeypatch.setattr("onefold.adapters.scheduled_queries.open_transfer_configs", lambda _: configs)
        assert run("changes", "readers", "--collect", table).code == 0
        Path("onefold.yaml").write_text('owners: {customer: {webhook: "env:HOOK", form: json}}')
        monkeypatch.setenv("HOOK", address)
        assert run("changes", "notify").code == 0
    kinds = [("view", 1), ("scheduled query", 1), ("person", 2)]
    assert f"read: {dataset.name}.customer_unified.name by 1 view, 1 scheduled query, 2 persons" in run("changes", table).out
    (listed,) = (one["readers"] for one in run("changes", table, "--json").results if one["version_after"] == "2")
    (message,) = (one["readers"] for one in posted[0]["changes"] if one["version_after"] == "2")
    for found in (listed, message):
        assert [(one["column"], one["kind"], one["readers"], one["certain"]) for one in found] == [
            ("name", kind, number, number) for kind, number in kinds
        ]  # fmt: skip
    assert run("changes", "page", dataset.name, "--page", "pages").code == 0
    page = Path("pages", f"dataset-{dataset.name}.html").read_text("utf-8")
    for kind, number in kinds:
        assert f'"name","{kind}","{number} of {dataset.name}.customer_unified"' in page
    assert "example.org" not in page
