"""Two source tables of one base name: one of them waits in quarantine, so that their rows do not mix."""

from __future__ import annotations

import pytest
from support.database_servers import MariaDb, MySql
from support.quarantine_scene import QuarantineScene, check_in_quarantine, check_left, check_restart, critical, statements
from support.source_database import on

from onefold.mysql.table_filter import TableFilter


@on(MariaDb, long=MySql)
@pytest.mark.parametrize("first", ["a b", "a_b"])
def test_a_second_table_of_one_base_name_waits_in_quarantine_until_it_is_renamed(scene: QuarantineScene, first: str) -> None:
    """The table that was captured first keeps the name, and no row of the second one is published."""
    second = {"a b": "a_b", "a_b": "a b"}[first]
    scene.source.run(f"CREATE TABLE `{first}` (id INT PRIMARY KEY, n INT)", f"INSERT INTO `{first}` VALUES (1, 1)")
    scene.once(snapshot=True)
    scene.source.run(f"CREATE TABLE `{second}` (id INT PRIMARY KEY, s TEXT)")
    scene.touch(first, second, "good", "other")
    lines = scene.once()
    remedy = check_in_quarantine(scene, lines, second, "name")
    assert all(repr(name) in critical(lines)[0]["reason"] for name in (first, second))
    check_restart(scene, "a_b", len(scene.landed("a_b")))
    scene.touch(first)
    scene.once(again=TableFilter((f"{scene.source.name}.*",)))
    assert scene.landed("a_b") == scene.rows(first, "id", "n")
    assert scene.quarantine() == [(second, "name")]
    (rename,) = statements(remedy)
    scene.source.run(rename.partition("; or")[0])
    scene.once()
    assert (scene.quarantine(), scene.landed("a_b_2")) == ([], scene.rows("a_b_2", "id", "s"))


@on(MariaDb, MySql)
def test_the_second_table_of_a_base_name_is_copied_when_the_first_is_dropped(scene: QuarantineScene) -> None:
    scene.source.run("CREATE TABLE `a.b` (id INT PRIMARY KEY)", "CREATE TABLE `a b` (id INT PRIMARY KEY)")
    scene.touch("a.b", "a b")
    lines = scene.once(snapshot=True)
    assert [line["table"] for line in critical(lines)] == ["a.b"]
    assert scene.landed("a_b") == scene.rows("a b", "id")
    scene.source.run("DROP TABLE `a b`")
    scene.touch("a.b")
    lines = scene.once()
    check_left(scene, lines, "a.b")
    assert scene.rows("a.b", "id").items() <= scene.landed("a_b").items()
