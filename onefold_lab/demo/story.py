"""The demo as text: short, so that one reads all of it, or full, with every message, view and query."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Protocol

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from onefold.compare.findings import Comparison
from onefold.core.text import counted
from onefold.ports.batches import StoredBatch
from onefold.ports.warehouse import StoredView
from onefold.refresh.display import show_changes, show_rows, show_sql
from onefold.schema.diff import SchemaChange

ReadRows = Callable[[StoredView], Sequence[tuple[object, ...]]]
"""Reads the rows of a view, sorted."""


class Story(Protocol):
    """What the demo tells of its steps."""

    def appears(self, table: str, reason: str, before: StoredView | None) -> None:
        """Tell that a version is about to appear, while the view does not have it yet."""

    def message(self, data: bytes) -> None:
        """Tell that a message was published."""

    def changed(self, after: StoredView, changes: Sequence[SchemaChange]) -> None:
        """Tell how a message has changed the view."""

    def finished(self, view: StoredView) -> None:
        """Tell what the view is after all versions of a table."""

    def batch_ended(self, which: str, batch: StoredBatch, seconds: float) -> None:
        """Tell how a batch has ended."""

    def compared(self, table: str, found: Comparison) -> None:
        """Tell the result of a comparison with the truth."""


class ShortStory:
    """What appears, what changed, and each view once, after its last version."""

    def __init__(self, console: Console, read_rows: ReadRows) -> None:
        self._console = console
        self._read_rows = read_rows

    def appears(self, table: str, reason: str, before: StoredView | None) -> None:
        self._is_first = before is None
        self._console.print(f"[bold]{table}[/] appears: {escape(reason)}", highlight=False)

    def message(self, data: bytes) -> None:
        """Tell nothing: the next line is what the message has caused."""

    def changed(self, after: StoredView, changes: Sequence[SchemaChange]) -> None:
        if self._is_first:
            text = f"is created with {counted(len(after.columns), 'column')}"
        else:
            text = f"changes: {', '.join(map(str, changes)) or 'nothing'}"
        self._console.print(f"  {after.id.table} {escape(text)}", highlight=False)

    def finished(self, view: StoredView) -> None:
        show_view(self._console, view, self._read_rows(view))
        self._console.print()

    def batch_ended(self, which: str, batch: StoredBatch, seconds: float) -> None:
        self._console.print(f"  the {which}: {batch.state.value} after {seconds:.0f} s", highlight=False)

    def compared(self, table: str, found: Comparison) -> None:
        differ = len({difference.key for difference in found.differences})
        lone = len(found.only_left) + len(found.only_right)
        sides = f"{counted(found.left_rows, 'row')}, {found.right_rows:,} in the truth"
        self._console.print(f"  {table}: {sides}; {lone:,} on one side only, {differ:,} differ", highlight=False)


class FullStory:
    """Everything: each view before and after each message, the messages, and the SQL of the views."""

    def __init__(self, console: Console, read_rows: ReadRows) -> None:
        self._console = console
        self._read_rows = read_rows

    def appears(self, table: str, reason: str, before: StoredView | None) -> None:
        self._console.print()
        self._console.rule(f"[bold]{table}[/] appears")
        self._console.print(f"{reason}\n", highlight=False)
        self._show("before", before)

    def message(self, data: bytes) -> None:
        # A message is one line, as it is sent, however long it is.
        self._console.print(f"\nmessage: {data.decode()}\n", highlight=False, soft_wrap=True, markup=False)

    def changed(self, after: StoredView, changes: Sequence[SchemaChange]) -> None:
        self._show("after", after)
        self._console.print()
        show_changes(self._console, changes)

    def finished(self, view: StoredView) -> None:
        self._console.print(f"\nThe SQL of [bold]{view.id.table}[/]:")
        show_sql(self._console, view.query)
        self._console.print()

    def batch_ended(self, which: str, batch: StoredBatch, seconds: float) -> None:
        self._console.print(f"the {which}, {batch.id}: {batch.state.value} after {seconds:.0f} s", highlight=False)

    def compared(self, table: str, found: Comparison) -> None:
        show_rows(
            self._console,
            f"{table} compared with the truth",
            ["", table, "truth"],
            [
                ("rows", found.left_rows, found.right_rows),
                ("rows of this side only", len(found.only_left), len(found.only_right)),
                ("rows that differ", len({difference.key for difference in found.differences}), ""),
            ],
        )

    def _show(self, when: str, view: StoredView | None) -> None:
        if view is None:
            self._console.print(f"{when}: there is no view yet")
        else:
            show_view(self._console, view, self._read_rows(view), f"{when}: ")


def show_view(console: Console, view: StoredView, rows: Sequence[tuple[object, ...]], when: str = "") -> None:
    """Print the rows of a view, with its columns and their types.

    Args:
        console: where the table is printed.
        view: its name and columns.
        rows: its rows.
        when: the beginning of the title.
    """
    names = [f"{escape(column.name)}\n[dim]{column.type}[/]" for column in view.columns]
    show_rows(console, f"{when}{view.id.table}, {counted(len(rows), 'row')}", names, rows)


@contextmanager
def timed(console: Console, text: str) -> Iterator[Callable[[], float]]:
    """Show a step with its elapsed time while it runs, on a terminal only. Yields a function that returns the seconds."""
    started = monotonic()
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        bar.add_task(text, total=None)
        yield lambda: monotonic() - started
