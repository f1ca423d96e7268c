"""A ledger in the embedded BigQuery, and what its view lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from support.bigquery_emulator import EmulatedDataset

from onefold.changes.entry import Entry
from onefold.changes.ledger import Ledger, create_ledger
from onefold.changes.rows import entry_of
from onefold.core.names import TableId
from onefold.ports.rows import Row
from onefold_lab.stand_ins.warehouse import EmulatedWarehouse


@dataclass
class StoredLedger:
    """The ledger in a dataset of its own."""

    dataset: EmulatedDataset

    def __post_init__(self) -> None:
        self.dataset.client.create_dataset(self.name, exists_ok=True)
        create_ledger(self.warehouse, self.name)

    @property
    def name(self) -> str:
        return f"{self.dataset.name}_changes"

    @cached_property
    def warehouse(self) -> EmulatedWarehouse:
        return EmulatedWarehouse(self.dataset.client)

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.warehouse, self.name)

    def entries(self, table: str = "customer") -> list[Entry]:
        """What the view lists of a table, in the order of the recording."""
        rows = self.warehouse.fetch(
            f"SELECT * FROM `{self.warehouse.project}.{self.name}.schema_changes_latest` "
            f"WHERE `table` = '{table}' ORDER BY recorded_at, version_after, tenant"
        )
        return [entry_of(row) for row in rows]

    def count(self) -> int:
        """The rows of the table, duplicates included."""
        ((count,),) = self.dataset.run(f"SELECT COUNT(*) FROM `{self.warehouse.project}.{self.name}.schema_changes`")
        assert isinstance(count, int)
        return count


class Dying:
    """What stops its process, before or after the rows are in the ledger."""

    def __init__(self, ledger: Ledger, after: bool) -> None:
        self._rows, self._after, self.project = ledger.rows, after, ledger.rows.project

    def insert_rows(self, id_: TableId, rows: Sequence[Row]) -> None:
        if self._after:
            self._rows.insert_rows(id_, rows)
        raise KeyboardInterrupt
