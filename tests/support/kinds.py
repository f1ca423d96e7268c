"""Kinds of tests: markers for the systems that a test starts, and one line for each reason why tests were skipped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

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
    "spark": {"spark"},
    "judge": {"judge"},
    "terraform": {"terraform"},
}
"""For each marker, the fixtures that start such a system."""
FILES = {
    "emulator": ("test_docs", "infra/test_function_package", "infra/test_dist"),
    "spark": ("spark/", "infra/test_packages", "local/test_dataproc", "local/test_main"),
    "terraform": ("infra/test_bucket", "infra/test_plan", "infra/test_apply"),
}
"""For each marker, files and folders below tests/ that start such a system in processes of their own."""


def mark(items: Iterable[pytest.Item], tests: Path) -> None:
    """Add the markers of FIXTURES and FILES; `tests` is the folder that FILES are below."""
    for item in items:
        used, path = set(getattr(item, "fixturenames", ())), item.path.relative_to(tests).as_posix()
        for kind in FIXTURES:
            if FIXTURES[kind] & used or path.startswith(FILES.get(kind, ())):
                item.add_marker(kind)


def show_skipped(reporter: pytest.TerminalReporter) -> None:
    """Say once for each reason how many tests were skipped; a reason names the command that would make them run."""
    reasons = Counter(_reason(report) for report in reporter.stats.get("skipped", ()))
    for reason, count in sorted(reasons.items()):
        reporter.write_line(f"skipped {count}: {reason}")


def _reason(report: pytest.TestReport) -> str:
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return text.removeprefix("Skipped: ")
