"""What costs how much, in the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from onefold.core.text import counted, size_text
from onefold.cost.formulas import LINES, Charge, Line
from onefold.cost.report import CostReport, Saving, TableCost

_MOST_ROWS = 50


def show_costs(console: Console, report: CostReport, changes: Iterable[Saving]) -> None:
    """Print what each table costs by line, the sums, and the changes that save most."""
    lines = [line for line in LINES if report.sums[line].usd or report.sums[line].bytes]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("USD a month", *lines, "together"):
        table.add_column(name, justify="left" if name == "USD a month" else "right", overflow="fold")
    for one in report.tables[:_MOST_ROWS]:
        table.add_row(*_row(_name(one), one.all_charges, lines))
    if left_out := report.tables[_MOST_ROWS:]:
        sums = [sum(one.all_charges[line].usd for one in left_out) for line in lines]
        table.add_row(f"{counted(len(left_out), 'more table')}", *(f"{usd:,.2f}" for usd in [*sums, sum(sums)]))
    if any(charge.usd for charge in report.shared_charges.values()):
        table.add_row(*_row("shared", report.shared_charges, lines))
    table.add_row(*(f"[bold]{cell}[/]" for cell in _row("together", report.sums, lines)))
    table.add_row(*(f"[dim]{cell}[/]" for cell in ["bytes", *(_size(report.sums[line]) for line in lines), ""]))
    console.print(table)
    _show_changes(console, list(changes))
    source = f"queries by the log of jobs of {counted(report.days, 'day')}, the rest" if report.days else "all"
    console.print(
        f"[dim]{source} by formula; prices of {report.prices.read}: {escape(report.prices.region)}[/]",
        soft_wrap=True,
    )


def _name(one: TableCost) -> str:
    return escape(one.name) if one.count == 1 else f"{escape(one.name)} ({one.count:,})"


def _row(name: str, charges: Mapping[Line, Charge], lines: Sequence[Line]) -> list[str]:
    values = [charges.get(line, Charge()).usd for line in lines]
    return [name, *(f"{value:,.2f}" for value in [*values, sum(one.usd for one in charges.values())])]


def _size(charge: Charge) -> str:
    return size_text(round(charge.bytes))


def _show_changes(console: Console, changes: Sequence[Saving]) -> None:
    if not changes:
        console.print("no change was found that would save anything")
    for one in changes:
        console.print(
            f"[green]saves {one.usd:,.2f}[/]: {escape(one.subject)}: {escape(one.text)} [dim]({escape(one.effect)})[/]",
            soft_wrap=True,
        )
