"""The command `init`: the first files of an installation, from three answers."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import cast

import click

from onefold.cli.common import OK, as_json, project, raise_problems, read_settings
from onefold.cli.common_options import CONFIG, CONFIG_HELP
from onefold.cli.confirm import is_terminal
from onefold.cli.output import echo_json
from onefold.cli.table_arguments import dry_run_option
from onefold.core.errors import InvalidInput
from onefold.core.names import problems_of_name
from onefold.settings.first_files import (
    ORIGINS,
    SETTINGS_FILE,
    VARIABLES_FILE,
    Answers,
    Origin,
    next_steps,
    settings_text,
    variables_text,
)
from onefold.settings.variables import CONFIG as CONFIG_VARIABLE

_REGION = "europe-west1"
_OPTIONS = {"rows": "--rows-from"}
_IS_REGION = re.compile(r"[a-z]+-[a-z]+[0-9]+").fullmatch
_EVENTS_APART = "events need a dataset of their own, because the labels of its tables name their versions: add --dataset"
_QUESTIONS = {
    "project": "1. Project",
    "region": "   Region of functions and batches",
    "rows": f"2. Where rows come from: {', '.join(ORIGINS)} (several with commas)",
    "dataset": "3. Datasets of versioned tables (several with commas)",
}


@click.command()
@click.option("--region", metavar="R", help="The region of functions and batches, such as europe-west1.")
@click.option(
    "--rows-from", "origins", type=click.Choice(ORIGINS), multiple=True,
    help="Where rows come from; may be repeated: capture reads a binary log, pull reads tables by watermark, tables are "
    "written by Datastream or other tools, events are JSON.",
)  # fmt: skip
@click.option("--dataset", "datasets", metavar="D", multiple=True, help="A dataset of versioned tables; may be repeated.")
@click.option("--config", metavar="FILE", type=CONFIG, help=CONFIG_HELP)
@click.option("--yes", is_flag=True, help="Overwrite files that exist.")
@dry_run_option
@project
@as_json
@click.pass_context
def init(
    context: click.Context, region: str | None, origins: tuple[str, ...], datasets: tuple[str, ...], config: Path | None,
    yes: bool, dry_run: bool, project: str | None, as_json: bool,
) -> int:  # fmt: skip
    """Write onefold.yaml and onefold.tfvars, the variables of Terraform, into this folder, with comments.

    Asks three things, or takes them as options: project and region, where rows come from, and which datasets. --config names
    another file than onefold.yaml.
    """
    context.obj = config or context.obj
    known = {
        "project": project or read_project(context), "region": region or "", "rows": ",".join(origins),
        "dataset": ",".join(datasets),
    }  # fmt: skip
    answers = checked_answers(asked(known) if is_terminal() else known)
    file = str(context.obj or os.environ.get(CONFIG_VARIABLE) or SETTINGS_FILE)
    texts = {file: settings_text(answers), VARIABLES_FILE: variables_text(answers)}
    if not dry_run:
        check_overwriting(list(texts), yes)
    for name, text in texts.items():
        write(Path(name), text, dry_run, as_json)
    if as_json:
        echo_json([{"files": list(texts), "next": list(next_steps(answers))}])
    else:
        click.echo(f"{'would write' if dry_run else 'wrote'} {' and '.join(texts)}. Next:")
        for step in next_steps(answers):
            click.echo(f"- {step}")
    return OK


def write(path: Path, text: str, dry_run: bool, as_json: bool) -> None:
    """Write a file; a dry run prints it instead, without `--json`."""
    if not dry_run:
        path.write_text(text, encoding="utf-8")
    elif not as_json:
        click.echo(f"--- {path}\n{text}")


def asked(known: dict[str, str]) -> dict[str, str]:
    """Ask on the terminal for what no option tells.

    Args:
        known: the values of the options; an empty text for one that was not given.
    """
    defaults = {"region": _REGION, "rows": "capture"}
    return {
        name: value or click.prompt(_QUESTIONS[name], default=defaults.get(name), err=True) for name, value in known.items()
    }


def checked_answers(known: dict[str, str]) -> Answers:
    """Return the answers.

    Raises:
        InvalidInput: all that is missing or wrong.
    """
    region = known["region"]
    missing = [_OPTIONS.get(name, f"--{name}") for name, value in known.items() if not value.strip()]
    origins, datasets = (tuple(filter(None, map(str.strip, known[name].split(",")))) for name in ("rows", "dataset"))
    raise_problems(
        [
            *([f"missing: {', '.join(missing)}: without a terminal nothing is asked"] if missing else []),
            *(problems_of_name("project", known["project"]) if known["project"] else ()),
            *([f"--region {region}: expected a region such as {_REGION}"] if region and not _IS_REGION(region) else []),
            *(f"--rows-from {name}: expected {', '.join(ORIGINS)}" for name in origins if name not in ORIGINS),
            *(problem for name in datasets for problem in problems_of_name("dataset", name)),
            *([_EVENTS_APART] if "events" in origins and len(origins) > 1 and len(datasets) == 1 else []),
        ]
    )
    return Answers(known["project"], region, cast("tuple[Origin, ...]", origins), tuple(dict.fromkeys(datasets)))


def check_overwriting(names: list[str], yes: bool) -> None:
    """Check that no file is overwritten that nobody agreed to.

    Raises:
        InvalidInput: a file exists, and there is no `--yes` and no terminal to ask on; or the answer was no.
    """
    present = [name for name in names if Path(name).exists()]
    if not present or yes:
        return
    text = f"{' and '.join(present)} exist{'s' if len(present) == 1 else ''}"
    if not (is_terminal() and click.confirm(f"{text}. Overwrite?", err=True)):
        raise InvalidInput(f"{text}: nothing was written. Add --yes to overwrite")


def read_project(context: click.Context) -> str:
    """Return the project of the environment. A file of settings that is about to be replaced may be invalid."""
    try:
        return read_settings(context).project or ""
    except InvalidInput:
        return ""
