"""What the tasks of a run have counted and written."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

BAD_ROWS = -1
"""The table number of bad rows."""
EVENT_IDS = -2
"""The table number of the ids of the events, with which later runs compare theirs."""


@dataclass(frozen=True)
class WrittenFile:
    """A file of a task: the number of the table, the name, the rows and the bytes."""

    table: int
    name: str
    rows: int
    bytes: int


@dataclass
class Tally:
    """The counts of one task, or of several.

    Attributes:
        events: the events that were read.
        bad: the bad events by kind.
        rows: the rows by the number of the table.
        schemas: the URIs of the schemas that rows have.
        files: the files that were written.
        reasons: the bad events by each of their reasons, without values.
        bad_entities: the entities that were set apart, by kind.
        retried: the entities of earlier bad rows that became rows.
        left_out: the events that another record of this or an earlier run is.
        renamed: the events that got another id, since another event has theirs.
    """

    events: int = 0
    bad: Counter[str] = field(default_factory=Counter)
    rows: Counter[int] = field(default_factory=Counter)
    schemas: set[str] = field(default_factory=set)
    files: list[WrittenFile] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)
    bad_entities: Counter[str] = field(default_factory=Counter)
    retried: int = 0
    left_out: int = 0
    renamed: int = 0

    def add(self, other: Tally) -> Tally:
        """Add the counts of other tasks, and return all."""
        self.events += other.events
        self.bad += other.bad
        self.rows += other.rows
        self.schemas |= other.schemas
        self.files += other.files
        self.reasons += other.reasons
        self.bad_entities += other.bad_entities
        self.retried += other.retried
        self.left_out += other.left_out
        self.renamed += other.renamed
        return self
