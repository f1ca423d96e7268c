"""Running a command line as a person or a program does."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import jsonschema
import pytest

from onefold.cli import cli, main
from onefold.cli.lab import LabCommand

SCHEMAS = Path(__file__).parents[2] / "docs" / "reference" / "json"


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def results(self) -> Any:
        """The entries of the JSON."""
        return self.json["results"]

    @property
    def result(self) -> Any:
        """The only entry of the JSON."""
        (result,) = self.results
        return result


Run = Callable[..., Outcome]


def all_commands(group: click.Group = cli, prefix: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield the name and the command of each command of a group, and of the groups below it, with those of the lab."""
    for name, found in group.commands.items():
        command = found.command if isinstance(found, LabCommand) else found
        yield f"{prefix}{name}", command
        if isinstance(command, click.Group):
            yield from all_commands(command, f"{prefix}{name} ")


def check_json(printed: str) -> None:
    """Check what a command printed against the documented schema of the command: it has no field that is not described."""
    document = json.loads(printed)
    # One command prints its result alone.
    command = document.get("command", "schema ddl")
    schema = json.loads((SCHEMAS / f"{command.replace(' ', '-')}.json").read_text())
    jsonschema.validate(document, closed(schema), jsonschema.Draft202012Validator)


def closed(schema: Any) -> Any:
    """Return a schema that refuses every property which it does not name; the documented one leaves room for new ones."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {name: closed(part) for name, part in schema.items()}
    return {**inner, "additionalProperties": False} if "properties" in schema and "required" in schema else inner


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Runs a command line in an empty folder, with a terminal wide enough for its tables."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))  # stacks that run on this machine are of others

    def run_command(*arguments: object, stdin: str = "") -> Outcome:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        before = dict(os.environ)  # a command may set variables of its process
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        for name in os.environ.keys() - before:
            del os.environ[name]
        os.environ.update(before)
        printed = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        if "--json" in arguments and "Usage:" not in printed.err:
            check_json(printed.out)
        return Outcome(ended.value.code, printed.out, printed.err)

    return run_command
