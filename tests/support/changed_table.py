"""A table that changes between its pulls, from a real server into the embedded BigQuery."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.check_scene import CheckScene
from support.pulls import by
from support.source_database import SourceDatabase

from onefold.ports.rows import Row
from onefold.pull.load.run import Log
from onefold.pull.read.report import PullReport

NOON = datetime(2026, 5, 3, 12, tzinfo=UTC)
DAILY = NOON + timedelta(hours=16)
"""The hour of the daily load of the day of NOON."""


@pytest.fixture
def scene(source: SourceDatabase, dataset: EmulatedDataset, tmp_path: Path) -> CheckScene:
    source.run(
        "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(20), at DATETIME(3), KEY (at))",
        "INSERT INTO t VALUES (1, 'a', '2026-05-03 10:00'), (2, 'b', '2026-05-03 10:00'), (3, 'c', '2026-05-03 10:00')",
    )
    return CheckScene(source, dataset, tmp_path, {"t": by("at")}, at=NOON)


def shown(scene: CheckScene, column: str = "name", table: str = "t") -> dict[int, Any]:
    """What people read, by key."""
    return {row["id"]: row[column] for row in scene.view(table)}


def outcomes(report: PullReport) -> dict[str, str]:
    return {table.table: table.outcome for table in report.tables}


class Killed(Exception):
    """The process ends here."""


@dataclass
class KilledBeforeTheLog:
    """A log to which no load writes that it is done."""

    log: Log

    def __getattr__(self, name: str) -> Any:
        return getattr(self.log, name)

    def append(self, row: Row) -> None:
        if row["state"] == "loaded":
            raise Killed
        self.log.append(row)
