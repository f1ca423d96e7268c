"""The page "Datastream's append-only tables": its commands run as they are written, in their order, with a real server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from support.database_servers import DatabaseServer
from support.page_reader import Reader
from support.pages import ROOT, clean_environ

from onefold.mysql.connection import connect, query

pytestmark = [pytest.mark.emulator, pytest.mark.long]
PAGE = ROOT / "docs" / "tutorials" / "datastream.md"
SHOWS = {
    "capture status": "position",
    "landed.account_unified": r"│ 1000 +│",
    "local datastream landed tutorial_shop\nonefold compare": "the same",
    "local datastream landed tutorial_shop\nonefold current": "the same",
}


@pytest.fixture
def reader(mariadb: DatabaseServer, tmp_path: Path) -> Iterator[Reader]:
    with ExitStack() as stack:
        environ = {**clean_environ(), "COLUMNS": "160"}
        yield Reader(tmp_path, environ, stack, SHOWS, lambda text: text.replace("3306", str(mariadb.port)), mariadb)
    with connect(mariadb.address) as connection:
        query(connection, "DROP DATABASE IF EXISTS tutorial_shop")
        query(connection, "DROP USER IF EXISTS tutorial_writer@'%'")


RIGHT = [["copied", "changed"], ["grown", "new"], ["moved here", "m"], ["tied", "one"], ["twice", "t"]]
"""The rows of the source behind the thirteen changes; of the tied ones, the one with the greatest digest."""


def rows(printed: str) -> list[list[str]]:
    """Return the rows of the last table that a block shows."""
    last = printed.rpartition("┏")[2]
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in last.splitlines() if line.startswith("│")]


def test_the_commands_of_the_page_run(reader: Reader) -> None:
    printed = reader.read(PAGE)
    check_counts_and_comparisons(printed)
    check_what_goes_wrong(printed)
    assert [rows(one) for one in printed if "table1_current" in one][-1] == RIGHT


def check_counts_and_comparisons(printed: list[str]) -> None:
    changes = {kind: int(number) for kind, number in rows(found(printed, "changes"))}
    assert sum(changes.values()) == 1000
    compared = re.findall(r"^(the same|different): (\d+) rows left, (\d+) right", "".join(printed), re.MULTILINE)
    assert compared[0] == ("the same", str(changes["INSERT"] - changes["DELETE"]), compared[0][1])
    assert [verdict for verdict, *_ in compared] == ["the same"] * 8 + ["different"]
    assert len(re.findall(r"member_base: [\d,]+ changes of \d+ keys read; 0 rows written", "".join(printed))) == 2


def check_what_goes_wrong(printed: list[str]) -> None:
    assert rows(found(printed, "rows_expected")) == [["7"]]
    usual = found(printed, "moved here")
    assert [row for row in rows(usual) if row not in RIGHT] == [["grown", "old"], ["moved", "m"]]
    assert rows(found(printed, "deleted │ d ")) == [["deleted", "d"]]
    assert rows(found(printed, "copied     │ copy")) == [
        ["copied", "copy", "NULL"], ["moved", "m", "21"], ["moved here", "m", "22"], ["twice", "t", "40"],
    ]  # fmt: skip
    assert rows(found(printed, "rows_of_deleted")) == [["0"]]
    assert re.search(r"differences [^$]*│ 0 ", found(printed, "differences"))


def found(printed: list[str], part: str) -> str:
    """Return the first block whose output has a part."""
    return next(one for one in printed if part in one)
