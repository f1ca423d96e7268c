"""The job as a process, from a real server to the full views: several tables at once, in each window, again, and late."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.database_servers import MariaDb, MySql
from support.pull_job import PulledDatabase, pulled_database
from support.small_ranges import ROWS
from support.source_database import SourceDatabase, numbers, on

DAILY = datetime.combine(datetime.now(UTC).date() - timedelta(days=1), time(4), UTC)
"""The hour of a daily load whose day is over for the server, too."""
NOON = DAILY - timedelta(hours=16)
BIG = "id, name, amount, changed"
pytestmark = [on(MariaDb, long=MySql), pytest.mark.heavy]


def at(when: datetime) -> str:
    return f"{when:%Y-%m-%d %H:%M:%S}"


@pytest.fixture
def pulled(source: SourceDatabase, dataset: EmulatedDataset, tmp_path: Path) -> Iterator[PulledDatabase]:
    """A large table, an empty one, one without a key, an append-only one, and one that cannot be read."""
    changed = "changed TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP"
    many = f"SELECT a.seq * 100 + b.seq AS n FROM {numbers(0, 9, 'a')}, {numbers(1, 100, 'b')}"
    source.run(
        "SET SESSION sql_mode = 'NO_ENGINE_SUBSTITUTION'",
        f"CREATE TABLE big (id INT PRIMARY KEY, name VARCHAR(40) NULL, amount DECIMAL(12,2), {changed}, KEY (changed))",
        f"INSERT INTO big SELECT n, CONCAT('Zoë 日本 ', n), n / 4, '{at(NOON)}' FROM ({many}) AS m",
        f"CREATE TABLE empty_one (id INT PRIMARY KEY, {changed}, KEY (changed))",
        "CREATE TABLE keyless (a INT, b VARCHAR(10))",
        "INSERT INTO keyless VALUES (1, 'x'), (1, 'x'), (NULL, NULL)",
        "CREATE TABLE events (id INT PRIMARY KEY AUTO_INCREMENT, what VARCHAR(10))",
        "INSERT INTO events (what) VALUES ('a'), ('b')",
        "CREATE TABLE lost (id INT PRIMARY KEY, v INT) ENGINE = MyISAM",
        "INSERT INTO lost VALUES (1, 1)",
        "FLUSH TABLES",
        "ANALYZE TABLE big",
    )
    (file,) = (source.server.data / source.name).glob("lost.MYD")
    file.unlink()
    by_time = {"mode": "incremental", "watermark": "changed"}
    tables = {
        "big": by_time, "empty_one": by_time, "events": {"mode": "incremental", "watermark": "id", "pull_overlap": 0},
        "keyless": {"mode": "full"}, "lost": {"mode": "incremental", "watermark": "id", "pull_overlap": 0},
    }  # fmt: skip
    with pulled_database(source, tmp_path, dataset, tables) as found:
        yield found


def check_views(pulled: PulledDatabase) -> None:
    expected = [(*row[:-1], row[-1].replace(tzinfo=UTC)) for row in pulled.rows("big", BIG)]
    assert pulled.view("big", BIG) == expected
    assert pulled.view("events", "id, what") == pulled.rows("events", "id, what")


@pytest.mark.long
def test_one_batch_pulls_all_tables_and_one_that_fails_stops_no_other(pulled: PulledDatabase) -> None:
    first = pulled.run("15m", "--at", at(DAILY - timedelta(hours=1)))
    assert first.code == 2, first.err
    assert first.outcomes == {
        "big": "loaded", "empty_one": "loaded", "events": "loaded", "keyless": "skipped", "lost": "failed",
    }  # fmt: skip
    assert (first.tables["big"]["rows"], first.tables["big"]["first"]) == (1000, True)
    assert 2 <= first.tables["big"]["files"] <= 2000 // ROWS
    assert (first.tables["empty_one"]["rows"], first.tables["empty_one"]["files"]) == (0, 0)
    (reason,) = first.tables["lost"]["reasons"]
    assert "lost" in reason.lower()
    assert "1 failed" in first.err.splitlines()[-1]
    assert not [line for line in first.err.splitlines() if line.startswith(("\tat ", "Traceback"))], first.err
    check_views(pulled)
    assert pulled.view("empty_one", "id") == []

    # The same request again does nothing; a table that failed is tried again.
    again = pulled.run("15m", "--at", at(DAILY - timedelta(hours=1)))
    assert (again.code, set(again.outcomes.values()), again.outcomes["lost"]) == (2, {"skipped", "failed"}, "failed")

    pulled.source.run(
        f"UPDATE big SET name = NULL, changed = '{at(NOON + timedelta(hours=1))}' WHERE id <= 10",
        f"INSERT INTO big VALUES (5000, 'new', -0.25, '{at(DAILY - timedelta(hours=2))}')",
        "INSERT INTO events (what) VALUES ('c')",
        "DROP TABLE empty_one",
    )
    often = pulled.run("15m", "--tables", "big", "e*", "--at", at(DAILY - timedelta(minutes=45)))
    assert (often.code, often.outcomes) == (2, {"big": "loaded", "events": "loaded", "empty_one": "missing"})
    assert often.tables["events"]["rows"] == 2  # the border is inclusive
    check_views(pulled)


def test_a_day_and_a_full_load_follow_the_source(pulled: PulledDatabase) -> None:
    words = ("--tables", "big", "keyless", "events", "--compress", "gzip", "--at")
    assert pulled.run("15m", *words, at(NOON + timedelta(hours=6))).code == 0  # the day of the keys of `events`
    pulled.source.run(
        "DELETE FROM big WHERE id <= 100",
        f"UPDATE big SET name = 'late', changed = '{at(NOON + timedelta(hours=1))}' WHERE id = 500",
        "DELETE FROM events WHERE id = 1",
        "DELETE FROM keyless WHERE a IS NULL",
    )
    day = pulled.run("day", *words, at(DAILY))
    assert (day.code, set(day.outcomes.values())) == (0, {"loaded"}), day.err
    check_views(pulled)
    assert pulled.view("keyless", "a, b") == [(1, "x"), (1, "x")]
    pulled.source.run("DELETE FROM big WHERE id > 900", "UPDATE keyless SET b = 'y'")
    full = pulled.run("full", *words, at(DAILY + timedelta(hours=1)))
    assert (full.code, full.tables["big"]["rows"]) == (0, 800)
    check_views(pulled)
    assert pulled.view("keyless", "a, b") == [(1, "y"), (1, "y")]
    counted = f"SELECT rows_at_source FROM `{pulled.name}._loads` WHERE state = 'loaded' AND table_name = 'keyless'"
    assert pulled.dataset.run(counted) == [(2,), (2,)]
    older = pulled.run("day", *words, at(DAILY - timedelta(hours=1)))
    assert (older.code, set(older.outcomes.values())) == (0, {"skipped"})
    folder = f"json/fraud/{pulled.source.name}/big"
    assert {name.rpartition("/")[0] for name in pulled.files if name.startswith(folder)} >= {
        f"{folder}/{kind}/{day:%Y%m%d}" for kind, day in (("first", NOON), ("partition/1d", DAILY), ("full", DAILY))
    }
    assert all(name.endswith(".json.gz") for name in pulled.files if name.startswith(f"{folder}/full"))


@pytest.mark.long
def test_one_batch_pulls_several_databases_and_one_that_is_unknown_stops_no_other(pulled: PulledDatabase) -> None:
    pulled.others = ("elsewhere",)
    words = ("--tables", "big", "events", "--parallel", "2", "--at", at(DAILY - timedelta(hours=1)))
    first = pulled.run("15m", *words)
    assert (first.code, first.outcomes) == (2, {"big": "loaded", "events": "loaded"}), first.err
    assert "database_not_pulled" in first.out
    assert first.err.splitlines()[-1] == "2 databases, 1 failed"
    check_views(pulled)
    pulled.others = ()
    again = pulled.run("15m", *words)
    assert set(again.outcomes.values()) == {"skipped"}  # the log is that of a pull of the database alone
