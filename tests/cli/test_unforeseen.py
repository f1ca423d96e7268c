"""No error ends a command with a traceback: of this machine, of an outside system, or of Onefold itself."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import click
import pymysql
import pytest
import requests
from google.api_core import exceptions as api
from google.cloud.bigquery.retry import DEFAULT_RETRY
from support.cli import Run

import onefold.adapters.bigquery.client
from onefold.cli import cli
from onefold.cli.common import Failure, work_on_each
from onefold.cli.unforeseen import logged
from onefold.core.errors import InvalidInput, TryAgain
from onefold.core.log import LOG_FORM
from onefold.core.names import TableId

MAIN = (sys.executable, "-c", "from onefold.cli import main; main()")
PLACE = {"cwd": Path(__file__).parents[2], "env": {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}}

Fails = Callable[[BaseException], None]


@pytest.fixture
def fails(monkeypatch: pytest.MonkeyPatch) -> Fails:
    """Adds a command `fail`, which raises an error."""

    def add(error: BaseException) -> None:
        def work() -> None:
            raise error

        monkeypatch.setattr(cli, "commands", dict(cli.commands))
        cli.add_command(click.Command("fail", callback=work))

    return add


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OSError(28, "No space left on device", "rows.json"), "rows.json: No space left on device"),
        (PermissionError(13, "Permission denied", "/rows"), "/rows: Permission denied"),
        (OSError(28, "No space left on device"), "cannot be written: No space left on device"),
        (ConnectionResetError(104, "Connection reset by peer"), "a connection has failed (Connection reset by peer)"),
        (MemoryError(), "no memory left"),
        (ModuleNotFoundError("No module named 'rich'", name="rich"), "the package rich is missing"),
        (api.Forbidden("no right on shop"), "Google Cloud: no right on shop"),  # type: ignore[no-untyped-call]
        (requests.exceptions.ConnectionError("x", OSError(101, "unreachable")), "does not answer (unreachable)"),
        (pymysql.err.OperationalError(2006, "gone away"), "the source database answers: gone away"),
        (TryAgain("shop is busy: try again"), "shop is busy: try again"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_error_of_the_machine_or_of_a_service_says_what_it_is_about(
    run: Run, fails: Fails, error: Exception, text: str
) -> None:
    fails(error)
    outcome = run("fail")
    assert outcome.code == 1
    assert outcome.err.startswith("Error: ")
    assert text in outcome.err
    assert "Traceback" not in outcome.err
    assert "bug" not in outcome.err


def test_a_bug_is_called_a_bug_and_verbose_shows_where_it_is(run: Run, fails: Fails) -> None:
    fails(KeyError("customer\x1b[2J"))
    outcome = run("fail")
    assert outcome.code == 1
    assert outcome.err.splitlines() == [
        "Error: this is a bug of Onefold (KeyError: 'customer\\x1b[2J'), and nothing in what you typed has to be at fault",
        "Error: run the same command with --verbose, and report what it prints",
    ]
    more = run("fail", "--verbose").err
    assert "Traceback" in more
    assert "in work" in more


def test_an_error_without_a_text_and_one_of_any_length_take_two_lines(run: Run, fails: Fails) -> None:
    for error in (RecursionError(), ValueError("a line\n" * 10_000)):
        fails(error)
        assert len(run("fail").err.splitlines()) == 2


def test_an_interruption_is_quiet(run: Run, fails: Fails) -> None:
    fails(KeyboardInterrupt())
    outcome = run("fail")
    assert (outcome.code, outcome.err.strip()) == (130, "")


def test_an_interruption_is_quiet_while_the_commands_are_imported(tmp_path: Path) -> None:
    """The signal at a moment of the import, which a module of that name in front of all others makes certain.

    A shell starts what runs in the background with the signal ignored, and the tests' processes inherit that.
    """
    (tmp_path / "click").mkdir()
    text = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); signal.raise_signal(signal.SIGINT)"
    (tmp_path / "click" / "__init__.py").write_text(text)
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from onefold.start import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full is one of Linux")
@pytest.mark.parametrize("words", [("--version",), ("settings", "check", "--help")])
def test_a_full_disk_is_an_error_with_a_text(words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*MAIN, *words], **PLACE, stdout=full, stderr=subprocess.PIPE, text=True, check=False)  # type: ignore[call-overload]
    assert done.returncode == 1
    assert done.stderr.startswith("Error: the output or a temporary file cannot be written: No space left on device")
    assert "Traceback" not in done.stderr


def test_a_reader_that_has_ended_is_no_error_to_speak_of() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as closed:
        done = subprocess.run([*MAIN, "--help"], **PLACE, stdout=closed, stderr=subprocess.PIPE, text=True, check=False)  # type: ignore[call-overload]
    assert (done.returncode, done.stderr) == (1, "")


def test_a_bug_with_one_table_does_not_stop_the_others(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = [TableId("p", "shop", name) for name in ("customer", "order")]

    def work(table: TableId) -> str:
        if table.table == "customer":
            raise KeyError("id")
        return table.table

    def each() -> None:
        click.echo([isinstance(one, Failure) or one for one in work_on_each(tables, work, None)])

    monkeypatch.setattr(cli, "commands", dict(cli.commands))
    cli.add_command(click.Command("each", callback=each))
    outcome = run("each")
    assert outcome.out == "[True, 'order']\n"
    assert outcome.err.startswith("Error: customer: this is a bug of Onefold (KeyError: 'id')")


@pytest.mark.parametrize(("form", "has_trace"), [("json", True), ("text", False)])
def test_a_service_logs_a_bug_with_its_traceback_except_for_people(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], form: str, has_trace: bool
) -> None:
    monkeypatch.setenv(LOG_FORM, form)
    with pytest.raises(KeyError), logged():
        raise KeyError("id")
    line = capsys.readouterr().out
    assert "failed: KeyError: 'id'" in line
    assert ("Traceback" in line) == has_trace


def test_a_service_logs_no_error_that_has_a_text_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(TryAgain), logged():
        raise TryAgain("shop is busy: try again")
    assert capsys.readouterr().out == ""


def test_a_long_list_of_problems_is_cut_with_the_number_left_out(run: Run, fails: Fails) -> None:
    fails(InvalidInput(f"column c{number} is unknown" for number in range(1_000)))
    lines = run("fail").err.splitlines()
    assert (len(lines), lines[0], lines[-1]) == (21, "Error: column c0 is unknown", "Error: and 980 more")


def test_no_error_sends_control_characters_to_the_terminal(run: Run, fails: Fails) -> None:
    fails(InvalidInput("rows\x1b[2J.json: there is no such file"))
    assert run("fail").err == "Error: rows\\x1b[2J.json: there is no such file\n"


def closing(server: socket.socket) -> None:
    """Close every connection without an answer, as a server does that has too many."""
    with contextlib.suppress(OSError):  # the test has ended, and closed the server
        while True:
            server.accept()[0].close()


def test_an_emulator_that_breaks_connections_off_is_called_busy(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onefold.adapters.bigquery.client, "TIMEOUT", 0.1)
    monkeypatch.setattr(onefold.adapters.bigquery.client, "_RETRY", DEFAULT_RETRY.with_delay(initial=0, maximum=0))
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=closing, args=(server,), daemon=True).start()
        host = f"127.0.0.1:{server.getsockname()[1]}"
        monkeypatch.setenv("BIGQUERY_EMULATOR_HOST", f"http://{host}")
        outcome = run("plan", "shop", "customer", "--project", "local")
    assert outcome.code == 1
    assert f"the emulator at http://{host} is busy" in outcome.err
