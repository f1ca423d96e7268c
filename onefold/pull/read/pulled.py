"""The result of a pull: its files, and what was counted while they were written. The load takes it from here."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Protocol

from onefold.batches.source_arguments import Window
from onefold.core.names import TableId
from onefold.pull.read.plan import LoadState, TablePlan
from onefold.pull.read.present_rows import PresentRows
from onefold.pull.read.watermark import next_watermark


@dataclass(frozen=True)
class PulledFile:
    """One file of rows, one JSON object a line.

    Attributes:
        name: its address: gs://BUCKET/NAME, or file:///FOLDER/NAME on a laptop.
        rows: its lines.
        bytes: its size as it is stored.
        checksum: the MD5 of what is stored, as hexadecimal digits.
        days: the rows of each `_day`, in the order of the days.
    """

    name: str
    rows: int
    bytes: int
    checksum: str
    days: tuple[tuple[date, int], ...] = ()


@dataclass(frozen=True)
class PulledFiles:
    """All files of one table's pull.

    Attributes:
        plan: the pull.
        files: in the order of their names; none where no row was read.
        greatest: the greatest watermark of the rows; None where no row has one.
        least: the least one.
        rows_above: rows above the border that the source told. They are loaded.
        rows_without_watermark: rows without a watermark.
        losses: values that BigQuery cannot hold, by column and kind of loss; they land as NULL.
        rows_at_source: the rows of a table that is loaded full, as the source counted them within the same read.
    """

    plan: TablePlan
    files: tuple[PulledFile, ...] = ()
    greatest: int | None = None
    least: int | None = None
    rows_above: int = 0
    rows_without_watermark: int = 0
    losses: Mapping[tuple[str, str], int] = field(default_factory=dict)
    rows_at_source: int | None = None

    @property
    def table(self) -> TableId:
        """The base name, without a project."""
        return self.plan.table

    @property
    def version(self) -> str:
        """The version of all rows."""
        return self.plan.target.version

    @property
    def window(self) -> Window:
        """The window of the pull."""
        return self.plan.range.window

    @property
    def read_at(self) -> int:
        """The source's time before the first range, in microseconds since 1970."""
        return self.plan.read_at

    @property
    def rows(self) -> int:
        """All rows."""
        return sum(file.rows for file in self.files)

    @property
    def watermark(self) -> int | None:
        """The watermark from which the next pull reads, less its overlap; None without a watermark, and for a chunk."""
        if self.plan.watermark is None or self.window == "dq":
            return None
        previous = None if self.plan.truncated else self.plan.previous.watermark
        return next_watermark(self.plan.range.high, self.greatest, previous)


class Loads(Protocol):
    """What a pull needs of the load: the state of a table, and the load itself."""

    def state_of(self, table: TableId, window: Window, /) -> LoadState:
        """Return what the log of loads says about a table.

        Args:
            table: the base name, without a project.
            window: what is asked for: `LoadState.started` is of this window.

        Raises:
            Rejected: the dataset holds a captured table of that base name.
            TryAgain: the log cannot be read now.
        """

    def confirmed(self, table: TableId, state: LoadState, /) -> LoadState:
        """Return a state as the warehouse bears it out: without a version where the table of that version is gone.

        Args:
            table: the base name, without a project.
            state: that of `state_of`.

        Raises:
            TryAgain: the warehouse does not answer.
        """

    def pulled_tables(self, dataset: str, /) -> Collection[str]:
        """Return the base names of the pulled tables of a dataset, as the warehouse has them.

        Args:
            dataset: the dataset; one that does not exist has none.

        Raises:
            TryAgain: the warehouse does not answer.
        """

    def begin(self, plan: TablePlan) -> None:
        """Say that a pull is about to read, before its first range.

        Raises:
            TryAgain: the log cannot be written now.
        """

    def load(self, pulled: PulledFiles, present: PresentRows) -> None:
        """Load the files, and write the log. A repeated call does nothing more.

        Args:
            pulled: the result of the pull.
            present: reads rows of the source again by their keys.
        """
