"""The generated table of docs/reference/options.md: each option, its meaning and its commands. UPDATE_GOLDEN=1 writes it."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import click
from support.cli import all_commands

from onefold.cli.common_options import Refused

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "options.md"
TABLE = re.compile(r"(?<=<!-- options -->\n\n)(?:\|.*\n)*")

OTHER_WORDS = {
    "--checkpoint": "`capture` writes it, `capture status` reads that of a capture",
    "--columns": "rows of BigQuery's catalog, or of Redshift's",
    "--database": "a database of a source, or the one of Redshift",
    "--dataset": "where a dataset is no place of tables that are named without one, its text says what it is",
    "--days": "of the log of jobs: always, or where readers are collected",
    "--dry-run": "the same look, in the words of what the command does",
    "--file": "declared permissions, or keys of a registry: each a file that its command reads by default",
    "--format": "of files of events, or of what `workload` writes",
    "--from": "the earlier of two versions, for a table or for a schema",
    "--host": "where the service of a command is",
    "--keys": "the same columns, of a table or of a comparison",
    "--once": "stop at the end, of a log or of the copies of the demo",
    "--order": "the same order, in one line or with its form",
    "--output": "a new file with what the command found, in the form that it is for",
    "--password-from": "with or without a default; the key of a registry; a secret of AWS where Redshift reads it",
    "--port": "the port of the service of a command",
    "--project": "`render` needs no warehouse: without a project its names stay unqualified",
    "--prune": "`plan` plans what `refresh` removes",
    "--region": "of Google Cloud, or of Redshift",
    "--since": "a run, or any time",
    "--source": "the name that `capture` writes into rows, and the address of one's own database for `demo`",
    "--table": "a table of a job's dataset, or one of any warehouse for `schema adopt`",
    "--tls-ca": "the same authority, in other words",
    "--to": "the later of two versions, for a table or for a schema",
    "--user": "the same user, in other words",
    "--vendor": "vendors that are imported, or that a key may read",
    "--yes": "each text says what is not asked",
}
"""Options whose help differs between commands, and why."""


def meanings() -> dict[str, dict[tuple[str, str], list[str]]]:
    """For each option the commands that have it, by the name of its value and its help."""
    found: dict[str, dict[tuple[str, str], list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, command in all_commands():
        for option in own_options(command):
            word = max(option.opts, key=len)
            value = "" if option.is_flag else option.metavar or option.type.name.upper()
            found[word][value, " ".join((option.help or "").split())].append(name)
    return found


def own_options(command: click.Command) -> Iterator[click.Option]:
    for one in command.params:
        if isinstance(one, click.Option) and not isinstance(one, Refused) and not one.hidden:
            yield one


def table() -> str:
    every = sum(not isinstance(command, click.Group) for _, command in all_commands())
    lines = ["| option | meaning | commands |", "|---|---|---|"]
    for word, texts in sorted(meanings().items()):
        for (value, text), names in texts.items():
            commands = "all" if len(names) >= every else ", ".join(f"`{name}`" for name in sorted(names))
            lines.append(f"| `{f'{word} {value}'.strip()}` | {text} | {commands} |".replace("|  |", "| |"))
    return "\n".join([*lines, ""])


def test_the_page_has_each_option_with_its_meaning_and_its_commands() -> None:
    wanted = TABLE.sub(lambda _: table(), PAGE.read_text(), count=1)
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(wanted)
    assert PAGE.read_text() == wanted, "UPDATE_GOLDEN=1 writes the table of docs/reference/options.md"


def test_an_option_has_one_help_text_unless_there_is_a_reason() -> None:
    several = {word for word, texts in meanings().items() if len({text for _, text in texts}) > 1}
    assert sorted(several) == sorted(OTHER_WORDS)


def test_every_option_says_what_it_means() -> None:
    assert [(word, names) for word, texts in meanings().items() for (_, text), names in texts.items() if not text] == []
