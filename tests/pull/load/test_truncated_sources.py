"""Tables whose keys start again, on real servers: they are read whole, and the deletion of the newest row is told apart."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from support.changed_table import outcomes, shown
from support.check_scene import CheckScene
from support.database_servers import MariaDb, MySql
from support.pulls import by
from support.source_database import on
from support.sweeps import sweep

from onefold.core.errors import TryAgain
from onefold.pull.read.part import PartResult
from onefold.pull.read.plan import TablePlan

pytestmark = on(MariaDb, long=MySql)


@pytest.mark.long
@pytest.mark.parametrize("statement", sweep(["TRUNCATE t", "DROP TABLE t"]))
def test_a_truncated_table_is_read_whole(scene: CheckScene, statement: str, capsys: pytest.CaptureFixture[str]) -> None:
    scene.tables = {"t": by("id", pull_overlap=0)}
    scene.source.run("DO SLEEP(1.1)")  # so that the time of creation does not tell a truncation
    scene.pull()
    scene.source.run(
        statement,
        "CREATE TABLE IF NOT EXISTS t (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(20), at DATETIME(3), KEY (at))",
        "INSERT INTO t (name) VALUES ('new')",
    )
    capsys.readouterr()
    (report,) = scene.run().tables
    assert (report.outcome, report.truncated) == ("loaded", True)
    assert shown(scene) == {1: "new"}
    (line,) = (line for line in capsys.readouterr().out.splitlines() if '"table_truncated"' in line)
    assert '"severity": "WARNING"' in line
    scene.source.run("INSERT INTO t (name) VALUES ('newer')")
    (report,) = scene.run().tables
    assert (report.truncated, shown(scene)) == (False, {1: "new", 2: "newer"})


@pytest.mark.long
@pytest.mark.parametrize("made", sweep(["before the pull", "after it"]))
def test_another_table_with_a_greater_counter_is_read_whole(scene: CheckScene, made: str) -> None:
    scene.tables = {"t": by("id", pull_overlap=0)}
    create = (
        "DO SLEEP(1.1)",  # the server shows the time of creation in whole seconds
        "CREATE TABLE fresh (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(20), at DATETIME(3), KEY (at))",
        "ALTER TABLE fresh AUTO_INCREMENT = 9",
        "DO SLEEP(1.1)",
    )
    for when in ("before the pull", "after it"):
        if made == when:
            scene.source.run(*create)
        if when == "before the pull":
            scene.pull()
    scene.source.run("INSERT INTO fresh (id, name) VALUES (2, 'new')", "DROP TABLE t", "RENAME TABLE fresh TO t")
    assert scene.run().tables[0].truncated
    assert shown(scene) == {2: "new"}


def test_a_table_that_was_truncated_and_is_empty_is_told_once(scene: CheckScene) -> None:
    scene.tables = {"t": by("id")}
    scene.pull()
    scene.source.run("TRUNCATE t")
    assert [scene.run().tables[0].truncated for _ in range(2)] == [True, False]
    assert shown(scene) == {}


def test_the_deletion_of_the_newest_row_is_no_truncation(scene: CheckScene) -> None:
    scene.tables = {"t": by("id")}
    scene.source.run("DO SLEEP(1.1)")  # the server shows the time of creation in whole seconds
    scene.pull()
    scene.source.run("DELETE FROM t WHERE id = 3")
    (report,) = scene.run().tables
    assert (report.outcome, report.truncated) == ("loaded", False)
    scene.source.run("DELETE FROM t")
    assert not scene.run().tables[0].truncated


def test_where_no_counter_tells_the_table_is_read_whole(scene: CheckScene) -> None:
    scene.source.run("ALTER TABLE t MODIFY id INT NOT NULL")
    scene.tables = {"t": by("id", pull_overlap=0)}
    scene.pull()
    scene.source.run("TRUNCATE t", "INSERT INTO t (id, name) VALUES (2, 'new')")
    assert scene.run().tables[0].truncated
    assert shown(scene) == {2: "new"}


@dataclass(frozen=True)
class FailingReader:
    """A reader whose source ends each connection."""

    def read(self, plan: TablePlan, part: int) -> PartResult:
        raise TryAgain(f"{plan.table}: range {part} cannot be read")


@pytest.mark.long
def test_a_truncation_is_not_forgotten_where_the_pull_that_saw_it_failed(scene: CheckScene) -> None:
    scene.tables = {"t": by("id", pull_overlap=0)}
    scene.pull()
    scene.source.run("TRUNCATE t", "INSERT INTO t (name) VALUES ('new')")
    assert outcomes(scene.run(reader=FailingReader())) == {"t": "failed"}
    # The greatest key is above the watermark again.
    scene.source.run("INSERT INTO t (name) VALUES ('new'), ('new'), ('new')")
    assert scene.run().tables[0].truncated
    assert shown(scene) == dict.fromkeys((1, 2, 3, 4), "new")
    assert not scene.run().tables[0].truncated


def test_a_full_load_that_failed_is_no_truncation(scene: CheckScene) -> None:
    scene.tables = {"t": by("id")}
    scene.pull()
    assert outcomes(scene.run("full", reader=FailingReader())) == {"t": "failed"}
    assert not scene.loads().state_of(scene.base("t"), "15m").truncated
