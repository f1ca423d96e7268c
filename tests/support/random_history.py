"""A table whose versions come, go and change, and a model in plain Python of what its two views have to show.

The model is written from docs/explanation/merging.md, docs/explanation/unified-view.md and docs/reference/types.md:

- the unified view shows every row of the versions that it covers, the current view the latest row of each key among the rows
  of the versions that it covers and the rows that were merged;
- a message without a version has both views cover all versions that are not retired, under the present settings; a merge
  does so with a current view that exists;
- what is refused leaves the views as they are. Only rows that were merged and whose version is gone or retired are a reason.

A view that covers a table which was dropped since cannot be read until the next message or merge: no view can.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Literal

from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change
from support.in_memory import MemoryPublisher, push_body
from support.merge_shop import CUSTOMER, another_shop
from support.oracle import Row, oracle

from onefold.core.errors import NotFound, SchemaConflict
from onefold.messages.table_created import table_message
from onefold.schema.columns import Column
from onefold.schema.table_rules import TableRules
from onefold.schema.types import parse_type
from onefold.views.handler import TableCreatedHandler
from onefold.views.reconcile import reconcile

VALUES: dict[str, Any] = {"BOOL": True, "INT64": 7, "NUMERIC": 8, "STRING": "x"}
"""A value of each type of the column `value`."""
DEAD_LETTER = "dead-letter"
RULES = TableRules(keys=("id",), overlap_minutes=0)
Kind = Literal["unified", "current"]


@dataclass(eq=False)
class Table:
    """A versioned table. A version that was created again is another object."""

    version: str
    type: str
    note: bool = False
    """Whether the table has the column `note`, which some tables get in place."""
    rows: list[Row] = field(default_factory=list)


@dataclass(frozen=True)
class Coverage:
    """The state of which a view was written."""

    tables: tuple[Table, ...]
    as_text: bool
    note: bool

    def shown(self, value: Any) -> str:
        """Return a value as text, in the least common type of the tables."""
        types = {"STRING"} if self.as_text else {table.type for table in self.tables}
        if isinstance(value, bool) and types != {"BOOL"}:
            return "true" if "STRING" in types else "1"
        return str(value)


class RandomHistory:
    """The steps of a history, and the check after each of them."""

    def __init__(self, dataset: EmulatedDataset) -> None:
        self.shop = another_shop(dataset, rules=RULES)
        self.tables: dict[str, Table] = {}
        self.retired: frozenset[str] = frozenset()
        self.as_text = False
        self.merged: list[Row] = []
        self.views: dict[Kind, Coverage] = {}
        self.counts = {"read": 0, "refused": 0}
        self._names = itertools.count()
        self._landed = 0
        self._orders: dict[Kind, list[str]] = {"unified": [], "current": []}

    # Steps of a source, and of a person.

    def create(self, type_: str) -> None:
        """Create a version, and handle the message that says so."""
        self._create(f"{next(self._names):x}", type_)
        self.message()

    def create_again(self, number: int, type_: str) -> None:
        if table := self._choose(number):
            self.shop.dataset.run(f"DROP TABLE {self._quoted(table.version)}")
            self._create(table.version, type_)

    def drop(self, number: int) -> None:
        if table := self._choose(number):
            self.shop.dataset.run(f"DROP TABLE {self._quoted(table.version)}")
            del self.tables[table.version]

    def alter(self, number: int) -> None:
        table = self._choose(number)
        if table and not table.note:
            id_ = self.shop.table.sibling(f"{self.shop.name}_v_{table.version}")
            self.shop.warehouse.add_columns(id_, [Column("note", parse_type("STRING"))])
            table.note = True

    def change(self, number: int, kind: str, key: int) -> None:
        if table := self._choose(number):
            self._landed += 1
            note: dict[str, Any] = {"note": f"note {self._landed}"} if table.note else {}
            row = change(kind, f"{self._landed:X}", id=key, name=f"n{self._landed}", value=VALUES[table.type], **note)
            self.shop.land(table.version, row)
            table.rows.append(row)

    def retire(self, number: int) -> None:
        if table := self._choose(number):
            self.retired ^= {table.version}
            self._set_rules()

    def text(self) -> None:
        """Change the target type of a column, back and forth."""
        self.as_text = not self.as_text
        self._set_rules()

    # Steps of Onefold.

    def message(self) -> None:
        """Handle the message of a nightly check, which names no version."""
        publisher = MemoryPublisher()
        settings = replace(self.shop.settings, topic_dead_letter=DEAD_LETTER)
        handler = TableCreatedHandler(settings, self.shop.warehouse, publisher)
        handler.handle(push_body(table_message(self.shop.dataset.name, self.shop.name)))
        refused = publisher.topics.get(DEAD_LETTER, [])
        if not self._active():
            return
        self.views["unified"] = self._covering()
        if refused:
            self._refused(refused[0].attributes["kind"])
        else:
            self.views["current"] = self._covering()

    def merge(self) -> None:
        try:
            reconcile(self.shop.warehouse, self.shop.table, self.shop.settings)
        except NotFound:
            assert not self._active()
            return
        except SchemaConflict as error:
            self._refused(type(error).__name__)
            return
        known = {id(row) for row in self.merged}
        self.merged += [row for table in self._active() for row in table.rows if id(row) not in known]
        if "current" in self.views:
            self.views["current"] = self._covering()

    # What has to be seen.

    def check(self) -> None:
        """Read both views and compare them with the model."""
        for kind, coverage in self.views.items():
            if any(table is not self.tables.get(table.version) for table in coverage.tables):
                continue
            landed = [row for table in coverage.tables for row in table.rows]
            rows = landed if kind == "unified" else oracle([*self.merged, *landed], ["id"])
            found, expected = sorted(self._read(kind, coverage)), sorted(_texts(rows, coverage))
            assert found == expected, (kind, found, expected)
            self._check_order(kind)
            self.counts["read"] += 1

    def _check_order(self, kind: Kind) -> None:
        """Columns that a view had before keep their order."""
        stored = self.shop.warehouse.get_view(self.shop.table.sibling(f"{self.shop.name}_{kind}"))
        assert stored is not None
        names = [column.name for column in stored.columns]
        former = self._orders[kind]
        assert [name for name in names if name in former] == [name for name in former if name in names]
        self._orders[kind] = names

    def _refused(self, error: str) -> None:
        active = {id(row) for table in self._active() for row in table.rows}
        assert error == "SchemaConflict"
        assert any(id(row) not in active for row in self.merged), "refused, although no merged row is missing"
        self.counts["refused"] += 1

    def _covering(self) -> Coverage:
        active = self._active()
        return Coverage(active, self.as_text, any(table.note for table in active))

    def _active(self) -> tuple[Table, ...]:
        return tuple(table for table in self.tables.values() if table.version not in self.retired)

    def _choose(self, number: int) -> Table | None:
        found = list(self.tables.values())
        return found[number % len(found)] if found else None

    def _create(self, version: str, type_: str) -> None:
        self.shop.create(version, {**CUSTOMER, "value": type_})
        self.tables[version] = Table(version, type_)

    def _set_rules(self) -> None:
        types = (("value", parse_type("STRING")),) if self.as_text else ()
        self.shop.rules = replace(RULES, types=types, retired=self.retired)

    def _quoted(self, version: str) -> str:
        return self.shop.dataset.quoted(f"{self.shop.name}_v_{version}")

    def _read(self, kind: Kind, coverage: Coverage) -> list[tuple[str, ...]]:
        columns = "id, name, value, note" if coverage.note else "id, name, value"
        view = self.shop.dataset.quoted(f"{self.shop.name}_{kind}")
        return [tuple(map(_text, row)) for row in self.shop.dataset.run(f"SELECT {columns} FROM {view}")]


def _text(value: object) -> str:
    return f"{value.normalize():f}" if isinstance(value, Decimal) else str(value)


def _texts(rows: Iterable[Row], coverage: Coverage) -> list[tuple[str, ...]]:
    count = 4 if coverage.note else 3
    found = ((str(row["id"]), str(row["name"]), coverage.shown(row["value"]), str(row.get("note"))) for row in rows)
    return [row[:count] for row in found]
