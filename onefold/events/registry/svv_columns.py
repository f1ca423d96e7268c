"""The columns of a table in Redshift, read from rows of its catalog."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from typing import Any

from onefold.core.errors import InvalidColumns
from onefold.core.text import shortened, shown_list
from onefold.events.registry.column_mapping import TableColumn
from onefold.schema.redshift_catalog import catalog_type

_FIELDS = ("table_name", "column_name", "ordinal_position", "data_type", "is_nullable")

_NULLABLE = {"YES": True, "NO": False}


def read_svv_columns(text: str, table: str) -> tuple[TableColumn, ...]:
    """Return the columns of a table from rows of SVV_COLUMNS.

    Args:
        text: a JSON array, or CSV with a header.
        table: the table, or schema.table.

    Raises:
        InvalidColumns: rows are not valid, or none is of the table; the error lists all problems.
    """
    schema, _, name = table.rpartition(".")
    problems: list[str] = []
    found: list[tuple[int, TableColumn]] = []
    for number, row in enumerate(_rows(text), 1):
        missing = [field for field in _FIELDS if not isinstance(row, dict) or row.get(field) in (None, "")]
        if missing:
            problems.append(f"row {number}: expected {shown_list(missing)}")
        elif row["table_name"] == name and (not schema or row.get("table_schema", schema) == schema):
            found += _column(row, f"row {number}", problems)
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


def _column(row: Mapping[str, Any], where: str, problems: list[str]) -> Iterator[tuple[int, TableColumn]]:
    try:
        type_ = catalog_type(row)
        position = int(row["ordinal_position"])
    except (KeyError, TypeError, ValueError):
        problems.append(
            f"{where}: {shortened(str(row['data_type']))} with its length or its position is not a type of Redshift"
        )
        return
    nullable = _NULLABLE.get(str(row["is_nullable"]).upper())
    if nullable is None:
        problems.append(f"{where}: is_nullable: expected YES or NO, got {shortened(str(row['is_nullable']))}")
        return
    encoding = str(row.get("encoding", "")).lower()
    has_default = row.get("column_default") not in (None, "")
    yield position, TableColumn(str(row["column_name"]), str(type_), nullable, has_default, encoding)
