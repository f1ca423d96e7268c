"""The end of a job's process: its exit code, and one line for every unexpected error."""

from __future__ import annotations

import logging
import shlex
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from pyspark import SparkContext

from onefold.core.errors import OnefoldError

INTERRUPTED = 130
"""The exit code by which a shell marks a process that Ctrl-C ended: 128 and the number of SIGINT."""

_CAUSE, _FIRST = "Caused by: ", ": "
"""The prefixes of the lines of Py4J with Java's error: of its causes, and of the error itself."""
_LONGEST = 400
_NO_TEXT = "the error has no text"


def run_job(name: str, argv: Sequence[str], work: Callable[[], int]) -> int:
    """Run a job to its end, and return the exit code of its process.

    The text of an OnefoldError is printed unchanged. Any other error becomes one line with the job, the error, the arguments
    and the file of its log: a terminal shows only that line; on a cluster the log is the driver's own.

    Args:
        name: the name of the job, such as `reconcile`.
        argv: its arguments, which the line repeats.
        work: runs the job and returns the exit code.
    """
    with _quiet_py4j() as py4j_lines:
        try:
            return work()
        except OnefoldError as error:
            sys.stderr.write(f"{error}\n")
            return 1
        except KeyboardInterrupt:
            sys.stderr.write(f"onefold {name}: interrupted; run it again with the same arguments\n")
            return INTERRUPTED
        except Exception as error:  # noqa: BLE001 any error goes to the log with its whole text
            log = _write_log(name, "\n".join([traceback.format_exc(), *py4j_lines]))
            line = f"onefold {name}: unforeseen error: {summary(error)}; arguments: {shlex.join(argv)}; full log: {log}"
            sys.stderr.write(f"{' '.join(line.split())}\n")
            return 1


class Report(Protocol):
    """What became of a job."""

    def to_json(self) -> str: ...

    def summary(self) -> str: ...


def show(report: Report) -> None:
    """Print the report of a job: as JSON on standard output, and for people on standard error."""
    sys.stdout.write(f"{report.to_json()}\n")
    sys.stderr.write(f"{report.summary()}\n")


def summary(error: BaseException) -> str:
    """Return the name of an error and the most useful line of its text: of Java's errors, the last cause.

    Examples:
        >>> summary(ValueError("expected 2 columns, got 3"))
        'ValueError: expected 2 columns, got 3'
    """
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 Py4J asks Java for the text, and Java may be gone
        text = ""
    lines = [line for line in text.splitlines() if line.strip()]
    causes = [line.removeprefix(_CAUSE) for line in lines if line.startswith(_CAUSE)]
    errors = [line.removeprefix(_FIRST) for line in lines if line.startswith(_FIRST)]
    line = (causes[-1:] or errors[:1] or lines[:1] or [_NO_TEXT])[0].strip()
    return f"{type(error).__name__}: {line[:_LONGEST]}"


def _write_log(name: str, text: str) -> str:
    """Write the whole error into a file, or to standard error on a cluster, and return where it is."""
    context = SparkContext._active_spark_context
    if context is not None and not str(context.master).startswith("local"):
        sys.stderr.write(f"{text}\n")
        return "the lines above, in the driver's log"
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix=f"onefold_{name}_", suffix=".log", delete=False, encoding="utf-8"
        ) as file:
            file.write(text)
    except OSError as error:
        sys.stderr.write(f"{text}\n")
        return f"the lines above, since no file could be written ({error})"
    return str(Path(file.name))


class _Py4jLog(logging.Handler):
    """Collects the lines that Py4J logs, for the log of an error, and passes on all other lines."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if "py4j" in Path(record.pathname).parts:
            self.lines.append(self.format(record))
        elif logging.lastResort and record.levelno >= logging.lastResort.level:
            logging.lastResort.handle(record)


@contextmanager
def _quiet_py4j() -> Iterator[list[str]]:
    """Collect the lines that Py4J logs: after Java has ended, it logs a traceback for every call, and also raises an error.

    Py4J logs to the root logger, which prints by itself if it has no handler.
    """
    logger, handler = logging.getLogger(), _Py4jLog()
    logger.addHandler(handler)
    try:
        yield handler.lines
    finally:
        logger.removeHandler(handler)
