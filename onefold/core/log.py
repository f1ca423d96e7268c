"""Structured logs: one JSON line an event, as Cloud Logging reads them from standard output."""

from __future__ import annotations

import json
import sys
import threading
from typing import Any, Literal

LogSeverity = Literal["DEBUG", "INFO", "NOTICE", "WARNING", "ERROR", "CRITICAL"]

_ONE_AT_A_TIME = threading.Lock()


def log(severity: LogSeverity, message: str, **fields: Any) -> None:
    """Write one event. Fields that are None are left out; nothing in them may be a secret."""
    known = {name: value for name, value in fields.items() if value is not None}
    line = json.dumps({"severity": severity, "message": message, **known}, default=str)
    # The requests of one instance run side by side, and a long line is written in pieces.
    with _ONE_AT_A_TIME:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
