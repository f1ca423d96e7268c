"""A table of three tenants with columns of different types, as one: by commands and by messages, against an oracle."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import METADATA_TYPE, Row, change, oracle
from support.cli import Run
from support.in_memory import MemoryPublisher, audit_entry, push_body

from onefold.changelog.metadata import METADATA
from onefold.merge import change_query
from onefold.refresh import limits
from onefold.settings.environment import load_settings
from onefold.views.handler import TableCreatedHandler
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, EmulatedWarehouse

ACME = {"id": "INT64", "total": "INT64", "address": "STRUCT<zip INT64>", "tags": "ARRAY<INT64>"}
BOLT = {"id": "INT64", "note": "STRING", "address": "STRUCT<city STRING, zip STRING>", "tags": "ARRAY<STRING>"}
CRUX = {"id": "STRING", "total": "STRING", "mail": "STRING"}
CHANGES: Mapping[str, list[Row]] = {
    "acme": [
        change("INSERT", "1", id=1, total=7, address={"zip": 80331}, tags=[1, 2]),
        change("INSERT", "2", id=2, total=8, address=None, tags=[]),
        change("DELETE", "3", id=2),
    ],
    "bolt": [
        change("INSERT", "9", id=1, note="new", address={"city": "Köln", "zip": "D-50667"}, tags=["a"]),
        change("INSERT", "1", id=1, note="old", address=None, tags=[]),
    ],
    "dove": [change("INSERT", "1", id=1, total=1, address=None, tags=[])],
    "crux": [change("INSERT", "5", id="1", total="7 EUR", mail="c@example.com")],
}


class Tenants:
    """Datasets of tenants in the embedded BigQuery, with the dataset of the united table and those beside it."""

    def __init__(self, dataset: EmulatedDataset) -> None:
        self.dataset, self.prefix, self.into = dataset, f"{dataset.name}_t", f"{dataset.name}_all"
        for name in (self.into, f"{self.into}__views_clean", f"{self.into}__keys"):
            dataset.client.create_dataset(name)
        self.landed: dict[str, list[Row]] = {}
        self.write_settings("")

    def write_settings(self, policies: str) -> None:
        Path("onefold.yaml").write_text(
            f"unite: {{datasets: '{self.prefix}_*', table: orders, into: {self.into}}}\n"
            f"tables: {{{self.into}.orders: {{keys: [id]}}}}\n{policies}"
        )

    def come(self, tenant: str, columns: Mapping[str, str], rows: list[Row] | None = None) -> None:
        """A tenant that is new, with its dataset and table, and with the rows of its name unless others are given."""
        name = f"{self.prefix}_{tenant}"
        self.dataset.client.create_dataset(name)
        fields = ", ".join(f"{column} {type_}" for column, type_ in {**columns, METADATA: METADATA_TYPE}.items())
        self.dataset.run(f"CREATE TABLE `{name}.orders` ({fields})")
        self.land(tenant, CHANGES[tenant] if rows is None else rows)

    def land(self, tenant: str, rows: list[Row]) -> None:
        name = f"{self.prefix}_{tenant}"
        assert self.dataset.client.insert_rows_json(f"{DEFAULT_PROJECT}.{name}.orders", list(rows)) == []
        self.landed.setdefault(name, []).extend(rows)

    def leave(self, tenant: str) -> None:
        """A tenant whose table is dropped, as the audit log tells it."""
        name = f"{self.prefix}_{tenant}"
        self.dataset.run(f"DROP TABLE `{name}.orders`")
        del self.landed[name]
        self.handle(audit_entry("orders", "tableDeletion", project=DEFAULT_PROJECT, dataset=name))

    def expected(self) -> list[dict[str, Any]]:
        """The latest rows of all tenants, as they are in the common types."""
        made = [{**row, "dataset": name} for name, rows in self.landed.items() for row in rows]
        return sorted((united(row) for row in oracle(made, ["dataset", "id"])), key=str)

    def rows(self, view: str) -> list[dict[str, Any]]:
        found = self.dataset.client.query(f"SELECT * FROM `{view}`").result()
        return sorted((dict(row.items()) for row in found), key=str)

    def handle(self, message: bytes) -> None:
        handler = TableCreatedHandler(load_settings({}), EmulatedWarehouse(self.dataset.client), MemoryPublisher())
        assert handler.handle(push_body(message)) is None


def united(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row in the columns of all tenants: numbers that are text elsewhere are text, what a tenant lacks is NULL."""
    address = row.get("address")
    return {
        "dataset": row["dataset"],
        "id": str(row["id"]),
        "total": None if row.get("total") is None else str(row["total"]),
        "address": address and {"zip": str(address["zip"]), "city": address.get("city")},
        "tags": [str(tag) for tag in row.get("tags", [])],
        "note": row.get("note"),
        "mail": row.get("mail"),
    }


