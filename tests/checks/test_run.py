"""Checks of real servers against the embedded BigQuery: what is reported, what is not, and what a repair leaves."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.check_scene import CheckScene
from support.database_servers import MariaDb, MySql
from support.pulls import by
from support.source_database import SourceDatabase, numbers, on

from onefold.compare.findings import DIFFERENT, ONLY_LEFT, ONLY_RIGHT
from onefold.mysql.connection import query
from onefold.schema.column_policy import Action, ColumnPolicies, PolicyRule
from onefold.settings.sources import TableLoad

pytestmark = on(MariaDb, MySql)
CLEAR = ColumnPolicies((PolicyRule("*", "*", Action.CLEAR),))
OLD = "'2026-05-01 10:00:00'"


@pytest.fixture
def scene(source: SourceDatabase, dataset: EmulatedDataset, tmp_path: Path) -> CheckScene:
    source.run(
        "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(40) CHARACTER SET utf8mb4, price DECIMAL(38,30), rate DOUBLE, "
        "data VARBINARY(20), doc JSON, span TIME(6), at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) "
        "ON UPDATE CURRENT_TIMESTAMP(6), KEY (at))"
    )
    return CheckScene(source, dataset, tmp_path, {"t": by("at")}, CLEAR)


def fill(scene: CheckScene, rows: int) -> None:
    scene.source.run(
        "INSERT INTO t SELECT seq, CONCAT('Zo\u00eb ', seq), seq / 7, seq / 3, LEFT(UNHEX(SHA2(seq, 256)), 16), "
        f"JSON_OBJECT('n', seq, 'a', JSON_ARRAY(1, NULL)), SEC_TO_TIME(seq), {OLD} - INTERVAL seq HOUR "
        f"FROM {numbers(1, rows)}"
    )


@contextmanager
def writers(scene: CheckScene, first: int) -> Iterator[None]:
    """Insert and change rows from a key on, all the time."""
    stop = threading.Event()

    def write() -> None:
        with closing(scene.connect()) as connection:
            connection.select_db(scene.source.name)
            key = first
            while not stop.wait(0.05):
                key += 1
                query(connection, f"INSERT INTO t (id, name) VALUES ({key}, 'new')")
                query(connection, f"UPDATE t SET name = CONCAT(name, 'x') WHERE id IN ({key}, {281 + key % 20})")

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


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


SPOILED = {
    "UPDATE {} SET name = CONCAT(name, ' ') WHERE id = %d": ("name",),
    "UPDATE {} SET name = CONCAT('Zoe\u0308 ', CAST(id AS STRING)) WHERE id = %d": ("name",),
    "UPDATE {} SET name = NULL WHERE id = %d": ("name",),
    "UPDATE {} SET price = CAST('%p' AS BIGNUMERIC) WHERE id = %d": ("price",),
    "UPDATE {} SET rate = rate * 1.0000000000000003 WHERE id = %d": ("rate",),
    "UPDATE {} SET data = CONCAT(data, b'\\x01') WHERE id = %d": ("data",),
    "UPDATE {} SET doc = %s WHERE id = %d": ("doc",),
    "DELETE FROM {} WHERE id = %d": (),
}


def test_fifty_planted_differences_are_found_and_nothing_else_while_writers_run(
    scene: CheckScene, chance: random.Random
) -> None:
    fill(scene, 300)
    scene.pull()
    document = "'[]'" if scene.source.on_mariadb else "JSON '[]'"  # MariaDB has JSON as text
    planted: set[tuple[str, str, str]] = set()
    with writers(scene, 1_000):
        for number, key in enumerate(chance.sample(range(1, 280), 50)):
            kind = number % (len(SPOILED) + 1)
            if kind == len(SPOILED):
                scene.source.run(f"DELETE FROM t WHERE id = {key}")
                planted.add((ONLY_RIGHT, str(key), ""))
                continue
            statement, columns = list(SPOILED.items())[kind]
            ((price,),) = scene.source.rows(f"SELECT CAST(price AS CHAR) FROM t WHERE id = {key}")
            # Its 30th decimal.
            other = f"{price[:-1]}{(int(price[-1]) + 1) % 10}"
            scene.spoil(statement.replace("%d", str(key)).replace("%s", document).replace("%p", other))
            planted.add((DIFFERENT if columns else ONLY_LEFT, str(key), "".join(columns)))
        found = scene.check_one(padding=timedelta(minutes=30), rows=90)
    sentences = [sentence for chunk in found.chunks for sentence in chunk.findings]
    assert {_parts(sentence) for sentence in sentences} == planted
    assert len(sentences) == 50
    assert found.outcome == "different"
    assert found.counts
    missing = sum(kind == ONLY_LEFT for kind, *_ in planted) - sum(kind == ONLY_RIGHT for kind, *_ in planted)
    assert found.counts.source - found.counts.warehouse == missing
    with writers(scene, 2_000):
        assert scene.check_one(padding=timedelta(minutes=30), fix=True).outcome == "fixed"
        assert scene.check_one(padding=timedelta(minutes=30)).outcome == "same"


def _parts(sentence: str) -> tuple[str, str, str]:
    key = sentence.split('id="')[1].split('"')[0]
    if sentence.startswith("`"):
        return DIFFERENT, key, sentence.split("`")[1]
    return (ONLY_LEFT if sentence.endswith("is missing in BigQuery") else ONLY_RIGHT), key, ""


def names(scene: CheckScene) -> tuple[dict[int, str], dict[int, str]]:
    """The table at the source, and the full view."""
    return dict(scene.source.rows("SELECT id, name FROM t")), {row["id"]: row["name"] for row in scene.view()}


def test_after_a_round_of_repairs_the_view_is_the_source(scene: CheckScene) -> None:
    fill(scene, 60)
    scene.pull()
    scene.source.run(
        "DELETE FROM t WHERE id % 5 = 0",
        # Changes that the modification time does not show, and one that goes back.
        "UPDATE t SET name = 'changed', at = at WHERE id % 7 = 0",
        "UPDATE t SET name = 'older', at = '2026-04-01 10:00:00' WHERE id = 1",
        "INSERT INTO t (id, name, at) VALUES (1001, 'committed late', '2026-01-01')",
    )
    scene.pull()
    source, view = names(scene)
    assert source != view
    found = scene.check_one(rows=25, fix=True)
    assert found.outcome in ("fixed", "same"), found.text
    source, view = names(scene)
    assert source == view
    again = scene.check_one(rows=25)
    assert (again.outcome, again.by_kind) == ("same", {}), again.text
    scene.source.run("UPDATE t SET name = 'later' WHERE id = 1", "INSERT INTO t (id, name) VALUES (5, 'is back')")
    scene.pull()
    source, view = names(scene)
    assert source == view


def test_a_key_that_is_a_text_is_read_by_digests(scene: CheckScene) -> None:
    scene.source.run(
        "CREATE TABLE codes (code VARCHAR(20) CHARACTER SET utf8mb4 PRIMARY KEY, n INT, at TIMESTAMP NOT NULL, KEY (at))",
        f"INSERT INTO codes SELECT CONCAT('\u00e9 ', seq), seq, {OLD} FROM {numbers(1, 40)}",
        "ANALYZE TABLE codes",
    )
    scene.tables = {"codes": by("at")}
    scene.pull()
    assert scene.check_one("codes", rows=10).outcome == "same"
    scene.spoil("UPDATE {} SET n = 0 WHERE n = 7", "codes")
    found = scene.check_one("codes", rows=10)
    assert found.by_kind == {DIFFERENT: 1}
    assert len(found.chunks) > 2
    assert sum(chunk.rows for chunk in found.chunks) == 40


def test_the_next_chunk_is_remembered_and_wraps_around(scene: CheckScene) -> None:
    fill(scene, 25)
    scene.pull()
    chunks = [scene.check_one(rows=10, whole=False).chunks[0].chunk for _ in range(4)]
    assert [(chunk.low, chunk.high) for chunk in chunks] == [(None, 11), (11, 21), (21, None), (None, 11)]
    logged = scene.logged()
    assert [row["chunk_rows"] for row in logged] == [10, 10, 5, 10]
    assert [(row["source_rows"], row["view_rows"], row["outcome"]) for row in logged] == [(25, 25, "same")] * 4


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


def test_a_key_watermark_counts_up_to_the_greatest_key_that_was_loaded_before_the_padding(scene: CheckScene) -> None:
    scene.source.run(
        "CREATE TABLE events (id BIGINT PRIMARY KEY, what VARCHAR(9))", "INSERT INTO events VALUES (1, 'a'), (2, 'b')"
    )
    scene.tables = {"events": by("id")}
    scene.pull()
    scene.source.run("INSERT INTO events VALUES (3, 'not pulled')")
    assert scene.check_one("events", padding=timedelta(hours=1)).outcome == "skipped"
    found = scene.check_one("events")
    assert (found.outcome, found.counts and found.counts.by) == ("same", "key"), found.text
    scene.source.run("DELETE FROM events WHERE id = 1")
    assert scene.check_one("events").by_kind == {ONLY_RIGHT: 1}
    assert scene.check_one("events", fix=True).chunks[0].is_fixed
    assert scene.check_one("events").outcome == "same"
    assert {row["id"] for row in scene.view("events")} == {2}
