"""The source of the demo of loads: a real MariaDB with three tables, at times that the story names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pymysql

from onefold.mysql.connection import Address, connect, query

DATABASE = "models"
READER = "onefold_puller"
"""The user of pulls and checks: it has the right that docs/tutorials/pull-tables.md grants, and no other."""
DAY = date(2026, 5, 3)
TABLES: Mapping[str, tuple[str, str]] = {
    "currency": ("code, name", "code"),
    "customer": ("id, name, email, city, pin, changed_at", "id"),
    "payment": ("id, amount", "id"),
}
"""The columns of each table, and that by which its rows are told apart."""
_SETUP = (
    f"CREATE DATABASE {DATABASE}",
    f"USE {DATABASE}",
    "CREATE TABLE customer (id INT PRIMARY KEY, name VARCHAR(20), email VARCHAR(40), city VARCHAR(20), pin CHAR(4), "
    "changed_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, KEY (changed_at))",
    "CREATE TABLE payment (id INT AUTO_INCREMENT PRIMARY KEY, amount INT NOT NULL)",
    "CREATE TABLE currency (code CHAR(3), name VARCHAR(20))",
    "INSERT INTO currency VALUES ('EUR', 'Euro'), ('GBP', 'Pound')",
    "INSERT INTO payment (amount) VALUES (100), (250), (40)",
    "INSERT INTO customer VALUES (1, 'Ada', 'al@x.eu', 'London', '4711', '2026-05-01 08:00'), "
    "(2, 'Grace', 'gh@x.eu', 'Arlington', '0815', '2026-05-02 17:30'), "
    "(3, 'Edsger', 'ed@x.eu', 'Nuenen', '1930', '2026-05-03 09:10'), "
    "(4, 'Barbara', 'bl@x.eu', 'Boston', '1974', '2026-05-03 09:40'), "
    "(5, 'Alan', 'at@x.eu', 'Wilmslow', '1912', '2026-05-03 09:55')",
    f"CREATE USER {READER}@'%'",
    f"GRANT SELECT ON {DATABASE}.* TO {READER}@'%'",
)


def at(clock: str, days: int = 0) -> datetime:
    """Return a time of the story.

    Args:
        clock: the time in UTC, as in 10:15.
        days: the number of days after the day of the story.
    """
    hour, minute = map(int, clock.split(":"))
    return datetime(DAY.year, DAY.month, DAY.day, hour, minute, tzinfo=UTC) + timedelta(days=days)


@dataclass(frozen=True)
class PulledSource:
    """The database of the demo. A session has the time that the story names, and `NOW()` is that time.

    Attributes:
        address: of a user who may do everything, such as the programs of the source.
    """

    address: Address

    @property
    def reader(self) -> Address:
        """The address of the user of pulls and checks."""
        return replace(self.address, user=READER)

    def create(self) -> None:
        """Create the tables and their first rows."""
        with closing(connect(self.address)) as connection:
            for statement in _SETUP:
                query(connection, statement)

    def connect(self, now: datetime) -> pymysql.Connection:
        """Open a session at a time of the story, as a pull or a check does."""
        return _session(self.reader, now)

    def run(self, clock: str, statement: str, days: int = 0) -> None:
        """Run a statement at a time of the story, and commit it."""
        with closing(_session(self.address, at(clock, days))) as connection:
            query(connection, f"USE {DATABASE}")
            query(connection, statement)

    def open(self, clock: str, statement: str) -> pymysql.Connection:
        """Run a statement in a transaction that stays open, and return the connection, which commits it."""
        connection = _session(self.address, at(clock))
        query(connection, f"USE {DATABASE}")
        query(connection, "START TRANSACTION")
        query(connection, statement)
        return connection

    def rows(self, table: str) -> Sequence[Mapping[str, Any]]:
        """Return the present rows of a table."""
        columns, _ = TABLES[table]
        with closing(connect(self.address)) as connection:
            rows = query(connection, f"SELECT {columns} FROM {DATABASE}.{table}")
        return [dict(zip(columns.split(", "), map(_as_landed, row), strict=True)) for row in rows]


def _session(address: Address, now: datetime) -> pymysql.Connection:
    connection = connect(address)
    query(connection, f"SET timestamp = {now.timestamp():.0f}")
    return connection


def _as_landed(value: Any) -> Any:
    """Return a value as BigQuery's client has it: the session shows times in UTC, without saying so."""
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) else value
