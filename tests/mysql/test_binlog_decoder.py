"""Events decoded without a server: bytes and headers as MySQL and MariaDB write them."""

from __future__ import annotations

import struct
import zlib
from dataclasses import replace

import pytest
from support.binlog_events import (
    DIALECT,
    GB,
    SIMPLE,
    UUID,
    XID,
    event,
    field,
    gtid_body,
    insert,
    rotate,
    rows_of,
    started,
    table_map,
    xa_prepare,
)

from onefold.core.errors import InvalidInput, Rejected
from onefold.mysql.binlog import logged_tables
from onefold.mysql.binlog.decoder import LogDecoder
from onefold.mysql.binlog.events import (
    Committed,
    Idle,
    LogFileStarted,
    LogPosition,
    RowsChanged,
    Statement,
    UnreadableRows,
    XaStep,
    file_number,
)
from onefold.mysql.binlog.raw_event import RawEvent, raw_event
from onefold.mysql.table_filter import TableFilter


def test_rows_have_the_position_where_their_event_begins() -> None:
    decoder = started()
    assert list(decoder.read(event(19, end=200, body=SIMPLE))) == []
    (change,) = rows_of(decoder, event(30, end=260, size=60, body=insert(-5)))
    assert change.position == LogPosition(3, "bin.000007", 200)
    assert (change.database, change.structure.table, change.structure.primary_key, change.after) == (
        "shop",
        "t",
        ("id",),
        ((-5,),),
    )
    assert change.position.sequence(10) == "3/7/C8/A"
    assert change.position.sequence() == "3/7/C8"


@pytest.mark.parametrize(("flags", "logged"), [(0x11, True), (0x12, True), (0x01, False), (0x0F, False), (0xFFEF, False)])
def test_rows_say_whether_cascaded_changes_are_in_the_log(flags: int, logged: bool) -> None:
    """STMT_END_F is 1, NO_FOREIGN_KEY_CHECKS_F 2, USE_SQL_FOREIGN_KEY_F 16: as a real server of MySQL 9.7 writes them."""
    flagged = struct.pack("<H", flags)
    unnamed = table_map(b"\x03", b"", b"", table_id=8)  # the columns have no names
    for mariadb in (False, True):
        decoder = LogDecoder(replace(DIALECT, mariadb=mariadb), TableFilter(), epoch=3)
        events = [rotate("bin.000007"), event(19, end=200, body=SIMPLE), event(19, end=250, body=unnamed)]
        for at, body in enumerate((insert(1), insert(1)[:-1], insert(1, table_id=8))):
            events.append(event(30, end=300 + 50 * at, body=body[:6] + flagged + body[8:]))
        found = [decoded for one in (*events, XID) for decoded in decoder.read(one)][:3]
        assert [type(decoded) for decoded in found] == [RowsChanged, UnreadableRows, UnreadableRows]
        flags_read = [decoded.cascades_logged for decoded in found if isinstance(decoded, RowsChanged | UnreadableRows)]
        assert flags_read == [logged and not mariadb] * 3


def test_the_old_form_of_row_events_is_read_too() -> None:
    decoder = started()
    list(decoder.read(event(19, end=200, body=SIMPLE)))
    (change,) = rows_of(decoder, event(23, end=260, body=insert(1, form=23)))
    assert change.after == ((1,),)


def test_positions_continue_beyond_the_32_bits_of_the_header() -> None:
    decoder = started()
    ends = [1 * GB, 3 * GB, 4 * GB + 100, 6 * GB, 8 * GB + 1, 9 * GB]
    places = []
    for end in ends:
        list(decoder.read(event(19, end=end - 60, body=SIMPLE)))
        (change,) = rows_of(decoder, event(30, end=end, size=60, body=insert(1)))
        places.append(change.position.offset)
    assert places == [end - 60 for end in ends]
    list(decoder.read(rotate("bin.000008")))
    list(decoder.read(event(19, end=100, body=SIMPLE)))
    (change,) = rows_of(decoder, event(30, end=160, size=60, body=insert(1)))
    assert change.position == LogPosition(3, "bin.000008", 100)


def test_a_transaction_of_mysql_ends_with_its_commit() -> None:
    decoder = started()
    events = [
        event(33, end=100, body=gtid_body(7)), event(2, end=150, query="BEGIN"), event(2, end=170, query="SAVEPOINT a"),
        event(16, end=200), event(33, end=220, body=gtid_body(8)), event(2, end=300, query="ALTER TABLE t ADD c INT"),
    ]  # fmt: skip
    found = [decoded for one in events for decoded in decoder.read(one)]
    assert [type(decoded) for decoded in found] == [Statement, Committed, Statement, Committed]
    assert found[1] == Committed(LogPosition(3, "bin.000007", 200), 1_700_000_000, f"{UUID}:7")
    assert found[3] == Committed(LogPosition(3, "bin.000007", 300), 1_700_000_000, f"{UUID}:8")


