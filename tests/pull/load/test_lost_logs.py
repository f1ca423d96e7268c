"""A first pull that is done again, through Google's own client: its job counts for the log and the rows that are there."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from support.fake_load_jobs import FakeLoadJobs, FakeTable
from support.load_scene import NOON, LoadScene

from onefold.adapters.bigquery.load_jobs import BigQueryLoadJobs
from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.pull.read.plan import TablePlan
from onefold.pull.read.pulled import PulledFiles


class Pull:
    """A first pull of two rows, whose files are read once, and its versioned table in the fake."""

    def __init__(self) -> None:
        self.scene = LoadScene()
        self.scene.source.put(1, "Ada", NOON)
        self.scene.source.put(2, "Grace", NOON)
        self.plan: TablePlan = self.scene.puller.plan(self.scene.process(), "15m", NOON)
        self.pulled: PulledFiles = self.scene.puller.read(self.plan, NOON)
        self.table = FakeTable()
        files = {name: data.decode() for name, data in self.scene.world.files.files.items()}
        self.fake = FakeLoadJobs({self.plan.target.name: self.table}, files)

    def load(self, hours: int) -> None:
        """Load by a process of its own, some hours after noon."""
        self.scene.now = NOON + timedelta(hours=hours)
        self.fake.now = int((self.scene.now + timedelta(minutes=5)).timestamp() * 1000)
        jobs = BigQueryLoadJobs(BigQueryWarehouse(self.fake.client()))
        loads = replace(self.scene.process(), jobs=jobs)
        loads.begin(self.plan)
        loads.load(self.pulled, self.scene.puller.present(self.scene.now))

    @property
    def ids(self) -> list[int]:
        return sorted(row["id"] for row in self.table.rows)


@pytest.fixture
def pull() -> Pull:
    return Pull()


def test_a_pull_that_was_killed_before_its_log_is_loaded_once(pull: Pull) -> None:
    pull.load(0)
    pull.scene.world.log = [row for row in pull.scene.world.log if row["state"] == "begun"]
    pull.load(1)
    assert pull.ids == [1, 2]
    assert len(pull.fake.inserted) == 1


def test_a_table_whose_rows_and_log_were_deleted_gets_its_rows_again(pull: Pull) -> None:
    for hours in range(3):
        pull.table.rows.clear()
        pull.scene.world.log.clear()
        pull.load(hours)
        assert pull.ids == [1, 2]


def test_rows_of_others_do_not_stand_for_those_of_a_pull_whose_log_was_deleted(pull: Pull) -> None:
    pull.load(0)
    pull.table.rows[:] = [{"id": id_, "_day": "2026-05-03"} for id_ in (7, 8)]
    pull.scene.world.log.clear()
    pull.load(1)
    assert pull.ids == [1, 2, 7, 8]


def test_a_table_that_was_dropped_gets_its_rows_again(pull: Pull) -> None:
    pull.load(0)
    pull.table = pull.fake.tables[pull.plan.target.name] = FakeTable(created=5_000)
    pull.load(1)
    assert pull.ids == [1, 2]
