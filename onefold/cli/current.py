"""The commands `current`, a view of the latest rows, and `workload`, a change log with a known result."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
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
from onefold.cli.table_arguments import all_option, dry_run_option, match_option, selected, table_argument
from onefold.core.errors import InvalidInput
from onefold.core.names import TableId
from onefold.core.text import counted

if TYPE_CHECKING:
    from onefold.changelog.generator_files import Format
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
    announce = announcing(warehouse.project, settings)
    settings = knowing_plain(warehouse, named.dataset, named.table, settings)

    def work(target: TableId) -> CurrentView:
        if dry_run:
            return plan_current(warehouse, target, key_names(keys), settings)
        check_view_settings(warehouse, target, settings)
        return refresh_current(warehouse, target, key_names(keys), settings, announce=announce)

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


@click.command()
@click.option("--operations", metavar="N", default=1000, show_default=True, help="How many operations.")
@click.option(
    "--mix", metavar="I,U,D", default="40,40,20", show_default=True, help="Insertions, updates and deletions of each 100."
)
@click.option("--seed", metavar="N", default=7, show_default=True, help="The same seed gives the same workload.")
@click.option(
    "--key-changes",
    metavar="SHARE",
    default=0.0,
    show_default=True,
    help="The share of updates that change the key, from 0 to 1.",
)
@click.option(
    "--duplicates",
    metavar="SHARE",
    default=0.0,
    show_default=True,
    help="The share of changes that occur twice, from 0 to 1.",
)
@click.option("--shuffle", is_flag=True, help="Write the changes in random order.")
@click.option("--same-second", is_flag=True, help="Cut timestamps to whole seconds.")
@click.option("--backfill", is_flag=True, help="Write the table again after half of the operations, without a sequence.")
@click.option("--unpadded", is_flag=True, help="Write sequence numbers without leading zeros.")
@click.option("--versions", metavar="N", default=1, show_default=True, help="How many table versions the changes land in.")
@click.option("--base-at", metavar="N", type=int, help="Take the base after N operations.  [default: half of them]")
@click.option(
    "--every-type/--few-columns",
    default=True,
    show_default=True,
    help="A column of every BigQuery type, or only a key, a name and an amount.",
)
@click.option(
    "--format", "form", type=click.Choice(["jsonl", "parquet"]), default="jsonl", show_default=True, help="Of the files."
)
@click.option("--out", metavar="DIR", required=True, type=click.Path(path_type=Path), help="A new folder.")
@as_json
def workload(mix: str, form: Format, out: Path, as_json: bool, **options: int | float | bool | None) -> int:
    """Make a change log and its known result, in files of a new folder.

    DIR/changes/VERSION.jsonl holds the changes of a version, DIR/base.jsonl the table at a chosen time, DIR/truth.jsonl the
    table at the end, and DIR/types.json the type of each column. With --format parquet, each .jsonl is .parquet.
    """
    from onefold.changelog.generator import WorkloadOptions, make_workload
    from onefold.changelog.generator_files import write_workload

    workload_options = WorkloadOptions(mix=_shares(mix), **options)  # type: ignore[arg-type]  # click has checked their types
    made = make_workload(workload_options)
    write_workload(made, out, form)
    sizes = {
        "operations": made.counts,
        "changes": {version: len(rows) for version, rows in made.changes.items()},
        "base": len(made.base),
        "truth": len(made.truth),
    }
    if as_json:
        echo_json([{"options": asdict(workload_options), **sizes}])
    else:
        counts = ", ".join(counted(count, kind) for kind, count in made.counts.items() if count)
        changes = counted(sum(map(len, made.changes.values())), "change")
        print_lines(
            f"{out}: {changes} of {counts}; {counted(len(made.base), 'row')} in the base, {len(made.truth):,} at the end"
        )
    return OK


def _shares(mix: str) -> tuple[int, int, int]:
    """Return the shares of insertions, updates and deletions in percent.

    Raises:
        InvalidInput: there are not three whole numbers.
    """
    try:
        insertions, updates, deletions = (int(share) for share in mix.split(","))
    except ValueError as error:
        raise InvalidInput(
            f"expected --mix I,U,D, got {mix}: write three whole numbers with the sum 100, as in 40,40,20"
        ) from error
    return insertions, updates, deletions
