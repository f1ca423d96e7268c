"""Structures that changed without a statement in the log: their tables are copied."""

from __future__ import annotations

import pytest
from support.database_servers import MariaDb, MySql
from support.quarantine_scene import QuarantineScene, alter_silently
from support.source_database import on


@on(MariaDb, MySql)
@pytest.mark.parametrize("again", [True, False], ids=["by the next process", "by the same process"])
def test_a_table_whose_structure_changed_without_a_statement_is_copied(scene: QuarantineScene, again: bool) -> None:
    scene.source.run("CREATE TABLE bad (id INT PRIMARY KEY, n INT)", "INSERT INTO bad VALUES (1, 1)")
    scene.once(snapshot=True)
    scene.touch("bad")
    if again:
        scene.once()
    alter_silently(scene.source, "ALTER TABLE bad ADD c INT NOT NULL DEFAULT 5")
    scene.touch("bad")
    lines = scene.once()
    assert [(line["table"], line["severity"]) for line in lines if line["event"] == "copy_wanted"] == [("bad", "WARNING")]
    assert scene.landed("bad") == scene.rows("bad", "id", "n", "c")
    scene.touch("bad")
    assert [line for line in scene.once() if line["event"] == "copy_wanted"] == []


@on(MariaDb, MySql)
@pytest.mark.parametrize(
    "statement",
    ["ANALYZE TABLE bad", "CREATE TABLE bad_ones (id INT PRIMARY KEY)", "CREATE TABLE IF NOT EXISTS bad (id INT)"],
)
def test_a_statement_that_alters_nothing_does_not_hide_an_unlogged_change(scene: QuarantineScene, statement: str) -> None:
    scene.source.run("CREATE TABLE bad (id INT PRIMARY KEY, n INT)", "INSERT INTO bad VALUES (1, 1)")
    scene.once(snapshot=True)
    alter_silently(scene.source, "ALTER TABLE bad ADD c INT NOT NULL DEFAULT 5")
    scene.source.run(statement)
    scene.touch("bad")
    scene.once()
    assert scene.landed("bad") == scene.rows("bad", "id", "n", "c")


@on(MariaDb, MySql)
def test_a_statement_that_changes_no_stored_row_copies_nothing(scene: QuarantineScene) -> None:
    scene.source.run("CREATE TABLE bad (id INT PRIMARY KEY, n INT)", "INSERT INTO bad VALUES (1, 1)")
    scene.once(snapshot=True)
    scene.touch("bad")
    scene.source.run("ALTER TABLE bad ADD c INT")
    scene.touch("bad")
    lines = scene.once()
    assert [line["event"] for line in lines if line["event"] in ("copied", "copy_wanted")] == []
