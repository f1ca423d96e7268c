"""Rows of the log that cannot be read: their table goes into quarantine when they are committed, and comes back."""

from __future__ import annotations

import pytest
from support.capture import eventually
from support.database_servers import MariaDb, MySql
from support.quarantine_scene import QuarantineScene, check_in_quarantine, check_left
from support.source_database import on


@on(MariaDb, MySql)
def test_rows_without_all_columns_put_a_table_into_quarantine_until_a_complete_row(scene: QuarantineScene) -> None:
    """The test keeps its session; the remedy is about the session that wrote the rows."""
    scene.source.run("CREATE TABLE bad (id INT PRIMARY KEY, n INT, c INT DEFAULT 7)", "INSERT INTO bad VALUES (1, 1, 1)")
    scene.once(snapshot=True)
    scene.source.run("SET SESSION binlog_row_image = 'MINIMAL'", "UPDATE bad SET n = 2 WHERE id = 1")
    scene.source.run("SET SESSION binlog_row_image = 'FULL'")
    scene.touch("good", "other")
    lines = scene.once()
    assert "binlog_row_image = FULL" in check_in_quarantine(scene, lines, "bad", "rows")
    assert scene.landed("bad") == {1: {"id": 1, "n": 1, "c": 1}}
    scene.touch("bad")
    check_left(scene, scene.once(), "bad")
    assert scene.landed("bad") == scene.rows("bad", "id", "n", "c")


@on(MariaDb, MySql)
def test_a_complete_row_brings_a_table_back_while_capture_runs(scene: QuarantineScene) -> None:
    scene.source.run("CREATE TABLE bad (id INT PRIMARY KEY, n INT)", "INSERT INTO bad VALUES (1, 1)")
    with scene.bench.running(snapshot=True) as capture:
        eventually(lambda: scene.landed("bad"))
        capture._guard.quiet_seconds = 0
        scene.source.run("SET SESSION binlog_row_image = 'MINIMAL'", "UPDATE bad SET n = 2 WHERE id = 1")
        eventually(scene.messages)
        scene.source.run("SET SESSION binlog_row_image = 'FULL'", "INSERT INTO bad VALUES (2, 2)")
        eventually(lambda: scene.landed("bad") == scene.rows("bad", "id", "n"))
    assert scene.quarantine() == []


@on(MariaDb, long=MySql)
def test_incomplete_rows_between_complete_ones_do_not_copy_the_table_again_and_again(scene: QuarantineScene) -> None:
    scene.source.run("CREATE TABLE bad (id INT PRIMARY KEY, n INT)", "INSERT INTO bad VALUES (1, 1)")
    with scene.bench.running(snapshot=True):
        eventually(lambda: scene.landed("bad"))
        for number in range(3):
            scene.source.run("SET SESSION binlog_row_image = 'MINIMAL'", f"UPDATE bad SET n = n + {number + 1}")
            scene.source.run("SET SESSION binlog_row_image = 'FULL'", f"INSERT INTO bad VALUES ({number + 2}, 0)")
        scene.touch("good")
        eventually(lambda: scene.landed("good"))
    assert (len(scene.messages()), scene.quarantine()) == (1, [("bad", "rows")])
    scene.once()
    assert (scene.quarantine(), scene.landed("bad")) == ([], scene.rows("bad", "id", "n"))


@on(MariaDb)
def test_a_log_that_stays_unreadable_after_a_copy_is_reported(scene: QuarantineScene) -> None:
    """The table is in order, and the server no longer names its columns in the log."""
    scene.source.run("CREATE TABLE bad (id INT PRIMARY KEY, n INT)", "INSERT INTO bad VALUES (1, 1)")
    with scene.bench.running(snapshot=True):
        eventually(lambda: scene.landed("bad"))
        scene.source.run("SET GLOBAL binlog_row_metadata = NO_LOG")
        try:
            for number in range(2, 6):
                scene.source.run("FLUSH TABLES", f"INSERT INTO bad VALUES ({number}, 1)")
                eventually(lambda: scene.messages() or len(scene.landed("bad")) == number)  # noqa: B023
        finally:
            scene.source.run("SET GLOBAL binlog_row_metadata = FULL")
        (message,) = scene.messages()
        assert "binlog_row_metadata" in message["reason"]
        scene.source.run("FLUSH TABLES", "INSERT INTO bad VALUES (9, 9)")
        eventually(lambda: scene.landed("bad") == scene.rows("bad", "id", "n"))


