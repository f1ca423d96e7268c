"""Use case: what the tables of a dataset are that other tools have written. It reads metadata, and changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from onefold.core.errors import AccessDenied, NotFound, OnefoldError
from onefold.core.names import LEAF_PREFIX, TEMPORARY_PREFIX, TableId
from onefold.existing.current_query import current_query
from onefold.existing.recognise import recognise, tools
from onefold.existing.table import ExistingTable, Recognised, TableNote
from onefold.existing.tool import Notes
from onefold.ports.existing import ExistingWarehouse
from onefold.schema.columns import Schema
from onefold.settings.environment import Settings
from onefold.settings.unknown_keys import near_name

_OWN = (TEMPORARY_PREFIX, LEAF_PREFIX)


@dataclass(frozen=True)
class Discovered:
    """A table and what it is.

    Attributes:
        id: its full name.
        table: what the metadata tell of it.
        found: what it is.
        current: the query of its current rows; None where there is none, or where it is not known.
    """

    id: TableId
    table: ExistingTable
    found: Recognised
    current: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of `--json`."""
        return {
            "table": str(self.id),
            **self.found.as_dict(),
            "row_count": self.table.rows,
            "bytes": self.table.size,
            "current": self.current,
        }


@dataclass(frozen=True)
class NotedKeys:
    """The queries for what tools noted of their tables, before they run.

    Attributes:
        queries: the queries, by the table that each reads.
        size: the bytes that they read.
    """

    queries: Mapping[str, tuple[Notes, str]]
    size: int


@dataclass(frozen=True)
class DatasetTables:
    """The tables of a dataset as its metadata tell them.

    Attributes:
        place: any name in the dataset.
        tables: its tables, by name.
        warnings: what could not be read, and why.
    """

    place: TableId
    tables: Mapping[str, ExistingTable]
    warnings: tuple[str, ...] = ()


def read_tables(warehouse: ExistingWarehouse, dataset: str) -> DatasetTables:
    """Read the metadata of a dataset: three queries and a call, however many tables it has.

    Args:
        warehouse: where the dataset is.
        dataset: its name.

    Raises:
        NotFound: the dataset does not exist.
    """
    layouts = warehouse.list_layouts(dataset)
    keys = warehouse.list_keys(dataset) if layouts else {}
    warnings: tuple[str, ...] = ()
    try:
        sizes = warehouse.list_sizes(dataset) if layouts else {}
    except (AccessDenied, NotFound) as error:
        sizes, warnings = {}, (f"the sizes are not known: {error}",)
    names = frozenset(layouts)
    found = {}
    for name, layout in layouts.items():
        if name.startswith(_OWN):
            continue
        size = sizes.get(name)
        table = ExistingTable(name, Schema(layout.columns), keys.get(name, ()), layout.partition, layout.clustering, names)
        found[name] = replace(table, rows=size.rows, size=size.size, written_at=size.written_at) if size else table
    return DatasetTables(TableId(warehouse.project, dataset, ""), found, warnings)


def with_settings(listed: DatasetTables, settings: Settings) -> DatasetTables:
    """Return the tables with the keys and the orders that onefold.yaml declares, which win over those in BigQuery."""
    found = {}
    for name, table in listed.tables.items():
        rules = settings.rules_for(listed.place.sibling(name))
        found[name] = replace(
            table, key=rules.keys or table.key, order_by=rules.order_by, declared_rows=rules.rows,
            has_declared_key=bool(rules.keys),
        )  # fmt: skip
    return replace(listed, tables=found)


def noted_keys(warehouse: ExistingWarehouse, listed: DatasetTables) -> NotedKeys:
    """Return the queries for what tools noted of their tables, and the bytes that they read; none of them is run."""
    queries = {
        tool.notes.table: (tool.notes, tool.notes.query(listed.place.sibling(tool.notes.table)))
        for tool in tools()
        if tool.notes and tool.notes.table in listed.tables
    }
    return NotedKeys(queries, sum(warehouse.estimate(sql).size for _, sql in queries.values()))


def with_notes(warehouse: ExistingWarehouse, listed: DatasetTables, noted: NotedKeys) -> DatasetTables:
    """Return the tables with what tools noted of them; a table of notes that cannot be read is a warning."""
    found: dict[str, dict[str, TableNote]] = {}
    warnings = list(listed.warnings)
    for source, (notes, sql) in noted.queries.items():
        try:
            for name, note in notes.read(warehouse.fetch(sql)).items():
                found.setdefault(name, {})[source] = note
        except OnefoldError as error:
            warnings.append(f"{source} is not read: {error}")
    tables = {name: replace(table, notes=found.get(name, {})) for name, table in listed.tables.items()}
    return replace(listed, tables=tables, warnings=tuple(warnings))


def discover(listed: DatasetTables, pattern: str = "*") -> list[Discovered]:
    """Return what each table is, in the order of the names.

    Args:
        listed: the tables of the dataset.
        pattern: of the names of the tables that are asked for.

    Raises:
        NotFound: no table matches.
    """
    chosen = [name for name in sorted(listed.tables) if fnmatchcase(name, pattern)]
    if not chosen and pattern != "*":
        raise NotFound(
            f"dataset {str(listed.place).rstrip('.')}: no table matches {pattern}{near_name(pattern, listed.tables)}: "
            "`onefold discover` of the whole dataset shows all"
        )
    return list(_discovered(listed, chosen))


def _discovered(listed: DatasetTables, names: Iterable[str]) -> Iterator[Discovered]:
    for name in names:
        table, id_ = listed.tables[name], listed.place.sibling(name)
        found = recognise(table)
        try:
            yield Discovered(id_, table, found, current_query(id_, table, found))
        except OnefoldError as error:  # a type that this release does not know: the table is told without a query
            yield Discovered(id_, table, replace(found, notes=(*found.notes, f"no query of its rows: {error}")))


def own_last(found: Sequence[Discovered]) -> list[Discovered]:
    """Return the tables that people read, then those that the tools keep for themselves."""
    return sorted(found, key=lambda one: (one.found.rows == "own", one.id.table))
