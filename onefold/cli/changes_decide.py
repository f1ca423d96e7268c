"""The commands `changes accept` and `changes reject`: decide about a change that a contract holds, and write the views."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from onefold.changes.decisions import decide
from onefold.changes.read import read_entries
from onefold.cli.changes_list import ledger_dataset
from onefold.cli.common import (
    ERROR,
    OK,
    Failure,
    announcing,
    as_json,
    given,
    open_warehouse,
    project,
    read_settings,
    say,
)
from onefold.cli.output import echo_json
from onefold.cli.table_arguments import dry_run_option, named_tables
from onefold.cli.view_reports import check, show_done, work_on
from onefold.cli.warehouse import open_project
from onefold.core.errors import InvalidInput, NotFound
from onefold.core.names import check_names
from onefold.core.text import shown_list
from onefold.refresh.kind import ViewKind
from onefold.schema.contract_rules import Verdict

_WORDS: dict[Verdict, str] = {"accept": "accepted", "reject": "rejected"}


def _options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the arguments and options of both commands."""
    options = (
        click.argument("change", metavar="ID"),
        click.argument("table", metavar="[DATASET.TABLE]", required=False),
        click.option("--column", "columns", metavar="PATH", multiple=True, help="Only this column or field; repeatable."),
        dry_run_option,
        project,
        as_json,
        click.pass_context,
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@_options
def accept(context: click.Context, **words: Any) -> int:
    """Accept a change that a contract holds: a new column is shown, or a type widened. Then the views are written.

    `onefold plan` and `onefold changes` show the ID. DATASET.TABLE is needed where the ledger does not list the change. A
    decision in onefold.yaml comes first.
    """
    return _decide(context, "accept", **words)


@click.command()
@_options
def reject(context: click.Context, **words: Any) -> int:
    """Reject a change that a contract holds: views stay as they are, and it waits no longer. It can be accepted later.

    `onefold plan` and `onefold changes` show the ID. DATASET.TABLE is needed where the ledger does not list the change. A
    decision in onefold.yaml comes first.
    """
    return _decide(context, "reject", **words)


def _decide(
    context: click.Context,
    verdict: Verdict,
    change: str,
    table: str | None,
    columns: Sequence[str],
    dry_run: bool,
    project: str | None,
    as_json: bool,
) -> int:
    check_names(given(("project", project)))
    settings = read_settings(context)
    place = ledger_dataset(settings)
    warehouse: Any = open_project(context, project or settings.project)
    change, table = _found(warehouse, place, change, table)
    if not dry_run:
        decide(warehouse, place, change, columns, verdict)
    what = f"{shown_list(columns)} of change {change}" if columns else f"change {change}"
    if not as_json:
        say("green", f"{table}: {what} {'would be' if dry_run else 'is'} {_WORDS[verdict]}")
    results = [] if dry_run else _refreshed(context, table, project)
    done = [one for one in results if not isinstance(one, Failure)]
    if as_json:
        views = [str(one.view.id) for one in done if one.view and one.action != "none"]
        entry = {"change": change, "table": table, "verdict": verdict, "columns": list(columns), "views": views}
        echo_json([{**entry, "dry_run": dry_run}])
    else:
        for one in done:
            show_done(one)
    return ERROR if len(done) < len(results) else OK


def _found(warehouse: Any, place: str, change: str, table: str | None) -> tuple[str, str]:
    """Return the identifier of a change, which all tenants share, and the table that it is of.

    Raises:
        NotFound: the ledger does not list the change, and no table is named.
        InvalidInput: no contract holds it.
    """
    if table:
        return change, table
    entries = [entry for entry in read_entries(warehouse, place) if change in (entry.id, entry.change)]
    if not entries:
        raise NotFound(
            f"the ledger lists no change {change}: name its table, too, as in `onefold changes accept ID DATASET.TABLE`; "
            "`onefold plan DATASET.TABLE` shows what waits"
        )
    if not entries[0].change:
        what = "a change of settings" if entries[0].settings else "a change that the views show"
        raise InvalidInput(f"{change} is {what}, which no contract holds: change onefold.yaml instead")
    return entries[0].change, f"{entries[0].dataset}.{entries[0].table}"


def _refreshed(context: click.Context, table: str, project: str | None) -> list[Any]:
    """Write the views of a table, and return what became of each."""
    from onefold.refresh.write import refresh

    (named,) = named_tables((table,), None, context.command_path)
    settings, warehouse = open_warehouse(context, project, named.dataset, named.table)
    announce = announcing(warehouse.project, settings)

    def work(kind: ViewKind) -> Any:
        return refresh(kind, announce=announce)

    return work_on(warehouse, check(warehouse, named, settings), settings, work)
