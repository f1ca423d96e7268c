"""The layout of wide columns: entities are in columns of the row of their event, as Snowplow's loader for BigQuery has them.

A self-describing event is a STRUCT `unstruct_event_com_acme_a_1`; contexts are an ARRAY of STRUCTs `contexts_com_acme_a_1`,
with the version of each in `_schema_version`. A version that does not fit has columns of its own, with
`_recovered_1_0_1_37fd804e` behind these names. `onefold.existing.tools.snowplow` reads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from onefold.core.names import fold_case
from onefold.core.shred_options import InputForm, Unknown
from onefold.events.registry.registry import Registry
from onefold.events.shred.plan import PlannedSchema, PlannedTable, ShredPlan, plan_shred
from onefold.existing.tools.snowplow import model_of
from onefold.schema.growth import grown_by_field_names
from onefold.schema.redshift_ddl import ENVELOPE
from onefold.schema.types import Array, Field, Struct, parse_type

VERSION = "_schema_version"
_UNSTRUCT, _CONTEXTS = "unstruct_event", "contexts"
_LONGEST = 300
"""Characters of the name of a column ("Quotas and limits", https://cloud.google.com/bigquery/quotas, read 2026-11)."""
_VERSION_PLACE = [name for name, _, _ in ENVELOPE].index("schema_version")

_REMEDY = "rename the column and adopt the table again, so that the loader adds one of the right type"

WideColumn = tuple[str, str]
"""Name and type of a column of events."""
WideRow = tuple[tuple[Any, ...], Mapping[int, Any]]
"""The columns of an event, and the values of its wide columns by their places in the plan."""


def plan_wide(
    registry: Registry,
    form: InputForm,
    started_at: datetime | None = None,
    unknown: Unknown = "bad_event",
) -> ShredPlan:
    """Return a plan in which each table of entities is two columns of events: for self-describing events, and for contexts.

    A schema has no columns, and its entities are unknown with the reason, where BigQuery would refuse their names, where
    the view over the columns of another schema would show them, or where the table of events that another loader made has
    columns of these names that cannot hold them.

    Args:
        registry: as for `plan_shred`. Tables of models that other loaders made get no rows, and that of the events does.
        form: a form of enriched events.
        started_at: as for `plan_shred`.
        unknown: as for `plan_shred`.
    """
    adopted = {place: table for place, table in registry.adopted.items() if table.model is None}
    events = registry.adopted.get(("bigquery", None))
    has = {fold_case(name): (name, type_) for name, type_ in events.state} if events else {}
    plan = plan_shred(replace(registry, adopted=adopted), "parquet", form, started_at, unknown)
    end = len(plan.tables) if plan.unknown_table is None else plan.unknown_table
    columns = [
        replace(table, column=_as_adopted(one, has) or one) for table in plan.tables[1:end] for one in _columns(table)
    ]
    problems = {**_misfits(plan.tables[:end], has), **_problems(plan.tables[:end])}
    schemas = {uri: _placed(schema, problems) for uri, schema in plan.schemas.items()}
    return replace(plan, tables=(plan.tables[0], *columns, *plan.tables[end:]), schemas=schemas, is_wide=True)


def _placed(schema: PlannedSchema, problems: Mapping[int, str]) -> PlannedSchema:
    if problem := problems.get(schema.table or 0):
        return replace(schema, table=None, problem=problem)
    return replace(schema, table=schema.table and 2 * schema.table - 1)


def _problems(tables: Sequence[PlannedTable]) -> dict[int, str]:
    """Return why tables of entities cannot have columns, by their places; the schema that was added first has them."""
    problems: dict[int, str] = {}
    owners: dict[str, str] = {}
    for place, table in enumerate(tables[1:], 1):
        name = f"{_UNSTRUCT}_{_name(table)}"
        owner = owners.setdefault((model_of(name) or (name, 0))[0], table.base)
        if len(name) > _LONGEST:
            problems[place] = f"{name} is longer than {_LONGEST} characters, the most that BigQuery allows for a column"
        elif owner != table.base:
            problems[place] = f"{name} would be read as a column of {owner}, whose view would show its data"
        if place in problems:
            problems[place] += ": shred it with the layout tables, or give the schema another name"
    return problems


def _as_adopted(column: WideColumn, has: Mapping[str, WideColumn]) -> WideColumn | None:
    """Return a wide column as an adopted table of events has it; None where the column there cannot hold the values.

    Args:
        column: name and type of the column.
        has: the columns of the table by their names without case. Others are added to it.
    """
    name, type_ = has.get(fold_case(column[0]), column)
    grown = grown_by_field_names(type_, column[1])
    return (name, grown) if grown else None


def _misfits(tables: Sequence[PlannedTable], has: Mapping[str, WideColumn]) -> dict[int, str]:
    """Return why the columns of an adopted table cannot hold those of tables of entities, by the places of these."""
    found = {}
    for place, table in enumerate(tables[1:], 1):
        if problems := [_misfit_text(one, has) for one in _columns(table) if not _as_adopted(one, has)]:
            found[place] = "; ".join([*problems, _REMEDY])
    return found


def _misfit_text(column: WideColumn, has: Mapping[str, WideColumn]) -> str:
    name, type_ = has[fold_case(column[0])]
    return f"{name} of the adopted table of events is {type_} and cannot hold {column[1]}"


def _columns(table: PlannedTable) -> tuple[WideColumn, WideColumn]:
    """Return name and type of the two columns with the rows of a table."""
    fields = table.columns[len(ENVELOPE) :]
    of_context = [(VERSION, "STRING"), *(field for field in fields if field[0] != VERSION)]
    name = _name(table)
    # A STRUCT has a field at least, so that of a schema without properties has the version.
    of_event = _struct(fields or of_context)
    return (f"{_UNSTRUCT}_{name}", str(of_event)), (f"{_CONTEXTS}_{name}", str(Array(_struct(of_context))))


def _name(table: PlannedTable) -> str:
    """Return what the names of the two columns end with: the base, which no other schema has, and the model."""
    model, _, digest = table.version.partition("r")
    if not digest:
        return f"{table.base}_{model}"
    version = table.uri.rpartition("/")[2].replace("-", "_")
    return f"{table.base}_{model}_recovered_{version}_{digest}"


def _struct(fields: Iterable[tuple[str, str]]) -> Struct:
    return Struct(tuple(Field(name, parse_type(type_)) for name, type_ in fields))


def target_of(table: PlannedTable) -> str:
    """Return the name of what gets the rows of a table of the plan: the table, or a column of the table of events."""
    return table.column[0] if table.column else table.name


class WideRows:
    """Makes the row of an event of its own row and those of its entities."""

    def __init__(self, tables: Iterable[PlannedTable]) -> None:
        """Take the names of the fields of each column.

        Args:
            tables: those of the plan.
        """
        named = [(table.column, [name for name, _ in table.columns[len(ENVELOPE) :]]) for table in tables]
        self._fields = {place: fields for place, (column, fields) in enumerate(named) if column}
        self._arrays = {place for place, (column, _) in enumerate(named) if column and column[1].startswith("ARRAY")}

    def row(self, found: Iterable[tuple[int, Any]]) -> WideRow:
        """Return the row of an event.

        Args:
            found: its rows with the places of their tables or columns. Those of other tables are left out.
        """
        own: tuple[Any, ...] = ()
        columns: dict[int, Any] = {}
        for place, row in found:
            fields = self._fields.get(place)
            if fields is None:
                own = own if place else row
                continue
            values = dict(zip(fields, row[len(ENVELOPE) :], strict=True))
            version = {VERSION: row[_VERSION_PLACE]}
            if place in self._arrays:
                columns.setdefault(place, []).append({**values, **version})
            else:
                columns[place] = values or version
        return own, columns
