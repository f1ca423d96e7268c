"""Checks of this machine."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from onefold.doctor.check import Check
from onefold.doctor.machine import machine_checks


def found(environ: dict[str, str], version: tuple[int, ...] = (3, 12, 1)) -> dict[str, Check]:
    return {check.name: check for check in machine_checks(environ, version)}


@pytest.mark.parametrize(("version", "problems"), [((3, 10, 9), 1), ((3, 11, 0), 0), ((4, 0, 0), 0)])
def test_python_has_to_be_3_11_or_later(version: tuple[int, ...], problems: int) -> None:
    check = found({}, version)["Python"]
    assert len(check.problems) == problems
    assert not problems or check.problems[0].endswith("got 3.10.9; run: make install PYTHON=python3.12")


def test_a_missing_java_is_a_problem_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    assert "Run: sudo apt-get" in found({})["Java"].problems[0]


@pytest.mark.parametrize(("version", "problems"), [(11, 1), (17, 0), (21, 0)])
def test_java_has_to_be_17_or_later(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: int, problems: int) -> None:
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}.0.1\"' >&2\n")
    program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert len(found({})["Java"].problems) == problems


@pytest.mark.parametrize("form", ["127.0.0.1:{}", "http://127.0.0.1:{}"])
def test_an_emulator_answers_or_is_a_problem(form: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        host = form.format(server.getsockname()[1])
        assert found({"BIGQUERY_EMULATOR_HOST": host})["BIGQUERY_EMULATOR_HOST"].problems == ()
    (problem,) = found({"BIGQUERY_EMULATOR_HOST": host})["BIGQUERY_EMULATOR_HOST"].problems
    assert problem.startswith(f"nothing answers at {host} (")
    assert problem.endswith("start it: onefold local start, or run: unset BIGQUERY_EMULATOR_HOST")


@pytest.mark.parametrize("host", ["nowhere", "a:b:c", "127.0.0.1:99999", ""])
def test_an_address_that_is_none_is_a_problem_unless_it_is_empty(host: str) -> None:
    checks = found({"PUBSUB_EMULATOR_HOST": host})
    assert ("PUBSUB_EMULATOR_HOST" in checks) == bool(host)
    assert not host or checks["PUBSUB_EMULATOR_HOST"].problems
