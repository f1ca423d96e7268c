"""The use case: a source's log becomes messages, tables are copied meanwhile, and the checkpoint follows what is confirmed.

Nothing is remembered that reading again would tell: a process that is killed anywhere starts at its checkpoint, and what it
publishes a second time falls away where rows are folded.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

from onefold.capture.checkpoint import Checkpoint, CopyRequest, Progress, check_owner, next_epoch, raised
from onefold.capture.checkpoint_store import CheckpointStore
from onefold.capture.copier import Copier, Watch
from onefold.capture.isolation import QUIET, Isolation
from onefold.capture.log_reader import LogReader, Tell, behind
from onefold.capture.message_batcher import MessageBatcher, Publishing
from onefold.capture.requirements import Requirement, check
from onefold.capture.source import GtidsLost, LogLost, Source
from onefold.capture.state import SWEEP_DELAY, CaptureState, lowest
from onefold.capture.table_checks import CheckedTables
from onefold.core.errors import TryAgain
from onefold.core.log import log
from onefold.core.retry import OUTAGE_BACKOFF, Result, retry_until_stopped
from onefold.core.shutdown import Stop, Stopped
from onefold.mysql.binlog.events import LogPosition
from onefold.mysql.catalog import TableName
from onefold.mysql.gtid import GtidSet
from onefold.mysql.table_filter import TableFilter

_TICK_SECONDS = 0.5
_LOOK_SECONDS = 0.1
_SAVE_SECONDS = 1.0
_SAVE_SHARE = 10
"""Saving the checkpoint takes at most one part in so many of the time."""
_STATUS_SECONDS = 60.0
_END_SECONDS = 5.0
_MOST_NAMED = 100
"""Tables in quarantine that the line of each minute names; their number is always there."""
_SHOWN_GTIDS = 2_000
"""Characters of a set in a line of the log: one of another server may have a megabyte."""


@dataclass(frozen=True)
class CaptureOptions:
    source: str
    """Its name in the rows' key."""
    dataset: str
    start: Progress | None = None
    """Where to begin without a checkpoint; by default at the log's present end."""
    snapshot: bool = False
    again: TableFilter | None = None
    """Tables to be copied in any case."""
    once: bool = False
    epoch: int = 1
    """At least this one."""
    follow_gtids: bool = False
    """Another server with the same transactions is read on by them."""
    sweep_delay: int = SWEEP_DELAY
    """Seconds between a copy and its sweep, for its rows to land; none with `once`."""


