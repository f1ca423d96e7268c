"""The exact check of an audit: the current rows of a table that another tool wrote, compared with those of the source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial

import pymysql

from onefold.check.in_memory import SourceSelection, compare_with_source, selection
from onefold.check.typed_rows import comparable_columns
from onefold.compare.findings import Comparison, Key
from onefold.compare.values import text_of
from onefold.core.errors import NotFound, OnefoldError, TryAgain
from onefold.core.names import quote_text
from onefold.core.text import shown_list
from onefold.existing.audit.finding import NOT_CHECKED, AuditFinding
from onefold.existing.discover import Discovered
from onefold.existing.source_keys import SourceTables
from onefold.existing.table import ROW
from onefold.landing.table import versioned_table
from onefold.mysql.catalog import TableName, describe, tables
from onefold.mysql.connection import Address, connect, server_reason
from onefold.mysql.table import Structure
from onefold.mysql.table_filter import of_database
from onefold.ports.existing import ExistingWarehouse
from onefold.schema.columns import Column, Schema
from onefold.schema.diff import Severity

MOST_ROWS = 200_000
"""Rows of a table that are compared: both sides are in memory."""
_EXAMPLES = 10
_LAG = "Changes that were still on their way count too: run it again, and what stays is no delay"


@dataclass(frozen=True)
class CopiedDatabase:
    """The database whose tables were copied into a dataset.

    Attributes:
        tables: its tables with their keys.
        structures: the structure of each table, by name; a system-versioned table has none.
        connect: opens a connection to it.
    """

    tables: SourceTables
    structures: Mapping[str, Structure]
    connect: Callable[[], pymysql.Connection]


@dataclass(frozen=True)
class SourceCheck:
    """The comparison of a table with its table of the source, before it runs.

    Attributes:
        one: the table and what it is.
        source: the table of the source.
        columns: the columns that are compared.
        left_out: the columns of the source that are not compared, each with the reason.
        size: the bytes that the query of the current rows reads.
        refusal: why the table cannot be compared; empty where it can.
    """

    one: Discovered
    source: str = ""
    columns: tuple[Column, ...] = ()
    left_out: tuple[str, ...] = ()
    size: int = 0
    refusal: str = ""

    @property
    def query(self) -> str:
        """The query of the current rows."""
        return selection(self.columns, f"(\n{self.one.current}\n)", MOST_ROWS)


def read_source(address: Address, database: str) -> CopiedDatabase:
    """Read the tables of a database with their keys.

    Raises:
        NotFound: the user sees no table of the database.
        TryAgain: the server does not answer.
    """
    try:
        with closing(connect(address)) as connection:
            found = list(describe(connection, tables(connection, of_database(database), database)))
    except pymysql.err.MySQLError as error:
        raise TryAgain(f"the source cannot be read: {server_reason(error)}") from error
    if not found:
        raise NotFound(f"the user sees no table of {database}: correct the name in --source, or grant SELECT")
    structures = {one.name.table: one.structure for one in found if one.structure}
    keys = {one.name.table: one.structure.primary_key if one.structure else () for one in found}
    return CopiedDatabase(SourceTables(database, keys), structures, partial(connect, address))


def plan_source_check(warehouse: ExistingWarehouse, source: CopiedDatabase, one: Discovered) -> SourceCheck:
    """Return how a table is compared, with the bytes that its query reads: a dry run, which costs nothing.

    Args:
        warehouse: where the table is.
        source: the database.
        one: the table.
    """
    name = source.tables.source_of(one.id.table) or ""
    structure = source.structures.get(name)
    if structure is None or (reason := _refusal(one)):
        return SourceCheck(one, name, refusal=reason if structure else _no_structure(name))
    landed = versioned_table(structure).columns[: len(structure.columns)]
    columns, left_out = comparable_columns(landed, one.table.columns.minus(one.found.metadata))
    check = SourceCheck(one, name, columns, left_out)
    if missing := [key for key in one.found.key if not Schema(columns).has(key)]:
        return replace(check, refusal=f"its key cannot be compared: {shown_list(missing)}")
    try:
        return replace(check, size=warehouse.estimate(check.query).size)
    except OnefoldError as error:
        return replace(check, refusal=str(error))


def run_source_check(warehouse: ExistingWarehouse, source: CopiedDatabase, check: SourceCheck) -> list[AuditFinding]:
    """Return what differs between a table and its table of the source; that it cannot be compared is a finding.

    Args:
        warehouse: where the table is.
        source: the database.
        check: the planned comparison.
    """
    if check.refusal:
        return [_not_compared(check.one, check.refusal)]
    try:
        return list(_findings(warehouse, source, check))
    except OnefoldError as error:
        return [_not_compared(check.one, str(error))]


def _refusal(one: Discovered) -> str:
    """Return why no table of the source can be compared with a table; empty where one can."""
    if not one.found.key:
        return "its key is not known"
    if one.current is None:
        return "the order of its changes is not known"
    if one.found.image:
        return "its columns are the fields of a struct: compare a view of them by `onefold compare`"
    return ""


def _no_structure(name: str) -> str:
    return f"{name} is system-versioned" if name else "the database has no table of this name"


def _findings(warehouse: ExistingWarehouse, source: CopiedDatabase, check: SourceCheck) -> Iterator[AuditFinding]:
    rows = SourceSelection(source.connect, TableName(source.tables.database, check.source))
    _, found = compare_with_source(rows, warehouse.fetch(check.query), check.columns, check.one.found.key, MOST_ROWS)
    yield from _differences(check.one, found)
    if check.left_out:
        yield _not_compared(check.one, f"columns were left out: {shown_list(check.left_out)}")


def _differences(one: Discovered, found: Comparison) -> Iterator[AuditFinding]:
    changed = list(dict.fromkeys(difference.key for difference in found.differences))
    columns = shown_list(sorted({difference.column for difference in found.differences}))
    for keys, check, text in (
        (found.only_right, "not in the source", "rows are shown that the source does not have"),
        (found.only_left, "missing rows", "rows of the source are not shown"),
        (changed, "other values", f"rows differ from the source, in {columns}"),
    ):
        if keys:
            query = _rows_of(one, keys)
            yield AuditFinding(one.id, check, Severity.CRITICAL, f"{text}: {len(keys):,}", _LAG, query, len(keys))


def _rows_of(one: Discovered, keys: Sequence[Key]) -> str:
    """Return a query of all that the table holds of the first of some keys."""
    columns = [f"CAST({one.found.key_sql(name)} AS STRING)" for name in one.found.key]
    conditions = [
        " AND ".join(_equals(sql, text_of(value)) for sql, value in zip(columns, key, strict=True))
        for key in keys[:_EXAMPLES]
    ]
    return f"SELECT *\nFROM {one.id.quoted} AS {ROW}\nWHERE " + "\n  OR ".join(conditions)


def _equals(sql: str, text: str | None) -> str:
    return f"{sql} IS NULL" if text is None else f"{sql} = {quote_text(text)}"


def _not_compared(one: Discovered, reason: str) -> AuditFinding:
    text = f"not compared with the source: {' '.join(reason.split())}"
    return AuditFinding(one.id, NOT_CHECKED, Severity.WARNING, text, "correct what is named, and run the audit again")
