"""Tables that the user of capture may not read or lock: the remedy is a GRANT that works as it is written."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.capture import eventually
from support.database_servers import MariaDb, MySql
from support.quarantine_scene import QuarantineScene, check_in_quarantine, check_left, check_restart, critical, statements
from support.source_database import on

from onefold.mysql.table_filter import TableFilter


@on(MariaDb, long=MySql)
@pytest.mark.parametrize("given", ["", "GRANT SELECT (id) ON {db}.bad TO {name}", "GRANT INSERT ON {db}.bad TO {name}"])
@pytest.mark.parametrize("named", [True, False], ids=["named by a pattern", "under a pattern"])
def test_a_missing_right_puts_a_table_into_quarantine_until_it_is_granted(
    scene: QuarantineScene, reader: Callable[[str], None], given: str, named: bool
) -> None:
    scene.source.run("CREATE TABLE bad (id INT PRIMARY KEY, n INT)", "INSERT INTO bad VALUES (1, 1)")
    if named:
        scene.bench.patterns = TableFilter(tuple(f"{scene.source.name}.{table}" for table in ("good", "other", "bad")))
    if given:
        reader(given)
    first = scene.once(snapshot=True)
    is_reported = bool(given) or named
    assert len(critical(first)) == is_reported  # a table that nobody may see is found in the log
    scene.touch("bad", "good", "other")
    lines = scene.once()
    remedy = check_in_quarantine(scene, first if is_reported else lines, "bad", "grant")
    user = f"'{scene.source.name}_reader'@'%'"
    assert statements(remedy) == [f"GRANT SELECT ON `{scene.source.name}`.`bad` TO {user}"]
    check_restart(scene, "bad", 0)
    reader(statements(remedy)[0])
    check_left(scene, scene.once(), "bad")
    assert scene.landed("bad") == scene.rows("bad", "id", "n")


@on(MariaDb, MySql)
@pytest.mark.parametrize(
    "given", ["GRANT SELECT (id, n) ON {db}.bad TO {name}", "GRANT INSERT, SELECT (id, n) ON {db}.bad TO {name}"]
)
def test_a_missing_right_on_an_invisible_column_puts_a_table_into_quarantine(
    scene: QuarantineScene, reader: Callable[[str], None], given: str
) -> None:
    """`SELECT *` of MySQL asks for no right on it, and a copy without it would outrank the whole rows of the log."""
    scene.source.run(
        "CREATE TABLE bad (id INT PRIMARY KEY, n INT, `s` INT DEFAULT 3 INVISIBLE)", "INSERT INTO bad (id) VALUES (1)"
    )
    reader(given)
    remedy = check_in_quarantine(scene, scene.once(snapshot=True), "bad", "grant")
    check_restart(scene, "bad", 0)
    reader(statements(remedy)[0])
    check_left(scene, scene.once(), "bad")
    assert scene.landed("bad") == scene.rows("bad", "id", "n", "s")


@on(MariaDb, MySql)
def test_rights_on_all_columns_are_not_a_right_on_the_table_and_hide_its_foreign_keys(
    scene: QuarantineScene, reader: Callable[[str], None]
) -> None:
    scene.source.run(
        "CREATE TABLE bad (id INT PRIMARY KEY, n INT, FOREIGN KEY (n) REFERENCES other (id) ON DELETE CASCADE)",
        "INSERT INTO other VALUES (1, 1), (2, 2)", "INSERT INTO bad VALUES (1, 1), (2, 2)",
    )  # fmt: skip
    reader("GRANT SELECT (id, n) ON {db}.bad TO {name}")
    remedy = check_in_quarantine(scene, scene.once(snapshot=True), "bad", "grant")
    reader(statements(remedy)[0])
    check_left(scene, scene.once(), "bad")
    scene.source.run("DELETE FROM other WHERE id = 1")
    before = len(scene.bench.publisher.records())
    records = scene.bench.once()[before:]
    changed = [one["data"] for one in records if one["metadata"]["table_name"] == "bad"]
    assert changed == ([{"id": 2, "n": 2}] if scene.source.on_mariadb else [{"id": 1, "n": 1}])


@on(MariaDb, MySql)
def test_a_table_is_copied_when_its_right_is_granted_while_capture_runs(
    scene: QuarantineScene, reader: Callable[[str], None]
) -> None:
    scene.source.run("CREATE TABLE bad (id INT PRIMARY KEY, n INT)", "INSERT INTO bad VALUES (1, 1)")
    scene.touch("good")
    with scene.bench.running(snapshot=True):
        eventually(lambda: scene.landed("good"))
        scene.touch("bad")
        (message,) = eventually(scene.messages)
        reader(statements(message["remedy"])[0])
        eventually(lambda: scene.landed("bad") == scene.rows("bad", "id", "n"))


@on(MariaDb, MySql)
def test_a_right_that_is_revoked_before_a_copy_puts_a_table_into_quarantine(
    scene: QuarantineScene, reader: Callable[[str], None]
) -> None:
    scene.source.run("CREATE TABLE bad (id INT PRIMARY KEY, n INT)", "INSERT INTO bad VALUES (1, 1)")
    reader("GRANT SELECT ON {db}.bad TO {name}")
    with scene.bench.running(snapshot=True):
        eventually(lambda: scene.landed("bad"))
        reader("REVOKE SELECT ON {db}.bad FROM {name}")
        reader("GRANT SELECT (id) ON {db}.bad TO {name}")
        scene.source.run("TRUNCATE bad")
        eventually(scene.messages)
    assert scene.quarantine() == [("bad", "grant")]
    scene.check_others()


@on(MariaDb, MySql)
def test_a_missing_right_to_lock_puts_a_table_into_quarantine(scene: QuarantineScene, reader: Callable[[str], None]) -> None:
    scene.source.run("CREATE TABLE bad (id INT, n INT) ENGINE = MyISAM", "INSERT INTO bad VALUES (1, 1)")
    reader("GRANT SELECT ON {db}.bad TO {name}")
    remedy = check_in_quarantine(scene, scene.once(snapshot=True), "bad", "copy")
    check_restart(scene, "bad", 0)
    reader(statements(remedy)[0])
    check_left(scene, scene.once(), "bad")
    found = [record["data"] for record in scene.bench.publisher.records() if record["metadata"]["table_name"] == "bad"]
    assert found == [{"id": 1, "n": 1}]
