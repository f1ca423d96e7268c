"""A warehouse of events in memory, which keeps the promises of the port and nothing more: types grow as in BigQuery.

Each method makes its steps one at a time, and calls `step` before each, where a test can kill the loader or let another one
go on. A step is what a warehouse does at one moment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from onefold.core.errors import TryAgain
from onefold.core.shred_options import Warehouse
from onefold.ports.event_tables import Columns, EventTable, EventTableLoad, FoundTable, KnownColumns, LoadResult
from onefold.schema.growth import grown


@dataclass
class MemoryTables:
    """What is in the warehouse."""

    tables: dict[str, FoundTable] = field(default_factory=dict)
    rows: dict[str, Counter[str]] = field(default_factory=dict)
    """By table, how often the rows of each run were appended."""
    columns_of_rows: dict[tuple[str, str], Columns] = field(default_factory=dict)
    listed: list[tuple[str, str, KnownColumns]] = field(default_factory=list)
    done: set[tuple[str, str]] = field(default_factory=set)
    jobs: set[tuple[str, str]] = field(default_factory=set)


def nothing() -> None:
    """The step of a loader that nobody disturbs."""


@dataclass
class MemoryWarehouse:
    """`onefold.ports.event_tables.EventWarehouse` over tables that several loaders share."""

    state: MemoryTables
    step: Callable[[], None] = nothing
    warehouse: Warehouse = "bigquery"
    place: str = "memory"
    refuses: Mapping[str, Exception] = field(default_factory=dict)
    """The error of a load, by table."""

    def grown(self, existing: str, new: str) -> str | None:
        return grown(existing, new)

    def prepare(self) -> None:
        self.step()

    def recorded(self, runs: Collection[str]) -> frozenset[tuple[str, str]]:
        self.step()
        return frozenset(one for one in self.state.done if one[0] in runs)

    def find(self, name: str) -> FoundTable | None:
        self.step()
        return self.state.tables.get(name)

    def histories(self, names: Collection[str]) -> Mapping[str, Sequence[KnownColumns]]:
        self.step()
        return {name: [known for _, table, known in self.state.listed if table == name] for name in names}

    def record_plan(self, run: str, registry_read_at: datetime, tables: Sequence[EventTable]) -> None:
        self.step()
        self.state.listed += [
            (run, table.name, KnownColumns(table.columns, table.uri, registry_read_at, False)) for table in tables
        ]

    def create(self, table: EventTable) -> None:
        self.step()
        self.state.tables.setdefault(table.name, FoundTable(table.columns, table.uri, table.labels, table.descriptions))

    def change(self, name: str, before: FoundTable, after: EventTable) -> None:
        self.step()
        if self.state.tables.get(name) != before:
            raise TryAgain(f"{name} was changed")
        assert after.columns[: len(before.columns)] or not before.columns
        texts = (
            None if before.descriptions is None else tuple({**dict(after.descriptions), **dict(before.descriptions)}.items())
        )
        self.state.tables[name] = FoundTable(after.columns, after.uri, after.labels, texts)

    def load(self, loads: Sequence[EventTableLoad], wait: float | None = None) -> Sequence[LoadResult]:
        results = []
        for load in loads:
            name = load.table.name
            self.step()
            if error := self.refuses.get(name):
                results.append(LoadResult(name, error=error))  # type: ignore[arg-type]
                continue
            if (load.run, name) not in self.state.jobs:  # a job of one identifier runs once
                has = dict(self.state.tables[name].columns)
                assert all(self.grown(has[column], type_) == has[column] for column, type_ in load.table.columns)
                self.state.jobs.add((load.run, name))
                self.state.rows.setdefault(name, Counter())[load.run] += load.rows
                self.state.columns_of_rows[load.run, name] = load.table.columns
            results.append(LoadResult(name, f"job of {load.run}"))
        self.step()
        for load, result in zip(loads, results, strict=True):
            if result.error is None:
                known = KnownColumns(load.table.columns, load.table.uri, load.registry_read_at, True)
                self.state.listed.append((load.run, load.table.name, known))
                self.state.done.add((load.run, load.table.name))
        return results

    def finish(self, run: str) -> None:
        self.step()
        self.state.done.add((run, ""))
