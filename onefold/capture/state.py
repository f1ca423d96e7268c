"""The state of a running capture, shared by its threads; checkpoints are taken from it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from operator import attrgetter

from onefold.capture.checkpoint import Checkpoint, CopyRequest, DeleteScan, Progress
from onefold.capture.deletes import next_delete_scan
from onefold.capture.outbox import ConfirmationTracker
from onefold.capture.quarantine import Quarantined
from onefold.capture.quarantine_state import QuarantineState
from onefold.capture.running_rules import RunningRules
from onefold.mysql.binlog.events import LogPosition
from onefold.mysql.catalog import TableName
from onefold.mysql.snapshot.chunks import ChunkPosition, TableSnapshot

DELETE_SCAN_DELAY = 60
"""Seconds between the end of a copy and its first delete scan, in which the rows of the copy land. A scan that comes too
early is harmless, but writes many deletions in vain."""
_MAX_DROPPED_TABLES = 1_000
"""With more dropped tables of one database, the database is noted instead: each table created in it is copied then."""


@dataclass(frozen=True)
class RunningCopy:
    """A copy that has begun. Its tracker knows how much of the copy is confirmed."""

    table: TableName
    since: LogPosition
    """Chunks read before this position do not count: there the table changed in a way that the log does not show."""
    epoch: int
    tracker: ConfirmationTracker[TableSnapshot]


class CaptureState:
    """Positions, copies and delete scans of a capture. Every method may be called by any thread."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        delete_scan_delay: int = DELETE_SCAN_DELAY,
        clock: Callable[[], float] = time.time,
        rules: RunningRules | None = None,
    ) -> None:
        """Start from a checkpoint.

        Args:
            checkpoint: the last one of the source.
            delete_scan_delay: seconds between a copy and its first delete scan.
            clock: the time in seconds since 1970.
            rules: of columns; None without any.
        """
        self.rules = rules or RunningRules()
        self._lock = threading.RLock()
        self._delay = delete_scan_delay
        self._clock = clock
        self.begin(checkpoint)

    def begin(self, checkpoint: Checkpoint) -> None:
        """Go on from a checkpoint. Copies of another epoch are dropped."""
        with self._lock:
            self._base = checkpoint
            self._read, self._last_commit = checkpoint.reached, lowest(checkpoint.epoch)
            self.log: ConfirmationTracker[Progress] = ConfirmationTracker(checkpoint.reached)
            self.quarantine = QuarantineState(self._lock, checkpoint)
            self._requests = {
                request.table: request.since
                for request in checkpoint.copy_requests
                if not self.quarantine.is_quarantined(request.table)
            }
            self._copies: dict[TableName, RunningCopy] = {}
            for copy in checkpoint.copies:
                table, since = TableName(copy.database, copy.table), copy.start or lowest(checkpoint.epoch)
                self._copies[table] = RunningCopy(table, since, checkpoint.epoch, ConfirmationTracker(copy))
            self._resumable = list(self._copies)
            self._delete_scans = {_table_of(scan): scan for scan in checkpoint.delete_scans}
            self._dropped = dict.fromkeys(checkpoint.dropped)

    @property
    def epoch(self) -> int:
        return self._base.epoch

    def checkpoint(self) -> Checkpoint:
        """Return a checkpoint of the present state.

        The confirmed position is read first, so that everything noted before that position is in the checkpoint.
        """
        with self._lock:
            reached = self.log.reached
            self._finish_copies()
            begun = {table: copy.tracker.reached for table, copy in self._copies.items() if copy.tracker.reached.start}
            requests = {table: copy.since for table, copy in self._copies.items() if table not in begun}
            requests.update(self._requests)
            saved = replace(
                self._base,
                reached=reached,
                copy_requests=tuple(CopyRequest(table, since) for table, since in sorted(requests.items())),
                copies=tuple(begun[table] for table in sorted(begun)),
                delete_scans=tuple(self._delete_scans[table] for table in sorted(self._delete_scans)),
                dropped=tuple(self._dropped),
            )
            return self.rules.added_to(self.quarantine.added_to(saved))

    @property
    def read_position(self) -> LogPosition | None:
        """The position up to which the log has been read."""
        with self._lock:
            return self._read.position

    # Written by the reader of the log.

    def mark_read(self, progress: Progress, last_commit: LogPosition | None = None) -> None:
        """Note how far the log is read. The position counts as confirmed when everything before it is confirmed.

        Args:
            progress: how far the log is read.
            last_commit: the end of the last transaction; None if there was none since the position noted before.
        """
        with self._lock:
            self._read, self._last_commit = progress, last_commit or self._last_commit
            self.log.mark(progress)

    def request_copies(self, tables: Iterable[TableName], since: LogPosition) -> list[TableName]:
        """Request copies of tables as of a position or later, and return the tables that had no request yet."""
        with self._lock:
            new = []
            for table in tables:
                if self.quarantine.find(table, since):
                    continue  # the table is copied when it leaves quarantine, or that copy is requested already
                if table not in self._requests:
                    new.append(table)
                self._requests[table] = max(since, self._requests.get(table, since), key=_order)
                self._dropped.pop((table.database, table.table), None)
            return new

    def enter_quarantine(self, entry: Quarantined) -> None:
        """Put a table into quarantine: it is neither copied nor scanned for deletes until it leaves."""
        with self._lock:
            self.quarantine.put(entry)
            self._requests.pop(entry.table, None)
            self._copies.pop(entry.table, None)
            self._delete_scans.pop(entry.table, None)

    def leave_quarantine(self, entry: Quarantined, until: LogPosition) -> None:
        """Take a table out of quarantine: a copy as of a position, or later, replaces all rows of the log before it."""
        with self._lock:
            self.quarantine.put(replace(entry, until=until))
            self._copies.pop(entry.table, None)
            self.request_copies([entry.table], until)

    def copy_may_lack(self, table: TableName, committed: LogPosition, prepared: LogPosition | None) -> bool:
        """Return whether a copy ranks above the rows of an XA transaction without showing them, or is going to.

        Args:
            table: a table that the transaction has changed.
            committed: where the transaction was committed: copies read before do not show its rows.
            prepared: the position before its rows; None if the log was not read there, so that each copy lacks them.
        """
        with self._lock:
            self._finish_copies()
            copy, scan, since = self._copies.get(table), self._delete_scans.get(table), self._requests.get(table)
            starts = [copy and (copy.tracker.reached.start or copy.since), scan and scan.copy.start, since]
            found = [start for start in starts if start]
            if not found:  # nothing is kept of a copy that was finished long ago
                return prepared is None and self._base.copied
            return any(is_before(start, committed) and (not prepared or is_before(prepared, start)) for start in found)

    def note_dropped(self, database: str, table: str | None) -> None:
        """Note that a table, or without a name every table of a database, was dropped. Landed rows stay."""
        with self._lock:
            self._dropped[(database, table)] = None
            names = [name for name in self._dropped if name[0] == database]
            if table is None or len(names) > _MAX_DROPPED_TABLES:
                for name in names:
                    del self._dropped[name]
                self._dropped[(database, None)] = None

    def was_dropped(self, database: str, table: str) -> bool:
        with self._lock:
            return any((name, of_table) in self._dropped for name in (database, "") for of_table in (table, None))

    # Used by the copier.

    def next_copy(self) -> RunningCopy | None:
        """Return a copy that a former process has begun, or a new copy of a table with a request; None without one."""
        with self._lock:
            while self._resumable:
                table = self._resumable.pop()
                if table in self._copies:
                    return self._copies[table]
            # A table is not copied anew while the last chunks of its former copy are unconfirmed: their trackers differ.
            self._finish_copies()
            requested = next((table for table in self._requests if table not in self._copies), None)
            if requested is None:
                return None
            tracker = ConfirmationTracker(TableSnapshot(requested.database, requested.table))
            copy = RunningCopy(requested, self._requests.pop(requested), self.epoch, tracker)
            self._copies[requested] = copy
            return copy

    def chunk_position(self, copy: RunningCopy) -> ChunkPosition:
        """Return the position of rows that are read from now on.

        The rows show nothing of prepared XA transactions, and so rank below them. Prepared transactions that the log has
        not been read to yet come after the position up to which it has been read. All that is read from the log later ranks
        above the rows, whether the rows show it or not.
        """
        with self._lock:
            read = self._read.position or lowest(copy.epoch)
            prepared = [one.position for one in self._read.prepared if copy.table in one.tables]
            rank = max(copy.since, min([read, *prepared], key=_order), key=_order)
            return ChunkPosition(max(copy.since, self._last_commit, key=_order), rank)

    def remove_copy(self, copy: RunningCopy) -> None:
        """End a copy whose table does not exist any more."""
        with self._lock:
            if self._copies.get(copy.table) is copy:
                del self._copies[copy.table]

    def is_valid(self, copy: RunningCopy) -> bool:
        """Return whether a copy is to go on. A new epoch, or quarantine, ends it."""
        with self._lock:
            return self._copies.get(copy.table) is copy

    def _finish_copies(self) -> None:
        """Turn each copy whose rows are all confirmed into a delete scan."""
        for table, copy in list(self._copies.items()):
            if copy.tracker.reached.finished:
                del self._copies[table]
                self._delete_scans[table] = DeleteScan(copy.tracker.reached, int(self._clock()))
                self.quarantine.copied_from(table, copy.tracker.reached.start or copy.since)

    # Delete scans.

    def due_delete_scan(self) -> DeleteScan | None:
        """Return a delete scan whose pause is over. The pauses grow with the time since the copy."""
        now = self._clock()
        with self._lock:
            self._finish_copies()
            return next((scan for scan in self._delete_scans.values() if self._due_at(scan) <= now), None)

    def _due_at(self, scan: DeleteScan) -> float:
        due = next_delete_scan(scan.finished_at, scan.scanned_at) or 0
        return due + self._delay if scan.scanned_at is None else due

    def delete_scan_done(self, scan: DeleteScan) -> None:
        """Note that all deletions of a scan are confirmed. After the last scan nothing older can land any more."""
        now = int(self._clock())
        table = _table_of(scan)
        with self._lock:
            if self._delete_scans.get(table) != scan:
                return  # the scan of another copy has replaced it
            # The time counts from when the log was read beyond the start of the copy: until then older rows are published.
            is_passed = self._has_passed(scan.copy.start)
            done = replace(scan, scanned_at=now, finished_at=scan.finished_at if is_passed else now)
            self._delete_scans[table] = done
            if next_delete_scan(done.finished_at, done.scanned_at) is None:
                del self._delete_scans[table]

    def _has_passed(self, start: LogPosition | None) -> bool:
        position = self.log.reached.position
        return start is None or (position is not None and not is_before(position, start))

    def counts(self) -> tuple[int, int]:
        """Return how many tables wait for a copy, and how many are being copied."""
        with self._lock:
            self._finish_copies()
            return len(self._requests), len(self._copies)

    @property
    def is_idle(self) -> bool:
        """Return whether there is no copy and no due delete scan left."""
        return self.counts() == (0, 0) and self.due_delete_scan() is None


def is_before(position: LogPosition, other: LogPosition) -> bool:
    """Return whether a position comes before another one in the log."""
    return position.order < other.order


_order = attrgetter("order")


def lowest(epoch: int) -> LogPosition:
    """Return a position before all positions of an epoch."""
    return LogPosition(epoch, ".0", 0)


def behind(position: LogPosition) -> LogPosition:
    """Return the least position above another: a copy that has to show an event is read at this position or later."""
    return replace(position, offset=position.offset + 1)


def _table_of(scan: DeleteScan) -> TableName:
    return TableName(scan.copy.database, scan.copy.table)
