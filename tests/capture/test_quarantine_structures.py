"""Tables whose structure cannot be captured, or which the warehouse refuses: only they are withheld."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from support.capture import MemoryTables
from support.database_servers import MariaDb, MySql
from support.quarantine_scene import QuarantineScene, check_in_quarantine, check_left, check_restart, critical, statements
from support.source_database import on

from onefold.core.errors import Rejected
from onefold.core.names import TableId
from onefold.schema.columns import Column

STRUCTURES = [
    pytest.param(
        MariaDb, "CREATE TABLE bad (id INT PRIMARY KEY, a VARCHAR(99) COMPRESSED, b TEXT COMPRESSED)", "a", id="compressed"
    ),
    pytest.param(MariaDb, "CREATE TABLE bad (id INT PRIMARY KEY, a TEXT CHARACTER SET swe7)", "a", id="charset"),
    pytest.param(MySql, "CREATE TABLE bad (id INT PRIMARY KEY, a TEXT CHARACTER SET swe7)", "a", id="charset of MySQL"),
    pytest.param(MariaDb, "CREATE TABLE bad (id INT PRIMARY KEY, a INT) WITH SYSTEM VERSIONING", "a", id="versioning"),
    pytest.param(MariaDb, "CREATE TABLE bad (id INT PRIMARY KEY, a_b INT, `a b` INT, `a-b` INT)", "a_b", id="columns"),
    pytest.param(MySql, "CREATE TABLE bad (id INT PRIMARY KEY, a_b INT, `a b` INT)", "a_b", id="columns of MySQL"),
]


@pytest.mark.parametrize("when", ["at the start", "while it runs"])
@pytest.mark.parametrize(("server", "create", "column"), STRUCTURES, indirect=["server"])
def test_a_table_with_a_structure_that_cannot_be_captured_waits_in_quarantine_for_the_remedy(
    scene: QuarantineScene, create: str, column: str, when: str
) -> None:
    if when == "at the start":
        scene.source.run(create)
    scene.once(snapshot=True)
    if when == "while it runs":
        scene.source.run(create)
    scene.touch("bad", "good", "other")
    lines = scene.once()
    if when == "at the start":  # the first start has reported it
        assert critical(lines) == []
        scene.check_others()
        remedy = scene.messages()[0]["remedy"]
    else:
        remedy = check_in_quarantine(scene, lines, "bad", "structure")
    check_restart(scene, "bad", 0)
    scene.source.run(f"UPDATE bad SET {column} = 1")
    scene.source.run(*(statement.partition("; or leave")[0] for statement in statements(remedy)))
    scene.touch("bad", "good", "other")
    check_left(scene, scene.once(), "bad")
    scene.source.run("UPDATE bad SET id = id + 1000 WHERE id > 101")
    scene.once()
    names = [name for name, *_ in scene.source.rows("SHOW COLUMNS FROM bad")]
    assert scene.landed("bad") == scene.rows("bad", *names)
    scene.check_others()


@on(MySql)
def test_a_vector_is_left_out_as_the_remedy_says(scene: QuarantineScene) -> None:
    scene.source.run("CREATE TABLE bad (id INT PRIMARY KEY, v VECTOR(3))")
    lines = scene.once(snapshot=True)
    remedy = check_in_quarantine(scene, lines, "bad", "structure")
    scene.source.run("INSERT INTO bad VALUES (1, STRING_TO_VECTOR('[1,2,3]'))")
    check_restart(scene, "bad", 0)
    (pattern,) = re.findall(r"--exclude (\S+)\)", remedy)
    scene.bench.patterns = replace(scene.bench.patterns, exclude=(pattern,))
    scene.once()
    assert (scene.quarantine(), scene.landed("bad")) == ([], {})


@dataclass
class RefusingTables(MemoryTables):
    """A warehouse that refuses a type."""

    def __init__(self) -> None:
        super().__init__()
        self.refused = "INTERVAL"

    def create_table(self, id_: TableId, columns: Sequence[Column], *more: Any, **named: Any) -> None:
        if any(str(column.type) == self.refused for column in columns):
            raise Rejected(f"{id_}: the type {self.refused} is not known")
        super().create_table(id_, columns, *more, **named)


@on(MariaDb, MySql)
@pytest.mark.parametrize("remedy", ["ALTER TABLE", "a later start"])
def test_a_type_that_the_warehouse_refuses_puts_a_table_into_quarantine(scene: QuarantineScene, remedy: str) -> None:
    refusing = scene.bench.warehouse = RefusingTables()
    scene.source.run("CREATE TABLE bad (id INT PRIMARY KEY, t TIME)")
    scene.once()
    scene.touch("bad", "good", "other")
    check_in_quarantine(scene, scene.once(), "bad", "warehouse")
    check_restart(scene, "bad", 0)
    if remedy == "ALTER TABLE":
        scene.source.run("ALTER TABLE bad MODIFY t VARCHAR(20)")
    else:
        refusing.refused = ""
    scene.touch("bad")
    check_left(scene, scene.once(), "bad")
    assert scene.landed("bad") == scene.rows("bad", "id", "t")


@on(MariaDb)
def test_a_table_that_was_repaired_before_the_log_was_read_is_copied_without_an_alarm(scene: QuarantineScene) -> None:
    """The log is read late: the copy shows the rows that cannot be read there."""
    scene.once(snapshot=True)
    scene.source.run("CREATE TABLE bad (id INT PRIMARY KEY, a TEXT COMPRESSED)", "INSERT INTO bad VALUES (1, 'x')")
    scene.source.run("ALTER TABLE bad MODIFY a TEXT", "INSERT INTO bad VALUES (2, 'y')")
    lines = scene.once()
    assert (critical(lines), scene.messages()) == ([], [])
    assert scene.landed("bad") == scene.rows("bad", "id", "a")


@on(MariaDb)
def test_rows_of_a_system_versioned_history_are_not_published(scene: QuarantineScene) -> None:
    scene.once(snapshot=True)
    scene.source.run(
        "CREATE TABLE bad (id INT PRIMARY KEY, a INT)", "ALTER TABLE bad ADD SYSTEM VERSIONING",
        "INSERT INTO bad VALUES (1, 1)", "UPDATE bad SET a = 2", "ALTER TABLE bad DROP SYSTEM VERSIONING",
        "UPDATE bad SET a = 3",
    )  # fmt: skip
    scene.once()
    assert scene.landed("bad") == {1: {"id": 1, "a": 3}}
    assert "row_start" not in str(scene.bench.publisher.records())


@on(MariaDb)
def test_a_table_in_quarantine_stays_there_in_a_new_epoch(scene: QuarantineScene) -> None:
    scene.source.run("CREATE TABLE bad (id INT PRIMARY KEY, a TEXT COMPRESSED)", "INSERT INTO bad VALUES (1, 'x')")
    scene.once(snapshot=True)
    scene.touch("good", "other")
    lines = scene.once(epoch=2)
    assert (critical(lines), scene.quarantine(), scene.bench.checkpoint()["epoch"]) == ([], [("bad", "structure")], 2)
    scene.check_others()
    (statement,) = statements(scene.messages()[0]["remedy"])
    scene.source.run(statement)
    check_left(scene, scene.once(), "bad")
    assert scene.landed("bad") == scene.rows("bad", "id", "a")
