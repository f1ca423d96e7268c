"""The commands `onefold changes list` and `onefold changes create`: the ledger of changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import click

from onefold.changes.decisions import create_decisions
from onefold.changes.entry import Entry
from onefold.changes.groups import ChangeGroup, grouped
from onefold.changes.ledger import create_ledger, ledger_table, ledger_view
from onefold.changes.notifications import create_notifications
from onefold.changes.read import read_entries, since_time
from onefold.changes.reader_counts import NOBODY, KnownReaders
from onefold.changes.reader_table import read_readers
from onefold.changes.rows import unknown_warnings
from onefold.changes.table import entry_as_dict
from onefold.cli.common import OK, as_json, given, project, read_settings, say
from onefold.cli.common_options import DATASET
from onefold.cli.named_tables import NamedTables
from onefold.cli.output import echo_json, output_console
from onefold.cli.table_arguments import dry_run_option, named_tables
from onefold.cli.warehouse import open_project
from onefold.core.errors import InvalidInput
from onefold.core.names import check_names
from onefold.settings.environment import Settings

_COLORS = {"CRITICAL": "red", "WARNING": "yellow", "INFO": "green"}


def ledger_dataset(settings: Settings) -> str:
    """Return the dataset of the ledger.

    Raises:
        InvalidInput: no setting names it.
    """
    if not settings.changes_dataset:
        raise InvalidInput(
            "no ledger of changes is set: name its dataset by ONEFOLD_CHANGES_DATASET, as the variable changes_dataset of "
            "infra/ does for the functions"
        )
    return settings.changes_dataset


@click.command("list")
@click.argument("tables", metavar="[DATASET.TABLE]...", nargs=-1)
@click.option(DATASET.word, metavar=DATASET.metavar, help=DATASET.help)
@click.option("--since", metavar="TIME", help="Only changes since TIME: 7d, 12h, 2026-01-31 or 2026-01-31T08:00:00Z.")
@project
@as_json
@click.pass_context
def list_(
    context: click.Context,
    tables: tuple[str, ...],
    dataset: str | None,
    since: str | None,
    project: str | None,
    as_json: bool,
) -> int:
    """List the changes of tables, or of all tables, the oldest first. A change of many tenants is listed once.

    With --json, each tenant has an entry of its own. Of a column that a policy hides, only the name is shown.
    """
    from onefold.views.hidden_entries import names_of_hidden

    check_names(given(("project", project), ("dataset", dataset)))
    settings = read_settings(context)
    named = named_tables(tables, dataset, "onefold changes", of_dataset=dataset is not None) if tables or dataset else ()
    start = since_time(since, datetime.now(UTC)) if since is not None else None
    place = ledger_dataset(settings)
    warehouse: Any = open_project(context, project or settings.project)
    entries = [one for one in read_entries(warehouse, place, settings.contracts.verdicts, start) if _is_named(one, named)]
    shown, known = names_of_hidden(entries, settings, warehouse.project), read_readers(warehouse, place)
    warnings = list(unknown_warnings(shown))
    if as_json:
        echo_json([_as_dict(entry, known) for entry in shown], warnings=warnings)
        return OK
    for text in warnings:
        say("yellow", f"Warning: {text}")
    show_changes(grouped(shown), known)
    return OK


def _as_dict(entry: Entry, known: KnownReaders) -> dict[str, Any]:
    return {**entry_as_dict(entry), "readers": [one.as_count() for one in ChangeGroup((entry,)).readers(known)]}


def _is_named(entry: Entry, named: Sequence[NamedTables]) -> bool:
    return not named or any(one.dataset == entry.dataset and one.holds(entry.table) for one in named)


def show_changes(groups: Iterable[ChangeGroup], known: KnownReaders = NOBODY) -> None:
    """Print changes for people.

    Args:
        groups: the changes.
        known: who reads columns, as far as it is known.
    """
    console = output_console()
    found = tuple(groups)
    for group in found:
        time = group.first.changed_at or group.first.recorded_at
        color = _COLORS[group.severity]
        console.print(f"{time:%Y-%m-%d %H:%M} [{color}]{group.severity}[/{color}]", end=" ")
        console.print(f"{group.title}  {group.id}", markup=False)
        for line in group.lines(known):
            console.print(f"    {line}", markup=False)
    if not found:
        say("green", "No changes are recorded.")


@click.command()
@dry_run_option
@project
@as_json
@click.pass_context
def create(context: click.Context, dry_run: bool, project: str | None, as_json: bool) -> int:
    """Create the tables and the view of the ledger in the dataset that ONEFOLD_CHANGES_DATASET names.

    The dataset has to exist, and what exists stays. Where Terraform makes the ledger, `onefold changes notify` needs it.
    """
    settings = read_settings(context)
    place = ledger_dataset(settings)
    warehouse: Any = open_project(context, project or settings.project)
    names = [str(ledger_table(warehouse.project, place)), str(ledger_view(warehouse.project, place))]
    if not dry_run:
        create_ledger(warehouse, place)
        create_decisions(warehouse, place)
        create_notifications(warehouse, place)
    if as_json:
        echo_json([{"ledger": place, "table": names[0], "view": names[1], "dry_run": dry_run}])
    else:
        say("green", f"{' and '.join(names)} {'would be' if dry_run else 'are'} there")
    return OK
