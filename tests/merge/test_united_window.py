"""A merge of the tables of many tenants reads only what was appended to each, and a new tenant's table whole."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support.appended_tables import COMMITTED, AppendedTables
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import METADATA_TYPE, Row, change, oracle

from onefold.changelog.metadata import METADATA
from onefold.core.names import TableId
from onefold.settings.environment import load_settings
from onefold.views.reconcile import MergeResult, reconcile
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT

HISTORY = 20


class Tenants:
    """Tables `orders` in datasets of tenants, and the dataset of the united one."""

    def __init__(self, dataset: EmulatedDataset, folder: Path) -> None:
        self.dataset, self.into = dataset, TableId(DEFAULT_PROJECT, f"{dataset.name}_all", "orders")
        self.warehouse = AppendedTables(dataset, timedelta(days=7), None)
        self.landed: list[Row] = []
        config = folder / "onefold.yaml"
        config.write_text(
            f"unite: {{datasets: '{dataset.name}_t_*', table: orders, into: {self.into.dataset}}}\n"
            f"tables: {{{self.into.dataset}.orders: {{keys: [id]}}}}\n"
        )
        self.settings = load_settings({"ONEFOLD_CONFIG": str(config)})
        dataset.client.create_dataset(str(self.into.dataset))

    def come(self, tenant: str) -> None:
        name = f"{self.dataset.name}_t_{tenant}"
        self.dataset.client.create_dataset(name)
        columns = {"id": "INT64", "name": "STRING", METADATA: METADATA_TYPE, COMMITTED: "TIMESTAMP"}
        self.dataset.run(f"CREATE TABLE `{name}.orders` ({', '.join(f'{one} {type_}' for one, type_ in columns.items())})")

    def land(self, tenant: str, rows: Sequence[Row], committed: datetime) -> None:
        name = f"{self.dataset.name}_t_{tenant}"
        self.landed += [{**row, "dataset": name} for row in rows]
        stamped = [{**row, COMMITTED: committed.isoformat()} for row in rows]
        assert self.dataset.client.insert_rows_json(f"{DEFAULT_PROJECT}.{name}.orders", stamped) == []

    def merge(self) -> tuple[MergeResult, dict[str, str | None]]:
        """Merge, check the base against the oracle, and return the result with the way of each tenant."""
        done = reconcile(self.warehouse, self.into, self.settings)
        found = self.warehouse.fetch(f"SELECT dataset, id, name FROM `{self.into}_base` WHERE NOT _deleted")
        expected = oracle([{"name": None, **row} for row in self.landed], ("dataset", "id"))
        assert sorted(map(str, found)) == sorted(
            str({key: row[key] for key in ("dataset", "id", "name")}) for row in expected
        )
        return done, {one.version.id.rpartition("_")[2]: one.way for one in done.plan.changes}


def rows(first: int, last: int) -> list[Row]:
    return [change("UPDATE-INSERT", f"{number:X}", id=number % 9, name=f"n{number}") for number in range(first, last)]


@pytest.mark.emulator
def test_the_rows_that_a_merge_reads_do_not_grow_with_the_history_of_tenants(
    dataset: EmulatedDataset, tmp_path: Path
) -> None:
    tenants, now = Tenants(dataset, tmp_path), datetime.now(UTC)
    for name in ("a", "b"):
        tenants.come(name)
        tenants.land(name, rows(0, HISTORY), now - timedelta(days=3))
    first, ways = tenants.merge()
    assert (first.counts.changes, ways) == (2 * HISTORY, {"a": "whole", "b": "whole"})
    tenants.land("a", [change("DELETE", "FF", id=3)], now)
    second, ways = tenants.merge()
    assert (second.counts.changes, ways) == (1, {"a": "appends", "b": "appends"})
    tenants.come("c")
    tenants.land("c", rows(0, HISTORY), now - timedelta(days=3))
    third, ways = tenants.merge()
    assert (third.counts.changes, ways) == (HISTORY + 1, {"a": "appends", "b": "appends", "c": "whole"})
    fourth, ways = tenants.merge()
    assert (fourth.counts.changes, {*ways.values()}) == (1, {"appends"})
