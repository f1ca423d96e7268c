"""Takes the requests for copies that checks have posted into the state of a running capture."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from onefold.capture.copy_mailbox import CopyMailbox, PostedCopy
from onefold.capture.copy_requests import request_copies
from onefold.capture.state import CaptureState, lowest
from onefold.core.errors import OnefoldError
from onefold.core.log import log
from onefold.mysql.table_filter import TableFilter


@dataclass
class PostedCopies:
    """The requests of a mailbox. One is removed when a checkpoint has it, so that none is lost by a kill.

    Attributes:
        mailbox: has the requests.
        state: of the capture.
        patterns: the tables that are captured.
    """

    mailbox: CopyMailbox
    state: CaptureState
    patterns: TableFilter
    _taken: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self) -> None:
        """Request a copy for each new request of the mailbox. An error of the mailbox stops no capture."""
        try:
            with self._lock:
                for posted in self.mailbox.read():
                    if posted.name not in self._taken:
                        self._request(posted)
                        self._taken.add(posted.name)
        except OnefoldError as error:
            self._later(error)

    def forget(self, *, is_saved: bool) -> None:
        """Remove the requests that were taken.

        Args:
            is_saved: whether the stored checkpoint has them.
        """
        if not is_saved or not self._taken:
            return
        try:
            with self._lock:
                self.mailbox.remove(sorted(self._taken))
                self._taken.clear()
        except OnefoldError as error:
            self._later(error)

    def _request(self, posted: PostedCopy) -> None:
        table = posted.table
        if table is None or not self.patterns.match(table.database, table.table):
            reason = "it is not a request" if table is None else f"{table} is not captured"
            log("WARNING", f"{posted.name} among the requests for copies is ignored: {reason}", event="copy_ignored")
            return
        since = self.state.read_position or lowest(self.state.epoch)
        request_copies(self.state, [table], since, "a check has found that it differs from its source", "WARNING")

    def _later(self, error: OnefoldError) -> None:
        log("WARNING", f"requests for copies are read later: {error}", event="copy_requests_again", reason=str(error))
