"""A dataset of which only the metadata exist, with the calls for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from onefold.core.errors import AccessDenied, NotFound
from onefold.existing.table import ExistingTable
from onefold.ports.existing import StoredLayout
from onefold.ports.listing import StoredSize
from onefold.ports.queries import QueryEstimate


@dataclass
class DescribedDataset:
    """`ExistingWarehouse` with one dataset, `shop`. A query reads 10 bytes for each table that it names."""

    tables: list[ExistingTable]
    answer: Callable[[str], list[dict[str, Any]]] = lambda _: []
    sizes_denied: bool = False
    calls: list[str] = field(default_factory=list)
    project: str = "p"

    def list_layouts(self, dataset: str) -> Mapping[str, StoredLayout]:
        self.calls.append("layouts")
        if dataset != "shop":
            raise NotFound(f"dataset {dataset} does not exist")
        return {one.name: StoredLayout(tuple(one.columns), one.partition, one.clustering) for one in self.tables}

    def list_keys(self, dataset: str) -> Mapping[str, tuple[str, ...]]:
        self.calls.append(f"keys of {dataset}")
        return {one.name: one.key for one in self.tables if one.key}

    def list_sizes(self, dataset: str) -> Mapping[str, StoredSize]:
        self.calls.append(f"sizes of {dataset}")
        if self.sizes_denied:
            raise AccessDenied("no right")
        return {one.name: StoredSize(one.rows or 0, one.size, one.written_at) for one in self.tables}

    def estimate(self, sql: str) -> QueryEstimate:
        self.calls.append("estimate")
        return QueryEstimate("SELECT", 10 * sql.count("FROM `"))

    def fetch(self, sql: str) -> list[dict[str, Any]]:
        self.calls.append("query")
        return self.answer(sql)
