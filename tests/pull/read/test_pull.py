"""Pulls of a real server: which rows come, with which day and position, and what a table's change does."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from pathlib import Path

import pytest
from support.database_servers import MariaDb, MySql
from support.pulls import START, PullScene, by, lines
from support.source_database import SourceDatabase, on

from onefold.batches.source_arguments import Window
from onefold.changelog.position import Position
from onefold.pull.read.part import PartResult
from onefold.pull.read.plan import TablePlan
from onefold.pull.read.pull import Reader
from onefold.settings.sources import Source, TableLoad, WatermarkColumn

pytestmark = on(MariaDb, MySql)


@pytest.fixture
def scene(source: SourceDatabase, tmp_path: Path) -> PullScene:
    source.run("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20), at DATETIME(3) NULL, KEY (at))")
    return PullScene(source, tmp_path, {"t": by("at")})


def ids(rows: list[dict[str, object]]) -> list[object]:
    return sorted((row["id"] for row in rows), key=str)


def test_a_row_lands_like_a_captured_one(scene: PullScene) -> None:
    scene.database.run("INSERT INTO t VALUES (1, 'Zoë', '2026-05-03 10:00:00.123')")
    (row,) = scene.rows()
    metadata = row["datastream_metadata"]
    assert (row["source_name"], row["database_name"], row["_day"]) == ("fraud", scene.database.name, "2026-05-03")
    assert (metadata["ingestion_method"], metadata["change_type"], metadata["primary_key"]) == ("PULL", "INSERT", ["id"])
    assert metadata["uuid"] == scene.loads.pulled[0].plan.load_id
    assert row["_landed_at"].endswith("+00:00")
    watermark, read_at, part, line = (int(section, 16) for section in metadata["change_sequence_number"].split("/"))
    assert (watermark - 2**63, part, line) == (1_777_802_400_123_000, 0, 0)
    assert metadata["source_timestamp"] == read_at // 1000


def test_a_later_pull_reads_from_the_watermark_less_the_overlap_and_its_rows_win(scene: PullScene) -> None:
    scene.database.run("INSERT INTO t VALUES (1, 'a', '2026-05-03 10:00:00'), (2, 'b', '2026-05-03 10:20:00')")
    first = scene.rows()
    scene.database.run("INSERT INTO t VALUES (3, 'late', '2026-05-03 10:05:00'), (4, 'too late', '2026-05-03 10:04:59.999')")
    second = scene.rows()
    assert (ids(first), ids(second)) == ([1, 2], [2, 3])
    before, after = (
        str(Position(row["datastream_metadata"]["change_sequence_number"])) for row in (*first, *second) if row["id"] == 2
    )
    assert before < after


def test_rows_above_the_border_are_loaded_and_do_not_stop_the_table(scene: PullScene) -> None:
    scene.database.run("INSERT INTO t VALUES (1, 'a', '2020-05-03 10:00:00'), (2, 'future', '2099-01-01')")
    assert ids(scene.rows()) == [1, 2]
    pulled = scene.loads.pulled[-1]
    assert pulled.rows_above == 1
    assert pulled.watermark == pulled.read_at
    scene.database.run("INSERT INTO t VALUES (3, 'new', UTC_TIMESTAMP(3))")
    assert ids(scene.rows()) == [2, 3]


def test_rows_without_a_watermark_come_with_daily_loads_and_lie_in_the_first_day(scene: PullScene) -> None:
    scene.database.run(
        "SET sql_mode = ''",
        "INSERT INTO t VALUES (1, 'a', NULL), (2, 'zero', '0000-00-00'), (3, 'c', '2026-05-03 10:00:00')",
    )
    assert ids(scene.rows()) == [1, 2, 3]
    assert scene.loads.pulled[-1].rows_without_watermark == 2
    assert ids(scene.rows()) == [3]
    daily = scene.rows("day")
    assert ids(daily) == [1, 2, 3]
    assert {row["id"]: row["_day"] for row in daily} == {1: "0001-01-01", 2: "0001-01-01", 3: "2026-05-03"}
    assert scene.loads.pulled[-1].plan.range.days == (date(2026, 5, 3),)


def test_a_daily_load_reads_from_midnight_without_an_end(scene: PullScene) -> None:
    scene.database.run(
        "INSERT INTO t VALUES (1, 'before', '2026-05-02 23:59:59.999'), (2, 'first', '2026-05-03'), (3, 'now', '2026-05-04')"
    )
    scene.rows()
    assert ids(scene.rows("day")) == [2, 3]


def test_an_older_request_does_nothing(scene: PullScene) -> None:
    scene.database.run("INSERT INTO t VALUES (1, 'a', '2026-05-03')")
    scene.rows()
    late = scene.pull(at=scene.at)
    assert [table.outcome for table in late.run().tables] == ["skipped"]
    assert len(scene.loads.pulled) == 1


def test_a_request_of_one_window_does_not_count_for_another(scene: PullScene) -> None:
    scene.database.run("INSERT INTO t VALUES (1, 'a', '2026-05-03')")
    scene.rows()
    scene.rows("day")
    # 15m was asked for after 15 minutes, and day after 30.
    asked: list[tuple[Window, int]] = [("15m", 20), ("15m", 60), ("day", 40), ("day", 35), ("15m", 50)]
    reports = [scene.pull(window, at=START + timedelta(minutes=minutes)).run() for window, minutes in asked]
    assert [report.tables[0].outcome for report in reports] == ["loaded", "loaded", "loaded", "skipped", "skipped"]


def test_an_empty_table_and_then_its_first_row(scene: PullScene) -> None:
    assert scene.rows() == []
    assert scene.loads.pulled[-1].watermark is None
    scene.database.run("INSERT INTO t VALUES (1, 'a', '2026-05-03')")
    assert ids(scene.rows()) == [1]


def test_a_new_structure_is_read_whole_and_a_nullable_column_at_the_end_is_not(scene: PullScene) -> None:
    scene.database.run("INSERT INTO t VALUES (1, 'a', '2026-05-01'), (2, 'b', '2026-05-03')")
    scene.rows()
    scene.database.run("ALTER TABLE t ADD COLUMN more INT NULL")
    assert ids(scene.rows()) == [2]
    assert not scene.loads.pulled[-1].plan.first
    scene.database.run("ALTER TABLE t ADD COLUMN filled INT DEFAULT 7")
    assert ids(scene.rows()) == [1, 2]
    assert scene.loads.pulled[-1].plan.first
    scene.database.run("ALTER TABLE t ADD COLUMN early INT NULL FIRST")
    assert ids(scene.rows()) == [1, 2]
    assert len({pulled.version for pulled in scene.loads.pulled}) == 4


def test_a_table_that_is_altered_while_it_is_read_is_read_again(scene: PullScene) -> None:
    scene.database.run("INSERT INTO t VALUES (1, 'a', '2026-05-03')")
    pull = scene.pull()
    reader = pull.reader
    altered: list[TablePlan] = []

    class Altering:
        def read(self, plan: TablePlan, part: int) -> PartResult:
            result = reader.read(plan, part)
            if not altered:
                scene.database.run("ALTER TABLE t MODIFY name VARCHAR(50), ADD COLUMN n INT DEFAULT 3")
            altered.append(plan)
            return result

    (report,) = replace(pull, reader=Altering()).run().tables
    assert report.outcome == "loaded"
    assert len(altered) == 2
    (pulled,) = scene.loads.pulled
    assert [row["n"] for row in lines(pulled)] == [3]


class Killed(Exception):
    """The process ends here."""


@dataclass
class Killing:
    """A reader whose process is killed in some key range; it remembers the ranges that it has read."""

    reader: Reader
    killed_in: int | None
    read_parts: list[int] = field(default_factory=list)

    def read(self, plan: TablePlan, part: int) -> PartResult:
        if self.killed_in is not None and part >= self.killed_in:
            raise Killed
        self.read_parts.append(part)
        return self.reader.read(plan, part)


def test_a_first_pull_that_was_killed_reads_only_the_missing_ranges(scene: PullScene) -> None:
    values = ", ".join(f"({number}, 'a', '2026-05-03')" for number in range(1, 101))
    scene.database.run(f"INSERT INTO t VALUES {values}", "ANALYZE TABLE t")
    scene.part_rows = 20
    first = scene.pull(parallel=1)
    killed = Killing(first.reader, killed_in=3)
    assert [table.outcome for table in replace(first, reader=killed).run().tables] == ["failed"]
    assert killed.read_parts == [0, 1, 2]
    scene.database.run("INSERT INTO t VALUES (1000, 'new', '2026-05-03'), (-5, 'in a range that was read', '2026-05-03')")
    again = scene.pull(parallel=1)
    rest = Killing(again.reader, None)
    assert [table.outcome for table in replace(again, reader=rest).run().tables] == ["loaded"]
    assert rest.read_parts == [3, 4]
    (pulled,) = scene.loads.pulled
    assert ids(lines(pulled)) == sorted([*range(1, 101), 1000], key=str)
    sequences = [row["datastream_metadata"]["change_sequence_number"] for row in lines(pulled)]
    assert len(set(sequences)) == len(sequences)
    assert {section.split("/")[1] for section in sequences} == {f"{pulled.read_at:X}"}
    assert -5 in ids(scene.rows())


def test_two_first_pulls_at_once_have_the_same_files(scene: PullScene) -> None:
    values = ", ".join(f"({number}, 'a', '2026-05-03')" for number in range(1, 51))
    scene.database.run(f"INSERT INTO t VALUES {values}", "ANALYZE TABLE t")
    scene.part_rows = 10
    one, two = scene.pull(), scene.pull()
    with ThreadPoolExecutor(2) as threads:
        reports = list(threads.map(lambda pull: pull.run(), (one, two)))
    found = {pulled.plan.load_id: [file.name for file in pulled.files] for pulled in scene.loads.pulled}
    assert len(found) == 1, reports
    assert ids(lines(scene.loads.pulled[0])) == sorted(range(1, 51), key=str)


def test_a_daily_load_has_files_of_their_own_for_replaced_days(scene: PullScene) -> None:
    scene.database.run(
        "INSERT INTO t VALUES (1, 'a', NULL), (2, 'b', '2026-05-03'), (3, 'c', '2026-05-04'), (4, 'd', '2026-05-05'), "
        "(5, 'e', '2026-05-03 23:59:59')"
    )
    scene.rows()
    scene.rows("day")
    days = [{day for day, _ in file.days} for file in scene.loads.pulled[-1].files]
    assert sorted(days, key=min) == [{date(1, 1, 1)}, {date(2026, 5, 3)}, {date(2026, 5, 4), date(2026, 5, 5)}]


def test_a_failing_table_does_not_stop_the_others(scene: PullScene) -> None:
    scene.database.run("CREATE TABLE keyless (a INT)", "CREATE TABLE other (a INT)", "INSERT INTO t VALUES (1, 'a', NULL)")
    scene.tables = {"keyless": by("a"), "t": by("at")}
    report = scene.pull().run()
    assert {table.table: table.outcome for table in report.tables} == {
        "keyless": "failed",
        "other": "skipped",
        "t": "loaded",
    }
    assert "expected a key" in report.tables[0].reasons[0]


def test_a_key_watermark_reads_again_what_may_have_committed_late(source: SourceDatabase, tmp_path: Path) -> None:
    source.run("CREATE TABLE t (id BIGINT UNSIGNED PRIMARY KEY)", "INSERT INTO t VALUES (5), (18446744073709551615)")
    scene = PullScene(source, tmp_path, {"t": by("id", pull_overlap=2)})
    rows = scene.rows()
    assert {row["_day"] for row in rows} == {"2026-05-04"}
    assert scene.loads.pulled[-1].watermark == 2**64 - 1
    source.run("INSERT INTO t VALUES (18446744073709551613), (18446744073709551612)")
    assert ids(scene.rows()) == ["18446744073709551613", "18446744073709551615"]
    positions = {row["id"]: str(Position(row["datastream_metadata"]["change_sequence_number"])) for row in rows}
    assert positions["5"] < positions["18446744073709551615"]


def test_seconds_since_1970_are_a_time(source: SourceDatabase, tmp_path: Path) -> None:
    source.run("CREATE TABLE t (id INT PRIMARY KEY, s INT)", "INSERT INTO t VALUES (1, 1777802400), (2, -1), (3, NULL)")
    scene = PullScene(source, tmp_path, {"t": TableLoad("incremental", WatermarkColumn("s", unix_seconds=True))})
    assert {row["id"]: row["_day"] for row in scene.rows()} == {1: "2026-05-03", 2: "1969-12-31", 3: "0001-01-01"}
    source.run("INSERT INTO t VALUES (4, 1777801500), (5, 1777801499)")
    assert ids(scene.rows()) == [1, 4]


def test_dropped_columns_never_leave_the_source(source: SourceDatabase, tmp_path: Path) -> None:
    source.run("CREATE TABLE t (id INT PRIMARY KEY, Pan VARCHAR(20), b INT)", "INSERT INTO t VALUES (1, '4111', 2)")
    scene = PullScene(source, tmp_path, {"t": TableLoad(drop=("pan",))})
    (row,) = scene.rows("full")
    assert row.keys() - {"source_name", "database_name", "_landed_at", "datastream_metadata", "_day"} == {"id", "b"}
    assert not any(b"Pan" in path.read_bytes() or b"4111" in path.read_bytes() for path in tmp_path.rglob("*.json"))


@pytest.mark.parametrize(("column", "dropped"), [("pr\u00e9nom", "pre\u0301nom"), ("pre\u0301nom", "PR\u00c9NOM")])
def test_dropped_columns_are_found_in_any_form_of_unicode(
    source: SourceDatabase, tmp_path: Path, column: str, dropped: str
) -> None:
    source.run(f"CREATE TABLE t (id INT PRIMARY KEY, `{column}` VARCHAR(20))", "INSERT INTO t VALUES (1, 'Ada')")
    scene = PullScene(source, tmp_path, {"t": TableLoad(drop=(dropped,))})
    (row,) = scene.rows("full")
    assert "Ada" not in row.values()


def test_the_settings_of_a_table_are_found_in_any_form_of_unicode() -> None:
    first = TableLoad("full", drop=("pan",))
    tables = {"kund\u00e9*": first, "*": TableLoad("full")}
    assert Source("fraud", "db", tables=tables).load_of("models", "kunde\u0301n") == first


def test_compressed_files(scene: PullScene) -> None:
    scene.database.run("INSERT INTO t VALUES (1, 'a', '2026-05-03')")
    assert ids(scene.rows(compress="gzip")) == [1]
    (file,) = scene.loads.pulled[-1].files
    assert file.name.endswith(f"/json/fraud/{scene.database.name}/t/first/20260504/20260504041500_0.json.gz")
