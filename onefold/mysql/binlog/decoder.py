"""The decoder of the log: from raw events to changed rows, statements and ends of transactions.

The decoder keeps the state that events share (file, tables, transaction) and opens no connection.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from onefold.core.errors import InvalidInput, Rejected
from onefold.mysql.binlog.events import (
    Committed,
    Decode,
    Idle,
    IncompleteTransaction,
    LogEvent,
    LogFileStarted,
    LogPosition,
    RolledBack,
    RowEvent,
    Statement,
    UnreadableRows,
    XaStep,
)
from onefold.mysql.binlog.logged_tables import LoggedTables, UnreadableTable
from onefold.mysql.binlog.query_text import EXECUTE_LOAD_HEADER, QUERY_HEADER, statement
from onefold.mysql.binlog.raw_event import (
    COMPRESSED,
    DELETE_ROWS,
    EXECUTE_LOAD_QUERY,
    FORMAT_DESCRIPTION,
    HEARTBEAT,
    HEARTBEAT_V2,
    IGNORABLE,
    MARIADB_GTID,
    PARTIAL_UPDATE_ROWS,
    QUERY,
    ROTATE,
    TABLE_MAP,
    TRANSACTION_STARTS,
    UPDATE_ROWS,
    WITHOUT_ROWS,
    WRITE_ROWS,
    XA_PREPARE,
    XID,
    RawEvent,
    checksum_size,
    next_file,
)
from onefold.mysql.binlog.row_event import are_cascades_logged, decode_rows, table_id_of
from onefold.mysql.binlog.transaction_events import (
    STANDALONE,
    XA_STATEMENT,
    apply_savepoint,
    gtid_of,
    is_alter_unfinished,
    mariadb_flags,
    prepared_step,
)
from onefold.mysql.binlog.transactions import MAX_BUFFERED_BYTES, Transaction, decoded, is_rolled_back
from onefold.mysql.charsets import Dialect
from onefold.mysql.ddl.tokens import Grammar
from onefold.mysql.table import Structure
from onefold.mysql.table_filter import TableFilter

_ROWS = frozenset({*WRITE_ROWS, *UPDATE_ROWS, *DELETE_ROWS, PARTIAL_UPDATE_ROWS})
_FIRST_EVENT = 4
"""The offset of a file's first event, behind the magic number."""
_OFFSET_RANGE = 1 << 32
"""Headers have 32 bits for the offset, and a large transaction makes a file longer than that."""
_SERVER_VERSION = slice(2, 52)
"""In a FORMAT_DESCRIPTION_EVENT: text of 50 bytes, filled up with zeros."""


