"""The exact check of an audit: the current rows of a table that another tool wrote, compared with those of the source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial

import pymysql

from onefold.check.typed_rows import TypedRows, read_back, read_typed_rows, selected
from onefold.compare.findings import Comparison, Key
from onefold.compare.rows import compare_rows
from onefold.compare.values import text_of
from onefold.core.errors import NotFound, OnefoldError, TryAgain
from onefold.core.names import fold_case, quote_text
from onefold.core.text import shown_list
from onefold.existing.audit.finding import NOT_CHECKED, AuditFinding
from onefold.existing.audit.run import Audited
from onefold.existing.discover import Discovered
from onefold.existing.source_keys import SourceTables
from onefold.existing.table import ROW
from onefold.mysql.catalog import TableName, describe, tables
from onefold.mysql.connection import Address, connect, server_reason
from onefold.mysql.table_filter import of_database
from onefold.ports.existing import ExistingWarehouse
from onefold.schema.columns import Column
from onefold.schema.diff import Severity
from onefold.schema.types import Type

MOST_ROWS = 200_000
"""Rows of a table that are compared: both sides are in memory."""
_EXAMPLES = 10
_EXACT = ("BYTES", "INTERVAL", "JSON")
"""Types whose text has a form of its own: they are compared with the same type only."""
_LAG = "Changes that were still on their way count too: run it again, and what stays is no delay"


@dataclass(frozen=True)
class CopiedDatabase:
    """The database whose tables were copied into a dataset.

    Attributes:
        tables: its tables with their keys.
        connect: opens a connection to it.
    """

    tables: SourceTables
    connect: Callable[[], pymysql.Connection]


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
    keys = {one.name.table: one.structure.primary_key if one.structure else () for one in found}
    return CopiedDatabase(SourceTables(database, keys), partial(connect, address))


def check_against_source(warehouse: ExistingWarehouse, source: CopiedDatabase, audited: Audited) -> Audited:
    """Return an audited table with what differs from its table of the source; a table that cannot be compared is a finding.

    Args:
        warehouse: where the table is.
        source: the source.
        audited: the table with the other findings.
    """
    try:
        found = tuple(_findings(warehouse, source, audited.one))
    except OnefoldError as error:
        found = (_not_compared(audited.one, str(error)),)
    findings = sorted((*audited.findings, *found), key=lambda finding: -finding.severity)
    return replace(audited, findings=tuple(findings))


def _findings(warehouse: ExistingWarehouse, source: CopiedDatabase, one: Discovered) -> Iterator[AuditFinding]:
    name = source.tables.source_of(one.id.table)
    if reason := _refusal(one, name):
        yield _not_compared(one, reason)
        return
    present = read_typed_rows(source.connect, TableName(source.tables.database, name or ""))
    if present is None:
        yield _not_compared(one, f"the source has no table {name} any more")
        return
    columns = list(_common(one, present))
    names = {fold_case(column.name) for column in columns}
    query = f"SELECT {', '.join(map(selected, columns))} FROM (\n{one.current}\n)"
    shown = read_back(columns, warehouse.fetch(query))
    rows = [{key: value for key, value in row.items() if fold_case(key) in names} for row in present.rows]
    yield from _differences(one, compare_rows(shown, rows, one.found.key, as_text=True))


def _refusal(one: Discovered, name: str | None) -> str:
    """Return why a table cannot be compared; empty where it can."""
    if name is None:
        return "the database has no table of this name"
    if not one.found.key:
        return "its key is not known"
    if one.current is None:
        return "the order of its changes is not known"
    if (one.table.rows or 0) > MOST_ROWS:
        return f"it has {one.table.rows:,} rows, and at most {MOST_ROWS:,} are compared; `onefold compare` takes more"
    return ""


def _common(one: Discovered, present: TypedRows) -> Iterator[Column]:
    """Yield the columns that both sides have in types whose values can be compared."""
    stored = {fold_case(column.name): column for column in present.version.columns}
    for column in one.table.columns.minus(one.found.metadata):
        other = stored.get(fold_case(column.name))
        if other and _comparable(column.type, other.type):
            yield column


def _comparable(here: Type, there: Type) -> bool:
    return str(here) == str(there) or not {str(here), str(there)} & {*_EXACT}


def _differences(one: Discovered, found: Comparison) -> Iterator[AuditFinding]:
    changed = list(dict.fromkeys(difference.key for difference in found.differences))
    columns = shown_list(sorted({difference.column for difference in found.differences}))
    for keys, check, text in (
        (found.only_left, "not in the source", "rows are shown that the source does not have"),
        (found.only_right, "missing rows", "rows of the source are not shown"),
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
    text = f"it was not compared with the source: {' '.join(reason.split())}"
    return AuditFinding(one.id, NOT_CHECKED, Severity.WARNING, text, "correct what is named, and run the audit again")
