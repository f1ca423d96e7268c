"""The commands `changes accept` and `changes reject`: decide about a change that a contract holds, and write the views."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import click

from onefold.changes.decisions import decide
from onefold.changes.entry import Entry
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
from onefold.schema.contract_rules import DecisionKey, Verdict, Verdicts
from onefold.schema.contracts import Waiting
from onefold.settings.environment import Settings

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
    entries = read_entries(warehouse, place, settings.contracts.verdicts)
    change, table = _found(entries, change, table)
    (named,) = named_tables((table,), None, context.command_path)
    open_, listed = _waiting(context, named, project), _listed(entries, named)
    waiting = _by_change((one.change, one.path) for one in open_)
    _check({one: waiting.get(one, set()) | listed.get(one, set()) for one in (*waiting, *listed)}, change, table, columns)
    if not dry_run:
        decide(warehouse, place, list(_about(change, columns, open_)), verdict)
    what = f"{shown_list(columns)} of change {change}" if columns else f"change {change}"
    for warning in _without_effect(settings, verdict, change, columns, is_shown=change not in waiting):
        say("yellow", f"Warning: {warning}")
    if not as_json:
        say("green", f"{table}: {what} {'would be' if dry_run else 'is'} {_WORDS[verdict]}")
    results = [] if dry_run else _refreshed(context, named, project)
    done = [one for one in results if not isinstance(one, Failure)]
    if as_json:
        views = [str(one.view.id) for one in done if one.view and one.action != "none"]
        entry = {"change": change, "table": table, "verdict": verdict, "columns": list(columns), "views": views}
        echo_json([{**entry, "dry_run": dry_run}])
    else:
        for one in done:
            show_done(one)
    return ERROR if len(done) < len(results) else OK


def _found(entries: Sequence[Entry], change: str, table: str | None) -> tuple[str, str]:
    """Return the identifier of a change, which all tenants share, and the table that it is of.

    Raises:
        NotFound: the ledger does not list the change, and no table is named.
        InvalidInput: no contract holds it.
    """
    if table:
        return change, table
    entries = [entry for entry in entries if change in (entry.id, entry.change)]
    if not entries:
        raise NotFound(
            f"the ledger lists no change {change}: name its table, too, as in `onefold changes accept ID DATASET.TABLE`; "
            "`onefold plan DATASET.TABLE` shows what waits"
        )
    if not entries[0].change:
        what = "a change of settings" if entries[0].settings else "a change that the views show"
        raise InvalidInput(f"{change} is {what}, which no contract holds: change onefold.yaml instead")
    return entries[0].change, f"{entries[0].dataset}.{entries[0].table}"


Changes = dict[str, set[str]]
"""Columns and fields in the form in which names are compared, by the identifier of the change that they are of."""


def _waiting(context: click.Context, named: NamedTables, project: str | None) -> list[Waiting]:
    """Return the changes of a table that its views do not show, whatever was decided about them.

    Raises:
        NotFound: there is no such table.
        Rejected: its views cannot be planned.
    """
    from onefold.refresh.write import plan_refresh

    settings, warehouse = open_warehouse(context, project, named.dataset, named.table)
    undecided = replace(settings, contracts=replace(settings.contracts, verdicts=Verdicts()), changes_dataset="")
    plans = work_on(warehouse, check(warehouse, named, undecided), undecided, plan_refresh)
    if any(isinstance(one, Failure) for one in plans):
        raise Rejected(f"nothing was decided: the views of {named.dataset}.{named.table} cannot be written")
    return [one for plan in plans if plan.view for one in plan.view.waiting]


def _about(change: str, columns: Sequence[str], waiting: Iterable[Waiting]) -> Iterator[DecisionKey]:
    """Yield what a decision is about: the change, and each column that waits as one of its version.

    By these it is found where the version before is dropped or retired: then the version has another change, which may be
    about more columns than somebody has decided about.
    """
    yield from ((change, path) for path in columns or ("",))
    own = [one for one in waiting if one.change == change and one.by_version]
    yield from dict.fromkeys((one.by_version, path) for one in own for path in columns or (one.path,))


def _listed(entries: Sequence[Entry], named: NamedTables) -> Changes:
    """Return the changes of a table that the ledger lists."""
    own = [entry for entry in entries if (entry.dataset, entry.table) == (named.dataset, named.table)]
    return _by_change((entry.change, operation.path) for entry in own for operation in entry.operations)


def _by_change(pairs: Iterable[tuple[str, str]]) -> Changes:
    found: Changes = {}
    for change, path in pairs:
        found.setdefault(change, set()).add(fold_case(path))
    return found


def _check(changes: Changes, change: str, table: str, columns: Sequence[str]) -> None:
    """Check that a change is one of a table, and that columns are its own, before anything is decided.

    Raises:
        NotFound: they are not.
    """
    if not change or change not in changes:
        raise NotFound(f"{table} has no change {change or repr(change)}: `onefold plan {table}` shows what waits")
    wrong = [name for name in columns if not any(_is_within(fold_case(name), path) for path in changes[change])]
    if wrong:
        own = shown_list(sorted(changes[change]))
        raise NotFound(f"change {change} of {table} is not about {shown_list(wrong)}, but about {own}")


def _without_effect(
    settings: Settings, verdict: Verdict, change: str, columns: Sequence[str], *, is_shown: bool
) -> Iterator[str]:
    """Yield why a decision changes nothing that people see."""
    other: Verdict = "reject" if verdict == "accept" else "accept"
    if any(settings.contracts.verdicts.about(change, path) == other for path in columns or ("",)):
        yield f"onefold.yaml says `{other}` about it, and comes first: change the line there"
    if is_shown and verdict == "reject":
        yield "the views show this change already, and go on to show it"


def _is_within(name: str, path: str) -> bool:
    """Return whether a decision about a column decides about a path: it is the same, or one is a field of the other."""
    return name == path or path.startswith(f"{name}.") or name.startswith(f"{path}.")


def _refreshed(context: click.Context, named: NamedTables, project: str | None) -> list[Any]:
    """Write the views of a table, record what they show now, and return what became of each."""
    from onefold.refresh.write import refresh

    settings, warehouse = open_warehouse(context, project, named.dataset, named.table)
    announce, record = announcing(warehouse.project, settings), recording(warehouse, settings)

    def work(kind: ViewKind) -> Any:
        return refresh(kind, announce=announce, record=record(kind))

    return work_on(warehouse, check(warehouse, named, settings), settings, work)
