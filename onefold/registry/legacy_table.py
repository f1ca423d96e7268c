"""A table that another loader made, compared with the table that the registry would make."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from onefold.core.errors import InvalidColumns, InvalidInput
from onefold.core.names import fold_case
from onefold.core.text import shortened
from onefold.registry.bigquery_table import BigQueryTable
from onefold.registry.columns import ENVELOPE, ModelColumn, ModelTable
from onefold.registry.ddl import bigquery_columns
from onefold.schema.columns import Column
from onefold.schema.diff import SchemaChange, Severity, compare
from onefold.schema.redshift import FIXED_ENCODINGS, MAX_VARCHAR, RedshiftType, holds, merged_type, varchar
from onefold.schema.redshift_catalog import catalog_type

_OLD_ARRAY = varchar(5_000)
"""What loaders of before 2020 made of arrays."""
_FIELDS = ("table_name", "column_name", "ordinal_position", "data_type")


@dataclass(frozen=True)
class LegacyColumn:
    """A column of a table in Redshift; its encoding is empty where it is not known."""

    name: str
    type: RedshiftType
    nullable: bool
    encoding: str = ""


@dataclass(frozen=True)
class Difference:
    """A difference between a table and what the registry would make.

    Attributes:
        column: the column of the table, or the one that is missing.
        severity: INFO: rows can be loaded as it is; WARNING: after the remedy; CRITICAL: not into this column.
        problem: what differs.
        remedy: what to do, or why nothing has to be done.
    """

    column: str
    severity: Severity
    problem: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.severity.name} {self.column}: {self.problem}: {self.remedy}"

    def as_dict(self) -> dict[str, str]:
        return {"column": self.column, "severity": self.severity.name, "problem": self.problem, "remedy": self.remedy}


def compare_redshift(table: ModelTable, legacy: Sequence[LegacyColumn], names: Mapping[str, str]) -> list[Difference]:
    """Return how a table in Redshift differs from the registry's.

    Args:
        table: the registry's table.
        legacy: the columns of the existing table.
        names: the existing column for each column of the registry that has another name there.

    Raises:
        InvalidInput: `names` does not fit to the columns; the error lists all problems.
    """
    found = {fold_case(column.name): column for column in legacy}
    expected = {fold_case(names.get(column.name, column.name)): column for column in table.columns}
    _check_names(names, [column.name for column in table.columns], [column.name for column in legacy])
    differences = [_missing_envelope(name) for name in ENVELOPE if name not in found]
    for name, column in expected.items():
        there = found.get(name)
        differences += [_missing(column.name, str(column.type))] if there is None else _compared(column, there)
    known = {*expected, *ENVELOPE}
    return differences + [_unknown_in_redshift(column) for name, column in found.items() if name not in known]


def compare_bigquery(table: BigQueryTable, legacy: Sequence[Column], names: Mapping[str, str]) -> list[Difference]:
    """Return how a table in BigQuery differs from the registry's; the arguments are those of `compare_redshift`.

    Raises:
        InvalidInput: `names` does not fit to the columns; the error lists all problems.
    """
    expected = bigquery_columns(table.columns)
    _check_names(names, [column.name for column in expected], [column.name for column in legacy])
    renamed = [Column(names.get(column.name, column.name), column.type) for column in expected]
    return [_difference(change) for change in compare(legacy, renamed)]


def _compared(column: ModelColumn, there: LegacyColumn) -> Iterator[Difference]:
    if not there.nullable and column.nullable:
        yield _not_null(there.name, "the value may be missing")
    if holds(there.type, column.type):
        return
    is_array = column.type == varchar(MAX_VARCHAR) and column.json_types == {"array"}
    widened = f"{there.type} cannot hold {column.type}"
    first = "ALTER TABLE ... ALTER COLUMN ENCODE ZSTD, then " if there.encoding in FIXED_ENCODINGS else ""
    alter = f"{first}ALTER TABLE ... ALTER COLUMN TYPE {column.type}"
    if is_array and there.type.name == "VARCHAR" and there.type.length >= _OLD_ARRAY.length:
        yield Difference(
            there.name, Severity.INFO, f"arrays have {there.type}", f"it is taken as it is; longer ones: {alter}"
        )
    elif merged_type(there.type, column.type) == column.type:
        yield Difference(there.name, Severity.WARNING, widened, alter)
    else:
        remedy = "Redshift cannot change this in place: copy it to a new column, and name that one in the mapping"
        yield Difference(there.name, Severity.CRITICAL, widened, remedy)


def _not_null(name: str, reason: str) -> Difference:
    remedy = "Redshift cannot take NOT NULL away: copy it to a new column"
    return Difference(name, Severity.CRITICAL, f"it is NOT NULL, and {reason}", remedy)


def _unknown_in_redshift(column: LegacyColumn) -> Difference:
    if not column.nullable:
        return _not_null(column.name, "no schema has it, so that new rows have no value")
    return _unknown(column.name, str(column.type))


def _missing_envelope(name: str) -> Difference:
    return Difference(name, Severity.CRITICAL, "missing", "add it and fill it: it tells to which event a row belongs")


def _missing(name: str, type_: str) -> Difference:
    return Difference(name, Severity.WARNING, f"missing, {type_}", "add it, or name the column that holds it in the mapping")


def _unknown(name: str, type_: str) -> Difference:
    return Difference(name, Severity.INFO, f"no schema has it, {type_}", "it stays, and is NULL in new rows")


def _difference(change: SchemaChange) -> Difference:
    """Return what a change from the existing table to the registry's means for the existing one."""
    if change.kind == "added":
        missing = _missing_envelope if change.path in ENVELOPE else lambda name: _missing(name, str(change.new))
        return missing(change.path)
    if change.kind == "removed":
        return _unknown(change.path, str(change.old))
    if change.kind == "retyped":
        remedy = "BigQuery cannot change this in place: copy it to a new column, and name that one in the mapping"
        return Difference(change.path, Severity.CRITICAL, f"it is {change.old}, and values are {change.new}", remedy)
    return Difference(change.path, Severity.INFO, change.kind, "loads name their columns, so that nothing has to be done")


