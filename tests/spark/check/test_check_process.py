"""The job that checks, as a process: Spark's own reader on a real server, what it reports, and what a repair leaves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.check_job import CheckJob
from support.check_scene import CheckScene
from support.pull_job import PASSWORD, Done
from support.pulls import by
from support.source_database import SourceDatabase, numbers

from onefold.compare.findings import DIFFERENT, ONLY_LEFT, ONLY_RIGHT
from onefold.schema.column_policy import Action, ColumnPolicies, PolicyRule
from onefold.settings.sources import full_view

ROWS = 60
BY_TIME = {"mode": "incremental", "watermark": "at"}
SECRETS = ("sEcretly4711", "sEcretly4712", "4713.5")


@pytest.fixture
def scene(source: SourceDatabase, dataset: EmulatedDataset, tmp_path: Path) -> CheckScene:
    """A table with a column of each kind that two readers could read differently, and one that cannot be checked."""
    kinds = (
        "name VARCHAR(40) CHARACTER SET latin1, price DECIMAL(38,30), wide DECIMAL(60,10), rate DOUBLE, small FLOAT, "
        "flag TINYINT(1), big BIGINT UNSIGNED, bits BIT(9), born DATE, clock DATETIME(6), span TIME(6), y YEAR, "
        "data VARBINARY(20), doc JSON, kind ENUM('a', 'caf\u00e9') CHARACTER SET utf8mb4"
    )
    source.run(
        f"CREATE TABLE t (id INT PRIMARY KEY, {kinds}, at TIMESTAMP(6) NOT NULL, KEY (at))",
        "INSERT INTO t SELECT seq, CONCAT('Zo\u00eb ', seq), seq / 7, seq * 1e40, seq / 3, seq / 3, seq % 2, "
        "18446744073709551615 - seq, seq, '0001-01-01' + INTERVAL seq DAY, '9999-12-31 23:59:59.999999' - INTERVAL seq DAY, "
        "SEC_TO_TIME(-seq * 40000), 1900 + seq, LEFT(UNHEX(SHA2(seq, 256)), 16), JSON_OBJECT('n', seq, 'a', JSON_ARRAY(1)), "
        f"IF(seq % 2, 'a', 'caf\u00e9'), '2026-05-01 10:00:00.000001' - INTERVAL seq HOUR FROM {numbers(1, ROWS)}",
        "INSERT INTO t (id, at) VALUES (1000, '2026-05-01')",
        "CREATE TABLE viewless (id INT PRIMARY KEY, at TIMESTAMP NOT NULL)",
        "INSERT INTO viewless VALUES (1, '2026-05-01')",
    )
    policies = ColumnPolicies((PolicyRule("*", "*", Action.CLEAR),))
    found = CheckScene(source, dataset, tmp_path, {"t": by("at"), "viewless": by("at")}, policies)
    found.pull()
    return found


def plant(scene: CheckScene) -> dict[str, int]:
    """Plant differences, and return how many of each kind there are."""
    scene.spoil("UPDATE {} SET name = 'sEcretly4711' WHERE id = 3")
    scene.spoil("UPDATE {} SET rate = 4713.5, clock = NULL WHERE id = 4")
    scene.spoil("DELETE FROM {} WHERE id IN (5, 6)")
    scene.source.run("DELETE FROM t WHERE id IN (7, 8, 9)", "UPDATE t SET name = 'sEcretly4712', at = at WHERE id = 10")
    return {DIFFERENT: 4, ONLY_LEFT: 2, ONLY_RIGHT: 3}


@pytest.mark.long
def test_spark_finds_planted_differences_and_repairs_them(scene: CheckScene) -> None:
    job = CheckJob(scene, {"t": BY_TIME, "viewless": BY_TIME})
    planted = plant(scene)
    scene.warehouse.delete_view(full_view(scene.base("viewless")))

    found = job.run("--whole", "--rows", "25", "--parallel", "2")
    assert (found.code, found.outcomes) == (2, {"t": "different", "viewless": "failed"}), found.err
    assert (found.tables["t"]["findings"], found.tables["t"]["chunks"]) == (planted, 3)
    assert found.tables["t"]["columns"] == ["clock", "name", "rate"]
    check_log(found, tables={"t"}, unchecked={"viewless"})
    sentences = [sentence for row in scene.logged() for sentence in row["findings"]]
    assert len(sentences) == sum(planted.values())
    assert '`name` does not match between MySQL (val="Zo\u00eb 3") and BigQuery (val="sEcretly4711"), in the row id="3"' in (
        sentences
    )
    assert 'the row id="7" of BigQuery is missing in MySQL' in sentences

    fixed = job.run("--tables", "t", "--whole", "--fix", option="--databases")
    assert (fixed.code, fixed.outcomes) == (0, {"t": "fixed"}), fixed.err
    check_log(fixed, tables=set())
    assert scene.check_one().outcome == "same"
    assert {row["id"]: row["name"] for row in scene.view()} == dict(scene.source.rows("SELECT id, name FROM t"))


def check_log(done: Done, *, tables: set[str], unchecked: frozenset[str] | set[str] = frozenset()) -> None:
    """The log has one CRITICAL line for each table that differs or failed, and neither a value nor the password."""
    lines: list[dict[str, Any]] = [json.loads(line) for line in done.out.splitlines()]
    assert sorted(line["table"] for line in lines if line.get("severity") == "CRITICAL") == sorted(tables | unchecked)
    assert [line["table"] for line in lines if line.get("event") == "table_unchecked"] == sorted(unchecked)
    assert [line["table"] for line in lines if line.get("event") == "check_failed"] == sorted(tables)
    for value in (*SECRETS, PASSWORD):
        assert value not in done.out + done.err
