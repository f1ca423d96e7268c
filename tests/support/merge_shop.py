"""What the tests of merges share: a shop with change tables in the emulator, and a warehouse that dies."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from support.bigquery_emulator import EmulatedDataset
from support.changelogs import Row, land_changes, oracle

from onefold.changelog.base_columns import PACKED, POSITION
from onefold.changelog.metadata import LANDED_AT
from onefold.changelog.packed_position import unpacked_sql
from onefold.core.names import TableId
from onefold.merge.apply import merge_changes
from onefold.merge.merge_state import MergeCounts
from onefold.merge.migrate import prepare
from onefold.merge.plan import MergePlan
from onefold.merge.stored_base import is_packed
from onefold.ports.warehouse import BaseWarehouse, StoredView, ViewDraft, WriteResult
from onefold.schema.columns import Column
from onefold.schema.contract_rules import Contracts
from onefold.schema.table_rules import TableRules
from onefold.settings.environment import Settings
from onefold.views.base_view import CurrentViewOverBase
from onefold.views.refresh_current import refresh_current
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, EmulatedWarehouse

LONG_AGO = "2020-01-01 00:00:00"
CUSTOMER = {"id": "INT64", "name": "STRING", LANDED_AT: "TIMESTAMP"}

_names = itertools.count(1)


def now() -> str:
    """As a sink would say when a row landed."""
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S.%f}"


def soon() -> str:
    """The time of a landing that no merge of the test has read."""
    return f"{datetime.now(UTC) + timedelta(hours=1):%Y-%m-%d %H:%M:%S}"


def merge(
    warehouse: BaseWarehouse, table: TableId, settings: Settings, keys: Sequence[str] = (), *, rebuild: bool = False
) -> tuple[MergePlan, MergeCounts]:
    """Merge what landed, and leave a current view as it is where the base is not replaced."""
    plan = prepare(warehouse, table, settings, CurrentViewOverBase(warehouse, settings), keys, rebuild=rebuild)
    return plan, merge_changes(warehouse, plan)


@dataclass
class Shop:
    """Change tables of one name in a dataset, their base, and all changes that ever landed."""

    dataset: EmulatedDataset
    name: str = "customer"
    keys: tuple[str, ...] = ("id",)
    rules: TableRules = field(default_factory=lambda: TableRules(overlap_minutes=0))
    landed: list[Row] = field(default_factory=list)
    contracts: Contracts = field(default_factory=Contracts)
    warehouse: EmulatedWarehouse = field(init=False)

    def __post_init__(self) -> None:
        self.warehouse = EmulatedWarehouse(self.dataset.client)

    @property
    def table(self) -> TableId:
        return TableId(DEFAULT_PROJECT, self.dataset.name, self.name)

    @property
    def settings(self) -> Settings:
        return Settings(rules=self.rules, contracts=self.contracts)

    def prepare(self) -> MergePlan:
        view = CurrentViewOverBase(self.warehouse, self.settings)
        return prepare(self.warehouse, self.table, self.settings, view, self.keys)

    def create(self, version: str, columns: Mapping[str, str]) -> None:
        land_changes(self.dataset, f"{self.name}_v_{version}", columns, [])

    def land(self, version: str, *changes: Row, at: str | None = None) -> None:
        """Rows of a version that is there, with the time of their landing."""
        rows = [{**row, LANDED_AT: at or now()} for row in changes]
        self.landed += changes
        table = f"{DEFAULT_PROJECT}.{self.dataset.name}.{self.name}_v_{version}"
        if rows:
            assert self.dataset.client.insert_rows_json(table, rows) == []

    def merge(self, **options: Any) -> MergeCounts:
        return self.plan_and_merge(**options)[1]

    def plan_and_merge(self, **options: Any) -> tuple[MergePlan, MergeCounts]:
        return merge(options.pop("warehouse", self.warehouse), self.table, self.settings, self.keys, **options)

    def base(self) -> list[dict[str, Any]]:
        """Every row of the base, tombstones included, by key, with positions as text."""
        stored = self.warehouse.read_table(self.table.sibling(f"{self.name}_base"))
        packed = f" EXCEPT ({PACKED}), {unpacked_sql(f'b.{PACKED}')} AS {POSITION}"
        items = f"b.*{packed if stored and is_packed(stored.columns) else ''}"
        return self._rows(f"SELECT {items} FROM {self.dataset.quoted(f'{self.name}_base')} AS b")

    def people_see(self) -> list[dict[str, Any]]:
        """The base's rows without tombstones, in the source's columns."""
        own = ("_position", "_deleted")
        return [
            {name: value for name, value in row.items() if name not in own} for row in self.base() if not row["_deleted"]
        ]

    def current(self) -> list[dict[str, Any]]:
        """What the current view shows now."""
        view = refresh_current(self.warehouse, self.table, self.keys, self.settings)
        return self._rows(f"SELECT * FROM {view.id.quoted}")

    def expected(self, *columns: str) -> list[dict[str, Any]]:
        """What the oracle makes of all that landed."""
        rows = oracle([{**dict.fromkeys(columns), **change} for change in self.landed], self.keys)
        return sorted(({name: row[name] for name in columns} for row in rows), key=self._order)

    def log(self) -> list[dict[str, Any]]:
        return [dict(row) for row in self.warehouse.fetch(f"SELECT * FROM {self.dataset.quoted(f'{self.name}_merges')}")]

    def _rows(self, sql: str) -> list[dict[str, Any]]:
        return sorted(self.warehouse.fetch(sql), key=self._order)

    def _order(self, row: Mapping[str, Any]) -> list[tuple[bool, Any]]:
        return [(row[key] is not None, row[key]) for key in self.keys]


def another_shop(dataset: EmulatedDataset, **options: Any) -> Shop:
    """One with tables of its own in the same dataset."""
    return Shop(dataset, name=f"customer{next(_names)}", **options)


class KilledError(Exception):
    """The process is gone."""


class MortalWarehouse(EmulatedWarehouse):
    """Dies right after it has written so many times."""

    def __init__(self, warehouse: EmulatedWarehouse, writes: int) -> None:
        super().__init__(warehouse._client)
        self._left = writes

    def create_table(self, *arguments: Any, **named: Any) -> None:
        super().create_table(*arguments, **named)
        self._write()

    def add_columns(self, id_: TableId, columns: Sequence[Column]) -> None:
        super().add_columns(id_, columns)
        self._write()

    def execute(self, sql: str) -> WriteResult:
        done = super().execute(sql)
        if not sql.startswith("ALTER"):
            self._write()
        return done

    def update_view(self, stored: StoredView, draft: ViewDraft) -> None:
        super().update_view(stored, draft)
        self._write()

    def _write(self) -> None:
        self._left -= 1
        if self._left == 0:
            raise KilledError
