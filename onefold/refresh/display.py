"""Tables in the terminal for people: plans, schemas and rows. And plans as JSON for programs."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.syntax import Syntax
from rich.table import Table

from onefold.changes.entry import SettingChange
from onefold.core.text import counted, printable, shown_list
from onefold.core.versioned_names import SkippedTable
from onefold.refresh.built_view import BuiltView
from onefold.refresh.limits import limit_problems, limit_warnings
from onefold.refresh.plan import ViewPlan
from onefold.refresh.tables_read import covered_versions
from onefold.schema.bigquery import MAX_COLUMNS, MAX_TABLES, MAX_TEXT
from onefold.schema.diff import SchemaChange, Severity
from onefold.schema.versions import Cast

_COLOURS = {Severity.INFO: "green", Severity.WARNING: "yellow", Severity.CRITICAL: "red"}
_ACTIONS = {
    "none": "[green]is up to date[/]",
    "create": "[yellow]would be created[/]",
    "update": "[yellow]would be updated[/]",
    "remove": "[red]would be removed[/]",
}
_MOST_ROWS = 200


def show_plan(console: Console, plan: ViewPlan, *, sql: bool = False, quiet: bool = False, verbose: bool = False) -> None:
    """Print what a refresh would do, and why; one line where it would do nothing.

    Args:
        console: where the plan is printed.
        plan: the plan.
        sql: print the difference of the view's text, too.
        quiet: print nothing where a refresh would do nothing.
        verbose: print everything about a view that is up to date, too.
    """
    if quiet and plan.action == "none":
        return
    if not plan.view and plan.action == "none":
        state = (
            f"[bold]{plan.stored.id}[/] [yellow]is left over[/]" if plan.stored else f"[bold]{plan.base}[/]: nothing to do"
        )
        console.print(f"{state}{''.join(f': {escape(warning)}' for warning in plan.warnings)}", soft_wrap=True)
        return
    show_warnings(console, plan.warnings)
    view = plan.view.id if plan.view else plan.stored.id if plan.stored else plan.base
    console.print(f"[bold]{view}[/] {_ACTIONS[plan.action]}", soft_wrap=True)
    if plan.view and (verbose or plan.action != "none"):
        _show_view(console, plan, plan.view)
    if sql and (difference := text_difference(plan)):
        _show_difference(console, difference)
    if verbose or plan.action != "none":
        console.print()


def show_warnings(console: Console, warnings: Iterable[str]) -> None:
    """Print warnings, one a line."""
    for warning in warnings:
        console.print(f"[yellow]Warning: {escape(warning)}[/]", soft_wrap=True)


def _show_difference(console: Console, difference: str) -> None:
    """Print a unified diff: in colours on a terminal, and elsewhere as it is, since a tool cannot apply wrapped lines."""
    if console.is_terminal:
        console.print(Syntax(difference, "diff", background_color="default", word_wrap=True))
    else:
        console.file.write(difference)


def text_difference(plan: ViewPlan) -> str:
    """Return how the texts of the view and of its leaves would change, as a unified diff; empty where nothing changes.

    The name of a leaf holds a digest of its text. So a leaf that the view does not read yet is new, and a leaf that it would
    no longer read goes with its text.
    """
    before = plan.stored.query if plan.stored else ""
    after = plan.view.query if plan.view else ""
    id_ = plan.view.id if plan.view else plan.stored.id if plan.stored else plan.base
    new_leaves = (leaf for leaf in (plan.view.leaves if plan.view else ()) if leaf.id.quoted not in before)
    if plan.action == "none":
        return ""
    texts = [(str(id_), before, after), *((str(leaf.id), "", leaf.query) for leaf in new_leaves)]
    return "".join(_difference(*text) for text in texts)


def _difference(name: str, before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), f"{name} now", f"{name} then", lineterm="")
    return "".join(f"{line}\n" for line in lines)


def _show_view(console: Console, plan: ViewPlan, view: BuiltView) -> None:
    _show_size(console, plan, view)
    for advice in plan.advice:
        console.print(f"  {escape(advice)}", soft_wrap=True)
    show_settings(console, plan.settings)
    if plan.action == "create":
        show_columns(console, view)
    else:
        show_changes(console, plan.changes)
    show_casts(console, view.casts)


def _show_size(console: Console, plan: ViewPlan, view: BuiltView) -> None:
    if any(view.versions):  # a table without versions is read under its own name
        console.print(f"  versions: {len(view.versions)} ({shown_list(view.versions)})")
    for reason in reasons(plan):
        console.print(f"  [yellow]{reason}[/]")
    console.print(
        f"  form: {view.form}, {len(view.query):,} of {MAX_TEXT:,} characters ({MAX_TEXT - len(view.query):,} left)"
    )
    console.print(f"  tables of a query: {view.tables:,} of {MAX_TABLES:,} ({MAX_TABLES - view.tables:,} left)")
    console.print(f"  columns: {len(view.columns):,} (BigQuery allows {MAX_COLUMNS:,}, nested ones counted)")
    for warning in size_warnings(view):
        console.print(f"  [yellow]{escape(warning)}[/]")


def show_settings(console: Console, settings: Sequence[SettingChange]) -> None:
    """Print the settings with which a view would be written and was not written before, where there are any."""
    table = _table("settings that would change: refresh needs --accept-settings", "setting", "before", "after")
    for change in settings:
        table.add_row(escape(change.name), escape(change.before or "default"), escape(change.after or "default"))
    if table.row_count:
        console.print(table)


def show_columns(console: Console, view: BuiltView) -> None:
    """Print the columns of a view."""
    table = _table("columns of the view", "column", "type")
    for column in view.columns[:_MOST_ROWS]:
        table.add_row(escape(column.name), str(column.type))
    console.print(table)
    if len(view.columns) > _MOST_ROWS:
        console.print(f"  and {counted(len(view.columns) - _MOST_ROWS, 'more column')}: see --json")


def show_changes(console: Console, changes: Iterable[SchemaChange]) -> None:
    """Print the changes of a schema, where there are any."""
    table = _table("changes of the schema", "change", "column", "from", "to", "severity")
    for change in changes:
        colour = _COLOURS[change.severity]
        severity = f"[{colour}]{change.severity.name}[/]"
        table.add_row(change.kind, escape(change.path), change.old or "", change.new or "", severity)
    if table.row_count:
        console.print(table)


def show_casts(console: Console, casts: Sequence[Cast]) -> None:
    """Print the conversions of a view, where there are any."""
    table = _table("conversions", "versions", "column", "landed as", "shown as", "can it lose anything?")
    for cast in casts[:_MOST_ROWS]:
        lost = f"[yellow]{escape('; '.join(cast.losses))}[/]" if cast.losses else "no"
        table.add_row(shown_list(cast.versions), escape(cast.column), str(cast.source), str(cast.target), lost)
    if table.row_count:
        console.print(table)
    if len(casts) > _MOST_ROWS:
        console.print(f"  and {counted(len(casts) - _MOST_ROWS, 'more conversion')}: see --json")


def show_rows(console: Console, title: str, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print rows as a table.

    Args:
        console: where the table is printed.
        title: the title of the table, in Rich's markup.
        names: the heads of the columns, in Rich's markup.
        rows: the values, one for each name.
    """
    table = _table(title, *names)
    for row in rows:
        table.add_row(*("[dim]NULL[/]" if value is None else escape(_text(value)) for value in row))
    console.print(table)


