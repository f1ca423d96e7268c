"""The table of most checks: a column of each kind whose values can differ in a small way, and writers beside a check."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.check_scene import CheckScene
from support.pulls import by
from support.source_database import SourceDatabase, numbers

from onefold.mysql.connection import query
from onefold.schema.column_policy import Action, ColumnPolicies, PolicyRule

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

    with ThreadPoolExecutor(1) as threads:
        written = threads.submit(write)
        try:
            yield
        finally:
            stop.set()
        written.result()
