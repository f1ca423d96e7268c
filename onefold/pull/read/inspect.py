"""What a source says about its tables before they are pulled: a choice for each, and all problems of the settings."""

from __future__ import annotations

import glob
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pymysql

from onefold.core.errors import InvalidInput
from onefold.core.names import TableId, fold_hidden, table_name
from onefold.core.text import shown_list
from onefold.mysql.catalog import TableDescription, TableName, describe, tables
from onefold.mysql.connection import query, server_reason
from onefold.mysql.grants import grant, table_sql
from onefold.mysql.snapshot.table_size import TableSize
from onefold.mysql.table import Structure
from onefold.mysql.table_filter import of_database
from onefold.pull.read.pulled_table import pulled_table
from onefold.pull.read.shared_names import holder_of_base, shared_name
from onefold.pull.read.table_settings import check_keys, find_column, pulled_structure, settings_problems, watermark_of
from onefold.settings.checked_form import SCHEMA
from onefold.settings.schema_check import modeline
from onefold.settings.sources import Source, TableLoad, WatermarkColumn, dataset_of, matches_in_other_case

_INDEXED = "SELECT TABLE_NAME, COLUMN_NAME FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = %s AND SEQ_IN_INDEX = 1"
_SIZES = "SELECT TABLE_NAME, TABLE_ROWS, DATA_LENGTH FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s"
_CLOCKS = "SELECT CAST(UTC_TIMESTAMP(6) AS CHAR), TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(), NOW())"
_MOST_SKEW = timedelta(minutes=1)
SYSTEM_VERSIONED = "it is system-versioned, which pulls do not support"


@dataclass(frozen=True)
class Choice:
    """How a table would be pulled, and why; without a load it cannot be pulled."""

    table: str
    load: TableLoad | None
    reason: str

    def as_dict(self, database: str) -> dict[str, str | None]:
        """Return the choice in the form of JSON."""
        load = self.load
        mark = load.watermark.column if load and load.watermark else None
        mode = load.mode if load else "exclude"
        return {"table": f"{database}.{self.table}", "mode": mode, "watermark": mark, "reason": self.reason}

    def pattern(self, database: str) -> str:
        """Return the pattern of onefold.yaml that matches this table and no other, in YAML's quotes."""
        return _scalar(glob.escape(f"{database}.{self.table}"))


def indexed_columns(connection: pymysql.Connection, database: str) -> dict[str, set[str]]:
    """Return the columns with which an index begins, by table."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for table, column in query(connection, _INDEXED, (database,)):
        found[table].add(column)
    return found


def described(connection: pymysql.Connection, database: str) -> list[TableDescription]:
    """Return the tables of a database, in order. System-versioned ones, which cannot be pulled, have no structure."""
    return list(describe(connection, tables(connection, of_database(database), database)))


def choices(connection: pymysql.Connection, database: str) -> list[Choice]:
    """Return how each table of a database would be pulled."""
    indexed = indexed_columns(connection, database)
    sizes = {name: TableSize(int(rows or 0), int(size or 0)) for name, rows, size in query(connection, _SIZES, (database,))}
    return [
        choose(table, indexed.get(table.name.table, set()), sizes.get(table.name.table, TableSize(0, 0)))
        for table in described(connection, database)
    ]


def choose(table: TableDescription, indexed: Collection[str], size: TableSize) -> Choice:
    """Return how a table would be pulled: by a modification time that the server itself moves, or whole.

    Args:
        table: as the source describes it.
        indexed: the columns with which an index begins.
        size: the source's estimate.
    """
    structure, name = table.structure, table.name.table
    if structure is None:
        return Choice(name, None, SYSTEM_VERSIONED)
    if not structure.primary_key:
        return Choice(name, TableLoad(), f"it has no key; {size}")
    if floats := [name for name in structure.primary_key if _is_float(structure, name)]:
        return Choice(name, TableLoad(), f"its key has {floats[0]}, a floating-point number, which has no equality; {size}")
    updated = [row.column for row in table.rows if "on update" in row.extra.lower()]
    if found := next((column for column in updated if column in indexed), None):
        reason = f"{found} has an index and ON UPDATE CURRENT_TIMESTAMP"
        return Choice(name, TableLoad("incremental", WatermarkColumn(found)), reason)
    return Choice(name, TableLoad(), f"{_advice(table, structure, updated)}; {size}")


def _advice(table: TableDescription, structure: Structure, updated: Sequence[str]) -> str:
    """Return why no column of a table is drafted as its watermark, and what would make one."""
    if updated:
        return f"an index on {updated[0]} would allow `incremental`"
    growing = next((row.column for row in table.rows if row.is_auto_increment), None)
    if growing and structure.primary_key == (growing,):
        # The source does not tell whether rows are changed, and `incremental` by the key would lose each change.
        return (
            f"no column tells of changes; where rows are only inserted, and never changed, `watermark: {growing}` is right"
        )
    return "no column tells of changes"


def _is_float(structure: Structure, name: str) -> bool:
    column = find_column(structure, name)
    return column is not None and column.type.name in ("float", "double")


def draft(source: Source, found: Sequence[tuple[str, Sequence[Choice]]]) -> str:
    """Return a commented draft of a source for onefold.yaml.

    Args:
        source: the source without tables.
        found: the choices for each database.
    """
    lines = [
        modeline(SCHEMA), "sources:", f"  {source.cluster}:",
        f"    host: {_scalar(source.host)}", f"    port: {source.port}",
        f"    user: {_scalar(source.user)}", f"    password: {_scalar(source.password)}",
        f"    tls: {{mode: {source.tls.mode}{f', ca: {_scalar(source.tls.ca)}' if source.tls.ca else ''}}}",
        f"    time_zone: {source.time_zone}  # the zone of DATETIME columns",
        f"    databases: [{', '.join(_scalar(database) for database, _ in found)}]", "    tables:",
    ]  # fmt: skip
    every = [(database, choice) for database, tables_ in found for choice in tables_]
    excluded = [pair for pair in every if pair[1].load is None]
    for database, choice in every:
        if choice.load:
            lines += [
                f"      # {' '.join(choice.reason.split())}",
                f"      {choice.pattern(database)}: {_body(choice.load)}",
            ]
    lines += ["    exclude:"] if excluded else []
    for database, choice in excluded:
        lines += [f"      # {choice.reason}", f"      - {choice.pattern(database)}"]
    return "\n".join(lines) + "\n"


def _body(load: TableLoad) -> str:
    mark = load.watermark
    return f"{{mode: incremental, watermark: {_scalar(mark.column)}}}" if mark else "{mode: full}"


def _scalar(text: str) -> str:
    """Return a text in YAML's quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def source_problems(
    connection: pymysql.Connection, source: Source, keys_of: Callable[[TableId], Sequence[str]], now: datetime
) -> Iterator[str]:
    """Yield all problems of a source: its clock and zone, the rights of the user, and the settings of each table.

    Args:
        connection: to the source.
        source: its settings.
        keys_of: the keys that onefold.yaml names for a table.
        now: the time of this machine.
    """
    yield from (f"sources.{source.cluster}: {problem}" for problem in _clock_problems(connection, source, now))
    for database in source.databases:
        found = described(connection, database)
        if not found:
            right = grant("SELECT", f"`{database}`.*", connection)
            yield f"sources.{source.cluster}: the user sees no table of the database {database}: {right}"
        indexed = indexed_columns(connection, database)
        names = [table.name.table for table in found]
        for table in found:
            where = f"sources.{source.cluster}: {table.name}"
            if source.load_of(database, table.name.table) and (holder := holder_of_base(source, table.name, names)):
                yield f"sources.{source.cluster}: {': '.join(shared_name(table.name, holder))}"
            for problem in _table_problems(connection, source, table, indexed.get(table.name.table, set()), keys_of):
                yield f"{where}: {problem}"
    yield from _unmatched(connection, source)


