"""The adapter of a source beside its log: what capture asks the server, each time over a connection of its own."""

from __future__ import annotations

import secrets
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace

import pymysql

from onefold.capture.cascades import Cascades, WatchedTables, read_cascades
from onefold.capture.checkpoint import Progress
from onefold.capture.table_checks import CheckedTables, InspectedTable, check_tables, inspect_table
from onefold.core.errors import NotFound, Rejected, TryAgain
from onefold.mysql.binlog.events import Committed, Gtid, LogEvent, LogFileStarted, LogPosition, RolledBack
from onefold.mysql.binlog.stream import follow
from onefold.mysql.binlog.transactions import MAX_BUFFERED_BYTES
from onefold.mysql.catalog import BASE, TableName, is_view, structure_of, structures, tables
from onefold.mysql.checks import check_server
from onefold.mysql.connection import Address, connect, executed_now, is_mariadb, lost_on, previous_gtids, query, variables
from onefold.mysql.grants import grantee, may_lock
from onefold.mysql.gtid import GtidSet, read_executed
from onefold.mysql.snapshot.consistent_read import visible_end_of_log
from onefold.mysql.table import Structure
from onefold.mysql.table_filter import TableFilter


class LogLost(NotFound):
    """The log does not have the place where reading was to go on, or it is another log."""


class GtidsLost(LogLost):
    """The log cannot be read on behind what has been executed."""


_QUIET_MOMENTS = 10
"""How often a moment without transactions is looked for, before a file of the log is read for what it holds."""


def check_file(start: Progress, event: LogFileStarted) -> None:
    """Raise LogLost where the file within which reading starts is not the one that was read."""
    within = start.place is not None and start.place.file == event.position.file
    if within and start.fingerprint not in (None, event.fingerprint):
        raise LogLost(f"{event.position.file} of the source is another file than the one that was read")


_FIRST_OFFSET = 4
"""Of every file of a log."""
_NO_TABLES = TableFilter((), ("*",))
_PROBES = 1 << 31
"""The first of as many numbers of replicas, of which a check takes one at random."""
_DENIED = (1044, 1045, 1142, 1227)


