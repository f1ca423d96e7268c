"""A captured table on a real server, whose rows land in the embedded BigQuery as capture and sink write them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from support.bigquery_emulator import EmulatedDataset
from support.check_scene import CLUSTER, CheckScene
from support.source_database import SourceDatabase

from onefold.adapters.connect import row_writer_for
from onefold.check.report import TableCheck
from onefold.core.names import TableId
from onefold.landing.table import versioned_table
from onefold.mysql.catalog import TableName, structure_of
from onefold.mysql.snapshot.select_list import read_selected, select_list
from onefold.schema.column_policy import Action, ColumnPolicies, PolicyRule
from onefold.views.refresh_current import refresh_current


class CapturedScene(CheckScene):
    """A table whose changes land as capture and sink write them."""

    def land(self, change: str = "INSERT", where: str = "TRUE") -> None:
        """Land the present rows of the source as changes."""
        structure = structure_of(self.source.connection, TableName(self.source.name, "t"))
        assert structure
        landing = self.columns.landing(self.source.name, structure)
        target = versioned_table(landing.structure)
        id_ = self.captured.sibling(target.name)
        self.warehouse.create_table(id_, target.columns)
        writer = row_writer_for(self.warehouse).open(id_)
        assert writer
        selected = self.source.rows(f"SELECT {select_list(structure)} FROM t WHERE {where}")
        self.number = getattr(self, "number", 0) + 1
        rows = [
            {**dict(zip(target.source_names, row, strict=True)), **self._added(change)}
            for row in landing.rows(read_selected(structure, selected).rows)
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

    def spoil_captured(self, statement: str) -> None:
        """Run a statement on the only version of the table; `{}` is the table."""
        names = [one.table_id for one in self.emulated.client.list_tables(self.emulated.name)]
        (name,) = (name for name in names if name.startswith("t_v_"))
        self.warehouse.execute(statement.replace("{}", self.captured.sibling(name).quoted))

    @property
    def captured(self) -> TableId:
        return TableId(self.warehouse.project, self.emulated.name, "t")

    def compared(self, **changes: Any) -> TableCheck:
        options = {"captured": self.emulated.name, "settle_seconds": 0, "whole": True, "rows": 4, **changes}
        (found,) = self.check(tables=("t",), **options).tables
        return found


def five_rows(source: SourceDatabase, dataset: EmulatedDataset, folder: Path) -> CapturedScene:
    """Return a table of five rows, of which none has landed."""
    source.run(
        "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(40) CHARACTER SET utf8mb4, doc JSON)",
        "INSERT INTO t VALUES (1, 'a', '{\"x\": 1.50}'), (2, 'b', NULL), (3, NULL, '[]'), (4, 'd', '{}'), (5, 'e', '1')",
    )
    return CapturedScene(source, dataset, folder, {}, ColumnPolicies((PolicyRule("*", "*", Action.CLEAR),)))
