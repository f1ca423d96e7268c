"""A database that capture reads, on a real server.

A test has it on MariaDB; with `@on(MariaDb, MySql)` it runs on each of these. A mark of a test goes before its module's.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pymysql
import pytest
from database_servers import DatabaseServer, MariaDb, MySql, new_server

from onefold.capture.binlog import follow
from onefold.capture.log_events import LogEvent, Place, RowsChanged
from onefold.capture.patterns import Patterns
from onefold.capture.server import connect, log_status, query

on = pytest.mark.on.with_args
_numbers = itertools.count(1)
_server_ids = itertools.count(1000)


@dataclass(frozen=True)
class SourceDatabase:
    """A database of its own, and what its log has held since the test began."""

    server: DatabaseServer
    connection: pymysql.Connection
    name: str
    start: Place

    def run(self, *statements: str) -> None:
        for statement in statements:
            query(self.connection, statement)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return query(self.connection, sql)

    @property
    def on_mariadb(self) -> bool:
        return isinstance(self.server, MariaDb)

    def executed(self) -> str:
        """What the server has executed, in its own form of GTIDs."""
        ((text,),) = self.rows(f"SELECT @@{'gtid_binlog_pos' if self.on_mariadb else 'gtid_executed'}")
        return str(text).replace("\n", "")

    def log(self, patterns: Patterns | None = None) -> list[LogEvent]:
        chosen = patterns or Patterns((f"{self.name}.*",))
        return list(follow(self.server.address, self.start, chosen, next(_server_ids), blocking=False))

    def changes(self, patterns: Patterns | None = None) -> list[RowsChanged]:
        return [event for event in self.log(patterns) if isinstance(event, RowsChanged)]


def numbers(first: int, last: int, name: str = "n") -> str:
    """A table of whole numbers, at most a thousand, for a FROM; its only column is `seq`."""
    more = f"SELECT seq + 1 FROM s WHERE seq < {last}"
    return f"(WITH RECURSIVE s (seq) AS (SELECT {first} UNION ALL {more}) SELECT seq FROM s) AS {name}"


def end_of_log(connection: pymysql.Connection) -> Place:
    file, offset, *_ = log_status(connection)
    return Place(1, file, offset)


@pytest.fixture(scope="session")
def mariadb() -> Iterator[DatabaseServer]:
    """One server for the session: it takes seconds to start."""
    with new_server(MariaDb) as server:
        yield server


@pytest.fixture(scope="session")
def mysql() -> Iterator[DatabaseServer]:
    with new_server(MySql) as server:
        yield server


@pytest.fixture
def server(request: pytest.FixtureRequest) -> DatabaseServer:
    kind = getattr(request, "param", MariaDb)
    found: DatabaseServer = request.getfixturevalue({MariaDb: "mariadb", MySql: "mysql"}[kind])
    return found


@pytest.fixture
def source(server: DatabaseServer) -> Iterator[SourceDatabase]:
    """An empty database, with its log read from here on."""
    connection = connect(server.address)
    name = f"shop{next(_numbers)}"
    query(connection, f"CREATE DATABASE {name}")
    connection.select_db(name)
    yield SourceDatabase(server, connection, name, end_of_log(connection))
    connection.close()


def choose_servers(metafunc: pytest.Metafunc) -> None:
    """The servers of a test that is marked."""
    mark = metafunc.definition.get_closest_marker("on")
    if mark and "server" in metafunc.fixturenames:
        metafunc.parametrize("server", mark.args, ids=[kind.__name__ for kind in mark.args], indirect=True)
