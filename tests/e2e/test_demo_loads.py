"""The demo of loads as a person runs it: a real MariaDB, what pulls make of its changes, clean views and checks."""

from __future__ import annotations

import re
import signal
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from e2e.test_demo import COMMAND, SECONDS, children, environ, is_there, run_demo, until
from support.cli import Run
from support.database_servers import MariaDb

from onefold.mysql.connection import query
from onefold_lab import mariadb
from onefold_lab.demo.pulled_source import PulledSource, at

pytestmark = pytest.mark.heavy

DOCS = Path(__file__).parents[2] / "docs"

ROWS = {"currency": 2, "customer": 5, "payment": 5}
"""The rows of each table in the end."""


@pytest.fixture
def installed() -> None:
    if reason := MariaDb.missing():
        pytest.skip(reason)


def pulled(shown: str, time: str) -> dict[str, str]:
    """What one pull tells of each table."""
    lines = [line.split(maxsplit=1) for line in after(shown, time).splitlines() if line]
    first = next((number for number, line in enumerate(lines) if line[0] not in ("currency", "customer", "payment")), None)
    return {table: re.sub(r"_v_[0-9a-f]{9}$", "_v_", text.strip()) for table, text in lines[:first]}


def after(shown: str, time: str) -> str:
    """What the demo shows from a time on."""
    return re.split(rf"^{time} .*─\n", shown, flags=re.MULTILINE)[1]


@pytest.mark.usefixtures("installed")
@pytest.mark.mysql
@pytest.mark.emulator
def test_the_demo_pulls_hides_checks_and_repairs_until_the_views_equal_the_source(tmp_path: Path) -> None:
    # The settings of the user, and a file of settings in the folder, have no effect.
    (tmp_path / "onefold.yaml").write_text("sources: {fraud: 1}")
    shown = run_demo(tmp_path, "--loads", COLUMNS="100", ONEFOLD_VIEW_NAME="{table}_all")
    assert len(shown.splitlines()) <= 100, shown
    assert max(map(len, shown.splitlines())) <= 100
    assert pulled(shown, "10:00") == {
        "currency": "skipped; it is loaded full, once a day",
        "customer": "5 rows of the whole table -> customer_v_",
        "payment": "3 rows of the whole table -> payment_v_",
    }
    # By watermark less 15 minutes, and by key; the two open transactions are not seen.
    assert pulled(shown, "10:15") == {
        "customer": "3 rows from 09:40 on -> customer_v_",
        "payment": "4 rows from key 1 on -> payment_v_",
    }
    assert pulled(shown, "10:30") == {
        "customer": "3 rows from 09:57 on -> customer_v_",
        "payment": "5 rows of the whole table -> payment_v_",
    }
    assert pulled(shown, "10:45") == {
        "customer": "1 row from 10:14 on -> customer_v_",
        "payment": "5 rows from key 1 on -> payment_v_",
    }
    assert pulled(shown, "04:00") == {
        "currency": "2 rows of the whole table -> currency_v_",
        "customer": "4 rows from 00:00 on, 1 deletion found -> customer_v_",
        "payment": "5 rows from key 1 on -> payment_v_",
    }
    compared = re.findall(r"^  full view of (\w+) +(.+)$", shown, re.MULTILINE)
    same = [(table, f"{rows} rows, {rows} in the source: the same") for table, rows in ROWS.items()]
    assert compared == [
        ("customer", "6 rows, 5 in the source: key 5 in the view alone, key 4 with other values"),
        ("payment", "5 rows, 5 in the source: the same"),
        *same,  # after the daily load
        *same,  # after the repair
    ]
    assert len(set(re.findall(r"payment_v_[0-9a-f]{9}", shown))) == 2
    assert len(set(re.findall(r"customer_v_[0-9a-f]{9}", shown))) == 1
    assert "\njson/fraud/models/customer/partition/15m/20260503/20260503101500_0.json.\n" in shown
    check_clean_views(re.split(r"^05:00 ", after(shown, "04:30"), flags=re.MULTILINE)[0])
    check_found_and_fixed(after(shown, "06:00"))


