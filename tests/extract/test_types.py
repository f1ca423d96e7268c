"""The same structure gives the same version and the same bytes, whether it was captured or pulled."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from support.database_servers import MariaDb, MySql
from support.pulls import PullScene, lines
from support.source_database import SourceDatabase, on
from support.source_types import MYSQL_SAMPLES, SAMPLES, Sample

from onefold.capture.versioned_table import versioned_table
from onefold.settings.sources import TableLoad

_STEP = 40


def create(source: SourceDatabase, samples: list[Sample]) -> list[list[tuple[str, object]]]:
    rows = [[sample.values[number % len(sample.values)] for sample in samples] for number in range(7)]
    columns = ", ".join(f"c{number} {sample.declared}" for number, sample in enumerate(samples))
    literals = (f"({number}, {', '.join(literal for literal, _ in row)})" for number, row in enumerate(rows))
    source.run(f"CREATE TABLE t (id INT PRIMARY KEY, {columns})", f"INSERT IGNORE INTO t VALUES {', '.join(literals)}")
    return rows


def check(source: SourceDatabase, samples: list[Sample], folder: Path) -> None:
    rows = create(source, samples)
    scene = PullScene(source, folder, {"t": TableLoad()})
    scene.rows("full")
    (pulled,) = scene.loads.pulled
    (change,) = source.changes()
    assert pulled.version == versioned_table(change.structure).version
    kinds = {f"c{number}": sample.bigquery for number, sample in enumerate(samples)}
    expected = [{"id": number, **{f"c{n}": landed for n, (_, landed) in enumerate(row)}} for number, row in enumerate(rows)]
    assert sorted((landed_values(line, kinds) for line in lines(pulled)), key=lambda row: row["id"]) == expected
    assert pulled.losses == Counter(dict(change.losses))


def landed_values(line: dict[str, object], kinds: dict[str, str]) -> dict[str, object]:
    """The source's values as capture's record has them: a value of the type JSON is text there, and an object in a file."""
    return {
        name: json.dumps(line[name], ensure_ascii=False) if kinds.get(name) == "JSON" and name in line else line.get(name)
        for name in ("id", *kinds)
    }


@on(MariaDb)
@pytest.mark.parametrize("first", range(0, len(SAMPLES), _STEP))
def test_every_type_of_mariadb_is_pulled_as_it_is_captured(source: SourceDatabase, tmp_path: Path, first: int) -> None:
    check(source, SAMPLES[first : first + _STEP], tmp_path)


@on(MySql)
@pytest.mark.parametrize("first", range(0, len(MYSQL_SAMPLES), _STEP))
def test_every_type_of_mysql_is_pulled_as_it_is_captured(source: SourceDatabase, tmp_path: Path, first: int) -> None:
    source.run("SET SESSION sql_mode = 'TIME_TRUNCATE_FRACTIONAL'")  # as MariaDB does
    check(source, [sample for sample in MYSQL_SAMPLES if sample.bigquery != "JSON"][first : first + _STEP], tmp_path)
