"""Checks of real servers against the embedded BigQuery: what is reported, what is not, and what a repair leaves."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.check_scene import CheckScene
from support.database_servers import MariaDb, MySql
from support.pulls import by
from support.source_database import SourceDatabase, numbers, on

pytestmark = on(MariaDb, MySql)


@pytest.fixture
def scene(source: SourceDatabase, dataset: EmulatedDataset, tmp_path: Path) -> CheckScene:
    source.run(
        "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(40) CHARACTER SET utf8mb4, price DECIMAL(38,30), rate DOUBLE, "
        "data VARBINARY(20), doc JSON, span TIME(6), at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) "
        "ON UPDATE CURRENT_TIMESTAMP(6), KEY (at))"
    )
    return CheckScene(source, dataset, tmp_path, {"t": by("at")})


def fill(scene: CheckScene, rows: int) -> None:
    scene.source.run(
        "INSERT INTO t (id, name, price, rate, data, doc, span) SELECT seq, CONCAT('Zo\u00eb ', seq), seq / 7, seq / 3, "
        f"UNHEX(MD5(seq)), JSON_OBJECT('n', seq, 'a', JSON_ARRAY(1, NULL)), SEC_TO_TIME(seq) FROM {numbers(1, rows)}"
    )


def test_equal_tables_have_no_finding(scene: CheckScene) -> None:
    fill(scene, 30)
    scene.pull()
    found = scene.check_one(rows=7)
    assert (found.outcome, found.by_kind, len(found.chunks)) == ("same", {}, 5), found.text
    assert sum(chunk.rows for chunk in found.chunks) == 30
