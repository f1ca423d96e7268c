"""The demo of loads as a person runs it: a real MariaDB, and what each pull makes of its changes."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

import pytest
from e2e.test_demo import COMMAND, SECONDS, children, environ, is_there, run_demo, until
from support.cli import Run
from support.database_servers import MariaDb

from onefold.local import mariadb


@pytest.fixture
def installed() -> None:
    if reason := MariaDb.missing():
        pytest.skip(reason)


def pulled(shown: str, time: str) -> dict[str, str]:
    """What one pull tells of each table."""
    block = re.split(rf"^{time} .*─\n", shown, flags=re.MULTILINE)[1]
    lines = [line.split(maxsplit=1) for line in block.splitlines() if line]
    first = next((number for number, line in enumerate(lines) if line[0] not in ("currency", "customer", "payment")), None)
    return {table: re.sub(r"_v_[0-9a-f]{9}$", "_v_", text.strip()) for table, text in lines[:first]}


@pytest.mark.usefixtures("installed")
@pytest.mark.mysql
@pytest.mark.emulator
def test_the_demo_pulls_late_commits_an_alter_and_deletions_until_views_equal_the_source(tmp_path: Path) -> None:
    # The settings of the user, and a file of settings in the folder, have no effect.
    (tmp_path / "onefold.yaml").write_text("sources: {fraud: 1}")
    shown = run_demo(tmp_path, "--loads", COLUMNS="100", ONEFOLD_VIEW_NAME="{table}_all")
    assert len(shown.splitlines()) <= 62, shown
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
    assert compared == [
        ("customer", "6 rows, 5 in the source: key 5 in the view alone, key 4 with other values"),
        ("payment", "5 rows, 5 in the source: the same"),
        ("currency", "2 rows, 2 in the source: the same"),
        ("customer", "5 rows, 5 in the source: the same"),
        ("payment", "5 rows, 5 in the source: the same"),
    ]
    assert len(set(re.findall(r"payment_v_[0-9a-f]{9}", shown))) == 2
    assert len(set(re.findall(r"customer_v_[0-9a-f]{9}", shown))) == 1
    for row in ("Ada +│ Paris", "Edsger +│ Berlin", "Barbara +│ Oslo", "Katherine +│ Hampton"):
        assert re.search(row, shown)
    assert "Alan" not in shown
    assert "\njson/fraud/models/customer/partition/15m/20260503/20260503101500_0.json.\n" in shown


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
