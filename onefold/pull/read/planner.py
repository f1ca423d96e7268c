"""Plans the pull of one table: reads its structure, asks the source for its time, and decides what is read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pymysql

from onefold.batches.source_arguments import Window
from onefold.changelog.declared_keys import same_columns
from onefold.core.errors import NotFound, TableRefused
from onefold.core.names import TableId, table_name
from onefold.landing.table import VersionedTable
from onefold.mysql.catalog import ColumnRow, TableDescription, TableName, describe_one
from onefold.mysql.connection import query, quoted
from onefold.mysql.grants import table_sql
from onefold.mysql.table import Structure
from onefold.pull.read.clock import micros
from onefold.pull.read.dropped_columns import (
    check_no_copy,
    check_no_ghost,
    check_renamed,
    described,
    dropped_columns,
    is_redescribed,
)
from onefold.pull.read.key_ranges import PART_ROWS, key_ranges
from onefold.pull.read.layout import progress_file, schema_file
from onefold.pull.read.older_rows import has_filled, is_reordered
from onefold.pull.read.part import FileDestination, table_folder
from onefold.pull.read.plan import KeyRange, LoadState, PullRequest, TablePlan
from onefold.pull.read.pulled import Loads
from onefold.pull.read.pulled_table import pulled_table
from onefold.pull.read.ranges import pull_range, whole_range
from onefold.pull.read.small_files import create_text
from onefold.pull.read.table_settings import (
    appends_nulls_only,
    check_keys,
    check_settings,
    pulled_structure,
    structure_from_json,
    watermark_of,
)
from onefold.pull.read.truncation import is_truncated, source_table
from onefold.pull.read.watermark import PullRange, Watermark
from onefold.settings.sources import Source, TableLoad, dataset_of


class Skipped(Exception):
    """A table that this request does not pull, with the reason."""


@dataclass(frozen=True)
class _Table:
    """A table as it is now at the source, with its settings and what was loaded of it."""

    name: TableName
    rows: tuple[ColumnRow, ...]
    structure: Structure
    load: TableLoad
    target: VersionedTable
    keys: tuple[str, ...]
    keys_are_named: bool
    state: LoadState
    dropped: tuple[str, ...]
    described: tuple[str, ...]


@dataclass(frozen=True)
class Planner:
    """Plans pulls from one source.

    Attributes:
        source: the source.
        request: what was asked for.
        to: where files go.
        keys_of: the keys that onefold.yaml names for a table; empty for none.
        loads: tells what was loaded before.
        part_rows: about the rows of a key range of a large table.
    """

    source: Source
    request: PullRequest
    to: FileDestination
    keys_of: Callable[[TableId], Sequence[str]]
    loads: Loads
    part_rows: int = PART_ROWS

    def plan(self, connection: pymysql.Connection, table: str) -> TablePlan:
        """Return the plan of a table's pull, and write the schema of a new structure beside the files.

        Args:
            connection: to the source, as `onefold.mysql.connection.connect` opens it.
            table: its name at the source.

        Raises:
            Skipped: there is nothing to do.
            NotFound: the table does not exist.
            TableRefused: the table cannot be pulled.
            InvalidSettings: the settings do not fit the table; all problems at once.
        """
        found = self._table(connection, table)
        self._check_age(found.state)
        watermark = watermark_of(found.structure, found.load, self.source.time_zone)
        read_at, high = _border(connection, found.name, watermark)
        at_source = source_table(connection, found.name)
        truncated = is_truncated(at_source, found.rows, watermark, high, found.state)
        rekeyed = watermark is not None and _is_rekeyed(found)
        older = self._older(found)
        first = self._is_first(connection, found, watermark, high, older)
        reordered = watermark is not None and is_reordered(
            watermark, read_at, found.state, found.structure, older, first=first
        )
        # Deletions may have been in the table that is lost: rows that they hid are in the others.
        lost = watermark is not None and found.state.lost
        replaced = truncated or rekeyed or reordered or lost
        range_ = self._range(found, watermark, high, "full" if replaced else self.request.window, whole=first or replaced)
        first = first and not replaced
        plan = TablePlan(
            request=self.request,
            dataset=dataset_of(self.source.cluster, found.name.database),
            structure=found.structure,
            target=found.target,
            load=found.load,
            keys=found.keys,
            watermark=watermark,
            range=range_,
            read_at=read_at,
            parts=self._parts(connection, found, range_),
            first=first,
            previous=found.state,
            keys_are_named=found.keys_are_named,
            dropped=found.dropped,
            truncated=truncated,
            described=found.described,
            rekeyed=rekeyed,
            created=at_source.created,
            reordered=reordered,
        )
        self._write_schema(plan)
        return self._resumed(plan) if plan.is_resumable else plan

    def _table(self, connection: pymysql.Connection, table: str) -> _Table:
        load = self.load_of(table)
        name = TableName(self.request.database, table)
        description = describe_one(connection, name)
        structure = _structure(description, name)
        base = TableId(None, dataset_of(self.source.cluster, name.database), table_name(table))
        named = tuple(self.keys_of(base))
        check_settings(structure, load, named or structure.primary_key)
        pulled = pulled_structure(structure, load)
        target = pulled_table(pulled)
        keys = named or target.primary_key
        check_keys(target, load, keys)
        rows = description.rows if description else ()
        state = self.loads.confirmed(base, self.loads.state_of(base, self.request.window))
        shown = described(rows)
        check_renamed(name, shown, load, named or structure.primary_key, state)
        if state.version is None and not self.source.names_one(name.database, table):
            check_no_ghost(name, load, self.source)
            check_no_copy(name, structure, load, self._others(base))
        return _Table(name, rows, pulled, load, target, keys, bool(named), state, dropped_columns(structure, load), shown)

    def _others(self, table: TableId) -> Iterator[LoadState]:
        """Yield what the log of loads says about the other tables, where `drop` names columns of any."""
        if table.dataset and any(load.drop for load in self.source.tables.values()):
            for other in sorted(set(self.loads.pulled_tables(table.dataset)) - {table.table}):
                yield self.loads.state_of(table.sibling(other), "15m")

    def load_of(self, table: str) -> TableLoad:
        """Return the settings of a table that this request pulls.

        Raises:
            Skipped: the request does not pull the table.
        """
        load = self.source.load_of(self.request.database, table)
        if load is None:
            raise Skipped(f"no pattern of sources.{self.source.cluster}.tables matches it: add one")
        if load.mode == "full" and self.request.window == "15m":
            raise Skipped("it is loaded full, once a day")
        return load

    def _check_age(self, state: LoadState) -> None:
        if state.started is not None and state.started >= self.request.at:
            asked, loaded = self.request.at.isoformat(), state.started.isoformat()
            raise Skipped(f"the request is of {asked}, and a pull of {loaded} was loaded before")

    def _range(
        self, found: _Table, watermark: Watermark | None, high: int | None, window: Window, *, whole: bool
    ) -> PullRange:
        if watermark is None:
            return whole_range("full", None, self.request.at, None)
        # The watermark of another column says nothing about this one.
        if whole or found.state.watermark_column not in (None, watermark.column):
            return whole_range(window, watermark, self.request.at, high, found.load.reload_days, found.state)
        return pull_range(window, found.load, watermark, found.state, self.request.at, high)

    def _parts(self, connection: pymysql.Connection, found: _Table, range_: PullRange) -> tuple[KeyRange, ...]:
        """Return key ranges where the whole table is read; a watermark is read by its own index."""
        return (
            (KeyRange(),) if range_.low is not None else key_ranges(connection, found.name, found.structure, self.part_rows)
        )

    def _is_first(
        self,
        connection: pymysql.Connection,
        found: _Table,
        watermark: Watermark | None,
        high: int | None,
        older: Sequence[Structure | None],
    ) -> bool:
        """Return whether the whole table has to be read: no watermark tells of rows that an ALTER changed."""
        if found.state.version is None or any(_differs(one, found) for one in older):
            return True
        if watermark is None:
            return False
        if is_redescribed(found.structure, found.described, found.state):
            return True
        range_ = self._range(found, watermark, high, self.request.window, whole=False)
        return has_filled(connection, found.name, watermark, range_, found.structure, older)

    def _older(self, found: _Table) -> tuple[Structure | None, ...]:
        """Return the other structures with which the newest rows may have landed; None for one that is not known."""
        table = found.structure.table
        stored = (
            self.to.store.find(self.to.address(self._schema_name(table, version)))
            for version in found.state.versions
            if version != found.target.version
        )
        return tuple(structure_from_json(json.loads(one.data)["source"]) if one else None for one in stored)

    def _write_schema(self, plan: TablePlan) -> None:
        content = {
            "table": str(plan.table),
            "version": plan.target.version,
            "columns": [{"name": column.name, "type": str(column.type)} for column in plan.target.columns],
            "source": asdict(plan.structure),
        }
        address = self.to.address(self._schema_name(plan.structure.table, plan.target.version))
        create_text(self.to.store, address, json.dumps(content, ensure_ascii=False, indent=1))

    def _schema_name(self, table: str, version: str) -> str:
        return schema_file(self.source.cluster, self.request.database, table, version)

    def _resumed(self, plan: TablePlan) -> TablePlan:
        """Return a first pull with the ranges and the border of the same pull that another process began."""
        address = self.to.address(progress_file(table_folder(plan), plan.target.version, plan.attempt))
        parts = [asdict(part) for part in plan.parts]
        begun: dict[str, Any] = {"read_at": plan.read_at, "high": plan.range.high, "parts": parts}
        if not create_text(self.to.store, address, json.dumps(begun)) and (stored := self.to.store.find(address)):
            begun = json.loads(stored.data)
        return replace(
            plan,
            read_at=begun["read_at"],
            range=replace(plan.range, high=begun["high"]),
            parts=tuple(KeyRange(**part) for part in begun["parts"]),
        )


def _structure(description: TableDescription | None, name: TableName) -> Structure:
    """Return the structure of a table.

    Raises:
        NotFound: there is no table.
        TableRefused: the table has a history of its own.
    """
    if description is None:
        raise NotFound(f"{name} does not exist at the source, or the user may not see it: correct the name, or grant SELECT")
    if description.structure is None:
        raise TableRefused(f"{name} is system-versioned, which pulls do not support", "name it under `exclude`")
    return description.structure


def _differs(older: Structure | None, found: _Table) -> bool:
    """Return whether rows of an older structure may lack what the present one would show of them."""
    return older is None or not appends_nulls_only(older, found.structure, found.rows)


def _is_rekeyed(found: _Table) -> bool:
    """Return whether rows were told apart by another key: those that landed by it would be rows of their own."""
    return found.state.version is not None and bool(found.state.keys) and not same_columns(found.state.keys, found.keys)


def _border(connection: pymysql.Connection, name: TableName, watermark: Watermark | None) -> tuple[int, int | None]:
    """Return the source's time, and the border: that time, or the greatest key; None without rows or a watermark."""
    ((text,),) = query(connection, "SELECT CAST(UTC_TIMESTAMP(6) AS CHAR)")
    now = micros(datetime.fromisoformat(text).replace(tzinfo=UTC))
    if watermark is None or watermark.is_time:
        return now, now if watermark else None
    ((greatest,),) = query(connection, f"SELECT MAX({quoted(watermark.column)}) FROM {table_sql(name)}")
    return now, None if greatest is None else int(greatest)
