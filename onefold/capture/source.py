"""The source of a capture: its log, and queries about its tables, each over a connection of its own."""

from __future__ import annotations

import secrets
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, replace

import pymysql

from onefold.capture.cascades import Cascades, WatchedTables, hidden_problems, read_cascades
from onefold.capture.checkpoint import Progress
from onefold.capture.source_errors import DENIED, translated
from onefold.capture.table_checks import CheckedTables, InspectedTable, check_tables, inspect_table
from onefold.core.errors import NotFound
from onefold.mysql.binlog.events import Committed, Gtid, LogEvent, LogFileStarted, LogPosition, RolledBack
from onefold.mysql.binlog.stream import follow
from onefold.mysql.binlog.transactions import MAX_BUFFERED_BYTES
from onefold.mysql.catalog import BASE, TableName, is_view, missing_databases, structure_of, structures, tables
from onefold.mysql.checks import check_server
from onefold.mysql.connection import (
    Address,
    connect,
    executed_now,
    is_mariadb,
    log_status,
    lost_on,
    previous_gtids,
    query,
    variables,
)
from onefold.mysql.grants import grantee, may_lock
from onefold.mysql.gtid import GtidSet, read_executed
from onefold.mysql.snapshot.consistent_read import visible_end_of_log
from onefold.mysql.table import Structure
from onefold.mysql.table_filter import TableFilter


class LogLost(NotFound):
    """The log does not have the position from which to read, or it is another log."""


class GtidsLost(LogLost):
    """The log cannot be read on behind the executed transactions."""


_QUIET_TRIES = 10
"""Tries to read position and executed transactions without a commit between them. After that, a file of the log is read."""


def check_file(start: Progress, event: LogFileStarted) -> None:
    """Check that the file in which reading starts is the one that was read before.

    Args:
        start: where reading starts.
        event: the beginning of the file.

    Raises:
        LogLost: another server, or the same one after a reset of its log, has begun a file of the same name.
    """
    is_within = start.position is not None and start.position.file == event.position.file
    if is_within and start.fingerprint not in (None, event.fingerprint):
        raise LogLost(f"{event.position.file} of the source is another file than the one that was read")


_FIRST_OFFSET = 4
"""The offset of the first event in each file of a log: four bytes of magic number come before it."""
_NO_TABLES = TableFilter((), ("*",))
_FIRST_PROBE_ID = 1 << 31
"""Checks read the log under a random server id from here on, of which there are as many."""


