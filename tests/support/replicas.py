"""A primary server and its replica, both with a log of their own: the replica may lag, and take the primary's place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace

import pymysql
from support.database_servers import DatabaseServer, MariaDb, MySql, new_server
from support.source_database import SourceDatabase, end_of_log

from onefold.mysql.connection import connect, query

_PRIMARY, _REPLICA = 1, 2
_WAIT_SECONDS = 300
_SETTINGS: dict[type[DatabaseServer], tuple[str, ...]] = {MariaDb: ("--log-slave-updates",), MySql: ()}
_STATEMENTS: dict[type[DatabaseServer], dict[str, tuple[str, ...]]] = {
    MariaDb: {
        "follow": (
            "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {port}, MASTER_USER = 'root', "
            "MASTER_CONNECT_RETRY = 1, MASTER_USE_GTID = slave_pos",
            "START SLAVE",
        ),
        "lag": ("STOP SLAVE SQL_THREAD",),
        "promote": ("STOP SLAVE", "RESET SLAVE ALL"),
        "forget": ("RESET MASTER", "SET GLOBAL gtid_slave_pos = ''"),
    },
    MySql: {
        "follow": (
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {port}, SOURCE_USER = 'root', "
            "SOURCE_CONNECT_RETRY = 1, SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1",
            "START REPLICA",
        ),
        "lag": ("STOP REPLICA SQL_THREAD",),
        "promote": ("STOP REPLICA", "RESET REPLICA ALL"),
        "forget": ("RESET BINARY LOGS AND GTIDS",),
    },
}


@dataclass(frozen=True)
class Pair:
    """One database on both servers. `primary` is the server that replication comes from."""

    primary: SourceDatabase
    replica: SourceDatabase

    def catch_up(self) -> None:
        """Wait until the replica has all that the primary has executed."""
        waiting = "MASTER_GTID_WAIT(%s, %s)" if self.primary.on_mariadb else "WAIT_FOR_EXECUTED_GTID_SET(%s, %s)"
        found = query(self.replica.connection, f"SELECT {waiting}", (self.primary.executed(), _WAIT_SECONDS))
        assert found == [(0,)]

    def lag(self) -> None:
        """From here on the replica does not apply what the primary writes."""
        self.catch_up()
        _run(self.replica.connection, self.replica.server, "lag")

    def promote(self) -> None:
        """Make the replica a primary, without what it has not applied."""
        _run(self.replica.connection, self.replica.server, "promote")


@contextmanager
def new_servers(kind: type[DatabaseServer]) -> Iterator[tuple[DatabaseServer, DatabaseServer]]:
    """Two servers that know nothing of each other."""
    with (
        new_server(kind, *_SETTINGS[kind], f"--server-id={_PRIMARY}") as first,
        new_server(kind, *_SETTINGS[kind], f"--server-id={_REPLICA}") as second,
    ):
        yield first, second


@contextmanager
def new_pair(servers: tuple[DatabaseServer, DatabaseServer], name: str) -> Iterator[Pair]:
    """Return an empty database on a primary and on its replica; earlier data of the servers is deleted."""
    with closing(connect(servers[0].address)) as first, closing(connect(servers[1].address)) as second:
        for connection, server in zip((first, second), servers, strict=True):
            _run(connection, server, "promote")
            for (database,) in query(connection, f"SHOW DATABASES LIKE '{name}%'"):
                query(connection, f"DROP DATABASE {database}")
            _run(connection, server, "forget")
        _run(second, servers[1], "follow", servers[0].port)
        query(first, f"CREATE DATABASE {name}")
        first.select_db(name)
        pair = Pair(_database(servers[0], first, name), _database(servers[1], second, name))
        pair.catch_up()
        second.select_db(name)
        yield replace(pair, primary=replace(pair.primary, start=end_of_log(first)))


def _database(server: DatabaseServer, connection: pymysql.Connection, name: str) -> SourceDatabase:
    return SourceDatabase(server, connection, name, end_of_log(connection))


def _run(connection: pymysql.Connection, server: DatabaseServer, what: str, port: int = 0) -> None:
    for statement in _STATEMENTS[type(server)][what]:
        query(connection, statement.format(port=port))
