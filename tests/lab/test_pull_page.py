"""The page "Pull tables": its commands run as they are written, in their order, with a real server, Spark and the stack."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from lab.test_capture_page import Terminals
from support.capture import eventually
from support.database_servers import DatabaseServer
from support.pages import EXPORT, ROOT, blocks, clean_environ

from onefold.doctor.java import java_hint
from onefold.mysql.connection import connect, query
from onefold_lab.processes import free_port

pytestmark = [pytest.mark.emulator, pytest.mark.spark, pytest.mark.long]
PAGE = ROOT / "docs" / "tutorials" / "pull-tables.md"


@pytest.fixture
def terminals(mariadb: DatabaseServer, tmp_path: Path) -> Iterator[Terminals]:
    if hint := java_hint():
        pytest.skip(hint)
    with ExitStack() as stack:
        yield Terminals(mariadb, tmp_path, {**clean_environ(), "COLUMNS": "100", "PWD": str(tmp_path)}, stack)
    with connect(mariadb.address) as connection:
        query(connection, "DROP DATABASE IF EXISTS laptop_models")
        query(connection, "DROP USER IF EXISTS laptop_puller@'%'")


def can_be_read(terminals: Terminals, view: str) -> bool:
    command = f"onefold local query 'SELECT * FROM fraud_laptop_models__views_full.{view}'"
    done = subprocess.run(
        ["bash", "-c", command], cwd=terminals.folder, env=terminals.environ, capture_output=True, check=False
    )
    return done.returncode == 0


def test_the_commands_of_the_page_run(terminals: Terminals) -> None:
    shown: list[str] = []
    steps = blocks(PAGE, free_port(3))
    for kind, text in steps:
        for view in ("score", "rule"):
            if f"__views_full.{view}" in text and "onefold batch" not in text:
                eventually(lambda view=view: can_be_read(terminals, view))  # type: ignore[misc]
        before = len(terminals.printed)
        terminals.do(kind, text.replace("$PWD", str(terminals.folder)))
        shown.append(terminals.printed[before:])
        if kind == "sh server":
            eventually(lambda: "All servers are ready" in terminals.output("sh server"))
            exports = set(EXPORT.findall(terminals.output("sh server")))
            assert exports < set(EXPORT.findall("".join(text for _, text in steps)))
    described, *first, second, third, last = (text for text in shown if text)
    check_description(described)
    check_pulls("".join(first), second, third + last)


def check_description(shown: str) -> None:
    assert '"laptop_models.rule": {mode: full}' in shown
    assert '"laptop_models.score": {mode: incremental, watermark: "changed_at"}' in shown
    assert "fraud: 1 database can be pulled" in shown


def check_pulls(first: str, second: str, last: str) -> None:
    """Check what is shown after the first pull, after the second one, and after the daily load."""
    assert "/json/fraud/laptop_models/score/" in first
    for row in ("Ada +│ 7", "Grace +│ 9", "Edsger +│ 5"):
        assert_row(row, first)
    assert_row("Ada +│ 8", second)
    assert_row("Edsger +│ 5", second)
    assert_row("Ada +│ 8", last)
    assert "Edsger" not in last
    for row in ("score +│ day +│ 2 +│ 1", "rule +│ day +│ 2 +│ 0", "low +│ 3", "high +│ 8"):
        assert_row(row, last)


def assert_row(pattern: str, shown: str) -> None:
    assert re.search(pattern, shown), shown
