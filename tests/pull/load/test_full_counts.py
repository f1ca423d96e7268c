"""Checks of tables that are loaded full: the view against what the source counted within the read of the load."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace

import pytest
from support.changed_table import outcomes
from support.check_scene import CheckScene
from support.database_servers import MariaDb, MySql
from support.source_database import on

from onefold.pull.read.part import Block, PartResult, write_part
from onefold.pull.read.plan import TablePlan
from onefold.pull.read.python_reader import read_part
from onefold.settings.sources import TableLoad
from onefold.spark.pull.places import destination_of

pytestmark = on(MariaDb, long=MySql)


@dataclass(frozen=True)
class LosingReader:
    """A reader with a fault: it writes no row whose name is c."""

    scene: CheckScene

    def read(self, plan: TablePlan, part: int) -> PartResult:
        with closing(self.scene.connect()) as connection:
            blocks = map(self._lost, read_part(connection, plan, part))
            return write_part(plan, part, blocks, destination_of(self.scene.settings))

    @staticmethod
    def _lost(block: Block) -> Block:
        kept = [line for line in block.lines.splitlines(keepends=True) if b'"c"' not in line]
        return replace(block, lines=b"".join(kept), days=dict.fromkeys(block.days, len(kept)))


@pytest.fixture
def full(scene: CheckScene) -> CheckScene:
    scene.tables = {"t": TableLoad("full")}
    return scene


def test_a_full_load_that_lost_a_row_differs_from_the_count_of_its_source(full: CheckScene) -> None:
    assert outcomes(full.run("day", reader=LosingReader(full))) == {"t": "loaded"}
    found = full.check_one()
    assert found.counts
    assert (found.outcome, found.counts.source, found.counts.warehouse) == ("different", 3, 2)
    full.pull("day")
    # What has changed at the source since the load is no difference.
    full.source.run("DELETE FROM t WHERE id = 1")
    assert full.check_one().outcome == "same"


def test_an_empty_table_that_is_loaded_full_is_counted(full: CheckScene) -> None:
    full.source.run("DELETE FROM t")
    full.pull("day")
    found = full.check_one()
    assert found.counts
    assert (found.outcome, found.counts.source) == ("same", 0)
