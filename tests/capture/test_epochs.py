"""No epoch is used twice: with a lost checkpoint, a clock that goes backwards, and two epochs within one second."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.capture import Bench, bench_of, latest
from support.capture_checkpoint import FULL
from support.database_servers import MariaDb, MySql
from support.source_database import SourceDatabase, end_of_log, on

from onefold.capture.checkpoint import Progress
from onefold.capture.epochs import epoch_by_gtids, next_epoch
from onefold.capture.state import lowest
from onefold.mysql.catalog import TableName

NOW = 1_700_000_000
CREATE = "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(30))"


class Clock:
    """Seconds since 1970, as a test sets them."""

    now = NOW + 0.75

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def bench(source: SourceDatabase, tmp_path: Path, clock: Clock) -> Bench:
    made = bench_of(source, tmp_path)
    made.now = clock
    return made


def path(bench: Bench) -> Path:
    return bench.folder / "checkpoint" / "checkpoint.json"


def another_log(bench: Bench, **changed: Any) -> None:
    """The server's log is another one than the checkpoint knows."""
    path(bench).write_text(json.dumps({**bench.checkpoint(), "fingerprint": "another", **changed}))


def epochs(records: list[dict[str, Any]]) -> list[int]:
    """Return the epochs of the records' positions, without repetitions."""
    found = [int(record["metadata"]["change_sequence_number"].split("/")[0], 16) for record in records]
    return list(dict.fromkeys(found))


def shown(source: SourceDatabase) -> dict[tuple[object, ...], dict[str, object]]:
    return {(source.name, "t", id_): {"id": id_, "name": name} for id_, name in source.rows("SELECT * FROM t")}


@given(st.lists(st.floats(0, 2**33), min_size=1))
def test_epochs_rise_whatever_the_clock_does(times: list[float]) -> None:
    issued = [0]
    for now in times:
        issued.append(next_epoch(issued[-1], now))
        assert issued[-1] > issued[-2]
        assert issued[-1] > now - 1


@on(MariaDb, MySql)
def test_a_lost_checkpoint_begins_an_epoch_above_all_before(bench: Bench, source: SourceDatabase, clock: Clock) -> None:
    start = Progress(end_of_log(source.connection))
    source.run(CREATE, "INSERT INTO t VALUES (1, 'a')", "UPDATE t SET name = 'b'")
    assert epochs(bench.once(start=start)) == [NOW]
    another_log(bench)
    bench.once()
    assert bench.checkpoint()["epoch"] == NOW + 1
    path(bench).unlink()
    clock.now += 5
    source.run("UPDATE t SET name = 'c'")
    records = bench.once(snapshot=True)
    assert (epochs(records), bench.checkpoint()["epoch"]) == ([NOW, NOW + 1, NOW + 5], NOW + 5)
    assert latest(records) == shown(source)


def test_a_clock_that_went_backwards_gives_no_used_epoch(bench: Bench, source: SourceDatabase, clock: Clock) -> None:
    source.run(CREATE, "INSERT INTO t VALUES (1, 'a')")
    bench.once(snapshot=True)
    clock.now -= 86_400
    another_log(bench)
    source.run("UPDATE t SET name = 'b'")
    records = bench.once()
    assert epochs(records) == [NOW, NOW + 1]
    assert latest(records) == shown(source)


def test_two_epochs_within_one_second_differ(bench: Bench, source: SourceDatabase) -> None:
    source.run(CREATE, "INSERT INTO t VALUES (1, 'a')")
    for name in ("b", "c", "d"):
        records = bench.once(snapshot=True)
        source.run(f"UPDATE t SET name = '{name}'")
        another_log(bench)
    assert epochs(records) == [NOW, NOW + 1, NOW + 2]
    assert latest(bench.once()) == shown(source)


@pytest.mark.parametrize("options", [{}, {"follow_gtids": True}, {"epoch": 4}], ids=["log", "gtids", "asked"])
def test_an_epoch_that_was_counted_from_1_is_followed_by_the_time(
    bench: Bench, source: SourceDatabase, options: dict[str, Any]
) -> None:
    bench.now = lambda: 0.0
    source.run(CREATE, "INSERT INTO t VALUES (1, 'a')")
    bench.once(snapshot=True, epoch=3)
    bench.now = Clock()
    another_log(bench)
    source.run("UPDATE t SET name = 'b'")
    records = bench.once(**options)
    assert epochs(records) == [3, NOW]
    assert latest(records) == shown(source)


def test_a_requested_epoch_begins_once(bench: Bench, source: SourceDatabase, clock: Clock) -> None:
    """Above the time, too: a clock that was wrong may have issued greater ones."""
    source.run(CREATE, "INSERT INTO t VALUES (1, 'a')")
    bench.once(snapshot=True)
    for _ in range(2):
        clock.now += 5
        records = bench.once(epoch=NOW + 100)
    assert epochs(records) == [NOW, NOW + 100]
    path(bench).unlink()
    bench.once(epoch=NOW + 200)
    assert bench.checkpoint()["epoch"] == NOW + 200


def test_a_new_epoch_by_gtids_starts_copies_again_and_keeps_everything_else() -> None:
    new = epoch_by_gtids(FULL, 4)
    tables = [TableName("shop", name) for name in ("a", "b", "customer")]
    assert {request.table: request.since for request in new.copy_requests} == dict.fromkeys(tables, lowest(4))
    assert new.reached == Progress(None, FULL.reached.executed, None, FULL.reached.prepared)
    assert new == replace(FULL, epoch=4, reached=new.reached, copy_requests=new.copy_requests, copies=())
