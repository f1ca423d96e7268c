"""Output of the demo with a database of the user: tables, progress of copies, and comparisons with the source."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from onefold.compare.findings import FINDING_COLUMNS, findings
from onefold.core.text import counted, shown_list
from onefold.landing.table import versioned_table
from onefold.refresh.display import show_rows
from onefold_lab.demo.capture_thread import CopyProgress
from onefold_lab.demo.source import TableChoice
from onefold_lab.demo.source_comparison import SourceComparison

_MAX_FINDINGS = 10


def show_chosen(console: Console, chosen: TableChoice) -> None:
    """Show the tables of the demo, and why others are left out."""
    rows = []
    for name, structure in chosen.tables.items():
        versioned = versioned_table(structure)
        rows.append((name, versioned.name, ", ".join(versioned.primary_key) or "none", chosen.rows[name]))
    console.print()
    show_rows(console, "the tables that were found", ["table", "its version", "key", "rows"], rows)
    for name, reason in chosen.left_out.items():
        console.print(f"[yellow]Left out: {escape(str(name))}: {escape(reason)}[/]", highlight=False)


def show_comparisons(console: Console, comparisons: Iterable[SourceComparison]) -> None:
    """Show counts and results of all tables, then the first differences of each table."""
    rows = [
        (comparison.table, comparison.source_rows, _rows(comparison), _result(comparison), comparison.unified_rows)
        for comparison in comparisons
    ]
    names = ["table", "rows of\nthe source", "rows of the\ncurrent view", "row by row", "rows of the\nunified view"]
    show_rows(console, "the views compared with the source; a unified view has every row that ever landed", names, rows)
    for comparison in comparisons:
        if comparison.found and not comparison.found.same:
            shown = itertools.islice(findings(comparison.found, comparison.keys), _MAX_FINDINGS)
            show_rows(
                console,
                f"differences in {comparison.table}",
                ["kind", "key", "column", f"{comparison.base.table}_current", "source"],
                [[finding.as_row()[name] for name in FINDING_COLUMNS] for finding in shown],
            )


def _rows(comparison: SourceComparison) -> int | None:
    return comparison.found.left_rows if comparison.found else None


def _result(comparison: SourceComparison) -> str:
    if comparison.found is None:
        return comparison.reason
    if comparison.found.same:
        return "the same"
    lone = [*comparison.found.columns_only_left, *comparison.found.columns_only_right]
    columns = f"; only comparison side has {shown_list(lone)}" if lone else ""
    return f"{counted(comparison.found.summary.findings, 'difference')}{columns}"


@contextlib.contextmanager
def copying_bar(console: Console) -> Iterator[Callable[[CopyProgress], None]]:
    """Show a progress bar of the copied tables on a terminal, and nothing elsewhere."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    # Standard output is capture's log, which the demo reads: so the bar must not redirect it.
    with Progress(
        *columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False,
        disable=not console.is_terminal,
    ) as bar:  # fmt: skip
        task = bar.add_task("copying", total=None)
        yield lambda progress: bar.update(
            task, description=escape(progress.text), completed=progress.done, total=progress.total
        )
