"""Sets of GTIDs, read, written and subtracted as the server does; GTIDs with tags, from the log to the checkpoint."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.capture import Bench, bench_of
from support.database_servers import MariaDb, MySql
from support.source_database import SourceDatabase, end_of_log, on

from onefold.capture.checkpoint import Progress
from onefold.capture.source import CapturedSource
from onefold.core.errors import InvalidInput
from onefold.mysql.binlog.events import Committed, Gtid, LogPosition, RowsChanged
from onefold.mysql.binlog.stream import follow
from onefold.mysql.connection import Address, connect, lost_on, query
from onefold.mysql.gtid import GtidSet, lost, read_executed
from onefold.mysql.gtid_encoding import encode_executed, tagged_gtid
from onefold.mysql.table_filter import TableFilter

CREATE = "CREATE TABLE t (id INT PRIMARY KEY)"
A, B = "aaaaaaaa-80ff-81c0-bf7f-ffffffffffff", "00000000-0000-0000-0000-00000000007f"
LONGEST = "_" + "x" * 31
GREATEST = 2**63 - 2
"""The server's greatest number of a transaction."""
_server_ids = itertools.count(60_000)
_uuids = itertools.count(0xFEDCBA00)


# Text.


@pytest.mark.parametrize(
    ("text", "then"),
    [
        ("a:1-5:tag:1-3:7", "a:1-5,a:tag:1-3:7"),
        ("a:tag:1:other:2-3:tag:2", "a:tag:1-2,a:other:2-3"),
        ("a:tag:1,b:1,a:7,\nA:TAG:2", "a:tag:1-2,b:1,a:7"),
        (" a: 1-3 : tag:1 ", "a:1-3,a:tag:1"),
        (f"a:{LONGEST}:1", f"a:{LONGEST}:1"),
    ],
)
def test_a_tag_applies_to_all_ranges_behind_it(text: str, then: str) -> None:
    assert str(read_executed(text)) == then
    assert read_executed(then) == read_executed(text)


@pytest.mark.parametrize(
    "text", ["a:tag", "a:1:tag", "a:5-3", "a:0-1", "a:1tag:1", "a:t-g:1", "a:x" + LONGEST + ":1", "a::1"]
)
def test_invalid_sets_with_tags_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="expected a set of GTIDs"):
        read_executed(text)


@pytest.mark.parametrize(
    ("executed", "logged", "applied", "missing"),
    [
        ("0-1-9", "0-1-9", "", ""),
        ("0-1-9", "0-1-10,0-2-3", "", ""),
        ("0-1-9", "0-1-8", "", "0-1-9"),
        ("0-1-9", "0-1-8,0-2-9", "", "0-1-9"),
        ("0-1-9", "0-1-8,0-2-12", "", "0-1-9"),
        ("0-1-9", "1-1-9", "", "0-1-9"),
        ("0-1-9,1-1-4,2-3-5", "0-1-9,1-1-3,2-3-6", "", "1-1-4"),
        ("0-1-9", "", "0-1-9", ""),
        ("0-1-9", "0-2-11", "0-1-9,1-1-1", ""),
        ("0-1-9", "0-2-11", "0-1-10", "0-1-9"),
        ("0-1-9", "", "", "0-1-9"),
        ("0-1-9", "a:1-9", "", "0-1-9"),
        ("a:1-9", "0-1-9", "", "a:1-9"),
        ("", "0-1-9", "", ""),
    ],
)
def test_a_domain_is_lost_without_the_number_of_the_same_server(
    executed: str, logged: str, applied: str, missing: str
) -> None:
    assert str(lost(read_executed(executed), logged, applied)) == missing


TEXTS = st.lists(
    st.tuples(
        st.sampled_from((A, B)),
        st.lists(
            st.tuples(st.sampled_from(("", "tag:", "Other_1:")), st.integers(1, 9), st.integers(0, 4)),
            min_size=1,
            max_size=4,
        ),
    ),
    max_size=4,
).map(
    lambda sets: ",".join(
        f"{server}:" + ":".join(f"{tag}{first}-{first + more}" for tag, first, more in ranges) for server, ranges in sets
    )
)


@on(MySql)
@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(TEXTS, TEXTS)
def test_sets_are_read_and_subtracted_as_the_server_does_it(source: SourceDatabase, executed: str, logged: str) -> None:
    ((whole, left),) = query(
        source.connection, "SELECT GTID_SUBTRACT(%s, ''), GTID_SUBTRACT(%s, %s)", (executed, executed, logged)
    )
    assert read_executed(executed) == read_executed(whole)
    assert lost(read_executed(executed), logged) == read_executed(left)


