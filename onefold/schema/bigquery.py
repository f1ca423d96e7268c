"""Statements that create and extend BigQuery tables, and the limits of views and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from onefold.core.names import TableId, quote, quote_text
from onefold.schema.columns import Column, Schema
from onefold.schema.diff import SchemaChange
from onefold.schema.types import parse_type, render_type

# BigQuery, "Quotas and limits", https://cloud.google.com/bigquery/quotas, 2026-11: 256K characters of a view's own text,
# read here as 256,000; 12 MB of text once all views in it are resolved; 1,000 tables per query, views on the way counted;
# 10,000 columns.
MAX_TEXT = 256_000
MAX_RESOLVED_TEXT = 12_000_000
MAX_TABLES = 1_000
MAX_COLUMNS = 10_000
WARN_TABLES = 500


def create_statement(
    id_: TableId, columns: Iterable[Column], clustering: Sequence[str] = (), day: str = "", description: str = ""
) -> str:
    """Return the statement that creates a table; a table that exists stays as it is.

    Args:
        id_: the table.
        columns: its columns, in their order.
        clustering: the names of the columns to cluster by, most significant first.
        day: the TIMESTAMP column by whose day the table is partitioned; empty for none.
        description: what the table shows as its description; empty for none.

    Examples:
        >>> from onefold.schema.types import parse_type
        >>> print(create_statement(TableId("p", "shop", "base"), [Column("id", parse_type("INT64"))], ["id"]))
        CREATE TABLE IF NOT EXISTS `p.shop.base` (
          `id` INT64
        )
        CLUSTER BY `id`
    """
    fields = ",\n  ".join(f"{quote(column.name)} {render_type(column.type)}" for column in columns)
    partition = f"\nPARTITION BY TIMESTAMP_TRUNC({quote(day)}, DAY)" if day else ""
    options = f"\nOPTIONS (description = {quote_text(description)})" if description else ""
    return f"CREATE TABLE IF NOT EXISTS {id_.quoted} (\n  {fields}\n){partition}{cluster_by(clustering)}{options}"


def cluster_by(names: Sequence[str]) -> str:
    r"""Return the clause that clusters a table by some columns; empty where there are none.

    Examples:
        >>> cluster_by(["id", "name"])
        '\nCLUSTER BY `id`, `name`'
    """
    return f"\nCLUSTER BY {', '.join(map(quote, names))}" if names else ""


def add_statement(id_: TableId, columns: Iterable[Column]) -> str:
    """Return the statement that adds columns; a column that somebody else has added meanwhile stays as it is.

    Examples:
        >>> from onefold.schema.types import parse_type
        >>> print(add_statement(TableId("p", "shop", "base"), [Column("zip", parse_type("STRING"))]))
        ALTER TABLE `p.shop.base`
          ADD COLUMN IF NOT EXISTS `zip` STRING
    """
    added = ",\n  ".join(f"ADD COLUMN IF NOT EXISTS {quote(column.name)} {render_type(column.type)}" for column in columns)
    return f"ALTER TABLE {id_.quoted}\n  {added}"


def change_statement(change: SchemaChange, id_: TableId) -> str | None:
    """Return the statement that makes a change of a table's columns; None for a change that needs none.

    SQL adds columns alone: no statement adds a field to a STRUCT, but a load job or an update of the table's schema does
    (BigQuery, "Modifying table schemas", add a nested column to a RECORD column, 2026-11). The text is a comment then.

    Args:
        change: the change, whose types are BigQuery's.
        id_: the table.

    Examples:
        >>> from onefold.schema.diff import Severity
        >>> change = SchemaChange("added", "geo.alt", Severity.INFO, new="FLOAT64")
        >>> print(change_statement(change, TableId(None, "d", "t_1")))
        -- d.t_1: geo.alt FLOAT64 is added by a load job (ALLOW_FIELD_ADDITION) or `bq update`: SQL cannot add it
    """
    if change.kind != "added" or change.new is None:
        return None
    if "." in change.path:
        means = "is added by a load job (ALLOW_FIELD_ADDITION) or `bq update`: SQL cannot add it"
        return f"-- {id_}: {change.path} {change.new} {means}"
    return add_statement(id_, [Column(change.path, parse_type(change.new))])


def describe_statement(id_: TableId, description: str) -> str:
    """Return the statement that sets a table's description.

    Examples:
        >>> describe_statement(TableId(None, "d", "t_1"), "iglu:com.acme/t/jsonschema/1-0-0")
        "ALTER TABLE `d.t_1` SET OPTIONS (description = 'iglu:com.acme/t/jsonschema/1-0-0')"
    """
    return f"ALTER TABLE {id_.quoted} SET OPTIONS (description = {quote_text(description)})"


def absent_columns(known: Iterable[Column], expected: Iterable[Column]) -> Schema:
    """Return the expected columns that are not known, by name without case.

    Examples:
        >>> from onefold.schema.types import parse_type
        >>> id_, zip_ = (Column(name, parse_type("STRING")) for name in ("id", "zip"))
        >>> absent_columns([Column("ID", id_.type)], [id_, zip_]).names
        ('zip',)
    """
    return Schema(expected).minus(column.name for column in known)