@dataclass
class Capture:
    """One process for one source."""

    source: Source
    store: CheckpointStore
    way: Publishing
    warehouse: Any
    tell: Tell
    options: CaptureOptions
    watch: Watch = lambda _, __, ___: None
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], float] = time.time
    """Seconds since 1970: they become epochs."""
    requirements: Sequence[Requirement] = ()
    """What has to be in order, besides the source, before anything is written."""
    _saved: Checkpoint | None = field(default=None, repr=False)
    _fresh: bool = field(default=False, repr=False)
    """Whether there was no checkpoint."""
    _saving: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def run(self) -> None:
        """Until `way.stop` is set, or with `once` until all is through.

        Raises:
            InvalidSettings: every fault of the source's settings and of what is written to, before anything is written.
            LogLost: the log does not have the place to start from that was named.
            Rejected, TryAgain: what goes wrong for good, or with `once` at all.
        """
        try:
            checked = self._asked(self._check)
            self._begin(self._asked(self._checkpoint))
            self._asked(lambda: self._isolation.start(checked))
            self._run()
        except Stopped:
            log("NOTICE", "ended before anything was read", event="ended")
        finally:
            self.store.close()

    def _asked(self, work: Callable[[], Result]) -> Result:
        """What is needed before reading starts; only with `once` it is not waited for."""
        return work() if self.options.once else retry_until_stopped(work, self.way.stop)

    def _check(self) -> CheckedTables:
        """Check the source and all that is written to; every fault is told at once."""
        found: list[CheckedTables] = []

        def check_source() -> tuple[str, ...]:
            found.append(self.source.check())
            return ()

        check((Requirement("source", check_source), *self.requirements))
        return found[-1]

    def _begin(self, checkpoint: Checkpoint) -> None:
        self._ledger = CaptureState(checkpoint, 0 if self.options.once else self.options.sweep_delay)
        self._stream, self._copies = MessageBatcher(self.way), MessageBatcher(self.way)
        self._isolation = Isolation(
            self.source, self._ledger, self.way.announcer, self.tell, self.options.source, self.options.dataset,
            self.way.stop, 0 if self.options.once else QUIET,
        )  # fmt: skip
        self._reader = LogReader(
            self.source, self._ledger, self._stream, self.options.source, self.options.dataset, self.tell, self.way.stop,
            checkpoint.reached, self._isolation,
        )  # fmt: skip

    def _run(self) -> None:
        stop = self.way.stop
        threads = [threading.Thread(target=work, daemon=True) for work in (self._tick, self._copier().run)]
        try:
            with suppress(Stopped):  # it only says that the end has come: `_end` raises the failure that led to it, if any
                for thread in threads:
                    thread.start()
                self._read()
                if self.options.once:
                    self._finish()
        except BaseException as error:
            stop.set(error)
            raise
        finally:
            stop.set()
            for thread in threads:
                thread.join(_END_SECONDS)
        self._end(stop)

    def _checkpoint(self) -> Checkpoint:
        """The one that is there, or a new one, with what the options ask for."""
        found = self.store.load()
        if found:
            check_owner(found, self.options.source, self.options.dataset)
            if found.epoch < self.options.epoch:
                found = self._begun_anew(found)
        else:
            asked, epoch = self.options.start, self._epoch_after(0)
            start = self.source.with_executed(asked) if asked else self.source.log_end(epoch)
            start = replace(start, place=start.place and replace(start.place, epoch=epoch))
            found = Checkpoint(self.options.source, self.options.dataset, epoch, start)
            self._fresh = True
        self._saved = found
        return self._as_asked(found)

    def _begun_anew(self, found: Checkpoint) -> Checkpoint:
        """The epoch that was asked for, which is saved before anything of it is published."""
        epoch = self._epoch_after(found.epoch)
        new = raised(found, epoch, self.source.log_end(epoch), self.source.tables())
        self.store.save(new)
        log("WARNING", f"epoch {epoch} begins, as asked for: {len(new.wanted)} tables are copied again", event="epoch_begun")
        return new

    def _epoch_after(self, last: int) -> int:
        return max(self.options.epoch, next_epoch(last, self.now()))

    def _as_asked(self, found: Checkpoint) -> Checkpoint:
        """With the tables that are to be copied now, and without those that are not captured any more."""
        first = self.options.snapshot and not found.copied
        again, before, now = self.options.again, found.patterns, self.source.patterns
        more = found.copied and before not in (None, now)
        tables = self.source.tables() if first or again or more else []
        new = [table for table in tables if more and before and not before.match(table.database, table.table)]
        wanted = [table for table in tables if first or (again and again.match(table.database, table.table))]
        found = _chosen(found, now)
        if (first or again) and not wanted:
            log("WARNING", "nothing to copy: no table that the user may read fits the patterns", event="nothing_to_copy")
        # What XA transactions that are prepared have done to the new ones was not published. Copies stand above it, and so
        # are made again when they are committed.
        prepared = tuple(replace(one, tables=one.tables.union(new)) for one in found.reached.prepared)
        above = [] if first else [behind(one.place) for one in prepared]
        since = max([lowest(found.epoch), *above], key=attrgetter("order"))
        return replace(
            found,
            copied=found.copied or (first and bool(wanted)),
            reached=replace(found.reached, prepared=prepared),
            wanted=(*found.wanted, *(CopyRequest(table, since) for table in dict.fromkeys([*new, *wanted]))),
            patterns=now,
        )

    def _copier(self) -> Copier:
        return Copier(
            self.source, self._ledger, self._copies, self.warehouse, self.options.dataset, self.options.source,
            self.way.stop, self._isolation, self.watch,
        )  # fmt: skip

    def _read(self) -> None:
        """Read the log; what breaks off is taken up again where the last transaction ended."""
        pauses = OUTAGE_BACKOFF.pauses()
        lost: LogLost | None = None
        while True:
            before = self._reader.at
            try:
                if lost:
                    self._raise_epoch(lost)
                    lost = None
                self._reader.read(blocking=not self.options.once)
                if self.options.once:
                    return
                raise TryAgain("the source has ended the reading of its log")
            except LogLost as error:
                if self._fresh and self.options.start and not self._reader.begun:
                    raise
                lost = error
            except TryAgain as error:
                if self.options.once:
                    raise
                log("WARNING", f"reading goes on later: {error}", event="source_lost", reason=str(error))
            if self._reader.at != before:
                pauses = OUTAGE_BACKOFF.pauses()
            self.way.stop.pause(next(pauses))

    def _raise_epoch(self, error: LogLost) -> None:
        """The log's place is gone, or the log is another one: whichever it is, a greater epoch is right.

        It is saved before anything of it is published. Where all is confirmed by then, so is what has been executed.
        """
        self._stream.flush()
        while not self._ledger.log.is_empty:
            self.way.stop.pause(_LOOK_SECONDS)
        with self._saving:
            now = self._ledger.checkpoint()
            epoch, by_gtid = self._epoch_after(now.epoch), self._may_follow_gtids(now, error)
            lost = self.source.lost(now.reached.executed) if by_gtid else GtidSet()
            if following := by_gtid and not lost:
                new = _followed(now, epoch)
            else:
                new = raised(now, epoch, self.source.log_end(epoch), self.source.tables())
            _tell_raised(new, error, following, lost)
            retry_until_stopped(lambda: self.store.save(new), self.way.stop)
            self._saved = new
            self._ledger.begin(new)
        self._reader.at = new.reached

    def _may_follow_gtids(self, now: Checkpoint, error: LogLost) -> bool:
        """Whether to go on by what has been executed, if the server has it; it was tried where the error says so."""
        return self.options.follow_gtids and bool(now.reached.executed) and not isinstance(error, GtidsLost)

    def _finish(self) -> None:
        """The log is read up to its end: what is being copied comes to its end, too."""
        while not self._ledger.is_idle:
            self.way.stop.pause(_LOOK_SECONDS)
        self._stream.flush()
        self.way.outbox.drain()

    def _tick(self) -> None:
        """Messages do not wait for long to be full, and the checkpoint follows."""
        saved = told = self.clock()
        pause = 0.0
        with self.way.stop.thread():
            while True:
                self.way.stop.pause(_TICK_SECONDS)
                self._stream.flush()
                began = self.clock()
                if began >= saved + pause:
                    self._save()
                    saved = self.clock()
                    pause = max(_SAVE_SECONDS, _SAVE_SHARE * (saved - began))
                if began >= told + _STATUS_SECONDS:
                    told = began
                    self._tell_status("INFO")

    def _save(self) -> None:
        with self._saving:
            now = self._ledger.checkpoint()
            if now == self._saved or not self._reader.begun:
                return
            try:
                self.store.save(now)
                self._saved = now
            except TryAgain as error:
                log("WARNING", f"the checkpoint is saved later: {error}", event="checkpoint_again", reason=str(error))

    def _end(self, stop: Stop) -> None:
        """A last checkpoint, unless it belongs to somebody else by now."""
        if stop.failure:
            raise stop.failure
        self._save()
        self._tell_status("NOTICE")

    def _tell_status(self, severity: Any) -> None:
        place = self._ledger.log.reached.place
        waiting, copying = self._ledger.counts()
        lag = max(0, int(self.now()) - self._reader.timestamp) if self._reader.timestamp else None
        losses = self._stream.losses + self._copies.losses
        names = [str(one.table) for one in self._ledger.isolated.quarantined()]
        isolated = f"; in quarantine: {', '.join(names[:_MOST_NAMED])}" if names else ""
        log(
            severity, f"{self.options.source}: confirmed up to {place and f'{place.file}, {place.offset}'}{isolated}",
            event="captured", source=self.options.source, position=place and place.sequence(),
            rows=self._stream.rows, copied_rows=self._copies.rows, seconds_since_last_change=lag,
            tables_waiting=waiting, tables_copying=copying, losses=dict(losses) or None,
            tables_in_quarantine=len(names), quarantine=names[:_MOST_NAMED] or None,
        )  # fmt: skip


