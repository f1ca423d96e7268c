"""The page "From a MySQL to a clean view with alerts in an hour": its commands run as they are written, in their order.

Its part about Google Cloud is tested in `infra/test_clean_page.py` and `cli/test_clean_page.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from lab.test_pull_page import assert_row
from support.database_servers import DatabaseServer
from support.page_reader import Reader, at_port
from support.pages import ROOT, clean_environ

from onefold.doctor.java import java_hint
from onefold.mysql.connection import connect, query

pytestmark = [pytest.mark.emulator, pytest.mark.spark, pytest.mark.long]
PAGE = ROOT / "docs" / "tutorials" / "clean-views-and-alerts.md"
DATASET = "club_laptop_members"
SHOWS = {f"FROM {DATASET}__views_full.member": "Ada|Lisbon"}


@pytest.fixture
def reader(mariadb: DatabaseServer, tmp_path: Path) -> Iterator[Reader]:
    if hint := java_hint():
        pytest.skip(hint)
    with ExitStack() as stack:
        yield Reader(tmp_path, {**clean_environ(), "COLUMNS": "160"}, stack, SHOWS, at_port(mariadb), mariadb)
    with connect(mariadb.address) as connection:
        query(connection, "DROP DATABASE IF EXISTS laptop_members")
        query(connection, "DROP USER IF EXISTS laptop_club@'%'")


def test_the_commands_of_the_page_run(reader: Reader) -> None:
    described, _, _, full, draft, undecided, clean, same, found, alerts, fixed, _ = reader.read(PAGE)
    check_views(described, full, clean)
    check_policies(draft, undecided)
    check_findings(same, found, alerts, fixed)


def check_views(described: str, full: str, clean: str) -> None:
    assert '"laptop_members.member": {mode: incremental, watermark: "changed_at"}' in described
    assert '"laptop_members.payment": {mode: full}' in described
    assert "club: 1 database can be pulled" in described
    for row in ("Ada +│ ada@example.com +│ London +│ 4711", "Edsger +│ NULL +│ Nuenen +│ 1930"):
        assert_row(row, full)
    assert_row("1 +│ NULL +│ [0-9a-f]{64} +│ NULL +│ 2", clean)
    assert_row("3 +│ NULL +│ NULL +│ NULL +│ 2", clean)
    shown = re.sub("[0-9a-f]{64}", "HASH", clean)  # a hash may have any digits
    for hidden in ("pin", "Ada", "ada@", "London", "4711"):
        assert hidden not in shown


def check_policies(draft: str, undecided: str) -> None:
    of_member = re.split(r"^  (?=\w)", draft.partition(f"{DATASET}.member:\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    drafted = dict(re.findall(r"^    (\w+): (\w+)  # ", of_member, re.MULTILINE))
    assert {name: drafted[name] for name in ("id", "name", "email", "city", "pin", "changed_at")} == {
        "id": "clear", "name": "mask", "email": "hash", "city": "mask", "pin": "drop", "changed_at": "clear",
    }  # fmt: skip
    assert undecided.splitlines() == [
        f"local.{DATASET}.member: city is masked until a policy names it",
        "1 column of 2 tables to decide: see `onefold policies init`",
        "exit code 2",
    ]


def check_findings(same: str, found: str, alerts: str, fixed: str) -> None:
    assert f"{DATASET}: 2 same, 0 fixed, 0 different, 0 skipped, 0 failed" in same
    assert f"{DATASET}: 0 same, 0 fixed, 2 different, 0 skipped, 0 failed\nexit code 2" in found
    assert '`amount` does not match between MySQL (val="205") and BigQuery (val="250"), in the row id="2"' in found
    assert re.search(r"`city` does not match between MySQL \(val=hash [0-9a-f]{16}\) and BigQuery \(val=hash ", found)
    assert [alerts.count(text) for text in ("CRITICAL", "check_failed", "Lisbon", "205")] == [2, 2, 0, 0]
    assert "Lisbon" not in found
    assert f"{DATASET}: 0 same, 2 fixed, 0 different, 0 skipped, 0 failed" in fixed
    assert f"{DATASET}: 2 same, 0 fixed, 0 different, 0 skipped, 0 failed" in fixed
    assert_row("Lisbon +│ NULL", fixed)
