"""Schema histories, replayed on a real server and captured: every row ever written is there, and the latest are shown.

Each version of each table becomes the next one by an ALTER TABLE, or is dropped and made again where none leads there, and
rows are written at each. All of it is in the log by then, with the structures of its time: one capture reads it at the end.
The histories are real ones, and one that was made up of what they lack.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pymysql
import pytest
from support.database_servers import DatabaseServer
from support.end_to_end import Flow, new_dataset, new_source
from support.invented_history import INVENTED
from support.schema_histories import FOLDER, Column, Version, chosen, tables_of_projects
from support.source_values import key_value, placeholder, value

from onefold.capture.checkpoint import Progress
from onefold.changelog.metadata import DATABASE_NAME, SOURCE_NAME
from onefold.core.errors import OnefoldError
from onefold.mysql.connection import query

pytestmark = pytest.mark.long

AT_ONCE = 14
"""Tables that share a dataset."""


HISTORIES: dict[str, dict[str, list[Version]]] = {
    project: {table["table"]: table["versions"] for table in chosen(tables)}
    for project, tables in tables_of_projects().items()
}
TABLES = [(project, table) for project, tables in HISTORIES.items() for table in tables] or [("", "")]


class Replay:
    """Writes the history of one table."""

    def __init__(self, flow: Flow, table: str) -> None:
        self._flow = flow
        self._table = table
        self._random = random.Random(table)
        self._serial = itertools.count(1)

    def play(self, versions: list[Version]) -> None:
        before: list[Column] = []
        for version in versions:
            self._become(before, version["columns"])
            before = version["columns"]
            self._write(before)

    def _become(self, before: list[Column], after: list[Column]) -> None:
        try:
            self._run(altered(self._table, before, after) if before else created(self._table, after))
        except pymysql.err.MySQLError:
            self._flow.source.run(f"DROP TABLE `{self._table}`")
            self._run(created(self._table, after))

    def _write(self, columns: list[Column]) -> None:
        """Insert two rows, change all columns of one including its key, and delete one."""
        for _ in range(2):
            self._insert(columns)
        (changed, values), (gone, of_gone) = self._two_rows(columns)
        self._update([column for column in columns if not column["primary_key"]], changed, values)
        self._update([column for column in columns if column["primary_key"]], changed, values)
        self._run(f"DELETE FROM `{self._table}` {gone}", *of_gone)

    def _insert(self, columns: list[Column]) -> None:
        names = ", ".join(f"`{column['name']}`" for column in columns)
        places = ", ".join(placeholder(column["mysql_type"]) for column in columns)
        self._run(f"INSERT INTO `{self._table}` ({names}) VALUES ({places})", *self._values(columns))

    def _update(self, columns: list[Column], which: str, of: tuple[Any, ...]) -> None:
        if columns:
            places = ", ".join(f"`{column['name']}` = {placeholder(column['mysql_type'])}" for column in columns)
            self._run(f"UPDATE `{self._table}` SET {places} {which}", *self._values(columns), *of)

    def _two_rows(self, columns: list[Column]) -> list[tuple[str, tuple[Any, ...]]]:
        """Return conditions and their values. Without a key, the server takes any row, and logs all of its columns."""
        key = key_of(columns)
        if not key:
            return [("LIMIT 1", ())] * 2
        names = ", ".join(f"`{name}`" for name in key)
        rows = self._flow.source.rows(f"SELECT {names} FROM `{self._table}` ORDER BY {names}")
        which = f"WHERE {' AND '.join(f'`{name}` = %s' for name in key)}"
        return [(which, row) for row in self._random.sample(rows, 2)]

    def _values(self, columns: list[Column]) -> list[Any]:
        serial = next(self._serial)
        return [key_value(c["mysql_type"], serial) if c["primary_key"] else self._value(c) for c in columns]

    def _value(self, column: Column) -> Any:
        if column["nullable"] and self._random.random() < 0.3:
            return None
        return value(column["mysql_type"], self._random)

    def _run(self, sql: str, *values: Any) -> None:
        query(self._flow.source.connection, sql, values)
        self._flow.note(self._flow.source.name, self._table, sql)


def key_of(columns: list[Column]) -> list[str]:
    return [column["name"] for column in columns if column["primary_key"]]


def declared(column: Column) -> str:
    return f"`{column['name']}` {column['mysql_type']} {'NULL' if column['nullable'] else 'NOT NULL'}"


def key_clauses(columns: list[Column]) -> list[str]:
    """Return one clause; none for a table without a key."""
    key = key_of(columns)
    return [f"PRIMARY KEY ({', '.join(f'`{name}`' for name in key)})"] if key else []


def created(table: str, columns: list[Column]) -> str:
    return f"CREATE TABLE `{table}` ({', '.join([*map(declared, columns), *key_clauses(columns)])})"


def altered(table: str, before: list[Column], after: list[Column]) -> str:
    """Return the statement that makes the next version of a table. A history does not say that a column was renamed."""
    old = {column["name"].lower(): column["name"] for column in before}
    new = {column["name"].lower() for column in after}
    changes = [f"DROP COLUMN `{name}`" for lower, name in old.items() if lower not in new]
    position = "FIRST"
    for column in after:
        known = old.get(column["name"].lower())
        changes.append(f"{f'CHANGE COLUMN `{known}`' if known else 'ADD COLUMN'} {declared(column)} {position}")
        position = f"AFTER `{column['name']}`"
    if key_of(before) != key_of(after):
        changes += ["DROP PRIMARY KEY"] if key_of(before) else []
        changes += [f"ADD {clause}" for clause in key_clauses(after)]
    return f"ALTER TABLE `{table}` {', '.join(changes)}"


def groups_of(tables: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Yield a few tables at a time: the emulator slows down with the number of versions in a dataset."""
    left = iter(tables)
    while group := tuple(itertools.islice(left, AT_ONCE)):
        yield group


