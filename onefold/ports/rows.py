"""Versioned tables that rows are appended to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from onefold.core.names import TableId
from onefold.schema.columns import Column

RowErrors = dict[int, str]
"""Why rows or records do not fit, by their place in the list."""


class TableWriter(Protocol):
    """A versioned table that rows are appended to."""

    columns: tuple[Column, ...]

    def append(self, rows: Sequence[Row]) -> Mapping[int, str]:
        """Write all rows but those that do not fit; these come back, by their place, with the reason.

        Raises:
            TryAgain: trouble that may pass; some of the rows may have been written.
            Rejected: BigQuery refuses all of them for good.
        """


class RowWriter(Protocol):
    """The versioned tables of a project."""

    project: str

    @property
    def calls(self) -> int:
        """How many calls this thread has made so far."""

    def open(self, id_: TableId) -> TableWriter | None:
        """The table, or None where there is none of that name (yet)."""


Row = dict[str, Any]
"""By column, as JSON has it: docs/reference/source-types.md."""
