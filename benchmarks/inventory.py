"""The time of `onefold tables` on a large dataset, without the warehouse. Run: `python -m benchmarks.inventory`.

The metadata are invented: tables of three versions, each with a unified view that is up to date. The number of queries does
not depend on the number of tables (tests/inventory/test_inventory.py counts them). So what grows is the work on the answers:
the states of views are compared, and the table is printed, or the JSON. The time is the best of three.
"""

from __future__ import annotations

import argparse
import io
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from rich.console import Console

from benchmarks.report import add_options, machine, markdown, publish
from onefold.core.names import TableId
from onefold.inventory.contents import Contents
from onefold.inventory.display import show_tables
from onefold.inventory.summary import TableSummary, summaries
from onefold.ports.listing import ListedTable, StoredSize
from onefold.refresh.creations import creations_label
from onefold.refresh.labels import CREATED_LABEL, LABEL, TABLE_LABEL, fingerprint_of, owner_digest
from onefold.schema.versions import Version
from onefold.settings.environment import Settings

HEADING = "Tables of a dataset"
HEADER = ("tables", "tables and views in the dataset", "entries, s", "printed, s", "JSON, s")
DATASET, VERSIONS = "shop", ("0a", "0b", "0c")
CREATED = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Place:
    """Stands for the warehouse, of which only the project is read."""

    project: str = "a-project"


def listed(count: int) -> Iterator[ListedTable]:
    """Yield the versions and the unified view of each table."""
    created = str(creations_label([Version(one, (), CREATED) for one in VERSIONS], datetime.now(UTC)))
    for number in range(count):
        base = TableId(Place.project, DATASET, f"table_{number}")
        tables = [f"{base.table}_v_{version}" for version in VERSIONS]
        yield from (ListedTable(name, False, CREATED) for name in tables)
        labels = {TABLE_LABEL: owner_digest(str(base)), LABEL: fingerprint_of(Settings(), base), CREATED_LABEL: created}
        yield ListedTable(f"{base.table}_unified", True, CREATED, labels, frozenset(tables))


def contents(count: int) -> Contents:
    tables = {table.name: table for table in listed(count)}
    views = {TableId(Place.project, DATASET, name): table for name, table in tables.items()}
    return Contents(tables, views, {name: StoredSize(1_000, 50_000, CREATED) for name in tables})


def entries(found: Contents) -> list[TableSummary]:
    return list(summaries(Place(), DATASET, found, Settings()))


def best_of_three(work: Callable[[], object]) -> float:
    times = []
    for _ in range(3):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def line(count: int) -> tuple[str, ...]:
    found = contents(count)
    tables = entries(found)
    if any(table.problems for table in tables):
        raise SystemExit("the views of the invented tables are not up to date")
    seconds = (
        best_of_three(lambda: entries(found)),
        best_of_three(lambda: show_tables(Console(file=io.StringIO(), width=200), tables)),
        best_of_three(lambda: json.dumps([table.as_dict() for table in tables])),
    )
    return (f"{count:,}", f"{len(found.tables):,}", *(f"{figure:.2f}" for figure in seconds))


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="How long `onefold tables` takes without the warehouse.")
    add_options(parser)
    table = markdown(HEADER, [line(count) for count in (1_000, 10_000)])
    publish(parser.parse_args(argv), HEADING, machine("the best of three", {}), table)


if __name__ == "__main__":
    main()
