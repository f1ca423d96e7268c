"""What tests of loads into Redshift share: a loader, and looks at what it did."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from support.redshift_runs import event_table
from support.redshift_server import CONNECTION, SCHEMA, RedshiftServer

from onefold.adapters.redshift.event_tables import RedshiftEventTables
from onefold.ports.event_tables import EventTable, EventTableLoad, LoadResult

TABLE = event_table(n="INT", text="VARCHAR(20)")
FULL = f"{CONNECTION.database}.{SCHEMA}"


def warehouse() -> RedshiftEventTables:
    """Return a loader's access, which hardly waits between two looks."""
    return RedshiftEventTables(CONNECTION, sleep=lambda seconds: time.sleep(min(seconds, 0.02)))


def rows(redshift: RedshiftServer, table: EventTable = TABLE, columns: str = "root_id, n, text") -> list[tuple[Any, ...]]:
    found = redshift.query(f'SELECT {columns} FROM {SCHEMA}."{table.name}" ORDER BY 1, 2')
    return [tuple(value.strip() if index == 0 else value for index, value in enumerate(row)) for row in found]


def recorded(redshift: RedshiftServer, state: str = "loaded") -> list[tuple[Any, ...]]:
    return redshift.query(
        f"SELECT run, table_name, rows_loaded FROM {SCHEMA}.onefold_manifest WHERE state = '{state}' ORDER BY 1, 2"
    )


def load_all(loads: Sequence[EventTableLoad]) -> Sequence[LoadResult]:
    """Do what the loader does for a run whose tables are as their files, or are absent."""
    to = warehouse()
    to.prepare()
    for load in loads:
        to.record_plan(load.run, load.registry_read_at, [load.table])
        if (found := to.find(load.table.name)) is None:
            to.create(load.table)
        elif len(found.columns) < len(load.table.columns):
            to.change(load.table.name, found, load.table)
    return to.load(loads)
