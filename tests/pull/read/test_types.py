"""The same structure gives the same columns and the same bytes, whether it was captured or pulled."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.database_servers import MariaDb, MySql
from support.pulls import PullScene, lines
from support.source_database import SourceDatabase, on
from support.source_types import MYSQL_SAMPLES, SAMPLES, Sample

from onefold.landing.table import versioned_table
from onefold.landing.version import version_of_structure
from onefold.settings.sources import TableLoad

_STEP = 40


def _most(samples: list[Sample]) -> int:
    return max(len(sample.values) for sample in samples)


def create(source: SourceDatabase, samples: list[Sample]) -> list[list[tuple[str, object]]]:
    rows = [[sample.values[number % len(sample.values)] for sample in samples] for number in range(_most(samples))]
    columns = ", ".join(f"c{number} {sample.declared}" for number, sample in enumerate(samples))
    literals = (f"({number}, {', '.join(literal for literal, _ in row)})" for number, row in enumerate(rows))
    source.run(f"CREATE TABLE t (id INT PRIMARY KEY, {columns})", f"INSERT IGNORE INTO t VALUES {', '.join(literals)}")
    return rows


def check(source: SourceDatabase, samples: list[Sample], folder: Path) -> None:
    rows = create(source, samples)
    scene = PullScene(source, folder, {"t": TableLoad()})
    scene.rows("full")
    (pulled,) = scene.loads.pulled
    changes = source.changes()
    assert (
        pulled.plan.target.columns[: len(rows[0]) + 1] == versioned_table(changes[0].structure).columns[: len(rows[0]) + 1]
    )
    assert pulled.version == version_of_structure(changes[0].structure)
    kinds = {f"c{number}": sample.bigquery for number, sample in enumerate(samples)}
    expected = [{"id": number, **{f"c{n}": landed for n, (_, landed) in enumerate(row)}} for number, row in enumerate(rows)]
    found: list[dict[str, Any]] = [{name: line.get(name) for name in ("id", *kinds)} for line in lines(pulled)]
    assert sorted(found, key=lambda row: int(row["id"])) == [as_objects(row, kinds) for row in expected]
    assert pulled.losses == sum((Counter(dict(change.losses)) for change in changes), Counter())


def as_objects(row: dict[str, Any], kinds: dict[str, str]) -> dict[str, Any]:
    """A value of the type JSON is text in a change record, and an object in a file."""
    return {name: json.loads(value) if kinds.get(name) == "JSON" and value else value for name, value in row.items()}


@on(MariaDb)
@pytest.mark.parametrize("first", range(0, len(SAMPLES), _STEP))
def test_every_type_of_mariadb_is_pulled_as_it_is_captured(source: SourceDatabase, tmp_path: Path, first: int) -> None:
    check(source, SAMPLES[first : first + _STEP], tmp_path)


@on(MySql)
@pytest.mark.parametrize("first", range(0, len(MYSQL_SAMPLES), _STEP))
def test_every_type_of_mysql_is_pulled_as_it_is_captured(source: SourceDatabase, tmp_path: Path, first: int) -> None:
    source.run("SET SESSION sql_mode = 'TIME_TRUNCATE_FRACTIONAL'")  # as MariaDB does
    check(source, MYSQL_SAMPLES[first : first + _STEP], tmp_path)
