"""Structured logs: one event a line, as JSON for Cloud Logging or as text for people."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Literal, TextIO

from onefold.core.text import cut, printable

LogSeverity = Literal["DEBUG", "INFO", "NOTICE", "WARNING", "ERROR", "CRITICAL"]
LOG_FORM = "ONEFOLD_LOG"
"""The variable that names the form of the log: `json` or `text`. By default a terminal gets text."""
MAX_LINE = 250_000
"""The longest line in bytes. Cloud Logging refuses an entry of more than 256 KB, its own fields included (Google Cloud,
Cloud Logging, "Quotas and limits", https://cloud.google.com/logging/quotas, 2026-11)."""

_MAX_VALUE = 200
"""How many characters of a field a line for people shows."""
_WRITING = threading.Lock()


def log(severity: LogSeverity, message: str, **fields: Any) -> None:
    """Write one event as a line of JSON or, for people, as text.

    A line of JSON that would be longer than MAX_LINE is cut: `left_out` has, by field, the number of items of a list or of
    characters of a text that are missing.

    Args:
        severity: the severity of Cloud Logging.
        message: the event as a sentence for a person.
        fields: more fields of the line, such as `event`. Fields that are None are left out. No field may hold a secret.
    """
    log_to(sys.stdout, severity, message, **fields)


def log_to(stream: TextIO, severity: LogSeverity, message: str, **fields: Any) -> None:
    """Write one event as `log` does, to another stream: standard error, where standard output is a report."""
    known = {name: value for name, value in fields.items() if value is not None}
    line = readable_line(severity, message, known) if is_for_people(stream) else json_line(severity, message, known)
    # The requests of one instance run in several threads, and a long line is written in pieces: without the lock, two lines
    # would mix.
    with _WRITING:
        stream.write(f"{line}\n")
        stream.flush()


def is_for_people(stream: TextIO | None = None) -> bool:
    """Return whether the log is written as text: as the setting says, else where the stream is a terminal."""
    form = os.environ.get(LOG_FORM)
    return form == "text" if form else (stream or sys.stdout).isatty()


def json_line(severity: str, message: str, fields: dict[str, Any]) -> str:
    """Return an event as JSON in ASCII, so that the number of characters is the number of bytes."""
    line = json.dumps({"severity": severity, "message": message, **fields}, default=str)
    if len(line) <= MAX_LINE:
        return line
    entry = json.loads(line)
    left_out: dict[str, int] = {}
    while (excess := len(line) - MAX_LINE) > 0:
        path, number = _shorten(entry, excess)
        left_out[path] = left_out.get(path, 0) + number
        line = json.dumps({**entry, "left_out": left_out})
    return line


def in_lines(items: Iterable[Any], most: int) -> Iterator[list[Any]]:
    """Yield the items in lists, each of which fits one line beside the other fields of the event.

    Args:
        items: values that JSON can hold.
        most: the number of items in one line.

    Examples:
        >>> [len(part) for part in in_lines(["x" * 100_000] * 3, 200)]
        [1, 1, 1]
    """
    part: list[Any] = []
    size = 0
    for item in items:
        length = len(json.dumps(item, default=str))
        if part and (size + length > MAX_LINE // 2 or len(part) == most):
            yield part
            part, size = [], 0
        part.append(item)
        size += length
    if part:
        yield part


def _shorten(parent: Any, excess: int, path: str = "") -> tuple[str, int]:
    """Shorten the largest list or text below a value in place, by half of it at most.

    Returns:
        The path of what was shortened, and the number of items or characters that were removed.
    """
    keys = parent if isinstance(parent, dict) else range(len(parent))
    key = max(keys, key=lambda one: len(json.dumps(parent[one])))
    value, size = parent[key], len(json.dumps(parent[key]))
    here = f"{path}.{key}" if path else str(key)
    if isinstance(value, list) and len(value) == 1:
        return _shorten(value, excess, here)
    if isinstance(value, dict):
        if max((len(json.dumps(one)) for one in value.values()), default=0) > size // 2:
            return _shorten(value, excess, here)
        value = json.dumps(value)
    if not isinstance(value, str | list):
        value = str(value)
    kept = max(len(value) // 2, len(value) * (size - excess) // size - 1, 0)
    parent[key] = value[:kept]
    return here, len(value) - kept


def readable_line(severity: str, message: str, fields: dict[str, Any]) -> str:
    """Return an event as text: local time, severity, message, and the other fields, each cut to what a person reads."""
    rest = {name: value for name, value in fields.items() if name not in ("event", "reason", "stack_trace")}
    shown = " ".join(f"{name}={cut(_text(value), _MAX_VALUE)}" for name, value in rest.items() if value not in ("", [], {}))
    event = f" [{fields['event']}]" if "event" in fields else ""
    trace = f"\n{fields['stack_trace']}" if "stack_trace" in fields else ""
    now = datetime.now().astimezone().strftime("%H:%M:%S")
    return printable(f"{now} {severity:<8} {message}{event}{' ' if shown else ''}{shown}{trace}")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
