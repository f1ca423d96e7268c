"""The heartbeat of capture, and the health check of its image against the real process."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.capture import eventually
from support.capture_process import CaptureProcess, Scene
from support.capture_receiver import receiving
from support.cli import Run
from support.database_servers import DatabaseServer
from support.mysql_load import make_tables
from test_docs import ROOT

from onefold.capture.heartbeat import LIMIT_SECONDS, VARIABLE, Heartbeat, problem
from onefold.core.shutdown import Stop, Stopped

DOCKERFILE = re.sub(r"^#.*\n", "", (ROOT / "capture.Dockerfile").read_text().replace("\\\n", " "), flags=re.MULTILINE)


def instructions(name: str) -> list[str]:
    return re.findall(rf"^{name} +(.+)$", DOCKERFILE, re.MULTILINE)


def command() -> list[str]:
    """Return the health check of the image, with this Python."""
    (check,) = instructions("HEALTHCHECK")
    words: list[str] = json.loads(check.partition(" CMD ")[2])
    assert words[0] == "python"
    return [sys.executable, *words[1:]]


def test_the_image_runs_as_a_number_that_is_not_root() -> None:
    *_, user = instructions("USER")
    found = re.fullmatch(r"(\d+):(\d+)", user)
    assert found, user
    assert all(int(number) >= 10_000 for number in found.groups())
    assert DOCKERFILE.index("\nUSER ") < DOCKERFILE.index("\nENTRYPOINT ")


def test_the_image_has_no_password_and_names_its_heartbeat_file() -> None:
    (environ,) = instructions("ENV")
    assert re.search(rf"\b{VARIABLE}=/tmp/\S+", environ)
    assert "PASSWORD" not in DOCKERFILE.upper()


def test_the_health_check_needs_nothing_but_python() -> None:
    done = subprocess.run(
        [sys.executable, "-S", *command()[1:]], cwd=ROOT, env={}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "set it for both" in done.stderr) == (1, True)


@pytest.mark.parametrize(("age", "well"), [(0, True), (LIMIT_SECONDS, True), (LIMIT_SECONDS + 1, False)])
def test_a_process_is_well_as_long_as_its_last_heartbeat_is_recent(tmp_path: Path, age: int, well: bool) -> None:
    path = tmp_path / "heartbeat"
    path.touch()
    os.utime(path, (1000, 1000))
    assert (problem({VARIABLE: str(path)}, 1000 + age) is None) is well


def test_a_process_that_has_not_started_is_not_well(tmp_path: Path) -> None:
    assert "has not started" in str(problem({VARIABLE: str(tmp_path / "heartbeat")}, 1000))


def test_only_the_thread_that_made_the_stop_has_a_heartbeat() -> None:
    beats: list[str] = []
    stop = Stop(lambda: beats.append(threading.current_thread().name))
    others = [threading.Thread(target=work, name="other") for work in (stop.check, lambda: stop.pause(0))]
    for thread in others:
        thread.start()
    for thread in others:
        thread.join()
    assert beats == []
    stop.check()
    stop.pause(0)
    assert len(beats) == 2


def test_the_end_is_noticed_as_before() -> None:
    stop = Stop()
    stop.set()
    for wait in (stop.check, lambda: stop.pause(60)):
        with pytest.raises(Stopped):
            wait()


def test_a_file_is_not_touched_at_each_look(tmp_path: Path) -> None:
    path = tmp_path / "heartbeat"
    heartbeat = Heartbeat(path)
    os.utime(path, (1000, 1000))
    heartbeat.beat()
    assert path.stat().st_mtime == 1000


@pytest.mark.usefixtures("dataset")
def test_a_file_that_cannot_be_written_is_an_error_that_names_it(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "missing" / "file"))
    monkeypatch.setenv("ONEFOLD_SOURCE_PASSWORD", "")
    places = ("--source", "shop-db", "--dataset", "shop", "--checkpoint", "state")
    done = run("capture", "--host", "127.0.0.1", "--port", 9, "--user", "root", *places, "--once")
    assert (done.code, f"{VARIABLE}: {tmp_path / 'missing' / 'file'}" in done.err.replace("\n", "")) == (1, True)


# The real process


DATABASES = ("beating_1",)


@pytest.fixture
def scene(mariadb: DatabaseServer, tmp_path: Path) -> Iterator[Scene]:
    make_tables(mariadb, DATABASES, 10)
    with receiving() as receiver:
        made = Scene(mariadb, receiver, tmp_path, DATABASES, environ={VARIABLE: str(tmp_path / "heartbeat")})
        yield made
        made.close()


def is_well(scene: Scene) -> bool:
    return subprocess.run(command(), cwd=ROOT, env=scene.environ, capture_output=True, check=False).returncode == 0


def is_frozen(life: CaptureProcess) -> bool:
    return Path(f"/proc/{life.process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def check_hanging_and_going_on(scene: Scene, life: CaptureProcess) -> None:
    """Freeze the process for longer than it may be silent, as far as its file tells; then let it go on."""
    path = Path(scene.environ[VARIABLE])
    life.eventually(path.exists)
    assert is_well(scene)
    os.kill(life.process.pid, signal.SIGSTOP)
    eventually(lambda: is_frozen(life))
    past = path.stat().st_mtime - LIMIT_SECONDS - 60
    os.utime(path, (past, past))
    assert not is_well(scene)
    os.kill(life.process.pid, signal.SIGCONT)
    life.eventually(lambda: is_well(scene))


def test_a_process_that_follows_a_quiet_source_is_well_and_one_that_hangs_is_not(scene: Scene) -> None:
    life = scene.start()
    life.eventually(scene.is_caught_up)
    check_hanging_and_going_on(scene, life)
    life.end()


@pytest.mark.long
def test_a_process_that_waits_for_its_source_is_well_and_one_that_hangs_is_not(scene: Scene) -> None:
    life = scene.start("--port", "9")
    life.eventually(lambda: scene.output.exists() and scene.events("try_again"))
    check_hanging_and_going_on(scene, life)
    life.end()
