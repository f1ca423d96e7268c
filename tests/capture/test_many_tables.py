"""Rows of many tables go in one message, in the order in which they were read, after their versions were announced."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.capture import DATASET, SOURCE, MemoryTables, RecordingPublisher
from support.capture_receiver import check_order

from onefold.capture.large_rows import LargeRowsFolder
from onefold.capture.message_batcher import MessageBatcher, Publishing
from onefold.capture.outbox import ConfirmationTracker, Outbox
from onefold.core.shutdown import Stop
from onefold.landing.announce import Announcer, Destination
from onefold.messages.change_records import MAX_MESSAGE_BYTES, encode_record
from onefold.mysql.table import SourceColumn, SourceType, Structure
from onefold.ports.publisher import Message
from onefold.ports.warehouse import BaseWarehouse

TABLES = ("customer", "orders", "items")


class OneOrder(RecordingPublisher):
    """Keeps messages and the tables that were made in one order; confirms a message when `confirm` is called."""

    def __init__(self, tables: MemoryTables) -> None:
        super().__init__()
        self.tables = tables
        self.arrived: list[tuple[str, Any]] = []
        self.waiting: list[Callable[[], None]] = []

    def publish(self, topic: str, messages: Any) -> list[str]:
        found = list(messages)
        made = [("table", name) for name in self.tables.tables if ("table", name) not in self.arrived]
        self.arrived += [*made, *((topic, message.data) for message in found)]
        return super().publish(topic, found)

    def publish_soon(self, topic: str, message: Message, done: Callable[[Exception | None], None]) -> None:
        self.publish(topic, [message])
        self.waiting.append(lambda: done(None))

    def confirm(self, *indexes: int) -> None:
        for index in indexes or range(len(self.waiting)):
            self.waiting[index]()


class Scene:
    def __init__(self, folder: Path, limit: int = MAX_MESSAGE_BYTES) -> None:
        tables, stop = MemoryTables(), Stop()
        self.publisher = OneOrder(tables)
        self.announcer = Announcer(
            Destination(cast("BaseWarehouse", tables), self.publisher, DATASET, "table-created"), stop
        )
        self.tracker: ConfirmationTracker[Any] = ConfirmationTracker(None)
        outbox = Outbox(self.publisher, "change-records", stop)
        large = LargeRowsFolder(folder)
        self.batcher = MessageBatcher(Publishing(SOURCE, DATASET, self.announcer, outbox, large, stop, limit))

    def messages(self) -> list[list[tuple[str, int]]]:
        """Return table and number of each record by message; those of a message with an address are read there."""
        bodies = self.publisher.bodies("change-records")
        stored = [body["records_at"].removeprefix("file://") if "records_at" in body else None for body in bodies]
        read = [json.loads(Path(at).read_text()) if at else body for at, body in zip(stored, bodies, strict=True)]
        return [[(one["metadata"]["table_name"], one["data"]["id"]) for one in body["records"]] for body in read]


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def change(table: str, number: int, version: str = "5b6ffe5fb", **data: Any) -> bytes:
    metadata = {
        "source": SOURCE, "database_name": "customer1", "table_name": table, "table_version": version,
        "change_sequence_number": f"1/FF/{number:X}/0",
    }  # fmt: skip
    return encode_record({"data": {"id": number, **data}, "metadata": metadata})


def test_rows_of_all_tables_go_in_one_message_in_their_order(scene: Scene) -> None:
    changes = [(TABLES[number % 3], number) for number in range(9)]
    scene.batcher.records([change(*one) for one in changes], ConfirmationTracker(None))
    assert scene.messages() == []
    for _ in range(2):
        scene.batcher.flush()
    assert scene.messages() == [changes]
    (body,) = scene.publisher.bodies("change-records")
    assert body.keys() == {"dataset", "records"}


@given(
    sizes=st.lists(st.tuples(st.sampled_from(TABLES), st.integers(0, 700)), min_size=1, max_size=40),
    flushed=st.sets(st.integers(0, 40)),
)
def test_no_row_is_lost_or_out_of_order_and_no_message_is_too_large(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[tuple[str, int]], flushed: set[int]
) -> None:
    scene, tracker = Scene(tmp_path_factory.getbasetemp(), limit=900), ConfirmationTracker("start")
    for number, (table, size) in enumerate(sizes):
        scene.batcher.records([change(table, number, x="y" * size)], tracker)
        if number in flushed:
            scene.batcher.flush()
    scene.batcher.flush()
    tracker.mark("end")
    found = [one for some in scene.messages() for one in some]
    for name in TABLES:  # a row that is too large for a message goes ahead of rows of other tables
        assert [one for one in found if one[0] == name] == [
            (table, number) for number, (table, _) in enumerate(sizes) if table == name
        ]
    assert all(len(message.data) <= 900 for message in scene.publisher.topics["change-records"])
    assert tracker.reached == "start"
    scene.publisher.confirm()
    assert tracker.reached == "end"


def test_a_position_is_reached_when_every_message_before_it_is_confirmed(scene: Scene) -> None:
    tracker = ConfirmationTracker("start")
    scene.batcher.records([change("customer", 1)], tracker)
    scene.batcher.flush()
    tracker.mark("first")
    scene.batcher.records([change("orders", 2), change("items", 3)], tracker)
    scene.batcher.flush()
    tracker.mark("second")
    scene.publisher.confirm(1)
    assert tracker.reached == "start"
    scene.publisher.confirm(0)
    assert tracker.reached == "second"


def test_rows_that_different_positions_wait_for_share_no_message(scene: Scene) -> None:
    one, other = ConfirmationTracker("start"), ConfirmationTracker("start")
    scene.batcher.records([change("customer", 1)], one)
    scene.batcher.records([change("customer", 2)], other)
    scene.batcher.flush()
    assert scene.messages() == [[("customer", 1)], [("customer", 2)]]


# Announcements.


def structure(table: str) -> Structure:
    return Structure(table, (SourceColumn("id", SourceType("int")),), ("id",))


def rows_of(scene: Scene, table: str, number: int) -> None:
    version = scene.batcher.origin("customer1", structure(table)).table.version
    scene.batcher.records([change(table, number, version)], scene.tracker)


def test_versions_that_are_read_together_share_an_announcement_before_their_rows(scene: Scene) -> None:
    for number, table in enumerate(TABLES):
        rows_of(scene, table, number)
    assert scene.publisher.bodies("table-created") == []
    scene.batcher.flush()
    check_order(scene.publisher.arrived)
    (body,) = scene.publisher.bodies("table-created")
    assert [table["name"] for table in body["table"]] == list(TABLES)
    scene.batcher.flush()
    assert len(scene.publisher.bodies("table-created")) == 1


def test_a_version_without_a_row_is_announced_with_the_next_flush(scene: Scene) -> None:
    scene.announcer.table(structure("customer"))
    scene.batcher.flush()
    (body,) = scene.publisher.bodies("table-created")
    assert body["table"]["name"] == "customer", "one version alone is announced in the former form"


def test_rows_that_fill_a_message_are_announced_before_them(tmp_path: Path) -> None:
    scene = Scene(tmp_path, limit=500)
    for number in range(20):
        rows_of(scene, f"t{number}", number)
    scene.batcher.flush()
    check_order(scene.publisher.arrived)
    assert len(scene.publisher.bodies("change-records")) > 5


def test_three_hundred_versions_take_few_announcements(scene: Scene) -> None:
    for number in range(300):
        rows_of(scene, f"t{number}", number)
    scene.batcher.flush()
    check_order(scene.publisher.arrived)
    bodies = scene.publisher.bodies("table-created")
    assert len(bodies) == 15
    assert sum(len(body["table"]) for body in bodies) == 300


def test_what_could_not_be_announced_is_announced_before_any_of_its_rows(scene: Scene) -> None:
    rows_of(scene, "customer", 1)
    scene.publisher.errors["table-created"] = error = RuntimeError("the topic is gone")
    for _ in range(2):
        with pytest.raises(RuntimeError, match=str(error)):
            scene.announcer.publish()
    scene.publisher.errors.clear()
    scene.batcher.flush()
    check_order(scene.publisher.arrived)
