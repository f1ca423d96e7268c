"""The ledger: a table in a dataset of its own, to which entries are appended and of which no row is changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from onefold.changes.table import LEDGER_COLUMNS, LEDGER_TABLE, LEDGER_VIEW, latest_query
from onefold.core.errors import AccessDenied, NotFound, Rejected
from onefold.core.names import TableId
from onefold.ports.rows import Row, RowInserter
from onefold.ports.warehouse import BaseWarehouse, ViewDraft

_MOST_ROWS = 500
"""Rows of one append."""


@dataclass(frozen=True)
class Ledger:
    """The ledger of an installation, for those who append to it. They need no right to read it.

    Attributes:
        rows: inserts rows into tables.
        dataset: the dataset of the ledger.
    """

    rows: RowInserter
    dataset: str

    @property
    def table(self) -> TableId:
        """The table to which rows are appended."""
        return ledger_table(self.rows.project, self.dataset)

    def append(self, rows: Sequence[Row]) -> None:
        """Append rows, in the form of `row_of`. Rows that are appended again are there twice; the view lists them once.

        Raises:
            TryAgain: an error that may pass; some of the rows may have been written.
            Rejected: the table does not exist or takes no such rows, or the account may not append to it.
        """
        for start in range(0, len(rows), _MOST_ROWS):
            try:
                self.rows.insert_rows(self.table, rows[start : start + _MOST_ROWS])
            except NotFound as error:
                raise Rejected(
                    f"there is no table {self.table}: create it by the variable changes_dataset of infra/, or by "
                    "`onefold changes create`"
                ) from error
            except AccessDenied as error:
                raise Rejected(f"{error}: whoever refreshes views needs bigquery.tables.updateData on it") from error


def ledger_table(project: str, dataset: str) -> TableId:
    """Return the name of the table to which entries are appended."""
    return TableId(project, dataset, LEDGER_TABLE)


def ledger_view(project: str, dataset: str) -> TableId:
    """Return the name of the view that lists each change once."""
    return TableId(project, dataset, LEDGER_VIEW)


def create_ledger(warehouse: BaseWarehouse, dataset: str) -> None:
    """Create the table and the view of the ledger in a dataset that exists; what exists stays as it is.

    Raises:
        NotFound: the dataset does not exist.
    """
    table, view = ledger_table(warehouse.project, dataset), ledger_view(warehouse.project, dataset)
    warehouse.create_table(table, [column for column, _ in LEDGER_COLUMNS], partition="recorded_at")
    if warehouse.get_view(view) is None:
        warehouse.create_view(view, ViewDraft(latest_query(table)))
