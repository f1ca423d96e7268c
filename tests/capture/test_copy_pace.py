"""The pace of copies: what the log says before one, rows per second, and the hours of the day."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from support.capture import CREATE, Bench, bench_of, eventually, latest, shown
from support.source_database import SourceDatabase

from onefold.capture.copy_pace import CopyPace, copy_window
from onefold.core.errors import InvalidInput
from onefold.core.shutdown import Stop
from onefold.mysql.snapshot.table_size import TableSize


@pytest.fixture
def bench(source: SourceDatabase, tmp_path: Path) -> Bench:
    return bench_of(source, tmp_path)


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def lines(capsys: pytest.CaptureFixture[str], event: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [line for line in found if line.get("event") == event]


class QuickStop(Stop):
    """Notes the pauses, and waits for a moment only."""

    def __init__(self) -> None:
        super().__init__()
        self.pauses: list[float] = []

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        super().pause(min(seconds, 0.01))


@pytest.mark.parametrize(
    ("text", "open_at", "closed_at"),
    [
        ("22:00-05:00", "2024-07-01 22:00", "2024-07-01 21:59:59"),
        ("22:00-05:00", "2024-07-01 04:59:59", "2024-07-01 05:00"),
        ("09:30-17:00", "2024-07-01 09:30", "2024-07-01 17:00"),
        ("22:00-05:00 Europe/Berlin", "2024-07-01 20:00", "2024-07-01 03:00"),
        ("22:00-05:00 Europe/Berlin", "2024-01-01 03:59", "2024-01-01 20:59"),
    ],
)
def test_a_window_is_open_at_its_hours_in_its_zone(text: str, open_at: str, closed_at: str) -> None:
    window = copy_window(text)
    assert (window.is_open(at(open_at)), window.is_open(at(closed_at))) == (True, False)
    assert str(window) == (text if " " in text else f"{text} UTC")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("at night", "expected HH:MM-HH:MM, or HH:MM-HH:MM and a time zone, got 'at night'"),
        ("22:00", "expected HH:MM-HH:MM"),
        ("22:00-24:00", "expected HH:MM-HH:MM"),
        ("22:60-05:00", "expected HH:MM-HH:MM"),
        ("22:00-05:00 Europe/Atlantis", "expected a time zone such as Europe/Berlin, got 'Europe/Atlantis'"),
        ("22:00-05:00 ../x", "expected a time zone"),
        ("22:00-22:00", "begins and ends at different times"),
    ],
)
def test_an_invalid_window_is_an_error(text: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        copy_window(text)


def test_the_size_of_a_table_is_readable() -> None:
    sizes = [str(TableSize(rows, size)) for rows, size in ((0, 0), (999, 999), (1000, 1000), (10**9, 2_500_000_000_000_000))]
    assert sizes == [
        "about 0 rows, 0 bytes",
        "about 999 rows, 999 bytes",
        "about 1,000 rows, 1.0 KB",
        "about 1,000,000,000 rows, 2500.0 TB",
    ]


def test_before_a_copy_the_log_says_how_much_it_reads(
    bench: Bench, source: SourceDatabase, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ", ".join(f"({number}, 'a')" for number in range(500))
    source.run(CREATE, f"INSERT INTO t VALUES {rows}", "ANALYZE TABLE t")
    bench.once(snapshot=True, pace=CopyPace(rate=100_000))
    ((estimated, size),) = source.rows(
        f"SELECT TABLE_ROWS, DATA_LENGTH FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{source.name}'"
    )
    (line,) = lines(capsys, "copy_begun")
    assert estimated > 400
    assert (line["table"], line["rows"], line["bytes"], line["rate"]) == ("t", estimated, size, 100_000)
    assert f"{source.name}.t is being copied: about {estimated:,} rows" in line["message"]


@pytest.mark.parametrize("key", ["PRIMARY KEY", ""], ids=["pages", "a pass"])
def test_a_copy_reads_no_more_rows_per_second_than_the_rate(bench: Bench, source: SourceDatabase, key: str) -> None:
    source.run(f"CREATE TABLE t (id INT {key})", "INSERT INTO t VALUES (1), (2), (3), (4), (5), (6), (7)")
    stop = QuickStop()
    capture = bench.capture(stop, once=True, snapshot=True, pace=CopyPace(rate=3))
    capture.clock = lambda: 0.0  # reading takes no time
    capture.run()
    assert len(bench.publisher.records()) == 7
    sizes = [len(body["records"]) for body in bench.publisher.bodies("change-records")]
    assert sizes == [3, 3, 1]
    assert (stop.pauses.count(1.0), stop.pauses.count(1 / 3)) == (2, 1)


NIGHT, NOON = at("2024-07-01 23:00"), at("2024-07-01 12:00")


def test_copies_wait_for_their_window_while_changes_stream(
    bench: Bench, source: SourceDatabase, capsys: pytest.CaptureFixture[str]
) -> None:
    source.run(CREATE, "INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    now = [NOON]
    bench.now = lambda: now[0]
    with bench.running(snapshot=True, pace=CopyPace(window=copy_window("22:00-05:00"))):
        eventually(lambda: lines(capsys, "copies_wait"))
        source.run("UPDATE t SET name = 'c' WHERE id = 2")
        eventually(bench.publisher.count)
        assert {one["metadata"]["ingestion_method"] for one in bench.publisher.records()} == {"BINLOG"}
        now[0] = NIGHT
        eventually(lambda: len(latest(bench.publisher.records())) == 2)
    assert latest(bench.publisher.records()) == shown(source, "t")


PACE = CopyPace(rate=2, window=copy_window("22:00-05:00"))
SIX = "INSERT INTO t VALUES (1), (2), (3), (4), (5), (6)"


def test_a_copy_that_is_not_finished_continues_in_the_next_window(
    bench: Bench, source: SourceDatabase, capsys: pytest.CaptureFixture[str]
) -> None:
    source.run("CREATE TABLE t (id INT PRIMARY KEY)", SIX)
    is_tomorrow = False
    bench.now = lambda: NIGHT if is_tomorrow or bench.publisher.count() == 0 else NOON
    with bench.running(snapshot=True, pace=PACE, stop=QuickStop()):
        eventually(lambda: lines(capsys, "copies_wait"))
        assert bench.publisher.count() == 2, "the window has closed behind the first chunk"
        is_tomorrow = True
        eventually(lambda: bench.publisher.count() == 6)
    assert sorted(record["data"]["id"] for record in bench.publisher.records()) == [1, 2, 3, 4, 5, 6]


def test_a_table_that_is_read_in_one_pass_is_read_to_its_end(bench: Bench, source: SourceDatabase) -> None:
    source.run("CREATE TABLE t (id INT)", SIX)
    bench.now = lambda: NIGHT if bench.publisher.count() == 0 else NOON
    with bench.running(snapshot=True, pace=PACE, stop=QuickStop()):
        eventually(lambda: bench.publisher.count() == 6)
