"""What the demo of a captured database shows: its tables, a bar while they are copied, and each beside its source."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from onefold.capture.versioned_table import versioned_table
from onefold.compare.findings import FINDING_COLUMNS, findings
from onefold.core.text import counted
from onefold.demo.capture_thread import CopyProgress
from onefold.demo.source import TableChoice
from onefold.demo.source_comparison import SourceComparison
from onefold.views.display import show_rows

_MOST_FINDINGS = 10


def show_chosen(console: Console, chosen: TableChoice) -> None:
    rows = []
    for name, structure in chosen.tables.items():
        versioned = versioned_table(structure)
        rows.append((name, versioned.name, ", ".join(versioned.primary_key) or "none", chosen.rows[name]))
    console.print()
    show_rows(console, "the tables that were found", ["table", "its version", "key", "rows"], rows)
    for name, reason in chosen.left_out.items():
        console.print(f"[yellow]Left out: {escape(str(name))}: {escape(reason)}[/]", highlight=False)


def show_beside(console: Console, found: Iterable[SourceComparison]) -> None:
    rows = [(one.table, one.source_rows, _rows(one), _result(one), one.unified_rows) for one in found]
    names = ["table", "rows of\nthe source", "rows of the\ncurrent view", "row by row", "rows of the\nunified view"]
    show_rows(console, "the views beside the source; a unified view holds all that ever landed", names, rows)
    for one in found:
        if one.found and not one.found.same:
            shown = itertools.islice(findings(one.found, one.keys), _MOST_FINDINGS)
            show_rows(
                console,
                f"what differs in {one.table}",
                ["what", "key", "column", f"{one.base.table}_current", "source"],
                [[finding.as_row()[name] for name in FINDING_COLUMNS] for finding in shown],
            )


def _rows(one: SourceComparison) -> int | None:
    return one.found.left_rows if one.found else None


def _result(one: SourceComparison) -> str:
    if one.found is None:
        return one.why_not
    if one.found.same:
        return "the same"
    lone = [*one.found.columns_only_left, *one.found.columns_only_right]
    columns = f"; only one side has {', '.join(lone)}" if lone else ""
    return f"{counted(one.found.summary.findings, 'difference')}{columns}"


@contextlib.contextmanager
def copying_bar(console: Console) -> Iterator[Callable[[CopyProgress], None]]:
    """A bar of the tables that are copied, on a terminal; nothing elsewhere."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    # What is printed meanwhile is capture's, and is read; so the bar must not take it.
    with Progress(
        *columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False,
        disable=not console.is_terminal,
    ) as bar:  # fmt: skip
        task = bar.add_task("copying", total=None)
        yield lambda now: bar.update(task, description=escape(now.text), completed=now.through, total=now.tables)
