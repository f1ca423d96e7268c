"""Kinds of tests: markers for the systems that a test starts, and one line for each reason why tests were skipped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest

FIXTURES = {
    "emulator": {"emulator_host", "pubsub_emulator"},
    "mysql": {"mariadb", "mysql", "source", "scene", "mariadb_servers", "mysql_servers"},
    "spark": {"spark"},
    "judge": {"judge"},
    "terraform": {"terraform"},
}
"""For each marker, the fixtures that start such a system. A test that starts one by itself sets the marker by itself."""


def mark_by_fixtures(items: Iterable[pytest.Item]) -> None:
    for item in items:
        used = set(getattr(item, "fixturenames", ()))
        for kind, fixtures in FIXTURES.items():
            if fixtures & used:
                item.add_marker(kind)


def show_skipped(reporter: pytest.TerminalReporter) -> None:
    """Say once for each reason how many tests were skipped; a reason names the command that would make them run."""
    reasons = Counter(_reason(report) for report in reporter.stats.get("skipped", ()))
    for reason, count in sorted(reasons.items()):
        reporter.write_line(f"skipped {count}: {reason}")


def _reason(report: pytest.TestReport) -> str:
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return text.removeprefix("Skipped: ")
