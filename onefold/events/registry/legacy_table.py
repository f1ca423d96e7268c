"""A table that another loader made, compared with the table that the registry would make, so that its rows can go there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from onefold.core.names import fold_case
from onefold.core.text import shown_list
from onefold.events.registry.adopted import AdoptedTable, Misfits, Missing
from onefold.events.registry.bigquery_table import BigQueryTable
from onefold.events.registry.column_mapping import MappedColumn, TableColumn, check_names, map_columns, match_names
from onefold.events.registry.columns import ENVELOPE, ModelColumn, ModelTable, recovery_of
from onefold.events.registry.ddl import bigquery_columns, build_table, named_types
from onefold.events.registry.json_schema import JsonSchema
from onefold.events.registry.leaves import leaves
from onefold.events.registry.schema_key import ModelKey, snake
from onefold.events.registry.table_names import table_names
from onefold.schema.diff import Severity
from onefold.schema.growth import grown as bigquery_grown
from onefold.schema.redshift import FIXED_ENCODINGS, MAX_NAME_BYTES, varchar
from onefold.schema.redshift_catalog import parse_type
from onefold.schema.redshift_ddl import ENVELOPE as REDSHIFT_ENVELOPE
from onefold.schema.redshift_fit import held_type
from onefold.settings.registry import Warehouse

_OLD_ARRAY = varchar(5_000)
"""What loaders of before 2020 made of arrays."""
_LONGEST_VERSION = "999-999-999"
_EVENTS = "events"
_RECOVERY = re.compile(r"\w+_[0-9]+_[0-9]+_recovered_[0-9a-f]+", re.ASCII | re.IGNORECASE)
_RENAME = "rename it and adopt again: the loader adds a column of the right type"
_WHERE: Mapping[Misfits, str] = {
    "bad_row": "an event with a value that does not fit is a bad row",
    "recovery_table": "data with a value that does not fit goes to the recovery table of its version",
}


@dataclass(frozen=True)
class ColumnDifference:
    """A difference between a table and what the registry would make.

    Attributes:
        column: the column of the table, or the one that is missing; empty where the table as a whole differs.
        severity: INFO: every row can be loaded; WARNING: the loader adds a column, or some values do not fit; CRITICAL: the
            table cannot be adopted.
        problem: what differs.
        remedy: what to do, or why nothing has to be done.
    """

    column: str
    severity: Severity
    problem: str
    remedy: str

    def __str__(self) -> str:
        return f"{f'{self.severity.name} {self.column}'.rstrip()}: {self.problem}: {self.remedy}"

    def as_dict(self) -> dict[str, str]:
        return {"column": self.column, "severity": self.severity.name, "problem": self.problem, "remedy": self.remedy}


@dataclass(frozen=True)
class Adoption:
    """A table as it can be adopted, and how it differs from the registry's."""

    table: AdoptedTable
    differences: tuple[ColumnDifference, ...]

    @property
    def refused(self) -> tuple[ColumnDifference, ...]:
        """The differences that keep the table from being adopted."""
        return tuple(one for one in self.differences if one.severity is Severity.CRITICAL)


@dataclass(frozen=True)
class LegacyTable:
    """An existing table, and what a person has decided about it.

    Attributes:
        name: the name of the table, with or without its schema or dataset.
        columns: its columns, in their order.
        names: the column of the table for each column of the registry that has a name of another kind there.
        misfits: where data goes that a column does not hold.
        missing: what becomes of columns that the table lacks, of the events.
    """

    name: str
    columns: tuple[TableColumn, ...]
    names: Mapping[str, str]
    misfits: Misfits = "bad_row"
    missing: Missing = "add"


def adopt(
    versions: Sequence[JsonSchema], warehouse: Warehouse, legacy: LegacyTable, models: Iterable[ModelKey] = ()
) -> Adoption:
    """Return how a table can be adopted for the rows of a model.

    Args:
        versions: all versions of the model, in the order of their addition.
        warehouse: where the table is.
        legacy: the table.
        models: all models of the registry, in the order of their addition.

    Raises:
        InvalidInput: the given names do not fit to the columns; the error lists all problems.
    """
    table = build_table(versions, warehouse)
    wanted = named_types(table.columns)
    check_names(legacy.names, [name for name, _ in wanted], [one.name for one in legacy.columns])
    spare = [one.name for one in legacy.columns if fold_case(one.name) not in ENVELOPE]
    names = match_names([name for name, _ in wanted], spare, legacy.names)
    adopted = AdoptedTable(table.key, warehouse, legacy.name, legacy.columns, names, legacy.misfits)
    rule = _in_bigquery if isinstance(table, BigQueryTable) else _in_redshift(table, legacy.misfits)
    differences = [
        *_of_another_model(table.key, legacy.name, models),
        *_of_recovery(table, legacy, versions, models),
        *_of_envelope(table, legacy.columns),
        *(found for one in adopted.mapped(wanted) for found in _of_column(one, rule)),
        *_not_null(adopted, table, versions),
        *unknown_columns(adopted, wanted),
    ]
    return Adoption(adopted, tuple(differences))


