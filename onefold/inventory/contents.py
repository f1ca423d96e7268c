"""The contents of a dataset, read by a fixed number of queries, however many tables it has."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from onefold.changelog.metadata import METADATA
from onefold.check.log import CHECK_TABLE
from onefold.core.errors import AccessDenied, NotFound
from onefold.core.names import TableId
from onefold.inventory.last_checks import LastCheck, checks_query, last_checks
from onefold.merge.base_table import log_of
from onefold.merge.plain import found_plain
from onefold.ports.listing import ListedTable, ListingWarehouse, StoredSize
from onefold.pull.load.run_log import LOG_TABLE
from onefold.refresh.labels import TABLE_LABEL
from onefold.schema.plain_table import PlainTable
from onefold.schema.types import Type
from onefold.settings.environment import Settings
from onefold.views.current_kind import current_owner


@dataclass(frozen=True)
class Contents:
    """What the metadata and the logs of a dataset tell.

    Attributes:
        tables: its tables and views, by name.
        views: the views of its tables, by their full name: those of the dataset, and of the datasets for its views.
        sizes: the sizes of its tables, by name; None where nobody may read them.
        loads: when a pull was loaded last, by base name.
        checks: the last check, by base name.
        read: the datasets whose views are known; of another one nobody knows which views it has.
        warnings: what could not be read, and why.
        plain: its plain change tables, by name.
        with_metadata: the names of its tables whose rows are changes, with `datastream_metadata`.
        own_sizes: the sizes of what is in other datasets for the bases of its plain change tables, by full name.
    """

    tables: Mapping[str, ListedTable]
    views: Mapping[TableId, ListedTable] = field(default_factory=dict)
    sizes: Mapping[str, StoredSize] | None = None
    loads: Mapping[str, datetime] = field(default_factory=dict)
    checks: Mapping[str, LastCheck] = field(default_factory=dict)
    read: frozenset[str] = frozenset()
    warnings: tuple[str, ...] = ()
    plain: Mapping[str, PlainTable] = field(default_factory=dict)
    with_metadata: frozenset[str] = frozenset()
    own_sizes: Mapping[TableId, StoredSize] = field(default_factory=dict)

    @property
    def labels(self) -> dict[str, Mapping[str, str]]:
        """The labels of all tables that are not views, by name."""
        return {name: table.labels for name, table in self.tables.items() if not table.is_view}


def read_contents(warehouse: ListingWarehouse, dataset: str, settings: Settings) -> Contents:
    """Read the metadata of a dataset, of the datasets of its views, and the logs of pulls and checks.

    Args:
        warehouse: where the dataset is.
        dataset: its name.
        settings: those of the installation, which say where views are.

    Raises:
        NotFound: the dataset does not exist.
    """
    tables = {table.name: table for table in warehouse.list_dataset(dataset)}
    metadata = warehouse.column_types(dataset, METADATA) if any(not table.is_view for table in tables.values()) else {}
    plain = _plain_tables(warehouse.project, dataset, settings, tables, metadata)
    settings = settings.with_plain(dataset, plain)
    warnings: list[str] = []
    views, names = dict(_views(warehouse.project, dataset, tables.values())), {dataset: frozenset(tables)}
    for other in view_datasets(settings, TableId(warehouse.project, dataset, "table"), tables):
        listed = _unless_unreadable(lambda name=other: warehouse.list_dataset(name), (), warnings)  # type: ignore[misc]
        views |= _views(warehouse.project, other, listed or ())
        names |= {} if listed is None else {other: frozenset(table.name for table in listed)}
    bases = [other for other in base_datasets(settings, warehouse.project, dataset) if other in names]

    def sizes(name: str) -> Mapping[str, StoredSize] | None:
        found: Mapping[str, StoredSize] | None = _unless_unreadable(lambda: warehouse.list_sizes(name), {}, warnings)
        return found

    def log(table: str, sql: Callable[[TableId], str], *places: str) -> list[dict[str, Any]]:
        logs = [TableId(warehouse.project, place, table) for place in (dataset, *places) if table in names[place]]
        return [row for id_ in logs for row in _unless_unreadable(partial(warehouse.fetch, sql(id_)), [], warnings) or ()]

    return Contents(
        tables,
        views,
        sizes(dataset),
        {row["table_name"]: row["loaded_at"] for row in log(LOG_TABLE, loads_query)},
        last_checks(log(CHECK_TABLE, checks_query, *bases)),
        frozenset(names),
        tuple(warnings),
        plain,
        frozenset(metadata),
        {TableId(warehouse.project, other, name): size for other in bases for name, size in (sizes(other) or {}).items()},
    )


def _plain_tables(
    project: str, dataset: str, settings: Settings, tables: Mapping[str, ListedTable], metadata: Mapping[str, Type]
) -> dict[str, PlainTable]:
    """Return the plain change tables of a dataset. Names and labels tell which have a base or a view in it already."""

    def beside(names: Collection[str]) -> frozenset[str]:
        ids = [TableId(project, dataset, name) for name in names]
        return frozenset(id_.table for id_ in ids if log_of(id_).table in tables or _has_view(id_, settings, tables))

    labels = {name: table.labels for name, table in tables.items() if not table.is_view}
    return found_plain(dataset, settings, labels, metadata, beside)


def _has_view(table: TableId, settings: Settings, tables: Mapping[str, ListedTable]) -> bool:
    view = settings.current_view_of(table)
    found = tables.get(view.table) if view.dataset == table.dataset else None
    return found is not None and found.labels.get(TABLE_LABEL) == current_owner(table)


def view_datasets(settings: Settings, table: TableId, tables: Mapping[str, ListedTable]) -> list[str]:
    """Return the other datasets that hold views of the tables of a dataset.

    Where `ONEFOLD_VIEW_DATASET` holds `{table}`, each table has a dataset of its own, and none is read.

    Args:
        settings: those of the installation.
        table: any name in the dataset.
        tables: its tables.
    """
    by_table = "{table}" in settings.view_dataset
    named = [] if by_table else [settings.view_of(table).dataset]
    pulled = LOG_TABLE in tables or bool(settings.sources)
    full = [f"{table.dataset}__views_full"] if pulled else []
    clean = [settings.clean_view_of(table).dataset]
    plain = [settings.current_view_of(table.sibling(name)).dataset for name in settings.plain_in(table.dataset or "")]
    bases = base_datasets(settings, table.project, table.dataset or "")
    return [name for name in dict.fromkeys([*named, *full, *clean, *plain, *bases]) if name and name != table.dataset]


def base_datasets(settings: Settings, project: str | None, dataset: str) -> list[str]:
    """Return the other datasets that hold the bases of the plain change tables of a dataset.

    Args:
        settings: those that know the tables.
        project: the project of the dataset.
        dataset: the dataset.
    """
    tables = [TableId(project, dataset, name) for name in settings.plain_in(dataset)]
    places = dict.fromkeys(settings.rules_for(table).base_place(table).dataset for table in tables)
    return [name for name in places if name and name != dataset]


def loads_query(log: TableId) -> str:
    """Return the query for the last load of each pulled table."""
    return (
        f"SELECT l.table_name, MAX(l.logged_at) AS loaded_at\nFROM {log.quoted} AS l\nWHERE l.state = 'loaded'\n"
        "GROUP BY l.table_name"
    )


def _views(project: str, dataset: str, listed: Iterable[ListedTable]) -> Mapping[TableId, ListedTable]:
    return {TableId(project, dataset, table.name): table for table in listed}


def _unless_unreadable(read: Callable[[], Any], absent: Any, warnings: list[str]) -> Any:
    """Return what `read` returns; `absent` for what does not exist, and None, with a warning, for what may not be read."""
    try:
        return read()
    except NotFound:
        return absent
    except AccessDenied as error:
        warnings.append(f"not known: {error}")
        return None
