"""Kinds of tests: markers for the systems that a test starts, and one line for each kind of which tests were skipped."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

FIXTURES = {
    "emulator": {"emulator_host", "pubsub_emulator"},
    "mysql": {
        "mariadb",
        "mysql",
        "server",
        "source",
        "others",
        "other",
        "pair",
        "large",
        "mariadb_servers",
        "mysql_servers",
    },
    "postgres": {"postgres", "postgres_server"},
    "browser": {"browser", "visit"},
    "spark": {"spark"},
    "judge": {"judge"},
    "terraform": {"terraform", "older"},
    "process": {"built", "checkout", "installed"},
}
"""For each marker, the fixtures that start such a system."""
STARTERS = {"mysql": {"new_server", "new_servers"}, "terraform": {"found_terraform"}, "process": {"subprocess"}}
"""For each marker, the functions that start such a system; a test may call them itself."""
FILES = {
    "emulator": ("test_docs", "infra/test_function_package", "infra/test_dist"),
    "spark": ("spark/", "infra/test_packages", "lab/test_dataproc", "lab/test_main"),
    "terraform": ("infra/test_aws", "infra/test_bucket", "infra/test_plan", "infra/test_apply"),
    "process": (
        "functions/test_launch_batch",
        "infra/test_deploy",
        "infra/test_libraries",
        "infra/test_packages",
        "infra/test_compiled_libraries",
        "lab/test_main",
        "test_site",
    ),
}
"""For each marker, files and folders below tests/ that start such a system in processes of their own."""
NO_KIND = "plain"
OUTSIDE = "outside"
"""The marker of tests that are not counted: they need files which not everybody has."""
PROPERTY = "kinds"
"""The property of a test by which its reports have its kinds; their keywords have the names of folders as well."""


def mark(items: Iterable[pytest.Item], tests: Path) -> None:
    """Add the markers of FIXTURES, STARTERS and FILES; `tests` is the folder that FILES are below."""
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ())) - parameters(item)
        path = item.path.relative_to(tests).as_posix()
        names = used_names(item.function) if isinstance(item, pytest.Function) else set()
        for kind in FIXTURES:
            if FIXTURES[kind] & fixtures or STARTERS.get(kind, set()) & names or path.startswith(FILES.get(kind, ())):
                item.add_marker(kind)


def parameters(item: pytest.Item) -> set[str]:
    """Return the arguments that a test takes from its own table and not from the fixture of the same name."""
    tables = (table for table in item.iter_markers("parametrize") if not table.kwargs.get("indirect"))
    names = (table.args[0] for table in tables)
    return {name for some in names for name in (some.replace(",", " ").split() if isinstance(some, str) else some)}


def used_names(test: Callable[..., Any]) -> set[str]:
    """Return the global names and attributes that a test uses, itself or through functions of its own module."""
    property_test = getattr(test, "hypothesis", None)  # Hypothesis replaces the function that @given decorates
    function = inspect.unwrap(property_test.inner_test if property_test else test)
    found: set[str] = set()
    waiting = [function]
    while waiting:
        new = _names(waiting.pop().__code__) - found
        found |= new
        values = (inspect.unwrap(value) for value in map(function.__globals__.get, new) if inspect.isfunction(value))
        waiting += [value for value in values if value.__module__ == function.__module__]
    return found


def _names(code: CodeType) -> set[str]:
    """Return the names of a function's code and of the functions and comprehensions within it."""
    nested = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*map(_names, nested))


def show_skipped(reporter: pytest.TerminalReporter) -> None:
    """Print a line for each kind of which tests were skipped, with the reason, which names the command that helps."""
    for line in skipped_lines(reporter.stats.get("skipped", ())):
        reporter.write_line(line)


def skipped_lines(reports: Iterable[pytest.TestReport]) -> list[str]:
    counts = Counter(("+".join(reported_kinds(report)), reason_of(report)) for report in reports)
    return [f"skipped {count} of kind {kind}: {reason}" for (kind, reason), count in sorted(counts.items())]


def reason_of(report: pytest.TestReport) -> str:
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return text.removeprefix("Skipped: ")


def kinds(item: pytest.Item) -> tuple[str, ...]:
    """Return the kinds of a test by its markers: the systems that it starts, or `plain`; none if it is not counted."""
    names = {mark.name for mark in item.iter_markers()}
    if OUTSIDE in names:
        return ()
    return tuple(kind for kind in FIXTURES if kind in names) or (NO_KIND,)


def reported_kinds(report: pytest.TestReport) -> tuple[str, ...]:
    """Return the kinds of the test of a report; an import that was skipped has none."""
    text = str(dict(report.user_properties).get(PROPERTY, NO_KIND))
    return tuple(text.split("+")) if text else ()
