"""Random histories: after each step both views can be read, and equal a plain oracle.

Versions appear with other types, rows land, messages and merges come in any order, and several times.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change
from support.in_memory import MemoryPublisher, push_body
from support.merge_shop import CUSTOMER, another_shop
from support.oracle import Row, oracle
from support.seeding import examples

from onefold.core.errors import NotFound
from onefold.merge.reconcile import reconcile
from onefold.messages.table_created import table_message
from onefold.refresh.handler import TableCreatedHandler
from onefold.schema.table_rules import TableRules

VALUES: Mapping[str, Any] = {"BOOL": True, "INT64": 7, "NUMERIC": 8, "STRING": "x"}
"""A value of each type of the column `value`."""

steps = st.one_of(
    st.tuples(st.just("version"), st.sampled_from(list(VALUES))),
    st.tuples(
        st.just("change"), st.integers(1, 3), st.sampled_from(["INSERT", "UPDATE-INSERT", "DELETE"]), st.integers(0, 9)
    ),
    st.tuples(st.just("message"), st.booleans()),
    st.tuples(st.just("merge")),
)


class History:
    """A table, all that landed in each of its versions, and the versions that the views cover."""

    def __init__(self, dataset: EmulatedDataset) -> None:
        self.shop = another_shop(dataset, rules=TableRules(keys=("id",), overlap_minutes=0))
        self.types: dict[str, str] = {}
        self.rows: list[tuple[str, Row]] = []
        self.covered: set[str] = set()
        self.merged: set[str] = set()
        self._handler = TableCreatedHandler(self.shop.settings, self.shop.warehouse, MemoryPublisher())

    def version(self, type_: str) -> None:
        name = f"{len(self.types):x}"
        self.shop.create(name, {**CUSTOMER, "value": type_})
        self.types[name] = type_

    def change(self, key: int, kind: str, version: int) -> None:
        if self.types:
            name = list(self.types)[version % len(self.types)]
            row = change(kind, f"{len(self.rows) + 1:X}", id=key, name=f"n{len(self.rows)}", value=VALUES[self.types[name]])
            self.shop.land(name, row)
            self.rows.append((name, row))

    def message(self, names_the_version: bool) -> None:
        if self.types:
            version = list(self.types)[-1] if names_the_version else None
            self._handler.handle(push_body(table_message(self.shop.dataset.name, self.shop.name, version)))
            self.covered = set(self.types)

    def merge(self) -> None:
        try:
            reconcile(self.shop.warehouse, self.shop.table, self.shop.settings)
        except NotFound:
            assert not self.types
        if self.covered:  # a merge keeps a view that exists
            self.merged = set(self.types)

    def check(self) -> None:
        if not self.covered:
            return
        unified = self._read("unified")
        landed = [row for name, row in self.rows if name in self.covered]
        assert sorted(str(row[1]) for row in unified) == sorted(row["name"] for row in landed)
        assert sorted(self._read("current")) == sorted(self._expected(self.covered | self.merged))

    def _expected(self, versions: set[str]) -> list[tuple[str, str, str]]:
        types = {self.types[name] for name in versions}
        rows = oracle([row for name, row in self.rows if name in versions], ["id"])
        return [(str(row["id"]), row["name"], shown(row["value"], types)) for row in rows]

    def _read(self, kind: str) -> list[tuple[str, str, str]]:
        view = self.shop.dataset.quoted(f"{self.shop.name}_{kind}")
        rows = self.shop.dataset.run(f"SELECT id, name, value FROM {view}")
        return [(str(id_), str(name), str(value)) for id_, name, value in rows]


def shown(value: Any, types: set[str]) -> str:
    """A value in the least common type of the versions (docs/reference/types.md), as text."""
    if isinstance(value, bool) and types != {"BOOL"}:
        return "true" if "STRING" in types else "1"
    return str(value)


@settings(max_examples=examples(6), deadline=None, suppress_health_check=list(HealthCheck))
@given(history=st.lists(steps, min_size=4, max_size=9))
def test_after_each_step_both_views_are_what_they_have_to_be(dataset: EmulatedDataset, history: list[Any]) -> None:
    scene = History(dataset)
    scene.version("BOOL")
    scene.change(1, "INSERT", 0)
    scene.message(True)
    for name, *arguments in history:
        getattr(scene, name)(*arguments)
        scene.check()
