"""Checks of single tables as the server has them now: each result is a problem with its remedy."""

from __future__ import annotations

import glob
import re
import shlex
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

import pymysql

from onefold.capture.alterations import KnownTable
from onefold.capture.quarantine import TableProblem
from onefold.core.errors import SchemaConflict
from onefold.core.names import table_name
from onefold.core.text import shown_list
from onefold.landing.table import free_names, holder_of_name, versioned_table
from onefold.mysql.catalog import BASE, ColumnRow, TableDescription, TableName, describe, describe_one, tables
from onefold.mysql.charsets import SUPPORTED
from onefold.mysql.connection import quoted, server_reason
from onefold.mysql.grants import grant, is_connection_error, missing_select, reads_everything, table_sql
from onefold.mysql.near_names import none_fitting, unused_patterns
from onefold.mysql.table import Structure
from onefold.mysql.table_filter import TableFilter

_OLD_TIMES = ("/* mariadb-5.3 */", "/* 5.5 binary format */")
_WILD = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class InspectedTable:
    """A table as it is now. Without a structure and without a problem, the table does not exist."""

    structure: Structure | None = None
    problem: TableProblem | None = None
    expressions: tuple[str, ...] = ()
    """The expressions of the generated columns, with names in backticks."""


@dataclass(frozen=True)
class CheckedTables:
    """The captured tables of a source that exist now, and the problems of those that cannot be captured."""

    tables: frozenset[TableName]
    problems: tuple[TableProblem, ...]
    known: Mapping[TableName, KnownTable] = field(default_factory=dict, compare=False)
    """The structures of the tables. Equal structures of many databases are one object."""
    ghosts: frozenset[TableName] = frozenset()
    """Tables of online schema changes, which are left out."""
    none_fits: str | None = None
    """Where no table is captured: why, with near names."""
    unused_patterns: str | None = None
    """Where some tables are captured: the patterns that no table fits, with near names."""


def check_tables(connection: pymysql.Connection, patterns: TableFilter) -> CheckedTables:
    """Check every captured table and column that the user may see, and those that a pattern names exactly."""
    fitting = tables(connection, replace(patterns, with_ghosts=True))
    kinds = {name: kind for name, kind in fitting.items() if patterns.choose(name.database, name.table)}
    found: dict[TableName, TableProblem] = {}
    known: dict[TableName, KnownTable] = {}
    shared: dict[KnownTable, KnownTable] = {}
    for table in describe(connection, kinds):
        if problem := described_problem(table):
            found[table.name] = problem
        elif table.structure:
            numbered = frozenset(row.column for row in table.rows if row.is_auto_increment)
            one = KnownTable(table.structure, numbered)
            known[table.name] = shared.setdefault(one, one)
    if not reads_everything(connection):
        for name in sorted({*kinds, *_named(patterns)}):
            if problem := _grant_problem(connection, name, visible=name in kinds):
                found[name] = problem
    none_fits = None if kinds or found else none_fitting(connection, patterns)
    unused = None if none_fits else unused_patterns(connection, patterns, {*fitting, *found})
    ghosts = frozenset(fitting.keys() - kinds.keys())
    problems = tuple(found[name] for name in sorted(found))
    return CheckedTables(frozenset(kinds), problems, known, ghosts, none_fits, unused)


def inspect_table(connection: pymysql.Connection, name: TableName) -> InspectedTable:
    """Check one table in the same way."""
    table = describe_one(connection, name)
    denied = _grant_problem(connection, name, visible=table is not None)
    if denied or table is None:
        return InspectedTable(problem=denied)
    return InspectedTable(table.structure, described_problem(table), table.expressions)


def described_problem(table: TableDescription) -> TableProblem | None:
    """Return what keeps a table from being captured, as far as its description shows."""
    problems = [*_versioning_problems(table), *_column_problems(table)]
    if problems:
        remedies = dict.fromkeys(remedy for _, remedy in problems)
        return TableProblem(
            table.name, "structure", shown_list((reason for reason, _ in problems), joint="; "), "; ".join(remedies)
        )
    return clash_problem(table.name, table.structure) if table.structure else None


def _named(patterns: TableFilter) -> Iterator[TableName]:
    """Yield the tables that a pattern names without a wildcard: a table that the user may not see is missed otherwise."""
    for one in patterns.include:
        database, dot, table = one.partition(".")
        if dot and not _WILD.search(one) and patterns.match(database, table):
            yield TableName(database, table)


