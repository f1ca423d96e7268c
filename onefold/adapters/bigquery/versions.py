"""The versions of a table: one query of INFORMATION_SCHEMA finds them by name, a list of the dataset by labels.

The tables of a united table are found by a query for each hundred datasets.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from google.cloud import bigquery

from onefold.adapters.bigquery.schema import type_string
from onefold.core.errors import InvalidColumns, InvalidType, SchemaConflict
from onefold.core.event_labels import LABEL_VERSION
from onefold.core.names import TableId, quote, quote_text
from onefold.core.versioned_names import DEFAULT_NAMES, VersionedNames
from onefold.schema.columns import Column
from onefold.schema.types import parse_landed_type
from onefold.schema.versions import Version


def versions_query(base: TableId, names: VersionedNames) -> str:
    """Return the query for the versions of a table: one row per version.

    Pseudo-columns such as _PARTITIONTIME have no ordinal position, and views are not base tables. The columns of a version
    are one text: as an array of structs, each of them would be five objects of JSON in the answer.

    Args:
        base: the base name of the versioned tables.
        names: the naming of versioned tables in the dataset.
    """
    schema = f"{quote(f'{base.project}.{base.dataset}')}.INFORMATION_SCHEMA"
    return (
        "SELECT t.table_name, t.creation_time, "
        "STRING_AGG(TO_JSON_STRING([c.column_name, c.data_type]), ',' ORDER BY c.ordinal_position) AS columns\n"
        f"FROM {schema}.TABLES AS t JOIN {schema}.COLUMNS AS c ON c.table_name = t.table_name\n"
        "WHERE t.table_type = 'BASE TABLE' "
        f"AND REGEXP_CONTAINS(t.table_name, {quote_text(names.versions_pattern(base.table))})\n"
        "AND c.ordinal_position IS NOT NULL AND c.is_hidden = 'NO'\n"
        "GROUP BY t.table_name, t.creation_time"
    )


def united_query(project: str, datasets: Iterable[str], table: str, names: VersionedNames) -> str:
    """Return the query for the tables of one name in some datasets: the rows of `versions_query`, and the dataset.

    One query for each dataset would make as many jobs as there are tenants. The metadata of the whole region would need
    rights on the project, and may be read from one location only.

    Args:
        project: the project.
        datasets: the datasets.
        table: the name of the tables.
        names: the naming in the dataset of the united table.
    """
    return "\nUNION ALL\n".join(
        f"SELECT {quote_text(dataset)} AS dataset, v.*\nFROM (\n"
        f"{versions_query(TableId(project, dataset, table), names)}\n) AS v"
        for dataset in datasets
    )


def version_row(table: bigquery.Table) -> dict[str, Any]:
    """Return a table as the query of the versions would."""
    columns = columns_text((field.name, type_string(field)) for field in table.schema)
    return {"table_name": table.table_id, "creation_time": table.created, "columns": columns}


def versions_from_rows(
    rows: Iterable[Mapping[str, Any]], base: TableId, names: VersionedNames = DEFAULT_NAMES
) -> tuple[Version, ...]:
    """Return the versions of `base`, in the order of the rows; other tables that the query returned are left out.

    Columns of one name and type are one object, whatever their version, and a row is freed before the next is read: a
    thousand versions of hundreds of columns take little more memory than one of them.

    Args:
        rows: one for each table: `table_name`, `creation_time`, and `columns` as `columns_text` writes them. Of a united
            table also `dataset`, which takes the place of the version.
        base: the base name of the versioned tables.
        names: the naming of versioned tables in the dataset.

    Raises:
        InvalidColumns: columns whose type has not the form of a type, all of them.
        SchemaConflict: two tables have the labels of one version.
    """
    known: dict[tuple[str, str], Column] = {}
    versions, problems = [], []
    for row in rows:
        dataset = row.get("dataset", "")
        version = dataset or names.version_of(base.table, row["table_name"])
        if version is None:
            continue
        columns = []
        for name, type_ in json.loads(f"[{row['columns']}]"):
            try:
                columns.append(_shared_column(name, type_, known))
            except InvalidType as error:
                place = f"{dataset}." if dataset else ""
                problems.append(f"table {place}{row['table_name']}, column {name}: {error}")
        named = row["table_name"] if names.are_noted else ""
        versions.append(Version(version, tuple(columns), row["creation_time"], named, dataset))
    if problems:
        raise InvalidColumns(problems)
    _check_labels(base, versions)
    return tuple(versions)


def columns_text(columns: Iterable[tuple[str, str]]) -> str:
    """Return names and types in their order as the query of the versions gives them: JSON arrays, separated by commas.

    Examples:
        >>> columns_text([("id", "INT64"), ("name", "STRING")])
        '["id", "INT64"],["name", "STRING"]'
    """
    return ",".join(json.dumps(column, ensure_ascii=False) for column in columns)


def _check_labels(base: TableId, versions: Iterable[Version]) -> None:
    tables: dict[str, list[str]] = {}
    for version in versions:
        tables.setdefault(version.id, []).append(version.table)
    problems = [
        f"{base}: {' and '.join(sorted(named))} are version {id_} by their labels: remove the label {LABEL_VERSION} "
        "from all but one of them"
        for id_, named in tables.items()
        if len(named) > 1
    ]
    if problems:
        raise SchemaConflict(problems)


def _shared_column(name: str, type_: str, known: dict[tuple[str, str], Column]) -> Column:
    column = known.get((name, type_))
    if column is None:
        column = known[name, type_] = Column(name, parse_landed_type(type_))
    return column
