"""A process of capture while the world around it fails: its source, Pub/Sub and BigQuery are away for a while, its log is
gone, its server is another one, and whoever receives is slow."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.capture import SOURCE, eventually
from support.capture_process import CaptureProcess, Scene
from support.capture_receiver import CREATED, RECORDS, Receiver, check_order, receiving
from support.current_state import LandedMessages
from support.database_servers import DatabaseServer, MariaDb, new_server
from support.mysql_load import load_on, make_tables
from support.source_database import end_of_log

from onefold.capture.outbox import MAX_BYTES_IN_FLIGHT
from onefold.mysql.connection import connect, query

DATABASES = ("faulty_1", "faulty_2")
# A server that is killed loses nothing that its log has told.
SERVER = ("--innodb-flush-log-at-trx-commit=1", "--max-binlog-size=65536")
BOUND = 200_000_000
"""Of memory, as docs/reference/limits.md states it, beside six times the largest row."""


@pytest.fixture(scope="module")
def server() -> Iterator[DatabaseServer]:
    """One that may be killed: others have nothing in it."""
    with new_server(MariaDb, *SERVER) as made:
        yield made


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as made:
        yield made


@pytest.fixture
def scene(server: DatabaseServer, receiver: Receiver, dataset: EmulatedDataset, tmp_path: Path) -> Iterator[Scene]:
    make_tables(server, DATABASES, 300)
    made = Scene(server, receiver, tmp_path, DATABASES, dataset=dataset.name)
    yield made
    made.close()


@pytest.fixture
def landed(dataset: EmulatedDataset, receiver: Receiver) -> LandedMessages:
    return LandedMessages(dataset, receiver)


@pytest.fixture
def sweeping(scene: Scene, dataset: EmulatedDataset) -> Scene:
    """Its processes make tables where rows land: a sweep looks for them there."""
    scene.bigquery = dataset.host
    return scene


def check(scene: Scene, landed: LandedMessages) -> None:
    """The current views have the rows of the source that the scene has now."""
    landed.check(scene.server, DATABASES, SOURCE)


@contextlib.contextmanager
def captured_under_load(scene: Scene, landed: LandedMessages) -> Iterator[CaptureProcess]:
    """A process that copies and follows, and has published something. After the block it catches up, and all is there."""
    life = scene.start("--snapshot")
    with load_on(scene.server, DATABASES, seed=1):
        life.eventually(lambda: any(scene.receiver.messages()))
        yield life
        seen = len(scene.receiver.arrived)
        life.eventually(lambda: any(scene.receiver.messages(RECORDS, seen)))
    life.eventually(scene.is_caught_up)
    life.end()
    check_order(scene.receiver.arrived)
    check(scene, landed)


def test_a_source_that_restarts_and_one_that_crashes_lose_nothing(scene: Scene, landed: LandedMessages) -> None:
    with captured_under_load(scene, landed):
        scene.server.stop()
        scene.server.start()
        reads_on(scene)
        lost = len(scene.events("source_lost"))
        assert lost
        scene.server.kill()
        scene.server.start()
        reads_on(scene)
        assert len(scene.events("source_lost")) > lost
    assert scene.events("epoch_raised") == []


def reads_on(scene: Scene) -> None:
    """Wait until something is confirmed of the file that a server begins when it starts."""
    with connect(scene.server.address) as connection:
        file = end_of_log(connection).file

    def has_come_so_far() -> bool:
        now = scene.checkpoint()
        return bool(now and now["place"]["file"] >= file)

    eventually(has_come_so_far)


def test_a_pubsub_that_is_not_available_for_a_while_loses_nothing(
    scene: Scene, receiver: Receiver, landed: LandedMessages
) -> None:
    with captured_under_load(scene, landed) as life:
        receiver.down = True
        # The client's pauses grow fourfold: each time more that it is refused lasts.
        life.eventually(lambda: receiver.refused > 1)
        receiver.lost_answers = 1
        receiver.down = False


def test_a_bigquery_that_is_not_available_for_a_new_version_holds_its_rows_back(
    scene: Scene, receiver: Receiver, landed: LandedMessages
) -> None:
    with captured_under_load(scene, landed) as life:
        announced = len(list(receiver.messages(CREATED)))
        receiver.tables_down = True
        scene.run("CREATE TABLE fresh (id INT PRIMARY KEY)", "INSERT INTO fresh VALUES (1)")
        life.eventually(lambda: receiver.refused > 0)
        assert len(list(receiver.messages(CREATED))) == announced
        receiver.tables_down = False


def once(scene: Scene) -> None:
    """A process that ends at the end of the log, with copies and sweeps through."""
    scene.start("--once", "--snapshot").wait()


def is_purged(server: DatabaseServer) -> bool:
    """Whether only the last file is left: as soon as nobody reads the others any more."""
    with connect(server.address) as connection:
        query(connection, f"PURGE BINARY LOGS TO '{end_of_log(connection).file}'")
        return len(query(connection, "SHOW BINARY LOGS")) == 1


def test_a_log_that_was_purged_before_it_was_read_is_made_up_for(sweeping: Scene, landed: LandedMessages) -> None:
    once(sweeping)
    landed.land()
    sweeping.run("DELETE FROM item WHERE id < 10", "UPDATE item SET n = 5 WHERE id < 20", "FLUSH LOGS", "DELETE FROM line")
    eventually(lambda: is_purged(sweeping.server))
    once(sweeping)
    assert [told["by_gtid"] for told in sweeping.events("epoch_raised")] == [False]
    check(sweeping, landed)


def test_a_server_that_is_replaced_by_another_is_copied_again(sweeping: Scene, landed: LandedMessages) -> None:
    """The other one's log has files of the same names: only when they were begun tells them apart."""
    life = sweeping.start("--snapshot")
    life.eventually(sweeping.is_caught_up)
    with another_server(sweeping):
        life.eventually(lambda: sweeping.events("epoch_raised") and sweeping.is_caught_up())
        sweeping.run("UPDATE item SET n = 2 WHERE id = 50")
        life.eventually(sweeping.is_caught_up)
        life.end()
        landed.land()
        once(sweeping)
        assert [told["by_gtid"] for told in sweeping.events("epoch_raised")] == [False]
        check(sweeping, landed)