@dataclass(frozen=True)
class Source:
    """A server, and which of its tables are captured. Every method raises TryAgain where trouble may pass, and Rejected
    where the server refuses.
    """

    address: Address
    patterns: TableFilter
    server_id: int
    held: int = MAX_BUFFERED_BYTES
    """The most bytes of the log that are held for one transaction."""

    def check(self) -> CheckedTables:
        """Check the server, and each table that is captured.

        Raises:
            InvalidSettings: every fault of the server's settings.
        """
        self.check_settings()
        return self.check_tables()

    def check_settings(self) -> str:
        """Check the server's settings, and return its version.

        Raises:
            InvalidSettings: every fault.
        """
        with self._asked() as connection:
            check_server(connection, self.patterns)
            return variables(connection).get("version", "")

    def check_tables(self) -> CheckedTables:
        """Check each table that is captured."""
        with self._asked() as connection:
            return check_tables(connection, self.patterns)

    def has_gtids(self) -> bool:
        """Whether each transaction of the log has an identifier: always with MariaDB."""
        with self._asked() as connection:
            return is_mariadb(connection) or variables(connection).get("gtid_mode", "").upper() == "ON"

    def check_log(self, start: Progress, epoch: int) -> None:
        """Read the beginning of the log from a place on, as a replica would, under a number of its own.

        Raises:
            LogLost: the log does not have the place, or is another one.
            Rejected: the user may not read it.
        """
        # With the number of a process that runs, the server would end that one's reading.
        probe = replace(self, patterns=_NO_TABLES, server_id=_PROBES + secrets.randbelow(_PROBES))
        with closing(probe.follow(start, epoch, Cascades(), blocking=False)) as events:
            for event in events:
                if isinstance(event, LogFileStarted):
                    check_file(start, event)
                return

    def structures(self) -> dict[TableName, Structure]:
        """The structures of all captured tables."""
        with self._asked() as connection:
            return structures(connection, self.patterns)

    def inspect(self, name: TableName) -> InspectedTable:
        """One table as it is now, with what keeps it from being captured."""
        with self._asked() as connection:
            return inspect_table(connection, name)

    def may_lock(self, name: TableName) -> bool:
        """Whether a copy may lock a table."""
        with self._asked() as connection:
            return may_lock(connection, name)

    def follow(
        self,
        start: Progress,
        epoch: int,
        cascades: Cascades,
        blocking: bool,
        known: Mapping[LogPosition, RolledBack] | None = None,
    ) -> Generator[LogEvent]:
        """The log from a place on, or from behind what has been executed. Raises LogLost or GtidsLost without it.

        Args:
            known: transactions that are known to be committed, by where they begin, with what of them is void.
        """
        watched = WatchedTables(self.patterns.include, self.patterns.exclude, cascades.watched)
        at = start.place or Gtid(epoch, start.executed)
        try:
            yield from follow(self.address, at, watched, self.server_id, blocking, known, self.held)
        except NotFound as error:
            raise (LogLost if start.place else GtidsLost)(str(error)) from error

    def lost(self, executed: GtidSet) -> GtidSet:
        """Return the executed transactions that the server does not have."""
        with self._asked() as connection:
            return lost_on(connection, executed)

    def end_place(self, epoch: int) -> LogPosition:
        """Where the log ends now, as far as copies of tables show it."""
        with self._asked() as connection:
            return visible_end_of_log(connection, epoch)

    def log_end(self, epoch: int) -> Progress:
        """Where the log ends now, as far as copies of tables show it, and exactly what was executed before that place.

        A transaction too few in that set would be read again after a failover, and stand above what came after it.
        """
        with self._asked() as connection:
            for _ in range(1 if is_mariadb(connection) else _QUIET_MOMENTS):
                before = executed_now(connection)
                place = visible_end_of_log(connection, epoch)
                if before is not None and before == executed_now(connection):
                    return Progress(place, read_executed(before))
        return self.with_executed(Progress(place))

    def with_executed(self, start: Progress) -> Progress:
        """A start with what has been executed before its place: from the place on, the log tells only what comes after."""
        if not start.place:
            return start
        with self._asked() as connection:
            if is_mariadb(connection):
                executed = read_executed(_mariadb_gtids(connection, start.place.file, start.place.offset))
            else:
                executed = self._executed_within(start.place, read_executed(previous_gtids(connection, start.place.file)))
        return replace(start, executed=executed)

    def _executed_within(self, place: LogPosition, executed: GtidSet) -> GtidSet:
        """MySQL tells what was executed before a file; the rest is read from the file itself."""
        beginning = replace(place, offset=_FIRST_OFFSET)
        with suppress(NotFound), closing(follow(self.address, beginning, _NO_TABLES, self.server_id, False)) as events:
            for event in events:
                if isinstance(event, Committed):
                    if event.position.order > place.order:
                        break
                    executed = executed.plus(event.gtid) if event.gtid else executed
        return executed

    def tables(self, database: str | None = None) -> list[TableName]:
        """The present tables that are captured: all, or those of one database."""
        with self._asked() as connection:
            found = tables(connection, self.patterns, database)
        return sorted(name for name, kind in found.items() if kind == BASE)

    def is_view(self, name: TableName) -> bool:
        """Whether there is a view of that name now, as far as the user may see it."""
        with self._asked() as connection:
            return is_view(connection, name)

    def structure(self, name: TableName) -> Structure | None:
        """A table as it is now; None where there is none."""
        with self._asked() as connection:
            return structure_of(connection, name)

    def cascades(self) -> Cascades:
        with self._asked() as connection:
            return read_cascades(connection, self.patterns)

    def connect(self) -> pymysql.Connection:
        try:
            return connect(self.address)
        except pymysql.err.MySQLError as error:
            raise _told(error) from error

    @contextmanager
    def _asked(self) -> Iterator[pymysql.Connection]:
        try:
            with closing(connect(self.address)) as connection:
                try:
                    yield connection
                except pymysql.err.MySQLError as error:
                    if not connection.open or error.args[:1] not in [(code,) for code in _DENIED]:
                        raise
                    raise _told(error, grantee(connection)) from error
        except pymysql.err.MySQLError as error:
            raise _told(error) from error


def _mariadb_gtids(connection: pymysql.Connection, file: object, offset: object) -> str:
    return query(connection, "SELECT BINLOG_GTID_POS(%s, %s)", (file, offset))[0][0] or ""


def _told(error: pymysql.err.MySQLError, user: str = "...") -> Exception:
    if error.args and error.args[0] in _DENIED:
        return Rejected(
            f"the source refuses: {error}; see host, user and password, and run: GRANT REPLICATION SLAVE, "
            f"REPLICATION CLIENT, SELECT ON *.* TO {user}"
        )
    return TryAgain(f"the source does not answer: {error}")
