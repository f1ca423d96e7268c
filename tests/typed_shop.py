"""Workloads of every type in the embedded BigQuery: what it holds, how rows land there, and how they are compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from google.cloud import bigquery
from merging import Shop
from typed_values import comparable, plain_row

from onefold.bigquery_jobs import rest_field
from onefold.changelog import LANDED_AT, METADATA
from onefold.local.emulator import DEFAULT_PROJECT
from onefold.types import parse_type
from onefold.versions import Column
from onefold.workload import Workload, type_of

Row = dict[str, Any]

NOT_HELD: Mapping[str, str] = {}
"""Columns that the emulator cannot carry, and why: a test lands each, and fails once the emulator can."""


def held(row: Mapping[str, Any]) -> Row:
    """The row, or the change, without what the emulator cannot hold."""
    return {name: value for name, value in row.items() if name not in NOT_HELD}


def held_types(workload: Workload) -> dict[str, str]:
    return held(workload.types)


def create_version(shop: Shop, version: str, names: Iterable[str]) -> None:
    """An empty versioned table of the columns that the emulator holds."""
    create_any(shop, version, [name for name in names if name not in NOT_HELD])


def create_any(shop: Shop, version: str, names: Iterable[str]) -> None:
    """An empty versioned table, made through the API: in DDL the emulator takes NUMERIC for another type."""
    types = {name: type_of(name) for name in (*names, METADATA)} | {LANDED_AT: "TIMESTAMP"}
    fields = [rest_field(Column(name, parse_type(type_))) for name, type_ in types.items()]
    table = f"{DEFAULT_PROJECT}.{shop.dataset.name}.{shop.name}_v_{version}"
    shop.warehouse.client.create_table(bigquery.Table(table, fields))


def land_workload(shop: Shop, workload: Workload) -> None:
    """Every version at once."""
    for version, rows in workload.changes.items():
        create_version(shop, version, rows[0])
        shop.land(version, *map(held, rows))


def texts(rows: Iterable[Mapping[str, Any]], types: Mapping[str, str]) -> list[str]:
    """Rows that a client gave, or rows of a workload, to be compared: every value exactly, the sign of a zero too."""
    parsed = {name: parse_type(type_) for name, type_ in types.items()}
    return sorted(comparable(plain_row(row, parsed)) for row in rows)


def truth(workload: Workload) -> list[str]:
    return texts(map(held, workload.truth), held_types(workload))
