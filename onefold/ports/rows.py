"""Versioned tables, to which rows are appended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from onefold.core.errors import OnefoldError
from onefold.core.names import TableId
from onefold.schema.columns import Column

RowErrors = dict[int, str]
"""The reasons why rows or records do not fit, by their index in the list."""


class TableWriter(Protocol):
    """A versioned table, to which rows are appended."""

    columns: tuple[Column, ...]

    def append(self, rows: Sequence[Row]) -> RowErrors:
        """Append all rows that fit, and return the reasons why others do not fit, by the index of the row.

        Rows are appended at least once: the same rows appended again are there twice.

        Raises:
            TryAgain: an error that may pass; some of the rows may have been written.
            Rejected: BigQuery refuses all of the rows, and a retry does not help.
        """


Appended = RowErrors | OnefoldError
"""What became of the rows of one table: the rows that do not fit, or the error that `TableWriter.append` would raise."""


class RowWriter(Protocol):
    """The versioned tables of one project."""

    project: str

    @property
    def calls(self) -> int:
        """The number of calls that this thread has made so far."""

    def open(self, id_: TableId) -> TableWriter | None:
        """Return a table; None where no table of this name exists (yet).

        Raises:
            TryAgain: an error that may pass.
            Rejected: the table may not be read.
        """

    def opened(self, id_: TableId) -> TableWriter | None:
        """Return a table that `open` returned before and whose columns are remembered, without a call; None for others."""

    def append_each(self, batches: Sequence[tuple[TableWriter, Sequence[Row]]]) -> list[Appended]:
        """Append rows to several tables of one dataset, which `open` returned, and return what became of each table's rows.

        The error of one table does not keep the rows of others from being appended. `Postponed` is an error that need not
        be the table's own.
        """


class RowInserter(Protocol):
    """The tables of one project, into which few rows are inserted now and then."""

    project: str

    def insert_rows(self, id_: TableId, rows: Sequence[Row]) -> None:
        """Append all rows, or none. Rows are appended at least once: after an error that may pass, they may be there.

        Args:
            id_: the table.
            rows: the rows, at most 500 and 10 MB.

        Raises:
            TryAgain: an error that may pass; AccessDenied is one.
            NotFound: there is no such table.
            Rejected: the table takes no such rows.
        """


def appended(table: TableWriter, rows: Sequence[Row]) -> Appended:
    """Append rows to one table, and return its error instead of raising it."""
    try:
        return table.append(rows)
    except OnefoldError as error:
        return error


Row = dict[str, Any]
"""The values of a row by column, in the form of JSON: docs/reference/source-types.md."""
