"""Messages from captures to the sink: how many, and whether the sink keeps up. `PYTHONPATH=tests python -m benchmarks.sink`.

5,000 rows a second over 300 tables, by Zipf's law: the most frequent table has a sixth of all rows. The batcher of capture
packs the messages, at the pace of `flush_seconds` by a clock that does not wait. The sink appends some of them to a fake of
the Storage Write API, which answers a request 100 ms after it arrived. With the times that this takes, instances that take
four messages at once are simulated, from the moment in which a row is read to that in which it has landed.

The peer is the former form, a message for each table, with a connection for each of the 25 tables that an instance used
last; to open one is counted, and takes no time here.
"""

from __future__ import annotations

import argparse
import heapq
import multiprocessing
import random
import statistics
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from typing import Any, cast

from support.fake_write_api import fake_write_api, write_client
from support.in_memory import MemoryPublisher, push_body

from benchmarks.report import add_options, machine, markdown, publish, versions
from onefold.adapters.bigquery.append_connections import MAX_IDLE
from onefold.adapters.bigquery.storage_write import StorageWrite
from onefold.capture.large_rows import NoLargeRows
from onefold.capture.message_batcher import MessageBatcher, Publishing
from onefold.capture.options import CaptureOptions
from onefold.capture.outbox import ConfirmationTracker, Outbox
from onefold.core.names import TableId
from onefold.core.shutdown import Stop
from onefold.landing.announce import Announcer, Destination
from onefold.landing.table import ADDED
from onefold.messages.change_records import change_message, encode_record, parse_change_messages
from onefold.ports.objects import ObjectReader
from onefold.ports.publisher import Message
from onefold.ports.warehouse import BaseWarehouse
from onefold.schema.columns import Column
from onefold.schema.types import parse_type
from onefold.settings.environment import Settings
from onefold.sink.handler import RecordHandler

HEADING = "Messages to the sink"
HEADER = (
    "form", "captures", "flush_seconds", "messages/s", "ratio", "rows/message", "ms/message", "CPU ms/message",
    "connections opened/s", "lag, median, s", "lag, 99 %, s", "waiting at the end",
)  # fmt: skip
COLUMNS = {"id": "INT64", "name": "STRING", "price": "NUMERIC", "born": "DATE"} | {one.name: str(one.type) for one in ADDED}
TABLES, ROWS, SECONDS = 300, 5_000, 30
ANSWER = 0.1
"""Seconds from the arrival of a request to its answer."""
AT_ONCE = 4
"""Messages that an instance handles at the same time."""
INSTANCES = 20
SAMPLE = 40
"""Messages whose append is measured."""
CASES = ((1, 0.5), (20, 0.5), (100, 0.5), (100, 2.0))
"""Captures, and their flush_seconds."""


@dataclass(frozen=True)
class Sent:
    """A message: when it was sent, what it holds, and when its first row was read."""

    at: float
    data: bytes
    rows: int
    tables: tuple[str, ...]
    read_at: float