def test_a_transaction_has_no_gtid_but_its_own() -> None:
    decoder = started()
    tagged = bytes.fromhex("02 40 00 00 00 02" + "02" * 16 + "04 0c 06 06 746167")
    events = [
        event(33, end=100, body=gtid_body(7)), event(16, end=200), event(34, end=300), event(16, end=400),
        event(42, end=500, body=tagged), event(16, end=600), event(34, end=700), event(2, end=800, query="DROP TABLE t"),
    ]  # fmt: skip
    found = [decoded.gtid for one in events for decoded in decoder.read(one) if isinstance(decoded, Committed)]
    assert found == [f"{UUID}:7", None, "01010101-0101-0101-0101-010101010101:tag:3", None]


@pytest.mark.parametrize("checksum", [b"", None])
def test_a_file_is_read_with_the_checksums_that_it_says(checksum: bytes | None) -> None:
    """The first event has its checksum, or none, before anything tells; the second one always has one, and tells."""

    def summed(one: RawEvent) -> RawEvent:
        return raw_event(one.packet + (zlib.crc32(one.packet[1:]).to_bytes(4, "little") if checksum is None else checksum))

    decoder = LogDecoder(DIALECT, TableFilter(), epoch=3)
    algorithm = b"\1" if checksum is None else b"\0"
    described = struct.pack("<H50sIB", 4, b"9.7.4", 0, 19) + bytes(41) + algorithm + b"\xaa" * 4
    found = [*decoder.read(summed(rotate("bin.000007"))), *decoder.read(event(15, end=126, body=described))]
    assert found == [LogFileStarted(LogPosition(3, "bin.000007", 4), "1700000000/1/9.7.4")]
    (statement,) = list(decoder.read(summed(event(2, end=200, query="DROP TABLE t"))))[:1]
    assert isinstance(statement, Statement)
    assert statement.text == "DROP TABLE t"


def test_the_gtid_of_mariadb_names_the_server_that_wrote_the_event() -> None:
    decoder = started()
    begun = struct.pack("<QIB", 7, 5, 0)
    found = [one for each in (event(162, end=100, body=begun), event(16, end=200)) for one in decoder.read(each)]
    assert found == [Committed(LogPosition(3, "bin.000007", 200), 1_700_000_000, "5-1-7")]


def test_a_tagged_gtid_of_an_unknown_form_is_refused_with_its_position() -> None:
    with pytest.raises(Rejected, match=r"bin\.000007, 450: .* has the form 2, expected 1: update Onefold"):
        list(started().read(event(42, end=500, body=b"\4")))


NAME = "X'6162',X'ff',1"


@pytest.mark.parametrize(
    ("verb", "step"), [("COMMIT", XaStep(NAME, "committed")), ("ROLLBACK", XaStep(NAME, "rolled back"))]
)
def test_both_steps_of_an_xa_transaction_of_mysql_have_the_same_identifier(verb: str, step: XaStep) -> None:
    decoder = started()
    events = [
        event(2, end=150, query=f"XA START {NAME}"), event(2, end=170, query=f"XA END {NAME}"), event(27, end=170),
        event(38, end=200, body=xa_prepare(False)), event(2, end=300, query=f"XA {verb} {NAME}"), event(27, end=300),
    ]  # fmt: skip
    found = [decoded for one in events for decoded in decoder.read(one)]
    assert [(decoded.position.offset if decoded.position else None) for decoded in found] == [None, 200, 300, 300]
    steps = [decoded.two_phase for decoded in found if isinstance(decoded, Committed)]
    assert steps == [XaStep(NAME, "prepared"), step]


@pytest.mark.parametrize(
    "last",
    [event(38, end=200, body=xa_prepare(True)), event(2, end=200, query=f"XA COMMIT {NAME} ONE PHASE")],
    ids=["event", "text"],
)
def test_an_xa_transaction_in_one_phase_is_an_ordinary_transaction(last: RawEvent) -> None:
    decoder = started()
    list(decoder.read(event(2, end=150, query=f"XA START {NAME}")))
    assert list(decoder.read(last)) == [Committed(LogPosition(3, "bin.000007", 200), 1_700_000_000)]


