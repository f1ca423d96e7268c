"""Copies of whole tables and their delete scans, in a thread of their own while changes stream."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from onefold.capture.checkpoint import DeleteScan
from onefold.capture.copy_pace import CopyPace
from onefold.capture.deletes import missing_keys
from onefold.capture.message_batcher import MessageBatcher
from onefold.capture.outbox import ConfirmationTracker
from onefold.capture.quarantine_guard import QuarantineGuard
from onefold.capture.records import Record, snapshot_records
from onefold.capture.source import CapturedSource
from onefold.capture.state import CaptureState, RunningCopy
from onefold.core.errors import SchemaConflict, TableRefused, TryAgain
from onefold.core.log import log
from onefold.core.retry import OUTAGE_BACKOFF
from onefold.core.shutdown import Stop
from onefold.messages.change_records import encode_record
from onefold.mysql.catalog import TableName
from onefold.mysql.snapshot.chunks import Chunk, TableSnapshot, next_chunk
from onefold.mysql.snapshot.table_size import table_size

_IDLE_SECONDS = 0.2

ProgressCallback = Callable[[str, int, int], None]
"""Progress callback: (message, tables done, tables total)."""


@dataclass
class Copier:
    """Makes the copies and delete scans that the state of the capture requests, one step after the other."""

    source: CapturedSource
    state: CaptureState
    batcher: MessageBatcher
    warehouse: Any
    dataset: str
    name: str
    """The name of the source."""
    stop: Stop
    guard: QuarantineGuard
    may_begin: Callable[[], bool] = lambda: True
    """Whether tables may be copied by now."""
    on_progress: ProgressCallback = lambda _, __, ___: None
    pace: CopyPace = field(default_factory=CopyPace)
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], float] = time.time
    """Seconds since 1970, for the window of the pace."""
    _connection: Any = field(default=None, repr=False)
    _current: tuple[RunningCopy, TableSnapshot] | None = field(default=None, repr=False)
    _postponed: deque[tuple[RunningCopy, TableSnapshot]] = field(default_factory=deque, repr=False)
    _announced: RunningCopy | None = field(default=None, repr=False)
    """The last copy whose size is in the log: its first chunk may have to be tried again."""
    _is_waiting: bool = False
    """Whether the log says that copies wait for their window."""
    _done: int = 0
    """Tables copied since the start."""

    def run(self) -> None:
        """Copy and scan tables until the process stops. An error that is not of one table ends the process."""
        try:
            with self.stop.thread():
                self._take_steps()
        finally:
            self._disconnect()

    def _take_steps(self) -> None:
        """Take one step after the other, with a pause where there is nothing to do."""
        pauses = OUTAGE_BACKOFF.pauses()
        while True:
            self.stop.check()
            try:
                busy = self.step()
                pauses = OUTAGE_BACKOFF.pauses()
            except TryAgain as error:
                log("WARNING", f"copying goes on later: {error}", event="copy_again", reason=str(error))
                self._postpone()
                self._disconnect()
                self.stop.pause(next(pauses))
            else:
                if not busy:
                    self.stop.pause(_IDLE_SECONDS)

    def step(self) -> bool:
        """Copy one chunk, or make one delete scan.

        Returns:
            Whether there was anything to do.

        Raises:
            TryAgain: an error that may pass, of the source or the warehouse.
            Stopped: the process ends.
        """
        if not self.may_begin():
            return False
        if self._current and not self.state.is_valid(self._current[0]):
            self._current = None
        is_open = self._is_open()
        if self._current is None and is_open:
            copy = self.state.next_copy()
            self._current = (copy, copy.tracker.reached) if copy else None
        if self._current is None:
            scan = self.state.due_delete_scan()
            if scan:
                self._scan_deletes(scan)
                return True
            self._current = self._postponed.popleft() if self._postponed and is_open else None
        if self._current is None:
            return False
        self._copy(*self._current)
        return True

    def _is_open(self) -> bool:
        """Return whether copies may begin or go on now. Outside of the window the present copy is put back.

        A table that is read in one pass is read to its end, since an interrupted pass would start again.
        """
        is_open = self.pace.is_open(self.now())
        if self._current and not is_open and not _is_pass(self._current[1]):
            self._postponed.appendleft(self._current)
            self._current = None
        waiting = sum(self.state.counts()) > 0 and not is_open
        if waiting and not self._is_waiting:
            log(
                "NOTICE", f"copies wait for their window, {self.pace.window}", event="copies_wait",
                window=str(self.pace.window), waiting=sum(self.state.counts()),
            )  # fmt: skip
        self._is_waiting = waiting
        return is_open

    def _postpone(self) -> None:
        """Let other tables go first: this one may be locked. After a lost connection the same copy goes on."""
        if self._current and self._connection and self._connection.open:
            self._postponed.append(self._current)
            self._current = None

    def _copy(self, copy: RunningCopy, snapshot: TableSnapshot) -> None:
        """Copy one chunk. A table that cannot be copied goes into quarantine, and its copy ends."""
        if snapshot.start is None and not self.guard.may_copy(copy.table):
            self._current = None
            return
        try:
            self._copy_chunk(copy, snapshot)
        except (SchemaConflict, TableRefused) as error:
            self._current = None
            self.guard.refused(copy.table, error)

    def _copy_chunk(self, copy: RunningCopy, snapshot: TableSnapshot) -> None:
        if snapshot.start is None and copy is not self._announced:
            self._announce(copy.table)
            self._announced = copy
        began = self.clock()
        # The position is taken before the rows are read: what the log brings meanwhile ranks above them.
        position = self.state.chunk_position(copy)
        chunk = next_chunk(self._connected(), snapshot, copy.epoch, self.pace.rows, position)
        if not self.state.is_valid(copy):
            self._current = None
        elif chunk is None:
            self._current = None
            self.state.remove_copy(copy)
        else:
            self._send(copy, chunk)
            self.stop.pause(self.pace.pause(len(chunk.rows), self.clock() - began))

    def _announce(self, table: TableName) -> None:
        """Log how much a copy is going to read."""
        size = table_size(self._connected(), table)
        rate = f" at {self.pace.rate:,} rows per second" if self.pace.rate else ""
        log(
            "NOTICE", f"{table} is being copied: {size}, as the server estimates{rate}", event="copy_begun",
            database=table.database, table=table.table, rows=size.rows, bytes=size.size, rate=self.pace.rate,
        )  # fmt: skip

    def _send(self, copy: RunningCopy, chunk: Chunk) -> None:
        # The structure may be another one than at the check before the copy.
        self.state.rules.check(copy.table, chunk.structure)
        origin = self.batcher.origin(copy.table.database, chunk.structure)
        self.guard.copied(copy.table, chunk.structure, chunk.position)
        self.batcher.records(snapshot_records(origin, chunk.rows, chunk.position, chunk.timestamp), copy.tracker)
        self.batcher.flush()
        self.batcher.note_losses(chunk.structure.table, chunk.losses)
        copy.tracker.mark(chunk.progress)
        self._current = None if chunk.progress.finished else (copy, chunk.progress)
        self._report(copy.table, chunk.progress)

    def _report(self, table: TableName, progress: TableSnapshot) -> None:
        waiting, _ = self.state.counts()
        self._done += progress.finished
        self.on_progress(f"{table}: {progress.rows:,} rows", self._done, self._done + waiting + (not progress.finished))
        if progress.finished:
            log(
                "NOTICE", f"{table} is copied: {progress.rows} rows", event="copied", database=table.database,
                table=table.table, rows=progress.rows, waiting=waiting,
            )  # fmt: skip

    def _scan_deletes(self, scan: DeleteScan) -> None:
        """Publish deletions for the landed keys that a copy did not contain, and wait until they are confirmed."""
        table = TableName(scan.copy.database, scan.copy.table)
        tracker: ConfirmationTracker[bool] = ConfirmationTracker(False)
        found = 0
        try:
            for record in self._tombstones(scan, table):
                self.batcher.records((encode_record(record),), tracker)
                found += 1
        except (SchemaConflict, TableRefused) as error:
            self.guard.refused(table, error)
            return
        self.batcher.flush()
        tracker.mark(True)
        while not tracker.reached:
            self.stop.pause(_IDLE_SECONDS)
        self.state.delete_scan_done(scan)
        log(
            "INFO", f"{table}: {found} landed keys that the copy did not contain are deleted", event="swept",
            database=table.database, table=table.table, rows=found,
        )  # fmt: skip

    def _tombstones(self, scan: DeleteScan, table: TableName) -> Iterator[Record]:
        structure = self.source.structure(table)
        structure = self.state.rules.current.landing(table.database, structure).structure if structure else None
        for _, record in missing_keys(self.warehouse, self.dataset, self.name, scan.copy, structure):
            yield record

    def _connected(self) -> Any:
        self._connection = self._connection or self.source.connect()
        return self._connection

    def _disconnect(self) -> None:
        if self._connection and self._connection.open:
            self._connection.close()
        self._connection = None


def _is_pass(snapshot: TableSnapshot) -> bool:
    """Return whether a copy that has begun reads its table in one pass: it has no key behind which it could go on."""
    return snapshot.rows > 0 and snapshot.after is None