class Replayed:
    """The histories of a project, replayed and captured."""

    def __init__(self, flows: Iterable[Flow]) -> None:
        self._flows = {table: flow for flow in flows for table in flow.tables}

    def check(self, table: str) -> None:
        """Check a table; without a key, all rows have landed, and an error says why there is no current view."""
        flow = self._flows[table]
        flow.check_unified(table)
        if flow.keys[table] == (SOURCE_NAME, DATABASE_NAME):
            with pytest.raises(OnefoldError, match=table):
                flow.check_current(table)
        else:
            flow.check_current(table)


def replay(
    stack: ExitStack, server: DatabaseServer, host: str, folder: Path, project: str, histories: Mapping[str, list[Version]]
) -> Replayed:
    source = stack.enter_context(new_source(server, project))
    flows = [
        Flow(source, new_dataset(host, f"{project}_{number}"), folder / str(number), (project,), group)
        for number, group in enumerate(groups_of(histories))
    ]
    for flow in flows:
        for table in flow.tables:
            Replay(flow, table).play(histories[table])
    for flow in flows:
        flow.capture(Progress(source.start))
    return Replayed(flows)


@pytest.fixture(scope="module")
def invented(mariadb: DatabaseServer, emulator_host: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replayed]:
    with ExitStack() as stack:
        yield replay(stack, mariadb, emulator_host, tmp_path_factory.mktemp("invented"), "invented", INVENTED)


@pytest.fixture(scope="module")
def real(
    mariadb: DatabaseServer, emulator_host: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Replayed]]:
    """By project."""
    with ExitStack() as stack:
        yield {
            project: replay(stack, mariadb, emulator_host, tmp_path_factory.mktemp(project), project, tables)
            for project, tables in HISTORIES.items()
        }


@pytest.mark.parametrize("table", INVENTED)
def test_rows_of_every_type_and_key_have_landed_and_the_current_view_has_the_latest(invented: Replayed, table: str) -> None:
    invented.check(table)


@pytest.mark.outside
@pytest.mark.skipif(not HISTORIES, reason=f"no histories: {FOLDER} is absent")
@pytest.mark.parametrize(("project", "table"), TABLES)
def test_every_row_ever_written_has_landed_and_the_current_view_has_the_latest(
    real: dict[str, Replayed], project: str, table: str
) -> None:
    real[project].check(table)
