"""The real job on tables of BigQuery, killed while it stages and merges: readers see the old rows or the new ones."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.merge_shop import LONG_AGO, Shop
from support.spark_oracle import base_of
from support.spark_process import KILLS, Job
from support.typed_shop import base_name, create_version, held, held_types, people_see, shown, texts, truth

from onefold.changelog.generator import WorkloadOptions, make_workload
from onefold.schema.table_rules import TableRules

pytestmark = pytest.mark.long

PART = 7
"""Of the columns: see `typed_shop.py`."""


class Tables:
    """A base that holds half of a workload, and the other half, which has landed."""

    def __init__(self, dataset: EmulatedDataset, folder: Path) -> None:
        self.shop = Shop(dataset, rules=TableRules())
        table = f"bigquery:{dataset.name}.{self.shop.name}"
        self.job = Job(folder, ["--changes", table, "--base", f"{table}_base", "--keys", "id"])
        workload = make_workload(WorkloadOptions(operations=120, key_changes=0.2, duplicates=0.2))
        self.types, self.truth = held_types(workload, PART), truth(workload, PART)
        (self.changes,) = ([held(row, PART) for row in rows] for rows in workload.changes.values())
        create_version(self.shop, "a000", self.changes[0], PART)
        half = len(self.changes) // 2
        self.shop.land("a000", *self.changes[:half], at=LONG_AGO)
        self.shop.merge()
        self.before = self.people_see()
        self.shop.land("a000", *self.changes[half:])

    def people_see(self) -> list[str]:
        return people_see(self.shop, self.types)

    def base(self) -> list[str]:
        return shown(self.shop, base_name(self.shop), {**self.types, "_deleted": "BOOL"})

    def expected_base(self) -> list[str]:
        return texts(base_of(self.changes, ["id"], (), self.types), {**self.types, "_deleted": "BOOL"})

    def staged(self) -> set[str]:
        """The staging tables of all runs so far; those that a killed one has left expire after a day."""
        tables = self.shop.warehouse.client.list_tables(self.shop.dataset.name)
        return {item.table_id for item in tables if "_staged_" in item.table_id}

    def kill(self, shown: Callable[[], set[Any]], after: float) -> bool:
        """Kill a run some seconds after it has shown something new."""
        before = shown()
        return self.job.kill(after, lambda: shown is set or bool(shown() - before))


@pytest.mark.usefixtures("spark")  # where there is no Spark, there is no job
def test_a_job_that_is_killed_while_it_stages_or_merges_runs_again(
    dataset: EmulatedDataset, tmp_path: Path, chance: random.Random
) -> None:
    tables = Tables(dataset, tmp_path)
    assert tables.before != tables.truth
    killed = 0
    for stage, longest in [(set, 12.0), (tables.staged, 0.2), (tables.staged, 1.5)] * KILLS:
        killed += tables.kill(stage, chance.uniform(0, longest))
        assert tables.people_see() in (tables.before, tables.truth)
    assert killed
    left = tables.staged()
    tables.job.run()
    assert (tables.people_see(), tables.base()) == (tables.truth, tables.expected_base())
    assert tables.staged() == left
    assert tables.job.run()["keys"] <= len(tables.changes)
    assert tables.base() == tables.expected_base()
