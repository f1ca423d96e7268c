"""Copies of whole tables, and their sweeps, in a thread of their own while changes stream."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from onefold.capture.checkpoint import DeleteScan
from onefold.capture.deletes import missing_keys
from onefold.capture.isolation import Isolation
from onefold.capture.message_batcher import MessageBatcher
from onefold.capture.outbox import ConfirmationTracker
from onefold.capture.records import Record, snapshot_record
from onefold.capture.source import Source
from onefold.capture.state import CaptureState, RunningCopy
from onefold.core.errors import SchemaConflict, TableRefused, TryAgain
from onefold.core.log import log
from onefold.core.retry import OUTAGE_BACKOFF
from onefold.core.shutdown import Stop
from onefold.mysql.catalog import TableName
from onefold.mysql.snapshot.chunks import Chunk, TableSnapshot, next_chunk

_IDLE_SECONDS = 0.2

Watch = Callable[[str, int, int], None]
"""Told what goes on, how many tables are through, and how many there are."""


@dataclass
class Copier:
    """Does what the ledger has for it, one step after the other."""

    source: Source
    ledger: CaptureState
    stream: MessageBatcher
    warehouse: Any
    dataset: str
    name: str
    """Of the source."""
    stop: Stop
    isolation: Isolation
    watch: Watch = lambda _, __, ___: None
    _connection: Any = field(default=None, repr=False)
    _current: tuple[RunningCopy, TableSnapshot] | None = field(default=None, repr=False)
    _postponed: deque[tuple[RunningCopy, TableSnapshot]] = field(default_factory=deque, repr=False)
    _through: int = 0

    def run(self) -> None:
        """Until the end. A failure that is not of one table ends the process."""
        try:
            with self.stop.thread():
                self._go_on()
        finally:
            self._disconnect()

    def _go_on(self) -> None:
        """One step after the other, with a pause where there is nothing to do. Raises Stopped."""
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
        """One chunk, or one sweep; whether there was anything to do."""
        if self._current and not self.ledger.is_valid(self._current[0]):
            self._current = None
        if self._current is None:
            copy = self.ledger.next_copy()
            self._current = (copy, copy.track.reached) if copy else None
        if self._current is None:
            sweep = self.ledger.due_sweep()
            if sweep:
                self._sweep(sweep)
                return True
            self._current = self._postponed.popleft() if self._postponed else None
        if self._current is None:
            return False
        self._copy(*self._current)
        return True

    def _postpone(self) -> None:
        """A table that somebody has locked keeps no other one waiting. A lost connection is no fault of a table."""
        if self._current and self._connection and self._connection.open:
            self._postponed.append(self._current)
            self._current = None

    def _copy(self, copy: RunningCopy, snapshot: TableSnapshot) -> None:
        """One chunk. A table that cannot be copied goes into quarantine, and its copy with it."""
        if snapshot.start is None and not self.isolation.may_copy(copy.table):
            self._current = None
            return
        try:
            self._copy_chunk(copy, snapshot)
        except (SchemaConflict, TableRefused) as error:
            self._current = None
            self.isolation.refused(copy.table, error)

    def _copy_chunk(self, copy: RunningCopy, snapshot: TableSnapshot) -> None:
        # Asked for before the table is read.
        chunk = next_chunk(self._connected(), snapshot, copy.epoch, bounds=self.ledger.standing(copy))
        if not self.ledger.is_valid(copy):
            self._current = None
        elif chunk is None:
            self._current = None
            self.ledger.gone(copy)
        else:
            self._send(copy, chunk)

    def _send(self, copy: RunningCopy, chunk: Chunk) -> None:
        origin = self.stream.origin(copy.table.database, chunk.structure)
        self.isolation.copied(copy.table, chunk.structure, chunk.position)
        records = (snapshot_record(origin, row, chunk.position, chunk.timestamp) for row in chunk.rows)
        self.stream.records(records, copy.track)
        self.stream.flush()
        self.stream.note_losses(chunk.structure.table, chunk.losses)
        copy.track.mark(chunk.progress)
        self._current = None if chunk.progress.finished else (copy, chunk.progress)
        self._tell(copy.table, chunk.progress)

    def _tell(self, table: TableName, progress: TableSnapshot) -> None:
        waiting, _ = self.ledger.counts()
        self._through += progress.finished
        self.watch(f"{table}: {progress.rows:,} rows", self._through, self._through + waiting + (not progress.finished))
        if progress.finished:
            log(
                "NOTICE", f"{table} is copied: {progress.rows} rows", event="copied", database=table.database,
                table=table.table, rows=progress.rows, waiting=waiting,
            )  # fmt: skip

    def _sweep(self, sweep: DeleteScan) -> None:
        table = TableName(sweep.copy.database, sweep.copy.table)
        track: ConfirmationTracker[bool] = ConfirmationTracker(False)
        found = 0
        try:
            for record in self._tombstones(sweep, table):
                self.stream.records((record,), track)
                found += 1
        except SchemaConflict as error:
            self.isolation.refused(table, error)
            return
        self.stream.flush()
        track.mark(True)
        while not track.reached:
            self.stop.pause(_IDLE_SECONDS)
        self.ledger.swept(sweep)
        log(
            "INFO", f"{table}: {found} rows are no longer there", event="swept", database=table.database,
            table=table.table, rows=found,
        )  # fmt: skip

    def _tombstones(self, sweep: DeleteScan, table: TableName) -> Iterator[Record]:
        structure = self.source.structure(table)
        for _, record in missing_keys(self.warehouse, self.dataset, self.name, sweep.copy, structure):
            yield record

    def _connected(self) -> Any:
        self._connection = self._connection or self.source.connect()
        return self._connection

    def _disconnect(self) -> None:
        if self._connection and self._connection.open:
            self._connection.close()
        self._connection = None
