"""Statements of the loader for Redshift: the manifest table, and what is recorded in it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime

from onefold.core.errors import LimitExceeded
from onefold.core.names import quote_redshift, quote_redshift_text
from onefold.ports.event_tables import MANIFEST_TABLE, Columns, EventTable, State
from onefold.schema.redshift_ddl import table_sql

_MAX_COLUMNS_TEXT = 60_000
"""Bytes. A row of a result has at most 64 KB (Data API, "Considerations"), and VARCHAR 65,535 bytes."""
_MANIFEST = (
    ("run", "VARCHAR(2048)"), ("table_name", "VARCHAR(127)"), ("state", "VARCHAR(16)"), ("base", "VARCHAR(255)"),
    ("version", "VARCHAR(64)"), ("schema_uri", "VARCHAR(1024)"), ("table_columns", "VARCHAR(65535)"),
    ("registry_read_at", "TIMESTAMP"), ("rows_loaded", "BIGINT"), ("recorded_at", "TIMESTAMP"),
)  # fmt: skip


def create_manifest(schema: str) -> str:
    """Return the statement that creates the manifest table."""
    fields = ",\n  ".join(f"{quote_redshift(name)} {type_} ENCODE ZSTD" for name, type_ in _MANIFEST)
    return f"CREATE TABLE IF NOT EXISTS {table_sql(MANIFEST_TABLE, schema)} (\n  {fields}\n)"


def lock_manifest(schema: str) -> str:
    """Return the statement that lets one transaction at a time load.

    LOCK takes no snapshot of the database, so that the statement after it sees what the one before it has committed
    (Amazon Redshift, "Serializable isolation": the snapshot is that of the first SELECT, DML or DDL of the transaction,
    https://docs.aws.amazon.com/redshift/latest/dg/c_serial_isolation.html, 2026-11).
    """
    return f"LOCK TABLE {table_sql(MANIFEST_TABLE, schema)}"


def check_not_recorded(run: str, tables: Collection[str], schema: str) -> str:
    """Return the statement that fails, and with it the transaction, where a table of the run is recorded as loaded.

    A transaction of the Data API has no branches. A division by the number of rows, 1 for no row and 0 for any, is one: the
    number comes from the table, so that no planner computes it beforehand.
    """
    return (
        f"SELECT 1 / (CASE WHEN COUNT(*) = 0 THEN 1 ELSE 0 END) FROM {table_sql(MANIFEST_TABLE, schema)} "
        f'WHERE "run" = {quote_redshift_text(run)} AND "state" = \'loaded\' AND "table_name" IN ({_texts(tables)})'
    )


def recorded_query(runs: Collection[str], schema: str) -> str:
    """Return the query of what is loaded and finished of runs."""
    return (
        f'SELECT DISTINCT "run", "table_name" FROM {table_sql(MANIFEST_TABLE, schema)} '
        f"WHERE \"state\" IN ('loaded', 'finished') AND \"run\" IN ({_texts(runs)})"
    )


def histories_query(names: Collection[str], schema: str) -> str:
    """Return the query of all columns that are listed for tables, each list once for each state."""
    return (
        'SELECT "table_name", "state", "table_columns", "schema_uri", '
        "TO_CHAR(MAX(\"registry_read_at\"), 'YYYY-MM-DD HH24:MI:SS.US') "
        f"FROM {table_sql(MANIFEST_TABLE, schema)} "
        f"WHERE \"state\" IN ('planned', 'loaded') AND \"table_name\" IN ({_texts(names)}) "
        "GROUP BY 1, 2, 3, 4"
    )


def record(run: str, state: State, schema: str, read_at: datetime | None = None, *, of: EventTable, rows: int = 0) -> str:
    """Return the statement that records a step of a table.

    Args:
        run: the address of the folder of the run.
        state: the step.
        schema: the schema of the manifest table.
        read_at: when the run read the registry.
        of: the table with its columns; one without a name stands for the whole run.
        rows: the rows that were loaded.
    """
    texts = (run, of.name, state, of.base, of.version, of.uri, columns_text(of) if of.columns else "")
    time = "NULL" if read_at is None else f"'{read_at.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f}'"
    values = [*map(quote_redshift_text, texts), time, str(rows), "GETDATE()"]
    names = ", ".join(quote_redshift(name) for name, _ in _MANIFEST)
    return f"INSERT INTO {table_sql(MANIFEST_TABLE, schema)} ({names}) VALUES ({', '.join(values)})"


def columns_text(table: EventTable) -> str:
    """Return columns as the manifest table holds them.

    Raises:
        LimitExceeded: they are too many for a column of text.
    """
    text = json.dumps(table.columns, ensure_ascii=False, separators=(",", ":"))
    if (length := len(text.encode())) > _MAX_COLUMNS_TEXT:
        raise LimitExceeded(
            f"{table.name}: its {len(table.columns):,} columns take {length:,} bytes in the manifest table, which holds "
            f"{_MAX_COLUMNS_TEXT:,}: split the schema"
        )
    return text


def fits(table: EventTable) -> bool:
    """Return whether the manifest table can list the columns of a table."""
    try:
        columns_text(table)
    except LimitExceeded:
        return False
    return True


def parse_columns(text: str) -> Columns:
    """Return columns from a text of the manifest table."""
    return tuple((str(name), str(type_)) for name, type_ in json.loads(text))


def columns_query(schema: str, table: str) -> str:
    """Return the query of the columns that a table really has."""
    fields = "column_name, data_type, character_maximum_length, numeric_precision, numeric_scale"
    return f"SELECT {fields} FROM svv_columns WHERE {_place(schema, table)} ORDER BY ordinal_position"


def table_query(schema: str, table: str) -> str:
    """Return the query of the kind and the comment of a table."""
    return f"SELECT table_type, remarks FROM svv_tables WHERE {_place(schema, table)}"


def schema_query(schema: str) -> str:
    """Return the query of a row for a schema that exists."""
    return f"SELECT nspname FROM pg_namespace WHERE nspname = {quote_redshift_text(schema)}"


def load_error_query(query: int) -> str:
    """Return the query of the first row that a COPY could not load."""
    fields = "TRIM(file_name), line_number, TRIM(column_name), TRIM(error_message)"
    return f"SELECT {fields} FROM sys_load_error_detail WHERE query_id = {query} LIMIT 1"


def batches_of_texts(texts: Iterable[str], limit: int) -> Iterable[Sequence[str]]:
    """Yield texts in groups of at most `limit` bytes; a longer text is a group of its own."""
    group: list[str] = []
    size = 0
    for text in texts:
        length = len(quote_redshift_text(text).encode()) + 2
        if group and size + length > limit:
            yield group
            group, size = [], 0
        group.append(text)
        size += length
    if group:
        yield group


def _place(schema: str, table: str) -> str:
    return f"table_schema = {quote_redshift_text(schema)} AND table_name = {quote_redshift_text(table)}"


def _texts(texts: Iterable[str]) -> str:
    return ", ".join(quote_redshift_text(text) for text in sorted(set(texts)))
