"""What `plan` and `refresh` report about the tables of a dataset, for people and for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from onefold.cli.common import Failure, each, say
from onefold.cli.named_tables import NamedTables
from onefold.cli.output import echo_json, is_quiet, output_console
from onefold.cli.warehouse import with_near_name
from onefold.core.errors import KeyUnknown, NoOwnDataset, NotFound, NoVersions
from onefold.core.names import TableId
from onefold.core.versioned_names import SkippedTable
from onefold.ports.warehouse import StoredView
from onefold.schema.plain_table import PlainTable
from onefold.settings.environment import Settings
from onefold.settings.unknown_keys import near_name

if TYPE_CHECKING:
    from onefold.refresh.kind import ViewKind
    from onefold.views.table_views import ViewResult

_DONE = {"none": "is up to date", "create": "created", "update": "updated", "remove": "removed"}


@dataclass(frozen=True)
class Checked:
    """What was found in a dataset, or for one table of it.

    Attributes:
        dataset: any table's name in the dataset.
        named: the tables that the command names.
        left_out: the tables that look like versions and are not used.
        left_over: the base names without a versioned table whose unified views are still there.
        left_over_current: those whose current views are still there.
        warnings: settings of tables that the dataset does not have.
        near: the nearest known name, as a question, where the dataset lacks the table.
        plain: the plain change tables, where the command names many tables.
    """

    dataset: TableId
    named: NamedTables
    left_out: tuple[SkippedTable, ...]
    left_over: tuple[TableId, ...] = ()
    left_over_current: tuple[TableId, ...] = ()
    warnings: tuple[str, ...] = ()
    near: str = ""
    plain: Mapping[str, PlainTable] = field(default_factory=dict)


def check(warehouse: Any, named: NamedTables, settings: Settings) -> Checked:
    """List a dataset, and find what no single table shows. A dataset that does not exist is reported by the command."""
    from onefold.refresh.left_over import left_over_tables, unknown_patterns, unknown_tables
    from onefold.views.left_over import left_over_current, with_gone_plain
    from onefold.views.plain import with_plain_tables

    dataset, table = named.dataset, named.table
    place = TableId(warehouse.project, dataset, table or "")
    try:
        labels = warehouse.list_labels(dataset)
    except NotFound:
        return Checked(place, named, ())
    tables, settings = tuple(labels), settings.with_listed(dataset, labels)
    names = settings.names_in(dataset)
    left_out = tuple(left for left in names.skipped(tables) if named.holds(left.base))
    current = tuple(base for base in left_over_current(warehouse, dataset, settings, tables) if named.holds(base.table))
    if table:
        bases = {split[0] for name in tables if (split := names.split(name))}
        near = "" if table in bases else near_name(table, bases)
        return Checked(place, named, left_out, left_over_current=current, near=near)
    left_over = tuple(base for base in left_over_tables(warehouse, dataset, settings, tables) if named.holds(base.table))
    patterns = unknown_patterns(settings, dataset, tables) if named.is_dataset else ()
    unknown = (*unknown_tables(settings, dataset, tables, named.holds), *patterns)
    known = with_gone_plain(warehouse, dataset, with_plain_tables(warehouse, dataset, settings), tables)
    current += tuple(place.sibling(name) for name in known.plain_in(dataset) if name not in tables and named.holds(name))
    plain = {name: one for name in known.plain_in(dataset) if (one := known.plain_table(place.sibling(name)))}
    return Checked(place, named, left_out, left_over, current, unknown, plain=plain)


def work_on(
    warehouse: Any,
    checked: Checked,
    settings: Settings,
    work: Callable[[ViewKind], Any],
    show: Callable[[Any], None] = lambda _: None,
    *,
    progress: bool = False,
    silent: bool = False,
) -> list[Any]:
    """Work on the views of one table, or of all tables of a dataset and of those whose versions are gone, as a message does.

    A table without versions is an error where the command names it. Among all tables of a dataset it is a plan that does
    nothing, with the reason as its warning. So is a table whose views have no dataset, which is skipped among others.

    Args:
        warehouse: where the tables are.
        checked: what was found in the dataset.
        settings: those of the installation.
        work: is called with each view.
        show: is called with each plan as soon as there is one.
        progress: show a progress bar on standard error.
        silent: print no failure and no note, since work that follows prints the same.

    Returns:
        Plans and failures: first those of unified views, then of current, then of clean ones.

    Raises:
        NotFound: the dataset has neither versioned nor plain change tables, nor views of former ones.
        NoOwnDataset: nothing can be done, because the dataset of the views does not exist.
        KeyUnknown: nothing can be done for the one table that is named.
    """
    from onefold.views.table_views import KINDS, TableViews

    settings = settings.with_plain(checked.dataset.dataset or "", checked.plain)
    views = TableViews(warehouse, settings, lambda kind, _: work(kind), _no_note if silent else _note)
    found: dict[str, list[Any]] = {kind: [] for kind in KINDS}
    lacking: list[str] = []
    skipped: list[str] = []

    def work_on_table(base: TableId) -> None:
        has_versions, is_united = False, settings.rules_for(base).of_united
        for result in views.bring_up_to_date(base, former=base in checked.left_over_current):
            has_versions = has_versions or result.kind == "unified"
            is_only = result.kind == "unified" or (result.kind == "current" and (not has_versions or is_united))
            made = _reported(result, warehouse, checked, settings)
            lacking.extend([result.skipped] if result.lacks_dataset else [])
            if result.skipped and is_only and not made:
                skipped.append(result.skipped)
            if isinstance(made, Failure):
                if not silent:
                    made.show()
            elif made:
                show(made)
            found[result.kind] += [made] if made else []

    left_over = dict.fromkeys((*checked.left_over, *checked.left_over_current))
    try:
        names = settings.names_in(checked.dataset.dataset)
        shows = progress and not checked.named.table
        there = [name for name in checked.plain if checked.dataset.sibling(name) not in left_over]
        each(warehouse, checked.named, names, work_on_table, progress=shows, plain=there)
    except NotFound:
        if not left_over:
            raise
    for base in left_over if not checked.named.table else ():
        work_on_table(base)
    results = [made for kind in KINDS for made in found[kind]]
    _check_possible(checked, results, lacking, skipped)
    _say_skipped([] if silent else skipped)
    return results


def _say_skipped(reasons: Sequence[str]) -> None:
    for reason in reasons:
        say("yellow", f"Skipped: {reason}")


def _check_possible(checked: Checked, results: Sequence[Any], lacking: Sequence[str], skipped: Sequence[str]) -> None:
    """Check that something could be done.

    Raises:
        NoOwnDataset: nothing could, because the dataset of the views does not exist.
        KeyUnknown: nothing could for the one table that is named, because its key is unknown, or it is to have no view.
    """
    if checked.named.table and skipped and not results and not lacking:
        raise KeyUnknown(skipped[0])
    if lacking and not results:
        raise NoOwnDataset(f"no view of {checked.dataset.dataset} can be written: {lacking[0]}")


def _note(severity: str, text: str, event: str) -> None:  # noqa: ARG001 a line of the log has an event
    say("yellow", f"{severity.capitalize()}: {text}")


def _no_note(severity: str, text: str, event: str) -> None:
    """Say nothing."""


def _reported(result: ViewResult, warehouse: Any, checked: Checked, settings: Settings) -> Any:
    """Return the plan or the Failure that stands for a result; None where there is nothing to say about the view."""
    if isinstance(result.error, NoVersions):
        if result.kind == "current":
            made = _left_over(result.base, warehouse.get_view(settings.current_view_of(result.base)), result.error)
            return made if made.stored else None
        if not checked.named.table:
            made = _without_versions(warehouse, result.base, settings, result.error)
            return None if result.base in checked.left_over_current and not made.stored else made
    if isinstance(result.error, NotFound) and checked.near:
        return Failure(result.base, _unknown(result, warehouse, checked, settings))
    if result.lacks_dataset and checked.named.table:
        return Failure(result.base, NoOwnDataset(result.skipped))
    if result.error:
        return Failure(result.base, with_near_name(result.error))
    plan = result.plan
    is_something = plan and (plan.view or plan.action != "none" or (plan.stored and result.kind != "clean"))
    return plan if is_something or result.kind == "unified" else None


def _unknown(result: ViewResult, warehouse: Any, checked: Checked, settings: Settings) -> NotFound:
    """Return the error about a table that is not there, with the near name; it keeps what it says of a left-over view."""
    if warehouse.get_view(settings.view_of(result.base)):
        return NotFound(f"{result.error}{checked.near}")
    place = f"{warehouse.project}.{result.base.dataset}"
    return NotFound(f"dataset {place} has no versioned table {result.base.table}{checked.near}")


def _without_versions(warehouse: Any, base: TableId, settings: Settings, error: NoVersions) -> Any:
    from onefold.refresh.left_over import belongs_to

    stored = warehouse.get_view(settings.view_of(base))
    return _left_over(base, stored if belongs_to(stored, base) else None, error)


def _left_over(base: TableId, stored: StoredView | None, error: NoVersions) -> Any:
    from onefold.refresh.plan import ViewPlan

    return ViewPlan(base, "none", None, stored, None, (), warnings=(str(error),))


def summary(results: Iterable[Any]) -> str:
    """Return how many views are up to date, would change, are left over, and could not be planned."""
    counts = Counter(_state(result) for result in results)
    always = ("up to date", "to change")
    return ", ".join(f"{counts[state]:,} {state}" for state in _STATES if counts[state] or state in always)


_STATES = ("up to date", "to change", "left over", "without versions", "failed")


def _state(result: Any) -> str:
    if isinstance(result, Failure):
        return "failed"
    if result.action != "none":
        return "to change"
    if result.view or result.shortcut:
        return "up to date"
    return "left over" if result.stored else "without versions"


def show_done(plan: Any) -> None:
    """Print what a refresh has done with one table; with `--quiet` one line, and only of a view that changed."""
    from onefold.refresh.display import show_changes

    if not plan.view and plan.action == "none":
        if plan.warnings:
            say("yellow", f"{plan.base.table}: {plan.warnings[0]}")
        else:
            click.echo(f"{plan.base}: nothing to remove")
        return
    for warning in plan.warnings:
        say("yellow", f"Warning: {plan.base.table}: {warning}")
    if plan.action == "none" and is_quiet():
        return
    console = output_console()
    view = plan.view.id if plan.view else plan.stored.id
    console.print(f"{view} {_DONE[plan.action]}", highlight=False, soft_wrap=True)
    if not is_quiet():
        show_changes(console, plan.changes)


def show_text_taken_over(stored: StoredView) -> None:
    """Print the text of a view that Onefold did not write, before it is replaced: it is kept nowhere else."""
    say("red", f"{stored.id} was not written by Onefold and is replaced or removed. Its text was:")
    click.echo(stored.query, err=True)


def echo_plans(checked: Checked, results: Sequence[Any], diffs: bool = False) -> None:
    """Print plans and failures for programs, each with the tables of its base name that were left out.

    A base name all of whose tables are left out has an entry of its own, with the action `none`.

    Args:
        checked: what was found in the dataset.
        results: plans and failures.
        diffs: give each plan the difference of its view's text.
    """
    from onefold.refresh.display import plan_as_dict, text_difference

    by_base: dict[str, list[dict[str, str]]] = {}
    for left in checked.left_out:
        by_base.setdefault(left.base, []).append(left.as_dict())
    entries: list[dict[str, Any]] = []
    for result in results:
        if isinstance(result, Failure):
            entries.append({**result.as_dict(), "left_out": by_base.pop(result.table.table, [])})
        else:
            difference = {"difference": text_difference(result)} if diffs else {}
            entries.append({**plan_as_dict(result), **difference, "left_out": by_base.pop(result.base.table, [])})
    for base, tables in by_base.items():
        unused = {"table": str(checked.dataset.sibling(base)), "action": "none", "left_over": False}
        lists: dict[str, list[str]] = {
            name: [] for name in ("reasons", "advice", "settings", "changes", "waiting_changes", "warnings")
        }
        entries.append({**unused, **lists, "left_out": tables})
    echo_json(entries, warnings=checked.warnings)