@on(MariaDb, MySql)
def test_children_of_a_parent_whose_rows_cannot_be_read_are_copied(scene: QuarantineScene) -> None:
    scene.source.run(
        "CREATE TABLE bad (id INT PRIMARY KEY, n INT)", "INSERT INTO bad VALUES (1, 1)",
        "CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES bad (id) ON DELETE SET NULL)",
        "INSERT INTO child VALUES (1, 1)",
    )  # fmt: skip
    scene.once(snapshot=True)
    scene.source.run("SET SESSION binlog_row_image = 'MINIMAL'", "DELETE FROM bad", "SET SESSION binlog_row_image = 'FULL'")
    scene.once()
    if (
        not scene.source.on_mariadb
    ):  # it logs what follows, with rows that lack columns, too: the next start brings both back
        assert scene.quarantine() == [("bad", "rows"), ("child", "rows")]
        scene.once()
    assert scene.landed("child") == {1: {"id": 1, "p": None}}


@on(MariaDb)
@pytest.mark.parametrize("end", ["ROLLBACK", "COMMIT"])
def test_only_a_commit_puts_a_table_into_quarantine(scene: QuarantineScene, end: str) -> None:
    """The temporary table makes the server log what is rolled back."""
    scene.source.run("CREATE TABLE bad (id INT PRIMARY KEY, n INT, c INT DEFAULT 7)", "INSERT INTO bad VALUES (1, 1, 1)")
    scene.once(snapshot=True)
    scene.source.run(
        "SET SESSION binlog_row_image = 'MINIMAL'", "BEGIN", "UPDATE bad SET n = 2", "UPDATE good SET n = 2",
        "CREATE TEMPORARY TABLE x (a INT)", end, "DROP TEMPORARY TABLE x", "SET SESSION binlog_row_image = 'FULL'",
    )  # fmt: skip
    scene.touch("good", "other")
    scene.once()
    assert scene.quarantine() == ([("bad", "rows")] if end == "COMMIT" else [])
    scene.check_others()
    assert scene.landed("bad") == {1: {"id": 1, "n": 1, "c": 1}}


@on(MariaDb, MySql)
@pytest.mark.parametrize("read_between", [True, False], ids=["prepared in one start", "prepared and ended in one start"])
@pytest.mark.parametrize("end", ["ROLLBACK", "COMMIT"])
def test_only_the_commit_of_an_xa_transaction_puts_a_table_into_quarantine(
    scene: QuarantineScene, end: str, read_between: bool
) -> None:
    scene.source.run("CREATE TABLE bad (id INT PRIMARY KEY, n INT, c INT DEFAULT 7)", "INSERT INTO bad VALUES (1, 1, 1)")
    scene.once(snapshot=True)
    xid = f"'{scene.source.name}'"
    scene.source.prepare(xid, "SET SESSION binlog_row_image = 'MINIMAL'", "UPDATE bad SET n = 2")
    if read_between:
        scene.once()
        assert scene.quarantine() == []
    scene.source.run(f"XA {end} {xid}")
    scene.touch("good", "other")
    scene.once()
    assert scene.quarantine() == ([("bad", "rows")] if end == "COMMIT" else [])
    scene.check_others()


@on(MariaDb)
def test_a_copy_after_quarantine_does_not_hide_an_xa_transaction_prepared_before(scene: QuarantineScene) -> None:
    """The copy cannot show the prepared rows, which come before the position of the copy. With MySQL the copy waits."""
    scene.source.run("CREATE TABLE bad (id INT PRIMARY KEY, n INT)", "INSERT INTO bad VALUES (1, 1), (2, 2)")
    scene.once(snapshot=True)
    scene.source.run("SET SESSION binlog_row_image = 'MINIMAL'", "UPDATE bad SET n = 3 WHERE id = 2")
    scene.source.run("SET SESSION binlog_row_image = 'FULL'")
    xid = f"'{scene.source.name}'"
    scene.source.prepare(xid, "SET SESSION binlog_row_image = 'FULL'", "UPDATE bad SET n = 4 WHERE id = 1")
    scene.once()
    assert scene.quarantine() == [("bad", "rows")]
    scene.once()
    assert scene.quarantine() == []
    scene.source.run(f"XA COMMIT {xid}")
    scene.once()
    assert scene.landed("bad") == scene.rows("bad", "id", "n") == {1: {"id": 1, "n": 4}, 2: {"id": 2, "n": 3}}
