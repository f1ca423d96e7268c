"""The page "Capture on a laptop": its commands run as they are written, in their order, with a real server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from support.capture import eventually
from support.database_servers import DatabaseServer
from support.page_reader import Reader, at_port
from support.pages import ROOT, blocks, clean_environ

from onefold.capture.source import CapturedSource
from onefold.mysql.connection import connect, query
from onefold.mysql.table_filter import TableFilter

pytestmark = [pytest.mark.emulator, pytest.mark.long]
PAGE = ROOT / "docs" / "tutorials" / "capture-on-a-laptop.md"
SHOWS = {
    "capture status": "position",
    "city FROM shop.customer_current": "Edsger",
    "city FROM shop.customer_unified": "Edsger",
    "onefold plan": "customer_unified",
    "email FROM shop.customer_current": r"New York[^$]*barbara@example.com",
}


@pytest.fixture
def reader(mariadb: DatabaseServer, tmp_path: Path) -> Iterator[Reader]:
    with ExitStack() as stack:
        yield Reader(tmp_path, clean_environ(), stack, SHOWS, at_port(mariadb), mariadb)
    with connect(mariadb.address) as connection:
        query(connection, "DROP DATABASE IF EXISTS laptop_shop")
        query(connection, "DROP USER IF EXISTS laptop_reader@'%'")


def test_the_statements_of_the_guide_make_a_user_who_may_capture(mariadb: DatabaseServer) -> None:
    (statements,) = [text for kind, text in blocks(ROOT / "docs" / "how-to" / "run-capture.md", 9050) if kind == "sql"]
    with connect(mariadb.address) as connection:
        try:
            for statement in filter(str.strip, statements.split(";\n")):
                query(connection, statement.replace("onefold@", "guided@"))  # the server has a user onefold
            reader = replace(mariadb.address, user="guided", password="a-long-password")
            assert CapturedSource(reader, TableFilter(("nothing",)), 4711).check().problems == ()
        finally:
            query(connection, "DROP USER IF EXISTS guided@'%'")


def test_the_commands_of_the_page_run(reader: Reader) -> None:
    printed = reader.read(PAGE)
    assert "everything is ok" in "".join(printed)
    (changed,) = [text for text in printed if "barbara@example.com" in text]
    assert "Edsger" not in changed
    eventually(lambda: "schema-changes: " in reader.output("sh server"))
