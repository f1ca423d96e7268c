"""Structured logs: one JSON line per event, as Cloud Logging reads them from standard output."""

from __future__ import annotations

import json
import sys
import threading
from typing import Any, Literal

LogSeverity = Literal["DEBUG", "INFO", "NOTICE", "WARNING", "ERROR", "CRITICAL"]

_WRITING = threading.Lock()


def log(severity: LogSeverity, message: str, **fields: Any) -> None:
    """Write one event as a JSON line.

    Args:
        severity: the severity of Cloud Logging.
        message: the event as a sentence for a person.
        fields: more fields of the line, such as `event`. Fields that are None are left out. No field may hold a secret.
    """
    known = {name: value for name, value in fields.items() if value is not None}
    line = json.dumps({"severity": severity, "message": message, **known}, default=str)
    # The requests of one instance run in several threads, and a long line is written in pieces: without the lock, two lines
    # would mix.
    with _WRITING:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
