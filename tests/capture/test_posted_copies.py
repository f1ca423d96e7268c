"""Requests for copies that checks post: taken by a running capture, and removed when its checkpoint has them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.capture import CREATE, Bench, begin, bench_of, eventually
from support.database_servers import MariaDb, MySql
from support.fake_gcs import ObjectStore
from support.source_database import SourceDatabase, on

from onefold.adapters.gcs import GcsObjects
from onefold.capture.checkpoint import Checkpoint
from onefold.capture.checkpoint_store import FolderStore
from onefold.capture.copy_mailbox import CopyMailbox, FolderMailbox, PostedCopy, open_mailbox
from onefold.capture.posted_copies import PostedCopies
from onefold.capture.state import CaptureState
from onefold.core.errors import Rejected, TryAgain
from onefold.mysql.catalog import TableName
from onefold.mysql.table_filter import TableFilter

BUCKET = "gs://state/shop-db"
T, U = TableName("shop", "t"), TableName("shop", "u")


@pytest.fixture(params=["folder", "bucket"])
def mailbox(request: pytest.FixtureRequest, tmp_path: Path) -> CopyMailbox:
    request.getfixturevalue("object_store")
    return open_mailbox(BUCKET if request.param == "bucket" else str(tmp_path), GcsObjects())


def tables(mailbox: CopyMailbox) -> set[TableName | None]:
    return {one.table for one in mailbox.read()}


def test_a_mailbox_has_what_was_posted_until_it_is_removed(mailbox: CopyMailbox) -> None:
    assert not mailbox.read()
    mailbox.post([T, U])
    mailbox.post([T])
    assert tables(mailbox) == {T, U}
    mailbox.remove(one.name for one in mailbox.read() if one.table == T)
    mailbox.remove(["gone.json"])
    assert tables(mailbox) == {U}


def test_who_posts_into_a_bucket_may_do_nothing_else(object_store: ObjectStore) -> None:
    object_store.lacks = {"storage.objects.get", "storage.objects.delete", "storage.objects.list"}
    mailbox = open_mailbox(BUCKET, GcsObjects())
    mailbox.post([T])
    mailbox.post([T])
    assert all(name.startswith("state/shop-db/copies/") for name in object_store.objects)
    with pytest.raises((Rejected, TryAgain)):
        mailbox.read()


def test_a_file_that_is_no_request_is_told_apart(tmp_path: Path) -> None:
    mailbox = FolderMailbox(tmp_path)
    mailbox.post([T])
    for number, text in enumerate(("nonsense", "[]", '{"database": 7, "table": "t"}')):
        (tmp_path / "copies" / f"{number}.json").write_text(text)
    assert [one.table for one in mailbox.read()][:3] == [None, None, None]
    assert tables(mailbox) == {None, T}


class Box:
    """A mailbox in memory, which may be down."""

    def __init__(self, *posted: PostedCopy) -> None:
        self.posted, self.down = list(posted), False

    def post(self, tables: object) -> None:
        raise AssertionError(tables)

    def read(self) -> list[PostedCopy]:
        if self.down:
            raise TryAgain("503")
        return list(self.posted)

    def remove(self, names: object) -> None:
        if self.down:
            raise TryAgain("503")
        self.posted = [one for one in self.posted if one.name not in list(names)]  # type: ignore[call-overload]


def requested(state: CaptureState) -> list[TableName]:
    return [one.table for one in state.checkpoint().copy_requests]


def test_a_request_is_removed_only_when_it_is_saved(capsys: pytest.CaptureFixture[str]) -> None:
    box = Box(PostedCopy("1", T), PostedCopy("2", None), PostedCopy("3", TableName("other", "x")))
    state = CaptureState(Checkpoint("shop-db", "shop"))
    posted = PostedCopies(box, state, TableFilter(("shop.*",)))
    box.down = True
    posted.take()
    assert requested(state) == []
    box.down = False
    posted.take()
    assert requested(state) == [T]
    posted.forget(is_saved=False)
    assert len(box.posted) == 3
    box.down = True
    posted.forget(is_saved=True)
    box.down = False
    posted.take()
    posted.forget(is_saved=True)
    assert (box.posted, requested(state)) == ([], [T])
    log = capsys.readouterr().out
    assert log.count('"event": "copy_wanted"') == 1
    assert (log.count('"event": "copy_ignored"'), log.count('"event": "copy_requests_again"')) == (2, 2)


def rows(bench: Bench) -> Iterator[tuple[str, int]]:
    for record in bench.publisher.records():
        yield record["metadata"]["ingestion_method"], record["data"]["id"]


@on(MariaDb, long=MySql)
def test_a_running_capture_copies_a_table_that_a_check_names(source: SourceDatabase, tmp_path: Path) -> None:
    bench = bench_of(source, tmp_path)
    source.run(CREATE, "INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    source.run("CREATE TABLE u (id INT PRIMARY KEY)", "INSERT INTO u VALUES (3)")
    bench.once(start=begin(source))
    assert bench.publisher.count() == 0
    mailbox = FolderMailbox(tmp_path / "checkpoint")
    mailbox.post([TableName(source.name, "t"), TableName("another", "x")])
    with bench.running(delete_scan_delay=0):
        eventually(lambda: bench.publisher.count() == 2 and not mailbox.read())
        assert sorted(rows(bench)) == [("SNAPSHOT", 1), ("SNAPSHOT", 2)]
    saved = FolderStore(tmp_path / "checkpoint").peek()
    assert saved
    assert saved.copy_requests == ()


@on(MariaDb, long=MySql)
def test_a_request_outlives_a_process_that_was_killed_before_its_checkpoint(source: SourceDatabase, tmp_path: Path) -> None:
    bench = bench_of(source, tmp_path)
    source.run(CREATE, "INSERT INTO t VALUES (1, 'a')")
    bench.once(start=begin(source))
    mailbox = FolderMailbox(tmp_path / "checkpoint")
    mailbox.post([TableName(source.name, "t")])
    capture = bench.capture(once=True)
    capture._begin()
    capture._posted.take()
    capture.store.close()
    assert len(mailbox.read()) == 1
    bench.once(delete_scan_delay=0)
    assert (sorted(rows(bench)), mailbox.read()) == ([("SNAPSHOT", 1)], [])
