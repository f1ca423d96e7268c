"""The use case of capture: a process that publishes the log of a source, copies tables meanwhile, and saves checkpoints.

The process keeps no state that it could read again. Killed at any moment, it starts again at its checkpoint; duplicates of
published rows disappear when rows are merged.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from onefold.capture.checkpoint import Checkpoint
from onefold.capture.checkpoint_saver import CheckpointSaver
from onefold.capture.checkpoint_store import CheckpointStore
from onefold.capture.copier import Copier, ProgressCallback
from onefold.capture.copy_mailbox import CopyMailbox, NoMailbox
from onefold.capture.epochs import epoch_by_gtids, epoch_with_copies, log_new_epoch
from onefold.capture.log_reader import LogReader
from onefold.capture.message_batcher import MessageBatcher, Publishing
from onefold.capture.options import CaptureOptions
from onefold.capture.posted_copies import PostedCopies
from onefold.capture.quarantine_guard import QUIET_SECONDS, QuarantineGuard
from onefold.capture.requirements import Requirement, check
from onefold.capture.running_rules import RunningRules
from onefold.capture.source import CapturedSource, GtidsLost, LogLost
from onefold.capture.start import CheckpointLoader
from onefold.capture.state import CaptureState, is_before
from onefold.capture.statement_effects import EventPublisher
from onefold.capture.status import CaptureStatus, log_status, status_of
from onefold.capture.table_checks import CheckedTables
from onefold.core.errors import NotFound, TryAgain
from onefold.core.log import log
from onefold.core.retry import OUTAGE_BACKOFF, Result, retry_until_stopped
from onefold.core.shutdown import Stopped
from onefold.core.text import shown_list
from onefold.mysql.binlog.events import LogPosition
from onefold.mysql.gtid import GtidSet

_POLL_SECONDS = 0.1
_SAVE_SECONDS = 1.0
_SAVE_SHARE = 10
"""Saving the checkpoint takes at most this part of the time: one tenth."""
_STATUS_SECONDS = 60.0
_END_SECONDS = 5.0


@dataclass
class Capture:
    """One process for one source. A second process on the same checkpoint is refused."""

    source: CapturedSource
    store: CheckpointStore
    publishing: Publishing
    warehouse: Any
    publish_event: EventPublisher
    options: CaptureOptions
    on_progress: ProgressCallback = lambda _, __, ___: None
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], float] = time.time
    """Seconds since 1970: they become epochs."""
    requirements: Sequence[Requirement] = ()
    """What has to be in order, besides the source, before anything is written."""
    mailbox: CopyMailbox = field(default_factory=NoMailbox)
    """Where checks ask for copies of tables."""
    _is_new: bool = field(default=False, repr=False)
    """Whether there was no checkpoint."""
    _end: LogPosition | None = field(default=None, repr=False)
    _is_read: bool = field(default=False, repr=False)
    """Whether the log is read to its end, with the option `once`."""
    _is_ready: bool = field(default=False, repr=False)
    """Whether there is a reader, with its state."""

    def run(self) -> None:
        """Capture until `publishing.stop` is set, or with the option `once` up to the present end of the log.

        Raises:
            InvalidSettings: every problem of the source's settings and of the destination, before anything is written.
            LogLost: the log does not have the position from which `options.start` wants to begin.
            NotFound: with the option `once`, no table fits the patterns.
            Rejected: the source, the warehouse, a topic or the checkpoint refuses for good.
            TryAgain: with the option `once`, an error that may pass; otherwise these are retried.
        """
        try:
            checked = self._wait_for(self._check)
            self._begin()
            self._report_tables(checked)
            end = self._end = self._wait_for(lambda: self.source.written_end(self._state.epoch))
            self._reader.known.start(self._state.quarantine.logged_structures(), checked.known, end)
            self._wait_for(lambda: self._guard.start(checked))
            self._capture()
        except Stopped:
            log("NOTICE", "ended before anything was read", event="ended")
        finally:
            self.store.close()

    def _wait_for(self, work: Callable[[], Result]) -> Result:
        """Retry what has to work before reading starts; with the option `once`, try it only once."""
        return work() if self.options.once else retry_until_stopped(work, self.publishing.stop)

    def _check(self) -> CheckedTables:
        """Check the source and the destination, and raise all their problems at once."""
        found: list[CheckedTables] = []

        def check_source() -> tuple[str, ...]:
            found.append(self.source.check())
            return ()

        check((Requirement("source", check_source), *self.requirements))
        return found[-1]

    def _report_tables(self, checked: CheckedTables) -> None:
        """Log which tables are left out, and for which patterns there is none: a database may come later.

        Raises:
            NotFound: none fits, and with `once` none comes later; a checkpoint or a start in the log may have had some.
        """
        if ghosts := sorted(map(str, checked.ghosts)):
            text = f"tables of online schema changes are left out, unless --include names them: {shown_list(ghosts)}"
            log("NOTICE", text, event="ghosts_left_out", tables=ghosts)
        if checked.none_fits and self.options.once and self._is_new and self.options.start is None:
            raise NotFound(checked.none_fits)
        if missing := checked.none_fits or checked.unused_patterns:
            log("WARNING", f"not captured yet: {missing}", event="no_table_fits", reason=missing)

    def _begin(self) -> None:
        """Load the checkpoint, and set up the reader and the guard from it."""
        self._loader = CheckpointLoader(self.source, self.store, self.options, self.now)
        found = self._wait_for(self._loader.load)
        self._is_new = found.is_new
        once, name, dataset = self.options.once, self.options.source, self.options.dataset
        rules = RunningRules(self.options.rules, found.checkpoint)
        self._state = CaptureState(found.checkpoint, 0 if once else self.options.delete_scan_delay, rules=rules)
        self._changes, self._copies = (MessageBatcher(self.publishing, rules) for _ in range(2))
        self._guard = QuarantineGuard(
            self.source, self._state, self.publishing.announcer, self.publish_event, name, dataset, self.publishing.stop,
            0 if once else QUIET_SECONDS,
        )  # fmt: skip
        self._reader = LogReader(
            self.source, self._state, self._changes, self._guard, name, dataset, self.publish_event, self.publishing.stop,
            found.checkpoint.reached, now=self.now,
        )  # fmt: skip
        self._saver = CheckpointSaver(self.store, self._state, lambda: self._reader.begun, self.now, found.stored)
        self._posted = PostedCopies(self.mailbox, self._state, self.source.patterns)
        self._is_ready = True

    def _capture(self) -> None:
        """Read the log in this thread, with a thread for copies and a thread for checkpoints."""
        stop = self.publishing.stop
        self._posted.take()
        threads = [threading.Thread(target=work, daemon=True) for work in (self._tick, self._copier().run)]
        try:
            with suppress(Stopped):  # the failure that led to the end, if any, is raised below
                for thread in threads:
                    thread.start()
                self._read()
                self._is_read = True
                if self.options.once:
                    self._finish()
        except BaseException as error:
            stop.set(error)
            raise
        finally:
            stop.set()
            for thread in threads:
                thread.join(_END_SECONDS)
        if stop.failure:
            raise stop.failure  # without a last checkpoint: it may belong to another process by now
        self._posted.forget(is_saved=self._saver.save(is_last=True))
        log_status("NOTICE", self._status())

    def _copier(self) -> Copier:
        return Copier(
            self.source, self._state, self._copies, self.warehouse, self.options.dataset, self.options.source,
            self.publishing.stop, self._guard, self._knows_names, self.on_progress, self.options.pace, self.clock, self.now,
        )  # fmt: skip

    def _knows_names(self) -> bool:
        """Return whether rules of columns know the names that tables had at the start: renames before that are in the log.

        A copy reads tables as they are. One that was renamed while no process ran would be copied without its rules.
        """
        if self._is_read or not self.options.rules.rules:
            return True
        read = self._state.read_position
        return read is not None and self._end is not None and not is_before(read, self._end)

    def _read(self) -> None:
        """Read the log. After an error, reading goes on where the last transaction ended.

        Raises:
            LogLost: there is no checkpoint, and the log does not have the position of `options.start`.
            TryAgain: with the option `once`, an error that may pass.
        """
        pauses = OUTAGE_BACKOFF.pauses()
        lost: LogLost | None = None
        while True:
            before = self._reader.progress.position
            try:
                if lost:
                    self._begin_epoch(lost)
                    lost = None
                self._reader.read(blocking=not self.options.once)
                if self.options.once:
                    return
                raise TryAgain("the source has ended the reading of its log: capture reads on when it answers again")
            except LogLost as error:
                if self._is_new and self.options.start and not self._reader.begun:
                    raise
                lost = error
            except TryAgain as error:
                if self.options.once:
                    raise
                log("WARNING", f"reading goes on later: {error}", event="source_lost", reason=str(error))
            if self._reader.progress.position != before:
                pauses = OUTAGE_BACKOFF.pauses()
            self.publishing.stop.pause(next(pauses))

    def _begin_epoch(self, error: LogLost) -> None:
        """Begin a greater epoch: it is right both where the position is gone and where the log is another one.

        The epoch is saved before anything of it is published. Everything of the last epoch is confirmed by then, so that the
        set of executed transactions is exact.
        """
        self._changes.flush()
        while not self._state.log.is_empty:
            self.publishing.stop.pause(_POLL_SECONDS)
        with self._saver.lock:
            now = self._state.checkpoint()
            new = self._epoch_after(now, error)
            retry_until_stopped(lambda: self.store.save(new), self.publishing.stop)
            self._saver.saved = new
            self._state.begin(new)
        self._reader.progress = new.reached
        self._reader.known.clear()

    def _epoch_after(self, now: Checkpoint, error: LogLost) -> Checkpoint:
        """Return the first checkpoint of the next epoch: by GTIDs if the server has what was executed, else with copies."""
        epoch = self._loader.epoch_after(now.epoch)
        # An error of GTIDs says that reading by them was tried.
        may_follow = self.options.follow_gtids and bool(now.reached.executed) and not isinstance(error, GtidsLost)
        lost = self.source.lost(now.reached.executed) if may_follow else GtidSet()
        by_gtids = may_follow and not lost
        if by_gtids:
            new = epoch_by_gtids(now, epoch)
        else:
            new = epoch_with_copies(now, epoch, self.source.log_end(epoch), self.source.tables())
        log_new_epoch(new, error, by_gtids, lost)
        return new

    def _finish(self) -> None:
        """Wait at the end of the log until all copies and delete scans are done and all messages confirmed."""
        while not self._state.is_idle:
            self.publishing.stop.pause(_POLL_SECONDS)
        self._changes.flush()
        self.publishing.outbox.drain()

    def _tick(self) -> None:
        """Send messages that are not full, save the checkpoint, take requests and log the status, each from time to time."""
        saved = logged = self.clock()
        pause = 0.0
        with self.publishing.stop.thread():
            for seconds, is_flushed in self.options.ticks():
                self.publishing.stop.pause(seconds)
                if is_flushed:
                    self._changes.flush()
                began = self.clock()
                if began >= saved + pause:
                    self._posted.forget(is_saved=self._saver.save())
                    saved = self.clock()
                    pause = max(_SAVE_SECONDS, _SAVE_SHARE * (saved - began))
                if began >= logged + _STATUS_SECONDS:
                    logged = began
                    self._posted.take()
                    log_status("INFO", self._status())

    @property
    def saved(self) -> Checkpoint | None:
        """The last checkpoint that was saved or loaded; None before that."""
        return self._saver.saved if self._is_ready else None

    def status(self) -> CaptureStatus | None:
        """Return how far this process has come; None before it has a checkpoint. Any thread may ask."""
        return self._status() if self._is_ready else None

    def _status(self) -> CaptureStatus:
        return status_of(self.options.source, self._state, self._changes, self._copies, self._reader.timestamp, self.now())