def _grant_problem(connection: pymysql.Connection, name: TableName, visible: bool) -> TableProblem | None:
    try:
        words = missing_select(connection, name, visible)
    except pymysql.err.MySQLError as error:
        if not connection.open or is_connection_error(error):
            raise
        reason = f"{name} cannot be read: {server_reason(error)}"
        return TableProblem(name, "copy", reason, "repair the table, then start capture again")
    if words is None:
        return None
    reason = f"{name}: the user of capture may not read the table, or not all of its columns ({words})"
    return TableProblem(name, "grant", reason, grant("SELECT", table_sql(name), connection))


def _versioning_problems(table: TableDescription) -> Iterator[tuple[str, str]]:
    if table.kind != BASE:
        yield (
            f"{table.name} is a system-versioned table, whose log holds its history as rows",
            f"leave the table out ({exclusion(table.name)}), or give up its history for good, run: ALTER TABLE "
            f"{table_sql(table.name)} DROP SYSTEM VERSIONING",
        )


def _column_problems(table: TableDescription) -> Iterator[tuple[str, str]]:
    """Yield each problem of a column with its remedy."""
    name = table_sql(table.name)
    for row in table.rows:
        column = f"{table.name}.{row.column}"
        if "COMPRESSED" in row.column_type:
            yield f"{column} is COMPRESSED, which cannot be read", _uncompress(table.name, row)
        if row.column_type.startswith("vector"):
            yield f"{column} is a VECTOR, which cannot be read", f"leave the table out ({exclusion(table.name)})"
        if any(mark in row.column_type for mark in _OLD_TIMES):
            yield f"{column} holds times in an old form", f"run: ALTER TABLE {name} FORCE"
        if row.charset is not None and row.charset not in SUPPORTED:
            remedy = f"run: ALTER TABLE {name} CONVERT TO CHARACTER SET utf8mb4"
            yield f"{column} has the charset {row.charset}, which cannot be read", remedy


def exclusion(name: TableName) -> str:
    """Return the option that leaves a table out."""
    pattern = f"{glob.escape(name.database)}.{glob.escape(name.table)}"
    return f"start with --exclude {shlex.quote(pattern)}"


def clash_problem(name: TableName, structure: Structure) -> TableProblem | None:
    """Return the problem of a table whose columns BigQuery cannot have; None if it can have them."""
    try:
        versioned_table(structure)
    except SchemaConflict as error:
        renamed = free_names(structure).items()
        renames = ", ".join(f"RENAME COLUMN {quoted(old)} TO {quoted(new)}" for old, new in renamed)
        leave = f"leave the table out ({exclusion(name)})"
        remedy = f"run: ALTER TABLE {table_sql(name)} {renames}; or {leave}" if renames else leave
        return TableProblem(
            name, "structure", shown_list((f"{name.database}.{problem}" for problem in error.problems), joint="; "), remedy
        )
    return None


def name_problem(table: TableName, owners: Mapping[str, str], present: Collection[str]) -> TableProblem | None:
    """Return the problem of two source tables that would share a base name, so that their rows would mix.

    Args:
        table: the table that is checked.
        owners: by base name, the source table that is captured under a base name other than its own name.
        present: the names of the captured tables that exist now.
    """
    holder = holder_of_name(table.table, owners, present)
    if holder is None:
        return None
    base = table_name(table.table)
    reason = f"{table}: the tables {table.table!r} and {holder!r} would both be {base}_v_... in BigQuery, and {holder!r} is"
    free = TableName(table.database, f"{base}_2")
    rename = f"run: RENAME TABLE {table_sql(table)} TO {table_sql(free)}; or leave the table out ({exclusion(table)})"
    return TableProblem(table, "name", reason, rename)


def _uncompress(name: TableName, row: ColumnRow) -> str:
    """Return the statement that turns compression of a column off. MODIFY drops each attribute that it does not repeat."""
    parts = [
        row.column_type.split(" /*")[0],
        f"CHARACTER SET {row.charset} COLLATE {row.collation}" if row.charset else "",
        "NOT NULL" if row.nullable == "NO" else "",
        f"DEFAULT {row.default}" if row.default is not None else "",
    ]
    rest = " ".join(part for part in parts if part)
    return f"run: ALTER TABLE {table_sql(name)} MODIFY {quoted(row.column)} {rest}"
