"""Structured logs: one JSON line an event, as Cloud Logging reads them from standard output."""

from __future__ import annotations

import json
from typing import Any, Literal

LogSeverity = Literal["DEBUG", "INFO", "NOTICE", "WARNING", "ERROR", "CRITICAL"]


def log(severity: LogSeverity, message: str, **fields: Any) -> None:
    """Write one event. Fields that are None are left out; nothing in them may be a secret."""
    known = {name: value for name, value in fields.items() if value is not None}
    print(json.dumps({"severity": severity, "message": message, **known}, default=str), flush=True)
