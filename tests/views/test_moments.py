"""The current view is read between any two calls to the warehouse, in every scenario of a schema change."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change
from support.in_memory import MemoryPublisher, push_body
from support.merge_shop import CUSTOMER, LONG_AGO, KilledError, Shop

from onefold.messages.table_created import table_message
from onefold.ports.warehouse import StoredView, ViewDraft, WriteResult
from onefold.views.handler import TableCreatedHandler
from onefold.views.reconcile import reconcile
from onefold_lab.stand_ins.warehouse import EmulatedWarehouse

pytestmark = pytest.mark.heavy

SECOND = {
    "a new column": {"born": "DATE"},
    "a type that the base takes over": {"seen": "DATETIME"},
    "a type for which the base is rebuilt": {"flag": "STRING"},
    "a column that is gone": {},
    "another key type": {"id": "STRING"},
}
QUICK = "a type for which the base is rebuilt"
"""The one of `make test`: its merge writes most, and only its view leaves the base out meanwhile."""


class ReadBetween(EmulatedWarehouse):
    """A warehouse that has the view read after each of its writes, and may die after one of them."""

    def __init__(self, shop: Shop, look: Callable[[], None], dies_after: int = 0) -> None:
        super().__init__(shop.warehouse._client)
        self._look, self._left = look, dies_after
        self.writes = 0

    def create_view(self, *arguments: Any) -> None:
        self._around(lambda: EmulatedWarehouse.create_view(self, *arguments))

    def update_view(self, stored: StoredView, draft: ViewDraft) -> None:
        self._around(lambda: EmulatedWarehouse.update_view(self, stored, draft))

    def create_table(self, *arguments: Any, **options: Any) -> None:
        self._around(lambda: EmulatedWarehouse.create_table(self, *arguments, **options))

    def add_columns(self, *arguments: Any) -> None:
        self._around(lambda: EmulatedWarehouse.add_columns(self, *arguments))

    def execute(self, sql: str) -> WriteResult:
        done: list[WriteResult] = []
        self._around(lambda: done.append(EmulatedWarehouse.execute(self, sql)))
        return done[0]

    def _around(self, write: Callable[[], Any]) -> None:
        write()
        self._look()
        self.writes += 1
        if self.writes == self._left:
            raise KilledError


class Scene:
    """A shop with a base and both views, and a version `c` that is not handled yet.

    Only a rebuild needs two versions before it. Each version more makes every read of the view slower.
    """

    def __init__(self, dataset: EmulatedDataset, second: dict[str, str]) -> None:
        self.shop = Shop(dataset)
        self.shop.rules = type(self.shop.rules)(keys=("id",), overlap_minutes=0)
        self.shop.create("a", {**CUSTOMER, "seen": "DATE", "flag": "BOOL"})
        if "flag" in second:
            self.shop.create("b", {**CUSTOMER, "flag": "INT64"})
        rows = [change("INSERT", str(number), id=number, name="a", seen="2020-01-01", flag=True) for number in (1, 2, 3)]
        self.shop.land("a", *rows, at=LONG_AGO)
        reconcile(self.shop.warehouse, self.shop.table, self.shop.settings)
        self.deliver()
        self.shop.create("c", {**CUSTOMER, **second})
        self.shop.land("a", change("UPDATE-INSERT", "7", id=3, name="pending", seen=None, flag=False))

    def deliver(self, version: str | None = None, warehouse: EmulatedWarehouse | None = None) -> list[tuple[str, str]]:
        """Handle a message, and return what was announced of the current view."""
        publisher = MemoryPublisher()
        settings = replace(self.shop.settings, topic_schema_changes="schema-changes")
        handler = TableCreatedHandler(settings, warehouse or self.shop.warehouse, publisher)
        handler.handle(push_body(table_message(self.shop.dataset.name, "customer", version)))
        told = map(json.loads, (message.data for message in publisher.topics.get("schema-changes", [])))
        changes = [change for one in told if one["view"].endswith("_current") for change in one["changes"]]
        return [(change["kind"], change["severity"]) for change in changes]

    def query(self) -> str:
        stored = self.shop.warehouse.get_view(self.shop.settings.current_view_of(self.shop.table))
        assert stored is not None
        return stored.query

    def look(self) -> None:
        """The view can be read, and shows the latest name of each key among the changes that it covers."""
        found = {str(row[0]): row[1] for row in self.shop.dataset.run(f"SELECT id, name FROM {self._view}")}
        assert found == {"1": "a", "2": "a", "3": "pending"}, found

    def values(self) -> list[tuple[Any, ...]]:
        return self.shop.dataset.run(f"SELECT id, name, seen, flag FROM {self._view} ORDER BY id")

    @property
    def _view(self) -> str:
        return self.shop.dataset.quoted("customer_current")


@pytest.mark.parametrize(
    "second", [name if name == QUICK else pytest.param(name, marks=pytest.mark.long) for name in SECOND]
)
def test_the_view_can_be_read_between_any_two_writes(dataset: EmulatedDataset, second: str) -> None:
    scene = Scene(dataset, SECOND[second])
    scene.look()
    watching = ReadBetween(scene.shop, scene.look)
    scene.deliver("c", watching)
    reconcile(watching, scene.shop.table, scene.shop.settings)
    scene.deliver(None, watching)
    assert watching.writes > 4
    assert "customer_base`" in scene.query()
    assert copies(scene) == []


@pytest.mark.long
def test_a_merge_that_is_killed_after_any_write_leaves_a_view_that_is_right(dataset: EmulatedDataset) -> None:
    """Each run gets one write further than the one before, until one gets through. Messages come in between."""
    scene = Scene(dataset, SECOND["a type that the base takes over"])
    for writes in itertools.count(1):
        watching = ReadBetween(scene.shop, scene.look, dies_after=writes)
        try:
            reconcile(watching, scene.shop.table, scene.shop.settings)
            break
        except KilledError:
            scene.look()
            scene.deliver()
            scene.look()
    assert writes > 4
    assert "customer_base`" in scene.query()


class DiesBefore(EmulatedWarehouse):
    """A warehouse that dies before it runs a statement."""

    def __init__(self, shop: Shop, statement: str) -> None:
        super().__init__(shop.warehouse._client)
        self._statement = statement

    def execute(self, sql: str) -> WriteResult:
        if sql.startswith(self._statement):
            raise KilledError
        return super().execute(sql)


def copies(scene: Scene) -> list[str]:
    return [name for name in scene.shop.warehouse.list_tables(scene.shop.dataset.name) if name.startswith("onefold_tmp_")]


@pytest.mark.long
@pytest.mark.parametrize("statement", ["CREATE OR REPLACE TABLE", "DROP TABLE"])
def test_the_next_merge_uses_or_drops_the_copy_of_a_merge_that_was_killed(dataset: EmulatedDataset, statement: str) -> None:
    scene = Scene(dataset, SECOND["a type that the base takes over"])
    with pytest.raises(KilledError):
        reconcile(DiesBefore(scene.shop, statement), scene.shop.table, scene.shop.settings)
    assert copies(scene) == ["onefold_tmp_copy_customer_base"]
    scene.look()
    reconcile(scene.shop.warehouse, scene.shop.table, scene.shop.settings)
    scene.look()
    assert copies(scene) == []
    assert "customer_base`" in scene.query()


@pytest.mark.long
def test_a_merge_that_converts_nothing_drops_a_copy_that_was_left(dataset: EmulatedDataset) -> None:
    scene = Scene(dataset, {})
    copy, base = (dataset.quoted(name) for name in ("onefold_tmp_copy_customer_base", "customer_base"))
    dataset.run(f"CREATE TABLE {copy} AS SELECT * FROM {base}")
    reconcile(scene.shop.warehouse, scene.shop.table, scene.shop.settings)
    assert copies(scene) == []
    scene.look()


@pytest.mark.long
def test_a_view_reads_the_history_until_a_merge_has_rebuilt_the_base(dataset: EmulatedDataset) -> None:
    scene = Scene(dataset, SECOND["a type for which the base is rebuilt"])
    told = scene.deliver("c")
    assert ("base left out", "WARNING") in told
    scene.look()
    assert "customer_base" not in scene.query()
    assert [row[3] for row in scene.values()] == ["true", "true", "false"]
    reconcile(scene.shop.warehouse, scene.shop.table, scene.shop.settings)
    assert "customer_base`" in scene.query()
    assert [row[3] for row in scene.values()] == ["true", "true", "false"]


@pytest.mark.long
def test_where_the_history_lacks_rows_the_view_keeps_its_text(dataset: EmulatedDataset) -> None:
    scene = Scene(dataset, SECOND["a type for which the base is rebuilt"])
    dataset.run(f"DELETE FROM {dataset.quoted('customer_v_a')} WHERE id = 1")
    before = scene.query()
    scene.deliver("c")
    scene.look()
    assert scene.query() == before
