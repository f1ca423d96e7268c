"""The table of readers: the newest run whose last row has landed is what is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from support.bigquery_emulator import EmulatedDataset

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.adapters.connect import row_writer_for
from onefold.changes.reader_counts import NOBODY, ColumnReaders, KnownReaders
from onefold.changes.reader_table import COLLECTED_AT, READER_COLUMNS, append_readers, read_readers, readers_table
from onefold.core.errors import NotFound, TryAgain
from onefold.core.names import TableId
from onefold.ports.rows import Row, RowErrors
from onefold_lab.stand_ins.warehouse import EmulatedWarehouse

NOW = datetime.now(UTC).replace(microsecond=0)
FOUND = KnownReaders(
    NOW,
    (
        ColumnReaders("shop", "t_current", "id", "view", 2, 1),
        ColumnReaders("shop", "t_current", "id", "person", 3, 3, 40, 2, NOW),
    ),
    30, 2, 1,
)  # fmt: skip


@pytest.fixture
def warehouse(dataset: EmulatedDataset) -> EmulatedWarehouse:
    return EmulatedWarehouse(dataset.client)


@pytest.fixture
def table(dataset: EmulatedDataset, warehouse: BigQueryWarehouse) -> TableId:
    found = readers_table(warehouse.project, dataset.name)
    warehouse.create_table(found, READER_COLUMNS, partition=COLLECTED_AT)
    return found


def test_the_newest_run_is_read_as_it_was_written(table: TableId, warehouse: BigQueryWarehouse) -> None:
    rows = row_writer_for(warehouse)
    append_readers(rows, table, replace(FOUND, collected_at=NOW - timedelta(days=1), rows=FOUND.rows[:1]), "first")
    append_readers(rows, table, FOUND, "second")
    found = read_readers(warehouse, table.dataset)
    assert (found.collected_at, found.days, found.incomplete, found.unparsed) == (NOW, 30, 2, 1)
    assert found.readers_of("shop", "t_current", "ID") == FOUND.rows
    assert found.readers_of("shop", "t_current") == FOUND.rows
    assert found.readers_of("shop", "other") == ()


class Killed:
    """A writer of rows whose process ends behind some appends; and one append of each run arrives twice."""

    def __init__(self, warehouse: BigQueryWarehouse, appends: int) -> None:
        self._rows, self.appends = row_writer_for(warehouse), appends
        self.project = warehouse.project

    def open(self, id_: TableId) -> Killed:
        self._table = self._rows.open(id_)
        return self

    def append(self, rows: Sequence[Row]) -> RowErrors:
        if self.appends == 0:
            raise TryAgain("killed")
        assert self._table is not None
        self.appends -= 1
        return self._table.append(rows) or self._table.append(rows)


def test_a_run_that_was_killed_counts_for_nothing_and_rows_that_arrive_twice_once(
    table: TableId, warehouse: BigQueryWarehouse
) -> None:
    append_readers(Killed(warehouse, 2), table, replace(FOUND, collected_at=NOW - timedelta(days=1)), "first")  # type: ignore[arg-type]
    with pytest.raises(TryAgain):
        append_readers(Killed(warehouse, 1), table, replace(FOUND, rows=FOUND.rows[:1]), "second")  # type: ignore[arg-type]
    assert read_readers(warehouse, table.dataset).rows == FOUND.rows


def test_an_old_run_is_forgotten(table: TableId, warehouse: BigQueryWarehouse) -> None:
    append_readers(row_writer_for(warehouse), table, replace(FOUND, collected_at=NOW - timedelta(days=32)), "old")
    assert read_readers(warehouse, table.dataset) == NOBODY


def test_without_a_dataset_a_table_or_a_run_nobody_is_known(dataset: EmulatedDataset, warehouse: BigQueryWarehouse) -> None:
    assert read_readers(warehouse, None) == NOBODY
    assert read_readers(warehouse, dataset.name) == NOBODY
    table = readers_table(warehouse.project, dataset.name)
    with pytest.raises(NotFound, match="let `infra/` create it"):
        append_readers(row_writer_for(warehouse), table, FOUND, "run")
    warehouse.create_table(table, READER_COLUMNS, partition=COLLECTED_AT)
    assert read_readers(warehouse, dataset.name) == NOBODY
