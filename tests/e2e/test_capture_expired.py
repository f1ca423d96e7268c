"""From a real server to a base whose change tables have lost their old partitions: deletions are found in the base, too."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.database_servers import DatabaseServer, MariaDb, MySql
from support.end_to_end import Flow, new_source
from support.merge_shop import merge
from support.source_database import on

from onefold.core.names import TableId
from onefold.settings.environment import Settings
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT

pytestmark = on(MariaDb, long=MySql)

_numbers = itertools.count(1)


@pytest.fixture
def flow(server: DatabaseServer, dataset: EmulatedDataset, tmp_path: Path) -> Iterator[Flow]:
    name = f"expired{next(_numbers)}"
    with new_source(server, name) as source:
        yield Flow(source, dataset, tmp_path, (name,))


def merge_and_expire(flow: Flow, table: str) -> None:
    """Merge, and lose the history of the base, as by the expiry of partitions that docs/explanation/cost.md advises."""
    merge(flow.warehouse, TableId(DEFAULT_PROJECT, flow.dataset.name, table), Settings())
    flow.forget()
    for name in flow.warehouse.list_tables(flow.dataset.name):
        if name.startswith(f"{table}_v_"):
            flow.dataset.run(f"DELETE FROM {flow.dataset.quoted(name)} WHERE TRUE")


def test_rows_that_only_the_base_has_are_deleted_after_a_truncation(flow: Flow) -> None:
    flow.run(
        "CREATE TABLE customer (id INT PRIMARY KEY, name VARCHAR(30))", "INSERT INTO customer VALUES (1, 'a'), (2, 'b')"
    )
    flow.capture(snapshot=True)
    merge_and_expire(flow, "customer")
    flow.run("TRUNCATE TABLE customer", "INSERT INTO customer VALUES (2, 'new'), (3, 'c')")
    flow.capture()
    flow.check_current("customer")


@pytest.mark.long
def test_children_that_only_the_base_has_follow_their_parent(flow: Flow) -> None:
    flow.run(
        "CREATE TABLE parent (id INT PRIMARY KEY)",
        "CREATE TABLE child (id INT PRIMARY KEY, parent INT, FOREIGN KEY (parent) REFERENCES parent (id) ON DELETE CASCADE)",
        "INSERT INTO parent VALUES (1), (2)",
        "INSERT INTO child VALUES (1, 1), (2, 2)",
    )
    flow.capture(snapshot=True)
    merge_and_expire(flow, "child")
    flow.run("DELETE FROM parent WHERE id = 1")
    flow.capture()
    flow.check_current("child")
