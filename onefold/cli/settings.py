"""The command `settings check`: onefold.yaml and its checked form, which a deployment reads."""

from __future__ import annotations

import os
from pathlib import Path

import click

from onefold.cli.common import CHANGES, OK, raise_problems, say
from onefold.cli.program import CommandGroup
from onefold.settings.batches import DEFAULT_CONFIG
from onefold.settings.checked_form import COMMAND, form_of, form_problem, is_form
from onefold.settings.variables import CONFIG


@click.group(cls=CommandGroup)
def settings() -> None:
    """Check onefold.yaml, and write what a deployment reads of it."""


@settings.command()
@click.option("--write", is_flag=True, help="Write the checked form anew, where it is not current.")
@click.pass_context
def check(context: click.Context, write: bool) -> int:
    """Check onefold.yaml, and that its checked form is current.

    The checked form, onefold.checked.json, is what Terraform, functions and batches read. Exits with 2 if it is not current.
    """
    from onefold.settings.checking import checked_text, form_is_current

    named = context.obj or os.environ.get(CONFIG)
    path = Path(named or DEFAULT_CONFIG)
    raise_problems([f"{path} is a checked form: name the file from which it is made"] if is_form(path) else [])
    if not named and not os.path.lexists(path):
        return _without_file(path)
    text, form = checked_text(path), form_of(path)
    if form_is_current(path, text):
        say("green", f"{path}: all settings are valid, and {form.name} is current")
        return OK
    if not write:
        say("red", f"{form} is not the checked form of {path}: run `{COMMAND}`, and commit the file")
        return CHANGES
    form.write_text(text, "utf-8")
    say("green", f"{path}: all settings are valid; wrote {form}: commit it, too")
    return OK


def _without_file(path: Path) -> int:
    raise_problems([problem] if (problem := form_problem(path)) else [])
    say("green", f"there is no {path}: every setting has its default")
    return OK
