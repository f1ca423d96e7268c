"""The checkpoint: how far capture has come, as one small JSON document that is always replaced as a whole.

A checkpoint may be older than the true state, but never newer: Pub/Sub has confirmed everything before its position.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from onefold.capture.quarantine import DroppedColumns, KnownStructure, Quarantined
from onefold.capture.xa import PreparedTransaction
from onefold.core.errors import InvalidInput
from onefold.landing.row_writer import AppliedRules
from onefold.mysql.binlog.events import LogPosition
from onefold.mysql.catalog import TableName
from onefold.mysql.gtid import GtidSet
from onefold.mysql.snapshot.chunks import TableSnapshot
from onefold.mysql.table_filter import TableFilter

FORMAT = 5
"""The version of the document. It rises when older code would misread a checkpoint."""
_FORMAT_WITHOUT_FOLLOWED_RULES = 4
"""Code before rules that follow a name would publish the columns as they are."""
_FORMAT_WITHOUT_RULES = 3
"""Code before the rules of columns would publish the columns as they are."""
_FORMAT_WITHOUT_DROPPED_COLUMNS = 2
"""Without dropped columns, older code may read a checkpoint. With them, it would not copy a table that gets one again."""
OLDEST_FORMAT = 1
"""Code before quarantine would publish rows on top of missing ones."""


@dataclass(frozen=True)
class Progress:
    """A position of the log between two transactions: everything before the position has been read."""

    position: LogPosition | None = None
    executed: GtidSet = field(default_factory=GtidSet)
    """The transactions before the position, as far as they are known."""
    fingerprint: str | None = None
    """When, and by which server, the file of the position was begun."""
    prepared: tuple[PreparedTransaction, ...] = ()
    """XA transactions that were prepared before the position and have not ended there, the oldest first."""
    as_of: int | None = None
    """Everything that the source had committed by then comes before the position. In seconds since 1970; None if unknown."""


@dataclass(frozen=True, order=True)
class CopyRequest:
    """A table that is to be copied, as it was at a position of the log or later."""

    table: TableName
    since: LogPosition = field(compare=False)


@dataclass(frozen=True)
class DeleteScan:
    """A finished copy: keys that landed and that the copy did not contain get a deletion, in repeated scans."""

    copy: TableSnapshot
    finished_at: int
    """Seconds since 1970."""
    scanned_at: int | None = None
    """When the last scan ended, in seconds since 1970; None before the first one."""


@dataclass(frozen=True)
class RuledTable:
    """A table of which rules name columns."""

    table: TableName
    columns: frozenset[str]
    """The columns that it had, and those with a rule that are gone without a statement; in one case."""


@dataclass(frozen=True)
class Checkpoint:
    """How far the capture of a source into a dataset has come, and what is left to do."""

    source: str
    dataset: str
    epoch: int = 1
    reached: Progress = field(default_factory=Progress)
    copied: bool = False
    """Whether a first copy of all tables has been requested."""
    copy_requests: tuple[CopyRequest, ...] = ()
    """Tables whose copy has not begun."""
    copies: tuple[TableSnapshot, ...] = ()
    """Copies that have begun."""
    delete_scans: tuple[DeleteScan, ...] = ()
    dropped: tuple[tuple[str, str | None], ...] = ()
    """Dropped tables, by database and name; without a name, all tables of a database. A table created under the name of a
    dropped one is another table, and is copied, so that the rows of the old table get deletions."""
    patterns: TableFilter | None = None
    """Which tables were captured; None in checkpoints of older versions."""
    quarantine: tuple[Quarantined, ...] = ()
    """Tables whose rows are not published."""
    structures: tuple[tuple[TableName, KnownStructure], ...] = ()
    """The last known structure of tables."""
    owners: tuple[tuple[str, str], ...] = ()
    """Base names with the source tables that are captured under them although their own names differ."""
    dropped_columns: tuple[DroppedColumns, ...] = ()
    """Columns that were dropped without a copy."""
    rules: AppliedRules = field(default_factory=AppliedRules)
    """The rules under which the columns landed."""
    ruled_tables: tuple[RuledTable, ...] = ()
    """The columns of tables in which a rule names one."""

    @property
    def format(self) -> int:
        """The least format whose code reads this checkpoint correctly."""
        if self.rules.followed:
            return FORMAT
        if self.rules.rules:
            return _FORMAT_WITHOUT_FOLLOWED_RULES
        if self.dropped_columns:
            return _FORMAT_WITHOUT_RULES
        return _FORMAT_WITHOUT_DROPPED_COLUMNS if self.quarantine else OLDEST_FORMAT

    saved_at: int | None = None
    """When a process saved the checkpoint, in seconds since 1970; None in checkpoints of older versions."""

    def without_times(self) -> Checkpoint:
        """Return the checkpoint without the times that change although nothing has happened."""
        return replace(self, saved_at=None, reached=replace(self.reached, as_of=None))


def check_owner(found: Checkpoint, source: str, dataset: str) -> None:
    """Check that a checkpoint belongs to this capture.

    Args:
        found: the checkpoint.
        source: the name of the source that is to be captured.
        dataset: the dataset of its versioned tables.

    Raises:
        InvalidInput: the checkpoint is of another source or dataset; lists both problems.
    """
    named = (("source", source, found.source), ("dataset", dataset, found.dataset))
    problems = [
        f"expected a checkpoint of the {kind} {expected!r}, got one of the {kind} {actual!r}"
        for kind, expected, actual in named
        if expected != actual
    ]
    if problems:
        raise InvalidInput([*problems, "name another checkpoint, or the same source and dataset as before"])
