"""The state that the threads of a capture share: copies, delete scans, dropped tables, and positions of copied rows."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from support.capture_checkpoint import COPY, FULL, POSITION

from onefold.capture.checkpoint import Checkpoint, DeleteScan, Progress
from onefold.capture.epochs import epoch_with_copies
from onefold.capture.state import CaptureState, lowest
from onefold.capture.xa import PreparedTransaction
from onefold.mysql.binlog.events import LogPosition
from onefold.mysql.catalog import TableName
from onefold.mysql.snapshot.chunks import ChunkPosition, TableSnapshot

TABLE, OTHER = TableName("shop", "a"), TableName("shop", "b")


def at(offset: int, epoch: int = 1) -> LogPosition:
    return LogPosition(epoch, "bin.000001", offset)


def prepared(xid: str, offset: int, *tables: TableName) -> PreparedTransaction:
    return PreparedTransaction(xid, at(offset), 1_700_000_000, frozenset(tables or (TABLE,)))


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def test_a_table_has_one_copy_request_as_of_its_last_change() -> None:
    state = CaptureState(Checkpoint("shop-db", "shop"))
    assert state.request_copies([TABLE], POSITION) == [TABLE]
    assert state.request_copies([TABLE], replace(POSITION, offset=9999)) == []
    assert state.checkpoint().copy_requests[0].since.offset == 9999


def test_a_checkpoint_follows_a_copy_from_its_request_to_its_delete_scan() -> None:
    clock = Clock()
    state = CaptureState(Checkpoint("shop-db", "shop"), 60, clock)
    state.request_copies([TABLE], POSITION)
    copy = state.next_copy()
    assert copy
    assert state.next_copy() is None
    assert [one.table for one in state.checkpoint().copy_requests] == [TABLE]
    message = copy.tracker.begin()
    part = TableSnapshot("shop", "a", POSITION, (7,), 10)
    copy.tracker.mark(part)
    assert state.checkpoint().copies == ()
    copy.tracker.confirm(message)
    assert (state.checkpoint().copies, state.checkpoint().copy_requests) == ((part,), ())
    copy.tracker.mark(replace(part, finished=True))
    assert (state.checkpoint().copies, state.counts()) == ((), (0, 0))
    assert state.due_delete_scan() is None
    clock.now += 60
    assert state.due_delete_scan() == DeleteScan(replace(part, finished=True), 1_000_000)


def test_a_table_that_changes_while_it_is_copied_is_copied_again_afterwards() -> None:
    state = CaptureState(Checkpoint("shop-db", "shop"))
    state.request_copies([TABLE], POSITION)
    first = state.next_copy()
    assert state.request_copies([TABLE], POSITION) == [TABLE]
    assert state.next_copy() is None
    assert first
    first.tracker.mark(TableSnapshot("shop", "a", POSITION, finished=True))
    second = state.next_copy()
    assert second
    assert second is not first


def test_a_new_process_goes_on_with_the_copies_of_the_last_one() -> None:
    state = CaptureState(FULL)
    resumed = state.next_copy()
    assert resumed
    assert (resumed.tracker.reached, state.is_valid(resumed)) == (COPY, True)
    state.begin(epoch_with_copies(FULL, 4, Progress(POSITION), []))
    assert not state.is_valid(resumed)


def test_delete_scans_go_on_until_nothing_older_can_land() -> None:
    clock = Clock()
    scan = DeleteScan(replace(COPY, finished=True), int(clock.now))
    state = CaptureState(replace(FULL, delete_scans=(scan,), copy_requests=(), copies=()), 0, clock)
    times = 0
    while state.checkpoint().delete_scans:
        if due := state.due_delete_scan():
            state.delete_scan_done(due)
            times += 1
        else:
            clock.now += 60
    assert 8 <= times <= 20
    assert clock.now >= 1_000_000 + 7 * 24 * 3600


def test_the_time_of_delete_scans_does_not_count_while_the_log_is_behind() -> None:
    clock = Clock()
    behind = Progress(replace(POSITION, offset=4))
    scan = DeleteScan(replace(COPY, finished=True), int(clock.now))
    state = CaptureState(replace(FULL, reached=behind, delete_scans=(scan,)), 0, clock)
    clock.now += 8 * 24 * 3600
    due = state.due_delete_scan()
    assert due
    state.delete_scan_done(due)
    assert [scan.finished_at for scan in state.checkpoint().delete_scans] == [int(clock.now)]


@pytest.mark.parametrize(("database", "table", "known"), [("shop", "gone", True), ("shop", "x", False), ("crm", "x", True)])
def test_dropped_tables_and_databases_are_noted(database: str, table: str, known: bool) -> None:
    assert CaptureState(FULL).was_dropped(database, table) == known


def test_many_dropped_tables_of_a_database_become_one_entry() -> None:
    state = CaptureState(Checkpoint("shop-db", "shop"))
    for number in range(1_500):
        state.note_dropped("shop", f"t{number}")
    assert len(json.dumps(state.checkpoint().dropped)) < 20_000
    assert state.was_dropped("shop", "t3")


def state_at(
    offset: int, *known: PreparedTransaction, since: LogPosition | None = None
) -> tuple[CaptureState, ChunkPosition]:
    state = CaptureState(Checkpoint("shop-db", "shop"))
    state.request_copies([TABLE], since or lowest(1))
    copy = state.next_copy()
    assert copy
    state.mark_read(Progress(at(offset), prepared=known), at(offset - 50))
    return state, state.chunk_position(copy)


def test_rows_of_a_copy_rank_at_the_read_position_but_below_prepared_transactions_of_their_table() -> None:
    assert state_at(500)[1] == ChunkPosition(at(450), at(500))
    assert state_at(500, prepared("x", 300), prepared("y", 400))[1] == ChunkPosition(at(450), at(300))
    assert state_at(500, prepared("x", 300, OTHER))[1] == ChunkPosition(at(450), at(500))


def test_rows_of_a_copy_never_rank_below_the_position_of_their_request() -> None:
    assert state_at(500, prepared("x", 300), since=at(400))[1] == ChunkPosition(at(450), at(400))
    assert state_at(500, since=at(600))[1] == ChunkPosition(at(600), at(600))


@pytest.mark.parametrize(
    ("since", "before", "committed", "lacks"),
    [(400, 300, 500, True), (200, 300, 500, False), (600, 300, 500, False), (400, None, 500, True), (600, None, 500, False)],
)
def test_a_copy_lacks_a_transaction_if_the_copy_began_between_prepare_and_commit(
    since: int, before: int | None, committed: int, lacks: bool
) -> None:
    for stage in ("requested", "begun", "finished"):
        state = CaptureState(Checkpoint("shop-db", "shop"))
        state.request_copies([TABLE], at(since))
        copy = state.next_copy() if stage != "requested" else None
        if copy and stage == "finished":
            copy.tracker.mark(TableSnapshot("shop", "a", at(since), finished=True))
        assert state.copy_may_lack(TABLE, at(committed), at(before) if before else None) == lacks
        assert not state.copy_may_lack(OTHER, at(committed), None)


def test_a_first_copy_finished_long_ago_may_lack_a_transaction_prepared_before_the_start() -> None:
    state = CaptureState(Checkpoint("shop-db", "shop", copied=True))
    assert state.copy_may_lack(TABLE, at(500), None)
    assert not state.copy_may_lack(TABLE, at(500), at(300))
