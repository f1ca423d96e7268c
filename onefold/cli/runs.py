"""Several runs of one command, as for several tables: one object of JSON, and the worst exit code."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from onefold.cli.common import ERROR, say
from onefold.cli.output import ENDS, one_document, show_traceback
from onefold.cli.unforeseen import as_onefold_error
from onefold.cli.warehouse import with_near_name
from onefold.core.text import shown_lines


def run_each(runs: Iterable[Callable[[], int]]) -> int:
    """Run a command once for each word that names tables, and return the worst exit code. An error stops no other run."""
    first, *others = runs
    if not others:
        return first()
    with one_document() as errors:
        codes = [_code_of(run, errors) for run in (first, *others)]
    return ERROR if ERROR in codes else max(codes)


def _code_of(run: Callable[[], int], errors: list[str]) -> int:
    try:
        return run()
    except ENDS:
        raise
    except Exception as unknown:  # noqa: BLE001 no error of a run stops the others
        show_traceback(unknown)
        lines = str(with_near_name(as_onefold_error(unknown))).splitlines()
        errors += lines
        for line in shown_lines(lines):
            say("red", f"Error: {line}")
        return ERROR
