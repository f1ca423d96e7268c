"""Run a workload: several connections write at the same time, and what each has committed is the truth."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass, field

import pymysql

from onefold.core.errors import InvalidInput, Rejected
from onefold.core.text import counted
from onefold.mysql.connection import Address, connect, query, quoted, server_reason
from onefold.mysql.workload.columns import WorkloadColumn, added_column, column_named, first_columns, next_column
from onefold.mysql.workload.plan import KINDS, Kind, Operation, Row, Rows, SourceOptions, WorkloadTransaction, WriterPlan

_DUPLICATE_TABLE = 1050
_NO_SUCH_TABLE = 1146


@dataclass
class SourceRun:
    """What a workload has done: its rows by key, and the number of committed operations of each kind."""

    rows: Rows
    counts: dict[Kind, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    undone: int = 0
    seconds: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, transaction: WorkloadTransaction) -> None:
        """Take up a transaction that has ended at the server."""
        with self._lock:
            self.undone += len(transaction.undone)
            for operation in transaction.operations:
                self.counts[operation.kind] += 1
                for key, row in operation.effects.items():
                    self.rows.pop(key, None)
                    if row is not None:
                        self.rows[key] = row

    @property
    def truth(self) -> list[Row]:
        """The rows of the table by key, as BigQuery has to show them."""
        return [self.rows[key] for key in sorted(self.rows)]


@dataclass(frozen=True)
class SourceWorkload:
    """A workload on one table of a server.

    Attributes:
        address: the server, and a user who may create and write the table.
        database: the database, which exists.
        table: the name of the table.
        options: the properties of the workload.
    """

    address: Address
    database: str
    table: str
    options: SourceOptions

    def run(self, before: Iterable[Row] | None = None, keep: Callable[[SourceRun], None] = lambda _: None) -> SourceRun:
        """Write to the table.

        Args:
            before: the truth of the run that this one goes on from; None to create the table.
            keep: is called with what was committed, also where the run fails or is interrupted.

        Returns:
            SourceRun: what was done.

        Raises:
            InvalidInput: the options are invalid, the table exists already, or no workload has made it.
            Rejected: the table has other keys than the truth, or the server refused a statement.
        """
        self.options.check()
        try:
            with closing(connect(self.address)) as connection:
                columns = self._create(connection) if before is None else self._columns(connection)
                done = SourceRun({int(row["id"]): dict(row) for row in before or ()})
                self._check_keys(connection, done.rows, "is not the table of this truth: name the folder of its last run")
                try:
                    self._write(connection, columns, done)
                finally:
                    keep(done)
                self._check_keys(connection, done.rows, "was changed by another program, too: drop it, and run this again")
        except (pymysql.err.MySQLError, OSError) as error:
            raise Rejected(
                f"{self._name} at {self.address.host}:{self.address.port} cannot be written: {server_reason(error)}: "
                "correct --source, or grant CREATE, ALTER, SELECT, INSERT, UPDATE and DELETE"
            ) from error
        return done

    @property
    def _name(self) -> str:
        return f"{self.database}.{self.table}"

    @property
    def _quoted(self) -> str:
        return f"{quoted(self.database)}.{quoted(self.table)}"

    def _create(self, connection: pymysql.Connection) -> dict[str, WorkloadColumn]:
        columns = first_columns(self.options.every_type)
        items = ", ".join(["`id` BIGINT PRIMARY KEY", *(f"{quoted(name)} {one.type}" for name, one in columns.items())])
        try:
            query(connection, f"CREATE TABLE {self._quoted} ({items}) DEFAULT CHARSET utf8mb4")
        except pymysql.err.OperationalError as error:
            if error.args[0] != _DUPLICATE_TABLE:
                raise
            raise InvalidInput(
                f"{self._name} exists already: go on with it by --continue and the folder of its last run, or name another "
                "table by --table"
            ) from error
        return columns

    def _columns(self, connection: pymysql.Connection) -> dict[str, WorkloadColumn]:
        """Return the columns of the table without its key.

        Raises:
            InvalidInput: there is no such table, or no workload has made it.
            ProgrammingError: the server refuses the statement.
        """
        try:
            names = [str(name) for name, *_ in query(connection, f"SHOW COLUMNS FROM {self._quoted}")]
        except pymysql.err.ProgrammingError as error:
            if error.args[0] != _NO_SUCH_TABLE:
                raise
            raise InvalidInput(f"{self._name} does not exist: leave --continue out, and name a new folder") from error
        found = {name: column_named(name) for name in names if name != "id"}
        if "id" not in names or None in found.values():
            raise InvalidInput(f"{self._name} was not made by a workload: name another table by --table")
        return {name: column for name, column in found.items() if column}

    def _check_keys(self, connection: pymysql.Connection, rows: Rows, problem: str) -> None:
        keys = {key for (key,) in query(connection, f"SELECT `id` FROM {self._quoted}")}
        if keys != set(rows):
            differ = len(keys ^ set(rows))
            raise Rejected(f"{self._name} has {counted(len(keys), 'row')}; {differ:,} are unknown or gone: it {problem}")

    def _write(self, connection: pymysql.Connection, columns: dict[str, WorkloadColumn], done: SourceRun) -> None:
        """Write the parts of the workload, with a new column between two of them."""
        begun = time.monotonic()
        for part in range(self.options.versions):
            if part:
                name = next_column(columns)
                columns[name] = added_column()
                query(connection, f"ALTER TABLE {self._quoted} ADD COLUMN {quoted(name)} {columns[name].type}")
                done.rows.update({key: {**row, name: None} for key, row in done.rows.items()})
            self._write_part(part, columns, done)
        done.seconds = time.monotonic() - begun

    def _write_part(self, part: int, columns: dict[str, WorkloadColumn], done: SourceRun) -> None:
        """Let all writers do their shares of a part; the error of one, or an interrupt, ends all after a transaction."""
        writers, stop = self.options.writers, threading.Event()
        sizes = _shares(_shares(self.options.operations, self.options.versions)[part], writers)
        rows = [{key: row for key, row in done.rows.items() if key % writers == number} for number in range(writers)]
        plans = [WriterPlan(self.options, number, part, self._quoted, columns, rows[number]) for number in range(writers)]
        with ThreadPoolExecutor(writers) as pool:
            try:
                running = [pool.submit(self._work, *one, done, stop) for one in zip(plans, sizes, strict=True)]
                for future in as_completed(running):
                    future.result()
            finally:
                stop.set()

    def _work(self, plan: WriterPlan, operations: int, done: SourceRun, stop: threading.Event) -> None:
        pace = self.options.writers / self.options.rate if self.options.rate else 0.0
        due = time.monotonic()
        with closing(connect(self.address)) as connection:
            for transaction in plan.transactions(operations):
                if stop.wait(max(0.0, due - time.monotonic())):
                    return
                _execute(connection, transaction)
                done.add(transaction)
                due += pace * len(transaction.operations)


def _execute(connection: pymysql.Connection, transaction: WorkloadTransaction) -> None:
    query(connection, "BEGIN")
    _send(connection, transaction.operations)
    if transaction.undone:
        query(connection, "SAVEPOINT undone")
        _send(connection, transaction.undone)
        query(connection, "ROLLBACK TO SAVEPOINT undone")
    query(connection, "COMMIT" if transaction.operations else "ROLLBACK")


def _send(connection: pymysql.Connection, operations: Iterable[Operation]) -> None:
    for operation in operations:
        query(connection, operation.sql, operation.values)


def _shares(number: int, parts: int) -> list[int]:
    """Return a number in whole parts, which differ by one at most."""
    return [number * (part + 1) // parts - number * part // parts for part in range(parts)]
