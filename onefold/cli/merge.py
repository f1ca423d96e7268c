"""The command `merge`: bring changes into a base table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from onefold.cli.all_tables import TableOutcome, code_of, entry, refuse_for_many, run_for_many, unless_skipped
from onefold.cli.common import (
    OK,
    accept_settings,
    announcing,
    as_json,
    check_view_settings,
    open_warehouse,
    print_lines,
    project,
    raise_problems,
    work_on_each,
)
from onefold.cli.confirm import confirm, yes_option
from onefold.cli.merge_result import lines_of, outcome_of
from onefold.cli.named_tables import NamedTables
from onefold.cli.output import echo_json
from onefold.cli.recording import recording
from onefold.cli.table_arguments import all_option, dry_run_option, match_option, selected, table_argument
from onefold.core.errors import InvalidInput
from onefold.core.names import TableId, check_names
from onefold.merge.base_table import base_table

if TYPE_CHECKING:
    from onefold.merge.need import MergeNeed
    from onefold.settings.environment import Settings

key_option = click.option(
    "--keys",
    metavar="A[,B...]",
    help="The columns that identify a row of the source.  [default: those of onefold.yaml, the base, or a captured table]",
)

_PARTS = ("table", "dataset", "project")


@click.command()
@table_argument
@all_option
@match_option
@key_option
@click.option("--from-snapshot", "snapshot", metavar="TABLE", help="Merge a copy of the source first, [[P.]DATASET.]TABLE.")
@click.option(
    "--at", metavar="SEQUENCE", help="The sequence of the source when the copy was made.  [default: before any change]"
)
@click.option("--rebuild", is_flag=True, help="Write the base anew from the whole history first.")
@click.option(
    "--purge-tombstones-after",
    "purge_after_days",
    metavar="DAYS",
    type=click.IntRange(min=0, max=36_500),
    help="After the merge, delete tombstones that are at least so old by the clock of the source.",
)
@dry_run_option
@yes_option
@accept_settings
@project
@as_json
@click.pass_context
def merge(
    context: click.Context,
    named: NamedTables,
    all_: bool,
    match: str | None,
    keys: str | None,
    project: str | None,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    snapshot: str | None,
    at: str | None,
    rebuild: bool,
    purge_after_days: int | None,
) -> int:
    """Merge the changes that landed since the last merge into the base, TABLE_base; or those of a pattern, or of --all.

    TABLE is a change table in the form of Datastream's append-only mode, or the base name of versioned ones. The base is
    created if it does not exist. Running the command twice gives the same base as running it once. Of many tables, those
    without a known key are skipped, and without --rebuild and --purge-tombstones-after those without newer rows, too, and
    those that wait, by `merge_when` in onefold.yaml. The oldest merge comes first. A table that is named is always merged.
    """
    from onefold.merge.statements import statements
    from onefold.views.plain import knowing_plain
    from onefold.views.reconcile import reconcile

    named = selected(named, all_, match)
    dataset, table = named.dataset, named.table
    if table is None or named.among_others:
        refuse_for_many(keys=keys, from_snapshot=snapshot, at=at)
    _check_together(snapshot, at, dry_run, purge_after_days)
    settings, warehouse = open_warehouse(context, project, dataset, table)
    settings = knowing_plain(warehouse, named.dataset, named.table, settings, key_names(keys))
    if (rebuild or purge_after_days is not None) and not (yes or dry_run):
        _ask(warehouse, settings, named, rebuild, purge_after_days is not None)
    if table is None and dry_run:
        return _show_many(warehouse, settings, dataset, named.match, rebuild, as_json)
    if table is None:
        return _merge_many(warehouse, settings, dataset, named.match, rebuild, purge_after_days, as_json)
    target = TableId(warehouse.project, dataset, table)
    copy = _table(snapshot, target) if snapshot is not None else None
    if dry_run:
        found = statements(warehouse, target, settings, key_names(keys), snapshot=copy, at=at, rebuild=rebuild)
        _show(target, found, as_json, head=named.among_others)
        return OK
    check_view_settings(warehouse, target, settings)
    done = reconcile(
        warehouse,
        target,
        settings,
        key_names(keys),
        snapshot=copy,
        at=at,
        purge_after_days=purge_after_days,
        rebuild=rebuild,
        announce=announcing(warehouse.project, settings),
        record=recording(warehouse, settings),
    )
    if as_json:
        echo_json([outcome_of(done).as_dict()])
    else:
        print_lines(*lines_of(done))
    return OK


def _ask(warehouse: Any, settings: Settings, named: NamedTables, rebuild: bool, purge: bool) -> None:
    """Ask before a base is written anew or loses tombstones; where there is no base yet, nothing is destroyed."""
    from onefold.merge.dataset import find_candidates

    tables = [TableId(warehouse.project, named.dataset, named.table or "")]
    if not named.table:
        tables = [found.table for found in find_candidates(warehouse, named.dataset, settings, named.match)]
    if any(warehouse.has_table(base_table(settings.rules_for(table).base_place(table))) for table in tables):
        acts = [(rebuild, "write the base anew from the history"), (purge, "delete tombstones")]
        confirm(False, f"{' and '.join(act for is_asked, act in acts if is_asked)} of {named.text}")


def _show(table: TableId, statements: list[str], as_json: bool, head: bool) -> None:
    if as_json:
        echo_json([TableOutcome(table, "shown", (("statements", statements),)).as_dict()])
        return
    heading = f"-- {table}\n" if head else ""
    click.echo(f"{heading}{_as_script(statements)}")


def _as_script(statements: list[str]) -> str:
    return ";\n\n".join(statements) + ";"


def _show_many(warehouse: Any, settings: Settings, dataset: str, match: str | None, rebuild: bool, as_json: bool) -> int:
    """Print the statements of the merges of many tables, and of each table why it is merged or not.

    The merge of a table that is skipped or fails stops no other.
    """
    from onefold.merge.statements import statements

    needs = _needs(warehouse, settings, dataset, match)

    def work(table: TableId) -> TableOutcome:
        need = needs[table]
        if not rebuild and need.state != "due":
            return _left(need, None if as_json else "-- ")
        found = statements(warehouse, table, settings, (), rebuild=rebuild)
        if not as_json:
            why = "" if rebuild else f"-- merged: {need.reason}\n"
            click.echo(f"-- {table}\n{why}{_as_script(found)}")
        return TableOutcome(table, "shown", (("statements", found), *([] if rebuild else [("reason", need.reason)])))

    results = work_on_each([*needs], unless_skipped(work), None)
    if as_json:
        echo_json([entry(one) for one in results])
    return code_of(results)


def _needs(warehouse: Any, settings: Settings, dataset: str, match: str | None) -> dict[TableId, MergeNeed]:
    """Return which tables of a dataset have to be merged, in the order of their merges."""
    from onefold.merge.dataset import find_candidates
    from onefold.merge.need import in_order, read_need

    found = find_candidates(warehouse, dataset, settings, match)
    return {need.table.table: need for need in in_order(read_need(warehouse, one, settings) for one in found)}


def _left(need: MergeNeed, lead: str | None) -> TableOutcome:
    """Return the outcome of a table that is not merged now; print it behind `lead`, unless that is None."""
    state = need.state.replace("_", " ")
    if lead is not None:
        click.echo(f"{lead}{need.table.table} {'is up to date' if state == 'up to date' else 'waits'}: {need.reason}")
    return TableOutcome(need.table.table, state, (("reason", need.reason),))


def _merge_many(
    warehouse: Any,
    settings: Settings,
    dataset: str,
    match: str | None,
    rebuild: bool,
    purge_after_days: int | None,
    as_json: bool,
) -> int:
    """Merge all tables of a dataset, or those that match, one after the other: the oldest merge first."""
    from onefold.views.reconcile import reconcile

    tells: dict[str, Any] = {"announce": announcing(warehouse.project, settings), "record": recording(warehouse, settings)}
    needs = _needs(warehouse, settings, dataset, match)
    always = rebuild or purge_after_days is not None

    def work(table: TableId) -> TableOutcome:
        need = needs[table]
        if not always and need.state != "due":
            return _left(need, "" if need.state == "waiting" and not as_json else None)
        done = reconcile(warehouse, table, settings, purge_after_days=purge_after_days, rebuild=rebuild, **tells)
        if not as_json:
            print_lines(*lines_of(done))
        return outcome_of(done)

    return run_for_many(dataset, [*needs], work, f"merging {dataset}", as_json)


def _check_together(snapshot: str | None, at: str | None, show: bool, purge_after_days: int | None) -> None:
    problems = []
    if at is not None and snapshot is None:
        problems.append("--at needs a copy: name the copy with --from-snapshot")
    if at is not None and not at.strip():
        problems.append("--at is empty: name the sequence of the source when the copy was made, or leave --at out")
    if show and purge_after_days is not None:
        problems.append("--dry-run does not print the statements of --purge-tombstones-after: leave one of the two out")
    raise_problems(problems)


def key_names(text: str | None) -> tuple[str, ...]:
    """Return the columns of `--keys`; an empty tuple if the option was not given.

    Raises:
        InvalidInput: a name is empty.
    """
    names = tuple(name.strip() for name in text.split(",")) if text is not None else ()
    if not all(names):
        raise InvalidInput(f"expected --keys A[,B...], got {text!r}: name columns, separated by commas")
    return names


def _table(text: str, merged: TableId) -> TableId:
    """Return the table that `--from-snapshot` names; dataset and project default to those of the merged table.

    Raises:
        InvalidInput: the text has more than three parts.
    """
    parts = text.split(".")[::-1]
    if len(parts) > len(_PARTS):
        raise InvalidInput(f"expected --from-snapshot [[PROJECT.]DATASET.]TABLE, got {text!r}: name one table")
    check_names(zip(_PARTS, parts, strict=False))
    dataset = parts[1] if len(parts) > 1 else merged.dataset
    return TableId(parts[2] if len(parts) == len(_PARTS) else merged.project, dataset, parts[0])
