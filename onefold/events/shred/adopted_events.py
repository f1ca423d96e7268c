"""The table of the events, where another loader made it: the fields that its columns get, and what keeps it from adoption.

Releases of Snowplow's loader made it with 108, 125, 128 and 129 columns, whose texts grew from release to release. Columns
are found by their names; two of them have another name there.

Sources: snowplow/snowplow, 4-storage/redshift-storage/sql, atomic-def.sql and migrate_*.sql (releases 0.4.0 to 0.12.0);
snowplow/snowplow-rdb-loader, AddLoadTstampColumn (`load_tstamp`, with a default), 2026-11.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from onefold.core.errors import InvalidInput, SchemaConflict
from onefold.core.names import fold_case
from onefold.events.registry.adopted import AdoptedTable
from onefold.events.registry.column_mapping import MappedColumn, TableColumn, check_names, match_names
from onefold.events.registry.legacy_table import Adoption, ColumnDifference, LegacyTable, unknown_columns
from onefold.events.shred.counts import EVENTS
from onefold.events.shred.event_fields import EVENT_ID, EVENT_TIME, event_columns
from onefold.schema.diff import Severity
from onefold.schema.redshift_fit import Held, held_type
from onefold.settings.registry import Warehouse

FORMER_NAMES: Mapping[str, str] = {"dvce_created_tstamp": "dvce_tstamp", "refr_device_tstamp": "refr_dvce_tstamp"}
"""The names of columns in tables of others that differ from those of the fields."""
_KEYS = (EVENT_ID, EVENT_TIME)
_RENAME = "rename it and adopt again: the loader adds a column of the right type, unless missing columns are left out"


def adopt_events(warehouse: Warehouse, legacy: LegacyTable) -> Adoption:
    """Return how a table can be adopted for the rows of the events.

    Args:
        warehouse: where the table is.
        legacy: the table.

    Raises:
        InvalidInput: the table has another name than `events`, the given names do not fit to its columns, or data that does
            not fit is to go to a recovery table, which events do not have.
    """
    _check(legacy)
    wanted = event_columns(warehouse)
    fields, found = [name for name, _ in wanted], [one.name for one in legacy.columns]
    check_names(legacy.names, fields, found)
    names = match_names(fields, found, {**_former(found), **legacy.names})
    adopted = AdoptedTable(None, warehouse, legacy.name, legacy.columns, names, missing=legacy.missing)
    return Adoption(adopted, (*_of_fields(adopted, wanted), *unknown_columns(adopted, wanted)))


def mapped_fields(adopted: AdoptedTable, wanted: Sequence[tuple[str, str]]) -> tuple[MappedColumn, ...]:
    """Return the columns that the fields of events go to, without those that are left out.

    Args:
        adopted: the table.
        wanted: name and type that the loader gives the column of each field.

    Raises:
        SchemaConflict: a column cannot hold any value of its field, or one that identifies an event is missing.
    """
    refused = [one for one in _of_fields(adopted, wanted) if one.severity is Severity.CRITICAL]
    if refused:
        raise SchemaConflict([f"{adopted.name} was adopted: {one.column}: {one.problem}: {one.remedy}" for one in refused])
    return tuple(one for one in adopted.mapped(wanted) if one.column or adopted.missing == "add")


def held_field(warehouse: Warehouse, existing: str, wanted: str) -> Held:
    """Return whether a column holds the values of a field, where `wanted` is the type that the loader would give it.

    Examples:
        >>> held_field("redshift", "VARCHAR(255)", "VARCHAR(4096)"), held_field("bigquery", "NUMERIC", "FLOAT64")
        ('some', 'some')
    """
    if warehouse == "redshift":
        return held_type(existing, wanted)
    # Snowplow's loader for BigQuery has amounts of money as NUMERIC.
    return "all" if existing == wanted else "some" if (existing, wanted) == ("NUMERIC", "FLOAT64") else "none"


def _check(legacy: LegacyTable) -> None:
    problems = []
    if legacy.name.rpartition(".")[2] != EVENTS:
        problems.append(f"{legacy.name}: the events go to a table of the name {EVENTS}: rename it")
    if legacy.misfits != "bad_row":
        problems.append("the events have no recovery table: an event with a value that does not fit is a bad row")
    if problems:
        raise InvalidInput(problems)


def _former(found: Sequence[str]) -> dict[str, str]:
    there = {fold_case(name): name for name in found}
    return {name: there[former] for name, former in FORMER_NAMES.items() if former in there and name not in there}


def _of_fields(adopted: AdoptedTable, wanted: Sequence[tuple[str, str]]) -> Iterator[ColumnDifference]:
    return (one for mapped in adopted.mapped(wanted) for one in _differences(adopted, mapped))


def _differences(adopted: AdoptedTable, mapped: MappedColumn) -> Iterator[ColumnDifference]:
    column = mapped.column
    if column is None:
        yield _missing(adopted, mapped)
        return
    if fold_case(column.name) != fold_case(mapped.name):
        yield ColumnDifference(column.name, Severity.INFO, f"it holds {mapped.name}", "rows are loaded by this name")
    yield from _of_type(adopted, mapped, column)
    if not column.nullable and mapped.name not in _KEYS:
        remedy = "an event without a value is a bad row"
        yield ColumnDifference(column.name, Severity.WARNING, "it is NOT NULL, and the value may be missing", remedy)


def _missing(adopted: AdoptedTable, mapped: MappedColumn) -> ColumnDifference:
    if mapped.name in _KEYS:
        remedy = "it identifies an event: add it, with values for all rows"
        return ColumnDifference(mapped.name, Severity.CRITICAL, "missing", remedy)
    if adopted.missing == "leave_out":
        return ColumnDifference(mapped.name, Severity.INFO, f"missing, {mapped.type}", "its values are left out")
    return ColumnDifference(mapped.name, Severity.WARNING, f"missing, {mapped.type}", "the loader adds it at the end")


def _of_type(adopted: AdoptedTable, mapped: MappedColumn, column: TableColumn) -> Iterator[ColumnDifference]:
    held = held_field(adopted.warehouse, column.type, mapped.type)
    if held == "none":
        problem = f"it is {column.type} and cannot hold {mapped.type}"
        yield ColumnDifference(column.name, Severity.CRITICAL, problem, _RENAME)
    elif held == "some" and mapped.name not in _KEYS:
        remedy = "an event with a value that does not fit is a bad row"
        yield ColumnDifference(column.name, Severity.WARNING, f"{column.type} does not hold all of {mapped.type}", remedy)