def _tell_raised(new: Checkpoint, error: LogLost, following: bool, lost: GtidSet) -> None:
    """Log that an epoch begins, why, and which captured transactions the server never had."""
    then = "the log is read on by GTIDs" if following else f"{len(new.wanted)} tables are copied again"
    shown = str(lost)[:_SHOWN_GTIDS]
    without = f"; transactions were captured that this server does not have: {shown}" if lost else ""
    log(
        "WARNING" if following else "ERROR", f"{error}{without}; epoch {new.epoch} begins, {then}",
        event="epoch_raised", epoch=new.epoch, reason=str(error), by_gtid=following, tables=len(new.wanted),
        lost_gtids=shown or None,
    )  # fmt: skip


def _followed(now: Checkpoint, epoch: int) -> Checkpoint:
    """A new epoch, by what has been executed. Copies on their way begin anew."""
    tables = {*(one.table for one in now.wanted), *(TableName(copy.database, copy.table) for copy in now.copies)}
    wanted = tuple(CopyRequest(table, lowest(epoch)) for table in sorted(tables))
    reached = Progress(None, now.reached.executed, prepared=now.reached.prepared)
    return replace(now, epoch=epoch, reached=reached, wanted=wanted, copies=())


def _chosen(found: Checkpoint, patterns: TableFilter) -> Checkpoint:
    """Without copies of tables that are not captured any more; sweeps of what has landed go on."""
    wanted = tuple(one for one in found.wanted if patterns.match(one.table.database, one.table.table))
    copies = tuple(one for one in found.copies if patterns.match(one.database, one.table))
    return replace(found, wanted=wanted, copies=copies)


def start_at(file: str, offset: int) -> Progress:
    return Progress(LogPosition(1, file, offset))
