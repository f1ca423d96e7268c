"""Reads what there is of the views of datasets, for an export."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from onefold.core.errors import NotFound
from onefold.core.names import LEAF_PREFIX, TableId
from onefold.export.product import ExportedView, Product, loaded_at
from onefold.inventory.contents import read_contents
from onefold.inventory.summary import TableSummary, ViewState, summaries
from onefold.ports.warehouse import StoredView
from onefold.refresh.tables_read import ids_read
from onefold.schema.columns import Schema
from onefold.settings.environment import Settings
from onefold.views.current_text import remembered_keys

_WRITTEN = ("up to date", "out of date")


@dataclass(frozen=True)
class Export:
    """What was found, and a warning for each view that is not exported."""

    products: tuple[Product, ...]
    warnings: tuple[str, ...]


def read_export(warehouse: Any, datasets: Iterable[str], settings: Settings) -> Export:
    """Read the views of datasets: the queries of `read_contents` for each, and a call for each view.

    Args:
        warehouse: a `ListingWarehouse` and a `BaseWarehouse`.
        datasets: the datasets of the tables.
        settings: those of the installation.

    Raises:
        NotFound: a dataset does not exist, or Onefold keeps no view of its tables.
    """
    products: list[Product] = []
    warnings: list[str] = []
    for dataset in dict.fromkeys(datasets):
        contents = read_contents(warehouse, dataset, settings)
        tables = list(summaries(warehouse, dataset, contents, settings.with_plain(dataset, contents.plain)))
        warnings += contents.warnings
        warnings += (
            f"{view.id} is not exported: {view.reason}"
            for table in tables
            for view in table.views
            if view.state not in _WRITTEN
        )
        product = _Reader(warehouse).product(dataset, tables)
        if not product.views:
            place = f"{warehouse.project}.{dataset}"
            raise NotFound(f"dataset {place} has no view that Onefold keeps: {_advice(dataset, settings)}")
        products.append(product)
    return Export(tuple(products), tuple(warnings))


def _advice(dataset: str, settings: Settings) -> str:
    """Return what to do about a dataset without views of its tables: it may be the one that views are written into."""
    of_views = re.escape(settings.plain_dataset).replace(r"\{dataset\}", "(.+)")
    owner = re.fullmatch(of_views, dataset)
    if owner and owner[1] != dataset:
        return f"name the dataset of the tables, `onefold export dbt {owner[1]}`"
    return f"`onefold refresh --dataset {dataset} --all` writes them"


@dataclass(frozen=True)
class _Reader:
    warehouse: Any

    def product(self, dataset: str, tables: Iterable[TableSummary]) -> Product:
        views: list[ExportedView] = []
        fresh: dict[TableId, str | None] = {}
        for table in tables:
            found = [(state, stored) for state in table.views if (stored := self._stored(state))]
            views += (self._view(state, stored) for state, stored in found)
            fresh |= self._loaded_at(table, found)
        times = {id_: time for id_, time in fresh.items() if time}
        return Product(dataset, tuple(sorted(views, key=lambda view: str(view.id))), times)

    def _stored(self, state: ViewState) -> StoredView | None:
        """Return a view; None where it is not Onefold's, or was dropped in the meantime."""
        stored: StoredView | None = self.warehouse.get_view(state.id) if state.state in _WRITTEN else None
        return stored if stored and stored.is_view else None

    def _view(self, state: ViewState, stored: StoredView) -> ExportedView:
        # A clean view may hide or mask a part of the key, and a unified view has a row for each change.
        keys = remembered_keys(stored.query) if state.kind == "current" else ()
        known = Schema(stored.columns).only(keys).names
        return ExportedView(
            stored.id,
            stored.columns,
            stored.description,
            stored.descriptions,
            known if len(known) == len(keys) else (),
            tuple(sorted(set(self._reads(stored)) - {stored.id}, key=str)),
        )

    def _reads(self, stored: StoredView) -> Iterator[TableId]:
        """Yield what a view reads; in place of a leaf view, what the leaf reads."""
        for id_ in ids_read(stored.query):
            if not id_.table.startswith(LEAF_PREFIX):
                yield id_
            elif leaf := self.warehouse.get_view(id_):
                yield from self._reads(leaf)

    def _loaded_at(self, table: TableSummary, found: list[tuple[ViewState, StoredView]]) -> dict[TableId, str | None]:
        """Return where to see how fresh a table is: in its unified view, because a former version gets no rows any more."""
        if not table.versions and found:
            return {table.table: loaded_at(self.warehouse.read_columns(table.table) or ())}
        return {stored.id: loaded_at(stored.columns) for state, stored in found if state.kind == "unified"}