@on(MariaDb, MySql)
def test_the_user_of_capture_may_ask_what_the_server_has(source: SourceDatabase) -> None:
    source.run(
        f"CREATE USER {source.name}@'127.0.0.1' IDENTIFIED BY 'x'",
        f"GRANT SELECT, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO {source.name}@'127.0.0.1'",
        CREATE,
    )
    asked = CapturedSource(Address("127.0.0.1", source.server.port, source.name, "x"), TableFilter(), next(_server_ids))
    executed = read_executed(source.executed())
    assert (asked.log_end(1).executed, asked.lost(executed)) == (executed, GtidSet())
    assert str(asked.lost(read_executed("7-7-7"))) == "7-7-7"


# Bytes.


def commit_various_gtids(source: SourceDatabase) -> None:
    """Commit transactions whose GTIDs have integers of one byte to nine, and tags of one letter to 32."""
    source.run(CREATE)
    numbers = itertools.count()
    for tag in ("t", LONGEST, "Tag"):
        source.run(f"SET gtid_next = 'AUTOMATIC:{tag}'", f"INSERT INTO t VALUES ({next(numbers)})")
    # A server passes over a transaction whose GTID it has executed.
    for server in (f"{next(_uuids):08x}{A[8:]}", f"{next(_uuids):08x}{B[8:]}"):
        for bits in (0, 5, 6, 7, 13, 20, 34, 48, 55, 56, 62):
            source.run(
                f"SET gtid_next = '{server}:big:{min(1 << bits, GREATEST)}'", f"INSERT INTO t VALUES ({next(numbers)})"
            )
        source.run(f"SET gtid_next = '{server}:{LONGEST}:{GREATEST}'", f"INSERT INTO t VALUES ({next(numbers)})")
    source.run("SET gtid_next = 'AUTOMATIC'", f"INSERT INTO t VALUES ({next(numbers)})")


@on(MySql)
def test_every_tagged_transaction_is_read_from_the_log(source: SourceDatabase) -> None:
    before = read_executed(source.executed())
    commit_various_gtids(source)
    events = [event for event in source.log() if isinstance(event, Committed)]
    executed = before
    for event in events:
        assert event.gtid
        assert not lost_on(source.connection, read_executed(event.gtid))
        executed = executed.plus(event.gtid)
    assert executed == read_executed(source.executed())
    assert len({event.gtid for event in events}) == len(events) == 1 + 3 + 2 * 12 + 1


@on(MySql)
def test_reading_continues_behind_tagged_transactions(source: SourceDatabase) -> None:
    commit_various_gtids(source)
    at = Gtid(1, read_executed(source.executed()))
    source.run("SET gtid_next = 'AUTOMATIC:t'", "INSERT INTO t VALUES (1000)", "SET gtid_next = 'AUTOMATIC'")
    source.run("INSERT INTO t VALUES (1001)")
    events = follow(source.server.address, at, TableFilter((source.name,)), next(_server_ids), blocking=False)
    assert [event.after for event in events if isinstance(event, RowsChanged)] == [((1000,),), ((1001,),)]


@on(MySql)
def test_sets_are_encoded_as_the_server_writes_them_into_its_log(source: SourceDatabase) -> None:
    for tag in ("", ":tag"):
        source.run(CREATE.replace(" t ", f" t{len(tag)} "), f"SET gtid_next = 'AUTOMATIC{tag}'")
        source.run(f"INSERT INTO t{len(tag)} VALUES (1)", "SET gtid_next = 'AUTOMATIC'", "FLUSH BINARY LOGS")
        file = end_of_log(source.connection).file
        written = (source.server.data / file).read_bytes()
        assert encode_executed(in_order(read_executed(source.executed()))) in written


def in_order(executed: GtidSet) -> GtidSet:
    """Return a set with its servers in order, as the server writes them."""
    return GtidSet(servers=dict(sorted(executed.servers.items())))


def test_a_set_without_tags_is_encoded_for_older_servers_too() -> None:
    found = encode_executed(read_executed(f"{B}:1-5:9"))
    numbers = (1, 6, 9, 10)
    expected = [(1).to_bytes(8, "little"), bytes(15), b"\x7f", (2).to_bytes(8, "little")]
    assert found == b"".join((*expected, *(number.to_bytes(8, "little") for number in numbers)))


EVENT = bytes.fromhex("02 40 00 00 00 02" + "02" * 16 + "04 04 06 06 746167 08 08")