def _of_another_model(key: ModelKey, table: str, models: Iterable[ModelKey]) -> Iterator[ColumnDifference]:
    """Yield that a table is the one that the registry gives to another model: its rows would be among the own ones."""
    name = fold_case(table.rpartition(".")[2])
    for other, names in table_names(models).items():
        if other != key and fold_case(names.table) == name:
            problem = f"{table} is the table of {other} by its name"
            yield ColumnDifference("", Severity.CRITICAL, problem, f"adopt it for {other}, or rename it")


def _of_recovery(
    table: ModelTable | BigQueryTable, legacy: LegacyTable, versions: Sequence[JsonSchema], models: Iterable[ModelKey]
) -> Iterator[ColumnDifference]:
    """Yield that a table is a recovery table by its name, or that those of its versions cannot have theirs.

    These have the name of the table that the registry would make, so that an adoption, or another table, changes none.
    """
    if _RECOVERY.fullmatch(legacy.name.rpartition(".")[2]):
        remedy = "adopt the table of the model: the loader goes on with this one by its name"
        yield ColumnDifference("", Severity.CRITICAL, f"{legacy.name} is a recovery table by its name", remedy)
    if legacy.misfits == "bad_row" or isinstance(table, BigQueryTable):
        return
    own = table_names(models).get(table.key)
    for schema in versions:
        name = (own.table if own else table.name) + recovery_of(schema, ()).name.removeprefix(table.key.table)
        if (size := len(name.encode())) > MAX_NAME_BYTES:
            problem = f"the recovery table of {schema.key.version}, {name}, would have a name of {size} bytes"
            remedy = f"Redshift takes {MAX_NAME_BYTES}: adopt it with --misfits bad_row"
            yield ColumnDifference("", Severity.CRITICAL, problem, remedy)


_Rule = Callable[[str, TableColumn, str], ColumnDifference | None]
"""Takes a column of the registry, that of the table and the type that the registry gives it; returns a difference."""


def _of_column(mapped: MappedColumn, rule: _Rule) -> Iterator[ColumnDifference]:
    column = mapped.column
    if column is None:
        remedy = "the loader adds it, unless a column of another name holds it: name that one in the mapping"
        yield ColumnDifference(mapped.name, Severity.WARNING, f"missing, {mapped.type}", remedy)
        return
    if fold_case(column.name) != fold_case(mapped.name):
        yield ColumnDifference(column.name, Severity.INFO, f"it holds {mapped.name}", "rows are loaded by this name")
    if difference := rule(mapped.name, column, mapped.type):
        yield difference


def _of_envelope(table: ModelTable | BigQueryTable, found: Sequence[TableColumn]) -> Iterator[ColumnDifference]:
    """Yield the columns of the envelope that are missing, or do not hold every value."""
    for one in map_columns(_envelope(table), found, {}):
        if one.column is None:
            problem = "it tells to which event a row belongs"
            yield ColumnDifference(one.name, Severity.CRITICAL, "missing", f"{problem}: add it, with values for all rows")
        elif not _holds_envelope(table, one.type, one.column.type):
            problem = f"it is {one.column.type} and cannot hold {one.type}"
            yield ColumnDifference(one.column.name, Severity.CRITICAL, problem, "copy the rows to a table with this type")


def _envelope(table: ModelTable | BigQueryTable) -> list[tuple[str, str]]:
    if isinstance(table, BigQueryTable):
        return [(one.name, str(one.type)) for one in bigquery_columns([])]
    lengths = {name: len(text.encode()) for name, text in _envelope_texts(table.key)}
    return [(name, str(varchar(lengths[name])) if name in lengths else type_) for name, type_, _ in REDSHIFT_ENVELOPE]


def _envelope_texts(key: ModelKey) -> Iterator[tuple[str, str]]:
    """Yield the longest text of each column of the envelope that has a text."""
    own = (key.vendor, key.name, key.format, _LONGEST_VERSION)
    above = (_EVENTS, f'["{_EVENTS}","{snake(key.name)}"]', _EVENTS)
    names = [name for name in ENVELOPE if name not in ("root_id", "root_tstamp")]
    yield from zip(names, (*own, *above), strict=True)


