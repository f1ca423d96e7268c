"""From the raw events of a log to what they say: the state that events share is kept here, and nothing is connected to."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from onefold.core.errors import InvalidInput, Rejected
from onefold.mysql.binlog.events import (
    Committed,
    Decode,
    Idle,
    IncompleteTransaction,
    LogEvent,
    LogFileStarted,
    LogPosition,
    RowEvent,
    RowsChanged,
    Statement,
    UnreadableRows,
    RolledBack,
    XaStep,
)
from onefold.mysql.binlog.query_text import statement
from onefold.mysql.binlog.rows import read_rows, readers_of, settled
from onefold.mysql.binlog.table_map import names_in, parse_table_map
from onefold.mysql.binlog.transactions import MAX_BUFFERED_BYTES, Transaction, decoded, is_void
from onefold.mysql.charsets import Dialect
from onefold.mysql.ddl.tokens import Grammar, words
from onefold.mysql.gtid_encoding import tagged_gtid
from onefold.mysql.table import Structure, is_sequence
from onefold.mysql.table_filter import TableFilter

# The server's numbers of events.
_QUERY, _ROTATE, _FORMAT, _XID, _EXECUTE_LOAD, _TABLE_MAP, _HEARTBEAT, _GTID, _XA_PREPARE = 2, 4, 15, 16, 18, 19, 27, 33, 38
_ANONYMOUS_GTID, _TAGGED_GTID, _MARIADB_GTID = 34, 42, 162
_WRITES, _UPDATES, _DELETES = (23, 30), (24, 31), (25, 32)
_NEW_FORMS = (30, 31, 32)
_PARTIAL_UPDATE = 39
_HEARTBEAT_2 = 41
_COMPRESSED = (40, *range(165, 172))
_HARMLESS = (36, 37)
"""What group replication tells itself."""
_BEGINNINGS = (_GTID, _ANONYMOUS_GTID, _TAGGED_GTID, _MARIADB_GTID)
"""The first event of a transaction."""

_HEADER = 20
"""A byte that says that all is well, and the header."""
_CHECKSUM = 4
_IGNORABLE = 0x80
_STANDALONE = 1
_GROUP_COMMIT, _OF_XA = 2, 64 | 128
_NOT_DONE = 2 | 8
"""START ALTER and ROLLBACK ALTER (`binlog_alter_two_phase`)."""
_NO_TABLE = 0xFFFFFF
_SQL_FOREIGN_KEYS = 1 << 4
"""`USE_SQL_FOREIGN_KEY_F` of MySQL 9.6 and later: the server, and not InnoDB, followed the foreign keys, so that the rows of
children are events of their own (MySQL's source, libs/mysql/binlog/event/rows_event.h, `Rows_event::enum_flag`, 9.7)."""
_QUERY_HEADER, _LOAD_HEADER = 13, 26
_FIRST_EVENT = 4
"""The place of a file's first event."""
_WRAP = 1 << 32
_KNOWN_TABLES, _KNOWN_DESCRIPTIONS = 10_000, 10_000
"""Each transaction describes its tables; and a server with more of them than it holds open numbers them ever anew."""
_SAVEPOINT = re.compile(r"SAVEPOINT\s|ROLLBACK(\s+WORK)?\s+TO\s", re.IGNORECASE)
_XA = re.compile(r"XA\s+(START|BEGIN|END|COMMIT|ROLLBACK)\s+(\S+)(\s+ONE\s+PHASE)?", re.IGNORECASE)
"""As a server writes it: `XA COMMIT X'61',X'62',1`."""


@dataclass(frozen=True)
class RawEvent:
    """An event as the library hands it over, with the packet in which it came."""

    type: int
    timestamp: int
    end: int
    """Where the next one begins, in 32 bits; zero for one that is not in the log."""
    size: int
    flags: int
    packet: bytes
    parsed: Any
    """The library's own reading, for what is neither a row nor a statement."""


@dataclass(frozen=True)
class _Unreadable:
    """A table whose description cannot be read."""

    database: str
    table: str
    reason: str


# Bytes of another form than the one that is read here. What it is, is a matter of one table.
_NOT_UNDERSTOOD = (LookupError, ValueError, struct.error)


class LogDecoder:
    """Reads one event after the other. Tables that the patterns leave out cost no more than a look at their names.

    The rows of a transaction come when its commit was read.
    """

    def __init__(
        self,
        dialect: Dialect,
        table_filter: TableFilter,
        epoch: int,
        committed: Mapping[LogPosition, RolledBack] | None = None,
        max_buffered_bytes: int = MAX_BUFFERED_BYTES,
    ) -> None:
        """Args:
        committed: transactions that are known to be committed, by where they begin, with what of them is void: their rows
            are not held.
        max_buffered_bytes: the most bytes of the log that are held for one transaction.
        """
        self.dialect = dialect
        self._committed_transactions = committed or {}
        self._max_buffered_bytes = max_buffered_bytes
        self._transaction = Transaction(bound=max_buffered_bytes)
        self._table_filter = table_filter
        self._epoch = epoch
        self._file = ""
        self._end = 0
        self._checksum = 0
        self._gtid: str | None = None
        self._in_transaction = False
        self._done = True
        """Whether the statement that follows is through: MariaDB may log an ALTER when it begins, too."""
        self._tables: dict[int, tuple[str, Structure] | _Unreadable | None] = {}
        self._descriptions: dict[bytes, tuple[str, Structure]] = {}
        self._structures: dict[Structure, Structure] = {}
        """One for the same table of all databases."""

    def read(self, event: RawEvent) -> Iterator[LogEvent]:
        """What an event says. A table that cannot be read gives `UnreadableRows`, at the commit like rows.

        Raises:
            Rejected: the log is written in a way that cannot be read.
        """
        kind = event.type
        if kind == _ROTATE:
            yield from self._rotate(event)
            return
        position = self._advance(event)
        if kind == _TABLE_MAP:
            self._map(event)
        elif kind in _WRITES or kind in _UPDATES or kind in _DELETES or kind == _PARTIAL_UPDATE:
            yield from self._rows(event, position)
        elif kind == _QUERY:
            yield from self._query(event, position)
        elif kind == _EXECUTE_LOAD:
            yield self._load(event, position)
        elif kind in (_XID, _XA_PREPARE):
            yield from self._committed(event, _prepared(event.parsed) if kind == _XA_PREPARE else None)
        elif kind in (_HEARTBEAT, _HEARTBEAT_2):
            yield Idle(self._position(self._end) if event.end and not self._in_transaction else None)
        elif kind == _FORMAT:
            self._checksum = _CHECKSUM if event.parsed.checksum_algorithm == 1 else 0
            yield self._begun(event)
        elif kind in _BEGINNINGS:
            self._gtid = self._gtid_of(event, position)
            # MariaDB writes no BEGIN; MySQL does.
            self._in_transaction = kind == _MARIADB_GTID and not event.parsed.flags & _STANDALONE
            self._done = kind != _MARIADB_GTID or not _alter_flags(self._body(event)) & _NOT_DONE
        else:
            self._refuse(event, position)

    def _rotate(self, event: RawEvent) -> Iterator[IncompleteTransaction]:
        """A new file. After a restart the server numbers tables anew; a transaction does not go on in another file."""
        self._file, self._end = event.parsed.next_binlog, event.parsed.position
        self._tables.clear()
        left, self._transaction = self._transaction, Transaction(bound=self._max_buffered_bytes)
        self._in_transaction = False
        if left.tables:
            yield IncompleteTransaction(self._position(self._end), frozenset(left.tables))

    def _gtid_of(self, event: RawEvent, position: LogPosition) -> str | None:
        """The identifier of the transaction that begins. The library does not read tagged ones."""
        if event.type == _ANONYMOUS_GTID:
            return None
        if event.type != _TAGGED_GTID:
            return str(event.parsed.gtid)
        try:
            return tagged_gtid(self._body(event))
        except InvalidInput as error:
            raise Rejected(f"{self._at(position)}: {error}") from error

    def _advance(self, event: RawEvent) -> LogPosition:
        """Where an event begins. A large transaction makes a file longer than the 32 bits that tell the place can count."""
        position = self._position_of(event)
        if event.type in _BEGINNINGS:
            self._transaction.begin = position
        return position

    def _position_of(self, event: RawEvent) -> LogPosition:
        if not event.end:
            return self._position(self._end)
        end = self._end - self._end % _WRAP + event.end
        if end < self._end:
            end += _WRAP
        self._end = end
        return self._position(end - event.size)

    def _position(self, offset: int) -> LogPosition:
        return LogPosition(self._epoch, self._file, offset)

    def _body(self, event: RawEvent) -> bytes:
        return event.packet[_HEADER : len(event.packet) - self._checksum]

    def _map(self, event: RawEvent) -> None:
        body = self._body(event)
        table_id, database, table = names_in(body)
        if not self._table_filter.match(database, table):
            self._tables[table_id] = None
            return
        description = body[6:]
        if description not in self._descriptions:
            if len(self._descriptions) >= _KNOWN_DESCRIPTIONS:
                self._descriptions.clear()
                self._structures.clear()
            try:
                structure = parse_table_map(body, self.dialect).structure
            except (InvalidInput, *_NOT_UNDERSTOOD) as error:
                self._tables[table_id] = _Unreadable(database, table, _reason(f"{database}.{table}", error))
                return
            self._descriptions[description] = (database, self._structures.setdefault(structure, structure))
        described = self._descriptions[description]
        self._tables[table_id] = None if is_sequence(described[1]) else described

    def _rows(self, event: RawEvent, position: LogPosition) -> Iterator[RowEvent]:
        body = self._body(event)
        table_id = int.from_bytes(body[:6], "little")
        if table_id == _NO_TABLE:
            return
        if table_id not in self._tables:
            raise Rejected(f"{self._at(position)}: rows of a table that the log has not described; start at a transaction")
        table = self._tables[table_id]
        if not table:
            return
        name, decode = self._decoding(event, position, table, body)
        rolled_back = self._committed_transactions.get(self._begin(position))
        if rolled_back is None:
            self._transaction.add(position, name, event.size, decode)
        elif not is_void(position.offset, rolled_back):
            yield decode()

    def _begin(self, position: LogPosition) -> LogPosition:
        """Return where the transaction begins, which is `place` where nothing has told it."""
        self._transaction.begin = self._transaction.begin or position
        return self._transaction.begin

    def _decoding(
        self, event: RawEvent, position: LogPosition, table: tuple[str, Structure] | _Unreadable, body: bytes
    ) -> tuple[tuple[str, str], Decode]:
        """Return the database and the table of an event, and what reads its rows once they count."""
        logged = not self.dialect.mariadb and bool(int.from_bytes(body[6:8], "little") & _SQL_FOREIGN_KEYS)
        if isinstance(table, _Unreadable):
            name = table.database, table.table
            return name, partial(UnreadableRows, position, event.timestamp, *name, "structure", table.reason, logged)
        database, structure = table
        # Not the event: it keeps its bytes several times.
        return (database, structure.table), partial(
            _read_rows, event.type, event.timestamp, position, database, structure, body, logged
        )

    def _query(self, event: RawEvent, position: LogPosition) -> Iterator[LogEvent]:
        said = self._statement(event, position, _QUERY_HEADER)
        word = said.text[:9].upper()
        xa = _XA.fullmatch(said.text)
        if xa:
            yield from self._xa(event, position, *xa.groups())
        elif word == "BEGIN":
            self._in_transaction = True
            self._begin(position)
        elif word in ("COMMIT", "ROLLBACK"):
            yield from self._committed(event, rolled_back=word == "ROLLBACK")
        else:
            self._savepoint(said)
            if self._done:
                yield said
            if not self._in_transaction:
                yield from self._committed(event)

    def _savepoint(self, said: Statement) -> None:
        """As servers write it: SAVEPOINT `a`, ROLLBACK TO `a`; the quotes are the session's."""
        if _SAVEPOINT.match(said.text):
            first, *_, name = words(said.text, said.grammar)
            if first.key == "SAVEPOINT":
                self._transaction.savepoint(name.text, said.position)
            else:
                self._transaction.rollback_to(name.text, said.position)

    def _xa(self, event: RawEvent, position: LogPosition, verb: str, xid: str, one_phase: str | None) -> Iterator[LogEvent]:
        """MariaDB writes no XA START: it says so where it tells the GTID."""
        verb = verb.upper()
        if verb in ("START", "BEGIN"):
            self._in_transaction = True
            self._begin(position)
        elif verb != "END":
            ended = XaStep(xid, "committed" if verb == "COMMIT" else "rolled back")
            yield from self._committed(event, None if one_phase else ended)

    def _load(self, event: RawEvent, position: LogPosition) -> Statement:
        """As a query, with the place of the file within it before the session's settings."""
        return self._statement(event, position, _LOAD_HEADER)

    def _statement(self, event: RawEvent, position: LogPosition, header: int) -> Statement:
        database, text, sql_mode = statement(self._body(event), header, self.dialect.charsets)
        return Statement(position, event.timestamp, database, text, Grammar(sql_mode, self.dialect.lower_names))

    def _begun(self, event: RawEvent) -> LogFileStarted:
        """The header keeps the time and the server, and the body the server's version, wherever reading starts."""
        server = int.from_bytes(event.packet[6:10], "little")
        version = self._body(event)[2:52].rstrip(b"\0").decode(errors="replace")
        return LogFileStarted(self._position(_FIRST_EVENT), f"{event.timestamp}/{server}/{version}")

    def _committed(
        self, event: RawEvent, two_phase: XaStep | None = None, rolled_back: bool = False
    ) -> Iterator[RowEvent | Committed]:
        """End the transaction: its rows come first, unless nobody knows yet whether they count, or they do not."""
        ended, self._transaction = self._transaction, Transaction(bound=self._max_buffered_bytes)
        self._in_transaction = False
        unfinished = ended.unfinished
        is_prepared = two_phase is not None and two_phase.step == "prepared"
        keeps = is_prepared or (unfinished.rows is None and not rolled_back)
        if not keeps and not rolled_back:
            yield from decoded(unfinished.rows or ())
        if len(self._tables) > _KNOWN_TABLES:
            self._tables.clear()
        yield Committed(self._position(self._end), event.timestamp, self._gtid, two_phase, unfinished if keeps else None)

    def _refuse(self, event: RawEvent, position: LogPosition) -> None:
        if event.type in _COMPRESSED:
            raise Rejected(
                f"{self._at(position)}: the log is compressed; run: SET GLOBAL log_bin_compress = OFF (MariaDB), or SET "
                f"GLOBAL binlog_transaction_compression = OFF (MySQL), {self._anew()}"
            )
        if event.type not in _HARMLESS and not event.flags & _IGNORABLE:
            raise Rejected(f"{self._at(position)}: an event of the unknown kind {event.type}, which may hold rows")

    def _anew(self) -> str:
        return f"let all sessions connect again, and start with --epoch {self._epoch + 1}"

    def _at(self, position: LogPosition) -> str:
        return f"{position.file}, {place.offset}"


def _prepared(event: Any) -> XaStep | None:
    """MySQL tells `XA COMMIT ... ONE PHASE` by the same event."""
    if event.one_phase:
        return None
    return XaStep(f"X'{event.xid_gtrid.hex()}',X'{event.xid_bqual.hex()}',{event.xid_format_id}", "prepared")


def _alter_flags(body: bytes) -> int:
    """Return the extra flags of MariaDB's GTID event, which come after what its flags say is there."""
    flags, at = body[12:13], 13
    if not flags:
        return 0
    at += 8 if flags[0] & _GROUP_COMMIT else 0
    if flags[0] & _OF_XA:
        at += 6 + sum(body[at + 4 : at + 6])
    return body[at] if at < len(body) else 0


def _read_rows(
    kind: int, timestamp: int, position: LogPosition, database: str, structure: Structure, body: bytes, cascades_logged: bool
) -> RowEvent:
    try:
        readers_of(structure)
    except InvalidInput as error:  # text in a character set that cannot be read
        reason = f"{database}.{structure.table}: {'; '.join(error.problems)}"
        return UnreadableRows(position, timestamp, database, structure.table, "structure", reason, cascades_logged)
    try:
        return replace(_changed(kind, timestamp, position, database, structure, body), cascades_logged=cascades_logged)
    except (InvalidInput, *_NOT_UNDERSTOOD) as error:
        reason = _reason(f"{database}.{structure.table}", error)
        return UnreadableRows(position, timestamp, database, structure.table, "rows", reason, cascades_logged)


def _changed(
    kind: int, timestamp: int, position: LogPosition, database: str, structure: Structure, body: bytes
) -> RowsChanged:
    if kind == _PARTIAL_UPDATE:
        raise InvalidInput(
            f"{database}.{structure.table}: the log holds parts of JSON only, which a session wrote with "
            "binlog_row_value_options = PARTIAL_JSON"
        )
    at = 8 + (int.from_bytes(body[8:10], "little") if kind in _NEW_FORMS else 0)
    images = 2 if kind in _UPDATES else 1
    at = _after_bitmaps(f"{database}.{structure.table}", structure, body, at, images)
    rows = read_rows(structure, body, at)
    before = rows[::2] if images == 2 else rows if kind in _DELETES else []
    after = rows[1::2] if images == 2 else [] if kind in _DELETES else rows
    old, new = settled(structure, before), settled(structure, after)
    losses = old.losses if kind in _DELETES else new.losses
    return RowsChanged(position, timestamp, database, structure, old.rows, new.rows, losses)


def _after_bitmaps(table: str, structure: Structure, body: bytes, at: int, images: int) -> int:
    """Each image has a bit for each column that it holds: all of them, or the log is not what it has to be."""
    count = len(structure.columns)
    at += 1 if body[at] < 251 else 3  # a table has at most 4096 columns
    size = (count + 7) // 8
    for _ in range(images):
        if int.from_bytes(body[at : at + size], "little") & (1 << count) - 1 != (1 << count) - 1:
            raise InvalidInput(
                f"{table}: the log does not hold whole rows: a session wrote with another binlog_row_image than FULL"
            )
        at += size
    return at


def _reason(table: str, error: Exception) -> str:
    """What an error says of a table; one of Python's own says no more than that the bytes are of an unknown form."""
    if isinstance(error, InvalidInput):
        return "; ".join(error.problems)
    return f"{table}: the log holds bytes of a form that is not understood ({type(error).__name__}: {error})"
