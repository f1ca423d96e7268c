"""From a real server to views and bases in the embedded BigQuery: the key is the one that the versioned tables declare."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.database_servers import DatabaseServer, MariaDb, MySql
from support.end_to_end import Flow, new_source
from support.merge_shop import merge
from support.source_database import on

from onefold.core.errors import SchemaConflict
from onefold.core.names import TableId
from onefold.settings.environment import Settings
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, EmulatedWarehouse

pytestmark = [on(MariaDb, MySql), pytest.mark.long]

TENANT = ("source_name", "database_name")
_numbers = itertools.count(1)


class CountsKeyQueries(EmulatedWarehouse):
    """Counts the queries that ask rows for their key."""

    asked = 0

    def fetch(self, sql: str) -> list[dict[str, Any]]:
        self.asked += ".primary_key" in sql
        return super().fetch(sql)


@pytest.fixture
def flow(server: DatabaseServer, dataset: EmulatedDataset, tmp_path: Path) -> Iterator[Flow]:
    number = next(_numbers)
    databases = (f"keys{number}_a", f"keys{number}_b")
    with new_source(server, *databases) as source:
        flow = Flow(source, dataset, tmp_path, databases)
        flow.warehouse = CountsKeyQueries(dataset.client)
        yield flow


def asked(flow: Flow) -> int:
    assert isinstance(flow.warehouse, CountsKeyQueries)
    return flow.warehouse.asked


def table_of(flow: Flow, name: str) -> TableId:
    return TableId(DEFAULT_PROJECT, flow.dataset.name, name)


def declared(flow: Flow, name: str) -> list[tuple[str, ...]]:
    """Return the key that each version of a table declares."""
    names = [one for one in flow.warehouse.list_tables(flow.dataset.name) if one.startswith(f"{name}_v_")]
    found = flow.warehouse.declared_keys([table_of(flow, one) for one in names])
    return [found.get(table_of(flow, one), ()) for one in names]


def test_views_and_merges_have_the_declared_key(flow: Flow) -> None:
    _, b = flow.databases
    table = "(region VARCHAR(9) NOT NULL, id INT NOT NULL, name VARCHAR(30), PRIMARY KEY (region, id))"
    flow.run(f"CREATE TABLE customer {table}", f"CREATE TABLE {b}.customer {table}")
    flow.run("INSERT INTO customer VALUES ('eu', 1, 'a'), ('us', 1, 'b'), ('us', 2, 'c')")
    flow.run(f"INSERT INTO {b}.customer VALUES ('eu', 1, 'of b')")
    flow.capture(snapshot=True)
    flow.check("customer")
    flow.run("DELETE FROM customer WHERE id = 2", "ALTER TABLE customer ADD COLUMN mail VARCHAR(30)")
    flow.run("UPDATE customer SET mail = 'm', id = 5 WHERE region = 'us'")
    flow.capture()
    assert declared(flow, "customer") == [(*TENANT, "region", "id")] * 2
    flow.check("customer")
    plan, _ = merge(flow.warehouse, table_of(flow, "customer"), Settings())
    assert plan.base.keys == (*TENANT, "region", "id")
    flow.run("UPDATE customer SET mail = 'later'", f"DELETE FROM {b}.customer")
    flow.capture()
    flow.check("customer")


def test_a_key_that_cannot_be_declared_is_read_from_the_rows(flow: Flow) -> None:
    flow.run(
        "CREATE TABLE event (id BINARY(16) PRIMARY KEY, n INT)", "INSERT INTO event VALUES (UNHEX(REPEAT('ab', 16)), 1)"
    )
    flow.capture(snapshot=True)
    flow.run("UPDATE event SET n = 2")
    flow.capture()
    assert declared(flow, "event") == [()]
    flow.check("event")
    assert asked(flow) > 0


def test_a_tenant_with_another_key_is_reported_and_its_table_is_merged_by_neither(
    flow: Flow, capsys: pytest.CaptureFixture[str]
) -> None:
    _, b = flow.databases
    flow.run("CREATE TABLE account (id INT PRIMARY KEY, code INT NOT NULL)", "INSERT INTO account VALUES (1, 1)")
    flow.run(f"CREATE TABLE {b}.account (id INT NOT NULL, code INT PRIMARY KEY)", f"INSERT INTO {b}.account VALUES (1, 1)")
    flow.capture(snapshot=True)
    assert capsys.readouterr().out.count('"event": "key_differs"') == 1
    assert declared(flow, "account") == [(*TENANT, "id")]
    with pytest.raises(SchemaConflict, match=r"the key is .*but .*`keys: "):
        merge(flow.warehouse, table_of(flow, "account"), Settings())
    # As the report says, where neither is the right one.
    (name,) = [one for one in flow.warehouse.list_tables(flow.dataset.name) if one.startswith("account_v_")]
    table = flow.dataset.client.get_table(f"{DEFAULT_PROJECT}.{flow.dataset.name}.{name}")
    table.table_constraints = None
    flow.dataset.client.update_table(table, ["table_constraints"])
    with pytest.raises(SchemaConflict, match=f"the key is .*shop-db/{b}"):
        merge(flow.warehouse, table_of(flow, "account"), Settings())


def test_a_key_that_is_widened_at_the_source_is_critical_and_followed_by_the_view(
    flow: Flow, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the wider key, the row as it was before an update of the added column is a row of its own, which has to go."""
    flow.run("CREATE TABLE price (id INT PRIMARY KEY, a INT NOT NULL)", "INSERT INTO price VALUES (1, 1), (2, 1)")
    flow.capture(snapshot=True)
    flow.run("UPDATE price SET a = 5 WHERE id = 1")
    flow.capture()
    flow.check("price")
    capsys.readouterr()
    flow.run("ALTER TABLE price DROP PRIMARY KEY, ADD PRIMARY KEY (id, a)", "INSERT INTO price VALUES (1, 2), (1, 3)")
    flow.run("UPDATE price SET a = 9 WHERE a = 3", "DELETE FROM price WHERE id = 2")
    flow.capture()
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if '"key_differs"' in line]
    assert {(line["severity"], *line["primary_key"]) for line in lines} == {("CRITICAL", "id", "a")}
    flow.check("price")
