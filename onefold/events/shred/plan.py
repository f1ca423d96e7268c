"""The plan of a run: the tables and their columns as the registry has them at the start, and the table of each schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from onefold.core.errors import LimitExceeded, SchemaConflict, SchemaInvalid
from onefold.core.names import fold_case
from onefold.core.shred_options import FileFormat, InputForm, Unknown, Warehouse, implied_warehouse
from onefold.core.text import shown_list
from onefold.events.registry.adopted import AdoptedTable
from onefold.events.registry.bigquery_table import BigQueryColumn, BigQueryRecovery, BigQueryTable, PropertySource
from onefold.events.registry.columns import ModelColumn, ModelTable, RecoveryTable, brought_later, recovery_of
from onefold.events.registry.ddl import bigquery_columns, build_table, create_own, create_recovery, named_types
from onefold.events.registry.json_schema import JsonSchema
from onefold.events.registry.leaves import Path
from onefold.events.registry.references import referred_schemas
from onefold.events.registry.registry import Registry
from onefold.events.registry.schema_key import SchemaKey, SchemaVer
from onefold.events.registry.table_names import EventTableName, table_names
from onefold.events.shred.adopted_events import mapped_fields
from onefold.events.shred.counts import EVENTS
from onefold.events.shred.event_fields import event_columns
from onefold.events.shred.row_format import RowFormat
from onefold.events.shred.unknown import UNKNOWN_TABLE, unknown_columns
from onefold.schema.redshift_ddl import ENVELOPE


@dataclass(frozen=True)
class PlannedTable:
    """A table as it is at the start of a run.

    Attributes:
        name: the name of the table, `com_acme_ad_click_1`, or that of a recovery table.
        base: what all models and recovery tables of the schema share, and no other schema has, `com_acme_ad_click`; `events`
            for the events.
        version: the model, `1`, or `1r` and the hash of a recovery table; empty for the events.
        uri: the schema that the table is at; empty for the events.
        columns: name and type of every column, those of the envelope included; the types are the warehouse's.
        folder: where the files are, below the folder of the run.
        paths: the path to the value of each column of the data, for Redshift; of the events, the field of each column.
        sources: the property of each column of the data, for BigQuery.
        required: the columns of the data that are NOT NULL, in a table that another loader made.
        adopted: all columns of such a table as it was adopted, in their order; empty for a table that the loader makes.
        column: name and type of the column of events that gets the rows; None where they go to the table.
    """

    name: str
    base: str
    version: str
    uri: str
    columns: tuple[tuple[str, str], ...]
    folder: str
    paths: tuple[Path, ...] = ()
    sources: tuple[PropertySource, ...] = ()
    required: frozenset[str] = frozenset()
    adopted: tuple[tuple[str, str], ...] = ()
    column: tuple[str, str] | None = None


@dataclass(frozen=True)
class PlannedSchema:
    """A version of a schema.

    Attributes:
        key: its identity.
        text: the schema as JSON.
        table: the place of its table in the plan; None where it has no table.
        problem: why it has no table; empty where it has one.
        others: the texts of the schemas that it refers to, by URI: the validator looks nowhere else.
        recovery: the place of the table that gets data which does not fit into `table`; None where that is a bad row.
    """

    key: SchemaKey
    text: str
    table: int | None
    problem: str = ""
    others: Mapping[str, str] = field(default_factory=dict)
    recovery: int | None = None


@dataclass(frozen=True)
class ShredPlan:
    """All that a worker has to know.

    Attributes:
        form: how the rows are written.
        input: the form of the records.
        tables: the tables; the first one is `events`.
        schemas: the schemas by URI.
        unusable: why schemas that the registry holds cannot be used, by URI.
        started_at: the time of a self-describing event that does not say its own; None where each one has to.
        unknown: what becomes of an entity whose schema is unknown or unusable.
        run: the address of the folder of the run; empty where nothing is written.
        is_wide: whether the entities of an event are columns of its row: see `wide`.
    """

    form: RowFormat
    input: InputForm
    tables: tuple[PlannedTable, ...]
    schemas: Mapping[str, PlannedSchema]
    started_at: datetime | None = None
    unusable: Mapping[str, str] = field(default_factory=dict)
    unknown: Unknown = "bad_event"
    run: str = ""
    is_wide: bool = False

    @property
    def unknown_table(self) -> int | None:
        """The place of the table of unknown entities, the last one; None where there is none."""
        return len(self.tables) - 1 if self.unknown == "keep_json" else None


def plan_shred(
    registry: Registry,
    format: FileFormat,  # noqa: A002
    input: InputForm,  # noqa: A002
    started_at: datetime | None = None,
    unknown: Unknown = "bad_event",
    warehouse: Warehouse | None = None,
) -> ShredPlan:
    """Return the plan of a run.

    A schema whose table the warehouse would refuse has no table: its entities are unknown, with the reason. So are those of
    a schema that refers to what the registry does not have: its columns stay, and nothing can validate its data.

    Args:
        registry: the registry as it is at the start.
        format: the format of the rows.
        input: the form of the records.
        started_at: the time of a self-describing event that does not say its own, with its zone; None where each one has to.
        unknown: what becomes of an entity whose schema is unknown or unusable.
        warehouse: the warehouse that takes the rows; None for the one that the format implies.
    """
    names = table_names(registry.named)
    warehouse = warehouse or implied_warehouse(format)
    events = _events(warehouse, registry.adopted.get((warehouse, None)))
    plan = _Planner(warehouse, registry, events)
    for model in (one for one in registry.named if one in registry.models):
        plan.add(names[model], registry.models[model], registry.adopted.get((warehouse, model)))
    kept = (_unknown_table(warehouse),) if unknown == "keep_json" else ()
    form = RowFormat(warehouse, format)
    return ShredPlan(form, input, (*plan.tables, *kept), plan.schemas, started_at, plan.unusable, unknown)


def _unknown_table(warehouse: Warehouse) -> PlannedTable:
    columns = (*_envelope(warehouse), *unknown_columns(warehouse))
    return PlannedTable(UNKNOWN_TABLE, UNKNOWN_TABLE, "", "", columns, UNKNOWN_TABLE)


class _Planner:
    def __init__(self, warehouse: Warehouse, registry: Registry, events: PlannedTable) -> None:
        self._warehouse = warehouse
        self._registry = registry
        self._names = {EVENTS, UNKNOWN_TABLE}
        self._adopted = {fold_case(one.name) for one in registry.adopted.values() if one.warehouse == warehouse}
        self.unusable = dict(registry.unusable)
        self.tables = [events]
        self.schemas: dict[str, PlannedSchema] = {}

    def add(self, name: EventTableName, versions: Sequence[JsonSchema], adopted: AdoptedTable | None) -> None:
        table = build_table(versions, self._warehouse, name.table)
        recovered = {one.version: one for one in table.recovered}
        own = [one for one in versions if one.key.version not in recovered]
        target = adopted.name if adopted else table.name
        if fold_case(target) in (self._names if adopted else self._names | self._adopted):
            self._refuse(own, f"{target} was adopted, and is the table of another model: adopt another one")
        elif own:
            self._add_own(table, name.base, own, adopted)
        self._names.add(fold_case(target))
        for schema in versions:
            if recovery := recovered.get(schema.key.version):
                self._add_recovery(table, name.base, recovery, schema)

    def _add_own(
        self, table: ModelTable | BigQueryTable, base: str, versions: Sequence[JsonSchema], adopted: AdoptedTable | None
    ) -> None:
        """Add the table of a model for all versions, or for those before a version with which it cannot be."""
        try:
            planned = _made(table, base, versions[0].key.version, adopted)
        except (LimitExceeded, SchemaConflict) as error:
            self._refuse(versions[-1:], "; ".join(error.problems))
            if earlier := versions[:-1]:  # an addition to the registry does not stop them
                self._add_own(build_table(earlier, self._warehouse, table.name), base, earlier, adopted)
            return
        self._place(versions, planned)
        if isinstance(table, ModelTable) and adopted and adopted.misfits == "recovery_table":
            for schema in versions:
                if schema.key.uri in self.schemas:
                    self._add_fallback(table, base, schema)

    def _add_fallback(self, table: ModelTable, base: str, schema: JsonSchema) -> None:
        """Add the recovery table of a version, for the data that does not fit into an adopted table."""
        own, number = self.schemas[schema.key.uri], len(self.tables)
        recovery = recovery_of(schema, ())
        name = table.name + recovery.name.removeprefix(table.key.table)
        self._add_recovery(table, base, replace(recovery, name=name), schema)
        found = self.schemas[schema.key.uri].table
        self.schemas[schema.key.uri] = replace(own, recovery=number if found == number else None)

    def _add_recovery(
        self, table: ModelTable | BigQueryTable, base: str, recovery: RecoveryTable | BigQueryRecovery, schema: JsonSchema
    ) -> None:
        try:
            list(create_recovery(table, [recovery]))
            if recovery.name in self._adopted:
                raise SchemaConflict(
                    f"{recovery.name} was adopted, and is the recovery table of this version: adopt another"
                )
        except (LimitExceeded, SchemaConflict) as error:
            self._refuse([schema], "; ".join(error.problems))
            return
        version = f"{table.key.model}r{recovery.name.rpartition('_')[2]}"
        folder = f"{table.key.model}{recovery.name.removeprefix(table.name)}"
        planned = PlannedTable(recovery.name, base, version, schema.key.uri, (), folder)
        self._place([schema], _planned(table, planned, recovery.columns))

    def _place(self, versions: Sequence[JsonSchema], table: PlannedTable) -> None:
        for schema in versions:
            try:
                others = referred_schemas(schema, self._registry.find)
            except SchemaInvalid as error:
                self.unusable[schema.key.uri] = shown_list(error.problems, joint="; ")
                continue
            texts = {uri: json.dumps(document) for uri, document in others.items()}
            self.schemas[schema.key.uri] = PlannedSchema(schema.key, schema.canonical, len(self.tables), others=texts)
        self.tables.append(table)

    def _refuse(self, versions: Sequence[JsonSchema], problem: str) -> None:
        for schema in versions:
            self.schemas[schema.key.uri] = PlannedSchema(schema.key, schema.canonical, None, problem)


def _events(warehouse: Warehouse, adopted: AdoptedTable | None) -> PlannedTable:
    """Return the table of the events.

    Args:
        warehouse: the warehouse that takes the rows.
        adopted: the table that another loader made, if there is one.

    Raises:
        SchemaConflict: a column cannot hold any value of its field, or identifies an event and is missing.
    """
    columns = event_columns(warehouse)
    table = PlannedTable(EVENTS, EVENTS, "", "", columns, EVENTS, tuple((name,) for name, _ in columns))
    if adopted is None:
        return table
    mapped = mapped_fields(adopted, columns)
    return replace(
        table,
        columns=tuple(one.target for one in mapped),
        paths=tuple((one.name,) for one in mapped),
        required=adopted.required,
        adopted=adopted.state,
    )


def _made(table: ModelTable | BigQueryTable, base: str, first: SchemaVer, adopted: AdoptedTable | None) -> PlannedTable:
    """Return the table of a model, or the one that was adopted for it.

    Raises:
        LimitExceeded: the warehouse would refuse the table.
        SchemaConflict: a column of the adopted table cannot hold any value of its schema.
    """
    name, version = adopted.name if adopted else table.name, str(table.key.model)
    made = _planned(table, PlannedTable(name, base, version, table.uri, (), version), table.columns)
    if adopted is None:
        create_own(table)
        return made
    later = brought_later(table, first) if isinstance(table, ModelTable) else None
    return replace(made, columns=adopted.columns_for(made.columns, later), required=adopted.required, adopted=adopted.state)


def _planned(
    table: ModelTable | BigQueryTable, named: PlannedTable, columns: Sequence[ModelColumn | BigQueryColumn]
) -> PlannedTable:
    """Return a table of a model with its columns.

    Args:
        table: the table of the model.
        named: the table or the recovery table without columns, and with the last part of its folder.
        columns: the columns of the data.
    """
    key = table.key
    return replace(
        named,
        columns=(*_envelope("redshift" if isinstance(table, ModelTable) else "bigquery"), *named_types(columns)),
        folder=f"vendor={key.vendor}/name={key.name}/format={key.format}/model={named.folder}",
        paths=tuple(column.path for column in columns if isinstance(column, ModelColumn)),
        sources=tuple(column.source for column in columns if isinstance(column, BigQueryColumn)),
    )


def _envelope(warehouse: Warehouse) -> Iterator[tuple[str, str]]:
    if warehouse == "redshift":
        return ((name, type_) for name, type_, _ in ENVELOPE)
    return ((column.name, str(column.type)) for column in bigquery_columns([]))
