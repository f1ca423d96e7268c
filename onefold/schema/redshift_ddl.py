"""Statements that create and change tables of Redshift."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from onefold.core.errors import LimitExceeded
from onefold.core.names import quote_redshift, quote_redshift_text
from onefold.schema.diff import SchemaChange
from onefold.schema.redshift import MAX_COLUMNS, MAX_NAME_BYTES

ENVELOPE = (
    *((name, "VARCHAR(128)", "ZSTD") for name in ("schema_vendor", "schema_name", "schema_format", "schema_version")),
    ("root_id", "CHAR(36)", "RAW"), ("root_tstamp", "TIMESTAMP", "RAW"), ("ref_root", "VARCHAR(255)", "ZSTD"),
    ("ref_tree", "VARCHAR(1500)", "ZSTD"), ("ref_parent", "VARCHAR(255)", "ZSTD"),
)  # fmt: skip
"""The first columns of each table: name, type and compression. Sort keys are best left uncompressed."""
EVENT_KEYS = ("event_id", "collector_tstamp")
"""The columns of an event by which its table is distributed and sorted: `root_id` and `root_tstamp` of other tables."""
_ZSTD = "ENCODE ZSTD"
"""The compression of the data's columns: with it, a VARCHAR column can be made longer in place."""


def create_table(table: str, columns: Sequence[tuple[str, str]], comment: str, schema: str | None = None) -> list[str]:
    """Return the statements that create a table; a table that exists stays as it is.

    The columns of the data may be NULL, whatever their schema requires: Redshift cannot take NOT NULL away again.

    Args:
        table: the name of the table.
        columns: name and type of each column of the data, in their order.
        comment: the URI of the schema that the table is at.
        schema: the schema of the database; None for the first one of the search path.

    Raises:
        LimitExceeded: Redshift would refuse the table.
    """
    _check(table, columns)
    lines = [f"{quote_redshift(name)} {type_} ENCODE {encoding} NOT NULL" for name, type_, encoding in ENVELOPE]
    lines += [f"{quote_redshift(name)} {type_} {_ZSTD}" for name, type_ in columns]
    return [_create(table, lines, ("root_id", "root_tstamp"), schema), comment_on(table, comment, schema)]


def create_events_table(table: str, columns: Sequence[tuple[str, str]], schema: str | None = None) -> str:
    """Return the statement that creates the table of the events themselves; a table that exists stays as it is.

    Args:
        table: the name of the table.
        columns: name and type of each column, in their order.
        schema: the schema of the database; None for the first one of the search path.

    Raises:
        LimitExceeded: Redshift would refuse the table.
    """
    _check(table, columns, 0)
    keys = EVENT_KEYS if set(EVENT_KEYS) <= {name for name, _ in columns} else None
    lines = [f"{quote_redshift(name)} {type_} {'ENCODE RAW' if keys and name in keys else _ZSTD}" for name, type_ in columns]
    return _create(table, lines, keys, schema)


def _create(table: str, lines: Sequence[str], keys: tuple[str, str] | None, schema: str | None) -> str:
    fields = ",\n  ".join(lines)
    order = f"\nDISTSTYLE KEY\nDISTKEY ({keys[0]})\nSORTKEY ({keys[1]})" if keys else ""
    return f"CREATE TABLE IF NOT EXISTS {table_sql(table, schema)} (\n  {fields}\n){order}"


def comment_on(table: str, comment: str, schema: str | None = None) -> str:
    """Return the statement that sets a table's comment."""
    return f"COMMENT ON TABLE {table_sql(table, schema)} IS {quote_redshift_text(comment)}"


def change_statement(change: SchemaChange, table: str, schema: str | None = None) -> str | None:
    """Return the statement that makes a change; None for a change that needs none.

    A longer VARCHAR cannot be part of a transaction; a new column can (Amazon Redshift, "ALTER TABLE").

    Args:
        change: the change of a column.
        table: the name of the table.
        schema: the schema of the database; None for the first one of the search path.

    Examples:
        >>> from onefold.schema.diff import Severity
        >>> change_statement(SchemaChange("added", "geo.lat", Severity.INFO, new="DOUBLE PRECISION"), "t_1")
        'ALTER TABLE "t_1" ADD COLUMN "geo.lat" DOUBLE PRECISION ENCODE ZSTD'
    """
    place = f"ALTER TABLE {table_sql(table, schema)}"
    if change.kind == "added":
        return f"{place} ADD COLUMN {quote_redshift(change.path)} {change.new} {_ZSTD}"
    if change.kind == "retyped":
        return f"{place} ALTER COLUMN {quote_redshift(change.path)} TYPE {change.new}"
    return None


def table_sql(table: str, schema: str | None = None) -> str:
    """Return the name of a table for SQL.

    Examples:
        >>> table_sql("com_acme_ad_click_1", "atomic")
        '"atomic"."com_acme_ad_click_1"'
    """
    return ".".join(quote_redshift(part) for part in (schema, table) if part)


def _check(table: str, columns: Iterable[tuple[str, str]], before: int = len(ENVELOPE)) -> None:
    count = before + len(list(columns))
    problems = []
    if count > MAX_COLUMNS:
        problems.append(f"{table} has {count:,} columns, and Redshift allows {MAX_COLUMNS:,}: split the schema")
    if len(table.encode()) > MAX_NAME_BYTES:
        problems.append(
            f"{table} is longer than {MAX_NAME_BYTES} bytes, the most that Redshift allows: shorten vendor or name"
        )
    if problems:
        raise LimitExceeded(problems)
