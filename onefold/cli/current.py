"""The command `current`: a view of the latest rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from onefold.cli.all_tables import TableOutcome, refuse_for_many, run_for_many
from onefold.cli.common import (
    OK,
    accept_settings,
    announcing,
    as_json,
    check_view_settings,
    open_warehouse,
    print_lines,
    project,
)
from onefold.cli.merge import key_names, key_option
from onefold.cli.named_tables import NamedTables
from onefold.cli.output import echo_json
from onefold.cli.recording import recording
from onefold.cli.table_arguments import all_option, dry_run_option, match_option, selected, table_argument
from onefold.core.names import TableId
from onefold.core.text import counted

if TYPE_CHECKING:
    from onefold.views.refresh_current import CurrentView

_OUTCOMES = {"none": "up to date", "create": "created", "update": "updated"}


@click.command()
@table_argument
@all_option
@match_option
@key_option
@dry_run_option
@accept_settings
@project
@as_json
@click.pass_context
def current(
    context: click.Context,
    named: NamedTables,
    all_: bool,
    match: str | None,
    keys: str | None,
    dry_run: bool,
    project: str | None,
    as_json: bool,
) -> int:
    """Create or update TABLE_current, the view of the latest row of each key; or those of a pattern, or of --all tables.

    TABLE is a change table in the form of Datastream's append-only mode, or the base name of versioned ones. If `onefold
    merge` has created a base, the view reads the base and all changes that are not merged yet. Of many tables, those
    without a known key are skipped, and those that the settings exclude.
    """
    from onefold.merge.dataset import find_candidates
    from onefold.views.plain import knowing_plain
    from onefold.views.refresh_current import plan_current, refresh_current

    named = selected(named, all_, match)
    dataset, table = named.dataset, named.table
    if table is None or named.among_others:
        refuse_for_many(keys=keys)
    settings, warehouse = open_warehouse(context, project, dataset, table)
    announce, record = announcing(warehouse.project, settings), recording(warehouse, settings)
    settings = knowing_plain(warehouse, named.dataset, named.table, settings, key_names(keys))

    def work(target: TableId) -> CurrentView:
        if dry_run:
            return plan_current(warehouse, target, key_names(keys), settings)
        check_view_settings(warehouse, target, settings)
        return refresh_current(warehouse, target, key_names(keys), settings, announce=announce, record=record)

    if table is None:
        tables = [found.table for found in find_candidates(warehouse, dataset, settings, named.match)]
        return run_for_many(dataset, tables, lambda target: _outcome(target, work(target)), f"views of {dataset}", as_json)
    target = TableId(warehouse.project, dataset, table)
    made = work(target)
    if as_json:
        echo_json([_outcome(target, made).as_dict()])
    else:
        outcome = f"{'would be ' if dry_run else ''}{_OUTCOMES[made.action]}"
        action = "is up to date" if made.action == "none" else outcome
        changes = _changes(made)
        print_lines(f"{made.id} {action}, over {f'{made.base} and {changes}' if made.base else changes}")
        if (plain := settings.plain_table(target)) and plain.mode == "current":
            print_lines(f"{target} is current already, with one row for each key: the view leaves out its metadata")
    return OK


def _changes(made: CurrentView) -> str:
    """Return the change tables that a view reads: the base name of versioned tables is no table."""
    versions = [version for version in (made.plan.view.versions if made.plan.view else ()) if version]
    return f"{counted(len(versions), 'version')} of {made.source}" if versions else str(made.source)


def _outcome(table: TableId, made: CurrentView) -> TableOutcome:
    view = {"view": str(made.id), "source": str(made.source), "base": str(made.base) if made.base else None}
    return TableOutcome(table, _OUTCOMES[made.action], (*view.items(), ("action", made.action), ("query", made.query)))
