"""The commands `changes accept` and `changes reject`: decide about a change that a contract holds, and write the views."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from onefold.changes.deciding import ChangeToDecide, is_within
from onefold.changes.decisions import decide, read_decisions, verdicts_of
from onefold.changes.entry import Entry
from onefold.changes.meanwhile import OtherDecision, decided_meanwhile
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
from onefold.cli.named_tables import NamedTables
from onefold.cli.output import echo_json
from onefold.cli.recording import recording
from onefold.cli.table_arguments import dry_run_option, named_tables
from onefold.cli.view_reports import check, show_done, work_on
from onefold.cli.warehouse import open_project
from onefold.core.errors import InvalidInput, NotFound, Rejected
from onefold.core.names import check_names, fold_case
from onefold.core.text import shown_list
from onefold.refresh.kind import ViewKind
from onefold.schema.contract_rules import DecisionKey, Verdict
from onefold.schema.versions import active_versions
from onefold.schema.waiting import Waiting
from onefold.settings.environment import Settings

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
    settings = read_settings(context)
    place = ledger_dataset(settings)
    warehouse: Any = open_project(context, project or settings.project)
    change, table, entries = _found(read_entries(warehouse, place, settings.contracts.verdicts), change, table)
    (named,) = named_tables((table,), None, context.command_path)
    plans = _plans(context, named, project)
    held = _held(plans)
    own = [entry for entry in entries if (entry.dataset, entry.table) == (named.dataset, named.table)]
    before = read_decisions(warehouse, place)
    verdicts = settings.contracts.verdicts.over(verdicts_of(before))
    decided = ChangeToDecide(change, columns, held, own, verdicts)
    _check(decided, table)
    left = [version for plan in plans for version in active_versions(plan.versions, settings.rules_for(plan.base))]
    is_gone = not decided.open and not decided.versions & {version.id for version in left}
    if verdict == "accept" and not decided.open:
        _check_effect(decided, table, is_gone=is_gone)
    keys = list(decided.keys(verdict))
    _check_file(settings, verdict, keys)
    below = decided.rejected_below() if verdict == "accept" else ()
    if not dry_run:
        decide(warehouse, place, below, "reject")  # first, so that nothing is accepted before they are kept
        decide(warehouse, place, keys, verdict)
    in_text = decided.fields_in_text(left) if verdict == "accept" else ()
    what = f"{shown_list(columns)} of change {change}" if columns else f"change {change}"
    is_shown = not decided.open and not is_gone and not decided.first
    for warning in _said(decided, verdict, in_text, is_shown=is_shown):
        say("yellow", f"Warning: {warning}")
    if not as_json:
        say("green", f"{table}: {what} {'would be' if dry_run else 'is'} {_WORDS[verdict]}")
    results = [] if dry_run else _refreshed(context, named, project)
    done = [one for one in results if not isinstance(one, Failure)]
    written: dict[DecisionKey, Verdict] = {**dict.fromkeys(below, "reject"), **dict.fromkeys(keys, verdict)}
    after = before if dry_run else read_decisions(warehouse, place)
    others = decided_meanwhile(before, after, written, settings.contracts.verdicts)
    for warning in _said_of_others(others, _held(_plans(context, named, project)) if others else ()):
        say("yellow", f"Warning: {warning}")
    entry = {"change": change, "table": table, "verdict": verdict, "columns": list(columns), "dry_run": dry_run}
    found = {"fields_in_text": list(in_text), "meanwhile": [one.as_dict() for one in others]}
    _show(done, {**entry, **found} if as_json else None)
    return ERROR if len(done) < len(results) else OK


def _show(done: Sequence[ViewPlan], entry: dict[str, Any] | None) -> None:
    """Show the views that were written: in the entry of --json, or to a person where there is none."""
    if entry is not None:
        views = [str(one.view.id) for one in done if one.view and one.action != "none"]
        echo_json([{**entry, "views": views}])
        return
    for one in done:
        show_done(one)


def _found(entries: Sequence[Entry], change: str, table: str | None) -> tuple[str, str, Sequence[Entry]]:
    """Return the identifier of a change, which all tenants share, the table that it is of, and the entries.

    Raises:
        NotFound: the ledger does not list the change, and no table is named.
        InvalidInput: no contract holds it, or nothing is named.
    """
    if not change.strip():
        raise InvalidInput("the ID is empty: `onefold plan` and `onefold changes` show those of changes")
    listed = [entry for entry in entries if change in (entry.id, entry.change)]
    if not listed and not table:
        raise NotFound(
            f"the ledger lists no change {change}: name its table, too, as in `onefold changes accept ID DATASET.TABLE`; "
            "`onefold plan DATASET.TABLE` shows what waits"
        )
    if not listed:
        return change, table or "", entries
    if not listed[0].change:
        what = "a change of settings" if listed[0].settings else "a change that the views show"
        raise InvalidInput(f"{change} is {what}, which no contract holds: change onefold.yaml instead")
    return listed[0].change, table or f"{listed[0].dataset}.{listed[0].table}", entries


def _plans(context: click.Context, named: NamedTables, project: str | None) -> list[ViewPlan]:
    """Return plans of the views of a table by which all that they do not show waits, whatever was decided about it.

    Raises:
        NotFound: there is no such table.
        Rejected: its views cannot be planned.
    """
    from onefold.refresh.write import plan_refresh

    settings, warehouse = open_warehouse(context, project, named.dataset, named.table)
    undecided = replace(settings, contracts=settings.contracts.undecided(), changes_dataset="")
    plans = work_on(warehouse, check(warehouse, named, undecided), undecided, plan_refresh)
    if any(isinstance(one, Failure) for one in plans):
        raise Rejected(f"nothing was decided: the views of {named.dataset}.{named.table} cannot be written")
    return plans


def _held(plans: Sequence[ViewPlan]) -> list[Waiting]:
    return [one for plan in plans if plan.view for one in plan.view.waiting]


def _check(decided: ChangeToDecide, table: str) -> None:
    """Check that a change is one of a table, and that columns are its own, before anything is decided.

    Raises:
        NotFound: they are not.
    """
    change, paths = decided.change, decided.paths
    if not paths:
        raise NotFound(f"{table} has no change {change}: `onefold plan {table}` shows what waits")
    wrong = [name for name in decided.columns if not any(is_within(fold_case(name), path) for path in paths)]
    if wrong:
        raise NotFound(f"change {change} of {table} is not about {shown_list(wrong)}, but about {shown_list(sorted(paths))}")


def _check_effect(decided: ChangeToDecide, table: str, *, is_gone: bool) -> None:
    """Check that views show a change that is accepted, where nothing of it is held.

    Raises:
        Rejected: they would not show it.
    """
    if first := decided.first:
        raise Rejected(
            f"change {decided.change} was not accepted, since nothing would follow: {table} does not show {first.path} "
            f"before change {first.change} is accepted: accept that one first"
        )
    if is_gone:
        raise Rejected(
            f"change {decided.change} was not accepted, since nothing would follow: {table} has version "
            f"{shown_list(sorted(decided.versions))} no longer: `onefold changes reject` takes the change off the list"
        )


def _check_file(settings: Settings, verdict: Verdict, keys: Sequence[DecisionKey]) -> None:
    """Check that onefold.yaml, which comes first, does not say the opposite.

    Raises:
        Rejected: it does. The decision would count as soon as the line in the file counts no longer.
    """
    other: Verdict = "reject" if verdict == "accept" else "accept"
    if any(settings.contracts.verdicts.about(change, path) == other for change, path in keys):
        raise Rejected(f"nothing was decided: onefold.yaml says `{other}` about it, and comes first: change the line there")


def _said(decided: ChangeToDecide, verdict: Verdict, in_text: Sequence[str], *, is_shown: bool) -> Iterator[str]:
    """Yield what a decision does not do, and what it shows along."""
    if in_text:
        yield (
            f"the text of a whole struct has {shown_list(in_text)}, which views did not show: what waits, is hidden or was "
            "rejected there can be read once the text is accepted"
        )
    left = [one.path for one in decided.open if one not in decided.chosen(verdict)]
    if left:
        yield f"{shown_list(left)} was rejected and is not accepted along: --column accepts it"
    if is_shown and verdict == "reject":
        yield "the views show this change already, and go on to show it"


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
