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
from onefold.core.text import shortened, shown_list
from onefold.events.registry.bigquery_table import BigQueryTable
from onefold.events.registry.columns import ENVELOPE, ModelTable
from onefold.events.registry.ddl import bigquery_columns, named_types
from onefold.schema.columns import Column
from onefold.schema.diff import Severity
from onefold.schema.growth import grown as bigquery_grown
from onefold.schema.redshift import FIXED_ENCODINGS, RedshiftType, varchar
from onefold.schema.redshift_catalog import catalog_type, parse_type
from onefold.schema.redshift_catalog import grown_type as redshift_grown
from onefold.schema.redshift_ddl import ENVELOPE as REDSHIFT_ENVELOPE
from onefold.schema.table_columns import Columns, Gap, gaps

_OLD_ARRAY = varchar(5_000)
"""What loaders of before 2020 made of arrays."""
_COPY = "the loader takes columns by their place: copy the rows to a table that `onefold schema ddl` makes, and rename it"
_FIELDS = ("table_name", "column_name", "ordinal_position", "data_type")


@dataclass(frozen=True)
class LegacyColumn:
    """A column of a table in Redshift; its encoding is empty where it is not known."""

    name: str
    type: RedshiftType
    nullable: bool
    encoding: str = ""


@dataclass(frozen=True)
class ColumnDifference:
    """A difference between a table and what the registry would make.

    Attributes:
        column: the column of the table, or the one that is missing.
        severity: INFO: rows can be loaded as it is; WARNING: after the remedy; CRITICAL: the loader refuses the table.
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


def compare_redshift(table: ModelTable, legacy: Sequence[LegacyColumn], names: Mapping[str, str]) -> list[ColumnDifference]:
    """Return how a table in Redshift differs from the registry's, by the comparison of the loader.

    Args:
        table: the registry's table.
        legacy: the columns of the existing table.
        names: the existing column for each column of the registry that has another name there.

    Raises:
        InvalidInput: `names` does not fit to the columns; the error lists all problems.
    """
    wanted = (*((name, type_) for name, type_, _ in REDSHIFT_ENVELOPE), *named_types(table.columns))
    found = tuple((column.name, str(column.type)) for column in legacy)
    encodings = {column.name: column.encoding for column in legacy}
    arrays = frozenset(column.name for column in table.columns if column.json_types == {"array"})
    target = _Redshift(encodings, arrays)
    required = list(_not_null(table, legacy, names))
    named = {one.column for one in required}
    compared = _compared(found, wanted, names, target)
    return [*(one for one in compared if one.severity > Severity.INFO or one.column not in named), *required]


def compare_bigquery(table: BigQueryTable, legacy: Sequence[Column], names: Mapping[str, str]) -> list[ColumnDifference]:
    """Return how a table in BigQuery differs from the registry's; the arguments are those of `compare_redshift`.

    Raises:
        InvalidInput: `names` does not fit to the columns; the error lists all problems.
    """
    wanted, found = (
        tuple((column.name, str(column.type)) for column in columns) for columns in (bigquery_columns(table.columns), legacy)
    )
    return list(_compared(found, wanted, names, _BigQuery()))


class _Redshift:
    """What Redshift can do to a column.

    Attributes:
        encodings: how the columns of the table are encoded, as far as that is known.
        arrays: the columns that have arrays.
    """

    def __init__(self, encodings: Mapping[str, str], arrays: frozenset[str]) -> None:
        self.encodings = encodings
        self.arrays = arrays

    def grown(self, existing: str, new: str) -> str | None:
        return redshift_grown(existing, new)

    def widened(self, column: str, gap: Gap) -> ColumnDifference:
        first = "ALTER TABLE ... ALTER COLUMN ENCODE ZSTD, then " if self.encodings.get(column) in FIXED_ENCODINGS else ""
        alter = f"{first}ALTER TABLE ... ALTER COLUMN TYPE {gap.wanted}"
        if gap.column in self.arrays and not first and parse_type(gap.found).length >= _OLD_ARRAY.length:
            return ColumnDifference(column, Severity.INFO, f"arrays have {gap.found}", f"the loader does it: {alter}")
        return ColumnDifference(column, Severity.WARNING, f"{gap.found} cannot hold {gap.wanted}", alter)


class _BigQuery:
    """What BigQuery can do to a column."""

    def grown(self, existing: str, new: str) -> str | None:
        return bigquery_grown(existing, new)

    def widened(self, column: str, gap: Gap) -> ColumnDifference:
        return ColumnDifference(
            column, Severity.WARNING, f"{gap.found} lacks fields of {gap.wanted}", "the loader adds them"
        )


def _compared(
    found: Columns, wanted: Columns, names: Mapping[str, str], target: _Redshift | _BigQuery
) -> Iterator[ColumnDifference]:
    """Yield the differences that the loader finds, too, and the columns that have to be renamed before.

    Args:
        found: the columns of the table.
        wanted: the registry's columns.
        names: the existing column for each column of the registry that has another name there.
        target: the warehouse.
    """
    _check_names(names, [name for name, _ in wanted[len(ENVELOPE) :]], [name for name, _ in found])
    there = {fold_case(legacy): name for name, legacy in names.items() if name != legacy}
    for name in there.values():
        problem = f"it holds {name}, and rows are loaded by the names of columns"
        yield ColumnDifference(
            names[name], Severity.WARNING, problem, f"ALTER TABLE ... RENAME COLUMN {names[name]} TO {name}"
        )
    renamed = tuple((there.get(fold_case(name), name), type_) for name, type_ in found)
    for gap in gaps(renamed, wanted, target.grown):
        yield _difference(names.get(gap.column, gap.column), gap, target)


def _difference(column: str, gap: Gap, target: _Redshift | _BigQuery) -> ColumnDifference:
    """Return a difference for people.

    Args:
        column: the name in the existing table.
        gap: what the loader finds.
        target: the warehouse.
    """
    if gap.kind == "grown":
        return target.widened(column, gap)
    if gap.kind in ("added", "missing") and gap.column in ENVELOPE:
        return ColumnDifference(column, Severity.CRITICAL, "missing", f"it tells to which event a row belongs: {_COPY}")
    if gap.kind == "added":
        remedy = "the loader adds it, unless a column of another name holds it: name that one in the mapping"
        return ColumnDifference(column, Severity.WARNING, f"missing, {gap.wanted}", remedy)
    if gap.kind == "unknown":
        remedy = "it is NULL in new rows; drop it before the first run is loaded, or no version can add a column"
        return ColumnDifference(column, Severity.INFO, f"no schema has it, {gap.found}", remedy)
    problem = str(gap).removeprefix(f"column {gap.column}: ")
    return ColumnDifference(column, Severity.CRITICAL, problem, _COPY)


def _not_null(table: ModelTable, legacy: Sequence[LegacyColumn], names: Mapping[str, str]) -> Iterator[ColumnDifference]:
    """Yield the columns that are NOT NULL, and get rows without a value."""
    nullable = {fold_case(names.get(column.name, column.name)): column.nullable for column in table.columns}
    remedy = "Redshift cannot take NOT NULL away: copy it to a new column"
    for column in legacy:
        name = fold_case(column.name)
        if not column.nullable and name not in ENVELOPE and nullable.get(name, True):
            reason = "the value may be missing" if name in nullable else "no schema has it, so that new rows have no value"
            yield ColumnDifference(column.name, Severity.CRITICAL, f"it is NOT NULL, and {reason}", remedy)


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
            problems.append(f"row {number}: expected {shown_list(missing)}")
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
