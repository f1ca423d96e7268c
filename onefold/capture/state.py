"""What a capture has to remember, shared by its threads; the checkpoint is taken from it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from operator import attrgetter

from onefold.capture.checkpoint import Checkpoint, CopyRequest, DeleteScan, Progress
from onefold.capture.deletes import next_sweep
from onefold.capture.isolated import IsolatedTables
from onefold.capture.outbox import ConfirmationTracker
from onefold.capture.quarantine import Quarantined
from onefold.mysql.binlog.events import LogPosition
from onefold.mysql.catalog import TableName
from onefold.mysql.snapshot.chunks import ChunkPosition, TableSnapshot

SWEEP_DELAY = 60
"""Seconds for the rows of a copy to land before it is asked which keys it did not contain: a sweep that comes too early is
harmless, but writes many deletions in vain."""
_MANY_DROPPED = 1_000
"""More names of one database are kept as the database: each table that is created in it is copied then."""


@dataclass(frozen=True)
class RunningCopy:
    """A copy on its way. What of it is confirmed is told by the track."""

    table: TableName
    since: LogPosition
    """Chunks from before this place do not count: the table was changed there without a trace."""
    epoch: int
    track: ConfirmationTracker[TableSnapshot]


class CaptureState:
    """Every method may be called by any thread."""

    def __init__(
        self, checkpoint: Checkpoint, sweep_delay: int = SWEEP_DELAY, clock: Callable[[], float] = time.time
    ) -> None:
        self._lock = threading.RLock()
        self._delay = sweep_delay
        self._clock = clock
        self.begin(checkpoint)

    def begin(self, checkpoint: Checkpoint) -> None:
        """Go on from a checkpoint. Copies of another epoch are left behind."""
        with self._lock:
            self._base = checkpoint
            self._read, self._last = checkpoint.reached, lowest(checkpoint.epoch)
            self.log: ConfirmationTracker[Progress] = ConfirmationTracker(checkpoint.reached)
            self.isolated = IsolatedTables(self._lock, checkpoint)
            quarantined = self.isolated.is_quarantined
            self._wanted = {one.table: one.since for one in checkpoint.wanted if not quarantined(one.table)}
            self._copies: dict[TableName, RunningCopy] = {}
            for copy in checkpoint.copies:
                table = TableName(copy.database, copy.table)
                self._copies[table] = RunningCopy(
                    table, copy.start or lowest(checkpoint.epoch), checkpoint.epoch, ConfirmationTracker(copy)
                )
            self._resumable = list(self._copies)
            self._sweeps = {TableName(sweep.copy.database, sweep.copy.table): sweep for sweep in checkpoint.sweeps}
            self._dropped = dict.fromkeys(checkpoint.dropped)

    @property
    def epoch(self) -> int:
        return self._base.epoch

    def checkpoint(self) -> Checkpoint:
        """As of now: the log's place is looked at first, so that all that was noted before it is in."""
        with self._lock:
            reached = self.log.reached
            self._settle()
            begun = {table: copy.track.reached for table, copy in self._copies.items() if copy.track.reached.start}
            waiting = {table: copy.since for table, copy in self._copies.items() if table not in begun}
            saved = replace(
                self._base,
                reached=reached,
                wanted=tuple(CopyRequest(table, since) for table, since in sorted({**waiting, **self._wanted}.items())),
                copies=tuple(begun[table] for table in sorted(begun)),
                sweeps=tuple(self._sweeps[table] for table in sorted(self._sweeps)),
                dropped=tuple(self._dropped),
            )
            return self.isolated.saved(saved)

    @property
    def read(self) -> LogPosition | None:
        """The place up to which the log has been read."""
        with self._lock:
            return self._read.place

    # What the log tells.

    def reach(self, reached: Progress, last: LogPosition | None = None) -> None:
        """The log is read up to there; it is reached when all that lies before it is confirmed.

        Args:
            last: the end of the last transaction: what lies between has none.
        """
        with self._lock:
            self._read, self._last = reached, last or self._last
            self.log.mark(reached)

    def want(self, tables: Iterable[TableName], since: LogPosition) -> list[TableName]:
        """These tables are to be copied, as of a place or later; gives those that were not waiting already."""
        with self._lock:
            new = []
            for table in tables:
                if self.isolated.held(table, since):
                    continue  # it is copied when it leaves, or that copy is asked for already
                if table not in self._wanted:
                    new.append(table)
                self._wanted[table] = max(since, self._wanted.get(table, since), key=_order)
                self._dropped.pop((table.database, table.table), None)
            return new

    def hold(self, one: Quarantined) -> None:
        """A table goes into quarantine: nothing of it is copied or swept until it leaves."""
        with self._lock:
            self.isolated.hold(one)
            for kept in (self._wanted, self._copies, self._sweeps):
                kept.pop(one.table, None)

    def release(self, one: Quarantined, until: LogPosition) -> None:
        """A table leaves quarantine: a copy as of a place, or later, stands for all rows of the log before that place."""
        with self._lock:
            self.isolated.hold(replace(one, until=until))
            self._copies.pop(one.table, None)
            self.want([one.table], until)

    def may_lack(self, table: TableName, committed: LogPosition, prepared: LogPosition | None) -> bool:
        """Whether a copy may stand above the rows of an XA transaction without showing them, or is going to.

        Args:
            prepared: the place before its rows; None where the log was not read there, so that each copy lacks them.
        """
        with self._lock:
            self._settle()
            copy, sweep, since = self._copies.get(table), self._sweeps.get(table), self._wanted.get(table)
            starts = [copy and (copy.track.reached.start or copy.since), sweep and sweep.copy.start, since]
            found = [start for start in starts if start]
            if not found:  # of a copy that was finished long ago nothing is kept
                return prepared is None and self._base.copied
            return any(is_before(start, committed) and (not prepared or is_before(prepared, start)) for start in found)

    def drop(self, database: str, table: str | None) -> None:
        """A table, or all of a database, is gone. Nothing that has landed is."""
        with self._lock:
            self._dropped[(database, table)] = None
            names = [name for name in self._dropped if name[0] == database]
            if table is None or len(names) > _MANY_DROPPED:
                for name in names:
                    del self._dropped[name]
                self._dropped[(database, None)] = None

    def was_dropped(self, database: str, table: str) -> bool:
        with self._lock:
            return any((of, name) in self._dropped for of in (database, "") for name in (table, None))

    # What copies a table.

    def next_copy(self) -> RunningCopy | None:
        """A copy to go on with: one that a former process has begun, or a new one of a table that waits."""
        with self._lock:
            while self._resumable:
                table = self._resumable.pop()
                if table in self._copies:
                    return self._copies[table]
            # One of a table whose last chunks are still on their way would mix up what of it is confirmed.
            self._settle()
            table_ = next((table for table in self._wanted if table not in self._copies), None)
            if table_ is None:
                return None
            copy = RunningCopy(
                table_,
                self._wanted.pop(table_),
                self.epoch,
                ConfirmationTracker(TableSnapshot(table_.database, table_.table)),
            )
            self._copies[table_] = copy
            return copy

    def standing(self, copy: RunningCopy) -> ChunkPosition:
        """Where rows stand that are read from now on.

        They show nothing of XA transactions that are prepared, and so stand below these; those of which the log has not been
        read yet lie behind where it has been read. All that is read later stands above them, whether they show it or not.
        """
        with self._lock:
            read = self._read.place or lowest(copy.epoch)
            below = [one.place for one in self._read.prepared if copy.table in one.tables]
            rank = max(copy.since, min([read, *below], key=_order), key=_order)
            return ChunkPosition(max(copy.since, self._last, key=_order), rank)

    def gone(self, copy: RunningCopy) -> None:
        """There is no such table any more."""
        with self._lock:
            if self._copies.get(copy.table) is copy:
                del self._copies[copy.table]

    def is_valid(self, copy: RunningCopy) -> bool:
        """Whether it is still wanted: after a new epoch, none of the former ones is."""
        with self._lock:
            return self._copies.get(copy.table) is copy

    def _settle(self) -> None:
        """Copies all of whose rows are confirmed become sweeps."""
        for table, copy in list(self._copies.items()):
            if copy.track.reached.finished:
                del self._copies[table]
                self._sweeps[table] = DeleteScan(copy.track.reached, int(self._clock()))

    # What looks for rows that are no longer there.

    def due_sweep(self) -> DeleteScan | None:
        """One whose pause is over. The pauses grow with the time since the copy."""
        now = self._clock()
        with self._lock:
            self._settle()
            return next((sweep for sweep in self._sweeps.values() if self._due_at(sweep) <= now), None)

    def _due_at(self, sweep: DeleteScan) -> float:
        due = next_sweep(sweep.finished_at, sweep.swept_at) or 0
        return due + self._delay if sweep.swept_at is None else due

    def swept(self, sweep: DeleteScan) -> None:
        """All of its tombstones are confirmed. The last sweep is the one when nothing older can land any more."""
        now = int(self._clock())
        table = TableName(sweep.copy.database, sweep.copy.table)
        with self._lock:
            if self._sweeps.get(table) != sweep:
                return  # another copy has taken its place
            # The time only counts from when the log was read beyond the copy's start: until then older rows are published.
            behind = self._has_passed(sweep.copy.start)
            done = replace(sweep, swept_at=now, finished_at=sweep.finished_at if behind else now)
            self._sweeps[table] = done
            if next_sweep(done.finished_at, done.swept_at) is None:
                del self._sweeps[table]

    def _has_passed(self, start: LogPosition | None) -> bool:
        place = self.log.reached.place
        return start is None or (place is not None and not is_before(place, start))

    def counts(self) -> tuple[int, int]:
        """How many tables wait, and how many copies are on their way."""
        with self._lock:
            self._settle()
            return len(self._wanted), len(self._copies)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is to be copied or swept now."""
        return self.counts() == (0, 0) and self.due_sweep() is None


def is_before(place: LogPosition, other: LogPosition) -> bool:
    return place.order < other.order


_order = attrgetter("order")


def lowest(epoch: int) -> LogPosition:
    """Before all places of an epoch."""
    return LogPosition(epoch, ".0", 0)
