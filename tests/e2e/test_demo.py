"""The demo as a person runs it: in any environment, and ended in any way."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console
from support.cli import check_json

from onefold.core.errors import Rejected
from onefold.doctor.java import java_hint
from onefold_lab.demo import tour as demo
from onefold_lab.processes import last_errors

pytestmark = pytest.mark.long

COMMAND = [sys.executable, "-c", "from onefold.cli import main; main()", "demo"]
SECONDS = 400
WITHOUT_JAVA = {"JAVA_HOME": "/nowhere"}
"""The demo without Java ends before the batches, which take most of its time."""


def environ(**more: str) -> dict[str, str]:
    return {**os.environ, "COLUMNS": "80", **more}


def run_demo(folder: Path, *options: str, **more: str) -> str:
    done = subprocess.run(
        [*COMMAND, *options], cwd=folder, env=environ(**more), capture_output=True, text=True, check=False, timeout=SECONDS
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def children(pid: int) -> list[int]:
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False).stdout
    found = [int(line) for line in listed.split()]
    return [*found, *(grandchild for child in found for grandchild in children(child))]


def is_there(pid: int) -> bool:
    """Return True for a running process; a zombie waits only for its parent."""
    shown = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(shown.strip()) and not shown.startswith("Z")


def until(condition: object, seconds: float = 30) -> bool:
    end = time.monotonic() + seconds
    while not (answer := condition()) and time.monotonic() < end:  # type: ignore[operator]
        time.sleep(0.05)
    return bool(answer)


def test_the_demo_tells_its_story_in_60_lines(tmp_path: Path) -> None:
    shown = run_demo(tmp_path, "--fast")
    lines = shown.splitlines()
    assert len(lines) <= 55, shown  # the batches take 11 lines more
    assert shown.count(" appears: ") == 6
    assert [shown.count(f"{table}_unified, ") for table in ("customer", "subscription")] == [1, 1]
    assert "before" not in shown
    text = " ".join(shown.split())
    assert "customer_unified changes: retyped id INT64 -> STRING, added email STRING" in text
    assert "customer_unified is created with 4 columns" in text
    assert "Spark" not in text
    (page,) = re.findall(r"As a page: file://(\S+)", text)
    assert '"name":"subscription"' in Path(page).read_text("utf-8")
    shutil.rmtree(Path(page).parent)
    assert lines[-2:] == [
        "Next: your own database, which is only read:",
        "    onefold demo --source mysql://USER@HOST/DATABASE",
    ]
    assert max(map(len, lines)) <= 80


def test_the_demo_prints_its_result_alone_for_programs(tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "--fast", "--json"], cwd=tmp_path, env=environ(), capture_output=True, text=True, check=True, timeout=300
    )
    check_json(done.stdout)
    assert json.loads(done.stdout)["results"] == [{"demo": "tour", "ok": True}]
    assert "customer_unified" in done.stderr


def test_the_full_demo_shows_each_version_with_its_changes_and_cuts_nothing_at_80_columns(tmp_path: Path) -> None:
    shown = run_demo(tmp_path, "--full", **WITHOUT_JAVA)
    assert "Run: sudo apt-get" in shown
    assert shown.count(" appears ─") == 6
    assert shown.count("changes of the schema") == 6
    assert "paused becomes a count of pauses, a currency is added, note is dropped\n" in shown
    assert "…" not in shown
    assert re.search(r"│ added +│ first_name +│ +│ STRING", shown)
    assert re.search(r"│ true +│", shown)
    assert "12:00:00+00" in shown
    assert max(len(line) for line in shown.splitlines() if line.startswith(("│", "┏"))) <= 80


def test_the_demo_merges_a_change_log_in_two_batches_twice(tmp_path: Path) -> None:
    if hint := java_hint():
        pytest.skip(hint)
    printed = run_demo(tmp_path)
    assert len(printed.splitlines()) <= 66, printed
    shown = " ".join(printed.split())
    assert len(re.findall(r"the (?:first|second) batch(?:, again)?: SUCCEEDED after [0-9]+ s", shown)) == 4
    assert "account_base: 224 rows, 224 in the truth; 0 on one side only, 0 differ" in shown
    assert "Both batches run again change nothing: all 465 rows" in shown
    assert "GOAWAY" not in shown


def test_the_demo_ignores_the_settings_and_the_proxy_of_its_user(tmp_path: Path) -> None:
    (tmp_path / "onefold.yaml").write_text("tables: {customer: {retire: [abc]}}")
    settings = {"ONEFOLD_VIEW_NAME": "{table}_all", "ONEFOLD_CONFIG": "nowhere.yaml", "ONEFOLD_TOPIC_DEAD_LETTER": "a"}
    proxies = dict.fromkeys(("http_proxy", "HTTP_PROXY", "https_proxy"), "http://127.0.0.1:9")
    assert "customer_unified, 4 rows" in run_demo(tmp_path, **settings, **proxies, **WITHOUT_JAVA)


def test_the_demo_runs_in_an_ascii_terminal(tmp_path: Path) -> None:
    assert "caf?" in run_demo(tmp_path, LANG="C", PYTHONIOENCODING="ascii", **WITHOUT_JAVA)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_demo_and_all_processes_that_it_started(tmp_path: Path, number: signal.Signals) -> None:
    # The suite may run below nohup, which ignores one of them.
    command = ["env", f"--default-signal={number.name.removeprefix('SIG')}", *COMMAND]
    process = subprocess.Popen(command, cwd=tmp_path, env=environ(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert until(lambda: len(children(process.pid)) >= 2)  # the emulator and the server of the function
        started = children(process.pid)
        process.send_signal(number)
        assert process.wait(SECONDS) == 128 + number
        assert until(lambda: not any(is_there(pid) for pid in started))
    finally:
        process.kill()


def test_the_errors_in_the_log_of_a_failed_function_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "DATASET", "a-b")  # an invalid name: the function cannot start
    monkeypatch.setattr("google.cloud.bigquery.Client.create_dataset", lambda *_: None)
    monkeypatch.setattr(demo, "land_version", lambda *_: None)
    monkeypatch.setenv("BIGQUERY_EMULATOR_HOST", "")
    with pytest.raises(
        Rejected, match=r"asks for another delivery \(500\): see the log of the function\nIts log:\n(.*\n)*.*not_ready"
    ):
        demo.run_demo(Console(file=io.StringIO()))


def test_the_error_lines_of_a_log_are_shown_or_its_last_lines_if_there_are_none() -> None:
    info, error = '{"severity": "INFO", "message": "no errors"}', '{"severity": "ERROR", "message": "broken"}'
    trace = "ValueError: what went wrong"
    assert last_errors(io.BytesIO(f"{info}\n{error}\n\nstarted\n{trace}\n".encode())) == f"{error}\n{trace}"
    assert last_errors(io.BytesIO(f"{info}\nstarted\n".encode())) == f"{info}\nstarted"
    assert len(last_errors(io.BytesIO(b"error\n" * 1000)).splitlines()) == 10
