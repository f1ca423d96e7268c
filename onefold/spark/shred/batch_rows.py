"""What the records of one batch become: their rows by the number of the table, and the counts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from onefold.events.shred.bad_entity import BadEntity
from onefold.events.shred.bad_reasons import count_reasons
from onefold.events.shred.bad_rows import BadRow, EventProblem
from onefold.events.shred.plan import PlannedTable
from onefold.events.shred.shredder import Shredded
from onefold.events.shred.tally import BAD_ROWS, EVENT_IDS, Tally
from onefold.events.shred.wide import WideRows
from onefold.spark.shred.table_files import schemas_in


@dataclass
class BatchRows:
    """The records of a batch, shredded.

    Attributes:
        tables: those of the plan.
        wide: makes rows with wide columns, if there are to be such.
        ids: the keys of its events, where the run keeps them.
    """

    tables: tuple[PlannedTable, ...]
    wide: WideRows | None = None
    ids: list[Any] = field(default_factory=list)
    _rows: defaultdict[int, list[Any]] = field(default_factory=lambda: defaultdict(list))
    _wide_rows: list[Any] = field(default_factory=list)
    _bad: list[BadRow] = field(default_factory=list)
    _apart: list[BadEntity] = field(default_factory=list)
    _unknown: list[EventProblem] = field(default_factory=list)
    _events: int = 0
    _retried: int = 0

    def add(self, one: Shredded) -> None:
        """Add what a record has become."""
        rows, bad, apart, is_event, kept, _ = one
        for table, row in rows:
            self._rows[table].append(row)
        if self.wide and rows:
            self._wide_rows.append(self.wide.row(rows))
        if bad is not None:
            self._bad.append(bad)
        self._events += is_event
        if apart or kept or not is_event:
            self._apart += apart
            self._unknown += kept
            self._retried += not is_event and not apart

    def count(self, tally: Tally) -> None:
        """Add the records and their rows to the counts of a task."""
        tally.events += self._events
        tally.retried += self._retried
        tally.bad.update(bad.kind for bad in self._bad)
        unknown = (BadRow(one.kind, (one.reason,), "") for one in self._unknown)
        count_reasons(tally.reasons, [*self._bad, *self._apart, *unknown])
        tally.bad_entities.update(bad.kind for bad in self._apart)
        tally.rows.update({table: len(some) for table, some in self._rows.items()})
        tally.schemas.update(self._schemas())

    def written(self) -> Mapping[int, list[Any]]:
        """Return the rows that are written, by the number of the table."""
        rows = self._rows_of_tables()
        bad = [*(one.to_json() for one in self._bad), *(one.to_json() for one in self._apart)]
        others = {BAD_ROWS: bad, EVENT_IDS: self.ids}
        return {**rows, **{table: some for table, some in others.items() if some}}

    def _rows_of_tables(self) -> Mapping[int, list[Any]]:
        """Return the rows of the tables; those of entities in wide columns are in the rows of their events."""
        if not self.wide:
            return self._rows
        rows = {table: some for table, some in self._rows.items() if table and not self.tables[table].column}
        return {**rows, 0: self._wide_rows} if self._wide_rows else rows

    def _schemas(self) -> Iterable[str]:
        for table, some in self._rows.items():
            if self.tables[table].uri:
                yield from schemas_in(self.tables[table], some)