def _table_problems(
    connection: pymysql.Connection,
    source: Source,
    table: TableDescription,
    indexed: Collection[str],
    keys_of: Callable[[TableId], Sequence[str]],
) -> Iterator[str]:
    load, structure = source.load_of(table.name.database, table.name.table), table.structure
    if load is None:
        return
    if structure is None:
        yield f"{SYSTEM_VERSIONED}: name it under `exclude`"
        return
    keys = keys_of(TableId(None, dataset_of(source.cluster, table.name.database), table_name(table.name.table)))
    problems = list(settings_problems(structure, load, tuple(keys) or structure.primary_key))
    problems += [] if problems else _reading_problems(connection, table.name, pulled_structure(structure, load), load, keys)
    yield from problems
    mark = None if problems else watermark_of(structure, load, source.time_zone)
    if mark and mark.column not in indexed:
        yield f"the watermark {mark.column} has no index, so that each pull reads the whole table: create one"


def _reading_problems(
    connection: pymysql.Connection, name: TableName, structure: Structure, load: TableLoad, keys: Sequence[str]
) -> list[str]:
    try:
        target = pulled_table(structure)
        check_keys(target, load, tuple(keys) or target.primary_key)
        query(connection, f"SELECT 1 FROM {table_sql(name)} LIMIT 0")
    except InvalidInput as error:
        return list(error.problems)
    except pymysql.err.MySQLError as error:
        return [f"cannot be read ({server_reason(error)}): {grant('SELECT', table_sql(name), connection)}"]
    return []


def _unmatched(connection: pymysql.Connection, source: Source) -> Iterator[str]:
    found = [table for database in source.databases for table in described(connection, database)]
    for pattern, load in source.tables.items():
        where, alone = f"sources.{source.cluster}.tables.{pattern}", Source("", "", tables={pattern: load})
        matched = [table for table in found if alone.load_of(table.name.database, table.name.table)]
        if not matched:
            near = [
                str(table.name) for table in found if matches_in_other_case(pattern, table.name.database, table.name.table)
            ]
            but = f", but would match {shown_list(near)} in another case" if near else ""
            yield f"{where} matches no table{but}: correct or remove it; views are not pulled"
            continue
        known = {fold_hidden(row.column) for table in matched for row in table.rows}
        for name in load.drop:
            if fold_hidden(name) not in known:
                yield f"{where}.drop: no table that it matches has the column {name}: correct the name"


def _clock_problems(connection: pymysql.Connection, source: Source, now: datetime) -> Iterator[str]:
    query(connection, "SET time_zone = @@GLOBAL.time_zone")
    ((text, offset),) = query(connection, _CLOCKS)
    query(connection, "SET time_zone = '+00:00'")
    theirs = datetime.fromisoformat(text).replace(tzinfo=UTC)
    if abs(theirs - now) > _MOST_SKEW:
        yield f"its clock shows {theirs:%Y-%m-%d %H:%M:%S} UTC, this machine's {now:%Y-%m-%d %H:%M:%S} UTC: set the clocks"
    expected = theirs.astimezone(ZoneInfo(source.time_zone)).utcoffset() or timedelta()
    if abs(timedelta(seconds=int(offset)) - expected) > _MOST_SKEW:
        yield (
            f"time_zone is {source.time_zone}, now {_hours(expected)} from UTC, and the server's is "
            f"{_hours(timedelta(seconds=int(offset)))}: name the zone in which DATETIME columns are written"
        )


def _hours(span: timedelta) -> str:
    minutes = round(span.total_seconds() / 60)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
