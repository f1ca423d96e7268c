"""A process of capture while the world around it fails: its source, Pub/Sub and BigQuery are away for a while, its log is
gone, its server is another one, and whoever receives is slow."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.capture import SOURCE, eventually
from support.capture_process import CaptureProcess, Scene
from support.capture_receiver import CREATED, RECORDS, Receiver, check_order, receiving, versions_of
from support.current_state import LandedMessages
from support.database_servers import DatabaseServer, MariaDb, new_server
from support.mysql_load import load_on, make_tables
from support.source_database import end_of_log

from onefold.capture.outbox import MAX_BYTES_IN_FLIGHT
from onefold.mysql.connection import connect, query

pytestmark = pytest.mark.long

DATABASES = ("faulty_1", "faulty_2")
# A server that is killed loses no transaction of its log.
SERVER = ("--innodb-flush-log-at-trx-commit=1", "--max-binlog-size=65536")
BOUND = 200_000_000
"""Bytes of memory, as docs/reference/limits.md states them, in addition to six times the largest row."""


@pytest.fixture(scope="module")
def server() -> Iterator[DatabaseServer]:
    """A server of its own, which may be killed."""
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
def scanning(scene: Scene, dataset: EmulatedDataset) -> Scene:
    """Return a scene whose processes create tables where rows land, so that delete scans find them."""
    scene.bigquery = dataset.host
    return scene


def check(scene: Scene, landed: LandedMessages) -> None:
    """Check that the current views have the rows of the scene's present source."""
    landed.check(scene.server, DATABASES, SOURCE)


@contextlib.contextmanager
def captured_under_load(scene: Scene, landed: LandedMessages) -> Iterator[CaptureProcess]:
    """Run a process that has begun to publish. After the block, check that it catches up and that no row is missing."""
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


def test_no_row_is_lost_when_the_source_restarts_or_crashes(scene: Scene, landed: LandedMessages) -> None:
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
    """Wait until a position is confirmed in the file that a server begins when it starts."""
    with connect(scene.server.address) as connection:
        file = end_of_log(connection).file

    def has_come_so_far() -> bool:
        now = scene.checkpoint()
        return bool(now and now["place"]["file"] >= file)

    eventually(has_come_so_far)


def test_no_row_is_lost_while_pubsub_is_unavailable(scene: Scene, receiver: Receiver, landed: LandedMessages) -> None:
    with captured_under_load(scene, landed) as life:
        receiver.down = True
        # The client's pauses grow fourfold: each time more that it is refused lasts.
        life.eventually(lambda: receiver.refused > 1)
        receiver.lost_answers = 1
        receiver.down = False


def test_rows_of_a_new_version_wait_while_bigquery_is_unavailable(
    scene: Scene, receiver: Receiver, landed: LandedMessages
) -> None:
    with captured_under_load(scene, landed) as life:
        receiver.tables_down = True
        scene.run("CREATE TABLE fresh (id INT PRIMARY KEY)", "INSERT INTO fresh VALUES (1)")
        life.eventually(lambda: receiver.refused > 0)
        assert not is_announced(receiver, "fresh")
        receiver.tables_down = False
        life.eventually(lambda: is_announced(receiver, "fresh"))


def is_announced(receiver: Receiver, table: str) -> bool:
    return table in {name for data in receiver.messages(CREATED) for name, _ in versions_of(json.loads(data))}


def once(scene: Scene) -> None:
    """Run a process to the end of the log, with all copies and delete scans."""
    scene.start("--once", "--snapshot").wait()


def is_purged(server: DatabaseServer) -> bool:
    """Tell whether only the last file is left; the server deletes the others when they are not read any more."""
    with connect(server.address) as connection:
        query(connection, f"PURGE BINARY LOGS TO '{end_of_log(connection).file}'")
        return len(query(connection, "SHOW BINARY LOGS")) == 1


def test_tables_are_copied_when_the_log_was_purged_before_it_was_read(scanning: Scene, landed: LandedMessages) -> None:
    once(scanning)
    landed.land()
    scanning.run("DELETE FROM item WHERE id < 10", "UPDATE item SET n = 5 WHERE id < 20", "FLUSH LOGS", "DELETE FROM line")
    eventually(lambda: is_purged(scanning.server))
    once(scanning)
    assert [line["by_gtid"] for line in scanning.events("epoch_raised")] == [False]
    check(scanning, landed)


def test_tables_are_copied_when_another_server_replaces_the_source(scanning: Scene, landed: LandedMessages) -> None:
    """The log of the other server has files of the same names, which only differ by when they were begun."""
    life = scanning.start("--snapshot")
    life.eventually(scanning.is_caught_up)
    with another_server(scanning):
        life.eventually(lambda: scanning.events("epoch_raised") and scanning.is_caught_up())
        scanning.run("UPDATE item SET n = 2 WHERE id = 50")
        life.eventually(scanning.is_caught_up)
        life.end()
        landed.land()
        once(scanning)
        assert [line["by_gtid"] for line in scanning.events("epoch_raised")] == [False]
        check(scanning, landed)


@contextlib.contextmanager
def another_server(scene: Scene) -> Iterator[None]:
    """Replace the scene's server by one with fewer rows and a longer log."""
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


def test_memory_stays_bounded_while_no_message_is_taken(scene: Scene, receiver: Receiver) -> None:
    """The log has four times the bytes that may be in flight."""
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
    """Wait until the process has read all that it can, and is idle."""
    seen = [life.cpu_ticks()]

    def is_at_rest() -> bool:
        seen.append(life.cpu_ticks())
        return len(seen) > 20 and seen[-1] - seen[-20] <= 10

    life.eventually(is_at_rest)