def check_clean_views(shown: str) -> None:
    """Each action of the policies shows, and so does the column that waits for one."""
    drafted = dict(re.findall(r"^  (\w+): (clear|hash|mask|drop)  # ", shown, re.MULTILINE))
    assert drafted == {
        "id": "clear", "name": "mask", "email": "hash", "city": "mask", "pin": "drop", "changed_at": "clear",
        "source_name": "mask", "database_name": "mask",
    }  # fmt: skip
    assert "\n  local.fraud_models.customer: city is masked until a policy names it\n" in shown
    assert "\n  1 column of 3 tables to decide: see `onefold policies init`\n" in shown
    rows = [re.split(r" *│ *", line)[1:-1] for line in shown.splitlines() if line.startswith("│")]
    full = [row[:5] for row in rows]
    assert full == [
        ["1", "Ada", "al@x.eu", "Paris", "4711"],
        ["2", "Grace", "gh@x.eu", "Arlington", "0815"],
        ["3", "Edsger", "ed@x.eu", "Berlin", "1930"],
        ["4", "Barbara", "bl@x.eu", "Oslo", "1974"],
        ["6", "Katherine", "NULL", "Hampton", "NULL"],
    ]
    clean = [row[6:] for row in rows]  # without the pin, and with NULL for what is masked
    assert [(row[0], row[1], *row[3:]) for row in clean] == [(row[0], "NULL", "NULL") for row in full]
    *hashes, null = [row[2] for row in clean]
    assert (len(set(hashes)), null) == (4, "NULL")
    assert all(re.fullmatch("[0-9a-f]{6}…", one) for one in hashes)


def check_found_and_fixed(shown: str) -> None:
    """Two changes without a watermark are found and repaired; no value of a column that is not clear is shown."""
    command = "onefold check fraud models --padding-minutes 0"
    found, fixed, again = shown.split(f"{command}")[1:]
    assert [text.splitlines()[0] for text in (found, fixed, again)] == [
        " exits with 2:",
        " --fix exits with 0:",
        " exits with 0:",
    ]
    text = " ".join(found.split())
    for table, column in (("customer", "city"), ("payment", "amount")):
        report = (
            f"{table}: different; 5 rows in 1 chunk compared; values that do not match: 1; columns that differ: {column};"
        )
        assert report in text
    hashes = re.findall(
        r'`city` does not match between MySQL \(val=hash ([0-9a-f]{16})\) and BigQuery \(val=hash ([0-9a-f]{16})\), '
        r'in the row id="2"', text,
    )  # fmt: skip
    assert len(set(*hashes)) == 2
    assert '`amount` does not match between MySQL (val="205") and BigQuery (val="250"), in the row id="2"' in text
    assert "Lisbon" not in found
    assert "Arlington" not in shown
    assert "fraud_models: 1 same, 2 fixed, 0 different, 0 skipped, 0 failed" in fixed
    assert "fraud_models: 3 same, 0 fixed, 0 different, 0 skipped, 0 failed" in again
    assert "city of customer 2: Lisbon in the full view, NULL in the clean view\n" in again


@pytest.mark.usefixtures("installed")
@pytest.mark.mysql
@pytest.mark.emulator
def test_a_signal_ends_the_demo_with_its_database(tmp_path: Path) -> None:
    output = tmp_path / "output"
    command = ["env", "--default-signal=TERM", *COMMAND, "--loads"]
    with output.open("w") as file:
        process = subprocess.Popen(command, cwd=tmp_path, env=environ(TMPDIR=str(tmp_path)), stdout=file, stderr=file)
    try:
        assert until(lambda: "Starting the embedded" in output.read_text())
        assert until(lambda: len(children(process.pid)) >= 2)  # MariaDB and the emulator
        started = children(process.pid)
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == 128 + signal.SIGTERM
        assert until(lambda: not any(is_there(pid) for pid in started))
        assert not list(tmp_path.glob("onefold-*")), "nothing of the database and the files is left"
    finally:
        process.kill()


@pytest.mark.usefixtures("installed")
@pytest.mark.mysql
def test_pulls_and_checks_of_the_demo_have_the_right_that_the_tutorial_grants_and_no_other() -> None:
    (right,) = re.findall(r"^GRANT (.+) ON laptop_models\.\*", (DOCS / "tutorials/pull-tables.md").read_text(), re.MULTILINE)
    with mariadb.mariadb_server() as address:
        source = PulledSource(address)
        source.create()
        with closing(source.connect(at("10:00"))) as connection:
            granted = [text.partition(" TO ")[0] for (text,) in query(connection, "SHOW GRANTS")]
    assert granted == ["GRANT USAGE ON *.*", f"GRANT {right} ON `models`.*"]


def test_without_a_mariadb_the_demo_says_how_to_install_one(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.setattr(mariadb, "_FOLDERS", ())
    monkeypatch.setenv("PATH", "/nowhere")
    done = run("demo", "--loads")
    assert done.code == 1
    assert "mariadbd and mariadb-install-db cannot be found, so there is no MariaDB here." in done.err
    assert f"Run: {mariadb.INSTALL_MARIADB}" in done.err


@pytest.mark.parametrize("others", [["--source", "mysql://u@h"], ["--fast"], ["--full"], ["--once"], ["--include", "a"]])
def test_the_demo_of_loads_takes_no_other_option(run: Run, others: list[str]) -> None:
    done = run("demo", "--loads", *others)
    assert (done.code, "--loads is a demo of its own" in done.err) == (1, True)
