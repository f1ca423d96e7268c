"""Each command that an error, a help or a page of the documentation names can be run: it exists, and so do its options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from onefold.cli import cli
from onefold.cli.changes import changes
from onefold.cli.lab import LabCommand

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"`onefold ([a-z][^`\n]*)`|^(?:    )?onefold ([a-z][^|>#\n]*)")
FOLDERS = ("onefold", "onefold_lab", "infra", "functions", "spark_jobs")
FILES = sorted([
    *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")),
    *(path for path in (ROOT / "docs").rglob("*.md") if path.parent.name != "decisions"),
    ROOT / "README.md",
])  # fmt: skip


def problem(words: list[str]) -> str | None:
    """Return why a command cannot be run; None where it can, or where a part of it is filled in when it is shown."""
    command: click.Command = cli
    while isinstance(command, click.Group) and words and words[0] in command.commands:
        command, words = command.commands[words[0]], words[1:]
        if (
            command is changes
            and words
            and any(word.startswith("--") for word in words)
            and words[0] not in changes.commands
        ):
            words = ["page" if "--page" in words else "list", *words]  # an option chooses the command of this group
        command = command.command if isinstance(command, LabCommand) else command
    if isinstance(command, click.Group) and words and re.fullmatch("[a-z][a-z-]*", words[0]) and command is not cli:
        return f"{command.name} has no command {words[0]}"
    if command is cli:
        return f"there is no command {words[0]}"
    options = (option for each in command.params for option in (*each.opts, *each.secondary_opts))
    known = {"--help", "-h", *options}
    # Behind `--` are the arguments of a batch.
    named = words[: words.index("--")] if "--" in words else words
    unknown = [word for word in named if re.fullmatch("--?[a-z][a-z-]*", word) and word not in known]
    return f"{command.name} has no {', '.join(unknown)}" if unknown else None


def named_commands(text: str) -> Iterator[str]:
    for line in text.splitlines():
        for found in NAMED.finditer(line):
            yield found[1] or found[2]


def test_every_command_that_a_text_names_exists() -> None:
    found = [(path, command) for path in FILES for command in named_commands(path.read_text(encoding="utf-8"))]
    assert len(found) > 200
    assert not [(str(path), command, why) for path, command in found if (why := problem(command.split()))]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("capture status copy --checkpoint F", None),
        ("capture copy --host H", "capture has no command copy"),
        ("plan shop --any --prune", "plan has no --any"),
        ("copy shop", "there is no command copy"),
        ("batch compare --wait -- --left x", None),
    ],
)
def test_a_command_that_does_not_exist_is_found(words: str, why: str | None) -> None:
    assert problem(words.split()) == why
