"""The commands `export`: files for other tools, over the views that Onefold keeps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from onefold.cli.common import OK, as_json, given, project, read_settings, say
from onefold.cli.common_options import DATASET
from onefold.cli.output import echo_json, is_quiet
from onefold.cli.program import CommandGroup
from onefold.cli.table_arguments import dry_run_option
from onefold.cli.warehouse import open_project
from onefold.core.errors import InvalidInput
from onefold.core.names import check_names
from onefold.settings.environment import Settings

_DONE = {"create": "created", "update": "updated", "remove": "removed", "none": "unchanged"}
_HOURS = click.IntRange(min=1)


@click.group(cls=CommandGroup)
def export() -> None:
    """Write files for other tools, over the views that Onefold keeps."""


@export.command()
@click.argument("datasets", metavar="[DATASET]...", nargs=-1)
@click.option("--output", metavar="FOLDER", required=True, type=click.Path(file_okay=False, path_type=Path),
              help="The folder of a dbt project; one that has none gets a dbt_project.yml.")  # fmt: skip
@click.option("--warn-after", metavar="HOURS", type=_HOURS, default=24, show_default=True,
              help="The age of the newest row from which dbt warns.")  # fmt: skip
@click.option("--error-after", metavar="HOURS", type=_HOURS,
              help="The age of the newest row from which dbt fails; without it, never.")  # fmt: skip
@click.option(DATASET.word, metavar=DATASET.metavar, help=DATASET.help)
@dry_run_option
@project
@as_json
@click.pass_context
def dbt(
    context: click.Context, datasets: tuple[str, ...], output: Path, warn_after: int, error_after: int | None,
    dataset: str | None, dry_run: bool, project: str | None, as_json: bool,
) -> int:  # fmt: skip
    """Write sources, models and tests of dbt over the views of datasets, without packages of others.

    Files that this command wrote are replaced, and removed where their view is gone; others are never overwritten.
    """
    from onefold.export.dbt import FOLDERS, MARK, PROJECT_FILE, AgeLimits, dbt_files
    from onefold.export.folder import apply_files, plan_files
    from onefold.export.read import read_export

    settings = read_settings(context)
    asked = _asked(datasets, dataset, settings)
    check_names([*(("dataset", name) for name in asked), *given(("project", project))])
    found = read_export(open_project(context, project or settings.project), asked, settings)
    texts = dbt_files(found.products, AgeLimits(warn_after, error_after))
    owned = [f"{folder}/{name}" for folder in FOLDERS for name in asked]
    changes = plan_files(output, texts, MARK, owned, shared=(PROJECT_FILE,))
    if not dry_run:
        apply_files(output, changes)
    if as_json:
        echo_json([change.as_dict() for change in changes], warnings=found.warnings)
        return OK
    for warning in found.warnings:
        say("yellow", f"Warning: {warning}")
    for change in changes:
        if change.action != "none" or not is_quiet():
            click.echo(f"{output / change.file}: {'would be ' if dry_run else ''}{_DONE[change.action]}")
    return OK


def _asked(named: Sequence[str], dataset: str | None, settings: Settings) -> list[str]:
    """Return the datasets: those that are named, else that of `--dataset`, else those of the settings.

    Raises:
        InvalidInput: nothing says which datasets.
    """
    found = list(named) or ([dataset] if dataset else sorted(settings.datasets or ()))
    if not found:
        raise InvalidInput("no dataset is named: write `onefold export dbt shop --output FOLDER`, or add --dataset shop")
    return list(dict.fromkeys(found))
