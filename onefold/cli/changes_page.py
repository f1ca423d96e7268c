"""The command `changes page`: one static page for each dataset, which shows its tables over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from onefold.cli.common import ERROR, OK, as_json, given, progress_line, project, read_settings, say
from onefold.cli.common_options import DATASET
from onefold.cli.output import echo_json
from onefold.cli.table_arguments import dry_run_option
from onefold.cli.warehouse import open_project
from onefold.core.errors import InvalidInput, NotFound, OnefoldError
from onefold.core.names import check_names
from onefold.core.text import counted
from onefold.settings.environment import Settings

if TYPE_CHECKING:
    from onefold.changes.page.dataset import DatasetPage


@click.command()
@click.argument("datasets", metavar="[DATASET]...", nargs=-1)
@click.option(
    "--page", "folder", metavar="FOLDER", required=True, help="Where the pages are written: a folder, or gs://BUCKET/FOLDER."
)
@click.option(
    "--checkpoint",
    "checkpoints",
    metavar="FOLDER",
    multiple=True,
    help="The folder of a capture's --checkpoint, by which the page says how far it is behind its source. May be repeated.",
)
@click.option(DATASET.word, metavar=DATASET.metavar, help=DATASET.help)
@dry_run_option
@project
@as_json
@click.pass_context
def page(
    context: click.Context, datasets: tuple[str, ...], folder: str, checkpoints: tuple[str, ...], dataset: str | None,
    dry_run: bool, project: str | None, as_json: bool,
) -> int:  # fmt: skip
    """Write one page for each dataset, and an index: its tables, versions, casts, changes, readers and checks.

    A page is one file, which loads nothing from anywhere. It holds metadata and no value of a row, and of a column that a
    policy hides only the name. The word `page` may be left out: the option alone chooses the command.
    """
    from onefold.adapters.objects_at import writable_objects_at
    from onefold.changes.page.index import file_name
    from onefold.changes.page.write import write_pages

    settings = _with_checkpoints(read_settings(context), checkpoints)
    asked = _asked(datasets, dataset, settings)
    check_names([*(("dataset", name) for name in asked), *given(("project", project))])
    store = writable_objects_at(folder)
    now = datetime.now(UTC)
    pages, gone, errors = _read(open_project(context, project or settings.project), asked, settings, now)
    if not dry_run and (pages or gone):
        write_pages(store, folder, pages, gone, now)
    results = [
        {"dataset": one.dataset, "file": f"{folder.rstrip('/')}/{file_name(one.dataset)}", "tables": len(one.tables)}
        for one in pages
    ]
    warnings = [text for one in pages for text in one.warnings]
    if as_json:
        echo_json(results, warnings=warnings, errors=errors)
        return ERROR if errors else OK
    for text in warnings:
        say("yellow", f"Warning: {text}")
    for text in errors:
        say("red", f"Error: {text}")
    for one in pages:
        place = f"{folder.rstrip('/')}/{file_name(one.dataset)}"
        click.echo(f"{place}: {'would be ' if dry_run else ''}written, with {counted(len(one.tables), 'table')}")
    return ERROR if errors else OK


def _with_checkpoints(settings: Settings, checkpoints: tuple[str, ...]) -> Settings:
    """Return the settings with the folders of more checkpoints.

    Raises:
        InvalidInput: a folder is an empty text.
    """
    if not all(one.strip() for one in checkpoints):
        raise InvalidInput("--checkpoint is empty: name the folder of capture's --checkpoint, or leave --checkpoint out")
    return replace(settings, page_checkpoints=(*settings.page_checkpoints, *checkpoints))


def _asked(named: Sequence[str], dataset: str | None, settings: Settings) -> list[str]:
    """Return the datasets: those that are named, else that of `--dataset`, else those of the settings.

    Raises:
        InvalidInput: nothing says which datasets.
    """
    words = [name.removesuffix(".*") for name in named]
    found = words or ([dataset] if dataset else sorted(settings.datasets or ()))
    if tables := [name for name in found if "." in name]:
        raise InvalidInput(
            f"{tables[0]}: a page is of a whole dataset: write `onefold changes page {tables[0].partition('.')[0]}`"
        )
    if not found:
        raise InvalidInput("no dataset is named: write `onefold changes page shop --page FOLDER`, or add --dataset shop")
    return list(dict.fromkeys(found))


def _read(
    warehouse: Any, asked: Sequence[str], settings: Settings, now: datetime
) -> tuple[list[DatasetPage], list[str], list[str]]:
    """Return the pages, the datasets that do not exist, and the errors. One dataset never stops the others."""
    from onefold.adapters.objects_at import objects_at
    from onefold.inventory.capture_lag import read_lag
    from onefold.inventory.page_source import read_kept, read_page

    pages, gone, errors = [], [], []
    with progress_line("reading") as show:
        for name in asked:
            show(f"reading {name}")
            try:
                lag = read_lag(name, settings.page_checkpoints, objects_at, now.timestamp())
                kept = read_kept(warehouse, name, settings, lag)
                pages.append(read_page(warehouse, name, settings, kept, now))
            except NotFound as error:
                gone.append(name)
                errors.append(str(error))
            except OnefoldError as error:
                errors.append(f"dataset {name}: {error}")
    return pages, gone, errors
