"""Saves the checkpoints of a running capture, one at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from onefold.capture.checkpoint import Checkpoint
from onefold.capture.checkpoint_store import CheckpointStore
from onefold.capture.state import CaptureState
from onefold.core.errors import TryAgain
from onefold.core.log import log

_RESAVE_SECONDS = 60
"""So often the checkpoint is saved even if only its times have changed: they show the lag of a quiet source."""


@dataclass
class CheckpointSaver:
    """Saves the state of a capture where it has changed.

    Attributes:
        store: where checkpoints are.
        state: of the capture.
        has_begun: whether the reader has begun: before that nothing is saved.
        now: seconds since 1970.
        saved: the last checkpoint.
        lock: held while a checkpoint is made and saved.
    """

    store: CheckpointStore
    state: CaptureState
    has_begun: Callable[[], bool]
    now: Callable[[], float]
    saved: Checkpoint
    lock: threading.Lock = field(default_factory=threading.Lock)

    def save(self, is_last: bool = False) -> bool:
        """Save the present state, and return whether the store has it: an error that may pass is logged.

        Args:
            is_last: save it also where nothing has changed.
        """
        with self.lock:
            now = replace(self.state.checkpoint(), saved_at=int(self.now()))
            if not self.has_begun():
                return False
            if not (is_last or self._has_news(now)):
                return True
            try:
                self.store.save(now)
                self.saved = now
            except TryAgain as error:
                log("WARNING", f"the checkpoint is saved later: {error}", event="checkpoint_again", reason=str(error))
                return False
            return True

    def _has_news(self, now: Checkpoint) -> bool:
        """Return whether anything has happened since the last checkpoint, or whether its times are out of date."""
        saved = self.saved
        if now.without_times() != saved.without_times():
            return True
        is_first_time = saved.reached.as_of is None and now.reached.as_of is not None
        return is_first_time or (now.saved_at or 0) >= (saved.saved_at or 0) + _RESAVE_SECONDS
