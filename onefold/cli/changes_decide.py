"""The commands `changes accept` and `changes reject`: decide about a change that a contract holds, and write the views."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from onefold.changes.deciding import is_within
from onefold.changes.meanwhile import OtherDecision
from onefold.cli.change_decision import held_by, read_decision, undecided_plans
from onefold.cli.common import (
    ERROR,
    OK,
    Failure,
    announcing,
    as_json,
    given,
    open_warehouse,
    project,
    say,
)
from onefold.cli.named_tables import NamedTables
from onefold.cli.output import echo_json
from onefold.cli.recording import recording
from onefold.cli.table_arguments import dry_run_option
from onefold.cli.view_reports import check, show_done, work_on
from onefold.core.names import check_names, fold_case
from onefold.refresh.kind import ViewKind
from onefold.schema.contract_rules import Verdict
from onefold.schema.waiting import Waiting

if TYPE_CHECKING:
    from onefold.refresh.plan import ViewPlan

_WORDS: dict[Verdict, str] = {"accept": "accepted", "reject": "rejected"}
_NOUNS: dict[Verdict, str] = {"accept": "acceptance", "reject": "rejection"}


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
    decision = read_decision(context, verdict, change, table, columns, project)
    decision.check()
    if not dry_run:
        decision.write()
    for warning in decision.warnings():
        say("yellow", f"Warning: {warning}")
    if not as_json:
        say("green", f"{decision.table}: {decision.what} {'would be' if dry_run else 'is'} {_WORDS[verdict]}")
    results = [] if dry_run else _refreshed(context, decision.named, project)
    others = () if dry_run else decision.meanwhile()
    for warning in _said_of_others(others, held_by(undecided_plans(context, decision.named, project)) if others else ()):
        say("yellow", f"Warning: {warning}")
    done = [one for one in results if not isinstance(one, Failure)]
    entry = {**decision.as_dict(), "dry_run": dry_run, "meanwhile": [one.as_dict() for one in others]}
    _show(done, entry if as_json else None)
    return ERROR if len(done) < len(results) else OK


def _show(done: Sequence[ViewPlan], entry: dict[str, Any] | None) -> None:
    """Show the views that were written: in the entry of --json, or to a person where there is none."""
    if entry is not None:
        views = [str(one.view.id) for one in done if one.view and one.action != "none"]
        echo_json([{**entry, "views": views}])
        return
    for one in done:
        show_done(one)


def _said_of_others(others: Sequence[OtherDecision], held: Sequence[Waiting]) -> Iterator[str]:
    """Yield what others decided about the same columns while the command ran, and which decision counts.

    Args:
        others: their decisions.
        held: what the views do not show by now, whatever was decided about it.
    """
    for one in others:
        what, counts = one.column or "the whole change", _NOUNS[one.verdict if one.counts else one.opposite]
        yield (
            f"somebody else {_WORDS[one.verdict]} {what} at {one.decided_at.isoformat(' ', 'seconds')} while this command "
            f"ran: the {counts} counts"
        )
        is_shown = one.column and not any(is_within(fold_case(one.column), fold_case(waits.path)) for waits in held)
        if is_shown and counts == _NOUNS["reject"]:
            yield f"the views show {what} already, and go on to show it"


def _refreshed(context: click.Context, named: NamedTables, project: str | None) -> list[Any]:
    """Write the views of a table, record what they show now, and return what became of each."""
    from onefold.refresh.write import refresh

    settings, warehouse = open_warehouse(context, project, named.dataset, named.table)
    announce, record = announcing(warehouse.project, settings), recording(warehouse, settings)

    def work(kind: ViewKind) -> Any:
        return refresh(kind, announce=announce, record=record(kind))

    return work_on(warehouse, check(warehouse, named, settings), settings, work)
