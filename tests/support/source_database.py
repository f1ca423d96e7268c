"""A database that capture reads, on a real server.

A test has it on MariaDB; with `@on(MariaDb, MySql)` it runs on each of these, with `@on(MariaDb, long=MySql)` on MySQL in
`make test-long` only: where what is tested begins behind the reader of the source, the second server finds little. A mark of
a test goes before its module's.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any

import pymysql
import pytest
from support.database_servers import DatabaseServer, MariaDb, MySql, new_server

from onefold.mysql.binlog.events import LogEvent, LogPosition, RowsChanged
from onefold.mysql.binlog.stream import follow
from onefold.mysql.connection import connect, log_status, query
from onefold.mysql.table_filter import TableFilter

on = pytest.mark.on.with_args
_numbers = itertools.count(1)
_server_ids = itertools.count(1000)
WAIT_SECONDS = 300


@dataclass(frozen=True)
class SourceDatabase:
    """A database of its own, and what its log has held since the test began."""

    server: DatabaseServer
    connection: pymysql.Connection
    name: str
    start: LogPosition

    def run(self, *statements: str) -> None:
        for statement in statements:
            query(self.connection, statement)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return query(self.connection, sql)

    def prepare(self, xid: str, *statements: str) -> None:
        """Leave a prepared transaction, named as in XA statements, by a session that is over.

        Until the server has noticed that, the transaction belongs to the session: `XA COMMIT` of another one finds none.
        """
        connection = connect(self.server.address)
        connection.select_db(self.name)
        for statement in (f"XA START {xid}", *statements, f"XA END {xid}", f"XA PREPARE {xid}"):
            query(connection, statement)
        connection.close()
        self._wait_for_end(connection.thread_id())

    def _wait_for_end(self, session: int) -> None:
        limit = time.monotonic() + WAIT_SECONDS
        while any(number == session for number, *_ in self.rows("SHOW PROCESSLIST")):
            assert time.monotonic() < limit, f"the server still has session {session}, which was closed"
            time.sleep(0.01)

    @property
    def on_mariadb(self) -> bool:
        return isinstance(self.server, MariaDb)

    def executed(self) -> str:
        """What the server has executed, in its own form of GTIDs."""
        ((text,),) = self.rows(f"SELECT @@{'gtid_binlog_pos' if self.on_mariadb else 'gtid_executed'}")
        return str(text).replace("\n", "")

    def log(self, patterns: TableFilter | None = None) -> list[LogEvent]:
        chosen = patterns or TableFilter((f"{self.name}.*",))
        return list(follow(self.server.address, self.start, chosen, next(_server_ids), blocking=False))

    def changes(self, patterns: TableFilter | None = None) -> list[RowsChanged]:
        return [event for event in self.log(patterns) if isinstance(event, RowsChanged)]


def numbers(first: int, last: int, name: str = "n") -> str:
    """A table of whole numbers, at most a thousand, for a FROM; its only column is `seq`."""
    more = f"SELECT seq + 1 FROM s WHERE seq < {last}"
    return f"(WITH RECURSIVE s (seq) AS (SELECT {first} UNION ALL {more}) SELECT seq FROM s) AS {name}"


def end_of_log(connection: pymysql.Connection) -> LogPosition:
    file, offset, *_ = log_status(connection)
    return LogPosition(1, file, offset)


def roll_back_prepared(server: DatabaseServer) -> None:
    """End the transactions that a test has left prepared: they hold locks, and the next test shares the server."""
    limit = time.monotonic() + WAIT_SECONDS
    with closing(connect(server.address)) as connection:
        while left := query(connection, "XA RECOVER"):
            assert time.monotonic() < limit, f"these transactions cannot be rolled back: {left}"
            for form, length, _, name in left:
                xid = name if isinstance(name, bytes) else name.encode()
                with suppress(pymysql.err.OperationalError):  # XAER_NOTA: its session, which was closed, is not over yet
                    query(connection, f"XA ROLLBACK X'{xid[:length].hex()}', X'{xid[length:].hex()}', {form}")


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
    roll_back_prepared(server)


def choose_servers(metafunc: pytest.Metafunc) -> None:
    """The servers of a test that is marked."""
    mark = metafunc.definition.get_closest_marker("on")
    if mark and "server" in metafunc.fixturenames:
        chosen = [pytest.param(kind, id=kind.__name__) for kind in mark.args]
        chosen += [pytest.param(kind, id=kind.__name__, marks=pytest.mark.long) for kind in mark.kwargs.values()]
        metafunc.parametrize("server", chosen, indirect=True)
