"""Checks of captured tables: rows that land without a watermark, compared with their source after a while."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.check_scene import CLUSTER, CheckScene
from support.source_database import SourceDatabase

from onefold.adapters.bigquery.storage_write import landing_in
from onefold.capture.versioned_table import versioned_table
from onefold.checks.report import TableCheck
from onefold.compare.findings import DIFFERENT, ONLY_LEFT, ONLY_RIGHT
from onefold.core.names import TableId
from onefold.merge.refresh import refresh_current
from onefold.mysql.catalog import TableName, structure_of
from onefold.mysql.snapshot.select_list import read_selected, select_list
from onefold.schema.column_policy import Action, ColumnPolicies, PolicyRule


class CapturedScene(CheckScene):
    """A table whose changes land as capture and sink write them."""

    def land(self, change: str = "INSERT", where: str = "TRUE") -> None:
        """Land the present rows of the source as changes."""
        structure = structure_of(self.source.connection, TableName(self.source.name, "t"))
        assert structure
        target = versioned_table(structure)
        id_ = self.captured.sibling(target.name)
        self.warehouse.create_table(id_, target.columns)
        writer = landing_in(self.warehouse).open(id_)
        assert writer
        selected = self.source.rows(f"SELECT {select_list(structure)} FROM t WHERE {where}")
        self.number = getattr(self, "number", 0) + 1
        rows = [
            {**dict(zip(target.source_names, row, strict=True)), **self._added(change)}
            for row in read_selected(structure, selected).rows
        ]
        assert not writer.append(rows)
        refresh_current(self.warehouse, self.captured, (), self.settings)

    def _added(self, change: str) -> dict[str, Any]:
        now = datetime.now(UTC)
        metadata = {
            "ingestion_method": "BINLOG", "change_type": change, "change_sequence_number": f"1/1/{self.number:X}/0",
            "source_timestamp": int(now.timestamp() * 1000), "primary_key": ["id"], "uuid": None, "sort_keys": [],
        }  # fmt: skip
        at = now.isoformat(" ", "microseconds")
        return {"source_name": CLUSTER, "database_name": self.source.name, "_landed_at": at, "datastream_metadata": metadata}

    @property
    def captured(self) -> TableId:
        return TableId(self.warehouse.project, self.emulated.name, "t")

    def compared(self, **changes: Any) -> TableCheck:
        options = {"captured": self.emulated.name, "settle": timedelta(0), "whole": True, "rows": 4, **changes}
        (found,) = self.check(tables=("t",), **options).tables
        return found


@pytest.fixture
def scene(source: SourceDatabase, dataset: EmulatedDataset, tmp_path: Path) -> CapturedScene:
    source.run(
        "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(40) CHARACTER SET utf8mb4, doc JSON)",
        "INSERT INTO t VALUES (1, 'a', '{\"x\": 1.50}'), (2, 'b', NULL), (3, NULL, '[]'), (4, 'd', '{}'), (5, 'e', '1')",
    )
    return CapturedScene(source, dataset, tmp_path, {}, ColumnPolicies((PolicyRule("*", "*", Action.CLEAR),)))


def test_a_captured_table_is_compared_by_chunks_and_not_counted(scene: CapturedScene) -> None:
    scene.land()
    found = scene.compared()
    assert (found.outcome, found.counts, len(found.chunks)) == ("same", None, 2), found.text
    scene.source.run(
        "UPDATE t SET name = 'z' WHERE id = 2", "DELETE FROM t WHERE id = 3", "INSERT INTO t VALUES (9, 'n', NULL)"
    )
    found = scene.compared()
    assert found.by_kind == {DIFFERENT: 1, ONLY_LEFT: 1, ONLY_RIGHT: 1}
    assert (
        '`name` does not match between MySQL (val="z") and BigQuery (val="b"), in the row id="2"' in found.chunks[0].findings
    )
    assert json.loads(json.dumps(found.as_dict()))["findings"] == found.by_kind


def test_a_change_that_lands_before_the_second_read_is_no_finding(scene: CapturedScene) -> None:
    scene.land()
    scene.source.run("UPDATE t SET name = 'late' WHERE id = 4")
    checks = scene.checks(captured=scene.emulated.name, tables=("t",), whole=True, settle=timedelta(seconds=9))
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        scene.land("UPDATE-INSERT", "id = 4")

    (found,) = replace(checks, sleep=sleep).run().tables
    assert (found.outcome, waited) == ("same", [9.0]), found.text
