"""The checkpoint: what it says, where it lies, and whose it is."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fake_gcs import ObjectStore

from onefold.adapters.gcs import GcsObjects
from onefold.capture.checkpoint import Checkpoint, CopyRequest, DeleteScan, Progress, check_owner, from_json, to_json
from onefold.capture.checkpoint_store import CheckpointStore, store_at
from onefold.capture.epochs import epoch_with_copies
from onefold.capture.large_rows import large_rows_at
from onefold.capture.state import CaptureState
from onefold.capture.xa import PreparedTransaction
from onefold.core.errors import InvalidInput, Rejected, TryAgain
from onefold.mysql.binlog.events import LogPosition
from onefold.mysql.catalog import TableName
from onefold.mysql.gtid import GtidSet, read_executed
from onefold.mysql.snapshot.chunks import TableSnapshot
from onefold.mysql.table_filter import TableFilter

PLACE = LogPosition(3, "mysql-bin.000007", 1234)
COPY = TableSnapshot("shop", "customer", PLACE, (7, "größe", None), 20_000)
PREPARED = PreparedTransaction(
    "X'61',X'',1", PLACE, 1_700_000_000, frozenset({TableName("shop", "a"), TableName("shop", "b")})
)
FULL = Checkpoint(
    "shop-db", "shop", 3, Progress(PLACE, read_executed("0-1-5,1-2-7"), "1700000000/1/10.11", (PREPARED,)), True,
    (CopyRequest(TableName("shop", "a"), PLACE), CopyRequest(TableName("shop", "b"), PLACE)), (COPY,),
    (DeleteScan(replace(COPY, table="order", finished=True), 1_700_000_000, 1_700_000_600),),
    (("shop", "gone"), ("crm", None)), TableFilter(("shop", "crm.*"), ("shop.log",)),
)  # fmt: skip


@pytest.mark.parametrize("checkpoint", [FULL, Checkpoint("shop-db", "shop")], ids=["full", "empty"])
def test_a_checkpoint_is_read_as_it_was_written(checkpoint: Checkpoint) -> None:
    assert from_json(to_json(checkpoint)) == checkpoint


def test_a_checkpoint_of_an_older_version_knows_no_patterns_and_no_prepared_transactions() -> None:
    body = json.loads(to_json(FULL))
    del body["patterns"], body["prepared"]
    expected = replace(FULL, reached=replace(FULL.reached, prepared=()), patterns=None)
    assert from_json(json.dumps(body).encode()) == expected


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b'{"form":1}', to_json(FULL).replace(b'"offset":1234', b'"offset":"x"')]
)
def test_what_is_no_checkpoint_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidInput, match="the checkpoint cannot be read"):
        from_json(data)


def test_a_checkpoint_of_a_later_form_is_not_misread() -> None:
    with pytest.raises(InvalidInput, match="update Onefold"):
        from_json(to_json(FULL).replace(b'"form":1', b'"form":3'))


def test_a_checkpoint_of_another_source_or_dataset_is_refused() -> None:
    check_owner(FULL, "shop-db", "shop")
    with pytest.raises(InvalidInput) as refused:
        check_owner(FULL, "crm-db", "crm")
    assert len(refused.value.problems) == 3


def test_a_raised_epoch_copies_everything_and_forgets_what_was_under_way() -> None:
    end = Progress(LogPosition(4, "mysql-bin.000001", 330), GtidSet(), None)
    new = epoch_with_copies(FULL, 4, end, [TableName("shop", "a")])
    assert (new.epoch, new.reached, new.copies, new.delete_scans) == (4, end, (), ())
    assert new.copy_requests == (CopyRequest(TableName("shop", "a"), end.position or PLACE),)
    assert new.dropped == FULL.dropped


# Stores.


@pytest.fixture(params=["folder", "bucket"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "folder":
        return str(tmp_path / "new" / "folder")
    request.getfixturevalue("object_store")
    return "gs://bucket/captures/shop"


def test_a_store_is_empty_and_then_holds_what_was_saved_last(address: str) -> None:
    store = store_at(address, GcsObjects())
    assert store.load() is None
    for offset in (4, 500):
        store.save(replace(FULL, reached=Progress(replace(PLACE, offset=offset))))
    assert loaded_anew(store, address) == replace(FULL, reached=Progress(replace(PLACE, offset=500)))


def loaded_anew(store: CheckpointStore, address: str) -> Checkpoint | None:
    """By another process, after this one has ended."""
    store.close()
    return store_at(address, GcsObjects()).load()


def test_a_folder_belongs_to_the_first_process(tmp_path: Path) -> None:
    first = store_at(str(tmp_path), GcsObjects())
    first.load()
    with pytest.raises(Rejected, match="another process works with the checkpoint"):
        store_at(str(tmp_path), GcsObjects()).load()
    first.save(FULL)


def test_a_crash_while_writing_leaves_the_old_one(tmp_path: Path) -> None:
    store = store_at(str(tmp_path), GcsObjects())
    store.save(FULL)
    (tmp_path / "checkpoint.new").write_bytes(b'{"half')
    assert loaded_anew(store, str(tmp_path)) == FULL


@pytest.mark.usefixtures("object_store")
def test_a_bucket_belongs_to_the_latest_process() -> None:
    first, second = store_at("gs://bucket/a", GcsObjects()), store_at("gs://bucket/a", GcsObjects())
    assert first.load() is None
    first.save(FULL)
    assert second.load() == FULL
    with pytest.raises(Rejected, match="each source needs one checkpoint and one process"):
        first.save(replace(FULL, epoch=9))
    second.save(replace(FULL, epoch=4))
    assert store_at("gs://bucket/a", GcsObjects()).load() == replace(FULL, epoch=4)


@pytest.mark.usefixtures("object_store")
def test_two_processes_that_begin_a_checkpoint_at_once_do_not_both_have_it() -> None:
    first, second = store_at("gs://bucket/a", GcsObjects()), store_at("gs://bucket/a", GcsObjects())
    assert (first.load(), second.load()) == (None, None)
    first.save(FULL)
    with pytest.raises(Rejected):
        second.save(FULL)


def test_a_write_whose_answer_was_lost_is_ours(object_store: ObjectStore) -> None:
    store = store_at("gs://bucket/a", GcsObjects())
    store.save(FULL)
    object_store.lose_answers = 1
    with pytest.raises(TryAgain, match="503"):
        store.save(replace(FULL, epoch=4))
    store.save(replace(FULL, epoch=5))
    assert store_at("gs://bucket/a", GcsObjects()).load() == replace(FULL, epoch=5)


def test_objects_are_written_below_their_folder(object_store: ObjectStore) -> None:
    rows = large_rows_at("gs://bucket/a/b/", GcsObjects())
    assert rows.put("größe/x y.json", b"1") == "gs://bucket/a/b/größe/x y.json"
    assert list(object_store.objects) == ["bucket/a/b/größe/x y.json"]
    assert GcsObjects().read("gs://bucket/a/b/größe/x y.json") == b"1"


# GTIDs.


@pytest.mark.parametrize(
    ("text", "gtids", "then"),
    [
        ("", ["0-1-5"], "0-1-5"),
        ("0-1-5", ["0-1-6", "1-7-1", "0-2-7"], "0-2-7,1-7-1"),
        ("a:1-5", ["a:6"], "a:1-6"),
        ("a:1-5:9", ["a:7", "a:8", "a:6"], "a:1-9"),
        ("a:1-5", ["a:3"], "a:1-5"),
        ("a:1,\nb:2-3", ["b:5", "c:1"], "a:1,b:2-3:5,c:1"),
        ("a:tag:1-2,a:1", ["a:tag:3"], "a:tag:1-3,a:1"),
    ],
)
def test_executed_transactions_add_up(text: str, gtids: list[str], then: str) -> None:
    executed = read_executed(text)
    for gtid in gtids:
        executed = executed.plus(gtid)
    assert str(executed) == then
    assert read_executed(then) == executed


@given(st.permutations(range(1, 9)))
def test_their_order_does_not_matter(numbers: list[int]) -> None:
    executed = GtidSet()
    for number in numbers:
        executed = executed.plus(f"a:{number}")
    assert str(executed) == "a:1-8"


@pytest.mark.parametrize("text", ["x", "0-1", "a:", "a:x-y"])
def test_what_is_no_set_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="is no set of GTIDs"):
        read_executed(text)


# What the threads share.


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


TABLE = TableName("shop", "a")


def test_a_table_that_waits_is_wanted_once_and_as_of_its_last_change() -> None:
    state = CaptureState(Checkpoint("shop-db", "shop"))
    assert state.request_copies([TABLE], PLACE) == [TABLE]
    assert state.request_copies([TABLE], replace(PLACE, offset=9999)) == []
    assert state.checkpoint().copy_requests[0].since.offset == 9999


def test_a_copy_is_wanted_until_its_first_rows_are_confirmed_then_goes_on_then_is_swept() -> None:
    clock = Clock()
    state = CaptureState(Checkpoint("shop-db", "shop"), 60, clock)
    state.request_copies([TABLE], PLACE)
    copy = state.next_copy()
    assert copy
    assert state.next_copy() is None
    assert [one.table for one in state.checkpoint().copy_requests] == [TABLE]
    ticket = copy.tracker.begin()
    part = TableSnapshot("shop", "a", PLACE, (7,), 10)
    copy.tracker.mark(part)
    assert state.checkpoint().copies == ()
    copy.tracker.confirm(ticket)
    assert (state.checkpoint().copies, state.checkpoint().copy_requests) == ((part,), ())
    copy.tracker.mark(replace(part, finished=True))
    assert (state.checkpoint().copies, state.counts()) == ((), (0, 0))
    assert state.due_delete_scan() is None
    clock.now += 60
    assert state.due_delete_scan() == DeleteScan(replace(part, finished=True), 1_000_000)


def test_a_table_that_changes_while_it_is_copied_is_copied_again_afterwards() -> None:
    state = CaptureState(Checkpoint("shop-db", "shop"))
    state.request_copies([TABLE], PLACE)
    first = state.next_copy()
    assert state.request_copies([TABLE], PLACE) == [TABLE]
    assert state.next_copy() is None
    assert first
    first.tracker.mark(TableSnapshot("shop", "a", PLACE, finished=True))
    second = state.next_copy()
    assert second
    assert second is not first


def test_a_new_process_goes_on_with_the_copies_of_the_last_one() -> None:
    state = CaptureState(FULL)
    resumed = state.next_copy()
    assert resumed
    assert (resumed.tracker.reached, state.is_valid(resumed)) == (COPY, True)
    state.begin(epoch_with_copies(FULL, 4, Progress(PLACE), []))
    assert not state.is_valid(resumed)


def test_sweeps_go_on_until_nothing_older_can_land() -> None:
    clock = Clock()
    swept = DeleteScan(replace(COPY, finished=True), int(clock.now))
    state = CaptureState(replace(FULL, delete_scans=(swept,), copy_requests=(), copies=()), 0, clock)
    times = 0
    while state.checkpoint().delete_scans:
        if due := state.due_delete_scan():
            state.delete_scan_done(due)
            times += 1
        else:
            clock.now += 60
    assert 8 <= times <= 20
    assert clock.now >= 1_000_000 + 7 * 24 * 3600


def test_the_time_of_sweeps_does_not_count_while_the_log_is_behind() -> None:
    clock = Clock()
    behind = Progress(replace(PLACE, offset=4))
    swept = DeleteScan(replace(COPY, finished=True), int(clock.now))
    state = CaptureState(replace(FULL, reached=behind, delete_scans=(swept,)), 0, clock)
    clock.now += 8 * 24 * 3600
    due = state.due_delete_scan()
    assert due
    state.delete_scan_done(due)
    assert [sweep.finished_at for sweep in state.checkpoint().delete_scans] == [int(clock.now)]


@pytest.mark.parametrize(("database", "table", "known"), [("shop", "gone", True), ("shop", "x", False), ("crm", "x", True)])
def test_dropped_tables_are_remembered(database: str, table: str, known: bool) -> None:
    assert CaptureState(FULL).was_dropped(database, table) == known


def test_many_dropped_tables_of_a_database_become_one_entry() -> None:
    state = CaptureState(Checkpoint("shop-db", "shop"))
    for number in range(1_500):
        state.note_dropped("shop", f"t{number}")
    assert len(json.dumps(state.checkpoint().dropped)) < 20_000
    assert state.was_dropped("shop", "t3")
