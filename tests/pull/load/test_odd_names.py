"""Tables whose names BigQuery does not have: they are pulled as `onefold.yaml` says, and two of one name are told apart."""

from __future__ import annotations

import glob

import pytest
from support.changed_table import outcomes, shown
from support.check_scene import CheckScene
from support.database_servers import MariaDb, MySql
from support.pulls import by
from support.source_database import on
from support.sweeps import sweep

from onefold.core.names import table_name

pytestmark = on(MariaDb, long=MySql)


NAMES = {"space": "order line", "bracket": "a[1]", "quotes": 'it\'s "o`dd"', "wildcards": "a.b*?"}


@pytest.mark.parametrize("name", sweep(NAMES.values()), ids=NAMES)
def test_a_table_of_an_odd_name_is_shown_as_its_pattern_says(scene: CheckScene, name: str) -> None:
    quoted = f"`{name.replace('`', '``')}`"
    scene.source.run(f"ALTER TABLE t RENAME TO {quoted}", f"UPDATE {quoted} SET at = '2026-05-03 09:00' WHERE id = 1")
    # As `sources init` drafts it.
    scene.tables = {glob.escape(f"{scene.source.name}.{name}"): by("at")}
    scene.pull()
    scene.source.run(f"UPDATE {quoted} SET name = 'new', at = '2026-05-03 11:00' WHERE id = 3")
    scene.pull()
    assert shown(scene, table=table_name(name)) == {1: "a", 2: "b", 3: "new"}


def test_two_tables_that_share_a_name_in_bigquery_do_not_mix(scene: CheckScene) -> None:
    scene.source.run("CREATE TABLE `t b` LIKE t", "INSERT INTO `t b` SELECT id, 'other', at FROM t", "RENAME TABLE t TO t_b")
    scene.tables = {"*": by("at")}
    report = scene.run()
    assert (outcomes(report), report.ok) == ({"t b": "failed", "t_b": "loaded"}, False)
    assert "the tables 't b' and 't_b' would both be t_b in BigQuery, and 't_b' is; rename it" in report.summary()
    assert shown(scene, table="t_b") == {1: "a", 2: "b", 3: "c"}
    scene.exclude = ("t b",)
    assert scene.run().ok


def test_the_table_that_was_pulled_first_keeps_its_name(scene: CheckScene) -> None:
    scene.source.run("RENAME TABLE t TO `t b`")
    scene.tables = {"*": by("at")}
    scene.pull()
    scene.source.run("CREATE TABLE t_b LIKE `t b`")
    assert outcomes(scene.run()) == {"t b": "loaded", "t_b": "failed"}
    assert shown(scene, table="t_b") == {1: "a", 2: "b", 3: "c"}