def _text(value: object) -> str:
    """Return a value as BigQuery writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        # The short form of UTC leaves a column of times narrow enough to break at the space, not within the zone.
        return str(value).replace("+00:00", "+00")
    if isinstance(value, Decimal):
        # BigQuery writes no zeros at the end of a NUMERIC, whatever the scale in which a client reads it.
        text = f"{value:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return printable(str(value))


def show_sql(console: Console, sql: str) -> None:
    """Print SQL in colours."""
    console.print(Syntax(sql, "sql", background_color="default", word_wrap=True))


def reasons(plan: ViewPlan) -> list[str]:
    """Return why an existing view would be written again, besides the changes of its schema."""
    if plan.action != "update" or not plan.stored or not plan.view:
        return []
    before, now = covered_versions(plan.stored.query, plan.base.table, plan.view.names), plan.view.versions
    new = [version for version in now if version not in before]
    gone = sorted(before.difference(now))
    if not new and not gone:
        return ["no version came or went: the settings, the types or what writes the view's text changed"]
    came_or_went = (("new versions", new), ("versions that are gone or retired", gone))
    return [f"{what}: {len(found)} ({shown_list(found)})" for what, found in came_or_went if found]


def size_warnings(view: BuiltView) -> list[str]:
    """Return warnings about limits that are near. A limit that is passed is an error, which needs no warning."""
    return [] if view.tables > MAX_TABLES else limit_warnings(view)


def show_left_out(console: Console, dataset: str, left_out: Sequence[SkippedTable]) -> None:
    """Print the tables whose names look like versions and that are not used, with the reasons."""
    table = _table(f"left out in {escape(dataset)}", "table", "why")
    for left in left_out[:_MOST_ROWS]:
        table.add_row(escape(left.table), escape(left.reason))
    if table.row_count:
        console.print(table)
    if len(left_out) > _MOST_ROWS:
        console.print(f"  and {counted(len(left_out) - _MOST_ROWS, 'more table')}: see --json")


def plan_as_dict(plan: ViewPlan) -> dict[str, Any]:
    """Return a plan as JSON."""
    view = view_as_dict(plan.view) if plan.view else {}
    return {
        "table": str(plan.base),
        "action": plan.action,
        "left_over": plan.view is None and plan.stored is not None and plan.action == "none" and not plan.shortcut,
        "reasons": reasons(plan),
        "advice": list(plan.advice),
        "settings": [change.as_dict() for change in plan.settings],
        "changes": [change.as_dict() for change in plan.changes],
        "waiting_changes": [one.as_dict() for one in plan.view.waiting] if plan.view else [],
        **view,
        "warnings": [*plan.warnings, *view.get("warnings", ())],
    }


def view_as_dict(view: BuiltView) -> dict[str, Any]:
    """Return a view as JSON."""
    return {
        "view": str(view.id),
        "form": view.form,
        "query": view.query,
        "leaves": [{"view": str(leaf.id), "query": leaf.query} for leaf in view.leaves],
        "columns": [{"name": column.name, "type": str(column.type)} for column in view.columns],
        "versions": list(view.versions),
        "casts": [
            {
                "version": version,
                "column": cast.column,
                "from": str(cast.source),
                "to": str(cast.target),
                "losses": list(cast.losses),
            }
            for cast in view.casts
            for version in cast.versions
        ],
        "characters": len(view.query),
        "limits": {
            "characters_left": MAX_TEXT - len(view.query),
            "tables_left": MAX_TABLES - view.tables,
        },
        "faults": limit_problems(view),
        "warnings": size_warnings(view),
    }


def _table(title: str, *names: str) -> Table:
    """Return an empty table that breaks lines wider than the terminal, and cuts nothing off."""
    table = Table(title=title, title_justify="left")
    for name in names:
        table.add_column(name, overflow="fold")
    return table
