"""The command `discover`: what the tables of a dataset are that other tools have written, and a draft of onefold.yaml."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from onefold.cli.common import OK, as_json, project, say
from onefold.cli.common_options import DATASET
from onefold.cli.existing_dataset import dataset_argument, open_source, read_existing, source_option
from onefold.cli.output import echo_json, output_console
from onefold.core.errors import InvalidInput
from onefold.core.text import counted, reason_of, shown_list

if TYPE_CHECKING:
    from onefold.existing.discover import Discovered

_COLOURS = {"certain": "green", "likely": "yellow", "guess": "red"}
_UNKNOWN = "[dim]-[/]"
_output = click.option(
    "--output",
    metavar="NEW",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a draft of onefold.yaml to a new file.",
)


@click.command()
@dataset_argument
@click.option(DATASET.word, metavar=DATASET.metavar, help=DATASET.help)
@source_option("Take keys that BigQuery does not declare from this database")
@_output
@project
@as_json
@click.pass_context
def discover(
    context: click.Context,
    named: str | None,
    dataset: str | None,
    url: str | None,
    output: Path | None,
    project: str | None,
    as_json: bool,
) -> int:
    """Recognise which tool wrote each table of DATASET, and what its rows are: history or current, key, order, deletions.

    DATASET is shop, or 'shop.order_*' for some of its tables. Reads metadata, and changes nothing in the warehouse.
    """
    from onefold.existing.discover import own_last
    from onefold.existing.draft import draft

    _check_new(output)
    _, listed, found = read_existing(context, named, dataset, project, "onefold discover", open_source(url))
    if output:
        _write(output, draft(str(listed.place.dataset), found))
    if as_json:
        echo_json([one.as_dict() for one in found], warnings=listed.warnings)
        return OK
    _show(output_console(), own_last(found))
    say(
        "dim",
        f"wrote {output}: read it, then run `onefold refresh '{listed.place.dataset}.*'` for views in a dataset of your own"
        if output
        else "--output NEW drafts onefold.yaml, from which Onefold writes views",
    )
    return OK


def _check_new(path: Path | None) -> None:
    """Check that a file can be written without overwriting another one.

    Raises:
        InvalidInput: it exists.
    """
    if path and path.exists():
        raise InvalidInput(f"{path} exists already, and nothing is overwritten: name a new file")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written ({reason_of(error)}): name another file") from error


def _show(console: Console, found: Sequence[Discovered]) -> None:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for head in ("table", "tool", "rows", "key", "order", "deletions", "sure?", "why"):
        table.add_column(head, overflow="fold")
    for one in found:
        is_own = one.found.rows == "own"
        table.add_row(
            escape(one.id.table), escape(f"{one.found.tool}, {one.found.form}"), one.found.rows,
            _names(one.found.key, "" if is_own else "[red]unknown[/]"), escape(_order(one)),
            "marked" if one.found.deleted else _UNKNOWN,
            f"[{_COLOURS[one.found.confidence]}]{one.found.confidence}[/]", escape(one.found.why),
        )  # fmt: skip
    console.print(table)
    for note, names in _by_note(found).items():
        console.print(f"[dim]{escape(shown_list(names))}: {escape(note)}[/]", soft_wrap=True)
    histories = sum(one.found.rows == "history" for one in found)
    keyless = sum(not one.found.key and one.found.rows != "own" for one in found)
    console.print(f"{counted(len(found), 'table')}, {histories:,} with history, {keyless:,} without a known key")


def _names(names: Sequence[str], unknown: str) -> str:
    return escape(", ".join(names)) if names else unknown or _UNKNOWN


def _order(one: Discovered) -> str:
    if one.found.rows != "history":
        return "-"
    return ", ".join(dict.fromkeys(term.column or "by its metadata" for term in one.found.order)) or "unknown"


def _by_note(found: Sequence[Discovered]) -> dict[str, list[str]]:
    """Return the tables of each note, which many tables of one tool share."""
    notes: dict[str, list[str]] = {}
    for one in found:
        for note in one.found.notes:
            notes.setdefault(note, []).append(one.id.table)
    return notes
