"""What keeps single tables from being captured, as the server has them now: each a problem with its remedy."""

from __future__ import annotations

import glob
import re
import shlex
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import pymysql

from onefold.capture.quarantine import Problem, holder_of_name
from onefold.capture.versioned_table import free_names, table_name, versioned_table
from onefold.core.errors import SchemaConflict
from onefold.mysql.catalog import BASE, ColumnRow, TableDescription, TableName, describe, describe_one, tables
from onefold.mysql.charsets import SUPPORTED
from onefold.mysql.connection import quoted
from onefold.mysql.grants import grant, is_connection_error, missing_select, reads_everything, table_sql
from onefold.mysql.table import Structure
from onefold.mysql.table_filter import TableFilter

_OLD_TIMES = ("/* mariadb-5.3 */", "/* 5.5 binary format */")
_WILD = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class InspectedTable:
    """A table as it is now. Without a structure, and without a problem, there is no such table."""

    structure: Structure | None = None
    problem: Problem | None = None


@dataclass(frozen=True)
class CheckedTables:
    """The captured tables of a source that are there now, and the problems of those that cannot be captured."""

    tables: frozenset[TableName]
    problems: tuple[Problem, ...]


def check_tables(connection: pymysql.Connection, patterns: TableFilter) -> CheckedTables:
    """Check every captured table and column that the user may see, and those that a pattern names exactly."""
    kinds = tables(connection, patterns)
    found = {table.name: problem for table in describe(connection, kinds) if (problem := described_problem(table))}
    if not reads_everything(connection):
        for name in sorted({*kinds, *_named(patterns)}):
            if problem := _grant_problem(connection, name, visible=name in kinds):
                found[name] = problem
    return CheckedTables(frozenset(kinds), tuple(found[name] for name in sorted(found)))


def inspect_table(connection: pymysql.Connection, name: TableName) -> InspectedTable:
    """One table, in the same way."""
    table = describe_one(connection, name)
    denied = _grant_problem(connection, name, visible=table is not None)
    if denied or table is None:
        return InspectedTable(problem=denied)
    return InspectedTable(table.structure, described_problem(table))


def described_problem(table: TableDescription) -> Problem | None:
    """What keeps a table from being captured, as far as its description tells."""
    problems = [*_versioning_problems(table), *_column_problems(table)]
    if problems:
        remedies = dict.fromkeys(remedy for _, remedy in problems)
        return Problem(table.name, "structure", "; ".join(reason for reason, _ in problems), "; ".join(remedies))
    return clash_problem(table.name, table.structure) if table.structure else None


def _named(patterns: TableFilter) -> Iterator[TableName]:
    """Tables that a pattern names without a wildcard: one that the user may not see at all is missed otherwise."""
    for one in patterns.include:
        database, dot, table = one.partition(".")
        if dot and not _WILD.search(one) and patterns.match(database, table):
            yield TableName(database, table)


def _grant_problem(connection: pymysql.Connection, name: TableName, visible: bool) -> Problem | None:
    try:
        words = missing_select(connection, name, visible)
    except pymysql.err.MySQLError as error:
        if not connection.open or is_connection_error(error):
            raise
        return Problem(name, "copy", f"{name} cannot be read: {error}", "repair the table, then start capture again")
    if words is None:
        return None
    reason = f"{name}: the user of capture may not read the table, or not all of its columns ({words})"
    return Problem(name, "grant", reason, grant("SELECT", table_sql(name), connection))


def _versioning_problems(table: TableDescription) -> Iterator[tuple[str, str]]:
    if table.kind != BASE:
        yield (
            f"{table.name} is a system-versioned table, whose log holds its history as rows",
            f"leave the table out ({exclusion(table.name)}), or give up its history for good, run: ALTER TABLE "
            f"{table_sql(table.name)} DROP SYSTEM VERSIONING",
        )


def _column_problems(table: TableDescription) -> Iterator[tuple[str, str]]:
    """Each fault with its remedy."""
    name = table_sql(table.name)
    for row in table.rows:
        where = f"{table.name}.{row.column}"
        if "COMPRESSED" in row.column_type:
            yield f"{where} is COMPRESSED, which cannot be read", _uncompress(table.name, row)
        if row.column_type.startswith("vector"):
            yield f"{where} is a VECTOR, which cannot be read", f"leave the table out ({exclusion(table.name)})"
        if any(mark in row.column_type for mark in _OLD_TIMES):
            yield f"{where} holds times in an old form", f"run: ALTER TABLE {name} FORCE"
        if row.charset is not None and row.charset not in SUPPORTED:
            remedy = f"run: ALTER TABLE {name} CONVERT TO CHARACTER SET utf8mb4"
            yield f"{where} has the charset {row.charset}, which cannot be read", remedy


def exclusion(name: TableName) -> str:
    """The option that leaves a table out."""
    pattern = f"{glob.escape(name.database)}.{glob.escape(name.table)}"
    return f"start with --exclude {shlex.quote(pattern)}"


def clash_problem(name: TableName, structure: Structure) -> Problem | None:
    """The problem of a table whose columns do not fit BigQuery."""
    try:
        versioned_table(structure)
    except SchemaConflict as error:
        renamed = free_names(structure).items()
        renames = ", ".join(f"RENAME COLUMN {quoted(old)} TO {quoted(new)}" for old, new in renamed)
        leave = f"leave the table out ({exclusion(name)})"
        remedy = f"run: ALTER TABLE {table_sql(name)} {renames}; or {leave}" if renames else leave
        return Problem(name, "structure", "; ".join(f"{name.database}.{problem}" for problem in error.problems), remedy)
    return None


def name_problem(table: TableName, owners: Mapping[str, str], present: Collection[str]) -> Problem | None:
    """The problem of two source tables whose versioned tables would have one name: the rows of both would mix.

    Args:
        table: the one that is asked for.
        owners: source names by base name, of those captured under another name than their own.
        present: the names of the captured tables that exist now.
    """
    holder = holder_of_name(table.table, owners, present)
    if holder is None:
        return None
    base = table_name(table.table)
    reason = f"{table}: the tables {table.table!r} and {holder!r} would both be {base}_v_... in BigQuery, and {holder!r} is"
    free = TableName(table.database, f"{base}_2")
    rename = f"run: RENAME TABLE {table_sql(table)} TO {table_sql(free)}; or leave the table out ({exclusion(table)})"
    return Problem(table, "name", reason, rename)


def _uncompress(name: TableName, row: ColumnRow) -> str:
    """MODIFY drops whatever it does not say again."""
    parts = [
        row.column_type.split(" /*")[0],
        f"CHARACTER SET {row.charset} COLLATE {row.collation}" if row.charset else "",
        "NOT NULL" if row.nullable == "NO" else "",
        f"DEFAULT {row.default}" if row.default is not None else "",
    ]
    rest = " ".join(part for part in parts if part)
    return f"run: ALTER TABLE {table_sql(name)} MODIFY {quoted(row.column)} {rest}"
