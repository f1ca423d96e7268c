"""The command `settings check`: onefold.yaml and its checked form, which a deployment reads."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import click

from onefold.cli.common import CHANGES, OK, as_json, raise_problems, say
from onefold.cli.output import echo_json
from onefold.cli.program import CommandGroup
from onefold.settings.batches import DEFAULT_CONFIG
from onefold.settings.checked_form import COMMAND, form_of, form_problem, is_form
from onefold.settings.variables import CONFIG

State = Literal["no file", "current", "not current", "written"]
_TEXTS: dict[State, str] = {
    "no file": "there is no {file}: every setting has its default",
    "current": "{file}: all settings are valid, and {form} is current",
    "not current": f"{{form}} is not the checked form of {{file}}: run `{COMMAND}`, and commit the file",
    "written": "{file}: all settings are valid; wrote {form}: commit it, too",
}
"""What is said of the checked form of the settings, by its state."""


@click.group(cls=CommandGroup)
def settings() -> None:
    """Check onefold.yaml, and write what a deployment reads of it."""


@settings.command()
@click.option("--write", is_flag=True, help="Write the checked form anew, where it is not current.")
@as_json
@click.pass_context
def check(context: click.Context, write: bool, as_json: bool) -> int:
    """Check onefold.yaml, and that its checked form is current.

    The checked form, onefold.checked.json, is what Terraform, functions and batches read. Exits with 2 if it is not current.
    """
    from onefold.settings.checking import checked_text, form_is_current, is_empty

    named = context.obj or os.environ.get(CONFIG)
    path = Path(named or DEFAULT_CONFIG)
    raise_problems([f"{path} is a checked form: name the file from which it is made"] if is_form(path) else [])
    if not named and not os.path.lexists(path):
        raise_problems([problem] if (problem := form_problem(path)) else [])
        return _report(path, None, "no file", as_json)
    text, form = checked_text(path), form_of(path)
    if is_empty(path):
        say("yellow", f"Warning: {path} is empty: every setting has its default")
    state: State = "current" if form_is_current(path, text) else "written" if write else "not current"
    if state == "written":
        form.write_text(text, "utf-8")
    return _report(path, form, state, as_json)


def _report(path: Path, form: Path | None, state: State, as_json: bool) -> int:
    """Print what was found, and return the exit code."""
    if as_json:
        echo_json([{"file": str(path), "form": str(form) if form else None, "state": state}])
    else:
        say("red" if state == "not current" else "green", _TEXTS[state].format(file=path, form=form))
    return CHANGES if state == "not current" else OK