def test_a_heartbeat_is_idle_and_leaves_the_position() -> None:
    decoder = started()
    list(decoder.read(event(16, end=500)))
    assert list(decoder.read(event(27, end=0))) == [Idle()]
    (committed,) = decoder.read(event(16, end=600))
    assert committed == Committed(LogPosition(3, "bin.000007", 600), 1_700_000_000)


@pytest.mark.parametrize("kind", [40, 165, 166, 167, 168, 169, 170, 171])
def test_compressed_events_are_refused_with_a_remedy(kind: int) -> None:
    with pytest.raises(Rejected, match=r"bin\.000007, 450: .*SET GLOBAL binlog_transaction_compression = OFF"):
        list(started().read(event(kind, end=500)))


def test_an_event_of_an_unknown_type_is_refused_unless_its_flag_says_ignorable() -> None:
    with pytest.raises(Rejected, match="unknown kind 99"):
        list(started().read(event(99, end=500)))
    assert list(started().read(event(99, end=500, flags=0x80))) == []
    assert list(started().read(event(34, end=500))) == []


def test_rows_of_a_table_that_was_not_described_are_refused() -> None:
    with pytest.raises(Rejected, match="not described"):
        list(started().read(event(30, end=500, body=insert(1))))


def test_rows_of_excluded_tables_are_skipped_even_if_unreadable() -> None:
    decoder = started(TableFilter((), ("shop.*",)))
    assert list(decoder.read(event(19, end=200, body=table_map(b"\x8c", b"\0\0", b"")))) == []
    assert list(decoder.read(event(30, end=300, body=insert(1)))) == []


def test_a_sequence_is_not_captured() -> None:
    names = (
        b"next_not_cached_value", b"minimum_value", b"maximum_value", b"start_value", b"increment", b"cache_size",
        b"cycle_option", b"cycle_count",
    )  # fmt: skip
    named = b"".join(bytes([len(name)]) + name for name in names)
    decoder = started()
    types, signs = bytes([8, 8, 8, 8, 8, 8, 1, 8]), field(1, b"\x06")
    assert list(decoder.read(event(19, end=200, body=table_map(types, b"", signs + field(4, named))))) == []
    assert list(decoder.read(event(30, end=300, body=insert(1)))) == []


def test_table_numbers_are_dropped_only_between_transactions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logged_tables, "_MAX_TABLE_IDS", 1)
    decoder = started()
    list(decoder.read(event(2, end=100, query="BEGIN")))
    for number in (9, 10):
        description = table_map(b"\x03", b"", field(1, b"\x00") + field(4, b"\x02id"), number)
        list(decoder.read(event(19, end=200, body=description)))
    assert len(rows_of(decoder, *(event(30, end=300, body=insert(1, number)) for number in (9, 10)))) == 2
    with pytest.raises(Rejected):
        list(decoder.read(event(30, end=500, body=insert(1))))


def test_databases_with_the_same_table_share_its_structure() -> None:
    decoder = started()
    found: list[RowsChanged] = []
    for body in (SIMPLE, SIMPLE.replace(b"shop", b"crm2")):
        list(decoder.read(event(19, end=200, body=body)))
        (change,) = rows_of(decoder, event(30, end=300, body=insert(1)))
        found.append(change)
    one, other = found
    assert (one.database, other.database) == ("shop", "crm2")
    assert one.structure is other.structure


"""Numbers of collations."""


def test_a_new_file_drops_all_table_numbers() -> None:
    decoder = started()
    list(decoder.read(event(19, end=200, body=SIMPLE)))
    list(decoder.read(rotate("bin.000008")))
    with pytest.raises(Rejected):
        list(decoder.read(event(30, end=300, body=insert(1))))


@pytest.mark.parametrize("name", ["mysql-bin", "", "mysql-bin.", "mysql-bin.x1"])
def test_a_file_of_a_log_has_a_number(name: str) -> None:
    with pytest.raises(InvalidInput):
        file_number(name)
    assert file_number("a.b-bin.1000000") == 1_000_000


def test_the_fingerprint_of_a_file_has_its_time_and_server() -> None:
    decoder = started()
    version = b"\4\0" + b"10.11.6-MariaDB".ljust(50, b"\0")
    begun = event(15, body=version + bytes(5))._replace(server_id=77)
    assert list(decoder.read(begun)) == [LogFileStarted(LogPosition(3, "bin.000007", 4), "1700000000/77/10.11.6-MariaDB")]


def test_a_heartbeat_has_the_end_of_the_log_except_within_a_transaction() -> None:
    decoder = started()
    assert list(decoder.read(event(27, end=500))) == [Idle(LogPosition(3, "bin.000007", 500))]
    list(decoder.read(event(2, end=600, query="BEGIN")))
    assert list(decoder.read(event(27, end=600))) == [Idle()]
