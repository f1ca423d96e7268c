"""Random histories of a real server with pulls between: one full round of repairs makes the full view the source."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.bigquery_emulator import EmulatedDataset
from support.check_scene import CheckScene
from support.pulls import by
from support.seeding import examples
from support.source_database import SourceDatabase

from onefold.schema.column_policy import ColumnPolicies

KEYS = st.integers(-3, 12)
NAMES = st.sampled_from(["'Ada'", "'Zo\u00eb '", "''", "NULL"])
TIMES = st.sampled_from(["CURRENT_TIMESTAMP(6)", "'2026-05-01 10:00:00'", "'2026-05-01 23:59:59.999999'", "'2026-04-01'"])
PULL = "pull"
_tables = itertools.count(1)

PUT = st.builds("REPLACE INTO {{}} VALUES ({}, {}, {})".format, KEYS, NAMES, TIMES)
DELETE = st.builds("DELETE FROM {{}} WHERE id = {}".format, KEYS)
UNSEEN = st.builds("UPDATE {{}} SET name = {}, at = at WHERE id = {}".format, NAMES, KEYS)
MOVE = st.builds("UPDATE IGNORE {{}} SET id = {}, at = at WHERE id = {}".format, KEYS, KEYS)
STEPS = st.lists(st.one_of(PUT, PUT, DELETE, DELETE, UNSEEN, MOVE, st.just(PULL)), min_size=6, max_size=25)


@pytest.fixture
def scene(source: SourceDatabase, dataset: EmulatedDataset, tmp_path: Path) -> CheckScene:
    return CheckScene(source, dataset, tmp_path, {}, ColumnPolicies())


def sides(scene: CheckScene, table: str) -> tuple[list[object], list[object]]:
    """The rows of the source, and those that people read."""
    source = [(key, name, at) for key, name, at in scene.source.rows(f"SELECT id, name, at FROM {table}")]
    view = [(row["id"], row["name"], row["at"].replace(tzinfo=None)) for row in scene.view(table)]
    return sorted(source, key=str), sorted(view, key=str)


@pytest.mark.long
@settings(max_examples=examples(3), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, watermark=st.sampled_from(["at", "id"]), rows=st.integers(9, 40))
def test_after_a_full_round_of_repairs_people_read_what_the_source_has(
    scene: CheckScene, steps: list[str], watermark: str, rows: int
) -> None:
    """Keys move, rows change below the watermark, and deletions are seen by no pull."""
    table = f"t{next(_tables)}"
    scene.source.run(
        f"CREATE TABLE {table} (id INT PRIMARY KEY, name VARCHAR(9) CHARACTER SET utf8mb4, "
        "at TIMESTAMP(6) NOT NULL DEFAULT '2026-05-01 10:00:00', KEY (at))",
        f"INSERT INTO {table} (id, name) VALUES (0, 'a'), (5, 'b'), (20, 'c')",
    )
    scene.tables = {table: by(watermark)}
    for step in (PULL, *steps, PULL):
        scene.pull() if step == PULL else scene.source.run(step.format(table))
    found = scene.check_one(table, rows=rows, fix=True)
    assert found.outcome in ("fixed", "same"), found.text
    source, view = sides(scene, table)
    assert source == view