@contextlib.contextmanager
def another_server(scene: Scene) -> Iterator[None]:
    """A server with fewer rows and a longer log, in place of the scene's."""
    first, checkpoint = scene.server, scene.checkpoint()
    assert checkpoint
    with new_server(MariaDb, *SERVER) as other:
        make_tables(other, DATABASES, 100)
        with connect(other.address) as connection:
            query(connection, f"DELETE FROM {DATABASES[0]}.line WHERE a < 10")
            while end_of_log(connection).file <= checkpoint["place"]["file"]:
                query(connection, "FLUSH LOGS")
        other.stop()
        first.stop()
        try:
            other.port, port = first.port, other.port
            other.start()
            yield
        finally:
            other.kill()
            other.port = port
            first.start()


def test_memory_stays_within_its_bound_when_nobody_takes_messages(scene: Scene, receiver: Receiver) -> None:
    """Four times as much as may be on its way waits in the log."""
    scene.run("CREATE TABLE large (id INT PRIMARY KEY, body MEDIUMTEXT)")
    size, rows = 30_000, 4_000
    life = scene.start("--snapshot")
    life.eventually(scene.is_caught_up)
    base = life.memory("VmRSS")
    receiver.answering.clear()
    for first in range(0, rows, 500):
        scene.run(f"INSERT INTO large SELECT seq, REPEAT('x', {size}) FROM seq_{first}_to_{first + 499}")
    life.eventually(lambda: receiver.waiting > 0.9 * MAX_BYTES_IN_FLIGHT)
    rests(life)
    receiver.answering.set()
    life.eventually(scene.is_caught_up)
    assert receiver.most_waiting <= MAX_BYTES_IN_FLIGHT
    assert life.memory("VmHWM") - base < BOUND + 6 * size
    life.end()
    arrived = {record["data"]["id"] for record in receiver.records() if record["metadata"]["table_name"] == "large"}
    assert arrived == set(range(rows))


def rests(life: CaptureProcess) -> None:
    """Wait until it does nothing more: whatever it could have read, it has."""
    seen = [life.cpu_ticks()]

    def is_at_rest() -> bool:
        seen.append(life.cpu_ticks())
        return len(seen) > 20 and seen[-1] - seen[-20] <= 10

    life.eventually(is_at_rest)
