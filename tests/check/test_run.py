"""Checks of real servers against the embedded BigQuery: what is reported, what is remembered, and what nobody reads."""

from __future__ import annotations

import pytest
from support.check_scene import CheckScene
from support.checked_table import OLD, fill
from support.contract_views import contracts
from support.database_servers import MariaDb, MySql
from support.pulls import by
from support.source_database import on

from onefold.schema.column_policy import Action, ColumnPolicies, PolicyRule
from onefold.settings.sources import TableLoad

pytestmark = on(MariaDb, long=MySql)


def test_equal_tables_have_no_finding_in_any_chunk(scene: CheckScene) -> None:
    fill(scene, 30)
    scene.pull()
    found = scene.check_one(rows=7)
    assert (found.outcome, found.by_kind, len(found.chunks)) == ("same", {}, 5), found.text
    assert sum(chunk.rows for chunk in found.chunks) == 30
    assert found.counts
    assert (found.counts.source, found.counts.warehouse) == (30, 30)
    assert not [table for table in scene.emulated.client.list_tables(scene.dataset) if "_tmp_" in table.table_id]
    assert list(scene.folder.glob(f"json/fraud/{scene.source.name}/t/dq/*/*_0.json"))


@pytest.mark.long
def test_the_next_chunk_is_remembered_and_wraps_around(scene: CheckScene) -> None:
    fill(scene, 25)
    scene.pull()
    chunks = [scene.check_one(rows=10, whole=False).chunks[0].chunk for _ in range(4)]
    assert [(chunk.low, chunk.high) for chunk in chunks] == [(None, 11), (11, 21), (21, None), (None, 11)]
    logged = scene.logged()
    assert [row["chunk_rows"] for row in logged] == [10, 10, 5, 10]
    assert [(row["source_rows"], row["view_rows"], row["outcome"]) for row in logged] == [(25, 25, "same")] * 4
    (look,) = scene.checks(tables=("t",)).look().tables
    assert (look.table, look.skipped) == ("t", ("it would be compared, but for --dry-run",))
    assert scene.logged() == logged, "a look remembers nothing"


def test_only_clear_values_are_in_findings_and_none_in_the_log(
    scene: CheckScene, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = (PolicyRule("*", "id", Action.CLEAR), PolicyRule("*", "name", Action.HASH))
    scene.policies = ColumnPolicies(rules)
    fill(scene, 5)
    scene.source.run("UPDATE t SET name = 'sEcretly4711', at = at WHERE id = 3")
    scene.pull()
    scene.spoil("UPDATE {} SET name = 'oTher4712', rate = 4713.5 WHERE id = 3")
    capsys.readouterr()
    found = scene.check_one()
    sentences = scene.logged()[-1]["findings"]
    assert len(sentences) == 2
    assert all('in the row id="3"' in sentence for sentence in sentences)
    written = capsys.readouterr().out
    assert '"severity": "CRITICAL"' in written
    for value in ("4711", "4712", "4713"):
        assert value not in "".join(sentences) + written + found.text
    assert "columns that differ: name, rate" in found.text


def test_no_value_of_a_key_that_no_policy_shows_is_remembered(scene: CheckScene, capsys: pytest.CaptureFixture[str]) -> None:
    fill(scene, 25)
    scene.source.run("UPDATE t SET id = id * 47110001, at = at ORDER BY id DESC")
    scene.pull()
    assert scene.check_one(rows=10, whole=False).chunks[0].chunk.high == 11 * 47110001
    scene.policies = ColumnPolicies((PolicyRule("*", "name", Action.CLEAR),))
    capsys.readouterr()
    chunks = [scene.check_one(rows=10, whole=False).chunks[0] for _ in range(4)]
    assert chunks[0].chunk.low is None, "it does not go on at the value of a row"
    assert [chunk.chunk.low for chunk in chunks[1:]] == [chunk.chunk.high for chunk in chunks[:-1]]
    round_ = chunks[: [chunk.chunk.high for chunk in chunks].index(None) + 1]
    assert (sum(chunk.rows for chunk in round_), all(chunk.rows <= 10 for chunk in chunks)) == (25, True)
    written = str(scene.logged()[1:]) + capsys.readouterr().out
    assert not [number for number in range(1, 26) if str(number * 47110001) in written]


def test_one_table_that_cannot_be_checked_does_not_stop_the_others(scene: CheckScene) -> None:
    fill(scene, 3)
    scene.source.run(
        "CREATE TABLE whole (id INT PRIMARY KEY)", "INSERT INTO whole VALUES (1), (2)", "CREATE TABLE other (id INT)",
        "CREATE TABLE keyless (id INT)", "INSERT INTO keyless VALUES (1), (1)",
    )  # fmt: skip
    scene.tables |= {"whole": TableLoad(), "keyless": TableLoad()}
    scene.pull("full")
    scene.warehouse.delete_view(scene.settings.current_view_of(scene.base("t")))
    report = scene.check()
    outcomes = {table.table: table.outcome for table in report.tables}
    assert outcomes == {"t": "failed", "whole": "same", "other": "skipped", "keyless": "same"}
    scene.spoil("DELETE FROM {} WHERE id = 2", "whole")
    scene.spoil("DELETE FROM {} WHERE TRUE", "keyless")
    for name, left in (("whole", 1), ("keyless", 0)):
        (found,) = scene.check(tables=(name,)).tables
        assert found.outcome == "different"
        assert found.counts
        assert (found.counts.by, found.counts.source, found.counts.warehouse) == ("load", 2, left)


def test_what_a_contract_holds_back_is_no_finding(scene: CheckScene) -> None:
    scene.contracts, scene.tables = contracts("hide", "keep"), {"u": by("at")}
    scene.source.run(f"CREATE TABLE u (id INT PRIMARY KEY, n INT, at TIMESTAMP(6) NOT NULL DEFAULT {OLD}, KEY (at))")
    scene.source.run("INSERT INTO u (id, n) VALUES (1, 7)")
    scene.pull()
    scene.source.run("ALTER TABLE u MODIFY n DECIMAL(10, 2), ADD zip VARCHAR(9)")
    scene.source.run("INSERT INTO u (id, n, zip, at) VALUES (2, 1.5, '12345', NOW(6)), (3, 8, NULL, NOW(6))")
    scene.pull()
    assert {row["id"]: row["n"] for row in scene.view("u")} == {1: 7, 2: None, 3: 8}
    found = scene.check_one("u")
    assert (found.outcome, found.by_kind) == ("same", {}), found.text
    assert found.notes == ("a contract hides the columns zip, which were not compared",)