class LogDecoder:
    """Decode raw events one after the other. A table that the filter excludes costs only a look at its name.

    The rows of a transaction come when its commit is read.
    """

    def __init__(
        self,
        dialect: Dialect,
        table_filter: TableFilter,
        epoch: int,
        committed: Mapping[LogPosition, RolledBack] | None = None,
        max_buffered_bytes: int = MAX_BUFFERED_BYTES,
    ) -> None:
        """Begin without a file: the first event is a ROTATE_EVENT.

        Args:
            dialect: what the server's bytes depend on.
            table_filter: the tables that are captured.
            epoch: the first section of every position.
            committed: transactions that are known to be committed, by where they begin, with what was rolled back in them:
                their rows are not buffered.
            max_buffered_bytes: the most bytes of the log that are buffered for one transaction.
        """
        self.dialect = dialect
        self._committed_transactions = committed or {}
        self._max_buffered_bytes = max_buffered_bytes
        self._transaction = Transaction(bound=max_buffered_bytes)
        self._tables = LoggedTables(dialect, table_filter)
        self._epoch = epoch
        self._file = ""
        self._end = 0
        self._checksum_size = 0
        self._gtid: str | None = None
        self._in_transaction = False
        self._is_effective = True
        """Whether the statement that follows takes effect: MariaDB may log an ALTER when it begins, too."""

    def read(self, event: RawEvent) -> Iterable[LogEvent]:
        """Return what an event says, in order. A table that cannot be read gives `UnreadableRows`, at the commit like rows.

        Raises:
            Rejected: the log is written in a way that cannot be read.
        """
        kind = event.type
        if kind == ROTATE:
            return self._rotate(event)
        offset = self._advance(event)
        if kind == TABLE_MAP:
            self._tables.describe(event.body(self._checksum_size))
        elif kind in _ROWS:
            return self._rows(event, self._position(offset))
        elif kind in TRANSACTION_STARTS:
            self._start_transaction(event, self._position(offset))
        elif kind == XID:
            return self._commit(event)
        elif kind not in WITHOUT_ROWS:
            return self._rare(event, self._position(offset))
        return ()

    def _rare(self, event: RawEvent, position: LogPosition) -> Iterator[LogEvent]:
        """Yield what an event of the kinds says that are not in every transaction."""
        kind = event.type
        if kind == QUERY:
            yield from self._query(event, position)
        elif kind == EXECUTE_LOAD_QUERY:
            yield self._statement(event, position, EXECUTE_LOAD_HEADER)
        elif kind == XA_PREPARE:
            yield from self._commit(event, prepared_step(event.body(self._checksum_size)))
        elif kind in (HEARTBEAT, HEARTBEAT_V2):
            yield Idle(self._position(self._end) if event.end and not self._in_transaction else None)
        elif kind == FORMAT_DESCRIPTION:
            self._checksum_size = checksum_size(event)
            yield self._start_file(event)
        else:
            self._refuse(event, position)

    def _rotate(self, event: RawEvent) -> Iterator[IncompleteTransaction]:
        """Go on with a new file.

        A server that has started again gives its tables new numbers. A transaction never continues in another file, so one
        without an end was cut off by a crash.
        """
        self._file, self._end = next_file(event)
        self._tables.clear()
        cut_off, self._transaction = self._transaction, Transaction(bound=self._max_buffered_bytes)
        self._in_transaction = False
        if cut_off.tables:
            yield IncompleteTransaction(self._position(self._end), frozenset(cut_off.tables))

    def _start_transaction(self, event: RawEvent, position: LogPosition) -> None:
        body = event.body(self._checksum_size)
        try:
            self._gtid = gtid_of(event, body)
        except InvalidInput as error:
            raise Rejected(f"{_location(position)}: {error}") from error
        self._transaction.begin = position
        # MySQL writes a BEGIN behind the GTID; MariaDB does not.
        mariadb = event.type == MARIADB_GTID
        self._in_transaction = mariadb and not mariadb_flags(body) & STANDALONE
        self._is_effective = not mariadb or not is_alter_unfinished(body)

    def _advance(self, event: RawEvent) -> int:
        """Return the offset where an event begins, and note where it ends."""
        if not event.end:
            return self._end
        end = self._end - self._end % _OFFSET_RANGE + event.end
        if end < self._end:  # the 32 bits have overflowed
            end += _OFFSET_RANGE
        self._end = end
        return end - event.size

    def _position(self, offset: int) -> LogPosition:
        return LogPosition(self._epoch, self._file, offset)

    def _rows(self, event: RawEvent, position: LogPosition) -> tuple[RowEvent, ...]:
        body = event.body(self._checksum_size)
        table_id = table_id_of(body)
        if table_id is None:
            return ()
        if table_id not in self._tables.by_id:
            raise Rejected(f"{_location(position)}: rows of a table that the log has not described; start at a transaction")
        table = self._tables.by_id[table_id]
        if not table:
            return ()
        name, decode = self._decoding(event, position, table, body)
        rolled_back = self._committed_transactions.get(self._transaction_begin(position))
        if rolled_back is None:
            self._transaction.add(position, name, event.size, decode)
        elif not is_rolled_back(position.offset, rolled_back):
            return (decode(),)
        return ()

    def _transaction_begin(self, position: LogPosition) -> LogPosition:
        """Return where the transaction begins: at `position` if no earlier event has said so."""
        self._transaction.begin = self._transaction.begin or position
        return self._transaction.begin

    def _decoding(
        self, event: RawEvent, position: LogPosition, table: tuple[str, Structure] | UnreadableTable, body: bytes
    ) -> tuple[tuple[str, str], Decode]:
        """Return the database and the table of an event, and the function that reads its rows once they count."""
        cascades_logged = not self.dialect.mariadb and are_cascades_logged(body)
        if isinstance(table, UnreadableTable):
            name = table.database, table.table
            return name, partial(
                UnreadableRows, position, event.timestamp, *name, "structure", table.reason, cascades_logged
            )
        database, structure = table
        # The function gets the body and not the event, which has its bytes several times.
        return (database, structure.table), partial(
            decode_rows, event.type, event.timestamp, position, database, structure, body, cascades_logged
        )

    def _query(self, event: RawEvent, position: LogPosition) -> Iterator[LogEvent]:
        logged = self._statement(event, position, QUERY_HEADER)
        word = logged.text[:9].upper()
        xa = XA_STATEMENT.fullmatch(logged.text)
        if xa:
            yield from self._xa(event, position, *xa.groups())
        elif word == "BEGIN":
            self._in_transaction = True
            self._transaction_begin(position)
        elif word in ("COMMIT", "ROLLBACK"):
            yield from self._commit(event, rolled_back=word == "ROLLBACK")
        else:
            apply_savepoint(logged, self._transaction)
            if self._is_effective:
                yield logged
            if not self._in_transaction:
                yield from self._commit(event)

    def _xa(self, event: RawEvent, position: LogPosition, verb: str, xid: str, one_phase: str | None) -> Iterator[LogEvent]:
        """Follow a statement of XA. MariaDB writes no XA START: its GTID event says that an XA transaction begins."""
        verb = verb.upper()
        if verb in ("START", "BEGIN"):
            self._in_transaction = True
            self._transaction_begin(position)
        elif verb != "END":
            ended = XaStep(xid, "committed" if verb == "COMMIT" else "rolled back")
            yield from self._commit(event, None if one_phase else ended)

    def _statement(self, event: RawEvent, position: LogPosition, header: int) -> Statement:
        database, text, sql_mode = statement(event.body(self._checksum_size), header, self.dialect.charsets)
        return Statement(position, event.timestamp, database, text, Grammar(sql_mode, self.dialect.lower_names))

    def _start_file(self, event: RawEvent) -> LogFileStarted:
        """Return the fingerprint of a file.

        The server sends the event with the time, the server and the version of the file's beginning wherever reading starts.
        """
        version = event.body(self._checksum_size)[_SERVER_VERSION].rstrip(b"\0").decode(errors="replace")
        return LogFileStarted(self._position(_FIRST_EVENT), f"{event.timestamp}/{event.server_id}/{version}")

    def _commit(
        self, event: RawEvent, two_phase: XaStep | None = None, rolled_back: bool = False
    ) -> Iterator[RowEvent | Committed]:
        """End the transaction. Its rows come first, unless they were rolled back or it is still open whether they count."""
        ended, self._transaction = self._transaction, Transaction(bound=self._max_buffered_bytes)
        self._in_transaction = False
        rows = ended.rows
        is_prepared = two_phase is not None and two_phase.step == "prepared"
        keeps = is_prepared or (rows is None and not rolled_back)
        if not keeps and not rolled_back:
            yield from decoded(rows or ())
        self._tables.clear_if_full()
        yield Committed(
            self._position(self._end), event.timestamp, self._gtid, two_phase, ended.unfinished if keeps else None
        )

    def _refuse(self, event: RawEvent, position: LogPosition) -> None:
        if event.type in COMPRESSED:
            raise Rejected(
                f"{_location(position)}: the log is compressed; run: SET GLOBAL log_bin_compress = OFF (MariaDB), or SET "
                "GLOBAL binlog_transaction_compression = OFF (MySQL), let all sessions connect again, and start with "
                f"--epoch {self._epoch + 1}"
            )
        if not event.flags & IGNORABLE:
            raise Rejected(
                f"{_location(position)}: an event of the unknown kind {event.type}, which may hold rows: update Onefold"
            )


def _location(position: LogPosition) -> str:
    return f"{position.file}, {position.offset}"
