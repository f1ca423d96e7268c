"""A warehouse of bases that is told what there is and what its queries find, and keeps the script of what it was asked.

Only here are questions, statements and the steps of the view in one order, which the golden scripts of merges show.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from onefold.core.errors import NotFound, TryAgain
from onefold.core.names import TableId
from onefold.core.versioned_names import DEFAULT_NAMES, VersionedNames
from onefold.merge.plan import MergePlan
from onefold.ports.listing import StoredSize
from onefold.ports.warehouse import StoredTable, StoredView, WriteResult
from onefold.schema.bigquery import add_statement, create_statement
from onefold.schema.columns import Column
from onefold.schema.versions import Version

CREATED = datetime(2026, 11, 20, tzinfo=UTC)
"""When the tables were created that are there at first. Each table that is made later is a minute younger than the last."""
WRITTEN = WriteResult(5, 3, 2, 1_000)
"""What each statement that writes has written."""


@dataclass
class ToldWarehouse:
    """`onefold.ports.warehouse.BaseWarehouse`, as far as merges use it.

    It honours: tables by name; a table that is created or replaced has another time of creation, and one that exists stays
    as it is when it is created again; columns that are added are there; declared keys.

    It does not: run SQL. A query finds the rows of the first of `answers` whose text is part of the query, and is an error
    where there is none. A table that is replaced has the columns that `becomes` tells.
    """

    tables: dict[TableId, StoredTable] = field(default_factory=dict)
    versions: tuple[Version, ...] = ()
    answers: list[tuple[str, list[dict[str, Any]]]] = field(default_factory=list)
    becomes: tuple[Column, ...] = ()
    written: WriteResult = WRITTEN
    bases: tuple[str, ...] = ()
    views: frozenset[TableId] = frozenset()
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    written_times: Mapping[TableId, datetime | None] = field(default_factory=dict)
    sizes: Mapping[TableId, StoredSize] = field(default_factory=dict)
    dropped_by: str | None = None
    """The text of a statement at which another process drops what it writes."""
    travels: Mapping[str, timedelta] = field(default_factory=dict)
    project: str = "my-project"
    script: list[str] = field(default_factory=list)

    def read_table(self, id_: TableId) -> StoredTable | None:
        return self.tables.get(id_)

    def read_columns(self, id_: TableId) -> tuple[Column, ...] | None:
        found = self.tables.get(id_)
        return found.columns if found else None

    def has_table(self, id_: TableId) -> bool:
        return id_ in self.tables

    def get_view(self, id_: TableId) -> StoredView | None:
        return StoredView(id_, is_view=True) if id_ in self.views else None

    def read_versions(self, base: TableId, names: VersionedNames = DEFAULT_NAMES) -> tuple[Version, ...]:
        return self.versions

    def list_bases(self, dataset: str, names: VersionedNames = DEFAULT_NAMES) -> tuple[str, ...]:
        return self.bases

    def list_views(self, dataset: str) -> tuple[str, ...]:
        if dataset not in {id_.dataset for id_ in self.tables}:
            raise NotFound(f"dataset {dataset} was not found")
        return tuple(id_.table for id_ in self.views if id_.dataset == dataset)

    def dataset_problems(self, dataset: str) -> list[str]:
        return [f"there is no dataset {dataset}: create it"]

    def time_travel(self, dataset: str) -> timedelta | None:
        return self.travels.get(dataset)

    def list_labels(self, dataset: str) -> Mapping[str, Mapping[str, str]]:
        return self.labels

    def written_at(self, id_: TableId) -> datetime | None:
        return self.written_times.get(id_)

    def table_size(self, id_: TableId) -> StoredSize | None:
        return self.sizes.get(id_)

    def declared_keys(self, tables: Sequence[TableId]) -> Mapping[TableId, tuple[str, ...]]:
        found = {id_: self.tables[id_].primary_key for id_ in tables if id_ in self.tables}
        return {id_: key for id_, key in found.items() if key}

    def fetch(self, sql: str) -> list[dict[str, Any]]:
        self.script.append(f"-- ask\n{sql}")
        return next(rows for part, rows in self.answers if part in sql)

    def check_query(self, sql: str) -> int | None:
        self.script.append(f"-- check\n{sql}")
        return 2_000

    def execute(self, sql: str) -> WriteResult:
        self.script.append(f"-- run\n{sql}")
        if sql.startswith("CREATE OR REPLACE TABLE"):
            id_ = next(id_ for id_ in self.tables if sql.startswith(f"CREATE OR REPLACE TABLE {id_.quoted}\n"))
            self._make(id_, self.becomes, self.tables[id_].clustering)
        if self.dropped_by and self.dropped_by in sql:
            self.tables = {id_: table for id_, table in self.tables.items() if id_.quoted not in sql.partition("\n")[0]}
        return self.written

    def create_table(self, id_: TableId, columns: Sequence[Column], clustering: Sequence[str] = ()) -> None:
        self.script.append(f"-- run\n{create_statement(id_, columns, clustering)}")
        if id_ not in self.tables:
            self._make(id_, columns, clustering)

    def add_columns(self, id_: TableId, columns: Sequence[Column]) -> None:
        self.script.append(f"-- run\n{add_statement(id_, columns)}")
        self.tables[id_] = replace(self.tables[id_], columns=(*self.tables[id_].columns, *columns))

    def _make(self, id_: TableId, columns: Iterable[Column], clustering: Sequence[str]) -> None:
        latest = max((table.created for table in self.tables.values()), default=CREATED)
        self.tables[id_] = StoredTable(tuple(columns), latest + timedelta(minutes=1), tuple(clustering))


@dataclass
class ToldView:
    """`onefold.merge.migrate.ViewOverBase`: it notes in the script when the view leaves a base, and when it comes back."""

    warehouse: ToldWarehouse
    refuses: bool = False

    def before_base(self, plan: MergePlan) -> None:
        if self.refuses:
            raise TryAgain("the view cannot be written")
        packs = ", which packs" if plan.schema_plan.packs else ""
        self.warehouse.script.append(f"-- the view may leave the base for {plan.schema_plan.migration}{packs}")

    def after_base(self, plan: MergePlan) -> None:
        self.warehouse.script.append(f"-- the view reads the base ({plan.brought_up})")
