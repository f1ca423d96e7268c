"""What keeps single tables from being captured, as the server has them now: each a problem with its remedy."""

from __future__ import annotations

import glob
import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pymysql

from onefold.capture.charsets import SUPPORTED
from onefold.capture.columns import free_names, versioned_table
from onefold.capture.information_schema import TableName, structure_of, structures
from onefold.capture.patterns import SYSTEM, Patterns
from onefold.capture.quarantine import Problem
from onefold.capture.rights import grant, is_of_connection, missing_select, reads_everything, table_sql
from onefold.capture.selecting import quoted
from onefold.capture.server import query
from onefold.capture.structure import Structure
from onefold.errors import SchemaConflict

# Not joined to each other: MariaDB compares each row of the one with each row of the other.
_TABLES = """
SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES
WHERE {condition} AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED')
"""
_COLUMNS = """
SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, CHARACTER_SET_NAME, COLLATION_NAME, IS_NULLABLE, COLUMN_DEFAULT
FROM information_schema.COLUMNS WHERE {condition} ORDER BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION
"""
_OTHERS = f"TABLE_SCHEMA NOT IN ({', '.join(['%s'] * len(SYSTEM))})"
_ONE = "TABLE_SCHEMA = %s AND TABLE_NAME = %s"
_OLD_TIMES = ("/* mariadb-5.3 */", "/* 5.5 binary format */")
_WILD = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class ColumnFacts:
    """What a check asks of a column."""

    name: TableName
    table_type: str
    column: str
    column_type: str
    charset: str | None
    collation: str | None
    nullable: str
    default: str | None
    """As SQL: what MariaDB tells."""


@dataclass(frozen=True)
class Inspected:
    """A table as it is now. Without a structure, and without a problem, there is no such table."""

    structure: Structure | None = None
    problem: Problem | None = None


@dataclass(frozen=True)
class Checked:
    """The captured tables of a source that are there now, and the problems of those that cannot be captured."""

    tables: frozenset[TableName]
    problems: tuple[Problem, ...]


def check_tables(connection: pymysql.Connection, patterns: Patterns) -> Checked:
    """Check every captured table and column that the user may see, and those that a pattern names exactly."""
    types, facts = _facts(connection, _OTHERS, SYSTEM)
    tables = frozenset(name for name in types if patterns.match(name.database, name.table))
    found = {one.table: one for one in structure_problems(one for one in facts if one.name in tables)}
    for name, structure in structures(connection, patterns).items():
        if name not in found and (problem := clash_problem(name, structure)):
            found[name] = problem
    if not reads_everything(connection):
        for name in sorted({*tables, *_named(patterns)}):
            if problem := _grant_problem(connection, name, visible=name in tables):
                found[name] = problem
    return Checked(tables, tuple(found[name] for name in sorted(found)))


def inspect_table(connection: pymysql.Connection, name: TableName) -> Inspected:
    """One table, in the same way."""
    types, facts = _facts(connection, _ONE, (name.database, name.table))
    denied = _grant_problem(connection, name, visible=name in types)
    if denied or name not in types:
        return Inspected(problem=denied)
    structure = structure_of(connection, name)
    problem = next(iter(structure_problems(facts)), None)
    return Inspected(structure, problem or (clash_problem(name, structure) if structure else None))


def _facts(
    connection: pymysql.Connection, condition: str, values: tuple[str, ...]
) -> tuple[dict[TableName, str], list[ColumnFacts]]:
    tables = query(connection, _TABLES.format(condition=condition), values)
    types = {TableName(database, table): kind for database, table, kind in tables}
    rows = query(connection, _COLUMNS.format(condition=condition), values)
    return types, [ColumnFacts(name, types[name], *row[2:]) for row in rows if (name := TableName(*row[:2])) in types]


def _named(patterns: Patterns) -> Iterator[TableName]:
    """Tables that a pattern names without a wildcard: one that the user may not see at all is missed otherwise."""
    for one in patterns.include:
        database, dot, table = one.partition(".")
        if dot and not _WILD.search(one) and patterns.match(database, table):
            yield TableName(database, table)


def _grant_problem(connection: pymysql.Connection, name: TableName, visible: bool) -> Problem | None:
    try:
        words = missing_select(connection, name, visible)
    except pymysql.err.MySQLError as error:
        if not connection.open or is_of_connection(error):
            raise
        return Problem(name, "copy", f"{name} cannot be read: {error}", "repair the table, then start capture again")
    if words is None:
        return None
    reason = f"{name}: the user of capture may not read the table, or not all of its columns ({words})"
    return Problem(name, "grant", reason, grant("SELECT", table_sql(name), connection))


def structure_problems(columns: Iterable[ColumnFacts]) -> Iterator[Problem]:
    """One problem for each table whose structure cannot be read."""
    by_table: defaultdict[TableName, list[ColumnFacts]] = defaultdict(list)
    for facts in columns:
        by_table[facts.name].append(facts)
    for name, own in by_table.items():
        faults = [*_versioning_faults(own), *_column_faults(own)]
        if faults:
            remedies = dict.fromkeys(remedy for _, remedy in faults)
            yield Problem(name, "structure", "; ".join(reason for reason, _ in faults), "; ".join(remedies))


def _versioning_faults(columns: Sequence[ColumnFacts]) -> Iterator[tuple[str, str]]:
    first = columns[0]
    if first.table_type == "SYSTEM VERSIONED":
        yield (
            f"{first.name} is a system-versioned table, whose log holds its history as rows",
            f"leave the table out ({exclusion(first.name)}), or give up its history for good, run: ALTER TABLE "
            f"{table_sql(first.name)} DROP SYSTEM VERSIONING",
        )


def _column_faults(columns: Sequence[ColumnFacts]) -> Iterator[tuple[str, str]]:
    """Each fault with its remedy."""
    for facts in columns:
        where, table = f"{facts.name}.{facts.column}", table_sql(facts.name)
        if "COMPRESSED" in facts.column_type:
            yield f"{where} is COMPRESSED, which cannot be read", _uncompress(facts)
        if facts.column_type.startswith("vector"):
            yield f"{where} is a VECTOR, which cannot be read", f"leave the table out ({exclusion(facts.name)})"
        if any(mark in facts.column_type for mark in _OLD_TIMES):
            yield f"{where} holds times in an old form", f"run: ALTER TABLE {table} FORCE"
        if facts.charset is not None and facts.charset not in SUPPORTED:
            remedy = f"run: ALTER TABLE {table} CONVERT TO CHARACTER SET utf8mb4"
            yield f"{where} has the charset {facts.charset}, which cannot be read", remedy


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
        return Problem(name, "structure", "; ".join(f"{name.database}.{fault}" for fault in error.faults), remedy)
    return None


def _uncompress(facts: ColumnFacts) -> str:
    """MODIFY drops whatever it does not say again."""
    parts = [
        facts.column_type.split(" /*")[0],
        f"CHARACTER SET {facts.charset} COLLATE {facts.collation}" if facts.charset else "",
        "NOT NULL" if facts.nullable == "NO" else "",
        f"DEFAULT {facts.default}" if facts.default is not None else "",
    ]
    rest = " ".join(part for part in parts if part)
    return f"run: ALTER TABLE {table_sql(facts.name)} MODIFY {quoted(facts.column)} {rest}"
