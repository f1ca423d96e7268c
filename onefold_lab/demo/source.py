"""The user's database of the demo: its tables that are small enough for an embedded BigQuery."""

from __future__ import annotations

import glob
from collections.abc import Collection, Mapping
from contextlib import closing
from dataclasses import dataclass, replace

import pymysql

from onefold.capture.source import CapturedSource
from onefold.core.errors import InvalidInput, NotFound
from onefold.mysql.catalog import TableName, structures
from onefold.mysql.connection import query, quoted, variables
from onefold.mysql.source_url import SourceUrl
from onefold.mysql.table import Structure
from onefold.mysql.table_filter import TableFilter

MAX_TABLES = 20
MAX_ROWS = 10_000
MAX_BYTES = 50_000_000
SETTINGS = ("log_bin", "binlog_format", "binlog_row_image", "binlog_row_metadata")


@dataclass(frozen=True)
class TableChoice:
    """The tables of the demo with their numbers of rows, and why each other table is left out."""

    tables: Mapping[TableName, Structure]
    rows: Mapping[TableName, int]
    left_out: Mapping[TableName, str]


def patterns_of(url: SourceUrl, include: tuple[str, ...], exclude: tuple[str, ...]) -> TableFilter:
    """Return the filter of the tables to show.

    Args:
        url: its database, if there is one, is the only one to show.
        include: patterns of tables.
        exclude: patterns of tables.

    Raises:
        InvalidInput: the URL has a database and `include` has patterns.
    """
    if url.database and include:
        raise InvalidInput(f"--source and --include both choose tables: name {url.database} in only one of them")
    return TableFilter((_all_of(url.database),) if url.database else include, exclude)


def _all_of(database: str) -> str:
    return f"{glob.escape(database)}.*"


def server_settings(source: CapturedSource) -> tuple[str, Mapping[str, str]]:
    """Return the version of the server, and its settings of the binary log."""
    with closing(source.connect()) as connection:
        found = variables(connection)
    return found.get("version", ""), {name: found.get(name, "") for name in SETTINGS}


def choose(source: CapturedSource, quarantined: Collection[TableName] = ()) -> TableChoice:
    """Choose the tables of the demo.

    Args:
        source: the source with its filter of tables.
        quarantined: tables that cannot be captured now. They are not left out: capture reads them once they are valid.

    Raises:
        NotFound: no table is small enough, or the filter matches none.
    """
    tables: dict[TableName, Structure] = {}
    rows: dict[TableName, int] = {}
    left_out: dict[TableName, str] = {}
    with closing(source.connect()) as connection:
        for name, structure in sorted(structures(connection, source.patterns).items(), key=lambda item: item[0]):
            if name in quarantined:
                continue
            if reason := _why_not(connection, name, len(tables)):
                left_out[name] = reason
            elif (count := _count(connection, name)) > MAX_ROWS:
                left_out[name] = f"more than {MAX_ROWS:,} rows"
            else:
                tables[name], rows[name] = structure, count
    if not tables:
        reasons = "".join(f"\n{name}: {reason}" for name, reason in left_out.items())
        advice = source.missing_databases() or "see --include and --exclude, and the grants of the user"
        raise NotFound(f"there is no table for the demo: {advice}{reasons}")
    return TableChoice(tables, rows, left_out)


def without(source: CapturedSource, left_out: Mapping[TableName, str]) -> CapturedSource:
    """Return the source without some tables. Tables that are created later are captured."""
    names = (f"{glob.escape(name.database)}.{glob.escape(name.table)}" for name in left_out)
    patterns = source.patterns
    return replace(source, patterns=replace(patterns, exclude=(*patterns.exclude, *names)))


def _why_not(connection: pymysql.Connection, name: TableName, taken: int) -> str | None:
    if taken >= MAX_TABLES:
        return f"the demo shows {MAX_TABLES} tables: choose others with --include"
    found = query(
        connection,
        "SELECT DATA_LENGTH FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s",
        (name.database, name.table),
    )
    if any((size or 0) > MAX_BYTES for (size,) in found):
        return f"more than {MAX_BYTES // 1_000_000} MB"
    return None


def _count(connection: pymysql.Connection, name: TableName) -> int:
    """Return the number of rows, at most MAX_ROWS + 1: a large table is not read to its end."""
    table = f"{quoted(name.database)}.{quoted(name.table)}"
    ((count,),) = query(connection, f"SELECT COUNT(*) FROM (SELECT 1 FROM {table} LIMIT {MAX_ROWS + 1}) AS t")
    return int(count)
