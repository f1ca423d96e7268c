"""The lag of capture: a quiet source is not a late one, and a source that is not read is."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.capture import CREATE, Bench, begin, bench_of, eventually
from support.database_servers import MariaDb, MySql
from support.source_database import SourceDatabase, on

from onefold.capture.checkpoint import Checkpoint
from onefold.capture.freshness import Freshness
from onefold.capture.run import Capture
from onefold.mysql.binlog.events import LogPosition

P = LogPosition(1, "mysql-bin.000001", 500)
Q = replace(P, offset=900)
HOUR = 3_600


def test_nothing_is_known_before_the_log_has_answered() -> None:
    assert Freshness().as_of is None


def test_a_heartbeat_at_the_position_that_was_read_is_the_end_of_the_log() -> None:
    assert Freshness().at_heartbeat(P, P, 1_000.9).as_of == 1_000
    assert Freshness().at_commit(10, 1_000).at_heartbeat(P, P, 1_000).as_of == 1_000


def test_a_heartbeat_at_another_position_may_come_from_the_middle_of_the_log() -> None:
    read = Freshness().at_commit(10, 1_000)
    assert read.at_heartbeat(Q, P, 1_000).as_of == read.at_heartbeat(None, P, 1_000).as_of == 10
    assert read.at_heartbeat(None, None, 1_000).as_of == 10


def test_a_late_transaction_does_not_take_back_that_the_log_was_read_to_its_end() -> None:
    assert Freshness().at_end(1_000).at_commit(400, 1_001).as_of == 1_000


def test_a_time_in_the_future_counts_only_until_the_next_transaction() -> None:
    """A session may have set it: SET timestamp."""
    future = Freshness().at_commit(2_000_000_000, 1_000)
    assert future.as_of == 1_000
    assert future.at_commit(400, 1_001).as_of == 400


class Clock:
    """A clock that starts at the present time, and that a test moves."""

    def __init__(self) -> None:
        self.time = time.time()

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def bench(source: SourceDatabase, tmp_path: Path, clock: Clock) -> Bench:
    made = bench_of(source, tmp_path)
    made.now = clock
    source.run(CREATE)
    return made


@pytest.fixture
def running(bench: Bench, source: SourceDatabase) -> Iterator[Capture]:
    """A process that has published a row."""
    with bench.running(start=begin(source)) as capture:
        eventually(lambda: capture.saved and capture._reader.begun)
        source.run("INSERT INTO t VALUES (1, 'a')")
        eventually(lambda: bench.publisher.count() == 1)
        yield capture


def lag(capture: Capture) -> int | None:
    status = capture.status()
    return status.lag_seconds if status else None


@on(MariaDb, long=MySql)
def test_a_quiet_source_is_up_to_date_however_old_its_last_change_is(running: Capture, clock: Clock) -> None:
    clock.time += HOUR
    eventually(lambda: lag(running) == 0)
    status = running.status()
    assert status
    assert (status.seconds_since_last_change or 0) >= HOUR - 1  # whole seconds


@on(MariaDb, long=MySql)
def test_the_checkpoint_of_a_quiet_source_shows_that_it_is_up_to_date(running: Capture, bench: Bench, clock: Clock) -> None:
    eventually(lambda: running.saved and running.saved.saved_at)
    before = bench.checkpoint()
    clock.time += HOUR
    now = eventually(lambda: (found := bench.checkpoint())["as_of"] != before["as_of"] and found)
    assert (now["as_of"], now["saved_at"]) == (int(clock.time), int(clock.time))
    assert now["place"]["file"] == before["place"]["file"]


def test_a_checkpoint_in_which_only_the_times_are_new_is_saved_once_a_minute(running: Capture) -> None:
    saved: Any = eventually(lambda: running.saved if running.saved and running.saved.reached.as_of else None)

    def later(seconds: int) -> Checkpoint:
        reached = replace(saved.reached, as_of=saved.reached.as_of + seconds)
        made: Checkpoint = replace(saved, saved_at=saved.saved_at + seconds, reached=reached)
        return made

    assert [running._saver._has_news(later(seconds)) for seconds in (0, 1, 59, 60)] == [False, False, False, True]
    assert running._saver._has_news(replace(later(1), epoch=saved.epoch + 1))


def test_what_pubsub_has_not_confirmed_counts_as_missing(
    running: Capture, bench: Bench, source: SourceDatabase, clock: Clock
) -> None:
    eventually(lambda: running._state.log.is_empty)
    bench.publisher.down = True
    source.run("INSERT INTO t VALUES (2, 'b')")
    eventually(lambda: not running._state.log.is_empty)
    clock.time += HOUR
    eventually(lambda: (running._reader.progress.as_of or 0) == int(clock.time))
    assert (lag(running) or 0) >= HOUR - 1
    bench.publisher.down = False
    eventually(lambda: lag(running) == 0)


def test_a_source_that_does_not_answer_is_behind(running: Capture, source: SourceDatabase, clock: Clock) -> None:
    eventually(lambda: lag(running) is not None)
    running.source = replace(running.source, address=replace(running.source.address, port=9))
    running._reader.source = running.source
    for (number,) in source.rows("SELECT ID FROM information_schema.PROCESSLIST WHERE COMMAND = 'Binlog Dump'"):
        source.run(f"KILL {number}")
    clock.time += HOUR
    eventually(lambda: (lag(running) or 0) >= HOUR)


def test_a_run_that_ends_at_the_end_of_the_log_is_up_to_date_then(
    bench: Bench, source: SourceDatabase, clock: Clock
) -> None:
    start = begin(source)
    source.run("INSERT INTO t VALUES (1, 'a')")
    clock.time += HOUR
    bench.once(start=start)
    assert bench.checkpoint()["as_of"] == int(clock.time)