def _check_names(names: Mapping[str, str], expected: Sequence[str], found: Sequence[str]) -> None:
    there = {fold_case(name) for name in found}
    problems = [f"mapping: {name} is not a column of the registry" for name in names if name not in expected]
    problems += [f"mapping: the table has no column {name}" for name in names.values() if fold_case(name) not in there]
    taken = [names.get(name, name) for name in expected]
    problems += [
        f"mapping: {name} would be two columns of the registry"
        for name in dict.fromkeys(taken)
        if sum(fold_case(name) == fold_case(other) for other in taken) > 1
    ]
    if problems:
        raise InvalidInput(problems)


def read_svv_columns(text: str, table: str) -> tuple[LegacyColumn, ...]:
    """Return the columns of a table from rows of SVV_COLUMNS.

    Args:
        text: a JSON array, or CSV with a header.
        table: the table, or schema.table.

    Raises:
        InvalidColumns: rows are not valid, or none is of the table; the error lists all problems.
    """
    schema, _, name = table.rpartition(".")
    problems: list[str] = []
    found: list[tuple[int, LegacyColumn]] = []
    for number, row in enumerate(_rows(text), 1):
        missing = [field for field in _FIELDS if not isinstance(row, dict) or row.get(field) in (None, "")]
        if missing:
            problems.append(f"row {number}: expected {', '.join(missing)}")
        elif row["table_name"] == name and (not schema or row.get("table_schema", schema) == schema):
            found += _legacy(row, f"row {number}", problems)
    if not found and not problems:
        problems.append(f"no row is of the table {shortened(table)}: check the name")
    if problems:
        raise InvalidColumns(problems)
    return tuple(column for _, column in sorted(found, key=lambda one: one[0]))


def _rows(text: str) -> list[Any]:
    """Return the rows of a file.

    Raises:
        InvalidColumns: the file is neither a JSON array nor CSV with a header.
    """
    try:
        content = json.loads(text) if text.lstrip().startswith(("[", "{")) else list(csv.DictReader(io.StringIO(text)))
    except (ValueError, RecursionError, csv.Error) as error:
        raise InvalidColumns(f"the file is neither a JSON array nor CSV with rows of SVV_COLUMNS: {error}") from error
    return content if isinstance(content, list) else [content]


def _legacy(row: Mapping[str, Any], where: str, problems: list[str]) -> Iterator[tuple[int, LegacyColumn]]:
    try:
        type_ = catalog_type(row)
        position = int(row["ordinal_position"])
    except (KeyError, TypeError, ValueError):
        problems.append(
            f"{where}: {shortened(str(row['data_type']))} with its length or its position is not a type of Redshift"
        )
        return
    nullable, encoding = str(row.get("is_nullable", "YES")).upper() != "NO", str(row.get("encoding", "")).lower()
    yield position, LegacyColumn(str(row["column_name"]), type_, nullable, encoding)