@pytest.fixture
def tenants(dataset: EmulatedDataset, run: Run) -> Tenants:  # noqa: ARG001 its folder has the settings
    return Tenants(dataset)


@pytest.mark.emulator
def test_tables_of_many_tenants_are_one_by_commands_and_messages(run: Run, tenants: Tenants) -> None:
    table, current = f"{tenants.into}.orders", f"{tenants.into}.orders_current"
    for name, columns in {"acme": ACME, "bolt": BOLT, "dove": ACME}.items():
        tenants.come(name, columns)
    planned = run("plan", table, "--json")
    assert [(entry["action"], entry["form"]) for entry in planned.results] == [("create", "spelled")] * 2, planned.err
    assert run("refresh", table).code == 0
    assert [(row["dataset"][-4:], row["id"]) for row in tenants.rows(current)] == [("acme", 1), ("bolt", 1), ("dove", 1)]

    tenants.come("crux", CRUX)
    tenants.handle(audit_entry("orders", project=DEFAULT_PROJECT, dataset=f"{tenants.prefix}_crux"))
    assert tenants.rows(current) == tenants.expected()
    tenants.leave("dove")
    assert tenants.rows(current) == tenants.expected()
    assert len(tenants.rows(f"{table}_unified")) == sum(map(len, tenants.landed.values()))
    assert run("plan", tenants.into).code == 0
    for name in ("*", "orders"):
        listed = run("tables", f"{tenants.into}.{name}", "--json").result
        assert (listed["kind"], len(listed["versions"]), listed["problems"]) == ("united", 3, [])
    assert "dataset" in run("policies", "check", tenants.into).out

    merged = run("merge", tenants.into, "--all", "--json")
    assert [entry["outcome"] for entry in merged.results] == ["merged"], merged.err
    assert tenants.rows(current) == tenants.expected()
    tenants.land("acme", [change("DELETE", "8", id=1), change("INSERT", "9", id=3, total=1)])
    assert tenants.rows(current) == tenants.expected()

    tenants.dataset.run(f"DELETE FROM `{table}_base` WHERE dataset = '{tenants.prefix}_crux'")
    tenants.leave("crux")
    assert {row["dataset"][-4:] for row in tenants.rows(current)} == {"acme", "bolt"}


@pytest.mark.emulator
def test_what_a_tenant_hides_stays_hidden_until_the_base_has_none_of_its_rows(run: Run, tenants: Tenants) -> None:
    table, clean = f"{tenants.into}.orders", f"{tenants.into}__views_clean.orders"
    hidden, shown = (f"{tenants.prefix}_{name}.orders" for name in ("crux", "bolt"))
    tenants.write_settings(
        f"policies:\n  {hidden}: {{id: clear, mail: drop}}\n  {shown}: {{'*': clear}}\n  {table}: {{dataset: clear}}\n"
    )
    tenants.come("crux", CRUX)
    tenants.come("bolt", {**CRUX, "note": "STRING"}, [change("INSERT", "1", id="1", total="1")])
    assert run("refresh", table).code == 0
    assert run("merge", table).code == 0
    tenants.leave("crux")
    other, row = tenants.rows(clean)
    assert (other["dataset"][-4:], row["dataset"][-4:]) == ("bolt", "crux")
    assert "mail" not in row
    assert (row["id"], row["total"]) == ("1", None), "nothing decides about the total of the tenant that left"
    assert run("policies", "check", table).code == 2

    tenants.dataset.run(f"DELETE FROM `{table}_base` WHERE dataset = '{tenants.prefix}_crux'")
    assert run("merge", table, "--rebuild", "--yes").code == 0
    assert run("refresh", table).code == 0
    (row,) = tenants.rows(clean)
    assert (row["dataset"][-4:], row["mail"], row["total"]) == ("bolt", None, "1")


@pytest.mark.long
@pytest.mark.emulator
def test_beyond_the_tables_of_a_query_the_view_reads_a_base_that_is_merged_in_groups(
    run: Run, tenants: Tenants, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_TABLES", 3)
    monkeypatch.setattr(change_query, "MAX_TABLES", 2)
    table, current = f"{tenants.into}.orders", f"{tenants.into}.orders_current"
    for name, columns in {"acme": ACME, "bolt": BOLT, "crux": CRUX}.items():
        tenants.come(name, columns)
    refused = run("refresh", table)
    assert (refused.code, "BigQuery allows 3 in a query" in refused.err) == (1, True)

    assert run("merge", table).code == 0
    refreshed = run("refresh", table)
    assert (refreshed.code, "Skipped:" in refreshed.err) == (0, True), refreshed.err
    assert tenants.rows(current) == tenants.expected()
    tenants.land("bolt", [change("DELETE", "F", id=1)])
    tenants.come("dove", ACME)
    assert run("merge", tenants.into, "--all").code == 0
    assert tenants.rows(current) == tenants.expected()
    assert run("plan", table).code == 0
