"""Statements and limits of BigQuery's tables and views."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from onefold.core.names import TableId, fold_case, quote
from onefold.schema.columns import Column
from onefold.schema.types import render_type


def create_statement(id_: TableId, columns: Iterable[Column], clustering: Sequence[str] = ()) -> str:
    fields = ",\n  ".join(f"{quote(column.name)} {render_type(column.type)}" for column in columns)
    return f"CREATE TABLE IF NOT EXISTS {id_.quoted} (\n  {fields}\n){cluster_by(clustering)}"


def cluster_by(names: Sequence[str]) -> str:
    return f"\nCLUSTER BY {', '.join(map(quote, names))}" if names else ""


def add_statement(id_: TableId, columns: Iterable[Column]) -> str:
    """New columns; one that somebody else added meanwhile is no error."""
    added = ",\n  ".join(f"ADD COLUMN IF NOT EXISTS {quote(column.name)} {render_type(column.type)}" for column in columns)
    return f"ALTER TABLE {id_.quoted}\n  {added}"


def absent_columns(known: Iterable[Column], wanted: Iterable[Column]) -> Iterator[Column]:
    """The wanted columns that are not known, by name without case."""
    names = {fold_case(column.name) for column in known}
    return (column for column in wanted if fold_case(column.name) not in names)


# BigQuery, "Quotas and limits": 256K characters of a view's own text, taken in its narrower sense; 12 MB resolved;
# 1,000 tables of a query, with every view on the way counted; 10,000 columns.
MAX_TEXT = 256_000
MAX_RESOLVED_TEXT = 12_000_000
MAX_TABLES = 1_000
MAX_COLUMNS = 10_000
WARN_TABLES = 500
