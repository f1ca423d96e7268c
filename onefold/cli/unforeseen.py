"""Errors that no other code translates: of this machine, of an outside system, or of Onefold itself, as texts for people."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from onefold.core.errors import OnefoldError, Rejected, TryAgain
from onefold.core.extras import missing_package
from onefold.core.log import is_for_people, log
from onefold.core.text import cut, printable

_MOST_CHARACTERS = 200


class Bug(OnefoldError):
    """An error that only a change of Onefold can mend."""


def as_onefold_error(error: Exception) -> OnefoldError:
    """Return any error as one whose text says what is wrong and what to do; no text names a module or shows a traceback.

    Examples:
        >>> print(as_onefold_error(FileNotFoundError(2, "No such file or directory", "rows.json")))
        rows.json: No such file or directory: correct the name, or see that this user may use it
    """
    if isinstance(error, OnefoldError):
        return error
    if isinstance(error, MemoryError):
        return Rejected("this machine has no memory left: end other programs, or run the command on a larger machine")
    if isinstance(error, ModuleNotFoundError):
        damaged = f"the package {error.name} is missing: the installation is damaged, so install Onefold again"
        return Rejected(missing_package(error) or damaged)
    return _of_service(error) or (_of_machine(error) if isinstance(error, OSError) else _bug(error))


@contextmanager
def logged() -> Iterator[None]:
    """Log an error that no code translates, with its traceback: nobody runs a service again with --verbose.

    A log for people leaves the traceback out, as every command does.
    """
    try:
        yield
    except Exception as error:
        if not isinstance(error, OnefoldError):
            trace = None if is_for_people() else traceback.format_exc()
            log("CRITICAL", f"failed: {_named(error)}", event="failed", reason=_named(error), stack_trace=trace)
        raise


def _of_service(error: Exception) -> OnefoldError | None:
    """Return the error of a client, of MySQL's, of Google's or of another one by HTTP; None for any other error."""
    from onefold.adapters.google_errors import Service

    packages = {one.__module__.partition(".")[0] for one in type(error).__mro__}
    if "pymysql" in packages:
        from onefold.mysql.connection import server_reason

        advice = "see that the server runs, and that its user may do this"
        return Rejected(f"the source database answers: {_text(server_reason(error))}: {advice}")
    if isinstance(error, OSError) and "requests" not in packages:
        return None
    return Service("Google Cloud", emulator="", start="").translate("Google Cloud", error)


def _of_machine(error: OSError) -> OnefoldError:
    reason = _text(error.strerror or str(error))
    if isinstance(error, (ConnectionError, TimeoutError)):
        return TryAgain(f"a connection has failed ({reason}): see that the server runs and can be reached, and try again")
    if error.filename is None:
        return Rejected(f"the output or a temporary file cannot be written: {reason}: make room, or write elsewhere")
    return Rejected(f"{error.filename}: {reason}: correct the name, or see that this user may use it")


def _bug(error: Exception) -> OnefoldError:
    return Bug(
        f"this is a bug of Onefold ({_named(error)}), and nothing in what you typed has to be at fault\n"
        "run the same command with --verbose, and report what it prints"
    )


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {_text(str(error))}".removesuffix(": ")


def _text(text: str) -> str:
    return cut(printable(" ".join(text.split())), _MOST_CHARACTERS)
