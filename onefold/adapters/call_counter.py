"""The count of an adapter's requests, which a function reports with each message."""

from __future__ import annotations

import threading


class CallCounter(threading.local):
    """A count of requests for each thread: threads share one adapter, and each of them reports its own requests."""

    count = 0

    def add(self) -> None:
        """Count one request of this thread."""
        self.count += 1
