"""Rows that are looked up by their keys, as BigQuery shows the values of keys, on real servers."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.database_servers import MariaDb, MySql
from support.pulls import PullScene, by
from support.source_database import SourceDatabase, on

from onefold.core.errors import TryAgain
from onefold.pull.read.plan import TablePlan
from onefold.pull.read.present_rows import Key, SourceRows

pytestmark = on(MariaDb, MySql)

# The type of a key's column, a value as MySQL writes it, and the same value as text of BigQuery, bytes in base64.
VALUES = [
    ("INT", "-2147483648", "-2147483648"),
    ("BIGINT UNSIGNED", "18446744073709551615", "18446744073709551615"),
    ("TINYINT(1)", "1", "1"),
    ("BIT(64)", "b'1111111111111111111111111111111111111111111111111111111111111111'", "18446744073709551615"),
    ("YEAR", "2155", "2155"),
    ("DECIMAL(65,30)", "-1.5", "-1.5"),
    ("VARCHAR(40) CHARACTER SET utf8mb4", r"'Zoë \'\\ %s 😀'", "Zoë '\\ %s 😀"),
    ("VARCHAR(20) CHARACTER SET latin1", "'é'", "é"),
    ("CHAR(5)", "''", ""),
    ("ENUM('a','ü')", "'ü'", "ü"),
    ("SET('a','b')", "'a,b'", "a,b"),
    ("VARBINARY(5)", "X'00FF'", "AP8="),
    ("BINARY(4)", "X'61'", "YQAAAA=="),
    ("DATE", "'9999-12-31'", "9999-12-31"),
    ("DATETIME(6)", "'2026-05-03 10:00:00.100000'", "2026-05-03 10:00:00.1"),
    ("TIMESTAMP(6) DEFAULT CURRENT_TIMESTAMP(6)", "'2026-05-03 10:00:00.000001'", "2026-05-03 10:00:00.000001+00"),
    ("TIME(6)", "'-838:59:59'", "0-0 0 -838:59:59"),
]


@pytest.fixture
def scene(source: SourceDatabase, tmp_path: Path) -> PullScene:
    return PullScene(source, tmp_path, {"t": by("at")})


def planned(scene: PullScene) -> TablePlan:
    scene.rows()
    return scene.loads.pulled[-1].plan


def looked_up(scene: PullScene, plan: TablePlan, keys: list[Key]) -> list[object]:
    names = plan.target.source_names
    return [dict(zip(names, row.values, strict=True))["n"] for row in SourceRows(scene.connect).read(plan, keys)]


@pytest.mark.parametrize(("type_", "sql", "text"), VALUES, ids=[one[0].split("(")[0] for one in VALUES])
def test_a_key_of_any_type_finds_its_row(scene: PullScene, type_: str, sql: str, text: str) -> None:
    scene.database.run(
        f"CREATE TABLE t (k {type_}, n INT, at DATETIME, KEY (at), PRIMARY KEY (k, n))",
        f"INSERT INTO t VALUES ({sql}, 1, '2026-05-03'), ({sql}, 2, NULL)",
    )
    plan = planned(scene)
    assert looked_up(scene, plan, [(text, "1"), (text, "3")]) == [1]
    assert sorted(map(str, looked_up(scene, plan, [(text, "2"), (text, "1")]))) == ["1", "2"]


def test_many_keys_are_asked_for_in_several_queries(scene: PullScene) -> None:
    rows = ", ".join(f"({number}, '2026-05-03')" for number in range(1_200))
    scene.database.run("CREATE TABLE t (n INT PRIMARY KEY, at DATETIME)", f"INSERT INTO t VALUES {rows}")
    plan = planned(scene)
    assert sorted(map(int, map(str, looked_up(scene, plan, [(str(n),) for n in range(600, 1_900)])))) == [*range(600, 1_200)]
    assert looked_up(scene, plan, []) == []


def test_a_key_that_the_table_cannot_hold_finds_nothing(scene: PullScene) -> None:
    scene.database.run("CREATE TABLE t (n INT PRIMARY KEY, at DATETIME)", "INSERT INTO t VALUES (0, NULL)")
    assert looked_up(scene, planned(scene), [("no number",), ("1 OR 1=1",), ("NaN",)]) == []


def test_keys_of_onefold_yaml_may_be_null_and_name_the_source(scene: PullScene) -> None:
    scene.keys = ("source_name", "k")
    scene.database.run("CREATE TABLE t (k DATE NULL, n INT, at DATETIME)", "SET sql_mode = ''")
    scene.database.run("INSERT INTO t VALUES (NULL, 1, NULL), ('0000-00-00', 2, NULL), ('2026-05-03', 3, NULL)")
    plan = planned(scene)
    assert sorted(map(str, looked_up(scene, plan, [("fraud", None)]))) == ["1", "2"]


def test_a_table_that_was_altered_since_is_read_by_the_next_pull(scene: PullScene) -> None:
    scene.database.run("CREATE TABLE t (n INT PRIMARY KEY, at DATETIME)", "INSERT INTO t VALUES (1, NULL)")
    plan = planned(scene)
    scene.database.run("ALTER TABLE t ADD COLUMN more INT")
    with pytest.raises(TryAgain, match="was altered"):
        looked_up(scene, plan, [("1",)])
