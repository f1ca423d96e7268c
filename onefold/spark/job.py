"""The end of a job's process: its exit code, and one line for every error that nobody foresaw."""

from __future__ import annotations

import logging
import shlex
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pyspark import SparkContext

from onefold.core.errors import OnefoldError

INTERRUPTED = 130
"""What a shell says of a process that Ctrl-C ended."""

_CAUSE, _CALLED = "Caused by: ", ": "
"""How the lines begin in which Py4J says what went wrong in Java."""
_MOST = 400
_NOTHING_KNOWN = "the error has no text"


def run_job(name: str, argv: Sequence[str], work: Callable[[], int]) -> int:
    """Run a job to its end, and return the exit code of its process.

    An error of ours is printed as it is. Any other is one line with the job, the error, the arguments and the place of its
    log: a terminal shows nothing but that line, and on a cluster the log is the driver's own.

    Args:
        name: of the job, such as `reconcile`.
        argv: its arguments, of which the line tells what was read.
        work: does it, and returns the exit code.
    """
    with _quiet_py4j() as said:
        try:
            return work()
        except OnefoldError as error:
            sys.stderr.write(f"{error}\n")
            return 1
        except KeyboardInterrupt:
            sys.stderr.write(f"onefold {name}: interrupted; run it again with the same arguments\n")
            return INTERRUPTED
        except Exception as error:  # noqa: BLE001 whatever it is, the whole of it goes to the log
            place = _logged(name, "\n".join([traceback.format_exc(), *said]))
            line = f"onefold {name}: unforeseen error: {summary(error)}; arguments: {shlex.join(argv)}; full log: {place}"
            sys.stderr.write(f"{' '.join(line.split())}\n")
            return 1


def summary(error: BaseException) -> str:
    """Return the name of an error and the line of its text that says most: of Java's errors that is the last cause."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 Py4J asks Java for the text, and Java may be gone
        text = ""
    lines = [line for line in text.splitlines() if line.strip()]
    causes = [line.removeprefix(_CAUSE) for line in lines if line.startswith(_CAUSE)]
    called = [line.removeprefix(_CALLED) for line in lines if line.startswith(_CALLED)]
    most = (causes[-1:] or called[:1] or lines[:1] or [_NOTHING_KNOWN])[0].strip()
    return f"{type(error).__name__}: {most[:_MOST]}"


def _logged(name: str, text: str) -> str:
    """Keep the whole error, and return where it is."""
    context = SparkContext._active_spark_context
    if context is not None and not str(context.master).startswith("local"):
        sys.stderr.write(f"{text}\n")
        return "the lines above, in the driver's log"
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix=f"onefold_{name}_", suffix=".log", delete=False, encoding="utf-8"
        ) as log:
            log.write(text)
    except OSError as error:
        sys.stderr.write(f"{text}\n")
        return f"the lines above, since no file could be written ({error})"
    return str(Path(log.name))


class _Py4jLog(logging.Handler):
    """Keeps what Py4J logs for the log of an error, and passes on what anybody else logs."""

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
    """Collect what Py4J logs: where Java ends, it prints a traceback for every call besides the error that it raises.

    It logs to the root logger, which would print by itself as soon as it has no handler.
    """
    logger, handler = logging.getLogger(), _Py4jLog()
    logger.addHandler(handler)
    try:
        yield handler.lines
    finally:
        logger.removeHandler(handler)