@dataclass
class ClockedPublisher(MemoryPublisher):
    """Keeps messages with the time of a clock that the benchmark sets."""

    now: float = 0.0
    sent: list[tuple[float, bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def publish_soon(self, topic: str, message: Message, done: Any) -> None:  # noqa: ARG002 there is one topic
        self.sent.append((self.now, message.data))
        done(None)


def row(chance: random.Random, table: str, number: int) -> dict[str, Any]:
    data = {"id": number, "name": chance.randbytes(100).hex(), "price": "12.50", "born": "1815-12-10"}
    metadata = {
        "ingestion_method": "BINLOG", "source": "shop-db", "database_name": "customer1", "table_name": table,
        "table_version": "abc", "primary_key": ["id"], "change_type": "UPDATE-INSERT",
        "change_sequence_number": f"6553F100/FF/{number:X}/0", "source_timestamp": 1_700_000_000_000,
    }  # fmt: skip
    return {"data": data, "metadata": metadata}


def names() -> list[str]:
    return [f"table_{number}" for number in range(TABLES)]


def one_capture(chance: random.Random, rows: int, flush_seconds: float, seconds: int) -> list[Sent]:
    """Return the messages of one capture in some seconds: it begins to flush at any moment."""
    publisher = ClockedPublisher()
    stop = Stop()
    outbox = Outbox(publisher, "change-records", stop)
    announcer = Announcer(Destination(cast("BaseWarehouse", None), publisher, "shop", "table-created"), stop)
    batcher = MessageBatcher(Publishing("shop-db", "shop", announcer, outbox, NoLargeRows(), stop))
    weights = [1 / (number + 1) for number in range(TABLES)]
    tables = chance.choices(names(), weights, k=rows * seconds)
    tracker: ConfirmationTracker[Any] = ConfirmationTracker(None)
    flushes = flush_times(flush_seconds, chance)
    due = next(flushes)
    for number, table in enumerate(tables):
        while due <= number / rows:
            publisher.now = due
            batcher.flush()
            due = next(flushes)
        publisher.now = number / rows
        batcher.records([encode_record(row(chance, table, number))], tracker)
    publisher.now = due
    batcher.flush()
    return [of_message(at, data, rows) for at, data in publisher.sent]


def flush_times(flush_seconds: float, chance: random.Random) -> Iterator[float]:
    """Yield the times at which a capture flushes: the first one at any moment of its pace."""
    now = -chance.random() * flush_seconds
    for pause, is_flushed in CaptureOptions("shop-db", "shop", flush_seconds=flush_seconds).ticks():
        now += pause
        if is_flushed and now >= 0:
            yield now


def of_message(at: float, data: bytes, rows: int) -> Sent:
    messages = parse_change_messages(data)
    numbers = [record["data"]["id"] for one in messages.tables for record in one.records]
    return Sent(at, data, len(numbers), tuple(one.table for one in messages.tables), min(numbers) / rows)


def by_table(message: Sent, rows: int) -> Iterator[Sent]:
    """Yield the messages of the former form: one for each table."""
    for one in parse_change_messages(message.data).tables:
        data = change_message(one.dataset, one.table, one.version, one.records)
        first = min(record["data"]["id"] for record in one.records) / rows
        yield Sent(message.at, data, len(one.records), (one.table,), first)


class Columns:
    """A catalog in which all tables have the same columns."""

    project = "my-project"
    calls = 0

    def read_columns(self, id_: TableId) -> tuple[Column, ...]:  # noqa: ARG002 all are alike
        return tuple(Column(name, parse_type(type_)) for name, type_ in COLUMNS.items())


def serve(address: Any, stop: Any) -> None:
    """Be the Storage Write API, in a process of its own."""
    with fake_write_api() as (api, _):
        api.answer_seconds = ANSWER
        for name in names():
            api.create(f"shop.{name}_v_abc", COLUMNS)
        address.put(api.address)
        stop.wait()


@dataclass(frozen=True)
class Cost:
    """Seconds to append a message, and those of the processor in them."""

    seconds: float
    processor: float

    @property
    def in_full_instance(self) -> float:
        """Seconds where an instance with one processor handles as many messages as it may."""
        return max(self.seconds, AT_ONCE * self.processor)


def measured(sink: RecordHandler, messages: Sequence[Sent]) -> Cost:
    """Append some messages, one after the other; those before the last ones fill the cache of tables and connections."""
    bodies = [push_body(message.data) for message in messages]
    for body in bodies:
        sink.handle(body)
    wall, processor = [], time.process_time()
    for body in bodies:
        began = time.perf_counter()
        sink.handle(body)
        wall.append(time.perf_counter() - began)
    return Cost(statistics.mean(wall), (time.process_time() - processor) / len(bodies))


@dataclass(frozen=True)
class Outcome:
    lags: list[float]
    waiting: int
    opened: int


def simulated(messages: Sequence[Sent], seconds: float, by_table: bool) -> Outcome:
    """Let instances append messages in their order, each of them in the time that was measured.

    Args:
        messages: in the order in which they were sent.
        seconds: to append a message.
        by_table: whether each table needs a connection of its own.
    """
    free = [(0.0, number % INSTANCES) for number in range(INSTANCES * AT_ONCE)]
    open_: list[OrderedDict[str, None]] = [OrderedDict() for _ in range(INSTANCES)]
    lags: list[float] = []
    waiting = opened = 0
    for number, message in enumerate(messages):
        at, instance = heapq.heappop(free)
        begin = max(at, message.at)
        waiting += message.at < SECONDS <= begin
        heapq.heappush(free, (begin + seconds, instance))
        lags += [begin + seconds - message.read_at] * message.rows
        opened += taken(open_[instance], message.tables[0] if by_table else f"slot {number % AT_ONCE}")
    return Outcome(sorted(lags), waiting, opened)


def taken(connections: OrderedDict[str, None], name: str) -> bool:
    """Use a connection, and return whether it had to be opened."""
    is_new = name not in connections
    connections[name] = None
    connections.move_to_end(name)
    if len(connections) > MAX_IDLE:
        connections.popitem(last=False)
    return is_new


def lines_of(sink: RecordHandler, captures: int, flush_seconds: float) -> Iterator[tuple[str, ...]]:
    chance = random.Random(captures)
    rows = ROWS // captures
    found = [one for _ in range(captures) for one in one_capture(chance, rows, flush_seconds, SECONDS)]
    split = [one for message in found for one in by_table(message, rows)]
    for name, messages in (("many tables", found), ("one table", split)):
        messages.sort(key=lambda one: one.at)
        cost = measured(sink, chance.sample(messages, min(SAMPLE, len(messages))))
        outcome = simulated(messages, cost.in_full_instance, by_table=name == "one table")
        lags = outcome.lags
        yield (
            name, f"{captures}", f"{flush_seconds:g}", f"{len(messages) / SECONDS:,.0f}",
            f"{len(messages) / len(found):.0f}",
            f"{sum(one.rows for one in messages) / len(messages):,.1f}", f"{cost.seconds * 1_000:.0f}",
            f"{cost.processor * 1_000:.1f}", f"{outcome.opened / SECONDS:,.0f}",
            f"{lags[len(lags) // 2]:.1f}", f"{lags[len(lags) * 99 // 100]:.1f}", f"{outcome.waiting:,}",
        )  # fmt: skip


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Messages from captures to the sink.")
    add_options(parser)
    options = parser.parse_args(argv)
    spawn = multiprocessing.get_context("spawn")
    address, stop = spawn.Queue(), spawn.Event()
    server = spawn.Process(target=serve, args=(address, stop), daemon=True)
    server.start()
    settings = Settings(datasets=frozenset({"shop"}), topic_dead_letter="dead-letter")
    publisher = MemoryPublisher()
    with write_client(address.get()) as client, redirect_stdout(StringIO()):
        sink = RecordHandler(settings, StorageWrite(Columns(), client), cast("ObjectReader", None), publisher)
        lines = [line for case in CASES for line in lines_of(sink, *case)]
    stop.set()
    server.join()
    if publisher.topics:
        raise RuntimeError(f"expected all rows to land, got messages on {', '.join(publisher.topics)}")
    named = versions(storage="google-cloud-bigquery-storage")
    sizes = f"{ROWS:,} rows a second over {TABLES} tables for {SECONDS} s; {INSTANCES} instances, {AT_ONCE} messages at once"
    publish(options, HEADING, machine(sizes, named), markdown(HEADER, lines))


if __name__ == "__main__":
    main()
