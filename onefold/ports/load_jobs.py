"""Load jobs: files that become rows of a table, appended to it or in place of its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Protocol

from onefold.core.errors import Rejected
from onefold.core.names import TableId

PULLED_LABEL = "onefold_pulled"
"""The label of versioned tables whose rows load jobs may replace. Captured tables never have it."""


class NotPulled(Rejected):
    """A table without the label of pulled tables: none of its rows may be replaced."""


class LoadFile(Protocol):
    """A file of rows, one JSON object a line."""

    @property
    def name(self) -> str:
        """The address of the file."""

    @property
    def checksum(self) -> str:
        """A digest of the content, as hexadecimal digits."""

    @property
    def rows(self) -> int:
        """The rows in it, as they were counted when it was written."""


@dataclass(frozen=True)
class LoadedJob:
    """A load that has succeeded.

    Attributes:
        id: the identifier of the job.
        rows: the rows that it wrote; None where the warehouse does not say.
    """

    id: str
    rows: int | None = None


class RowAppender(Protocol):
    """Writes few rows without a load job, of which a project may run 100,000 a day."""

    def append(self, table: TableId, rows: Sequence[Mapping[str, Any]]) -> LoadedJob | None:
        """Append all rows at one moment, or none of them.

        Args:
            table: the table.
            rows: the values by column, in the form of a line of a file.

        Returns:
            What wrote the rows, with its name in the place of a job's; None where nothing was written, and a load job has to
            do it.

        Raises:
            TryAgain: it is not known whether the rows were written.
        """


class LoadJobs(Protocol):
    """The load jobs of one project. Each takes all of its files or, where one row does not fit, none.

    Where a job of the same files has been run before, it counts only if the table is still the one that it was run for, and
    has as many rows as the job wrote. A job that wrote another number of rows than the files have is an error (Rejected).
    """

    def since(self, at: datetime) -> LoadJobs:
        """Return the same load jobs, for which no job counts that was run before a time: its log was lost since.

        Args:
            at: when the load began that is done, by the log of loads.
        """

    def append(self, table: TableId, files: Sequence[LoadFile]) -> LoadedJob:
        """Append the rows of files. A repeated call with the same files appends nothing more.

        Raises:
            Rejected: a row does not fit, or a file does not exist; the error names the file.
            TryAgain: an error that may pass.
        """

    def replace(self, table: TableId, files: Sequence[LoadFile], day: date | None = None) -> LoadedJob | None:
        """Replace the rows of a pulled table by those of files, at one moment. This is the only method that deletes rows.

        Args:
            table: a versioned table that has the label of pulled tables.
            files: the new rows, all of this day; no files empty the table or the partition.
            day: the partition by `_day` that is replaced; None for the whole table.

        Returns:
            The job; None where there are no files.

        Raises:
            NotPulled: the table does not have the label, so nothing was replaced.
            Rejected: a row does not fit, or a file does not exist; the error names the file.
            TryAgain: an error that may pass.
        """

    def load_keys(self, table: TableId, files: Sequence[LoadFile]) -> None:
        """Fill a temporary table with its columns of the rows of files, in place of what it held.

        Args:
            table: a table whose name begins with the prefix of temporary tables.
            files: the rows, which may have more columns.

        Raises:
            Rejected: the table is not a temporary one, or a file does not exist.
            TryAgain: an error that may pass.
        """