def _holds_envelope(table: ModelTable | BigQueryTable, wanted: str, found: str) -> bool:
    return found == wanted if isinstance(table, BigQueryTable) else held_type(found, wanted) == "all"


def _in_bigquery(name: str, column: TableColumn, wanted: str) -> ColumnDifference | None:
    type_ = bigquery_grown(column.type, wanted)
    if type_ is None:
        problem = f"it is {column.type} and cannot hold {wanted}"
        return ColumnDifference(column.name, Severity.CRITICAL, problem, _RENAME)
    if type_ == column.type:
        return None
    problem = f"{column.type} lacks fields of {wanted}"
    return ColumnDifference(name, Severity.WARNING, problem, "the loader adds them")


def _in_redshift(table: ModelTable, misfits: Misfits) -> _Rule:
    arrays = {column.name for column in table.columns if column.json_types == {"array"}}

    def difference(name: str, column: TableColumn, wanted: str) -> ColumnDifference | None:
        held = held_type(column.type, wanted)
        if held == "all":
            return None
        if held == "none":
            problem = f"it is {column.type} and cannot hold {wanted}"
            return ColumnDifference(column.name, Severity.CRITICAL, problem, _RENAME)
        is_old = name in arrays and parse_type(column.type).length >= _OLD_ARRAY.length
        severity = Severity.INFO if is_old else Severity.WARNING
        problem = f"{column.type} does not hold all of {wanted}"
        return ColumnDifference(column.name, severity, problem, f"{_WHERE[misfits]}{_wider(column, wanted)}")

    return difference


def _wider(column: TableColumn, wanted: str) -> str:
    """Return how a person can make a column longer; nothing where Redshift cannot change the type."""
    if parse_type(column.type).name != "VARCHAR" or parse_type(wanted).name not in ("VARCHAR", "CHAR"):
        return ""
    first = "ALTER TABLE ... ALTER COLUMN ENCODE ZSTD, then " if column.encoding in FIXED_ENCODINGS else ""
    type_ = varchar(parse_type(wanted).length)
    return f"; to hold all, adopt it again after {first}ALTER TABLE ... ALTER COLUMN TYPE {type_}"


def _not_null(
    adopted: AdoptedTable, table: ModelTable | BigQueryTable, versions: Sequence[JsonSchema]
) -> Iterator[ColumnDifference]:
    """Yield the columns that are NOT NULL and for which some rows have no value."""
    if isinstance(table, BigQueryTable):
        return
    recovered = {one.version for one in table.recovered}
    schemas = [one for one in versions if one.key.version not in recovered]
    columns = {column.name: column for column in table.columns}
    for one in adopted.mapped(named_types(table.columns)):
        if one.column and not one.column.nullable and columns[one.name].nullable:
            without = _versions_without(columns[one.name], schemas)
            if without:
                problem = f"it is NOT NULL, and no row of {shown_list(without)} has a value"
                yield ColumnDifference(one.column.name, Severity.CRITICAL, problem, _RENAME)
            else:
                problem = "it is NOT NULL, and the value may be missing"
                yield ColumnDifference(one.column.name, Severity.WARNING, problem, _WHERE[adopted.misfits])


def _versions_without(column: ModelColumn, schemas: Sequence[JsonSchema]) -> list[str]:
    return [str(one.key.version) for one in schemas if column.path not in {leaf.path for leaf in leaves(one.json)}]


def unknown_columns(adopted: AdoptedTable, wanted: Sequence[tuple[str, str]]) -> Iterator[ColumnDifference]:
    """Yield the columns that get no values.

    Args:
        adopted: the table.
        wanted: name and type of each column of its rows.
    """
    used = {fold_case(one.column.name) for one in adopted.mapped(wanted) if one.column}
    for column in adopted.columns:
        if fold_case(column.name) in used or fold_case(column.name) in ENVELOPE:
            continue
        problem = f"no schema has it, {column.type}"
        if column.is_required:
            remedy = "it is NOT NULL without a default, so that no row can be loaded: give the name of its values, or rename"
            yield ColumnDifference(column.name, Severity.CRITICAL, problem, f"{remedy} the table and start a new one")
        else:
            default = "gets its default" if column.has_default else "is NULL"
            yield ColumnDifference(column.name, Severity.INFO, problem, f"it {default} in new rows")
