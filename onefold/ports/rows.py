"""Versioned tables, to which rows are appended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from onefold.core.names import TableId
from onefold.schema.columns import Column

RowErrors = dict[int, str]
"""The reasons why rows or records do not fit, by their index in the list."""


class TableWriter(Protocol):
    """A versioned table, to which rows are appended."""

    columns: tuple[Column, ...]

    def append(self, rows: Sequence[Row]) -> Mapping[int, str]:
        """Append all rows that fit, and return the reasons why others do not fit, by the index of the row.

        Rows are appended at least once: the same rows appended again are there twice.

        Raises:
            TryAgain: an error that may pass; some of the rows may have been written.
            Rejected: BigQuery refuses all of the rows, and a retry does not help.
        """


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


Row = dict[str, Any]
"""The values of a row by column, in the form of JSON: docs/reference/source-types.md."""
