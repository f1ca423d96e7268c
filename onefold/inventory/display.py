"""Tables and their history in the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from onefold.core.text import counted, cut, shown_list, size_text
from onefold.inventory.history import ColumnHistory, VersionHistory
from onefold.inventory.one_table import TableHistory
from onefold.inventory.summary import TableSummary, ViewState

_STATES = {"up to date": "green", "out of date": "yellow", "missing": "red", "not Onefold's": "red", "not known": "yellow"}
_CHECKS = {"same": "green", "fixed": "green", "skipped": "yellow", "different": "red", "failed": "red"}
_MOST_TYPES = 60
"""Characters of a type; the type of a struct may have thousands."""
_MOST_ROWS = 200
_WIDE = 130
"""Columns of a terminal for all that is known of a table in one line, with names of usual length."""
_NARROW = ("table", "kind", "versions", "views", "rows", "problems")
"""What a narrower terminal shows."""
_UNKNOWN = "[dim]-[/]"


def show_tables(console: Console, tables: Sequence[TableSummary]) -> None:
    """Print one line for each table, then the problems, and the number of tables.

    Of more tables than a person reads, those with problems are printed first, and the others are counted.
    """
    shown = sorted(tables, key=lambda one: not one.problems)[:_MOST_ROWS] if len(tables) > _MOST_ROWS else tables
    lines = [_line(one) for one in shown]
    heads = tuple(lines[0]) if lines and console.width >= _WIDE else _NARROW
    table = _table(*heads)
    for line in lines:
        table.add_row(*map(line.__getitem__, heads))
    console.print(table)
    if lines and heads == _NARROW:
        console.print(f"[dim]{_WIDE} columns, or --json, show size, newest landing, last merge and last check[/]")
    show_problems(console, shown)
    if len(tables) > len(shown):
        console.print(f"and {counted(len(tables) - len(shown), 'more table')}: name a pattern, or see --json")
    with_problems = sum(bool(one.problems) for one in tables)
    console.print(f"{counted(len(tables), 'table')}, {with_problems:,} with problems")


def _line(one: TableSummary) -> dict[str, str]:
    """Return what is shown of a table, by the head of the column."""
    return {
        "table": escape(f"{one.table.dataset}.{one.table.table}"),
        "kind": one.kind,
        "versions": _versions(one),
        "views": _views(one.views),
        "rows": _number(one.rows),
        "size": _size(one.size),
        "newest landing": _time(one.landed_at),
        "last merge": _time(one.merged_at),
        "last check": _check(one),
        "problems": f"[red]{len(one.problems)}[/]" if one.problems else "[green]0[/]",
    }


def show_problems(console: Console, tables: Iterable[TableSummary]) -> None:
    """Print the problems of tables, one a line."""
    for one in tables:
        for problem in one.problems:
            name = f"{one.table.dataset}.{one.table.table}"
            console.print(f"[yellow]{escape(name)}: {escape(problem)}[/]", soft_wrap=True)


def show_history(console: Console, history: TableHistory) -> None:
    """Print all about one table: its views, its versions and columns over time, and its problems."""
    one = history.summary
    rows = "an unknown number of rows" if one.rows is None else counted(one.rows, "row")
    console.print(f"[bold]{escape(str(one.table))}[/]: {one.kind}, {rows}, {_size(one.size)}", soft_wrap=True)
    console.print(f"  newest landing {_time(one.landed_at)}, last merge {_time(one.merged_at)}, last check {_check(one)}")
    for view in one.views:
        reason = f": {escape(view.reason)}" if view.reason else ""
        console.print(f"  {view.kind} view {view.id} is [{_STATES[view.state]}]{view.state}[/]{reason}", soft_wrap=True)
    if one.versions or one.retired:
        _show_versions(console, history.versions)
    _show_columns(console, history.columns, bool(one.versions))
    show_problems(console, [one])


def _show_versions(console: Console, versions: Iterable[VersionHistory]) -> None:
    table = _table("version", "created", "rows", "size", "last written", "columns", "what changed")
    for one in versions:
        parts = [f"[green]+ {escape(name)}[/]" for name in one.added]
        parts += [f"[red]- {escape(name)}[/]" for name in one.removed]
        parts += [f"[yellow]{escape(change)}[/]" for change in one.changed]
        name = f"{escape(one.version)}{' [dim](retired)[/]' if one.is_retired else ''}"
        rows = _number(one.size.rows) if one.size else _UNKNOWN
        size, written = (one.size.size, one.size.written_at) if one.size else (None, None)
        table.add_row(name, _time(one.created), rows, _size(size), _time(written), f"{one.columns:,}", "\n".join(parts))
    console.print(table)


def _show_columns(console: Console, columns: Iterable[ColumnHistory], has_view: bool) -> None:
    table = _table(
        "column", "landed as", "missing in", *(["in the unified view", "can it lose anything?"] if has_view else [])
    )
    for one in columns:
        landed = "\n".join(_landed(type_, versions) for type_, versions in one.landed.items())
        missing = shown_list(one.missing) if one.missing else ""
        view = escape(cut(one.shown, _MOST_TYPES)) if one.shown else "[red]not shown[/]"
        losses = f"[yellow]{escape('; '.join(one.losses))}[/]" if one.losses else "no"
        table.add_row(escape(one.name), landed, escape(missing), *([view, losses] if has_view else []))
    console.print(table)


def _landed(type_: str, versions: Sequence[str]) -> str:
    named = f" in {escape(shown_list(versions))}" if any(versions) else ""
    return f"{escape(cut(type_, _MOST_TYPES))}{named}"


def _versions(one: TableSummary) -> str:
    retired = f" [dim]({len(one.retired)} retired)[/]" if one.retired else ""
    return f"{len(one.versions) or '-'}{retired}"


def _views(views: Iterable[ViewState]) -> str:
    return "\n".join(f"[{_STATES[view.state]}]{view.kind} {view.state}[/]" for view in views) or _UNKNOWN


def _check(one: TableSummary) -> str:
    return f"[{_CHECKS[one.check.outcome]}]{one.check.outcome}[/] {_time(one.check.at)}" if one.check else _UNKNOWN


def _number(number: int | None) -> str:
    return _UNKNOWN if number is None else f"{number:,}"


def _time(time: datetime | None) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M}" if time else _UNKNOWN


def _size(size: int | None) -> str:
    return _UNKNOWN if size is None else size_text(size)


def _table(*names: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in names:
        table.add_column(name, overflow="fold", no_wrap=name in ("views", "rows"))
    return table