@dataclass(frozen=True)
class CapturedSource:
    """A server, and which of its tables are captured.

    Every method raises TryAgain for an error that may pass, and Rejected if the server refuses.
    """

    address: Address
    patterns: TableFilter
    server_id: int
    max_transaction_bytes: int = MAX_BUFFERED_BYTES
    """The most bytes of the log that are kept in memory for one transaction."""

    def check(self) -> CheckedTables:
        """Check the server, and each table that is captured.

        Raises:
            InvalidSettings: every problem of the server's settings.
        """
        self.check_settings()
        return self.check_tables()

    def check_settings(self) -> str:
        """Check the server's settings, and return its version.

        Raises:
            InvalidSettings: every problem.
        """
        with self._connection() as connection:
            check_server(connection, self.patterns)
            return variables(connection).get("version", "")

    def check_tables(self) -> CheckedTables:
        """Check each table that is captured."""
        with self._connection() as connection:
            return check_tables(connection, self.patterns)

    def missing_databases(self) -> str | None:
        """Return a sentence about databases that the patterns name and that do not exist; None if there are none."""
        with self._connection() as connection:
            return missing_databases(connection, self.patterns)

    def has_gtids(self) -> bool:
        """Return whether each transaction of the log has a GTID, which is always the case with MariaDB."""
        with self._connection() as connection:
            return is_mariadb(connection) or variables(connection).get("gtid_mode", "").upper() == "ON"

    def check_log(self, start: Progress, epoch: int) -> None:
        """Read the first event of the log from a position on, as a replica would.

        Args:
            start: the position, or the executed transactions.
            epoch: of the position.

        Raises:
            LogLost: the log does not have the position, or is another one.
            Rejected: the user may not read it.
        """
        # The server ends the connection of another replica with the same server id: capture may be running.
        probe = replace(self, patterns=_NO_TABLES, server_id=_FIRST_PROBE_ID + secrets.randbelow(_FIRST_PROBE_ID))
        with closing(probe.follow(start, epoch, Cascades(), blocking=False)) as events:
            for event in events:
                if isinstance(event, LogFileStarted):
                    check_file(start, event)
                return

    def structures(self) -> dict[TableName, Structure]:
        """Return the structures of all captured tables."""
        with self._connection() as connection:
            return structures(connection, self.patterns)

    def inspect(self, name: TableName) -> InspectedTable:
        """Return a table as it is now, with what keeps it from being captured."""
        with self._connection() as connection:
            return inspect_table(connection, name)

    def may_lock(self, name: TableName) -> bool:
        """Return whether the user may lock a table, which a copy needs."""
        with self._connection() as connection:
            return may_lock(connection, name)

    def follow(
        self,
        start: Progress,
        epoch: int,
        cascades: Cascades,
        blocking: bool,
        known: Mapping[LogPosition, RolledBack] | None = None,
    ) -> Generator[LogEvent]:
        """Yield the events of the log from a position on, or behind the executed transactions.

        Args:
            start: the position, or without one the executed transactions.
            epoch: of all positions.
            cascades: parents of captured tables, whose rows are read, too.
            blocking: whether to wait for new events at the end of the log.
            known: transactions that are known to be committed, by where they begin, with their parts that were rolled back
                to a savepoint.

        Raises:
            LogLost: the log does not have the position.
            GtidsLost: the log cannot be read behind the executed transactions.
        """
        watched = WatchedTables(**asdict(self.patterns), more=cascades.watched)
        at = start.position or Gtid(epoch, start.executed)
        try:
            yield from follow(self.address, at, watched, self.server_id, blocking, known, self.max_transaction_bytes)
        except NotFound as error:
            raise (LogLost if start.position else GtidsLost)(str(error)) from error

    def lost(self, executed: GtidSet) -> GtidSet:
        """Return the executed transactions that the server does not have."""
        with self._connection() as connection:
            return lost_on(connection, executed)

    def written_end(self, epoch: int) -> LogPosition:
        """Return the present end of the log, whether or not tables show everything before it."""
        with self._connection() as connection:
            file, offset, *_ = log_status(connection)
        return LogPosition(epoch, file, int(offset))

    def end_position(self, epoch: int) -> LogPosition:
        """Return the present end of the log: a copy of a table that begins now shows everything before this position."""
        with self._connection() as connection:
            return visible_end_of_log(connection, epoch)

    def log_end(self, epoch: int) -> Progress:
        """Return the present end of the log as `end_position` does, with the transactions executed before it.

        The set has to be exact: a transaction missing from it would be read again after a failover, and rank above changes
        that came after it.
        """
        with self._connection() as connection:
            for _ in range(1 if is_mariadb(connection) else _QUIET_TRIES):
                before = executed_now(connection)
                position = visible_end_of_log(connection, epoch)
                if before is not None and before == executed_now(connection):
                    return Progress(position, read_executed(before))
        return self.with_executed(Progress(position))

    def with_executed(self, start: Progress) -> Progress:
        """Return a start with the transactions executed before its position. The log itself only has the later ones."""
        position = start.position
        if not position:
            return start
        with self._connection() as connection:
            if is_mariadb(connection):
                executed = read_executed(_mariadb_gtids(connection, position.file, position.offset))
            else:
                executed = self._executed_within(position, read_executed(previous_gtids(connection, position.file)))
        return replace(start, executed=executed)

    def _executed_within(self, position: LogPosition, executed: GtidSet) -> GtidSet:
        """Return the transactions executed before a position of MySQL: those before the file, and those within it."""
        beginning = replace(position, offset=_FIRST_OFFSET)
        with suppress(NotFound), closing(follow(self.address, beginning, _NO_TABLES, self.server_id, False)) as events:
            for event in events:
                if isinstance(event, Committed):
                    if event.position.order > position.order:
                        break
                    executed = executed.plus(event.gtid) if event.gtid else executed
        return executed

    def tables(self, database: str | None = None) -> list[TableName]:
        """Return the captured tables that exist now, sorted: all, or those of one database."""
        with self._connection() as connection:
            found = tables(connection, self.patterns, database)
        return sorted(name for name, kind in found.items() if kind == BASE)

    def is_view(self, name: TableName) -> bool:
        """Return whether a view of that name exists now and is visible to the user."""
        with self._connection() as connection:
            return is_view(connection, name)

    def structure(self, name: TableName) -> Structure | None:
        """Return the present structure of a table; None if the table does not exist."""
        with self._connection() as connection:
            return structure_of(connection, name)

    def cascades(self) -> Cascades:
        """Read the cascading foreign keys of the tables that exist now."""
        with self._connection() as connection:
            return read_cascades(connection, self.patterns)

    def hidden_foreign_keys(self) -> list[str]:
        """Return the foreign keys that may change captured tables and that the user may not see, each with a GRANT."""
        with self._connection() as connection:
            return hidden_problems(connection, read_cascades(connection, self.patterns))

    def connect(self) -> pymysql.Connection:
        try:
            return connect(self.address)
        except pymysql.err.MySQLError as error:
            raise translated(error) from error

    @contextmanager
    def _connection(self) -> Iterator[pymysql.Connection]:
        try:
            with closing(connect(self.address)) as connection:
                try:
                    yield connection
                except pymysql.err.MySQLError as error:
                    if not connection.open or error.args[:1] not in [(code,) for code in DENIED]:
                        raise
                    raise translated(error, grantee(connection)) from error
        except pymysql.err.MySQLError as error:
            raise translated(error) from error


def _mariadb_gtids(connection: pymysql.Connection, file: object, offset: object) -> str:
    return query(connection, "SELECT BINLOG_GTID_POS(%s, %s)", (file, offset))[0][0] or ""
