"""Tables that are gone or cannot be pulled, and columns that must not come out: named, while other tables are pulled."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import pytest
from support.changed_table import KilledBeforeTheLog, outcomes, shown
from support.check_scene import CheckScene
from support.database_servers import MariaDb, MySql
from support.pulls import by
from support.source_database import on
from support.sweeps import sweep

from onefold.mysql.connection import connect, query
from onefold.pull.load.run import TableLoads

pytestmark = on(MariaDb, long=MySql)


def test_a_table_that_was_dropped_is_named_until_it_is_excluded(
    scene: CheckScene, capsys: pytest.CaptureFixture[str]
) -> None:
    scene.source.run("CREATE TABLE `old one` (id INT PRIMARY KEY)", "INSERT INTO `old one` VALUES (1)")
    scene.tables = {"*": by("id")}
    scene.pull()
    scene.source.run("DROP TABLE `old one`")
    capsys.readouterr()
    gone = scene.run()
    assert (outcomes(gone), gone.ok) == ({"t": "loaded", "old one": "missing"}, False)
    assert "old one: missing; it was pulled before, and is not at the source any more" in gone.summary()
    (line,) = (line for line in capsys.readouterr().out.splitlines() if '"missing"' in line)
    assert '"severity": "WARNING"' in line
    assert shown(scene, "id", "old_one") == {1: 1}
    assert [one.outcome for one in scene.check(tables=("old one",)).tables] == ["failed"]
    scene.exclude = ("old *",)
    assert (outcomes(scene.run()), scene.run().ok) == ({"t": "loaded"}, True)


def test_a_table_that_lost_select_is_named_also_where_no_other_is_left(scene: CheckScene) -> None:
    with closing(connect(scene.source.server.address)) as connection:
        query(connection, "CREATE USER IF NOT EXISTS 'reads_t'@'%' IDENTIFIED BY 'secret'")
        query(connection, f"GRANT SELECT ON {scene.source.name}.t TO 'reads_t'@'%'")
        scene.user = ("reads_t", "secret")
        scene.pull()
        query(connection, f"REVOKE SELECT ON {scene.source.name}.t FROM 'reads_t'@'%'")
        lost = scene.run()
        query(connection, "DROP USER 'reads_t'@'%'")
    assert (outcomes(lost), lost.ok) == ({"t": "missing"}, False)


@on(MariaDb)
def test_a_system_versioned_table_that_a_pattern_matches_is_named_until_it_is_excluded(scene: CheckScene) -> None:
    scene.source.run(
        "CREATE TABLE past (id INT PRIMARY KEY) WITH SYSTEM VERSIONING",
        "CREATE TABLE `a[1]` (id INT PRIMARY KEY)",
    )
    scene.tables = {"*": by("id")}
    found = scene.run()
    assert outcomes(found) == {"a[1]": "loaded", "past": "failed", "t": "loaded"}
    assert "past is system-versioned, which pulls do not support; name it under `exclude`" in found.summary()
    scene.exclude = ("past", "a[[]1]")
    assert (outcomes(scene.run()), scene.run().ok) == ({"a[1]": "skipped", "past": "skipped", "t": "loaded"}, True)


def test_a_dropped_column_does_not_come_out_under_another_name(scene: CheckScene) -> None:
    scene.source.run(
        "ALTER TABLE t ADD COLUMN card VARCHAR(20)",
        "UPDATE t SET card = 'sEcret4711'",
        "CREATE TABLE u (id INT PRIMARY KEY)",
    )
    scene.tables = {"t": by("at", drop=("Card",)), "u": by("id")}
    scene.pull()
    scene.source.run("ALTER TABLE t CHANGE card credit VARCHAR(20)", "UPDATE t SET name = 'new', at = '2026-05-03 11:00'")
    refused = scene.run()
    assert outcomes(refused) == {"t": "failed", "u": "loaded"}
    assert (
        f"{scene.source.name}.t: card, which `drop` names, is gone; credit is new or described otherwise, and may hold the "
        "same values; set `drop: [Card, credit]` for the table in onefold.yaml, or, if it holds other values, take card out "
        "of `drop`"
    ) in refused.summary()
    scene.tables = {"t": by("at", drop=("Card", "credit")), "u": by("id")}
    scene.pull()
    assert shown(scene) == {1: "new", 2: "new", 3: "new"}
    assert "credit" not in scene.view()[0]
    assert not any(b"sEcret4711" in path.read_bytes() for path in scene.folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    "statements",
    sweep(
        [
            ["ALTER TABLE t CHANGE card card_old CHAR(20)", "ALTER TABLE t ADD COLUMN card CHAR(20)"],
            ["ALTER TABLE t CHANGE card card_old CHAR(20) FIRST", "ALTER TABLE t ADD COLUMN card CHAR(20)"],
            ["ALTER TABLE t CHANGE card card_old CHAR(20) FIRST", "ALTER TABLE t ADD COLUMN card CHAR(30) AFTER name"],
        ]
    ),
    ids=["at its place", "at another place", "beside another type"],
)
def test_a_dropped_column_does_not_come_out_where_a_new_one_gets_its_name(scene: CheckScene, statements: list[str]) -> None:
    scene.source.run(
        "ALTER TABLE t ADD COLUMN card CHAR(20) AFTER name, ADD COLUMN note CHAR(20)", "UPDATE t SET card = 'sEcret4711'"
    )
    scene.tables = {"t": by("at", drop=("card",))}
    scene.pull()
    scene.source.run(*statements, "UPDATE t SET name = 'new', at = '2026-05-03 11:00'")
    while outcomes(report := scene.run()) == {"t": "failed"}:
        # As the error says.
        named = report.summary().split("set `drop: [")[1].split("]")[0].split(", ")
        assert set(named) > set(scene.tables["t"].drop)
        scene.tables = {"t": by("at", drop=tuple(named))}
    assert shown(scene) == {1: "new", 2: "new", 3: "new"}
    assert not any(b"sEcret4711" in path.read_bytes() for path in scene.folder.rglob("*") if path.is_file())


def test_a_new_column_beside_a_dropped_one_lands(scene: CheckScene) -> None:
    scene.source.run("ALTER TABLE t ADD COLUMN card CHAR(20) AFTER name")
    scene.tables = {"t": by("at", drop=("card",))}
    scene.pull()
    scene.source.run("ALTER TABLE t ADD COLUMN a CHAR(20) AFTER card, ADD COLUMN b CHAR(20) FIRST, ADD COLUMN c CHAR(20)")
    assert outcomes(scene.run()) == {"t": "loaded"}
    assert {"a", "b", "c"} < scene.view()[0].keys()


@pytest.mark.long
def test_a_repair_does_not_make_pulls_forget_the_dropped_columns_and_the_key(scene: CheckScene) -> None:
    scene.source.run("ALTER TABLE t ADD COLUMN card VARCHAR(20)", "UPDATE t SET card = 'sEcret4711'")
    scene.tables = {"t": by("at", drop=("card",))}
    scene.pull()
    scene.spoil("UPDATE {} SET name = 'spoilt' WHERE id = 1")
    assert scene.check_one(fix=True).outcome == "fixed"
    scene.source.run("ALTER TABLE t CHANGE card credit VARCHAR(20)")
    refused = scene.run()
    assert outcomes(refused) == {"t": "failed"}
    assert "t: card, which `drop` names, is gone; credit is new or described otherwise" in refused.summary()
    assert not any(b"sEcret4711" in path.read_bytes() for path in scene.folder.rglob("*") if path.is_file())


def test_a_dropped_column_that_is_gone_alone_needs_nothing(scene: CheckScene) -> None:
    scene.source.run("ALTER TABLE t ADD COLUMN card VARCHAR(20)")
    scene.tables = {"t": by("at", drop=("card",))}
    scene.pull()
    scene.source.run("ALTER TABLE t DROP COLUMN card")
    scene.pull()
    scene.source.run("ALTER TABLE t ADD COLUMN more INT NOT NULL DEFAULT 7")
    scene.pull()
    assert shown(scene, "more") == {1: 7, 2: 7, 3: 7}


@pytest.mark.long
@pytest.mark.parametrize(
    "statements",
    sweep(
        [
            ["ALTER TABLE t CHANGE card tmp CHAR(20), CHANGE note card CHAR(20)", "ALTER TABLE t CHANGE tmp note CHAR(20)"],
            [
                "ALTER TABLE t CHANGE card tmp CHAR(20)",
                "ALTER TABLE t CHANGE note card CHAR(20) AFTER at",
                "ALTER TABLE t CHANGE tmp note CHAR(20) COMMENT 'a number' AFTER card",
            ],
            ["ALTER TABLE t DROP number, CHANGE card number CHAR(20)"],
            ["ALTER TABLE t DROP note, CHANGE card note CHAR(20) COMMENT 'free text'"],
        ]
    ),
    ids=["a swap", "a swap of names, places and types", "the place of a number", "the place of a text with a comment"],
)
def test_a_dropped_column_does_not_come_out_under_the_name_of_another_one(scene: CheckScene, statements: list[str]) -> None:
    scene.source.run(
        "ALTER TABLE t ADD COLUMN card CHAR(20) COMMENT 'a number', ADD COLUMN note CHAR(20), ADD COLUMN number INT",
        "UPDATE t SET card = 'sEcret4711', note = 'n'",
    )
    scene.tables = {"t": by("at", drop=("card",))}
    scene.pull()
    scene.source.run(*statements, "UPDATE t SET name = 'new', at = '2026-05-03 11:00'")
    refused = scene.run()
    assert outcomes(refused) == {"t": "failed"}
    assert f"{scene.source.name}.t: card, which `drop` names, " in refused.summary()
    hidden = "number" if "number CHAR" in statements[0] else "note"
    assert f"set `drop: [card, {hidden}]` for the table in onefold.yaml" in refused.summary()
    scene.tables = {"t": by("at", drop=("card", hidden))}
    scene.pull()
    assert shown(scene) == {1: "new", 2: "new", 3: "new"}
    assert not any(b"sEcret4711" in path.read_bytes() for path in scene.folder.rglob("*") if path.is_file())


@pytest.mark.long
def test_a_column_that_only_got_another_place_lands_after_a_pull_without_it(scene: CheckScene) -> None:
    scene.source.run("ALTER TABLE t ADD COLUMN card VARCHAR(20)")
    scene.tables = {"t": by("at", drop=("card",))}
    scene.pull()
    scene.source.run("ALTER TABLE t ADD COLUMN more INT FIRST, CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
    assert outcomes(scene.run()) == {"t": "loaded"}
    scene.source.run("ALTER TABLE t MODIFY name VARCHAR(20) COLLATE utf8mb4_bin AFTER card")
    refused = scene.run()
    assert outcomes(refused) == {"t": "failed"}
    assert "take name out again after one pull" in refused.summary()
    for drop in (("card", "name"), ("card",)):
        scene.tables = {"t": by("at", drop=drop)}
        scene.pull()
    assert shown(scene) == {1: "a", 2: "b", 3: "c"}
    scene.source.run("ALTER TABLE t MODIFY card VARCHAR(20) COLLATE utf8mb4_bin AFTER id")  # across the watermark alone
    assert outcomes(scene.run()) == {"t": "loaded"}


@on(MariaDb)
@pytest.mark.parametrize("exclude", sweep({"drop": ((),), "exclude": (("T",),)}))
def test_a_pattern_in_another_case_does_not_leave_a_table_to_the_next_one(
    scene: CheckScene, exclude: tuple[str, ...]
) -> None:
    scene.source.run("CREATE TABLE u (id INT PRIMARY KEY)")
    scene.tables = {**({} if exclude else {"T": by("at", drop=("name",))}), "*": by("id")}
    scene.exclude = exclude
    refused = scene.run()
    assert outcomes(refused) == {"t": "failed", "u": "loaded"}
    assert f"{scene.source.name}.t: sources.fraud has the pattern 'T', which matches it in another case" in refused.summary()
    scene.exclude, scene.tables = (), {"t": by("at", drop=("name",)), "*": by("id")}
    assert outcomes(scene.run()) == {"t": "loaded", "u": "loaded"}


@pytest.mark.parametrize("ghost", sweep(["_t_gho", "_t_new", "_t_old"]))
def test_a_copy_of_a_schema_change_does_not_bring_a_dropped_column_out_in_the_first_pull(
    scene: CheckScene, ghost: str
) -> None:
    scene.source.run(
        "ALTER TABLE t ADD COLUMN card VARCHAR(20)", "UPDATE t SET card = 'sEcret4711'",
        f"CREATE TABLE {ghost} LIKE t", f"INSERT INTO {ghost} SELECT * FROM t",
    )  # fmt: skip
    scene.tables = {"t": by("at", drop=("card",)), "*": by("at")}
    refused = scene.run()
    assert outcomes(refused) == {ghost: "failed", "t": "loaded"}
    assert f"a copy of {scene.source.name}.t, and it may hold what `drop` names there: card" in refused.summary()
    assert not any(b"sEcret4711" in path.read_bytes() for path in scene.folder.rglob("*") if path.is_file())
    scene.tables = {ghost: by("at", drop=("card",)), **scene.tables}
    assert outcomes(scene.run())[ghost] == "loaded"


@pytest.mark.parametrize(
    ("table", "statements"),
    sweep(
        [
            ("kunden", ["RENAME TABLE t TO kunden"]),
            ("kunden", ["RENAME TABLE t TO kunden", "ALTER TABLE kunden CHANGE card credit VARCHAR(20)"]),
            ("t_2025", ["CREATE TABLE fresh LIKE t", "RENAME TABLE t TO t_2025, fresh TO t"]),
            (
                "_t_gho",
                ["CREATE TABLE _t_gho LIKE t", "INSERT INTO _t_gho SELECT * FROM t", "ALTER TABLE _t_gho CHANGE card c INT"],
            ),
        ]
    ),
    ids=["a table with another name", "a column as well", "a swap", "an online schema change"],
)
def test_a_dropped_column_does_not_come_out_under_another_table(
    scene: CheckScene, table: str, statements: list[str]
) -> None:
    scene.source.run("ALTER TABLE t ADD COLUMN card VARCHAR(20)", "UPDATE t SET card = '47114711'")
    scene.tables = {"t": by("at", drop=("Card",)), "*": by("at")}
    scene.pull()
    scene.source.run(*statements)
    refused = scene.run()
    assert outcomes(refused)[table] == "failed"
    why = "it has every column of" if table != "_t_gho" else "tools for schema changes give this name to a copy of"
    assert f"{table}: {why} {scene.source.name}.t, and " in refused.summary()
    assert f"name {table} under `tables` in onefold.yaml, before every pattern that matches it" in refused.summary()
    assert not any(b"47114711" in path.read_bytes() for path in scene.folder.rglob("*") if path.is_file())
    scene.tables = {table: by("at", drop=("card", "credit", "c")), **scene.tables}
    assert outcomes(scene.run())[table] == "loaded"
    assert not any(b"47114711" in path.read_bytes() for path in scene.folder.rglob("*") if path.is_file())


def test_a_table_that_is_gone_after_its_first_pull_was_killed_is_named(scene: CheckScene) -> None:
    loads = scene.loads()
    assert isinstance(loads, TableLoads)
    scene.run(loads=replace(loads, log=KilledBeforeTheLog(loads.log)))
    scene.source.run("CREATE TABLE u (id INT PRIMARY KEY)", "DROP TABLE t")
    scene.tables = {"t": by("at"), "u": by("id")}
    assert outcomes(scene.run()) == {"t": "missing", "u": "loaded"}
