"""The job, killed while its session starts, while it reads ranges and while it loads: run again, it follows the source."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.pull_job import PulledDatabase, pulled_database
from support.source_database import SourceDatabase, numbers
from support.spark_process import KILLS

pytestmark = pytest.mark.long

ROWS = 3_000
START = datetime.combine(datetime.now(UTC).date() - timedelta(days=1), datetime.min.time(), UTC)


def fill(source: SourceDatabase) -> None:
    many = f"SELECT a.seq * 1000 + b.seq AS n FROM {numbers(0, ROWS // 1000 - 1, 'a')}, {numbers(1, 1000, 'b')}"
    changed = "changed TIMESTAMP(6) NOT NULL"
    source.run(
        f"CREATE TABLE big (id INT PRIMARY KEY, name VARCHAR(40), {changed}, KEY (changed))",
        f"INSERT INTO big SELECT n, CONCAT('old ', n), '{START - timedelta(hours=1):%Y-%m-%d %H:%M:%S}' FROM ({many}) AS m",
        f"CREATE TABLE small (id INT PRIMARY KEY, name VARCHAR(40), {changed}, KEY (changed))",
        f"INSERT INTO small VALUES (1, 'one', '{START - timedelta(hours=1):%Y-%m-%d %H:%M:%S}')",
        "ANALYZE TABLE big",
    )


def change(source: SourceDatabase, turn: int, chance: random.Random) -> None:
    """Change rows a minute later than the last turn did."""
    later = f"'{START - timedelta(minutes=50 - turn):%Y-%m-%d %H:%M:%S}'"
    chosen = ", ".join(map(str, chance.sample(range(1, ROWS), 20)))
    source.run(
        f"UPDATE big SET name = 'turn {turn}', changed = {later} WHERE id IN ({chosen})",
        f"REPLACE INTO small VALUES ({turn}, 'turn {turn}', {later})",
    )


def check(pulled: PulledDatabase) -> None:
    for table in ("big", "small"):
        assert pulled.view(table, "id, name") == pulled.rows(table, "id, name")


def test_a_job_that_is_killed_anywhere_runs_again(
    source: SourceDatabase, dataset: EmulatedDataset, tmp_path: Path, chance: random.Random
) -> None:
    fill(source)
    by_time = {"mode": "incremental", "watermark": "changed"}
    with pulled_database(source, tmp_path, dataset, {"*": by_time}) as pulled:
        ranges = "range_"

        def noted() -> bool:
            return any(ranges in name for name in pulled.files)

        def announced() -> bool:
            return bool(pulled.topics.contents("table-created"))

        asked = ("--at", f"{START:%Y-%m-%d %H:%M}")
        stages: list[tuple[Callable[[], bool], float]] = [(noted, 0.0), (announced, 0.3)]
        killed = [pulled.kill("15m", *asked, since=since, after=after) for since, after in stages]
        assert any(killed)
        ranges_before = [name for name in pulled.files if ranges in name]
        assert ranges_before
        first = pulled.run("15m", *asked)
        assert (first.code, set(first.outcomes)) == (0, {"big", "small"}), first.err
        # The second kill may come after a table was loaded; what people read is compared in any case.
        assert set(first.outcomes.values()) <= {"loaded", "skipped"}, first.err
        check(pulled)
        for turn in range(2, 2 + KILLS):
            change(source, turn, chance)
            asked = ("--at", f"{START + timedelta(minutes=15 * turn):%Y-%m-%d %H:%M}")
            before = len(pulled.files)
            window = chance.choice(("15m", "day"))
            pulled.kill(window, *asked, since=lambda: len(pulled.files) > before, after=chance.uniform(0, 2))  # noqa: B023
            again = pulled.run(window, *asked)
            assert again.code == 0, again.err
            check(pulled)
        full = pulled.run("full", "--at", f"{START + timedelta(days=1):%Y-%m-%d %H:%M}")
        assert full.code == 0, full.err
        check(pulled)
        assert not [name for name in pulled.files if name.rpartition("/")[2].startswith(".")]


@pytest.mark.parametrize("windows", [("15m", "15m"), ("day", "day")])
def test_two_jobs_at_once_lose_nothing(
    source: SourceDatabase, dataset: EmulatedDataset, tmp_path: Path, windows: tuple[str, str]
) -> None:
    fill(source)
    with pulled_database(source, tmp_path, dataset, {"*": {"mode": "incremental", "watermark": "changed"}}) as pulled:
        asked = ("--at", f"{START:%Y-%m-%d %H:%M}")
        jobs = [pulled.start(window, *asked) for window in windows]
        codes = []
        for job in jobs:
            with job:
                job.communicate()
            codes.append(job.returncode)
        assert set(codes) <= {0, 2}
        assert pulled.run(windows[0], "--at", f"{START + timedelta(minutes=15):%Y-%m-%d %H:%M}").code == 0
        check(pulled)
