"""Tables of several tenants, and sessions that change their rows at random."""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import pymysql
from support.capture import WAIT_SECONDS
from support.database_servers import DatabaseServer
from support.source_database import numbers

from onefold.mysql.connection import connect, query

TABLES = {
    "item": "(id INT PRIMARY KEY, name VARCHAR(40), n INT)",
    "line": "(a INT, b INT, name VARCHAR(40), PRIMARY KEY (a, b))",
}
JOURNAL = "CREATE TABLE journal (id INT PRIMARY KEY AUTO_INCREMENT, number INT)"
"""The load's own, whose rows are never changed again: no later change makes up for one that was lost."""
_KEYS = 400
"""Rows are changed among so many, so that the same ones are met again and again."""
_PAUSE = 0.003
_CLASHES = (1060, 1062, 1205, 1213)
"""What happens to sessions that work at once: a column or a key that is there already, a lock, a deadlock."""


def make_tables(server: DatabaseServer, databases: tuple[str, ...], rows: int) -> None:
    """Tables with so many rows, some hundreds, in the first database, and some in the others."""
    with connect(server.address) as connection:
        for place, database in enumerate(databases):
            query(connection, f"DROP DATABASE IF EXISTS {database}")
            query(connection, f"CREATE DATABASE {database}")
            connection.select_db(database)
            for table, columns in TABLES.items():
                query(connection, f"CREATE TABLE {table} {columns}")
            hundreds = 1 if place else rows // 100
            many = f"SELECT a.seq * 100 + b.seq AS n FROM {numbers(0, hundreds - 1, 'a')}, {numbers(1, 100, 'b')}"
            query(connection, f"INSERT INTO item SELECT n, CONCAT('old ', n), 0 FROM ({many}) AS many")
            query(connection, f"INSERT INTO line SELECT seq % 20, seq, 'old' FROM {numbers(1, 100)}")


@dataclass
class Load:
    server: DatabaseServer
    databases: tuple[str, ...]
    transactions: int = 0
    """That went through so far."""
    _ended: threading.Event = field(default_factory=threading.Event, repr=False)
    _failures: list[BaseException] = field(default_factory=list, repr=False)

    def run(self, seed: int) -> None:
        """One session after the other, as the server takes them."""
        chosen = random.Random(seed)
        try:
            while not self._ended.wait(10 * _PAUSE):
                # A server that is gone comes back.
                with contextlib.suppress(pymysql.err.OperationalError, pymysql.err.InterfaceError):
                    self._session(chosen)
        except BaseException as error:  # noqa: BLE001 raised by the test
            self._failures.append(error)

    def _session(self, chosen: random.Random) -> None:
        with connect(self.server.address) as session:
            while not self._ended.wait(_PAUSE):
                try:
                    _transaction(session, self.databases, chosen)
                    self.transactions += 1
                except (pymysql.err.IntegrityError, pymysql.err.OperationalError) as error:
                    if error.args[0] not in _CLASHES:
                        raise
                    query(session, "ROLLBACK")

    def end(self, threads: list[threading.Thread]) -> None:
        self._ended.set()
        for thread in threads:
            thread.join(WAIT_SECONDS)
        assert not self._failures, self._failures


@contextlib.contextmanager
def load_on(server: DatabaseServer, databases: tuple[str, ...], seed: int, sessions: int = 2) -> Iterator[Load]:
    """Sessions that change rows as long as the block lasts."""
    load = Load(server, databases)
    with connect(server.address) as connection:
        for database in databases:
            connection.select_db(database)
            query(connection, JOURNAL)
    threads = [threading.Thread(target=load.run, args=(seed + number,), daemon=True) for number in range(sessions)]
    for thread in threads:
        thread.start()
    try:
        yield load
    finally:
        load.end(threads)


def _transaction(session: pymysql.Connection, databases: tuple[str, ...], chosen: random.Random) -> None:
    session.select_db(chosen.choice(databases))
    if chosen.random() < 0.01:
        query(session, chosen.choice(("FLUSH LOGS", f"ALTER TABLE line ADD COLUMN c{chosen.randrange(9)} INT DEFAULT 7")))
        return
    query(session, "BEGIN")
    query(session, f"INSERT INTO journal (number) VALUES ({chosen.randrange(_KEYS)})")
    for _ in range(chosen.randint(1, 3)):
        query(session, _change(chosen))
    query(session, "ROLLBACK" if chosen.random() < 0.1 else "COMMIT")


def _change(chosen: random.Random) -> str:
    one, other, number = (chosen.randrange(_KEYS) for _ in range(3))
    return chosen.choice(
        (
            f"REPLACE INTO item (id, name, n) VALUES ({one}, 'new {number}', {number}), ({other}, NULL, {number})",
            f"UPDATE item SET n = n + 1 WHERE id BETWEEN {one} AND {one + 5}",
            f"UPDATE IGNORE item SET id = {other} WHERE id = {one}",
            f"DELETE FROM item WHERE id = {one}",
            f"INSERT IGNORE INTO line (a, b, name) VALUES ({one % 20}, {other}, 'new {number}')",
            f"UPDATE IGNORE line SET b = {other}, name = 'moved {number}' WHERE a = {one % 20} AND b < 200",
            f"DELETE FROM line WHERE a = {one % 20} AND b < {other}",
        )
    )
