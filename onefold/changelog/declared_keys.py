"""The key that a versioned table declares in BigQuery: `PRIMARY KEY (source_name, database_name, ...) NOT ENFORCED`.

BigQuery does not check the key. The key names the columns that identify a row of the source, tenant included. A versioned
table holds every change, so many of its rows have the same key.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from onefold.changelog.metadata import DATABASE_NAME, SOURCE_NAME
from onefold.core.names import TableId, fold_case, quote, quote_text
from onefold.schema.columns import Column

TENANT = (SOURCE_NAME, DATABASE_NAME)

# BigQuery, "TABLE_CONSTRAINTS view", limitations,
# https://cloud.google.com/bigquery/docs/information-schema-table-constraints, 2026-11.
MAX_KEY_COLUMNS = 16
KEY_TYPES = frozenset({"BIGNUMERIC", "BOOL", "DATE", "DATETIME", "INT64", "NUMERIC", "STRING", "TIMESTAMP"})


def key_to_declare(columns: Iterable[Column], primary_key: Sequence[str]) -> tuple[str, ...]:
    """Return the key that a versioned table declares; empty where there is no key, or BigQuery does not accept the key.

    Args:
        columns: the columns of the table.
        primary_key: the primary key of the source, by the names of its columns in the table.

    Examples:
        >>> from onefold.schema.types import parse_type
        >>> columns = [Column(name, parse_type("STRING")) for name in ("source_name", "database_name", "id")]
        >>> key_to_declare(columns, ["id"])
        ('source_name', 'database_name', 'id')
    """
    types = {column.name: str(column.type) for column in columns}
    key = (*TENANT, *primary_key)
    return key if primary_key and len(key) <= MAX_KEY_COLUMNS and KEY_TYPES.issuperset(types[name] for name in key) else ()


def source_key(declared: Sequence[str]) -> tuple[str, ...]:
    """Return the source's part of a declared key; empty where the tenant is not part of the key, as in keys of others.

    Examples:
        >>> source_key(["source_name", "database_name", "id"])
        ('id',)
        >>> source_key(["id"])
        ()
    """
    names = {fold_case(name) for name in declared}
    return tuple(name for name in declared if fold_case(name) not in TENANT) if names.issuperset(TENANT) else ()


def same_columns(key: Iterable[str], other: Iterable[str]) -> bool:
    """Return whether two keys have the same columns, in any order and spelling.

    Examples:
        >>> same_columns(["id", "shop"], ["Shop", "ID"])
        True
    """
    return {fold_case(name) for name in key} == {fold_case(name) for name in other}


def declared_keys_query(tables: Sequence[TableId]) -> str:
    """Return a query of the declared keys of some tables of one dataset: `table_name`, and `columns` in the key's order.

    Tables without a declared key have no row.

    Examples:
        >>> print(declared_keys_query([TableId("p", "shop", "customer_v_abc")]).splitlines()[0])
        SELECT k.table_name, ARRAY_AGG(k.column_name ORDER BY k.ordinal_position) AS columns
    """
    names = ", ".join(quote_text(id_.table) for id_ in tables)
    return _keys_query(f"{tables[0].project}.{tables[0].dataset}", f" AND t.table_name IN ({names})")


def dataset_keys_query(project: str, dataset: str) -> str:
    """Return a query of the declared keys of all tables of a dataset, as `declared_keys_query` does for some."""
    return _keys_query(f"{project}.{dataset}", "")


def _keys_query(dataset: str, condition: str) -> str:
    schema = f"{quote(dataset)}.INFORMATION_SCHEMA"
    return (
        "SELECT k.table_name, ARRAY_AGG(k.column_name ORDER BY k.ordinal_position) AS columns\n"
        f"FROM {schema}.TABLE_CONSTRAINTS AS t JOIN {schema}.KEY_COLUMN_USAGE AS k\n"
        "ON k.table_name = t.table_name AND k.constraint_name = t.constraint_name\n"
        f"WHERE t.constraint_type = 'PRIMARY KEY'{condition}\n"
        "GROUP BY k.table_name"
    )
