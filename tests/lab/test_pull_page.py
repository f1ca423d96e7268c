"""The page "Pull tables": its commands run as they are written, in their order, with a real server, Spark and the stack."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from support.database_servers import DatabaseServer
from support.page_reader import Reader, at_port
from support.pages import ROOT, clean_environ

from onefold.doctor.java import java_hint
from onefold.mysql.connection import connect, query

pytestmark = [pytest.mark.emulator, pytest.mark.spark, pytest.mark.long]
PAGE = ROOT / "docs" / "tutorials" / "pull-tables.md"
SHOWS = {"__views_full.score": "Ada", "__views_full.rule": "low"}


@pytest.fixture
def reader(mariadb: DatabaseServer, tmp_path: Path) -> Iterator[Reader]:
    if hint := java_hint():
        pytest.skip(hint)
    with ExitStack() as stack:
        yield Reader(tmp_path, {**clean_environ(), "COLUMNS": "100"}, stack, SHOWS, at_port(mariadb), mariadb)
    with connect(mariadb.address) as connection:
        query(connection, "DROP DATABASE IF EXISTS laptop_models")
        query(connection, "DROP USER IF EXISTS laptop_puller@'%'")


def test_the_commands_of_the_page_run(reader: Reader) -> None:
    described, *first, second, third, last, checked = (text for text in reader.read(PAGE) if text)
    check_description(described)
    check_pulls("".join(first), second, third + last)
    assert "fraud_laptop_models: 2 same, 0 fixed, 0 different, 0 skipped, 0 failed" in checked


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