def test_an_event_of_a_tagged_transaction_is_read() -> None:
    assert tagged_gtid(EVENT) == "01010101-0101-0101-0101-010101010101:tag:1"


@pytest.mark.parametrize("size", range(1, 29))
def test_an_event_that_ends_too_early_is_refused(size: int) -> None:
    with pytest.raises(InvalidInput, match="ends too early"):
        tagged_gtid(EVENT[:size])


@pytest.mark.parametrize(("index", "byte"), [(0, 4), (3, 2), (5, 4), (22, 8), (24, 8)])
def test_an_event_of_another_form_is_refused(index: int, byte: int) -> None:
    with pytest.raises(InvalidInput, match="update Onefold"):
        tagged_gtid(EVENT[:index] + bytes([byte]) + EVENT[index + 1 :])


# In the checkpoint.


@on(MariaDb, MySql)
def test_the_checkpoint_has_all_that_was_executed(source: SourceDatabase, tmp_path: Path) -> None:
    """From the log's end, from a position within a file, and behind GTIDs."""
    source.run(CREATE)
    tag(source, "INSERT INTO t VALUES (1)")
    middle, executed = end_of_log(source.connection), source.executed()
    tag(source, "INSERT INTO t VALUES (2)", "INSERT INTO t VALUES (3)")
    starts = (None, Progress(middle), Progress(executed=read_executed(executed)))
    benches = [bench_of(source, tmp_path / str(number)) for number in range(len(starts))]
    for bench, start, rows in zip(benches, starts, (0, 2, 2), strict=True):
        assert len(bench.once(start=start)) == rows
        check_executed(bench, source)
    tag(source, "INSERT INTO t VALUES (4)")
    for bench in benches:
        bench.once()
        check_executed(bench, source)


@on(MariaDb, MySql)
@pytest.mark.parametrize(("pause", "looks"), [(0.005, 20), (0.0, 5)], ids=["short pauses", "no pauses"])
def test_the_end_of_the_log_has_exactly_the_transactions_executed_before_it(
    source: SourceDatabase, pause: float, looks: int
) -> None:
    """While sessions write without a pause, some looks read the log file from its beginning: five looks suffice.

    Args:
        pause: seconds that each session waits before each of its transactions.
        looks: how often the end of the log is read.
    """
    source.run(CREATE, "FLUSH BINARY LOGS")
    asked = CapturedSource(source.server.address, TableFilter(), next(_server_ids))
    with concurrent_writes(source, pause):
        ends = [asked.log_end(1) for _ in range(looks)]
        while len({end.position for end in ends}) == 1:  # on a busy machine the writers may not have begun
            ends.append(asked.log_end(1))
    quiet = asked.log_end(1)
    for end in (*ends, quiet):
        assert end.position
        assert end.executed == before(source, end.position)


def before(source: SourceDatabase, position: LogPosition) -> GtidSet:
    """Return the transactions executed before a position, as the server itself shows its log."""
    if source.on_mariadb:
        return read_executed(source.rows(f"SELECT BINLOG_GTID_POS('{position.file}', {position.offset})")[0][0])
    executed = GtidSet()
    for _, offset, kind, _, _, text in source.rows(f"SHOW BINLOG EVENTS IN '{position.file}'"):
        if kind == "Previous_gtids":
            executed = read_executed(text)
        elif kind.startswith("Gtid") and offset < position.offset:
            executed = executed.plus(text.split("'")[1])
    return executed


@contextmanager
def concurrent_writes(source: SourceDatabase, pause: float) -> Iterator[None]:
    """Write transactions by four sessions until the block ends, with a pause in seconds before each transaction."""
    numbers, stop = itertools.count(1), threading.Event()

    def write() -> None:
        with closing(connect(source.server.address)) as connection:
            while not stop.wait(pause):
                query(connection, f"INSERT INTO {source.name}.t VALUES ({next(numbers)})")

    with ThreadPoolExecutor(4) as workers:
        writers = [workers.submit(write) for _ in range(4)]
        try:
            yield
        finally:
            stop.set()
        for writer in writers:
            writer.result()


def tag(source: SourceDatabase, *statements: str) -> None:
    for statement in statements:
        if source.on_mariadb:
            source.run(statement)
        else:
            source.run("SET gtid_next = 'AUTOMATIC:tag'", statement, "SET gtid_next = 'AUTOMATIC'")


def check_executed(bench: Bench, source: SourceDatabase) -> None:
    assert read_executed(bench.checkpoint()["executed"]) == read_executed(source.executed())
